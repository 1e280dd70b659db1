// Sorted values: the rules of both modes.
#include "abi/sort_op.h"
#include "passes/derive/forward.h"
#include "passes/derive/reverse.h"
#include <numeric>

namespace tl {
using namespace ir;

// Which element of x each element of sorted x is, as numbers of elements in row-major order.
static ValueId sorted_elements(Emit& e, ValueId x, LocId loc) {
  const std::vector<Dim> shape = e.dims(x);
  ValueId order = e.builder().one(Op::Sort, {x}, Type::tensor(DType::I64, shape), SortAttrs{SortOp::Order}, loc);
  if (shape.size() == 1) return order;
  const std::vector<Dim> rows(shape.begin(), shape.end() - 1);
  std::vector<int64_t> leading(rows.size());
  std::iota(leading.begin(), leading.end(), 0);
  ValueId row = e.reshape(e.iota(e.product(rows)), rows);
  ValueId first = e.mul(row, e.splat(e.size(shape.back()), rows));
  return e.add(order, e.broadcast(first, leading, shape));
}

ValueId Forward::sort(Emit& e, const Node& node) {
  ValueId x = node.operands[0];
  return e.gather(e.reshape(of(x), {e.product(type(x).dims)}), sorted_elements(e, x, node.loc), 0);
}

void Reverse::reverse_sort(Scope& s, const Node& node, ValueId dy) {
  Emit e = emit(s);
  ValueId from = sorted_elements(e, primal(s, node.operands[0]), node.loc);
  const Dim n = e.product(type(from).dims);
  ValueId dx =
      e.scatter(e.zeros(Type::tensor(type(dy).dtype, {n})), e.reshape(from, {n}), e.reshape(dy, {n}), UpdateMode::Add);
  add(s, node.operands[0], e.reshape(dx, dims(s, node.operands[0])), true);
}

} // namespace tl
