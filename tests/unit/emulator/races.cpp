#include "card.h"

namespace tl {
namespace {

using namespace test;

struct Arguments {
  long long n;
  unsigned long long p;
};

// In how many kernels there are races, of one with this body that four blocks of 64 threads run on 4096 bytes.
size_t races(const std::string& body, unsigned blocks = 4) {
  Card card(7, 1, 64 << 20, true);
  Kernel f(card, R"(typedef long long i64; struct f_arguments { i64 n; unsigned long long p; };
TL_KERNEL(f, f_arguments) {
  int* const p = tl_at<int>(a.p); unsigned char* const bytes = tl_at<unsigned char>(a.p);
  const int thread = threadIdx.x, at = blockIdx.x * 64 + threadIdx.x;
  __shared__ int part[64];
)" + body + "}");
  std::vector<int> x(1024);
  cuda::Pointer memory = card.put(x);
  REQUIRE(f.launch(Arguments{1024, memory}, blocks, 64) == 0);
  card.wait();
  CHECK(card.d.free(memory) == 0);
  return emulator::racing_kernels();
}

} // namespace

TEST_CASE("races in shared memory") {
  TL_NEEDS_COMPILER();
  CHECK(races("part[thread] = thread; __syncthreads(); p[at] = part[63 - thread];") == 0);
  CHECK(races("part[thread] = thread; p[at] = part[63 - thread];") == 1);
  // Read, then written again: the second barrier is missing.
  CHECK(races("for (int k = 0; k < 2; ++k) { part[thread] = k; __syncthreads(); p[at] += part[63 - thread]; }") == 1);
  CHECK(races("for (int k = 0; k < 2; ++k) { part[thread] = k; __syncthreads(); p[at] += part[63 - thread]; "
              "__syncthreads(); }") == 0);
  CHECK(races("if (thread < 2) part[0] = thread;") == 1);
  // Many have read it before one of them writes it.
  CHECK(races("if (thread == 0) part[0] = 1; __syncthreads(); int x = part[0]; if (thread == 5) part[0] = x + 1;") ==
        1);
  CHECK(
      races("if (thread == 0) part[0] = 1; __syncthreads(); int x = part[0]; __syncthreads(); if (thread == 5) part[0] "
            "= x + 1;") == 0);
}

TEST_CASE("lanes of a warp are ordered by __syncwarp") {
  TL_NEEDS_COMPILER();
  CHECK(races("part[thread] = thread; __syncwarp(); p[at] = part[thread ^ 1];") == 0);
  CHECK(races("part[thread] = thread; __syncwarp(); p[at] = part[thread ^ 32];") == 1);
  CHECK(races("part[thread] = thread; p[at] = __shfl_xor_sync(0xffffffffu, part[thread], 1);") == 0);
}

TEST_CASE("races in a card's memory") {
  TL_NEEDS_COMPILER();
  CHECK(races("p[at] = p[at] + 1;") == 0);
  CHECK(races("p[at / 2] = 1;") == 1);
  CHECK(races("p[at] = p[(at + 1) % 256];") == 1);
  // Blocks have no order among themselves, whatever barriers they pass.
  CHECK(races("if (thread == 0) p[0] = 1; __syncthreads();") == 1);
  CHECK(races("if (thread == 0) p[0] = 1; __syncthreads();", 1) == 0);
  CHECK(races("int x = p[0]; if (thread == 3) p[1 + blockIdx.x] = x;") == 0);
  CHECK(races("int x = p[0]; __syncthreads(); if (at == 200) p[0] = x;") == 1);
  CHECK(races("bytes[at] = 1;") == 0); // neighbours in one word
  CHECK(races("bytes[at / 2] = 1;") == 1);
  CHECK(races("atomicAdd(p, 1);") == 0);
  CHECK(races("if (at == 0) p[at] = p[at + 1];") == 0);
}

TEST_CASE("one launch comes after another") {
  TL_NEEDS_COMPILER();
  Card card(3, 1, 64 << 20, true);
  Kernel f(card, R"(struct f_arguments { long long n; unsigned long long p; };
TL_KERNEL(f, f_arguments) { int* const p = tl_at<int>(a.p); p[(threadIdx.x + a.n) % 64] += 1; })");
  cuda::Pointer memory = card.put(std::vector<int>(64));
  for (long long n = 0; n < 3; ++n)
    REQUIRE(f.launch(Arguments{n, memory}, 1, 64) == 0);
  CHECK(card.get<int>(memory, 64) == std::vector<int>(64, 3));
  CHECK(emulator::racing_kernels() == 0);
  CHECK(card.d.free(memory) == 0);
}

} // namespace tl
