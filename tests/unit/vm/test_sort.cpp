// Sorting of numbers with each width of vectors that this processor has, beside the standard library's.
#include "vm/sort/quick.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <limits>
#include <random>
#include <vector>

namespace tl::sorting {
namespace {

template <class T> T number(std::mt19937_64& random, int pattern, int64_t i) {
  constexpr T most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
  switch (pattern) {
  case 0: return static_cast<T>(random());
  case 1: return static_cast<T>(random() % 5);
  case 2: return random() % 2 ? most : static_cast<T>(least + static_cast<T>(random() % 2));
  case 3: return static_cast<T>(i);
  case 4: return static_cast<T>(-i);
  default: return most;
  }
}
constexpr int kPatterns = 6;

// With a number on each side that must not change.
template <class T> struct Guarded {
  std::vector<T> all;
  Guarded(std::mt19937_64& random, int pattern, int64_t n) {
    all.push_back(77);
    for (int64_t i = 0; i < n; ++i)
      all.push_back(number<T>(random, pattern, i));
    all.push_back(78);
  }
  T* begin() { return all.data() + 1; }
  T* end() { return all.data() + all.size() - 1; }
};

template <class T> void check(const Methods<T>& m) {
  std::mt19937_64 random(1);
  for (int64_t n = 0; n < 6000; n += n < 600 ? 1 : n / 7)
    for (int pattern = 0; pattern < kPatterns; ++pattern) {
      CAPTURE(n);
      CAPTURE(pattern);
      Guarded<T> found(random, pattern, n), wanted = found, parts = found;
      m.sort(found.begin(), n);
      std::sort(wanted.begin(), wanted.end());
      REQUIRE(found.all == wanted.all);

      const T bound = number<T>(random, pattern, n / 2);
      T* middle = parts.begin() + m.partition(parts.begin(), n, bound);
      REQUIRE(std::all_of(parts.begin(), middle, [&](T x) { return x < bound; }));
      REQUIRE(std::all_of(middle, parts.end(), [&](T x) { return x >= bound; }));
      std::sort(parts.begin(), parts.end());
      REQUIRE(parts.all == wanted.all);
    }
  for (int n = 1; n <= 32; ++n) {
    CAPTURE(n);
    Guarded<T> found(random, n % kPatterns, m.lanes * 32), wanted = found;
    m.sort_columns(found.begin(), 32, n);
    for (int row = 0; row < m.lanes; ++row) {
      T *to = wanted.begin() + row * 32, *from = found.begin() + row * 32;
      std::sort(to, to + n);
      REQUIRE(std::equal(to, to + n, from));
    }
    REQUIRE(*(found.begin() - 1) == 77);
    REQUIRE(*found.end() == 78);
  }
}

// Numbers in an order that gives bad pivots: the sample that tells the pivot always has the least of what is left.
template <class T> void check_bad_pivots(const Methods<T>& m) {
  constexpr int64_t n = 20000;
  std::vector<int64_t> at(n);
  for (int64_t i = 0; i < n; ++i)
    at[static_cast<size_t>(i)] = i;
  std::vector<T> found(n);
  T next = 0;
  while (at.size() > 1000) { // as quick.h takes samples, for any number of lanes
    std::vector<int64_t> rest;
    const size_t step = at.size() / 64;
    for (size_t i = 0; i < at.size(); ++i)
      if (i % step == step / 2)
        found[static_cast<size_t>(at[i])] = next++;
      else
        rest.push_back(at[i]);
    at = rest;
  }
  for (int64_t i : at)
    found[static_cast<size_t>(i)] = next++;
  std::vector<T> wanted = found;
  m.sort(found.data(), n);
  std::sort(wanted.begin(), wanted.end());
  CHECK(found == wanted);
}

// After so many bad partitions what is left is heaped.
template <class T> void check_heaps() {
  std::mt19937_64 random(2);
  for (int64_t n : {0, 1, 2, 3, 129, 500, 5000})
    for (int pattern = 0; pattern < kPatterns; ++pattern)
      for (int tries : {0, 1, 3}) {
        CAPTURE(n);
        CAPTURE(pattern);
        CAPTURE(tries);
        Guarded<T> found(random, pattern, n), wanted = found, heaped = found;
        avx2::quicksort(found.begin(), n, tries);
        avx2::sort_heap(heaped.begin(), n);
        std::sort(wanted.begin(), wanted.end());
        REQUIRE(found.all == wanted.all);
        REQUIRE(heaped.all == wanted.all);
      }
}

TEST_CASE("numbers that are partitioned badly are sorted as a heap") {
  check_heaps<int32_t>();
  check_heaps<int64_t>();
}

TEST_CASE("numbers are sorted with vectors of 32 bytes") {
  check(avx2::methods<int32_t>());
  check(avx2::methods<int64_t>());
  check_bad_pivots(avx2::methods<int32_t>());
  check_bad_pivots(avx2::methods<int64_t>());
}

TEST_CASE("numbers are sorted with vectors of 64 bytes") {
  if (!__builtin_cpu_supports("x86-64-v4")) return;
  check(avx512::methods<int32_t>());
  check(avx512::methods<int64_t>());
  check_bad_pivots(avx512::methods<int32_t>());
  check_bad_pivots(avx512::methods<int64_t>());
}

} // namespace
} // namespace tl::sorting
