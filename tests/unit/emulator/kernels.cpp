#include "card.h"
#include <cmath>
#include <numeric>

namespace tl {
namespace {

using namespace test;

using u64 = unsigned long long;
struct Arguments {
  long long n;
  u64 a0, a1, a2;
};

const std::string kBegin = R"(typedef long long i64; typedef unsigned long long u64; typedef unsigned int u32;
struct f_arguments { i64 n; u64 a0, a1, a2; };
TL_KERNEL(f, f_arguments) {
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

} // namespace

TEST_CASE("a kernel computes each element") {
  TL_NEEDS_COMPILER();
  Card card;
  Kernel f(card, kBegin + R"(
    const float* const p0 = tl_at<const float>(a.a0);
    float* const p1 = tl_at<float>(a.a1);
    for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < a.n; i += i64(gridDim.x) * blockDim.x)
      p1[i] = fmaf(p0[i], 2.0f, sqrtf(fabsf(p0[i])));
  })");
  std::vector<float> x(1000);
  std::iota(x.begin(), x.end(), -300.0f);
  cuda::Pointer in = card.put(x), out = card.allocate(4000);
  REQUIRE(f.launch(Arguments{1000, in, out, 0}, 3, 96) == 0);
  std::vector<float> y = card.get<float>(out, 1000);
  for (size_t i = 0; i < 1000; ++i)
    REQUIRE(y[i] == std::fma(x[i], 2.0f, std::sqrt(std::fabs(x[i]))));
  CHECK(card.d.free(in) == 0);
  CHECK(card.d.free(out) == 0);
}

namespace {

// The sum of n floats by one block: warps by shuffles, then the parts through shared memory; twice, so that the parts
// of the second round meet those of the first.
const std::string kSum = kBegin + R"(
    const int* const p0 = tl_at<const int>(a.a0);
    int* const p1 = tl_at<int>(a.a1);
    __shared__ int part[32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int round = 0; round < 2; ++round) {
      int mine = 0;
      for (i64 i = threadIdx.x; i < a.n; i += blockDim.x) mine += p0[i] + round;
      for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(0xffffffffu, mine, step);
      if (lane == 0) part[warp] = mine;
      __syncthreads(); // written
      int total = 0;
      for (int w = 0; w < int(blockDim.x / 32); ++w) total += part[w];
      __syncthreads(); // read
      if (threadIdx.x == 37) p1[round] = total;
    }
    int some = __syncthreads_or(threadIdx.x == 5 && a.n == 1000);
    if (threadIdx.x == 0) p1[2] = some;
  })";

std::vector<int> sum(uint64_t seed, const std::string& text) {
  Card card(seed);
  Kernel f(card, text);
  std::vector<int> x(1000);
  std::iota(x.begin(), x.end(), 1);
  cuda::Pointer in = card.put(x), out = card.allocate(12);
  REQUIRE(f.launch(Arguments{1000, in, out, 0}, 1, 256) == 0);
  std::vector<int> y = card.get<int>(out, 3);
  CHECK(card.d.free(in) == 0);
  CHECK(card.d.free(out) == 0);
  return y;
}

} // namespace

TEST_CASE("barriers and shuffles are real") {
  TL_NEEDS_COMPILER();
  std::vector<int> right{500500, 501500, 1};
  for (uint64_t seed = 0; seed < 50; ++seed)
    CHECK(sum(seed, kSum) == right);
  for (std::string which : {"written", "read"}) {
    std::string wrong = replaced(kSum, "__syncthreads(); // " + which, "");
    int seen = 0;
    for (uint64_t seed = 0; seed < 50; ++seed)
      seen += sum(seed, wrong) != right;
    MESSAGE("without the barrier after what is " << which << ": wrong in " << seen << " of 50 schedules");
    CHECK(seen >= 40);
  }
}

TEST_CASE("lanes exchange 4 and 8 bytes, and vote") {
  TL_NEEDS_COMPILER();
  Card card;
  Kernel f(card, kBegin + R"(
    double* const p0 = tl_at<double>(a.a0);
    u32* const p1 = tl_at<u32>(a.a1);
    u32 lane = threadIdx.x;
    p0[lane] = __shfl_sync(0xffffffffu, double(lane) + 0.5, 7) + __shfl_xor_sync(0xffffffffu, double(lane), 1);
    p1[lane] = __shfl_up_sync(0xffffffffu, lane, 4) + 100 * __shfl_down_sync(0xffffffffu, lane, 1, 8);
    p1[32 + lane] = __ballot_sync(0xffffffffu, lane % 3 == 0);
    if (lane < 16) {
      p1[64 + lane] = __shfl_sync(0x0000ffffu, lane, 3);
    } else {
      __syncwarp(0xffff0000u);
      p1[64 + lane] = __shfl_sync(0xffff0000u, lane, 20);
    }
  })");
  cuda::Pointer doubles = card.allocate(256), words = card.allocate(384);
  REQUIRE(f.launch(Arguments{0, doubles, words, 0}, 1, 32) == 0);
  std::vector<double> d = card.get<double>(doubles, 32);
  std::vector<unsigned> w = card.get<unsigned>(words, 96);
  for (unsigned lane = 0; lane < 32; ++lane) {
    CHECK(d[lane] == 7.5 + (lane ^ 1));
    CHECK(w[lane] == (lane < 4 ? lane : lane - 4) + 100 * (lane % 8 == 7 ? lane : lane + 1));
    CHECK(w[32 + lane] == 0x49249249u);
    CHECK(w[64 + lane] == (lane < 16 ? 3 : 20));
  }
  CHECK(card.d.free(doubles) == 0);
  CHECK(card.d.free(words) == 0);
}

TEST_CASE("a lock of threads of all warps; atomics lose nothing") {
  TL_NEEDS_COMPILER();
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Card card(seed);
    Kernel f(card, kBegin + R"(
    u32* const p0 = tl_at<u32>(a.a0);
    volatile u32* count = p0 + 1;
    while (atomicCAS(&p0[0], 0u, 1u) != 0u) {}
    __threadfence();
    *count = *count + 1;
    __threadfence();
    atomicExch(&p0[0], 0u);
    atomicAdd(&p0[2], threadIdx.x);
    atomicMin(&p0[3], threadIdx.x + blockIdx.x);
    atomicMax(&p0[4], threadIdx.x + blockIdx.x);
  })");
    cuda::Pointer p = card.put(std::vector<unsigned>{0, 0, 0, 99, 0});
    REQUIRE(f.launch(Arguments{0, p, 0, 0}, 3, 160) == 0);
    CHECK(card.get<unsigned>(p, 5) == std::vector<unsigned>{0, 480, 3 * 160 * 159 / 2, 0, 161});
    CHECK(card.d.free(p) == 0);
  }
}

TEST_CASE("halves round to nearest even; NaNs become quiet") {
  TL_NEEDS_COMPILER();
  Card card;
  Kernel f(card, kBegin + R"(
    u32* const p0 = tl_at<u32>(a.a0);
    p0[threadIdx.x] = tl_to_f16(__uint_as_float(p0[threadIdx.x]));
    p0[threadIdx.x + 8] = __float_as_uint(tl_from_f16(p0[threadIdx.x + 8]));
  })");
  cuda::Pointer p =
      card.put(std::vector<unsigned>{0x3f800000, 0x3f801000, 0x3f803000, 0x477ff000, 0x7fa00000, 0xff800000, 0x33000000,
                                     0x33000001, 0x3c00, 0x7c01, 0x8001, 0xfc00, 0x7bff, 0x8000, 0x3555, 0xfe00});
  REQUIRE(f.launch(Arguments{0, p, 0, 0}, 1, 8) == 0);
  CHECK(card.get<unsigned>(p, 16) == std::vector<unsigned>{0x3c00, 0x3c00, 0x3c02, 0x7c00, 0x7f00, 0xfc00, 0, 1,
                                                           0x3f800000, 0x7fc02000, 0xb3800000, 0xff800000, 0x477fe000,
                                                           0x80000000, 0x3eaaa000, 0xffc00000});
  CHECK(card.d.free(p) == 0);
}

TEST_CASE("kernels read pinned memory, and the memory of peers that are enabled") {
  TL_NEEDS_COMPILER();
  const std::string text = kBegin + "  *tl_at<int>(a.a1) = *tl_at<const int>(a.a0) + 1;\n}";
  Card card(0, 2);
  Kernel f(card, text);
  void* host = nullptr;
  REQUIRE(card.d.allocate_host(&host, 100, cuda::kHostAllocPortable | cuda::kHostAllocDeviceMap) == 0);
  cuda::Pointer from = 0, out = card.allocate(4);
  REQUIRE(card.d.host_pointer(&from, static_cast<char*>(host) + 8, 0) == 0);
  static_cast<int*>(host)[2] = 41;
  REQUIRE(f.launch(Arguments{0, from, out, 0}, 1, 1) == 0);
  CHECK(card.get<int>(out, 1)[0] == 42);
  REQUIRE(f.launch(Arguments{0, out, from, 0}, 1, 1) == 0);
  card.wait();
  CHECK(static_cast<int*>(host)[2] == 43);

  cuda::Context other = nullptr;
  REQUIRE(card.d.retain_context(&other, 1) == 0);
  REQUIRE(card.d.set_context(other) == 0);
  cuda::Pointer far = card.allocate(4);
  REQUIRE(card.d.set_context(card.context) == 0);
  Ended ended = in_child([&] { f.launch(Arguments{0, out, far, 0}, 1, 1), card.wait(); });
  CHECK(ended.signal == SIGSEGV);
  CHECK_MESSAGE(contains(ended.said, "kernel f, block 0, thread 0 touches"), ended.said);
  REQUIRE(card.d.enable_peer_access(other, 0) == 0);
  REQUIRE(f.launch(Arguments{0, out, far, 0}, 1, 1) == 0);
  REQUIRE(card.d.copy_to_peer(out, card.context, far, other, 4, card.stream) == 0);
  CHECK(card.get<int>(out, 1)[0] == 43);
  CHECK(card.d.free(far) == 0);
  CHECK(card.d.release_context(1) == 0);
  CHECK(card.d.free(out) == 0);
  CHECK(card.d.free_host(host) == 0);
}

TEST_CASE("a kernel that often reaches memory of the host is told of") {
  TL_NEEDS_COMPILER();
  Card card;
  Kernel f(card, kBegin + "  for (long long k = 0; k < a.n; ++k) *tl_at<int>(a.a0) += 1;\n}");
  void* host = nullptr;
  REQUIRE(card.d.allocate_host(&host, 100, cuda::kHostAllocPortable | cuda::kHostAllocDeviceMap) == 0);
  *static_cast<int*>(host) = 0;
  cuda::Pointer there = 0, here = card.allocate(4);
  REQUIRE(card.d.host_pointer(&there, host, 0) == 0);
  auto said = [&](long long n, cuda::Pointer at) {
    return in_child(
               [&] { f.launch(Arguments{n, at, 0, 0}, 1, 2), f.launch(Arguments{n, at, 0, 0}, 1, 2), card.wait(); })
        .said;
  };
  CHECK(said(500, there) == "");
  CHECK(said(1000000, here) == "");
  CHECK_MESSAGE(contains(said(501, there), "kernel f reaches memory of the host 1002 times"), said(501, there));
  CHECK(card.d.free(here) == 0);
  CHECK(card.d.free_host(host) == 0);
}

TEST_CASE("what a kernel must not touch") {
  TL_NEEDS_COMPILER();
  Card card;
  Kernel f(card, kBegin + "  tl_at<int>(a.a0)[a.n] = 1;\n}");
  cuda::Pointer p = card.allocate(1024);
  int mine = 0;
  auto ends = [&](cuda::Pointer address, long long index) {
    Ended ended = in_child([&] { f.launch(Arguments{index, address, 0, 0}, 1, 1), card.wait(); });
    CHECK(ended.signal == SIGSEGV);
    return ended.said;
  };
  CHECK(contains(ends(p, 256), "0 bytes past the end of the 1024 bytes"));
  CHECK(contains(ends(p, -(2 << 20)), "in no allocation"));
  CHECK(contains(ends(0, 0), "a null pointer"));
  CHECK(contains(ends(reinterpret_cast<u64>(&mine), 0), "no memory of device 0"));
  CHECK(card.d.free(p) == 0);
  CHECK(contains(ends(p, 0), "in no allocation"));
}

TEST_CASE("divergent barriers are reported") {
  TL_NEEDS_COMPILER();
  auto ends = [&](const std::string& body) {
    Card card;
    Kernel f(card, kBegin + body + "\n}");
    Ended ended = in_child([&] { f.launch(Arguments{0, 0, 0, 0}, 1, 64), card.wait(); });
    CHECK(ended.signal == SIGABRT);
    MESSAGE(ended.said);
    return ended.said;
  };
  std::string said = ends("if (threadIdx.x == 40) return;\n __syncthreads();");
  CHECK(contains(said, "kernel f, block 0 of 1: divergent barrier: thread 0 waits at line 5, thread 40 has ended"));
  said = ends("if (threadIdx.x < 32)\n __syncthreads();\n else\n __syncthreads();");
  CHECK(contains(said, "divergent barrier: thread 0 waits at line 5, thread 32 waits at line 7"));
  said = ends("if (threadIdx.x == 9)\n __syncthreads();\n __syncwarp();");
  CHECK(contains(said, "divergent lanes: thread 0 waits at line 6, thread 9 waits at line 5"));
  said = ends("u32 lock = 1; while (atomicCAS(&lock, 0u, 1u) != 0u) {}");
  CHECK(contains(said, "waits for ever"));
}

TEST_CASE("shapes of launches") {
  TL_NEEDS_COMPILER();
  Card card;
  Kernel f(card, kBegin + "}");
  Arguments arguments{};
  void* parameters[] = {&arguments};
  auto launch = [&](unsigned gx, unsigned gy, unsigned bx, unsigned by) {
    return card.d.launch(f.function, gx, gy, 1, bx, by, 1, 0, card.stream, parameters, nullptr);
  };
  CHECK(launch(1, 1, 1024, 1) == cuda::kSuccess);
  CHECK(launch(1, 1, 1025, 1) == cuda::kInvalidValue);
  CHECK(launch(0, 1, 32, 1) == cuda::kInvalidValue);
  CHECK(launch(1, 2, 32, 1) == cuda::kInvalidValue);
  CHECK(launch(1, 1, 32, 2) == cuda::kInvalidValue);
  cuda::Function none = nullptr;
  CHECK(card.d.function(&none, f.module, "g") == cuda::kNotFound);
  CHECK(card.d.launch(none, 1, 1, 1, 1, 1, 1, 0, card.stream, parameters, nullptr) == cuda::kInvalidHandle);
}

TEST_CASE("shared memory is not what the block before left") {
  TL_NEEDS_COMPILER();
  Card card;
  Kernel f(card, kBegin + R"(
    __shared__ u32 x;
    tl_at<u32>(a.a0)[blockIdx.x] = x;
    x = 7;
  })");
  cuda::Pointer p = card.allocate(16);
  REQUIRE(f.launch(Arguments{0, p, 0, 0}, 4, 1) == 0);
  CHECK(card.get<unsigned>(p, 4) == std::vector<unsigned>(4, 0xfbfbfbfb));
  CHECK(card.d.free(p) == 0);
}

} // namespace tl
