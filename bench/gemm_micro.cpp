// The generated matrix product against OpenBLAS on one thread, size by size, and against the FMA peak of the same
// round. Not part of the default build:
//   g++ -O3 -std=c++20 -I. bench/gemm_micro.cpp LIBRARIES -lopenblas
#include "../tests/unit/backend/llvm_kernels.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <immintrin.h>

extern "C" {
void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
void openblas_set_num_threads(int);
char* openblas_get_corename();
}

namespace {
using namespace tl;
using namespace tl::test;

// Processor time of this thread, so that what else runs on the machine counts little.
double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double seconds(const std::function<void()>& work, double at_least = 0.02) {
  int64_t times = 1;
  for (;; times *= 2) {
    double begin = now();
    for (int64_t i = 0; i < times; ++i)
      work();
    double spent = now() - begin;
    if (spent >= at_least) return spent / static_cast<double>(times);
  }
}

__attribute__((target("avx512f"))) double peak() { // GFLOP/s of f32
  __m512 acc[12];
  for (auto& a : acc)
    a = _mm512_set1_ps(1.0f);
  __m512 x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(0.001f);
  constexpr int kTimes = 2000000;
  double begin = now();
  for (int i = 0; i < kTimes; ++i)
    for (auto& a : acc) {
      a = _mm512_fmadd_ps(a, x, y);
      asm volatile("" : "+v"(a));
    }
  double spent = now() - begin;
  return 12.0 * 32 * kTimes / spent * 1e-9;
}

// Arguments: a, b, m, n, k, c.
kir::Kernel product(DType type, bool ta, bool tb) {
  KernelBuilder kb("gemm");
  uint32_t a = kb.input(type), b = kb.input(type), m = kb.size(), n = kb.size(), k = kb.size(), c = kb.output(type);
  kb.kernel.is_gemm = true;
  kir::Gemm& gemm = kb.kernel.gemm;
  gemm.a = a, gemm.b = b, gemm.c = c, gemm.type = type;
  gemm.header = kb.block({}, [&](const auto&) {
    ValueId vm = kb.arg(m), vn = kb.arg(n), vk = kb.arg(k), one = kb.i64(1), zero = kb.i64(0);
    return std::vector<ValueId>{one,           vm,   vn,  vk, zero, ta ? one : vk, ta ? vm : one, zero, tb ? one : vn,
                                tb ? vk : one, zero, zero};
  });
  gemm.epilogue =
      kb.block({DType::I64, DType::I64, DType::I64, type}, [&](const auto& p) { return std::vector<ValueId>{p[3]}; });
  return kb.kernel;
}

template <class T> void compare(const CompiledKernel& kernel, int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
  auto a = random_values<T>(static_cast<size_t>(m * k), 1), b = random_values<T>(static_cast<size_t>(k * n), 2);
  std::vector<T> c(static_cast<size_t>(m * n)), d(c.size());
  std::vector<void*> args{a.data(), b.data(), &m, &n, &k, c.data()};
  auto bytes = [&](const SizeFormula& f) { return static_cast<size_t>(f.evaluate(args.data())) / 64 * 64 + 64; };
  auto* shared = static_cast<std::byte*>(std::aligned_alloc(64, bytes(kernel.shared_bytes)));
  auto* local = static_cast<std::byte*>(std::aligned_alloc(64, bytes(kernel.local_bytes)));
  KernelWorkspace workspace{shared, local};
  auto ours = [&] {
    for (const KernelPhase& phase : kernel.phases)
      phase.function(args.data(), 0, phase.tiles.evaluate(args.data()), &workspace, nullptr);
  };
  auto theirs = [&] {
    int im = static_cast<int>(m), in = static_cast<int>(n), ik = static_cast<int>(k);
    int lda = ta ? im : ik, ldb = tb ? ik : in, t = 112, nt = 111;
    if constexpr (sizeof(T) == 4)
      cblas_sgemm(101, ta ? t : nt, tb ? t : nt, im, in, ik, 1, a.data(), lda, b.data(), ldb, 0, d.data(), in);
    else
      cblas_dgemm(101, ta ? t : nt, tb ? t : nt, im, in, ik, 1, a.data(), lda, b.data(), ldb, 0, d.data(), in);
  };
  ours(), theirs();
  std::vector<double> x, y, p;
  for (int round = 0; round < 5; ++round) {
    x.push_back(seconds(ours));
    y.push_back(seconds(theirs));
    p.push_back(peak());
  }
  std::sort(x.begin(), x.end()), std::sort(y.begin(), y.end()), std::sort(p.begin(), p.end());
  double flops = 2e-9 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  double top = p[2] * 4 / sizeof(T);
  std::printf("%s%s%s %5ld %5ld %5ld  tl %7.1f  OpenBLAS %7.1f GFLOP/s  ratio %5.2f (best %5.2f)  %.2f of peak\n",
              sizeof(T) == 4 ? "f32" : "f64", ta ? " A^T" : "", tb ? " B^T" : "", m, n, k, flops / x[2], flops / y[2],
              y[2] / x[2], y[0] / x[0], flops / x[2] / top);
  std::fflush(stdout);
  std::free(shared), std::free(local);
}

} // namespace

int main(int argc, char** argv) {
  bool quick = argc > 2;
  openblas_set_num_threads(1);
  std::printf("OpenBLAS runs its %s kernels\n", openblas_get_corename());
  JitOptions options;
  if (argc > 1 && std::string(argv[1]) == "avx2") options.cpu = "x86-64-v3";
  for (int t = 0; t < 4; ++t) {
    bool ta = (t & 1) != 0, tb = (t & 2) != 0;
    double begin = now();
    auto jit = make_jit({product(DType::F32, ta, tb)}, options);
    const CompiledKernel& kernel = jit->kernel(0);
    std::printf("compiled in %.1f ms\n", (now() - begin) * 1e3);
    std::vector<int64_t> sizes{8, 16, 32, 64, 100, 128, 200, 256, 384, 512, 768, 1000, 1024, 1536, 2048};
    if (t != 0) sizes = {64, 256, 1024, 2048};
    if (quick) sizes = {32, 64, 100, 256, 1000, 1024};
    for (int64_t n : sizes)
      compare<float>(kernel, n, n, n, ta, tb);
    if (t == 0 && !quick) {
      compare<float>(kernel, 16, 4096, 1024, false, false);
      compare<float>(kernel, 4096, 16, 1024, false, false);
      compare<float>(kernel, 1, 4096, 4096, false, false);
      compare<float>(kernel, 4096, 1, 4096, false, false);
      compare<float>(kernel, 2048, 2048, 64, false, false);
    }
  }
  auto jit = make_jit({product(DType::F64, false, false)}, options);
  for (int64_t n : {64, 256, 1024})
    compare<double>(jit->kernel(0), n, n, n, false, false);
}
