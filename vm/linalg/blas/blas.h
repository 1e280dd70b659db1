// Products of matrices and what is made of them, for matrices of any strides: transposes, and triangles upside down,
// are views, so that each operation has one case. Blocks have fixed sizes: the order in which an element is summed
// depends on the sizes of the matrices alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tl::blas {

using Size = int64_t;

// Element (i, j) is p[i * rows + j * columns].
template <class T> struct View {
  T* p;
  Size rows, columns; // strides; of what is written to, one of them is 1 or -1

  T& operator()(Size i, Size j) const { return p[i * rows + j * columns]; }
  View at(Size i, Size j) const { return {&(*this)(i, j), rows, columns}; }
  View transposed() const { return {p, columns, rows}; }
  // The last of m rows first.
  View rows_reversed(Size m) const { return {p + (m - 1) * rows, -rows, columns}; }
  // The last of m rows and n columns first: what was an upper triangle is a lower one.
  View reversed(Size m, Size n) const { return {p + (m - 1) * rows + (n - 1) * columns, -rows, -columns}; }
  operator View<const T>() const { return {p, rows, columns}; }
};
template <class T> using Const = View<const std::type_identity_t<T>>;

// Where the products of this thread pack blocks of their operands from now on: memory aligned to 64 bytes, of
// scratch_elements(size) numbers if no size of a product is over `size`.
void use_scratch(void* memory);
Size scratch_elements(Size size);

// Which elements of a product are computed.
enum class Part { All, Lower, Upper };

// The part of c (m×n) += alpha a (m×k) b (k×n); triangles are with the diagonal
template <class T> void gemm(Size m, Size n, Size k, T alpha, Const<T> a, Const<T> b, View<T> c, Part part = Part::All);
// y (m) += alpha a (m×n) x (n)
template <class T> void gemv(Size m, Size n, T alpha, Const<T> a, const T* x, Size x_step, T* y, Size y_step);

// l is n×n and lower triangular; with `unit`, its diagonal counts as ones and is not read.
// b (n×k) = l⁻¹ b
template <class T> void solve_lower(Size n, Size k, Const<T> l, bool unit, View<T> b);
// b (n×k) = l b
template <class T> void multiply_lower(Size n, Size k, Const<T> l, bool unit, View<T> b);

} // namespace tl::blas
