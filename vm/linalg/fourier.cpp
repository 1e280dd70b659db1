#include "vm/linalg/fourier.h"
#include "vm/linalg/fourier_rows.h"
#include <cstring>

namespace tl {
namespace {

using namespace fft;
using enum FourierKind;

static_assert(kColumns == kFourierColumns);

constexpr int64_t kGroup = 4;                // so many columns become rows at a time
constexpr int64_t kGroupedLength = 1 << 16;  // of longer ones one, so that they need less memory
constexpr int64_t kColumnElements = 1 << 14; // of columns that are transformed where they lie: in cache

bool is_smooth(int64_t n) { return factors_of(n).is_smooth; }

// ---- many transforms as the lanes of vectors: rows that are short, and columns of matrices

// A spectrum of real numbers of an even length n = 2 h comes from the transform of h numbers, whose parts are
// neighbours.
bool is_packed(const FourierSizes& s) { return s.kind != Complex && s.n % 2 == 0; }
int64_t lane_length(const FourierSizes& s) { return is_packed(s) ? s.n / 2 : s.n; }
template <class T> bool fits_lanes(const FourierSizes& s) {
  const int64_t length = lane_length(s);
  return length <= (s.inner == 1 ? kShort : kColumnElements / kLanes<T>) && is_smooth(length);
}

// -i / 2 * exp(-2 pi i k / n), up to half of h.
template <class T> void fill_mixed(int64_t h, const Circle& circle, Number<T>* mixed) {
  for (int64_t k = 1; 2 * k <= h; ++k) {
    const Number<double> z = circle(k);
    mixed[k] = {static_cast<T>(0.5 * z.im), static_cast<T>(-0.5 * z.re)};
  }
}

// With e the transform of the even elements and o that of the odd ones, that of the packed ones is z = e + i o, and
// the spectrum is x[k] = e[k] + exp(-2 pi i k / n) o[k]; both are the conjugates of their h - k-th. Of lines of
// `width` transforms, V at a time, in place: there are h + 1 lines.
template <class T, class V> struct Mixing {
  int64_t h, width;
  const Number<T>* mixed;
  static constexpr auto kStep = static_cast<int64_t>(sizeof(V) / sizeof(T));

  void unpack(ComplexRow<T> z) const {
    for (int64_t c = 0; c < width; c += kStep) {
      const V re = load(z.re + c), im = load(z.im + c);
      store(z.re + c, re + im);
      store(z.im + c, V{});
      store(z.re + h * width + c, re - im);
      store(z.im + h * width + c, V{});
    }
    for (int64_t k = 1; 2 * k <= h; ++k)
      mix(z, k * width, (h - k) * width, mixed[k]);
  }
  // The way back, from the parts of halves: each meets the conjugate of the other half.
  void pack(ComplexRow<T> z) const {
    for (int64_t c = 0; c < width; c += kStep) {
      const V first = load(z.re + c), second = load(z.re + h * width + c);
      store(z.re + c, first + second);
      store(z.im + c, first - second);
    }
    for (int64_t k = 1; 2 * k <= h; ++k)
      mix(z, k * width, (h - k) * width, {mixed[k].re, -mixed[k].im});
  }

private:
  static V load(const T* at) {
    V v;
    std::memcpy(&v, at, sizeof v);
    return v;
  }
  static void store(T* at, V v) { std::memcpy(at, &v, sizeof v); }
  // Of a and the conjugate of b: half of the sum, and the difference times w; their sum, and the conjugate of their
  // difference.
  void mix(ComplexRow<T> z, int64_t a, int64_t b, Number<T> w) const {
    using blas::fma, blas::fnma;
    const V half = V{} + T(0.5), wr = w.re - V{}, wi = w.im - V{};
    for (int64_t c = 0; c < width; c += kStep) {
      const V ar = load(z.re + a + c), ai = load(z.im + a + c), br = load(z.re + b + c), bi = load(z.im + b + c);
      const V er = half * (ar + br), ei = half * (ai - bi), dr = ar - br, di = ai + bi;
      const V re = fnma(di, wi, dr * wr), im = fma(di, wr, dr * wi);
      store(z.re + a + c, er + re);
      store(z.im + a + c, ei + im);
      store(z.re + b + c, er - re);
      store(z.im + b + c, im - ei);
    }
  }
};

template <class T> class LaneTransform {
public:
  static int64_t size(const FourierSizes& s) {
    const int64_t length = lane_length(s);
    return doubles<T>(Circle::size(s.n)) + aligned_size<T>(ColumnTransform<T>::size(length)) +
           2 * aligned_size<T>(length);
  }

  LaneTransform(const FourierSizes& sizes, T* work)
      : sizes_(sizes), length_(lane_length(sizes)),
        most_(std::clamp<int64_t>(kColumnElements / length_ / kLanes<T> * kLanes<T>, kLanes<T>, kColumns)) {
    Space<T> space{work};
    Circle circle;
    circle.fill(sizes.n, reinterpret_cast<double*>(space.next(doubles<T>(Circle::size(sizes.n)))));
    columns_.emplace(length_, circle, space.next(ColumnTransform<T>::size(length_)));
    mixed_ = reinterpret_cast<Number<T>*>(space.next(2 * length_));
    if (is_packed(sizes)) fill_mixed(length_, circle, mixed_);
  }

  // So many transforms at most at a time.
  int64_t most() const { return most_; }

  // `count` rows or, of a matrix with more than one column, so many of its columns.
  void run(int64_t count, ComplexRow<const T> from, ComplexRow<T> to) const {
    const int64_t width = width_of<T>(count);
    const ComplexRow<T> in = columns_->input();
    const int64_t lines = sizes_.from_lines();
    if (sizes_.kind == ToHalf && is_packed(sizes_)) {
      get(from.re, lines, count, in.re, in.im, width);
      const ComplexRow<T> out = columns_->run(width);
      Mixing<T, Vector<T>>{length_, width, mixed_}.unpack(out);
      put(to, out, width, count);
    } else if (sizes_.kind == FromHalf && is_packed(sizes_)) { // the inverse of swapped parts is the swapped transform
      get(from.re, lines, count, in.im, width);
      get(from.im, lines, count, in.re, width);
      Mixing<T, Vector<T>>{length_, width, mixed_}.pack(swapped(in));
      const ComplexRow<T> out = columns_->run(width);
      put(to.re, sizes_.n, count, out.im, out.re, width);
    } else if (sizes_.kind == FromHalf) {
      get(from.re, lines, count, in.im, width);
      get(from.im, lines, count, in.re, width);
      std::fill(in.re, in.re + width, T(0)); // of the first number only the real part counts
      std::fill(in.re + lines * width, in.re + sizes_.n * width, T(0));
      std::fill(in.im + lines * width, in.im + sizes_.n * width, T(0));
      put(to.re, sizes_.n, count, columns_->run(width).im, width);
    } else {
      get(from.re, lines, count, in.re, width);
      if (sizes_.kind == Complex)
        get(from.im, lines, count, in.im, width);
      else
        std::fill(in.im, in.im + sizes_.n * width, T(0));
      const ComplexRow<T> out = columns_->run(width);
      if (sizes_.kind == ToHalf) std::fill(out.im, out.im + width, T(0));
      put(to, out, width, count);
    }
  }

private:
  // Line i of the tensor to even (or odd) + i / 2 * width; missing transforms are 0.
  void get(const T* from, int64_t lines, int64_t count, T* even, T* odd, int64_t width) const {
    auto line = [=](int64_t i) { return (i % 2 == 0 ? even : odd) + i / 2 * width; };
    for (int64_t i = 0; i < lines && count < width; ++i)
      std::fill(line(i) + count, line(i) + width, T(0));
    if (sizes_.inner == 1) {
      transpose_lines<T>(count, lines, [=](int64_t r) { return from + r * lines; }, line);
      return;
    }
    for (int64_t i = 0; i < lines; ++i)
      copy(line(i), from + i * sizes_.inner, count);
  }
  void put(T* to, int64_t lines, int64_t count, const T* even, const T* odd, int64_t width) const {
    auto line = [=](int64_t i) { return (i % 2 == 0 ? even : odd) + i / 2 * width; };
    if (sizes_.inner == 1) {
      transpose_lines<T>(lines, count, line, [=](int64_t r) { return to + r * lines; });
      return;
    }
    for (int64_t i = 0; i < lines; ++i)
      copy(to + i * sizes_.inner, line(i), count);
  }
  // The same of lines that follow one another.
  void get(const T* from, int64_t lines, int64_t count, T* to, int64_t width) const {
    get(from, lines, count, to, to + width, 2 * width);
  }
  void put(T* to, int64_t lines, int64_t count, const T* from, int64_t width) const {
    put(to, lines, count, from, from + width, 2 * width);
  }
  void put(ComplexRow<T> to, ComplexRow<T> from, int64_t width, int64_t count) const {
    put(to.re, sizes_.to_lines(), count, from.re, width);
    put(to.im, sizes_.to_lines(), count, from.im, width);
  }

  FourierSizes sizes_;
  int64_t length_, most_;
  std::optional<ColumnTransform<T>> columns_;
  Number<T>* mixed_ = nullptr;
};

// ---- one long row at a time

template <class T> class RowTransform {
public:
  static int64_t size(const FourierSizes& s) {
    if (is_smooth(s.n)) return aligned_size<T>(SplitRows<T>::size(s.kind, s.n));
    const int64_t length = lane_length(s);
    return aligned_size<T>(Convolution<T>::size(length)) + 4 * aligned_size<T>(length + 1) +
           aligned_size<T>(length + 2) + doubles<T>(Circle::size(s.n));
  }

  RowTransform(const FourierSizes& sizes, T* work) : kind_(sizes.kind), n_(sizes.n), length_(lane_length(sizes)) {
    Space<T> space{work};
    if (is_smooth(n_)) {
      split_.emplace(kind_, n_, space.next(SplitRows<T>::size(kind_, n_)));
      return;
    }
    convolution_.emplace(length_, space.next(Convolution<T>::size(length_)));
    whole_ = space.next_row(length_ + 1);
    result_ = space.next_row(length_ + 1);
    if (!is_packed(sizes)) return;
    Circle circle;
    circle.fill(n_, reinterpret_cast<double*>(space.next(doubles<T>(Circle::size(n_)))));
    auto* mixed = reinterpret_cast<Number<T>*>(space.next(length_ + 2));
    fill_mixed(length_, circle, mixed);
    mixing_ = {length_, 1, mixed};
  }

  void run(ComplexRow<const T> from, ComplexRow<T> to) const {
    switch (kind_) {
    case Complex: return split_ ? split_->run(from, to) : convolution_->run(from, to, n_);
    case ToHalf: return split_ ? split_->run_to_half(from.re, to) : to_half(from.re, to);
    case FromHalf: return split_ ? split_->run_from_half(from, to.re) : from_half(from, to.re);
    }
  }

private:
  void to_half(const T* from, ComplexRow<T> to) const {
    if (n_ % 2 != 0) {
      convolution_->run({from, nullptr}, to, n_ / 2 + 1);
      to.im[0] = T(0);
      return;
    }
    for (int64_t k = 0; k < length_; ++k) {
      whole_.re[k] = from[2 * k];
      whole_.im[k] = from[2 * k + 1];
    }
    convolution_->run(constant(whole_), to, length_);
    mixing_.unpack(to);
  }

  // The inverse of swapped parts is the swapped transform.
  void from_half(ComplexRow<const T> from, T* to) const {
    const int64_t given = n_ / 2 + 1;
    copy(whole_.re, from.re, given);
    copy(whole_.im, from.im, given);
    if (n_ % 2 == 0) {
      mixing_.pack(whole_);
    } else { // the rest is 0: the real part of the sum is that of what is given
      std::fill(whole_.re + given, whole_.re + n_, T(0));
      std::fill(whole_.im + given, whole_.im + n_, T(0));
      whole_.im[0] = T(0);
    }
    convolution_->run(constant(swapped(whole_)), result_, length_);
    if (n_ % 2 != 0) return copy(to, result_.im, n_);
    for (int64_t k = 0; k < length_; ++k) {
      to[2 * k] = result_.im[k];
      to[2 * k + 1] = result_.re[k];
    }
  }

  FourierKind kind_;
  int64_t n_, length_; // of the convolution
  Mixing<T, T> mixing_{};
  std::optional<SplitRows<T>> split_;
  std::optional<Convolution<T>> convolution_;
  ComplexRow<T> whole_{}, result_{};
};

int64_t group_of(const FourierSizes& s) { return s.n <= kGroupedLength ? kGroup : 1; }

// Columns that become rows, and those that they become.
template <class T> int64_t groups_size(const FourierSizes& s) {
  return 2 * group_of(s) * (aligned_size<T>(s.from_lines()) + aligned_size<T>(s.to_lines()));
}

template <class T>
void through_rows(const FourierSizes& s, const RowTransform<T>& transform, int64_t count, ComplexRow<const T> from,
                  ComplexRow<T> to, T* work) {
  const int64_t lines = s.from_lines(), results = s.to_lines();
  Space<T> space{work};
  const ComplexRow<T> rows = space.next_row(group_of(s) * lines), made = space.next_row(group_of(s) * results);
  for (int64_t column = 0; column < count; column += group_of(s)) {
    const int64_t these = std::min(group_of(s), count - column);
    transpose<T>(lines, these, from.re + column, s.inner, rows.re, lines);
    if (s.kind != ToHalf) transpose<T>(lines, these, from.im + column, s.inner, rows.im, lines);
    for (int64_t r = 0; r < these; ++r)
      transform.run({rows.re + r * lines, rows.im + r * lines}, {made.re + r * results, made.im + r * results});
    transpose<T>(these, results, made.re, results, to.re + column, s.inner);
    if (s.kind != FromHalf) transpose<T>(these, results, made.im, results, to.im + column, s.inner);
  }
}

} // namespace

template <class T> int64_t fourier_work(const FourierSizes& s) {
  if (s.n < 1 || s.inner < 1) return 0;
  if (fits_lanes<T>(s)) return LaneTransform<T>::size(s);
  return aligned_size<T>(RowTransform<T>::size(s)) + (s.inner == 1 ? 0 : groups_size<T>(s));
}

template <class T>
void fourier(const FourierSizes& s, int64_t begin, int64_t end, ComplexRow<const T> from, ComplexRow<T> to, T* work) {
  if (s.inner < 1) return;
  const int64_t blocks = (s.inner + kColumns - 1) / kColumns;
  // Up to `most` columns at a time of each tile.
  auto each = [&](int64_t most, auto run) {
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t matrix = tile / blocks, first = tile % blocks * kColumns;
      const int64_t before = matrix * s.from_lines() * s.inner, after = matrix * s.to_lines() * s.inner;
      for (int64_t column = first; column < std::min(s.inner, first + kColumns); column += most)
        run(std::min({most, s.inner - column, first + kColumns - column}), shifted<const T>(from, before + column),
            shifted<T>(to, after + column));
    }
  };
  if (s.n < 1) // the sum of nothing
    return each(kColumns, [&](int64_t count, ComplexRow<const T>, ComplexRow<T> y) {
      if (s.kind != ToHalf) return;
      std::fill(y.re, y.re + count, T(0));
      std::fill(y.im, y.im + count, T(0));
    });
  if (!fits_lanes<T>(s)) {
    const RowTransform<T> transform(s, work);
    T* const rest = work + aligned_size<T>(RowTransform<T>::size(s));
    each(kColumns, [&](int64_t count, ComplexRow<const T> x, ComplexRow<T> y) {
      if (s.inner == 1) return transform.run(x, y);
      through_rows<T>(s, transform, count, x, y, rest);
    });
    return;
  }
  const LaneTransform<T> transform(s, work);
  if (s.inner > 1)
    return each(transform.most(),
                [&](int64_t count, ComplexRow<const T> x, ComplexRow<T> y) { transform.run(count, x, y); });
  for (int64_t row = begin; row < end; row += kColumns)
    transform.run(std::min(kColumns, end - row), shifted<const T>(from, row * s.from_lines()),
                  shifted<T>(to, row * s.to_lines()));
}

#define TL_FOURIER(T)                                                                                                  \
  template int64_t fourier_work<T>(const FourierSizes&);                                                               \
  template void fourier<T>(const FourierSizes&, int64_t, int64_t, ComplexRow<const T>, ComplexRow<T>, T*);
TL_FOURIER(float)
TL_FOURIER(double)
#undef TL_FOURIER

} // namespace tl
