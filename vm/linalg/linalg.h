// Decompositions of batches of matrices by LAPACK (the reference implementation, linked statically), as kernels of the
// VM: a tile is a matrix, so the matrices of a batch are worked on by all workers, and each always by one, in the same
// order of operations: the bits do not depend on threads or machines. Tensors are dense and row-major.
#pragma once
#include "abi/kernel.h"
#include "abi/linalg_op.h"
#include <optional>

namespace tl {

// Arguments of the kernel, in order: i64 slots batch, m, n, k (LinalgSizes) and site; then the operands, then the
// results. A matrix that has no such decomposition (not positive definite, singular, no convergence) is recorded as
// (site, element = its number, a = its number, b = what LAPACK calls info). `type` is F32 or F64. The kernel uses
// workspace->local; its local_bytes are linalg_workspace's, which no formula gives.
constexpr size_t kLinalgNumbers = 5; // so many arguments come before the operands
const CompiledKernel& linalg_kernel(LinalgOp op, DType type);

// Bytes of workspace that a worker needs. Nothing: the matrices are too large for LAPACK's 32-bit sizes.
std::optional<int64_t> linalg_workspace(LinalgOp op, DType type, const LinalgSizes& sizes);

// The same as a formula in the arguments: not less, and from a hundred rows and columns on at most half more, since
// LAPACK tells its own part for given sizes only.
SizeFormula linalg_workspace_formula(LinalgOp op, DType type);

// The whole batch on this thread. Gives the first matrix that fails. Throws std::bad_alloc, also where the matrices are
// too large.
struct LinalgFailure {
  int64_t matrix = 0, info = 0;
};
std::optional<LinalgFailure> run_linalg(LinalgOp op, DType type, const LinalgSizes& sizes,
                                        const std::vector<const std::byte*>& operands,
                                        const std::vector<std::byte*>& results);

// Why there is no workspace, for messages.
std::string linalg_too_large(LinalgOp op, const LinalgSizes& sizes);

} // namespace tl
