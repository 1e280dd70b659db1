// The derivatives of decompositions of matrices, for both modes. Internal to the pass `derive`.
//
// `cholesky` and `eigh` are functions of the lower triangle alone, and their derivatives are too: tangents above the
// diagonal are not read, cotangents there are 0. A decomposition that is not smooth where it is (repeated singular
// values for the vectors of `svd`, repeated eigenvalues for those of `eigh`) gives infinities or NaN; a triangular
// factor that would have to be inverted and is singular fails at run time as the decomposition itself does.
#pragma once
#include "abi/linalg_op.h"
#include "passes/emit.h"
#include <vector>

namespace tl {

struct Decomposition {
  LinalgOp op;
  uint32_t site; // of the operation, for the systems that its derivative solves
  std::vector<ir::ValueId> operands, results;
};

// Tangents of the results, from those of the operands (invalid: zero; one of them is not).
std::vector<ir::ValueId> linalg_tangents(Emit& e, const Decomposition& of, const std::vector<ir::ValueId>& tangents,
                                         LocId loc);

// Cotangents of the operands, from those of the results (invalid: zero; one of them is not).
std::vector<ir::ValueId> linalg_cotangents(Emit& e, const Decomposition& of, const std::vector<ir::ValueId>& cotangents,
                                           LocId loc);

} // namespace tl
