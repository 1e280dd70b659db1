// The parts of Fourier transforms (vm/linalg/fourier.cpp): numbers on the unit circle, factors of lengths, transforms
// of columns by Stockham's algorithm, and transposition. Internal to vm/linalg.
#pragma once
#include "abi/scalar_op.h"
#include "vm/linalg/blas/vector.h"
#include "vm/linalg/fourier.h"
#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tl::fft {

using blas::kLanes;
using blas::Vector;

constexpr int64_t kColumns = 16;       // so many at most are transformed at a time; a multiple of the lanes
constexpr int64_t kGreatestRadix = 61; // prime factors up to this one are summed up directly
constexpr int64_t kShort = 64;         // so many elements are not split: rows are the lanes
constexpr int64_t kSpareLines = 2;     // of buffers, for the halves of two spectra
constexpr int kMostFactors = 64;
constexpr int kOwnRadix = 5; // radices up to this one have a routine of their own

// ---- numbers on the unit circle

template <class T> struct Number {
  T re, im;
};
template <class T> Number<T> operator*(Number<T> a, Number<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// exp(-2 pi i k / n) for 0 <= k < n: by the symmetries of the octants, so that sin and cos see at most pi / 4.
inline Number<double> unit(int64_t k, int64_t n) {
  const bool lower = 2 * k > n; // the conjugate of n - k
  if (lower) k = n - k;
  const bool left = 4 * k > n; // mirrored at the imaginary axis; everything in quarters, which stay whole
  int64_t eighth = 4 * k;      // of a circle of 4 n steps
  if (left) eighth = 2 * n - eighth;
  const bool steep = 2 * eighth > n;
  if (steep) eighth = n - eighth;
  const double angle = 1.5707963267948966 * static_cast<double>(eighth) / static_cast<double>(n);
  const Scalar argument = Scalar::of(angle);
  auto value = [&](ScalarOp op) { return eval_scalar(op, DType::F64, {&argument, 1}).as<double>(); };
  double c = value(ScalarOp::Cos), s = value(ScalarOp::Sin);
  if (steep) std::swap(c, s);
  if (left) c = -c;
  return {c, lower ? s : -s};
}

// Powers of exp(-2 pi i / n), from about 2 * sqrt(n) of them: the product of a coarse and a fine one.
struct Circle {
  int64_t n = 1, step = 1;
  Number<double>*fine = nullptr, *coarse = nullptr;

  static int64_t step_of(int64_t n) {
    int64_t step = 1;
    while (step * step < n)
      step *= 2;
    return step;
  }
  // Doubles that the tables take.
  static int64_t size(int64_t n) { return 2 * (step_of(n) + n / step_of(n) + 1); }
  void fill(int64_t length, double* work) {
    n = length;
    step = step_of(n);
    fine = reinterpret_cast<Number<double>*>(work);
    coarse = fine + step;
    for (int64_t k = 0; k < std::min(step, n); ++k)
      fine[k] = unit(k, n);
    for (int64_t k = 0; k * step < n; ++k)
      coarse[k] = unit(k * step, n);
  }
  Number<double> operator()(int64_t k) const { // 0 <= k < n
    return k % step == 0 ? coarse[k / step] : k < step ? fine[k] : coarse[k / step] * fine[k % step];
  }
};

// ---- factors

struct Factors {
  std::array<int, kMostFactors> radix{};
  int count = 0;
  bool is_smooth = true; // no prime factor is greater than kGreatestRadix
};

// In the order in which they are taken: fours first.
inline Factors factors_of(int64_t n) {
  Factors f;
  auto take = [&](int64_t r) {
    for (; n % r == 0; n /= r)
      f.radix[static_cast<size_t>(f.count++)] = static_cast<int>(r);
  };
  for (int64_t r : {4, 2, 3, 5})
    take(r);
  for (int64_t r = 7; r <= kGreatestRadix; r += 2)
    take(r);
  f.is_smooth = n == 1;
  return f;
}

// The divisor of a smooth number that is nearest to its root from below.
inline int64_t nearest_to_root(int64_t n) {
  int64_t best = 1;
  for (int64_t d = 1; d * d <= n; ++d)
    if (n % d == 0) best = d;
  return best;
}

// ---- transforms of columns: element i of column c is at [i * width + c], the width is whole vectors

template <class T> struct Columns {
  using V = Vector<T>;

  // A number in all lanes.
  struct Twiddle {
    V re, im;
    Twiddle(Number<T> w) : re(blas::broadcast(w.re)), im(blas::broadcast(w.im)) {}
  };
  static V load(const T* at) { return blas::load(at); }
  static void store(T* at, V v) { blas::store(at, v); }

  struct Step {
    int64_t n, inner;          // the transforms that are left have this length, their elements are so far apart
    const Number<T>* twiddles; // exp(-2 pi i p k / n), at [p * (radix - 1) + k - 1]
    ComplexRow<T> x, y;
  };

  // y = b * w
  template <bool first>
  static void store_times(std::bool_constant<first>, ComplexRow<T> y, int64_t at, V re, V im, Twiddle w) {
    store(y.re + at, first ? re : blas::fnma(im, w.im, re * w.re));
    store(y.im + at, first ? im : blas::fma(im, w.re, re * w.im));
  }
  // Of each p; for the first all twiddles are 1.
  template <class Body> static void each(int64_t m, Body body) {
    body(std::true_type{}, 0);
    for (int64_t p = 1; p < m; ++p)
      body(std::false_type{}, p);
  }

  static void by_two(Step s) {
    const int64_t m = s.n / 2, inner = s.inner;
    each(m, [&](auto first, int64_t p) __attribute__((always_inline)) {
      const Twiddle w = s.twiddles[p];
      const int64_t from = p * inner, next = m * inner, to = 2 * p * inner;
      for (int64_t q = 0; q < inner; q += kLanes<T>) {
        const V ar = load(s.x.re + from + q), ai = load(s.x.im + from + q);
        const V br = load(s.x.re + from + next + q), bi = load(s.x.im + from + next + q);
        store(s.y.re + to + q, ar + br);
        store(s.y.im + to + q, ai + bi);
        store_times(first, s.y, to + inner + q, ar - br, ai - bi, w);
      }
    });
  }

  static void by_four(Step s) {
    const int64_t m = s.n / 4, inner = s.inner;
    each(m, [&](auto first, int64_t p) __attribute__((always_inline)) {
      const Number<T>* numbers = s.twiddles + 3 * p;
      const Twiddle w[] = {numbers[0], numbers[1], numbers[2]};
      const int64_t next = m * inner;
      const T *xr = s.x.re + p * inner, *xi = s.x.im + p * inner;
      const int64_t to = 4 * p * inner;
      for (int64_t q = 0; q < inner; q += kLanes<T>) {
        const V ar = load(xr + q), br = load(xr + next + q), cr = load(xr + 2 * next + q), dr = load(xr + 3 * next + q);
        const V ai = load(xi + q), bi = load(xi + next + q), ci = load(xi + 2 * next + q), di = load(xi + 3 * next + q);
        const V er = ar + cr, ei = ai + ci, fr = ar - cr, fi = ai - ci;
        const V gr = br + dr, gi = bi + di, hr = br - dr, hi = bi - di; // -i * h = (hi, -hr)
        store(s.y.re + to + q, er + gr);
        store(s.y.im + to + q, ei + gi);
        store_times(first, s.y, to + inner + q, fr + hi, fi - hr, w[0]);
        store_times(first, s.y, to + 2 * inner + q, er - gr, ei - gi, w[1]);
        store_times(first, s.y, to + 3 * inner + q, fr - hi, fi + hr, w[2]);
      }
    });
  }

  static void by_three(Step s) {
    const V half = blas::broadcast(T(0.5)), root = blas::broadcast(T(0.86602540378443864676)); // -sin(-2 pi / 3)
    const int64_t m = s.n / 3, inner = s.inner;
    each(m, [&](auto first, int64_t p) __attribute__((always_inline)) {
      const Number<T>* numbers = s.twiddles + 2 * p;
      const Twiddle w[] = {numbers[0], numbers[1]};
      const int64_t from = p * inner, next = m * inner, to = 3 * p * inner;
      for (int64_t q = from; q < from + inner; q += kLanes<T>) {
        const V ar = load(s.x.re + q), br = load(s.x.re + next + q), cr = load(s.x.re + 2 * next + q);
        const V ai = load(s.x.im + q), bi = load(s.x.im + next + q), ci = load(s.x.im + 2 * next + q);
        const V tr = br + cr, ti = bi + ci, ur = blas::fnma(half, tr, ar), ui = blas::fnma(half, ti, ai);
        const V vr = root * (bi - ci), vi = root * (cr - br);
        const int64_t at = to + q - from;
        store(s.y.re + at, ar + tr);
        store(s.y.im + at, ai + ti);
        store_times(first, s.y, at + inner, ur + vr, ui + vi, w[0]);
        store_times(first, s.y, at + 2 * inner, ur - vr, ui - vi, w[1]);
      }
    });
  }

  static void by_five(Step s) {
    // cos(2 pi / 5), cos(4 pi / 5) and the sines
    const V c1 = blas::broadcast(T(0.30901699437494742410)), c2 = blas::broadcast(T(-0.80901699437494742410));
    const V s1 = blas::broadcast(T(0.95105651629515357212)), s2 = blas::broadcast(T(0.58778525229247312917));
    const int64_t m = s.n / 5, inner = s.inner;
    each(m, [&](auto first, int64_t p) __attribute__((always_inline)) {
      const Number<T>* numbers = s.twiddles + 4 * p;
      const Twiddle w[] = {numbers[0], numbers[1], numbers[2], numbers[3]};
      const int64_t from = p * inner, next = m * inner, to = 5 * p * inner;
      for (int64_t q = 0; q < inner; q += kLanes<T>) {
        const T *xr = s.x.re + from + q, *xi = s.x.im + from + q;
        const V ar = load(xr), br = load(xr + next), er = load(xr + 4 * next);
        const V ai = load(xi), bi = load(xi + next), ei = load(xi + 4 * next);
        const V cr = load(xr + 2 * next), dr = load(xr + 3 * next);
        const V ci = load(xi + 2 * next), di = load(xi + 3 * next);
        const V pr = br + er, pi = bi + ei, qr = cr + dr, qi = ci + di; // sums of pairs
        const V ur = br - er, ui = bi - ei, vr = cr - dr, vi = ci - di; // their differences
        using blas::fma, blas::fnma;
        const V fr = fma(c2, qr, fma(c1, pr, ar)), fi = fma(c2, qi, fma(c1, pi, ai));
        const V gr = fma(c1, qr, fma(c2, pr, ar)), gi = fma(c1, qi, fma(c2, pi, ai));
        const V hr = fma(s2, vi, s1 * ui), hi = fma(s2, vr, s1 * ur);
        const V kr = fnma(s1, vi, s2 * ui), ki = fnma(s1, vr, s2 * ur);
        store(s.y.re + to + q, ar + pr + qr);
        store(s.y.im + to + q, ai + pi + qi);
        store_times(first, s.y, to + inner + q, fr + hr, fi - hi, w[0]);
        store_times(first, s.y, to + 2 * inner + q, gr + kr, gi - ki, w[1]);
        store_times(first, s.y, to + 3 * inner + q, gr - kr, gi + ki, w[2]);
        store_times(first, s.y, to + 4 * inner + q, fr - hr, fi + hi, w[3]);
      }
    });
  }

  // Any odd radix: sums over pairs of elements j and radix - j. `circle` has exp(-2 pi i k / radix).
  static void by_odd(int radix, Step s, const Number<T>* circle) {
    const int64_t m = s.n / radix, inner = s.inner;
    const int half = radix / 2;
    each(m, [&](auto first, int64_t p) __attribute__((always_inline)) {
      const Number<T>* w = s.twiddles + (radix - 1) * p;
      const int64_t from = p * inner, next = m * inner, to = radix * p * inner;
      for (int64_t q = 0; q < inner; q += kLanes<T>) {
        V sum_re[kGreatestRadix / 2 + 1], sum_im[kGreatestRadix / 2 + 1];
        V gap_re[kGreatestRadix / 2 + 1], gap_im[kGreatestRadix / 2 + 1];
        const V ar = load(s.x.re + from + q), ai = load(s.x.im + from + q);
        V total_re = ar, total_im = ai;
        for (int j = 1; j <= half; ++j) {
          const int64_t one = from + j * next + q, other = from + (radix - j) * next + q;
          const V br = load(s.x.re + one), bi = load(s.x.im + one);
          const V cr = load(s.x.re + other), ci = load(s.x.im + other);
          sum_re[j] = br + cr, sum_im[j] = bi + ci;
          gap_re[j] = br - cr, gap_im[j] = bi - ci;
          total_re += sum_re[j], total_im += sum_im[j];
        }
        store(s.y.re + to + q, total_re);
        store(s.y.im + to + q, total_im);
        for (int k = 1; k <= half; ++k) {
          V ur = ar, ui = ai, vr{}, vi{}; // what is the same for k and radix - k, and what has the other sign
          for (int j = 1; j <= half; ++j) {
            const Twiddle c = circle[j * k % radix];
            ur = blas::fma(sum_re[j], c.re, ur), ui = blas::fma(sum_im[j], c.re, ui);
            vr = blas::fnma(gap_im[j], c.im, vr), vi = blas::fma(gap_re[j], c.im, vi);
          }
          store_times(first, s.y, to + k * inner + q, ur + vr, ui + vi, w[k - 1]);
          store_times(first, s.y, to + (radix - k) * inner + q, ur - vr, ui - vi, w[radix - k - 1]);
        }
      }
    });
  }
};

// Transforms of columns of one length. The tables and two buffers of n + kSpareLines lines are in `work`.
template <class T> class ColumnTransform {
public:
  static int64_t size(int64_t n) {
    const Factors f = factors_of(n);
    return 2 * twiddles(n, f) + 2 * circles(f) + 4 * (n + kSpareLines) * kColumns;
  }

  // `circle` has the powers for a multiple of n.
  ColumnTransform(int64_t n, const Circle& circle, T* work) : n_(n), factors_(factors_of(n)) {
    auto* numbers = reinterpret_cast<Number<T>*>(work);
    twiddles_ = numbers;
    const int64_t scale = circle.n / n;
    auto number = [&](int64_t k, int64_t of) { // exp(-2 pi i k / of), where `of` divides n
      const Number<double> z = circle(k % of * (n_ / of) * scale);
      return Number<T>{static_cast<T>(z.re), static_cast<T>(z.im)};
    };
    int64_t left = n;
    for (int i = 0; i < factors_.count; ++i) {
      const int radix = factors_.radix[static_cast<size_t>(i)];
      for (int64_t p = 0; p < left / radix; ++p)
        for (int k = 1; k < radix; ++k)
          *numbers++ = number(p * k, left);
      left /= radix;
    }
    circles_ = numbers;
    for (int i = 0; i < factors_.count; ++i)
      if (const int radix = factors_.radix[static_cast<size_t>(i)]; radix > kOwnRadix)
        for (int k = 0; k < radix; ++k)
          *numbers++ = number(k, radix);
    T* buffers = reinterpret_cast<T*>(numbers);
    const int64_t elements = (n + kSpareLines) * kColumns;
    a_ = {buffers, buffers + elements};
    b_ = {buffers + 2 * elements, buffers + 3 * elements};
  }

  ComplexRow<T> input() const { return a_; }
  // The buffer that has not what `run` gave.
  ComplexRow<T> other(ComplexRow<T> than) const { return than.re == a_.re ? b_ : a_; }

  // Of so many columns. Gives where the result is.
  ComplexRow<T> run(int64_t width) const {
    ComplexRow<T> x = a_, y = b_;
    const Number<T>*twiddles = twiddles_, *circle = circles_;
    int64_t left = n_, inner = width;
    for (int i = 0; i < factors_.count; ++i) {
      const int radix = factors_.radix[static_cast<size_t>(i)];
      const typename Columns<T>::Step step{left, inner, twiddles, x, y};
      switch (radix) {
      case 2: Columns<T>::by_two(step); break;
      case 3: Columns<T>::by_three(step); break;
      case 4: Columns<T>::by_four(step); break;
      case 5: Columns<T>::by_five(step); break;
      default: Columns<T>::by_odd(radix, step, circle); circle += radix;
      }
      twiddles += left / radix * (radix - 1);
      left /= radix;
      inner *= radix;
      std::swap(x, y);
    }
    return x;
  }

private:
  static int64_t twiddles(int64_t n, const Factors& f) {
    int64_t count = 0;
    for (int i = 0; i < f.count; ++i) {
      const int radix = f.radix[static_cast<size_t>(i)];
      count += n / radix * (radix - 1);
      n /= radix;
    }
    return count;
  }
  static int64_t circles(const Factors& f) {
    int64_t count = 0;
    for (int i = 0; i < f.count; ++i)
      if (f.radix[static_cast<size_t>(i)] > kOwnRadix) count += f.radix[static_cast<size_t>(i)];
    return count;
  }

  int64_t n_;
  Factors factors_;
  const Number<T>*twiddles_, *circles_;
  ComplexRow<T> a_, b_;
};

// ---- transposition

// Swaps what lies apart by `half` in rows and in lanes; all halves together transpose a square of vectors.
template <int half, class T> void swap_halves(Vector<T>* v) {
  using V = Vector<T>;
  constexpr int lanes = kLanes<T>;
#pragma GCC unroll 8
  for (int i = 0; i < lanes; ++i)
    if ((i & half) == 0) {
      const V a = v[i], b = v[i + half];
      if constexpr (lanes == 4) {
        constexpr auto low = [](int j) { return j & half ? 4 + j - half : j; };
        constexpr auto high = [](int j) { return j & half ? 4 + j : j + half; };
        v[i] = __builtin_shufflevector(a, b, low(0), low(1), low(2), low(3));
        v[i + half] = __builtin_shufflevector(a, b, high(0), high(1), high(2), high(3));
      } else {
        constexpr auto low = [](int j) { return j & half ? 8 + j - half : j; };
        constexpr auto high = [](int j) { return j & half ? 8 + j : j + half; };
        v[i] = __builtin_shufflevector(a, b, low(0), low(1), low(2), low(3), low(4), low(5), low(6), low(7));
        v[i + half] =
            __builtin_shufflevector(a, b, high(0), high(1), high(2), high(3), high(4), high(5), high(6), high(7));
      }
    }
}

// to(c)[r] = from(r)[c]
template <class T, class From, class To> void transpose_lines(int64_t rows, int64_t columns, From from, To to) {
  constexpr int lanes = kLanes<T>;
  auto singly = [&](int64_t r, int64_t c) { to(c)[r] = from(r)[c]; };
  int64_t row = 0;
  for (; row + lanes <= rows; row += lanes) {
    int64_t column = 0;
    for (; column + lanes <= columns; column += lanes) {
      Vector<T> v[lanes];
#pragma GCC unroll 8
      for (int i = 0; i < lanes; ++i)
        v[i] = blas::load(from(row + i) + column);
      swap_halves<1, T>(v);
      swap_halves<2, T>(v);
      if constexpr (lanes == 8) swap_halves<4, T>(v);
#pragma GCC unroll 8
      for (int i = 0; i < lanes; ++i)
        blas::store(to(column + i) + row, v[i]);
    }
    for (; column < columns; ++column)
      for (int64_t r = row; r < row + lanes; ++r)
        singly(r, column);
  }
  for (; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      singly(row, column);
}

// to[c * to_step + r] = from[r * from_step + c]
template <class T>
void transpose(int64_t rows, int64_t columns, const T* from, int64_t from_step, T* to, int64_t to_step) {
  transpose_lines<T>(
      rows, columns, [=](int64_t r) { return from + r * from_step; }, [=](int64_t c) { return to + c * to_step; });
}

// The columns that are computed for so many: whole vectors.
template <class T> constexpr int64_t width_of(int64_t columns) {
  return (columns + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

} // namespace tl::fft
