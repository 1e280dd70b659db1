// The peer of samples/four_ways.tl: the same loops in C++ at -O3 with tl's semantics (no contraction), and OpenBLAS on
// one thread or several. Prints the same table.
#include <algorithm>
#include <cblas.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

using Matrix = std::vector<float>;

void element_by_element(const float* a, const float* b, float* c, long n) {
  for (long i = 0; i < n; ++i)
    for (long j = 0; j < n; ++j) {
      float s = 0;
      for (long k = 0; k < n; ++k)
        s += a[i * n + k] * b[k * n + j];
      c[i * n + j] = s;
    }
}

void column_by_column(const float* a, const float* b, float* c, long n) {
  for (long j = 0; j < n; ++j)
    cblas_sgemv(CblasRowMajor, CblasNoTrans, n, n, 1, a, n, b + j, n, 0, c + j, n);
}

void whole(const float* a, const float* b, float* c, long n) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
}

void in_blocks(const float* a, const float* b, float* c, long n) {
  std::fill(c, c + n * n, 0.0f);
  for (long i = 0; i < n; i += 64)
    for (long j = 0; j < n; j += 64)
      for (long k = 0; k < n; k += 64)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, std::min(64L, n - i), std::min(64L, n - j),
                    std::min(64L, n - k), 1, a + i * n + k, n, b + k * n + j, n, 1, c + i * n + j, n);
}

void report(const char* name, const std::function<void()>& work, int repeats) {
  double best = 1e300;
  for (int r = 0; r < repeats; ++r) {
    auto begin = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::printf("%-20s %9.3f ms\n", name, best);
}

} // namespace

int main(int argc, char** argv) {
  long n = argc > 1 ? std::atol(argv[1]) : 256;
  int repeats = argc > 2 ? std::atoi(argv[2]) : 5;
  Matrix a(n * n), b(n * n), c(n * n);
  unsigned state = 1;
  auto random = [&] { return static_cast<float>((state = state * 1664525u + 1013904223u) >> 8) / 16777216.0f - 0.5f; };
  for (auto& x : a)
    x = random();
  for (auto& x : b)
    x = random();
  report("element by element", [&] { element_by_element(a.data(), b.data(), c.data(), n); }, repeats);
  report("column by column", [&] { column_by_column(a.data(), b.data(), c.data(), n); }, repeats);
  report("whole", [&] { whole(a.data(), b.data(), c.data(), n); }, repeats);
  report("in blocks of 64", [&] { in_blocks(a.data(), b.data(), c.data(), n); }, repeats);
  std::fprintf(stderr, "checksum %g\n", static_cast<double>(c[n / 2]));
}
