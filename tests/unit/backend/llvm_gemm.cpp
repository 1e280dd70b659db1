// Matrix products against the order of contractions, bit for bit.
#include "llvm_kernels.h"
#include <cmath>
#include <doctest/doctest.h>

namespace tl::test {
namespace {

struct GemmCase {
  DType type = DType::F32;
  bool a_transposed = false, b_transposed = false, constant_sizes = false;
  int epilogue = 0; // 0: none, 1: + bias[j], then max with 0
  int64_t batch = 1, m = 1, n = 1, k = 1;
  bool shared_b = false; // all batches use the first B
};

// Arguments: a, b, [bias], batch, m, n, k, c.
kir::Kernel gemm_kernel(const GemmCase& c) {
  KernelBuilder kb("gemm");
  uint32_t a = kb.input(c.type), b = kb.input(c.type), bias = c.epilogue ? kb.input(c.type) : 0;
  uint32_t batch = kb.size(), m = kb.size(), n = kb.size(), k = kb.size(), out = kb.output(c.type);
  kir::Kernel& kernel = kb.kernel;
  kernel.is_gemm = true;
  kernel.gemm.a = a, kernel.gemm.b = b, kernel.gemm.c = out, kernel.gemm.type = c.type;
  kernel.gemm.header = kb.block({}, [&](const auto&) {
    auto size = [&](uint32_t p, int64_t value) { return c.constant_sizes ? kb.i64(value) : kb.arg(p); };
    ValueId vb = size(batch, c.batch), vm = size(m, c.m), vn = size(n, c.n), vk = size(k, c.k);
    ValueId one = kb.i64(1), zero = kb.i64(0);
    return std::vector<ValueId>{vb,
                                vm,
                                vn,
                                vk,
                                kb.mul(vm, vk),
                                c.a_transposed ? one : vk,
                                c.a_transposed ? vm : one,
                                c.shared_b ? zero : kb.mul(vk, vn),
                                c.b_transposed ? one : vn,
                                c.b_transposed ? vk : one,
                                zero,
                                zero};
  });
  DType value = KernelBuilder::value_type(c.type);
  kernel.gemm.epilogue = kb.block({DType::I64, DType::I64, DType::I64, value}, [&](const auto& p) {
    if (c.epilogue == 0) return std::vector<ValueId>{p[3]};
    ValueId sum = kb.add(p[3], kb.load(bias, p[2]));
    ValueId zero = kb.op(KOp::Convert, value, {kb.i64(0)});
    return std::vector<ValueId>{kb.op(KOp::Select, value, {kb.op(KOp::Lt, DType::Bool, {sum, zero}), zero, sum})};
  });
  return kernel;
}

template <class T>
std::vector<T> expected(const GemmCase& c, const std::vector<T>& a, const std::vector<T>& b,
                        const std::vector<T>& bias) {
  std::vector<T> result(static_cast<size_t>(c.batch * c.m * c.n));
  for (int64_t t = 0; t < c.batch; ++t)
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j) {
        const T* pa = a.data() + t * c.m * c.k + (c.a_transposed ? i : i * c.k);
        const T* pb = b.data() + (c.shared_b ? 0 : t * c.k * c.n) + (c.b_transposed ? j * c.k : j);
        int64_t sa = c.a_transposed ? c.m : 1, sb = c.b_transposed ? 1 : c.n;
        T sum = contract_in_order(
            c.k, T(0), [&](int64_t k) { return pa[k * sa]; }, [&](int64_t k) { return pb[k * sb]; },
            [](T x, T y, T z) { return std::fma(x, y, z); }, [](T x, T y) { return x + y; });
        if (c.epilogue) {
          sum = sum + bias[static_cast<size_t>(j)];
          sum = sum < 0 ? T(0) : sum;
        }
        result[static_cast<size_t>((t * c.m + i) * c.n + j)] = sum;
      }
  return result;
}

template <class T> bool right(const CompiledKernel& kernel, GemmCase c) {
  auto a = random_values<T>(static_cast<size_t>(c.batch * c.m * c.k), 1);
  auto b = random_values<T>(static_cast<size_t>((c.shared_b ? 1 : c.batch) * c.k * c.n), 2);
  auto bias = random_values<T>(static_cast<size_t>(c.n), 3);
  // Beyond the end of C nothing may be written.
  std::vector<T> out(static_cast<size_t>(c.batch * c.m * c.n) + 16, T(77));
  std::vector<void*> args{a.data(), b.data()};
  if (c.epilogue) args.push_back(bias.data());
  for (int64_t* size : {&c.batch, &c.m, &c.n, &c.k})
    args.push_back(size);
  args.push_back(out.data());
  run(kernel, args);
  std::vector<T> want = expected(c, a, b, bias);
  want.resize(out.size(), T(77));
  return same_bits(out, want);
}

} // namespace

TEST_CASE("matrix products of all small and odd sizes have the bits of the order of contractions") {
  for (bool at : {false, true})
    for (bool bt : {false, true})
      for (int epilogue : {0, 1}) {
        GemmCase c{.a_transposed = at, .b_transposed = bt, .epilogue = epilogue};
        Both kernel(gemm_kernel(c));
        auto sizes = random_values<uint32_t>(3 * 24, 5);
        for (int target = 0; target < 2; ++target) {
          CAPTURE(at);
          CAPTURE(bt);
          CAPTURE(epilogue);
          CAPTURE(target);
          for (size_t i = 0; i < sizes.size(); i += 3) {
            c.m = sizes[i] % 70 + 1, c.n = sizes[i + 1] % 70 + 1, c.k = sizes[i + 2] % 70 + 1;
            CAPTURE(c.m);
            CAPTURE(c.n);
            CAPTURE(c.k);
            CHECK(right<float>(kernel[target], c));
          }
          for (int64_t k : {0, 511, 512, 513, 1025}) {
            c.m = 9, c.n = 49, c.k = k;
            CAPTURE(c.k);
            CHECK(right<float>(kernel[target], c));
          }
          c.m = 20, c.n = 5, c.k = 1100; // rows closer than a vector is wide, and sums before
          CHECK(right<float>(kernel[target], c));
          // Beyond one tile in every direction, large enough to be packed.
          c.m = 135, c.n = 259, c.k = 521;
          CHECK(right<float>(kernel[target], c));
        }
      }
}

TEST_CASE("matrix products of f64, and in batches") {
  for (bool shared : {false, true}) {
    GemmCase c{.type = DType::F64, .epilogue = 1, .shared_b = shared};
    Both kernel(gemm_kernel(c));
    for (int target = 0; target < 2; ++target) {
      for (int64_t n : {1, 7, 24, 31, 130}) {
        c.batch = 3, c.m = n + 3, c.n = n, c.k = 2 * n;
        CAPTURE(n);
        CAPTURE(shared);
        CAPTURE(target);
        CHECK(right<double>(kernel[target], c));
      }
      c.batch = 2, c.m = 70, c.n = 200, c.k = 530; // packed
      CHECK(right<double>(kernel[target], c));
      c.batch = 0;
      CHECK(right<double>(kernel[target], c));
    }
  }
}

TEST_CASE("matrix products whose sizes are known to the compiler") {
  for (auto [m, n, k] : {std::array<int64_t, 3>{64, 48, 32}, {13, 10, 700}, {1, 100, 3}, {20, 96, 64}}) {
    GemmCase c{.constant_sizes = true, .epilogue = 0, .m = m, .n = n, .k = k};
    Both kernel(gemm_kernel(c));
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    for (int target = 0; target < 2; ++target)
      CHECK(right<float>(kernel[target], c));
  }
}

TEST_CASE("one row times columns that lie along the sum, few and long ones") {
  for (bool known : {false, true})
    for (DType type : {DType::F32, DType::F64})
      for (auto [n, k] : {std::array<int64_t, 2>{1, 4096},
                          {2, 5000},
                          {4, 8192},
                          {6, 4095},
                          {9, 2600},
                          {16, 1024},
                          {17, 4700},
                          {20, 511},
                          {33, 1536},
                          {50, 30},
                          {301, 7}}) {
        if (known && n != 6 && n != 17 && n < 50) continue;
        GemmCase c{.type = type, .b_transposed = true, .constant_sizes = known, .epilogue = int(n % 2)};
        c.m = 1, c.n = n, c.k = k;
        Both kernel(gemm_kernel(c));
        CAPTURE(known);
        CAPTURE(n);
        CAPTURE(k);
        for (int target = 0; target < 2; ++target)
          CHECK((type == DType::F32 ? right<float>(kernel[target], c) : right<double>(kernel[target], c)));
      }
}

TEST_CASE("matrix products of bf16 sum in f32 and round once") {
  GemmCase c{.type = DType::BF16, .m = 11, .n = 53, .k = 600};
  kir::Kernel kernel = gemm_kernel(c);
  // The value stored is rounded by the store.
  Both both(kernel);
  auto narrow = [](float x) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16); };
  auto wide = [](uint16_t x) { return std::bit_cast<float>(uint32_t{x} << 16); };
  std::vector<uint16_t> a, b;
  for (float x : random_values<float>(static_cast<size_t>(c.m * c.k), 8))
    a.push_back(narrow(x));
  for (float x : random_values<float>(static_cast<size_t>(c.n * c.k), 9))
    b.push_back(narrow(x));
  std::vector<float> fa, fb;
  for (uint16_t x : a)
    fa.push_back(wide(x));
  for (uint16_t x : b)
    fb.push_back(wide(x));
  std::vector<float> want = expected<float>(c, fa, fb, {});
  for (int target = 0; target < 2; ++target) {
    std::vector<uint16_t> out(static_cast<size_t>(c.m * c.n));
    run(both[target], {a.data(), b.data(), &c.batch, &c.m, &c.n, &c.k, out.data()});
    bool equal = true;
    for (size_t i = 0; i < out.size(); ++i) {
      uint32_t bits = std::bit_cast<uint32_t>(want[i]);
      equal = equal && out[i] == static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
    CHECK(equal);
  }
}

} // namespace tl::test
