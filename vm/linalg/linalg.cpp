#include "vm/linalg/linalg.h"
#include "vm/linalg/blas/packing.h"
#include "vm/linalg/factor.h"
#include "vm/linalg/fourier.h"
#include "vm/linalg/lapack.h"
#include "vm/linalg/small.h"
#include "vm/linalg/small_spectra.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <new>

namespace tl {
namespace {

using blas::View;
using lapack::Int;

// The workspace of one matrix: arrays of T, then the integers. Or of small ones.
struct Plan {
  // Elements of T; the last two: for blas::use_scratch, and for small matrices.
  int64_t a = 0, b = 0, c = 0, work = 0, packed = 0, lanes = 0;
  int64_t integers = 0;
};

// What a query for the best length of a workspace gave. It comes as a float, which may have lost its last digits.
template <class T> int64_t length(T given) {
  return static_cast<int64_t>(std::ceil(std::nextafter(given, std::numeric_limits<T>::infinity())));
}

// Several matrices at a time, as the lanes of vectors.
bool is_small(LinalgOp op, int64_t batch, int64_t m, int64_t n, int64_t k) {
  constexpr int64_t few = 4, size_of_few = 8; // rotations of so few take longer than LAPACK if they are larger
  switch (op) {
  case LinalgOp::Svd:
  case LinalgOp::SvdValues: return std::max(m, n) <= (batch < few ? size_of_few : kSmallSize);
  case LinalgOp::Cholesky:
  case LinalgOp::LuFactor:
  case LinalgOp::Solve:
  case LinalgOp::SolveLower:
  case LinalgOp::SolveUpper:
  case LinalgOp::Qr:
  case LinalgOp::Eigh:
  case LinalgOp::EighValues: return std::max({m, n, k}) <= kSmallSize;
  default: return false;
  }
}

constexpr bool is_fourier(LinalgOp op) {
  return op == LinalgOp::Fft || op == LinalgOp::InverseFft || op == LinalgOp::RealFft ||
         op == LinalgOp::RealFftTransposed;
}
FourierSizes fourier_sizes(LinalgOp op, int64_t m, int64_t n, int64_t k) {
  if (op == LinalgOp::RealFftTransposed) return {FourierKind::FromHalf, k, n};
  return {op == LinalgOp::RealFft ? FourierKind::ToHalf : FourierKind::Complex, m, n};
}

template <class T> Plan plan(LinalgOp op, int64_t batch, Int m, Int n, Int k) {
  const Int p = std::min(m, n);
  const int64_t a = int64_t{m} * n;
  T best = 0, other = 0;
  Plan result;
  if (is_fourier(op)) {
    result.work = fourier_work<T>(fourier_sizes(op, m, n, k));
    return result;
  }
  if (p == 0) return result; // nothing to compute
  if (is_small(op, batch, m, n, k)) {
    int64_t vectors = 0;
    switch (op) {
    case LinalgOp::Svd:
    case LinalgOp::SvdValues: vectors = SmallSpectra<T>::svd_vectors(m, n); break;
    case LinalgOp::Eigh:
    case LinalgOp::EighValues: vectors = SmallSpectra<T>::eigh_vectors(n); break;
    case LinalgOp::Qr: vectors = SmallMatrices<T>::qr_vectors(m, n); break;
    default: vectors = SmallMatrices<T>::vectors(m, n, k);
    }
    result.lanes = vectors * blas::kLanes<T>;
    if (op != LinalgOp::Svd) return result; // which LAPACK computes where vectors are not known
  }
  result.packed = blas::scratch_elements(std::max({m, n, k}));
  switch (op) {
  case LinalgOp::Cholesky:
  case LinalgOp::SolveLower:
  case LinalgOp::SolveUpper: break; // in the result itself
  case LinalgOp::LuFactor:
    result.work = lu_panel(m);
    result.integers = p;
    break;
  case LinalgOp::Solve:
    result.a = a;
    result.work = lu_panel(n);
    result.integers = n;
    break;
  case LinalgOp::Qr:
    lapack::geqrf(m, n, nullptr, m, nullptr, &best, -1);
    lapack::orgqr(m, p, p, nullptr, m, nullptr, &other, -1);
    result.a = a;
    result.b = p;
    result.work = std::max<int64_t>(length(std::max(best, other)), n);
    break;
  case LinalgOp::Svd: {
    lapack::gesdd('S', m, n, nullptr, m, nullptr, nullptr, m, nullptr, p, &best, -1, nullptr);
    const int64_t q = p;
    result.a = a;
    result.b = m * q;
    result.c = q * n;
    result.work = std::max(length(best), 4 * q * q + 7 * q + std::max(m, n));
    result.integers = 8 * q;
    break;
  }
  case LinalgOp::EigValues: {
    lapack::geev(n, nullptr, n, nullptr, nullptr, nullptr, 1, &best, -1);
    result.a = a;
    result.work = std::max<int64_t>(length(best), int64_t{3} * n);
    break;
  }
  case LinalgOp::SvdValues: {
    lapack::gesdd('N', m, n, nullptr, m, nullptr, nullptr, 1, nullptr, 1, &best, -1, nullptr);
    result.a = a;
    result.work = std::max(length(best), 7 * int64_t{p} + std::max(m, n));
    result.integers = 8 * int64_t{p};
    break;
  }
  case LinalgOp::EighValues: {
    Int integers = 0;
    lapack::syevd('N', 'L', n, nullptr, n, nullptr, &best, -1, &integers, -1);
    result.a = a;
    result.work = std::max(length(best), 1 + 2 * int64_t{n});
    result.integers = 1;
    break;
  }
  case LinalgOp::Eigh: {
    Int integers = 0;
    lapack::syevd('V', 'L', n, nullptr, n, nullptr, &best, -1, &integers, -1);
    const int64_t q = n;
    result.a = a;
    result.work = std::max(length(best), 1 + 6 * q + 2 * q * q);
    result.integers = std::max<int64_t>(integers, 3 + 5 * q);
    break;
  }
  case LinalgOp::EigParts: {
    T vectors = 0; // not null: they are wanted
    lapack::geev(n, nullptr, n, nullptr, nullptr, &vectors, n, &best, -1);
    result.a = a;
    result.b = a;
    result.work = std::max<int64_t>(length(best), int64_t{4} * n);
    break;
  }
  case LinalgOp::Fft:
  case LinalgOp::InverseFft:
  case LinalgOp::RealFft:
  case LinalgOp::RealFftTransposed: break;
  }
  return result;
}

// The other order of elements: `from` is rows × columns, row-major.
template <class T> void transpose(const T* from, int64_t rows, int64_t columns, T* to) {
  constexpr int64_t block = 16;
  for (int64_t i0 = 0; i0 < rows; i0 += block)
    for (int64_t j0 = 0; j0 < columns; j0 += block)
      for (int64_t i = i0; i < std::min(rows, i0 + block); ++i)
        for (int64_t j = j0; j < std::min(columns, j0 + block); ++j)
          to[j * rows + i] = from[i * columns + j];
}

// One matrix: reads in[…], writes out[…]. Gives what is wrong with it, or 0.
template <class T> struct Matrix {
  Int m, n, k;
  const Plan& plan;
  T *a, *b, *c, *work; // workspaces
  Int* integers;

  Int cholesky(const T* from, T* to) {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        to[i * n + j] = j <= i ? from[i * n + j] : T(0);
    return tl::cholesky<T>(n, {to, n, 1});
  }

  Int lu_factor(const T* from, T* to, int64_t* pivots) {
    std::copy(from, from + int64_t{m} * n, to);
    lu<T>(m, n, {to, n, 1}, integers, work); // a zero pivot is no failure here
    std::copy(integers, integers + std::min(m, n), pivots);
    return 0;
  }

  Int solve(const T* from, const T* right, T* x) {
    std::copy(from, from + int64_t{n} * n, a);
    std::copy(right, right + int64_t{n} * k, x);
    const View<T> factors{a, n, 1}, solution{x, k, 1};
    if (Int info = lu<T>(n, n, factors, integers, work)) return info;
    exchange_rows<T>(solution, k, integers, n);
    blas::solve_lower<T>(n, k, factors, true, solution);
    blas::solve_lower<T>(n, k, factors.reversed(n, n), false, solution.rows_reversed(n));
    return 0;
  }

  Int solve_triangular(bool lower, const T* from, const T* right, T* x) {
    std::copy(right, right + int64_t{n} * k, x);
    for (int64_t i = 0; i < n; ++i)
      if (from[i * n + i] == T(0)) return static_cast<Int>(i + 1);
    const View<const T> triangle{from, n, 1};
    const View<T> solution{x, k, 1};
    if (lower)
      blas::solve_lower<T>(n, k, triangle, false, solution);
    else
      blas::solve_lower<T>(n, k, triangle.reversed(n, n), false, solution.rows_reversed(n));
    return 0;
  }

  Int qr(const T* from, T* q, T* r) {
    const Int p = std::min(m, n);
    const auto lwork = static_cast<Int>(plan.work);
    transpose(from, m, n, a);
    lapack::geqrf(m, n, a, m, b, work, lwork);
    for (int64_t i = 0; i < p; ++i)
      for (int64_t j = 0; j < n; ++j)
        r[i * n + j] = i <= j ? a[j * m + i] : T(0);
    lapack::orgqr(m, p, p, a, m, b, work, lwork);
    transpose(a, p, m, q);
    return 0;
  }

  Int svd(const T* from, T* u, T* s, T* vt) {
    const Int p = std::min(m, n);
    transpose(from, m, n, a);
    Int info = lapack::gesdd('S', m, n, a, m, s, b, m, c, p, work, static_cast<Int>(plan.work), integers);
    transpose(b, p, m, u);
    transpose(c, n, p, vt);
    return info;
  }

  Int eigh(const T* from, T* w, T* v) {
    transpose(from, n, n, a);
    Int info = lapack::syevd('V', 'L', n, a, n, w, work, static_cast<Int>(plan.work), integers,
                             static_cast<Int>(plan.integers));
    transpose(a, n, n, v);
    return info;
  }

  Int svd_values(const T* from, T* s) {
    transpose(from, m, n, a);
    return lapack::gesdd('N', m, n, a, m, s, nullptr, 1, nullptr, 1, work, static_cast<Int>(plan.work), integers);
  }

  Int eigh_values(const T* from, T* w) {
    transpose(from, n, n, a);
    return lapack::syevd('N', 'L', n, a, n, w, work, static_cast<Int>(plan.work), integers,
                         static_cast<Int>(plan.integers));
  }

  Int eig_values(const T* from, T* real, T* imaginary) {
    transpose(from, n, n, a);
    return lapack::geev(n, a, n, real, imaginary, nullptr, 1, work, static_cast<Int>(plan.work));
  }

  Int eig(const T* from, T* real, T* imaginary, T* v) {
    transpose(from, n, n, a);
    Int info = lapack::geev(n, a, n, real, imaginary, b, n, work, static_cast<Int>(plan.work));
    transpose(b, n, n, v);
    return info;
  }
};

int64_t number(KernelArgs args, size_t i) {
  int64_t value;
  std::memcpy(&value, args[i], sizeof value);
  return value;
}

// The operands and results of a kernel.
template <class T> struct Tensors {
  KernelArgs args;
  // The matrix t of `elements`.
  T* operator()(size_t i, int64_t t, int64_t elements) const {
    return static_cast<T*>(args[kLinalgNumbers + i]) + t * elements;
  }
};

// The inverse of the swapped parts is the swapped transform.
template <class T, LinalgOp op>
void fourier_tiles(KernelArgs args, int64_t begin, int64_t end, const KernelWorkspace* workspace) {
  const Tensors<T> tensor{args};
  ComplexRow<T> from{tensor(0, 0, 0), nullptr}, to{nullptr, nullptr};
  size_t next = 1;
  if (op != LinalgOp::RealFft) from.im = tensor(next++, 0, 0);
  to.re = tensor(next++, 0, 0);
  if (op != LinalgOp::RealFftTransposed) to.im = tensor(next, 0, 0);
  if (op == LinalgOp::InverseFft) {
    std::swap(from.re, from.im);
    std::swap(to.re, to.im);
  }
  fourier<T>(fourier_sizes(op, number(args, 1), number(args, 2), number(args, 3)), begin, end, {from.re, from.im}, to,
             reinterpret_cast<T*>(workspace->local));
}

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

template <class T> int64_t bytes_of(const Plan& plan) {
  const auto t = static_cast<int64_t>(sizeof(T));
  return aligned(plan.a * t) + aligned(plan.b * t) + aligned(plan.c * t) + aligned(plan.work * t) +
         aligned(plan.packed * t) + aligned(plan.lanes * t) +
         aligned(plan.integers * static_cast<int64_t>(sizeof(Int)));
}

template <class T, LinalgOp op>
void small_matrices(KernelArgs args, int64_t begin, int64_t end, void* work, KernelErrors* errors) {
  const int64_t m = number(args, 1), n = number(args, 2), k = number(args, 3);
  const Tensors<T> tensor{args};
  for (int64_t t = begin; t < end; t += blas::kLanes<T>) {
    const auto count = static_cast<int>(std::min<int64_t>(blas::kLanes<T>, end - t));
    SmallMatrices<T> matrices{m, n, k, count, static_cast<blas::Vector<T>*>(work)};
    const T* a = tensor(0, t, m * n);
    if constexpr (op == LinalgOp::Cholesky)
      matrices.cholesky(a, tensor(1, t, n * n));
    else if constexpr (op == LinalgOp::LuFactor)
      matrices.lu_factor(a, tensor(1, t, m * n), static_cast<int64_t*>(args[kLinalgNumbers + 2]) + t * std::min(m, n));
    else if constexpr (op == LinalgOp::Solve)
      matrices.solve(a, tensor(1, t, n * k), tensor(2, t, n * k));
    else if constexpr (op == LinalgOp::Qr)
      matrices.qr(a, tensor(1, t, m * std::min(m, n)), tensor(2, t, std::min(m, n) * n));
    else if constexpr (op == LinalgOp::SolveLower || op == LinalgOp::SolveUpper)
      matrices.solve_triangular(op == LinalgOp::SolveLower, a, tensor(1, t, n * k), tensor(2, t, n * k));
    for (int w = 0; w < count; ++w)
      if (matrices.info[w] != 0)
        errors->record(errors, static_cast<int32_t>(number(args, 4)), t + w, t + w, matrices.info[w]);
  }
}

constexpr bool is_spectrum(LinalgOp op) {
  return op == LinalgOp::Svd || op == LinalgOp::SvdValues || op == LinalgOp::Eigh || op == LinalgOp::EighValues;
}

// `matrix`: for those whose vectors are not known.
template <class T, LinalgOp op>
void small_spectra(KernelArgs args, int64_t begin, int64_t end, void* work, Matrix<T>& matrix, KernelErrors* errors) {
  const int64_t m = number(args, 1), n = number(args, 2), p = std::min(m, n);
  const auto site = static_cast<int32_t>(number(args, 4));
  const Tensors<T> tensor{args};
  for (int64_t t = begin; t < end; t += blas::kLanes<T>) {
    const auto count = static_cast<int>(std::min<int64_t>(blas::kLanes<T>, end - t));
    SmallSpectra<T> matrices{count, static_cast<blas::Vector<T>*>(work)};
    const T* a = tensor(0, t, m * n);
    if constexpr (op == LinalgOp::Eigh)
      matrices.eigh(n, a, tensor(1, t, n), tensor(2, t, n * n));
    else if constexpr (op == LinalgOp::EighValues)
      matrices.eigh(n, a, tensor(1, t, n), nullptr);
    else if constexpr (op == LinalgOp::SvdValues)
      matrices.svd_values(m, n, a, tensor(1, t, p));
    else {
      uint32_t unknown = matrices.svd(m, n, a, tensor(1, t, m * p), tensor(2, t, p), tensor(3, t, p * n));
      for (; unknown != 0; unknown &= unknown - 1) {
        const int w = std::countr_zero(unknown);
        matrices.info[w] =
            matrix.svd(a + w * m * n, tensor(1, t + w, m * p), tensor(2, t + w, p), tensor(3, t + w, p * n));
      }
    }
    for (int w = 0; w < count; ++w)
      if (matrices.info[w] != 0) errors->record(errors, site, t + w, t + w, matrices.info[w]);
  }
}

template <class T, LinalgOp op>
void phase(KernelArgs args, int64_t begin, int64_t end, const KernelWorkspace* workspace, KernelErrors* errors) {
  const int64_t m = number(args, 1), n = number(args, 2), k = number(args, 3);
  const auto site = static_cast<int32_t>(number(args, 4));
  const int64_t p = std::min(m, n);
  if constexpr (is_fourier(op)) return fourier_tiles<T, op>(args, begin, end, workspace);
  if (p == 0) return; // what there is of results is empty
  const bool small = is_small(op, number(args, 0), m, n, k);
  if constexpr (!is_spectrum(op))
    if (small) return small_matrices<T, op>(args, begin, end, workspace->local, errors);
  const Plan space = plan<T>(op, number(args, 0), static_cast<Int>(m), static_cast<Int>(n), static_cast<Int>(k));
  std::byte* at = workspace->local;
  auto next = [&](int64_t elements) {
    auto* array = reinterpret_cast<T*>(at);
    at += aligned(elements * static_cast<int64_t>(sizeof(T)));
    return array;
  };
  Matrix<T> matrix{static_cast<Int>(m),
                   static_cast<Int>(n),
                   static_cast<Int>(k),
                   space,
                   nullptr,
                   nullptr,
                   nullptr,
                   nullptr,
                   nullptr};
  matrix.a = next(space.a);
  matrix.b = next(space.b);
  matrix.c = next(space.c);
  matrix.work = next(space.work);
  blas::use_scratch(next(space.packed));
  auto* lanes = next(space.lanes);
  matrix.integers = reinterpret_cast<Int*>(at);
  if constexpr (is_spectrum(op))
    if (small) return small_spectra<T, op>(args, begin, end, lanes, matrix, errors);
  const Tensors<T> tensor{args};
  for (int64_t t = begin; t < end; ++t) {
    const T* a = tensor(0, t, m * n);
    Int info = 0;
    if constexpr (op == LinalgOp::Cholesky)
      info = matrix.cholesky(a, tensor(1, t, m * n));
    else if constexpr (op == LinalgOp::LuFactor)
      info = matrix.lu_factor(a, tensor(1, t, m * n), static_cast<int64_t*>(args[kLinalgNumbers + 2]) + t * p);
    else if constexpr (op == LinalgOp::Solve)
      info = matrix.solve(a, tensor(1, t, n * k), tensor(2, t, n * k));
    else if constexpr (op == LinalgOp::SolveLower || op == LinalgOp::SolveUpper)
      info = matrix.solve_triangular(op == LinalgOp::SolveLower, a, tensor(1, t, n * k), tensor(2, t, n * k));
    else if constexpr (op == LinalgOp::Qr)
      info = matrix.qr(a, tensor(1, t, m * p), tensor(2, t, p * n));
    else if constexpr (op == LinalgOp::Svd)
      info = matrix.svd(a, tensor(1, t, m * p), tensor(2, t, p), tensor(3, t, p * n));
    else if constexpr (op == LinalgOp::Eigh)
      info = matrix.eigh(a, tensor(1, t, n), tensor(2, t, n * n));
    else if constexpr (op == LinalgOp::SvdValues)
      info = matrix.svd_values(a, tensor(1, t, p));
    else if constexpr (op == LinalgOp::EighValues)
      info = matrix.eigh_values(a, tensor(1, t, n));
    else if constexpr (op == LinalgOp::EigValues)
      info = matrix.eig_values(a, tensor(1, t, n), tensor(2, t, n));
    else
      info = matrix.eig(a, tensor(1, t, n), tensor(2, t, n), tensor(3, t, n * n));
    if (info != 0) errors->record(errors, site, t, t, info);
  }
}

template <LinalgOp op> CompiledKernel make_kernel(DType type) {
  using Step = SizeFormula::Op;
  CompiledKernel kernel;
  kernel.name = std::string("linalg ") + std::string(info(op).name);
  KernelPhase& only = kernel.phases.emplace_back();
  only.function = type == DType::F32 ? phase<float, op> : phase<double, op>;
  only.tiles.steps = {{Step::Arg, 0}};
  if (is_fourier(op)) { // blocks of columns; about 5 operations for each element
    const int64_t length = op == LinalgOp::RealFftTransposed ? 3 : 1;
    only.tiles.steps = {{Step::Arg, 0}, {Step::Arg, 2}, {Step::Const, kFourierColumns}, {Step::CeilDiv}, {Step::Mul}};
    only.grain.steps = {{Step::Const, 100000}, {Step::Arg, length}, {Step::Const, 5},
                        {Step::Mul},           {Step::Arg, 2},      {Step::Const, kFourierColumns},
                        {Step::Min},           {Step::Mul},         {Step::Const, 1},
                        {Step::Add},           {Step::CeilDiv}};
    return kernel;
  }
  // About an operation a nanosecond: 100 us are worth a task. 100000 / (n * n * (m + k) + 1), rounded up
  only.grain.steps = {{Step::Const, 100000}, {Step::Arg, 2}, {Step::Arg, 2}, {Step::Mul},
                      {Step::Arg, 1},        {Step::Arg, 3}, {Step::Add},    {Step::Mul},
                      {Step::Const, 1},      {Step::Add},    {Step::CeilDiv}};
  return kernel;
}

struct FirstFailure : KernelErrors {
  std::optional<LinalgFailure> first;
};

} // namespace

const CompiledKernel& linalg_kernel(LinalgOp op, DType type) {
#define TL_LINALG(Enum, ...) {make_kernel<LinalgOp::Enum>(DType::F32), make_kernel<LinalgOp::Enum>(DType::F64)},
  static const CompiledKernel kernels[kLinalgOpCount][2] = {TL_LINALG_OPS(TL_LINALG)};
#undef TL_LINALG
  return kernels[static_cast<int>(op)][type == DType::F64];
}

std::optional<int64_t> linalg_workspace(LinalgOp op, DType type, const LinalgSizes& sizes) {
  constexpr int64_t most = INT32_MAX;
  if (std::max({sizes.m, sizes.n, sizes.k}) > most) return std::nullopt;
  auto m = static_cast<Int>(sizes.m), n = static_cast<Int>(sizes.n), k = static_cast<Int>(sizes.k);
  if (is_fourier(op) && fourier_sizes(op, m, n, k).n > (most - kFourierWorkConstant) / kFourierWorkFactor)
    return std::nullopt;
  // LAPACK computes the least lengths of its workspaces in 32 bits.
  const int64_t p = std::min(m, n), wide = std::max(m, n);
  if ((op == LinalgOp::Svd || op == LinalgOp::SvdValues) && (p > 20000 || wide > most / 128)) return std::nullopt;
  if (((op == LinalgOp::Eigh || op == LinalgOp::EighValues || op == LinalgOp::EigValues || op == LinalgOp::EigParts) &&
       p > 20000) ||
      (op == LinalgOp::Qr && n > most / 128))
    return std::nullopt;
  const Plan space =
      type == DType::F64 ? plan<double>(op, sizes.batch, m, n, k) : plan<float>(op, sizes.batch, m, n, k);
  if (space.work > most || space.integers > most) return std::nullopt;
  return type == DType::F64 ? bytes_of<double>(space) : bytes_of<float>(space);
}

namespace {

// Writes a formula in postfix order.
struct FormulaWriter {
  SizeFormula formula;
  using Op = SizeFormula::Op;
  FormulaWriter& arg(int64_t index) { return step(Op::Arg, index); }
  FormulaWriter& number(int64_t value) { return step(Op::Const, value); }
  FormulaWriter& step(Op op, int64_t value = 0) {
    formula.steps.push_back({op, value});
    return *this;
  }
};

} // namespace

SizeFormula linalg_workspace_formula(LinalgOp op, DType type) {
  using Op = SizeFormula::Op;
  constexpr int64_t kBlock = 32, kAlignment = 64 * 7; // of LAPACK's blocked algorithms (ilaenv); of the arrays
  const auto t = static_cast<int64_t>(size_of(type));
  FormulaWriter f;
  auto m = [&] { f.arg(1); };
  auto n = [&] { f.arg(2); };
  auto k = [&] { f.arg(3); };
  auto p = [&] { f.arg(1).arg(2).step(Op::Min); };
  // Adds factor * a * b to what is there.
  f.number(kAlignment);
  auto add = [&](int64_t factor, auto a, auto b) {
    f.number(factor);
    a(), f.step(Op::Mul);
    b(), f.step(Op::Mul).step(Op::Add);
  };
  auto one = [&] { f.number(1); };
  // blas::scratch_elements of the greatest size
  auto at_most = [&](int64_t more, int64_t limit) {
    m(), n(), f.step(Op::Max);
    k(), f.step(Op::Max).number(more).step(Op::Add).number(limit).step(Op::Min);
  };
  auto depth = [&] { at_most(0, blas::kBlockDepth); };
  auto rows = [&] { at_most(blas::kTileRows<float>, blas::kBlockRows); };
  auto columns = [&] { at_most(blas::kTileColumns, blas::kBlockColumns); };
  add(t, depth, rows);
  add(t, depth, columns);
  // Small matrices, which need only this
  auto few_rows = [&] { m(), f.number(kSmallSize).step(Op::Min); };
  auto few_columns = [&] { n(), k(), f.step(Op::Add).number(2 * kSmallSize).step(Op::Min); };
  if (is_spectrum(op) || op == LinalgOp::Qr) { // not less than eigh_vectors, svd_vectors, and qr_vectors
    auto wide = [&] { m(), n(), f.step(Op::Max).number(kSmallSize).step(Op::Min); };
    add(3 * 32, wide, wide);
    add(4 * 32, wide, one);
  } else if (is_small(op, 1, 1, 1, 1)) {
    add(32, few_rows, few_columns);
  }
  const auto integer = static_cast<int64_t>(sizeof(Int));
  switch (op) {
  case LinalgOp::Cholesky:
  case LinalgOp::SolveLower:
  case LinalgOp::SolveUpper: break;
  case LinalgOp::LuFactor:
    add(t * kLuPanel, m, one);
    add(integer, p, one);
    break;
  case LinalgOp::Solve:
    add(t, m, n);
    add(t * kLuPanel, n, one);
    add(integer, n, one);
    break;
  case LinalgOp::Qr:
    add(t, m, n);
    add(t, p, one);
    add(t * kBlock, n, one);
    break;
  case LinalgOp::Svd: // gesdd, the larger of its two ways
    add(t, m, n);
    add(t, m, p);
    add(t, p, n);
    add(4 * t, p, p);
    add(t * (2 * kBlock + 7), m, one);
    add(t * (2 * kBlock + 7), n, one);
    add(8 * integer, p, one);
    break;
  case LinalgOp::EigValues:
    add(t, m, n);
    add(t * 200, n, one); // hseqr
    break;
  case LinalgOp::SvdValues:
    add(t, m, n);
    add(t * (2 * kBlock + 7), m, one);
    add(t * (2 * kBlock + 7), n, one);
    add(8 * integer, p, one);
    break;
  case LinalgOp::EighValues:
    add(t, m, n);
    add(t * (kBlock + 2), n, one);
    add(t + integer, one, one);
    break;
  case LinalgOp::Eigh: // syevd
    add(t, m, n);
    add(2 * t, n, n);
    add(t * (kBlock + 2), n, one);
    add(5 * integer, n, one);
    add(t + 3 * integer, one, one);
    break;
  case LinalgOp::EigParts: // geev
    add(2 * t, m, n);
    add(t * 300, n, one); // trevc3 takes two blocks of 128 columns
    break;
  case LinalgOp::Fft:
  case LinalgOp::InverseFft:
  case LinalgOp::RealFft:
  case LinalgOp::RealFftTransposed:
    if (op == LinalgOp::RealFftTransposed)
      add(t * kFourierWorkFactor, k, one);
    else
      add(t * kFourierWorkFactor, m, one);
    f.number(t * kFourierWorkConstant).step(Op::Add);
    break;
  }
  return f.formula;
}

std::string linalg_too_large(LinalgOp op, const LinalgSizes& sizes) {
  if (op == LinalgOp::SvdValues) op = LinalgOp::Svd; // as the program calls it
  if (op == LinalgOp::EighValues) op = LinalgOp::Eigh;
  if (op == LinalgOp::EigValues) op = LinalgOp::EigParts;
  return fmt::format("matrices of {} by {} are too large for `linalg.{}`", sizes.m, sizes.n, info(op).name);
}

std::optional<LinalgFailure> run_linalg(LinalgOp op, DType type, const LinalgSizes& sizes,
                                        const std::vector<const std::byte*>& operands,
                                        const std::vector<std::byte*>& results) {
  std::optional<int64_t> bytes = linalg_workspace(op, type, sizes);
  if (!bytes) throw std::bad_alloc();
  std::unique_ptr<std::byte, decltype(&std::free)> local(
      static_cast<std::byte*>(std::aligned_alloc(64, static_cast<size_t>(aligned(std::max<int64_t>(*bytes, 1))))),
      std::free);
  if (!local) throw std::bad_alloc();
  int64_t numbers[kLinalgNumbers] = {sizes.batch, sizes.m, sizes.n, sizes.k, 0};
  std::vector<void*> args;
  for (int64_t& value : numbers)
    args.push_back(&value);
  for (const std::byte* operand : operands)
    args.push_back(const_cast<std::byte*>(operand)); // only read
  args.insert(args.end(), results.begin(), results.end());
  FirstFailure errors;
  errors.record = [](KernelErrors* self, int32_t, int64_t matrix, int64_t, int64_t info) {
    auto& first = static_cast<FirstFailure*>(self)->first;
    if (!first) first = LinalgFailure{matrix, info};
  };
  KernelWorkspace workspace{nullptr, local.get()};
  const KernelPhase& only = linalg_kernel(op, type).phases[0];
  only.function(args.data(), 0, only.tiles.evaluate(args.data()), &workspace, &errors);
  return errors.first;
}

} // namespace tl
