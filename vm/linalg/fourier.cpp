#include "vm/linalg/fourier.h"
#include "abi/scalar_op.h"
#include "vm/linalg/blas/vector.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace tl {
namespace {

using blas::kLanes;
using blas::Vector;

constexpr int64_t kColumns = 16;       // so many at most are transformed at a time; a multiple of the lanes
constexpr int64_t kGreatestRadix = 61; // prime factors up to this one are summed up directly
constexpr int64_t kShort = 64;         // so many elements are not split: rows are the lanes
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
Number<double> unit(int64_t k, int64_t n) {
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
Factors factors_of(int64_t n) {
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
int64_t nearest_to_root(int64_t n) {
  int64_t best = 1;
  for (int64_t d = 1; d * d <= n; ++d)
    if (n % d == 0) best = d;
  return best;
}

// A length at least 2 n - 1 that is a power of two, or three or five times one.
int64_t convolution_length(int64_t n) {
  int64_t best = INT64_MAX;
  for (int64_t odd : {1, 3, 5}) {
    int64_t m = odd;
    while (m < 2 * n - 1)
      m *= 2;
    best = std::min(best, m);
  }
  return best;
}

// ---- transforms of columns: element i of column c is at [i * width + c], the width is whole vectors

template <class T> struct Columns {
  using V = Vector<T>;

  static V load(const T* at) { return blas::load(at); }
  static void store(T* at, V v) { blas::store(at, v); }

  // y = b * w, where w is a number
  static void store_times(ComplexRow<T> y, int64_t at, V re, V im, Number<T> w) {
    store(y.re + at, re * w.re - im * w.im);
    store(y.im + at, re * w.im + im * w.re);
  }

  struct Step {
    int64_t n, inner;          // the transforms that are left have this length, their elements are so far apart
    const Number<T>* twiddles; // exp(-2 pi i p k / n), at [p * (radix - 1) + k - 1]
    ComplexRow<T> x, y;
  };

  static void by_two(const Step& s) {
    const int64_t m = s.n / 2, inner = s.inner;
    for (int64_t p = 0; p < m; ++p) {
      const Number<T> w = s.twiddles[p];
      const int64_t from = p * inner, next = m * inner, to = 2 * p * inner;
      for (int64_t q = 0; q < inner; q += kLanes<T>) {
        const V ar = load(s.x.re + from + q), ai = load(s.x.im + from + q);
        const V br = load(s.x.re + from + next + q), bi = load(s.x.im + from + next + q);
        store(s.y.re + to + q, ar + br);
        store(s.y.im + to + q, ai + bi);
        store_times(s.y, to + inner + q, ar - br, ai - bi, w);
      }
    }
  }

  static void by_four(const Step& s) {
    const int64_t m = s.n / 4, inner = s.inner;
    for (int64_t p = 0; p < m; ++p) {
      const Number<T>* w = s.twiddles + 3 * p;
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
        store_times(s.y, to + inner + q, fr + hi, fi - hr, w[0]);
        store_times(s.y, to + 2 * inner + q, er - gr, ei - gi, w[1]);
        store_times(s.y, to + 3 * inner + q, fr - hi, fi + hr, w[2]);
      }
    }
  }

  static void by_three(const Step& s) {
    const T half = T(0.5), root = T(0.86602540378443864676); // -sin(-2 pi / 3)
    const int64_t m = s.n / 3, inner = s.inner;
    for (int64_t p = 0; p < m; ++p) {
      const Number<T>* w = s.twiddles + 2 * p;
      const int64_t from = p * inner, next = m * inner, to = 3 * p * inner;
      for (int64_t q = from; q < from + inner; q += kLanes<T>) {
        const V ar = load(s.x.re + q), br = load(s.x.re + next + q), cr = load(s.x.re + 2 * next + q);
        const V ai = load(s.x.im + q), bi = load(s.x.im + next + q), ci = load(s.x.im + 2 * next + q);
        const V tr = br + cr, ti = bi + ci, ur = ar - half * tr, ui = ai - half * ti;
        const V vr = root * (bi - ci), vi = root * (cr - br);
        const int64_t at = to + q - from;
        store(s.y.re + at, ar + tr);
        store(s.y.im + at, ai + ti);
        store_times(s.y, at + inner, ur + vr, ui + vi, w[0]);
        store_times(s.y, at + 2 * inner, ur - vr, ui - vi, w[1]);
      }
    }
  }

  static void by_five(const Step& s) {
    const T c1 = T(0.30901699437494742410), c2 = T(-0.80901699437494742410); // cos(2 pi / 5), cos(4 pi / 5)
    const T s1 = T(0.95105651629515357212), s2 = T(0.58778525229247312917);  // the sines
    const int64_t m = s.n / 5, inner = s.inner;
    for (int64_t p = 0; p < m; ++p) {
      const Number<T>* w = s.twiddles + 4 * p;
      const int64_t from = p * inner, next = m * inner, to = 5 * p * inner;
      for (int64_t q = 0; q < inner; q += kLanes<T>) {
        const T *xr = s.x.re + from + q, *xi = s.x.im + from + q;
        const V ar = load(xr), br = load(xr + next), er = load(xr + 4 * next);
        const V ai = load(xi), bi = load(xi + next), ei = load(xi + 4 * next);
        const V cr = load(xr + 2 * next), dr = load(xr + 3 * next);
        const V ci = load(xi + 2 * next), di = load(xi + 3 * next);
        const V pr = br + er, pi = bi + ei, qr = cr + dr, qi = ci + di; // sums of pairs
        const V ur = br - er, ui = bi - ei, vr = cr - dr, vi = ci - di; // their differences
        const V fr = ar + c1 * pr + c2 * qr, fi = ai + c1 * pi + c2 * qi;
        const V gr = ar + c2 * pr + c1 * qr, gi = ai + c2 * pi + c1 * qi;
        const V hr = s1 * ui + s2 * vi, hi = s1 * ur + s2 * vr;
        const V kr = s2 * ui - s1 * vi, ki = s2 * ur - s1 * vr;
        store(s.y.re + to + q, ar + pr + qr);
        store(s.y.im + to + q, ai + pi + qi);
        store_times(s.y, to + inner + q, fr + hr, fi - hi, w[0]);
        store_times(s.y, to + 2 * inner + q, gr + kr, gi - ki, w[1]);
        store_times(s.y, to + 3 * inner + q, gr - kr, gi + ki, w[2]);
        store_times(s.y, to + 4 * inner + q, fr - hr, fi + hi, w[3]);
      }
    }
  }

  // Any odd radix: sums over pairs of elements j and radix - j. `circle` has exp(-2 pi i k / radix).
  static void by_odd(int radix, const Step& s, const Number<T>* circle) {
    const int64_t m = s.n / radix, inner = s.inner;
    const int half = radix / 2;
    for (int64_t p = 0; p < m; ++p) {
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
            const Number<T> c = circle[j * k % radix];
            ur += sum_re[j] * c.re, ui += sum_im[j] * c.re;
            vr -= gap_im[j] * c.im, vi += gap_re[j] * c.im;
          }
          store_times(s.y, to + k * inner + q, ur + vr, ui + vi, w[k - 1]);
          store_times(s.y, to + (radix - k) * inner + q, ur - vr, ui - vi, w[radix - k - 1]);
        }
      }
    }
  }
};

// Transforms of columns of one length. The tables and two buffers of n * kColumns numbers are in `work`.
template <class T> class ColumnTransform {
public:
  static int64_t size(int64_t n) {
    const Factors f = factors_of(n);
    return 2 * twiddles(n, f) + 2 * circles(f) + 4 * n * kColumns;
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
    const int64_t elements = n * kColumns;
    a_ = {buffers, buffers + elements};
    b_ = {buffers + 2 * elements, buffers + 3 * elements};
  }

  ComplexRow<T> input() const { return a_; }

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

// So many doubles as elements of T, with room to begin at a multiple of 64 bytes.
template <class T> constexpr int64_t aligned_size(int64_t elements) {
  constexpr int64_t line = 64 / sizeof(T);
  return (elements + line - 1) / line * line;
}
template <class T> constexpr int64_t doubles(int64_t count) {
  return aligned_size<T>(count * static_cast<int64_t>(8 / sizeof(T)));
}

// ---- rows that are short: each is a column

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

// to[c * to_step + r] = from[r * from_step + c]
template <class T>
void transpose(int64_t rows, int64_t columns, const T* from, int64_t from_step, T* to, int64_t to_step) {
  constexpr int lanes = kLanes<T>;
  auto singly = [&](int64_t r, int64_t c) { to[c * to_step + r] = from[r * from_step + c]; };
  int64_t row = 0;
  for (; row + lanes <= rows; row += lanes) {
    int64_t column = 0;
    for (; column + lanes <= columns; column += lanes) {
      Vector<T> v[lanes];
#pragma GCC unroll 8
      for (int i = 0; i < lanes; ++i)
        v[i] = blas::load(from + (row + i) * from_step + column);
      swap_halves<1, T>(v);
      swap_halves<2, T>(v);
      if constexpr (lanes == 8) swap_halves<4, T>(v);
#pragma GCC unroll 8
      for (int i = 0; i < lanes; ++i)
        blas::store(to + (column + i) * to_step + row, v[i]);
    }
    for (; column < columns; ++column)
      for (int64_t r = row; r < row + lanes; ++r)
        singly(r, column);
  }
  for (; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      singly(row, column);
}

// The columns that are computed for so many: whole vectors.
template <class T> constexpr int64_t width_of(int64_t columns) {
  return (columns + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

template <class T> void short_rows(int64_t n, int64_t count, ComplexRow<const T> from, ComplexRow<T> to, T* work) {
  Circle circle;
  circle.fill(n, reinterpret_cast<double*>(work));
  const ColumnTransform<T> transform(n, circle, work + doubles<T>(Circle::size(n)));
  for (int64_t row = 0; row < count; row += kColumns) {
    const int64_t rows = std::min(kColumns, count - row), width = width_of<T>(rows);
    const ComplexRow<T> in = transform.input();
    if (rows < width) { // what is no row is 0
      std::fill(in.re, in.re + n * width, T(0));
      std::fill(in.im, in.im + n * width, T(0));
    }
    transpose(rows, n, from.re + row * n, n, in.re, width);
    transpose(rows, n, from.im + row * n, n, in.im, width);
    const ComplexRow<T> out = transform.run(width);
    transpose<T>(n, rows, out.re, width, to.re + row * n, n);
    transpose<T>(n, rows, out.im, width, to.im + row * n, n);
  }
}

// ---- rows that are matrices: n = outer * inner

template <class T> class SplitRows {
public:
  static int64_t size(int64_t n) {
    const int64_t outer = nearest_to_root(n), inner = n / outer;
    return doubles<T>(Circle::size(n)) + aligned_size<T>(2 * n) + 2 * aligned_size<T>(outer * kColumns) +
           aligned_size<T>(ColumnTransform<T>::size(outer)) + aligned_size<T>(ColumnTransform<T>::size(inner));
  }

  SplitRows(int64_t n, T* work) : n_(n), outer_(nearest_to_root(n)), inner_(n / outer_) {
    auto next = [&](int64_t elements) {
      T* at = work;
      work += aligned_size<T>(elements);
      return at;
    };
    circle_.fill(n, reinterpret_cast<double*>(next(doubles<T>(Circle::size(n)))));
    middle_ = {next(2 * n), nullptr};
    middle_.im = middle_.re + n;
    powers_ = {next(outer_ * kColumns), nullptr};
    powers_.im = next(outer_ * kColumns);
    columns_.emplace(outer_, circle_, next(ColumnTransform<T>::size(outer_)));
    rows_.emplace(inner_, circle_, next(ColumnTransform<T>::size(inner_)));
    for (int64_t k = 0; k < outer_; ++k)
      for (int64_t c = 0; c < kColumns; ++c) {
        const Number<double> z = circle_(k * c % n_);
        powers_.re[k * kColumns + c] = static_cast<T>(z.re);
        powers_.im[k * kColumns + c] = static_cast<T>(z.im);
      }
  }

  void run(ComplexRow<const T> from, ComplexRow<T> to) const {
    for (int64_t column = 0; column < inner_; column += kColumns)
      transform_columns(from, column, std::min(kColumns, inner_ - column));
    for (int64_t row = 0; row < outer_; row += kColumns)
      transform_rows(to, row, std::min(kColumns, outer_ - row));
  }

private:
  // Columns of `from` as a matrix of outer rows, times twiddles, into rows of the middle one.
  void transform_columns(ComplexRow<const T> from, int64_t column, int64_t count) const {
    const int64_t width = width_of<T>(count);
    load(columns_->input(), from, outer_, inner_, column, count);
    const ComplexRow<T> out = columns_->run(width);
    for (int64_t k = 0; k < outer_; ++k) {
      const Number<double> exact = circle_(k * column % n_);
      const Number<T> first{static_cast<T>(exact.re), static_cast<T>(exact.im)};
      for (int64_t c = 0; c < width; c += kLanes<T>) {
        using blas::load;
        const int64_t at = k * width + c;
        const Vector<T> pr = load(powers_.re + k * kColumns + c), pi = load(powers_.im + k * kColumns + c);
        const Vector<T> wr = pr * first.re - pi * first.im, wi = pr * first.im + pi * first.re;
        const Vector<T> re = load(out.re + at), im = load(out.im + at);
        blas::store(out.re + at, re * wr - im * wi);
        blas::store(out.im + at, re * wi + im * wr);
      }
    }
    transpose<T>(outer_, count, out.re, width, middle_.re + column * outer_, outer_);
    transpose<T>(outer_, count, out.im, width, middle_.im + column * outer_, outer_);
  }

  void transform_rows(ComplexRow<T> to, int64_t row, int64_t count) const {
    const int64_t width = width_of<T>(count);
    load(rows_->input(), {middle_.re, middle_.im}, inner_, outer_, row, count);
    const ComplexRow<T> out = rows_->run(width);
    for (int64_t k = 0; k < inner_; ++k) {
      copy(to.re + k * outer_ + row, out.re + k * width, count);
      copy(to.im + k * outer_ + row, out.im + k * width, count);
    }
  }

  // Some columns of a matrix; those up to whole vectors that are not there are 0.
  static void load(ComplexRow<T> to, ComplexRow<const T> from, int64_t rows, int64_t columns, int64_t first,
                   int64_t count) {
    const int64_t width = width_of<T>(count);
    for (int64_t i = 0; i < rows; ++i) {
      copy(to.re + i * width, from.re + i * columns + first, count);
      copy(to.im + i * width, from.im + i * columns + first, count);
      for (int64_t c = count; c < width; ++c)
        to.re[i * width + c] = to.im[i * width + c] = T(0);
    }
  }
  // Some columns: too few to call memcpy for.
  static void copy(T* to, const T* from, int64_t count) {
    int64_t c = 0;
    for (; c + kLanes<T> <= count; c += kLanes<T>)
      blas::store(to + c, blas::load(from + c));
    for (; c < count; ++c)
      to[c] = from[c];
  }

  int64_t n_, outer_, inner_;
  Circle circle_;
  ComplexRow<T> middle_, powers_;
  std::optional<ColumnTransform<T>> columns_, rows_;
};

// ---- any other length: k j = (k² + j² - (k - j)²) / 2 makes the transform a convolution

template <class T> class Convolution {
public:
  static int64_t size(int64_t n) {
    const int64_t m = convolution_length(n);
    return SplitRows<T>::size(m) + 2 * aligned_size<T>(n) + 6 * aligned_size<T>(m);
  }

  Convolution(int64_t n, T* work) : n_(n), m_(convolution_length(n)) {
    auto next = [&](int64_t elements) {
      T* at = work;
      work += aligned_size<T>(elements);
      return at;
    };
    split_.emplace(m_, next(SplitRows<T>::size(m_)));
    for (ComplexRow<T>* row : {&chirp_, &kernel_, &a_, &b_}) {
      const int64_t length = row == &chirp_ ? n_ : m_;
      row->re = next(length);
      row->im = next(length);
    }
    for (int64_t k = 0; k < n; ++k) {
      const auto square = static_cast<int64_t>(static_cast<__int128>(k) * k % (2 * n));
      const Number<double> z = unit(square, 2 * n); // exp(-pi i k² / n)
      chirp_.re[k] = static_cast<T>(z.re);
      chirp_.im[k] = static_cast<T>(z.im);
    }
    std::fill(a_.re, a_.re + m_, T(0));
    std::fill(a_.im, a_.im + m_, T(0));
    for (int64_t k = 0; k < n; ++k)
      for (int64_t at : {k, (m_ - k) % m_}) {
        a_.re[at] = chirp_.re[k];
        a_.im[at] = -chirp_.im[k];
      }
    split_->run({a_.re, a_.im}, kernel_);
    for (int64_t k = 0; k < m_; ++k) {
      kernel_.re[k] /= static_cast<T>(m_);
      kernel_.im[k] /= static_cast<T>(m_);
    }
  }

  void run(ComplexRow<const T> from, ComplexRow<T> to) const {
    std::fill(a_.re + n_, a_.re + m_, T(0));
    std::fill(a_.im + n_, a_.im + m_, T(0));
    multiply(n_, from, {chirp_.re, chirp_.im}, a_);
    split_->run({a_.re, a_.im}, b_);
    multiply(m_, {b_.re, b_.im}, {kernel_.re, kernel_.im}, a_);
    split_->run({a_.im, a_.re}, {b_.im, b_.re}); // the inverse, but for the factor that the kernel has
    multiply(n_, {b_.re, b_.im}, {chirp_.re, chirp_.im}, to);
  }

private:
  static void multiply(int64_t n, ComplexRow<const T> a, ComplexRow<const T> b, ComplexRow<T> to) {
    for (int64_t k = 0; k < n; ++k) {
      const T re = a.re[k] * b.re[k] - a.im[k] * b.im[k];
      to.im[k] = a.re[k] * b.im[k] + a.im[k] * b.re[k];
      to.re[k] = re;
    }
  }

  int64_t n_, m_;
  std::optional<SplitRows<T>> split_;
  ComplexRow<T> chirp_{}, kernel_{}, a_{}, b_{};
};

bool is_convolution(int64_t n) { return !factors_of(n).is_smooth; }

} // namespace

template <class T> int64_t fourier_work(int64_t n) {
  if (n < 1) return 0;
  if (is_convolution(n)) return Convolution<T>::size(n);
  return n <= kShort ? doubles<T>(Circle::size(n)) + ColumnTransform<T>::size(n) : SplitRows<T>::size(n);
}

template <class T> void fourier_rows(int64_t n, int64_t count, ComplexRow<const T> from, ComplexRow<T> to, T* work) {
  if (n < 1 || count < 1) return;
  auto each_row = [&](const auto& transform) {
    for (int64_t row = 0; row < count; ++row)
      transform.run({from.re + row * n, from.im + row * n}, {to.re + row * n, to.im + row * n});
  };
  if (is_convolution(n)) return each_row(Convolution<T>(n, work));
  if (n > kShort) return each_row(SplitRows<T>(n, work));
  short_rows(n, count, from, to, work);
}

template int64_t fourier_work<float>(int64_t);
template int64_t fourier_work<double>(int64_t);
template void fourier_rows<float>(int64_t, int64_t, ComplexRow<const float>, ComplexRow<float>, float*);
template void fourier_rows<double>(int64_t, int64_t, ComplexRow<const double>, ComplexRow<double>, double*);

} // namespace tl
