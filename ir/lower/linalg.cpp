// The module linalg: operands under the same leading axes, and what is said where a matrix has no such decomposition.
#include "abi/linalg_op.h"
#include "ir/lower/function.h"
#include <fmt/format.h>

namespace tl::ir {
namespace {

LinalgOp linalg_op(const typed::Expr& e) {
  switch (e.as<typed::BuiltinExpr>().builtin) {
  case Builtin::Cholesky: return LinalgOp::Cholesky;
  case Builtin::LuFactor: return LinalgOp::LuFactor;
  case Builtin::Solve: return LinalgOp::Solve;
  case Builtin::TriangularSolve:
    return e.attrs<typed::LinalgAttrs>().lower ? LinalgOp::SolveLower : LinalgOp::SolveUpper;
  case Builtin::Qr: return LinalgOp::Qr;
  case Builtin::Svd: return LinalgOp::Svd;
  case Builtin::Eigh: return LinalgOp::Eigh;
  case Builtin::EigParts: return LinalgOp::EigParts;
  default: throw std::logic_error("lowering: no decomposition of this name");
  }
}

} // namespace

Leaves FunctionLowerer::linalg(const typed::Expr& e, const Leaves& operands) {
  LocId at = loc(e.span);
  const LinalgOp op = linalg_op(e);
  const std::vector<Size>& shape = e.attrs<typed::LinalgAttrs>().shape;
  const std::string which = shape.size() == 2   ? "the matrix"
                            : shape.size() == 3 ? "matrix {0} of the batch"
                                                : "matrix {0} of the batch (counted in row-major order)";
  std::vector<ValueId> values{broadcast(operands[0], e.operands[0]->type.shape, shape, at)};
  values[0] = retyped(values[0], dims(shape));
  std::vector<tl::Type> types = leaf_types(e.type);
  const bool solves = e.operands.size() == 2;
  if (solves) {
    std::vector<Size> from = e.operands[1]->type.shape, to(shape.begin(), shape.end() - 1);
    ValueId b = operands[1];
    if (from.size() == 1) {
      from.emplace_back(1);
      types[0].shape.emplace_back(1);
      b = retyped(b, {dim(from[0]), Dim::of(1)});
    }
    to.push_back(from.back());
    values.push_back(retyped(broadcast(b, from, to, at), dims(to)));
  }
  std::string kind = "SingularMatrix", message, hint;
  switch (op) {
  case LinalgOp::Cholesky:
    kind = "NotPositiveDefinite";
    message = which + " is not positive definite: its leading {1} by {1} part is not";
    break;
  case LinalgOp::Svd:
  case LinalgOp::Eigh:
  case LinalgOp::EigParts: {
    std::string rule = fmt::format(
        "`linalg.{}` takes finite numbers, and element {{e}} (counted in row-major order) is not", info(op).name);
    uint32_t s = site("NotANumber", rule, e.span);
    ValueId finite = elementwise(ScalarOp::IsFinite, {values[0]}, dims(shape), at);
    values[0] = guard(values[0], finite, s, {}, e.span);
    kind = "NoConvergence";
    message = fmt::format("`linalg.{}` did not converge for {}", info(op).name, which);
    break;
  }
  default:
    message = which + " is singular";
    hint = "`linalg.lstsq(a, b)` finds the best solution of any system";
    break;
  }
  const LinalgAttrs attrs{op, site(kind, message, e.span, hint)};
  std::vector<Type> results;
  for (const tl::Type& t : types)
    results.push_back(Type::tensor(t.dtype, dims(t.shape)));
  NodeId node = here().node(Op::Linalg, std::move(values), std::move(results), attrs, at);
  Leaves made = f_[node].results;
  if (solves) made[0] = retyped(made[0], dims(e.type.shape));
  return made;
}

} // namespace tl::ir
