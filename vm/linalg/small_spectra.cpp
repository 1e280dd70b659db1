#include "vm/linalg/small_spectra.h"
#include "vm/linalg/lanes.h"
#include "vm/linalg/small.h"
#include <algorithm>
#include <limits>

namespace tl {

using blas::broadcast, blas::fma, blas::greatest, blas::kLanes, blas::kTiny, blas::Scaling, blas::square_root,
    blas::Words;

namespace {

// The positions of n values in order, the first of equals first.
template <class T, class Less> void order_of(const T* values, int64_t n, int64_t* order, Less less) {
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = i;
    for (; at > 0 && less(values[i], values[order[at - 1]]); --at)
      order[at] = order[at - 1];
    order[at] = i;
  }
}

} // namespace

// ---- eigenvalues ----------------------------------------------------------------------------------------------------

// The lower triangle of a becomes a tridiagonal matrix, d and e: column i keeps the reflection that put zeros there,
// 1 - tau v vᵀ with v from row i + 1 on. p: scratch.
template <class T> void SmallSpectra<T>::reduce(int64_t n, Vector* a, Vector* d, Vector* e, Vector* tau, Vector* p) {
  auto at = [&](int64_t i, int64_t j) -> Vector& { return a[i * n + j]; };
  for (int64_t i = 0; i + 1 < n; ++i) {
    const int64_t first = i + 1;
    d[i] = at(i, i);
    Vector column[kSmallSize];
    for (int64_t r = first; r < n; ++r)
      column[r - first] = at(r, i);
    const auto [beta, t] = blas::reflection<T>(column, n - first);
    e[i] = beta;
    tau[i] = t;
    for (int64_t r = first; r < n; ++r)
      at(r, i) = column[r - first];
    for (int64_t r = first; r < n; ++r)
      p[r] = Vector{};
    for (int64_t c = first; c < n; ++c) {
      const Vector v = at(c, i);
      Vector sum = at(c, c) * v;
      for (int64_t r = c + 1; r < n; ++r) {
        p[r] = fma(at(r, c), v, p[r]);
        sum = fma(at(r, c), at(r, i), sum);
      }
      p[c] += sum;
    }
    Vector product{};
    for (int64_t r = first; r < n; ++r) {
      p[r] *= t;
      product = fma(p[r], at(r, i), product);
    }
    const Vector half = T(-0.5) * t * product;
    for (int64_t r = first; r < n; ++r)
      p[r] = fma(half, at(r, i), p[r]);
    for (int64_t c = first; c < n; ++c)
      for (int64_t r = c; r < n; ++r)
        at(r, c) = fma(-at(r, i), p[c], fma(-p[r], at(c, i), at(r, c)));
  }
  if (n > 0) d[n - 1] = at(n - 1, n - 1);
}

// The diagonals d and e of tridiagonal matrices, and, unless z is null, the columns (one after the other) that are
// turned with them.
template <class T> struct SmallSpectra<T>::Ql {
  using Mask = Words<T>;
  int64_t n;
  Vector *d, *e, *z;

  static constexpr T kLittle = sizeof(T) == 4 ? T(0x1p-50f) : T(0x1p-450); // beside the greatest element

  // Whether e[m] is nothing beside its neighbours, or the whole matrix.
  Mask negligible(int64_t m) const {
    const Vector beside = blas::size<T>(d[m]) + blas::size<T>(d[m + 1]);
    const Vector bound = beside * (std::numeric_limits<T>::epsilon() / 2) + kLittle;
    return blas::size<T>(e[m]) <= bound;
  }

  static Vector chosen(Mask mask, Vector a, Vector b) { return mask ? a : b; }

  // sqrt(f f + g g), with no square that underflows.
  static Vector hypotenuse(Vector f, Vector g) {
    constexpr T more = sizeof(T) == 4 ? T(0x1p70f) : T(0x1p600);
    const auto is_little = greatest<T>(blas::size<T>(f), blas::size<T>(g)) < kLittle;
    const Vector by = is_little ? broadcast(more) : broadcast(T(1));
    const Vector back = is_little ? broadcast(T(1) / more) : broadcast(T(1));
    f *= by, g *= by;
    return square_root(fma(f, f, g * g)) * back;
  }

  // Columns i and i + 1.
  void turn(int64_t i, Vector c, Vector s) {
    Vector *left = z + i * n, *right = left + n;
    for (int64_t k = 0; k < n; ++k) {
      const Vector a = left[k], b = right[k];
      right[k] = fma(s, a, c * b);
      left[k] = fma(c, a, -(s * b));
    }
  }

  // One step from below up to l, of the lanes in `active`, whose blocks end at `last` each.
  void step(int64_t l, Mask active, Vector last) {
    Vector end{};
    for (int64_t m = l + 1; m < n; ++m)
      end = last == static_cast<T>(m) ? d[m] : end;
    const Vector here = active ? e[l] : broadcast(T(1));
    Vector g = (d[l + 1] - d[l]) / (T(2) * here);
    const Vector root = hypotenuse(g, broadcast(T(1)));
    g = end - d[l] + here / (g + (g < T(0) ? -root : root));
    Vector s = broadcast(T(1)), c = s, p{};
    Mask stopped{};
    for (int64_t i = n - 2; i >= l; --i) {
      const Mask acting = active & ~stopped & (last > static_cast<T>(i));
      if (!blas::any(acting)) continue;
      const Vector f = s * e[i], b = c * e[i], r = hypotenuse(f, g);
      e[i + 1] = acting ? r : e[i + 1];
      const Mask ends = acting & (r == T(0)); // the block falls into two
      d[i + 1] = ends ? d[i + 1] - p : d[i + 1];
      stopped |= ends;
      const Mask turns = acting & ~ends;
      const Vector divisor = turns ? r : broadcast(T(1));
      s = turns ? f / divisor : s;
      c = turns ? g / divisor : c;
      const Vector below = d[i + 1] - p, moved = fma(d[i] - below, s, T(2) * c * b);
      p = turns ? s * moved : p;
      d[i + 1] = turns ? below + p : d[i + 1];
      g = turns ? fma(c, moved, -b) : g;
      if (z) turn(i, chosen(turns, c, broadcast(T(1))), chosen(turns, s, Vector{}));
    }
    const Mask whole = active & ~stopped;
    d[l] = whole ? d[l] - p : d[l];
    e[l] = whole ? g : e[l];
    for (int64_t m = l + 1; m < n; ++m) // the last of a block has no neighbour
      e[m] = active & (last == static_cast<T>(m)) ? Vector{} : e[m];
  }

  // Gives the lanes that did not come to an end.
  Mask run() {
    constexpr int tries = 60;
    Mask failed{};
    for (int64_t l = 0; l + 1 < n; ++l)
      for (int left = tries;; --left) {
        Vector last = broadcast(static_cast<T>(n - 1));
        for (int64_t m = n - 2; m >= l; --m)
          last = negligible(m) ? broadcast(static_cast<T>(m)) : last;
        const Mask active = ~failed & (last > static_cast<T>(l));
        if (!blas::any(active)) break;
        if (left == 0) {
          failed |= active;
          break;
        }
        step(l, active, last);
      }
    return failed;
  }
};

template <class T> void SmallSpectra<T>::eigh(int64_t n, const T* from, T* w, T* v) {
  Vector *a = work, *z = a + n * n, *d = z + n * n, *e = d + n, *tau = e + n, *p = tau + n;
  Vector most{};
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      Vector x;
      for (int lane = 0; lane < kLanes<T>; ++lane)
        x[lane] = from[(std::min(lane, count - 1) * n + i) * n + j];
      a[i * n + j] = x;
      most = greatest<T>(most, blas::size<T>(x));
    }
  const Scaling<T> scaling(most);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j)
      a[i * n + j] *= scaling.down;
  reduce(n, a, d, e, tau, p);
  e[n - 1] = Vector{};
  if (v) { // the product of the reflections, the last one first; column j of it is at z + j n
    std::fill(z, z + n * n, Vector{});
    for (int64_t i = 0; i < n; ++i)
      z[i * n + i] = broadcast(T(1));
    for (int64_t i = n - 2; i >= 0; --i)
      for (int64_t j = i + 1; j < n; ++j) {
        Vector sum{};
        for (int64_t r = i + 1; r < n; ++r)
          sum = fma(a[r * n + i], z[j * n + r], sum);
        sum *= -tau[i];
        for (int64_t r = i + 1; r < n; ++r)
          z[j * n + r] = fma(sum, a[r * n + i], z[j * n + r]);
      }
  }
  Ql ql{n, d, e, v ? z : nullptr};
  const auto failed = ql.run();
  for (int64_t i = 0; i < n; ++i)
    d[i] = d[i] * scaling.up + T(0); // never -0.0, nor below
  for (int lane = 0; lane < count; ++lane) {
    if (failed[lane]) info[lane] = 1;
    T values[kSmallSize];
    int64_t order[kSmallSize];
    for (int64_t i = 0; i < n; ++i)
      values[i] = d[i][lane];
    order_of(values, n, order, [](T x, T y) { return x < y; });
    for (int64_t j = 0; j < n; ++j) {
      w[lane * n + j] = values[order[j]];
      for (int64_t i = 0; v && i < n; ++i)
        v[(lane * n + i) * n + j] = z[order[j] * n + i][lane] + T(0);
    }
  }
}

// ---- singular values ------------------------------------------------------------------------------------------------

// n columns of m >= n elements, one after the other, and the columns of the matrix that they are multiplied with; null:
// they are not wanted.
template <class T> struct SmallSpectra<T>::Columns {
  int64_t m, n;
  Vector *u, *v;
  Vector* squares; // of the norms of u's columns
};

template <class T> void SmallSpectra<T>::orthogonalise(Columns& c) {
  constexpr int tries = 60;
  const T epsilon = std::numeric_limits<T>::epsilon() * std::sqrt(static_cast<T>(c.m));
  constexpr T steep = sizeof(T) == 4 ? T(0x1p40f) : T(0x1p300);
  auto product = [&](int64_t p, int64_t q) {
    Vector sum{};
    for (int64_t i = 0; i < c.m; ++i)
      sum = fma(c.u[p * c.m + i], c.u[q * c.m + i], sum);
    return sum;
  };
  auto turn = [](Vector* left, Vector* right, int64_t size, Vector cosine, Vector sine) {
    for (int64_t i = 0; i < size; ++i) {
      const Vector a = left[i], b = right[i];
      left[i] = fma(cosine, a, -(sine * b));
      right[i] = fma(sine, a, cosine * b);
    }
  };
  Words<T> last{}; // the lanes where the last sweep turned anything
  for (int left = tries; left > 0; --left) {
    const auto unfinished = left == tries ? ~Words<T>{} : last;
    last = Words<T>{};
    for (int64_t j = 0; j < c.n; ++j) // turning changes them by what it moves: exactly enough within a sweep
      c.squares[j] = product(j, j);
    for (int64_t p = 0; p + 1 < c.n; ++p)
      for (int64_t q = p + 1; q < c.n; ++q) {
        const Vector alpha = c.squares[p], beta = c.squares[q], gamma = product(p, q);
        const auto turns = unfinished & (alpha > kTiny<T>)&(beta > kTiny<T>)&(
                                            blas::size<T>(gamma) > epsilon * square_root(alpha) * square_root(beta));
        if (!blas::any(turns)) continue;
        last |= turns;
        const Vector zeta = (beta - alpha) / (turns ? T(2) * gamma : broadcast(T(1))), size = blas::size<T>(zeta);
        const Vector root = size > steep ? size : square_root(fma(size, size, broadcast(T(1))));
        Vector tangent = T(1) / (size + root);
        tangent = zeta < T(0) ? -tangent : tangent;
        const Vector cosine = T(1) / square_root(fma(tangent, tangent, broadcast(T(1))));
        const Vector first = turns ? cosine : broadcast(T(1)), second = turns ? cosine * tangent : Vector{};
        const Vector moved = turns ? tangent * gamma : Vector{};
        c.squares[p] = greatest<T>(alpha - moved, Vector{});
        c.squares[q] = greatest<T>(beta + moved, Vector{});
        turn(c.u + p * c.m, c.u + q * c.m, c.m, first, second);
        if (c.v) turn(c.v + p * c.n, c.v + q * c.n, c.n, first, second);
      }
    if (!blas::any(last)) break;
  }
  for (int64_t j = 0; j < c.n; ++j)
    c.squares[j] = product(j, j);
}

template <class T> uint32_t SmallSpectra<T>::svd(int64_t m, int64_t n, const T* from, T* u, T* s, T* vt) {
  const bool wide = m < n; // then the transposed matrix, and u and v in each other's place
  const int64_t rows = std::max(m, n), columns = std::min(m, n);
  Columns c{rows, columns, work, u ? work + rows * columns : nullptr, work + rows * columns + columns * columns};
  Vector most{};
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t at = wide ? j * n + i : i * n + j;
      Vector x;
      for (int lane = 0; lane < kLanes<T>; ++lane)
        x[lane] = from[std::min(lane, count - 1) * m * n + at];
      c.u[j * rows + i] = x;
      most = greatest<T>(most, blas::size<T>(x));
    }
  const Scaling<T> scaling(most);
  for (int64_t i = 0; i < rows * columns; ++i)
    c.u[i] *= scaling.down;
  if (c.v) {
    std::fill(c.v, c.v + columns * columns, Vector{});
    for (int64_t j = 0; j < columns; ++j)
      c.v[j * columns + j] = broadcast(T(1));
  }
  orthogonalise(c);
  uint32_t unknown = 0;
  for (int lane = 0; lane < count; ++lane) {
    T squares[kSmallSize];
    int64_t order[kSmallSize];
    for (int64_t j = 0; j < columns; ++j)
      squares[j] = c.squares[j][lane];
    order_of(squares, columns, order, [](T x, T y) { return x > y; });
    for (int64_t j = 0; j < columns; ++j)
      s[lane * columns + j] = std::sqrt(squares[order[j]]) * scaling.up[lane];
    if (!u) continue;
    if (columns > 0 && squares[order[columns - 1]] <= kTiny<T>) {
      unknown |= 1u << lane;
      continue;
    }
    // The first of the two has the elements of the columns, the second what they are multiplied with.
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t column = order[j];
      const T norm = std::sqrt(squares[column]);
      for (int64_t i = 0; i < rows; ++i) {
        const T x = c.u[column * rows + i][lane] / norm + T(0);
        (wide ? vt[(lane * columns + j) * n + i] : u[(lane * m + i) * columns + j]) = x;
      }
      for (int64_t i = 0; i < columns; ++i) {
        const T x = c.v[column * columns + i][lane] + T(0);
        (wide ? u[(lane * m + i) * columns + j] : vt[(lane * columns + j) * n + i]) = x;
      }
    }
  }
  return unknown;
}

template <class T> void SmallSpectra<T>::svd_values(int64_t m, int64_t n, const T* a, T* s) {
  svd(m, n, a, nullptr, s, nullptr);
}

template struct SmallSpectra<float>;
template struct SmallSpectra<double>;

} // namespace tl
