// c += alpha a b: blocks of a and b are packed into panels, and a kernel of registers computes a tile of c from two
// panels.
#include "vm/linalg/blas/packing.h"
#include "vm/linalg/blas/vector.h"
#include <algorithm>

namespace tl::blas {
namespace {

thread_local void* scratch = nullptr;

// A panel of `width` rows (of b: columns), element by element of k; rows beyond `count` are zeros.
template <class T, int width> void pack_panel(Size count, Size k, const T* from, Size across, Size along, T* to) {
  if (count == width && across == 1) {
    for (Size p = 0; p < k; ++p, from += along, to += width)
      std::memcpy(to, from, width * sizeof(T));
    return;
  }
  if (count == width) {
    for (Size p0 = 0; p0 < k; p0 += 8) // some cache lines of each row at a time
      for (Size i = 0; i < width; ++i)
        for (Size p = p0; p < std::min(k, p0 + 8); ++p)
          to[p * width + i] = from[i * across + p * along];
    return;
  }
  for (Size p0 = 0; p0 < k; p0 += 8)
    for (Size i = 0; i < width; ++i)
      for (Size p = p0; p < std::min(k, p0 + 8); ++p)
        to[p * width + i] = i < count ? from[i * across + p * along] : T(0);
}

template <class T, int width> void pack(Size rows, Size k, const T* from, Size across, Size along, T* to) {
  for (Size i = 0; i < rows; i += width)
    pack_panel<T, width>(std::min<Size>(width, rows - i), k, from + i * across, across, along, to + i * k);
}

// tile (kTileRows × kTileColumns) += alpha a b, of packed panels.
template <class T>
void multiply_panels(Size k, T alpha, const T* __restrict a, const T* __restrict b, T* __restrict c, Size step) {
  constexpr int vectors = kTileRows<T> / kLanes<T>;
  Vector<T> sums[kTileColumns][vectors] = {};
  for (Size p = 0; p < k; ++p, a += kTileRows<T>, b += kTileColumns) {
    Vector<T> column[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      column[v] = load(a + v * kLanes<T>);
#pragma GCC unroll 8
    for (int j = 0; j < kTileColumns; ++j) {
      const Vector<T> factor = broadcast(b[j]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v)
        sums[j][v] = fma(column[v], factor, sums[j][v]);
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < kTileColumns; ++j)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      T* at = c + j * step + v * kLanes<T>;
      store(at, fma(sums[j][v], broadcast(alpha), load(at)));
    }
}

// At most kTileRows elements, where a call of memcpy takes longer.
template <class T> inline void copy_few(const T* from, T* to, Size count) {
  Size i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>)
    store(to + i, load(from + i));
  for (; i < count; ++i)
    to[i] = from[i];
}

// The same for a tile that is not wholly in that part of c. c(0, 0) is `above` rows above the diagonal.
template <class T>
void multiply_edge(Size rows, Size columns, Size k, T alpha, const T* a, const T* b, T* c, Size step, Part part,
                   Size above) {
  alignas(32) T tile[kTileColumns * kTileRows<T>];
  for (Size i = 0; i < kTileColumns * kTileRows<T>; i += kLanes<T>)
    store(tile + i, Vector<T>{});
  auto each_column = [&](auto&& copy) {
    for (Size j = 0; j < columns; ++j) {
      const Size diagonal = std::clamp<Size>(j + above, 0, rows);
      const Size begin = part == Part::Lower ? diagonal : 0;
      const Size end = part == Part::Upper ? std::clamp<Size>(j + above + 1, 0, rows) : rows;
      if (begin < end) copy(c + j * step + begin, tile + j * kTileRows<T> + begin, end - begin);
    }
  };
  each_column([](const T* in_c, T* in_tile, Size count) { copy_few(in_c, in_tile, count); });
  multiply_panels(k, alpha, a, b, tile, kTileRows<T>);
  each_column([](T* in_c, const T* in_tile, Size count) { copy_few(in_tile, in_c, count); });
}

template <class T>
void multiply_packed(Size m, Size n, Size k, T alpha, const T* a, const T* b, T* c, Size step, Part part, Size above) {
  for (Size j = 0; j < n; j += kTileColumns)
    for (Size i = 0; i < m; i += kTileRows<T>) {
      const Size rows = std::min<Size>(kTileRows<T>, m - i), columns = std::min<Size>(kTileColumns, n - j);
      const Size here = above + j - i; // rows that c(i, j) is above the diagonal
      const bool none = (part == Part::Lower && here >= rows) || (part == Part::Upper && here + columns <= 0);
      if (none) continue;
      const bool cut = (part == Part::Lower && here + columns > 1) || (part == Part::Upper && here < rows - 1);
      if (rows == kTileRows<T> && columns == kTileColumns && !cut)
        multiply_panels(k, alpha, a + i * k, b + j * k, c + i + j * step, step);
      else
        multiply_edge(rows, columns, k, alpha, a + i * k, b + j * k, c + i + j * step, step, part, here);
    }
}

Size padded(Size size, Size tile) { return (size + tile - 1) / tile * tile; }

Part mirrored(Part part) { return part == Part::All ? Part::All : part == Part::Lower ? Part::Upper : Part::Lower; }

} // namespace

void use_scratch(void* memory) { scratch = memory; }

Size scratch_elements(Size size) {
  const Size depth = std::min(kBlockDepth, size);
  return depth * (std::min(kBlockRows, size + kTileRows<float>) + std::min(kBlockColumns, size + kTileColumns));
}

template <class T> void gemm(Size m, Size n, Size k, T alpha, Const<T> a, Const<T> b, View<T> c, Part part) {
  if (m == 0 || n == 0 || k == 0) return;
  if (part == Part::All && n == 1) return gemv<T>(m, k, alpha, a, b.p, b.rows, c.p, c.rows);
  if (part == Part::All && m == 1) return gemv<T>(n, k, alpha, b.transposed(), a.p, a.columns, c.p, c.columns);
  if (c.rows != 1 && c.rows != -1)
    return gemm<T>(n, m, k, alpha, b.transposed(), a.transposed(), c.transposed(), mirrored(part));
  if (c.rows == -1) {
    a = a.rows_reversed(m);
    b = b.transposed().rows_reversed(n).transposed();
    c = c.reversed(m, n);
    part = mirrored(part);
  }
  const Size most_rows = std::min(kBlockRows, padded(m, kTileRows<T>));
  T* packed_a = static_cast<T*>(scratch);
  T* packed_b = packed_a + most_rows * std::min(kBlockDepth, k); // whole vectors
  for (Size j = 0; j < n; j += kBlockColumns) {
    const Size columns = std::min(kBlockColumns, n - j);
    for (Size p = 0; p < k; p += kBlockDepth) {
      const Size depth = std::min(kBlockDepth, k - p);
      pack<T, kTileColumns>(columns, depth, &b(p, j), b.columns, b.rows, packed_b);
      for (Size i = 0; i < m; i += kBlockRows) {
        const Size rows = std::min(kBlockRows, m - i);
        if ((part == Part::Lower && i + rows <= j) || (part == Part::Upper && i >= j + columns)) continue;
        pack<T, kTileRows<T>>(rows, depth, &a(i, p), a.rows, a.columns, packed_a);
        multiply_packed(rows, columns, depth, alpha, packed_a, packed_b, &c(i, j), c.columns, part, j - i);
      }
    }
  }
}

template void gemm(Size, Size, Size, float, Const<float>, Const<float>, View<float>, Part);
template void gemm(Size, Size, Size, double, Const<double>, Const<double>, View<double>, Part);

} // namespace tl::blas
