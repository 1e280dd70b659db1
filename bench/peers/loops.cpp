// The loops of bench/loops.tl in C++: loops REPEATS.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

using Vector = std::vector<double>;
using Integers = std::vector<int64_t>;

static Vector recurrence(const Vector& x) {
  Vector y = x;
  for (size_t i = 1; i < x.size(); ++i)
    y[i] = 0.9 * y[i - 1] + x[i];
  return y;
}

static int64_t escape(double re, double im, int64_t limit) {
  double x = 0, y = 0;
  int64_t steps = 0;
  while (steps < limit && x * x + y * y <= 4.0) {
    double next = x * x - y * y + re;
    y = 2.0 * x * y + im;
    x = next;
    ++steps;
  }
  return steps;
}

static Integers mandelbrot(const Vector& seed) {
  size_t n = seed.size();
  Integers steps(n * n);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j)
      steps[i * n + j] = escape(-2.0 + 3.0 * static_cast<double>(j) / static_cast<double>(n) + 0.0 * seed[0],
                                -1.5 + 3.0 * static_cast<double>(i) / static_cast<double>(n), 200);
  return steps;
}

static Vector gauss_seidel(const Vector& b) {
  size_t n = b.size();
  Vector x(n);
  for (int sweep = 0; sweep < 200; ++sweep)
    for (size_t i = 1; i + 1 < n; ++i)
      x[i] = 0.5 * (x[i - 1] + x[i + 1] + b[i]);
  return x;
}

static Vector insertion_sort(const Vector& x) {
  Vector y = x;
  for (int64_t i = 1; i < static_cast<int64_t>(y.size()); ++i) {
    double v = y[static_cast<size_t>(i)];
    int64_t j = i - 1;
    while (j >= 0 && y[static_cast<size_t>(j)] > v) {
      y[static_cast<size_t>(j + 1)] = y[static_cast<size_t>(j)];
      --j;
    }
    y[static_cast<size_t>(j + 1)] = v;
  }
  return y;
}

static Integers common(const Vector& a) {
  size_t n = a.size(), w = n + 1;
  Integers d(w * w);
  for (size_t i = 1; i < w; ++i)
    for (size_t j = 1; j < w; ++j) {
      bool same = std::floor(4.0 * a[i - 1]) == std::floor(4.0 * a[n - j]);
      d[i * w + j] = same ? d[(i - 1) * w + j - 1] + 1 : std::max(d[(i - 1) * w + j], d[i * w + j - 1]);
    }
  return d;
}

static std::vector<uint8_t> sieve(const Vector& x) {
  size_t n = x.size();
  std::vector<uint8_t> prime(n, 1);
  prime[0] = prime[1] = 0;
  for (size_t p = 2; p * p < n; ++p)
    if (prime[p])
      for (size_t k = p * p; k < n; k += p)
        prime[k] = 0;
  return prime;
}

template <typename F> static void report(const char* name, F f, int64_t n, int repeats) {
  double best = 1e9, check = 0;
  for (int r = 0; r < repeats; ++r) {
    Vector x(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i)
      x[static_cast<size_t>(i)] = std::fmod(static_cast<double>(i * (r + 1)) * 0.6180339887498949, 1.0);
    auto before = std::chrono::steady_clock::now();
    auto y = f(x);
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - before;
    best = std::min(best, spent.count());
    check = 0;
    for (auto v : y)
      check += static_cast<double>(v);
  }
  std::printf("%-16s %10.3f ms  %.6e\n", name, best * 1000, check);
}

int main(int argc, char** argv) {
  int repeats = argc > 1 ? std::atoi(argv[1]) : 5;
  report("recurrence", recurrence, 1'000'000, repeats);
  report("mandelbrot", mandelbrot, 300, repeats);
  report("gauss-seidel", gauss_seidel, 10'000, repeats);
  report("insertion sort", insertion_sort, 5'000, repeats);
  report("common", common, 1'500, repeats);
  report("sieve", sieve, 2'000'000, repeats);
}
