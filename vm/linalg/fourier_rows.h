// Fourier transforms of one long row (vm/linalg/fourier.cpp): of a smooth length as a matrix, of any other as a
// convolution. Internal to vm/linalg.
#pragma once
#include "vm/linalg/fourier_columns.h"
#include <cmath>
#include <limits>
#include <optional>

namespace tl::fft {

// So many elements of T, with room to begin at a multiple of 64 bytes; so many doubles as elements of T.
template <class T> constexpr int64_t aligned_size(int64_t elements) {
  constexpr int64_t line = 64 / sizeof(T);
  return (elements + line - 1) / line * line;
}
template <class T> constexpr int64_t doubles(int64_t count) {
  return aligned_size<T>(count * static_cast<int64_t>(8 / sizeof(T)));
}

// Hands out the parts of a workspace.
template <class T> struct Space {
  T* at;
  T* next(int64_t elements) {
    T* part = at;
    at += aligned_size<T>(elements);
    return part;
  }
  ComplexRow<T> next_row(int64_t elements) {
    T* re = next(elements);
    return {re, next(elements)};
  }
};

template <class T> Number<T> rounded(Number<double> z) { return {static_cast<T>(z.re), static_cast<T>(z.im)}; }
template <class T> ComplexRow<const T> constant(ComplexRow<T> row) { return {row.re, row.im}; }
template <class T> ComplexRow<T> shifted(ComplexRow<T> row, int64_t by) {
  return {row.re ? row.re + by : nullptr, row.im ? row.im + by : nullptr};
}
// So few elements that memcpy takes longer.
template <class T> void copy(T* to, const T* from, int64_t count) {
  int64_t c = 0;
  for (; c + kLanes<T> <= count; c += kLanes<T>)
    blas::store(to + c, blas::load(from + c));
  for (; c < count; ++c)
    to[c] = from[c];
}
template <class T> ComplexRow<T> swapped(ComplexRow<T> row) { return {row.im, row.re}; }

// ---- rows that are matrices: n = outer * inner. Element j of a row is j1 * inner + j2, element k of its transform is
// k1 + outer * k2: columns j2 are transformed over j1, multiplied by exp(-2 pi i k1 j2 / n), and transformed over j2.

template <class T> class SplitRows {
public:
  static int64_t size(FourierKind kind, int64_t n) {
    const int64_t outer = nearest_to_root(n), inner = n / outer;
    return aligned_size<T>(2 * lines(kind, n) * starts(kind, n)) + doubles<T>(Circle::size(n)) +
           2 * aligned_size<T>(n + 2 * inner) + 2 * aligned_size<T>(inner * kColumns) +
           aligned_size<T>(ColumnTransform<T>::size(outer)) + aligned_size<T>(ColumnTransform<T>::size(inner));
  }

  SplitRows(FourierKind kind, int64_t n, T* work)
      : n_(n), outer_(nearest_to_root(n)), inner_(n / outer_), half_(outer_ / 2 + 1), lines_(lines(kind, n)) {
    Space<T> space{work};
    Circle circle;
    circle.fill(n, reinterpret_cast<double*>(space.next(doubles<T>(Circle::size(n)))));
    middle_ = space.next_row(n + 2 * inner_);
    powers_ = space.next_row(inner_ * kColumns);
    columns_.emplace(outer_, circle, space.next(ColumnTransform<T>::size(outer_)));
    rows_.emplace(inner_, circle, space.next(ColumnTransform<T>::size(inner_)));
    for (int64_t k = 0; k < inner_; ++k)
      for (int64_t c = 0; c < kColumns; ++c) {
        const Number<T> z = rounded<T>(circle(k * c % n_));
        powers_.re[k * kColumns + c] = z.re;
        powers_.im[k * kColumns + c] = z.im;
      }
    firsts_ = reinterpret_cast<Number<T>*>(space.next(2 * lines_ * starts(kind, n)));
    for (int64_t i = 0; i < starts(kind, n); ++i) {
      const int64_t start = kind != FourierKind::ToHalf ? i * kColumns
                            : i % 2 == 0                ? i / 2 * kColumns
                                                        : (inner_ + 1) / 2 + i / 2 * kColumns;
      for (int64_t k = 0; k < lines_; ++k)
        firsts_[i * lines_ + k] = rounded<T>(circle(k * start % n_));
    }
  }

  void run(ComplexRow<const T> from, ComplexRow<T> to) const {
    for (int64_t column = 0; column < inner_; column += kColumns) {
      const int64_t count = std::min(kColumns, inner_ - column), width = width_of<T>(count);
      load(columns_->input(), from, outer_, inner_, column, count);
      const ComplexRow<T> out = columns_->run(width);
      turn(out, outer_, column, count, width);
    }
    for (int64_t row = 0; row < outer_; row += kColumns) {
      const int64_t count = std::min(kColumns, outer_ - row), width = width_of<T>(count);
      load(rows_->input(), constant(middle_), inner_, outer_, row, count);
      const ComplexRow<T> out = rows_->run(width);
      for (int64_t k = 0; k < inner_; ++k) {
        copy(to.re + k * outer_ + row, out.re + k * width, count);
        copy(to.im + k * outer_ + row, out.im + k * width, count);
      }
    }
  }

  // Of real numbers, the first n / 2 + 1. Two columns are the parts of one, whose transform tells those of both up to
  // half of their length; the other rows of the matrix are the conjugates of those, and their transforms too.
  void run_to_half(const T* from, ComplexRow<T> to) const {
    const int64_t pairs = (inner_ + 1) / 2; // columns c and pairs + c
    for (int64_t column = 0; column < pairs; column += kColumns) {
      const int64_t count = std::min(kColumns, pairs - column), width = width_of<T>(count);
      const int64_t seconds = std::min(count, inner_ - pairs - column);
      const ComplexRow<T> in = columns_->input();
      load(in.re, from, outer_, inner_, column, count, width);
      load(in.im, from, outer_, inner_, pairs + column, seconds, width);
      const ComplexRow<T> out = columns_->run(width), apart = columns_->other(out);
      for (int64_t k = 0; k < half_; ++k)
        for (int64_t c = 0; c < width; c += kLanes<T>) {
          const bool single = k == 0 || 2 * k == outer_; // its own conjugate
          const Parts z = at(out, k * width + c), y = at(out, (k == 0 ? 0 : outer_ - k) * width + c);
          const Vector<T> half = blas::broadcast(T(0.5)), none{};
          const Parts first = single ? Parts{z.re, none} : Parts{half * (z.re + y.re), half * (z.im - y.im)};
          const Parts second = single ? Parts{z.im, none} : Parts{half * (z.im + y.im), half * (y.re - z.re)};
          put(apart, k * width + c, times(first, twiddle(k, column / kColumns * 2, c)));
          put(apart, (half_ + k) * width + c, times(second, twiddle(k, column / kColumns * 2 + 1, c)));
        }
      auto store = [&](int64_t lines, int64_t first, int64_t these) {
        transpose<T>(half_, these, apart.re + lines * width, width, middle_.re + first * half_, half_);
        transpose<T>(half_, these, apart.im + lines * width, width, middle_.im + first * half_, half_);
      };
      store(0, column, count);
      store(half_, pairs + column, seconds);
    }
    const int64_t last = n_ / 2;
    for (int64_t row = 0; row < half_; row += kColumns) {
      const int64_t count = std::min(kColumns, half_ - row), width = width_of<T>(count);
      load(rows_->input(), constant(middle_), inner_, half_, row, count);
      const ComplexRow<T> out = rows_->run(width);
      for (int64_t k = 0; k < inner_; ++k) {
        const int64_t first = row + outer_ * k;
        const T *re = out.re + k * width, *im = out.im + k * width;
        const int64_t direct = std::clamp<int64_t>(last + 1 - first, 0, count);
        copy(to.re + first, re, direct);
        copy(to.im + first, im, direct);
        for (int64_t c = direct; c < count; ++c)
          if (const int64_t k1 = row + c; k1 != 0 && 2 * k1 != outer_) {
            to.re[n_ - first - c] = re[c];
            to.im[n_ - first - c] = -im[c];
          }
      }
    }
    to.im[0] = T(0);
    if (n_ % 2 == 0) to.im[last] = T(0);
  }

  // The way back, from the numbers g: the real part of the sum of g[k] * exp(+2 pi i j k / n). All parts are swapped.
  void run_from_half(ComplexRow<const T> from, T* to) const {
    const int64_t last = n_ / 2, pairs = (inner_ + 1) / 2;
    const Vector<T> half = blas::broadcast(T(0.5));
    for (int64_t row = 0; row < half_; row += kColumns) {
      const int64_t count = std::min(kColumns, half_ - row), width = width_of<T>(count);
      const ComplexRow<T> in = rows_->input();
      for (int64_t k = 0; k < inner_; ++k) {
        const int64_t first = row + outer_ * k;
        T *re = in.re + k * width, *im = in.im + k * width;
        const int64_t direct = std::clamp<int64_t>(last + 1 - first, 0, count);
        int64_t c = 0;
        for (; c + kLanes<T> <= direct; c += kLanes<T>) {
          blas::store(re + c, half * blas::load(from.im + first + c));
          blas::store(im + c, half * blas::load(from.re + first + c));
        }
        for (; c < direct; ++c) {
          re[c] = T(0.5) * from.im[first + c];
          im[c] = T(0.5) * from.re[first + c];
        }
        for (; c < count; ++c) {
          re[c] = T(-0.5) * from.im[n_ - first - c];
          im[c] = T(0.5) * from.re[n_ - first - c];
        }
        for (; c < width; ++c)
          re[c] = im[c] = T(0);
        for (int64_t real : {int64_t{0}, n_ % 2 == 0 ? last : 0}) // which have no conjugate beside them
          if (real >= first && real < first + count) {
            re[real - first] = T(0);
            im[real - first] = from.re[real];
          }
      }
      const ComplexRow<T> out = rows_->run(width);
      turn(out, inner_, row, count, width);
    }
    for (int64_t column = 0; column < pairs; column += kColumns) {
      const int64_t count = std::min(kColumns, pairs - column), width = width_of<T>(count);
      const int64_t seconds = std::min(count, inner_ - pairs - column);
      const ComplexRow<T> in = columns_->input(), apart = columns_->other(in);
      load(apart, constant(middle_), half_, inner_, column, count);
      const ComplexRow<T> others{apart.re + half_ * width, apart.im + half_ * width};
      load(others.re, middle_.re, half_, inner_, pairs + column, seconds, width);
      load(others.im, middle_.im, half_, inner_, pairs + column, seconds, width);
      for (int64_t k = 0; k < half_; ++k)
        for (int64_t c = 0; c < width; c += kLanes<T>) {
          const Parts a = at(apart, k * width + c), b = at(others, k * width + c);
          const bool single = k == 0 || 2 * k == outer_;
          put(in, k * width + c, single ? Parts{b.im, a.im} : Parts{a.re + b.im, a.im - b.re});
          if (!single) put(in, (outer_ - k) * width + c, {b.im - a.re, a.im + b.re});
        }
      const ComplexRow<T> out = columns_->run(width);
      for (int64_t j = 0; j < outer_; ++j) {
        copy(to + j * inner_ + column, out.im + j * width, count);
        copy(to + j * inner_ + pairs + column, out.re + j * width, seconds);
      }
    }
  }

private:
  struct Parts {
    Vector<T> re, im;
  };
  static Parts at(ComplexRow<T> row, int64_t i) { return {blas::load(row.re + i), blas::load(row.im + i)}; }
  static void put(ComplexRow<T> row, int64_t i, Parts z) {
    blas::store(row.re + i, z.re);
    blas::store(row.im + i, z.im);
  }
  static Parts times(Parts a, Parts b) {
    return {blas::fnma(a.im, b.im, a.re * b.re), blas::fma(a.im, b.re, a.re * b.im)};
  }
  // Lines that are multiplied by twiddles, and groups of columns: each has its first twiddle in a line, and the powers
  // of the line's are the same for all. Of real numbers the groups of both columns of a pair take turns.
  static int64_t lines(FourierKind kind, int64_t n) {
    const int64_t outer = nearest_to_root(n);
    return kind == FourierKind::Complex ? outer : kind == FourierKind::ToHalf ? outer / 2 + 1 : n / outer;
  }
  static int64_t starts(FourierKind kind, int64_t n) {
    const int64_t outer = nearest_to_root(n), inner = n / outer;
    auto groups = [](int64_t columns) { return (columns + kColumns - 1) / kColumns; };
    return kind == FourierKind::Complex  ? groups(inner)
           : kind == FourierKind::ToHalf ? 2 * groups((inner + 1) / 2)
                                         : groups(outer / 2 + 1);
  }
  // exp(-2 pi i k (start + c) / n), of the lanes from c on in the group of this number.
  Parts twiddle(int64_t k, int64_t group, int64_t c) const {
    const Number<T> first = firsts_[group * lines_ + k];
    return times(at(powers_, k * kColumns + c), {blas::broadcast(first.re), blas::broadcast(first.im)});
  }

  // Columns from `first` on, of so many elements: times the circle's numbers, and as lines of `middle_`.
  void turn(ComplexRow<T> columns, int64_t elements, int64_t first, int64_t count, int64_t width) const {
    for (int64_t k = 0; k < elements; ++k)
      for (int64_t c = 0; c < width; c += kLanes<T>)
        put(columns, k * width + c, times(at(columns, k * width + c), twiddle(k, first / kColumns, c)));
    transpose<T>(elements, count, columns.re, width, middle_.re + first * elements, elements);
    transpose<T>(elements, count, columns.im, width, middle_.im + first * elements, elements);
  }

  // Some columns of a matrix; those up to whole vectors that are not there are 0.
  static void load(T* to, const T* from, int64_t rows, int64_t columns, int64_t first, int64_t count, int64_t width) {
    for (int64_t i = 0; i < rows; ++i) {
      copy(to + i * width, from + i * columns + first, count);
      for (int64_t c = std::max<int64_t>(count, 0); c < width; ++c)
        to[i * width + c] = T(0);
    }
  }
  static void load(ComplexRow<T> to, ComplexRow<const T> from, int64_t rows, int64_t columns, int64_t first,
                   int64_t count) {
    load(to.re, from.re, rows, columns, first, count, width_of<T>(count));
    load(to.im, from.im, rows, columns, first, count, width_of<T>(count));
  }

  int64_t n_, outer_, inner_, half_, lines_;
  ComplexRow<T> middle_, powers_;
  Number<T>* firsts_ = nullptr;
  std::optional<ColumnTransform<T>> columns_, rows_;
};

// ---- any other length: k j = (k² + j² - (k - j)²) / 2 makes the transform a convolution

// A length of at least `least` whose transform is the fastest: each factor is a step over all elements.
inline int64_t convolution_length(int64_t least) {
  int64_t best = 0, lowest = std::numeric_limits<int64_t>::max();
  auto consider = [&](int64_t m, int64_t cost) { // of an element, in tenths of a step by four
    if (m * cost < lowest) {
      lowest = m * cost;
      best = m;
    }
  };
  int64_t cost5 = 30; // what does not depend on the factors
  for (int64_t fives = 1; fives < 2 * least; fives *= 5, cost5 += 16) {
    int64_t cost3 = cost5;
    for (int64_t threes = fives; threes < 2 * least; threes *= 3, cost3 += 12) {
      int64_t m = threes, twos = 0;
      for (; m < least; m *= 2)
        ++twos;
      consider(m, cost3 + twos / 2 * 10 + twos % 2 * 8);
    }
  }
  return best;
}

template <class T> class Convolution {
public:
  static int64_t size(int64_t n) {
    const int64_t m = convolution_length(2 * n - 1);
    return SplitRows<T>::size(FourierKind::Complex, m) + 2 * aligned_size<T>(n) + 6 * aligned_size<T>(m);
  }

  Convolution(int64_t n, T* work) : n_(n), m_(convolution_length(2 * n - 1)) {
    Space<T> space{work};
    split_.emplace(FourierKind::Complex, m_, space.next(SplitRows<T>::size(FourierKind::Complex, m_)));
    chirp_ = space.next_row(n_);
    kernel_ = space.next_row(m_);
    a_ = space.next_row(m_);
    b_ = space.next_row(m_);
    Circle circle; // exp(-pi i k² / n), by its tables: a transform's a_ and b_ are not yet used
    circle.fill(2 * n, reinterpret_cast<double*>(a_.re));
    for (int64_t k = 0; k < n; ++k) {
      const auto square = static_cast<int64_t>(static_cast<__int128>(k) * k % (2 * n));
      const Number<T> z = rounded<T>(circle(square));
      chirp_.re[k] = z.re;
      chirp_.im[k] = z.im;
    }
    std::fill(a_.re, a_.re + m_, T(0));
    std::fill(a_.im, a_.im + m_, T(0));
    for (int64_t k = 0; k < n; ++k)
      for (int64_t at : {k, (m_ - k) % m_}) {
        a_.re[at] = chirp_.re[k];
        a_.im[at] = -chirp_.im[k];
      }
    split_->run(constant(a_), kernel_);
    for (int64_t k = 0; k < m_; ++k) {
      kernel_.re[k] /= static_cast<T>(m_);
      kernel_.im[k] /= static_cast<T>(m_);
    }
  }

  // The first `count` of the transform. from.im: null: real numbers.
  void run(ComplexRow<const T> from, ComplexRow<T> to, int64_t count) const {
    std::fill(a_.re + n_, a_.re + m_, T(0));
    std::fill(a_.im + n_, a_.im + m_, T(0));
    if (from.im) {
      multiply(n_, from, chirp_, a_);
    } else {
      for (int64_t k = 0; k < n_; ++k) {
        a_.re[k] = from.re[k] * chirp_.re[k];
        a_.im[k] = from.re[k] * chirp_.im[k];
      }
    }
    split_->run(constant(a_), b_);
    multiply(m_, constant(b_), kernel_, a_);
    split_->run(constant(swapped(a_)), swapped(b_)); // the inverse, but for the factor that the kernel has
    multiply(count, constant(b_), chirp_, to);
  }

private:
  static void multiply(int64_t n, ComplexRow<const T> a, ComplexRow<T> b, ComplexRow<T> to) {
    int64_t k = 0;
    for (; k + kLanes<T> <= n; k += kLanes<T>) {
      const Vector<T> ar = blas::load(a.re + k), ai = blas::load(a.im + k);
      const Vector<T> br = blas::load(b.re + k), bi = blas::load(b.im + k);
      blas::store(to.re + k, blas::fnma(ai, bi, ar * br));
      blas::store(to.im + k, blas::fma(ai, br, ar * bi));
    }
    for (; k < n; ++k) {
      const T ar = a.re[k], ai = a.im[k], br = b.re[k], bi = b.im[k];
      to.re[k] = std::fma(-ai, bi, ar * br);
      to.im[k] = std::fma(ai, br, ar * bi);
    }
  }

  int64_t n_, m_;
  std::optional<SplitRows<T>> split_;
  ComplexRow<T> chirp_{}, kernel_{}, a_{}, b_{};
};

} // namespace tl::fft
