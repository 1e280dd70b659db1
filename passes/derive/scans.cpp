// Scans: the rules of both modes.
#include "passes/derive/forward.h"
#include "passes/derive/reverse.h"

namespace tl {
using namespace ir;

ValueId Forward::scan(Emit& e, const Node& node) {
  ValueId x = node.operands[0], y = node.results[0];
  if (node.attrs.reduce == ReduceOp::Sum) return linear(e, node, 1);
  // A product: y_i = y_{i-1} x_i, so that dy_i = dy_{i-1} x_i + y_{i-1} dx_i. Axis in front, rows as wholes.
  std::vector<int64_t> front = to_front(type(x).dims.size(), node.attrs.ints[0]);
  ValueId xs = e.transpose(x, front), ys = e.transpose(y, front), ds = e.transpose(of(x), front);
  std::vector<Dim> rows = type(xs).dims;
  Type row = Type::tensor(type(x).dtype, std::vector<Dim>(rows.begin() + 1, rows.end()));
  std::vector<ValueId> out =
      e.loop(e.i64(0), e.size(rows[0]), e.i64(1), {e.zeros(Type::tensor(type(x).dtype, rows)), e.zeros(row)},
             [&](Emit& in, ValueId i, const std::vector<ValueId>& carried) {
               ValueId is_first = in.compare(ScalarOp::Eq, i, 0);
               ValueId before = in.at(ys, {in.op(ScalarOp::Max, {in.sub(i, in.i64(1)), in.i64(0)})});
               ValueId d = in.at(ds, {i});
               ValueId moved = in.where(is_first, d, in.add(in.mul(carried[1], in.at(xs, {i})), in.mul(before, d)));
               return std::vector<ValueId>{in.with_at(carried[0], {i}, moved, UpdateMode::Set), moved};
             });
  return e.transpose(out[0], inverse(front));
}

void Reverse::reverse_scan(Scope& s, const Node& node, ValueId dy) {
  Emit e = emit(s);
  ValueId x = node.operands[0];
  int64_t axis = node.attrs.ints[0];
  if (node.attrs.reduce == ReduceOp::Sum)
    return add(s, x, e.flip(e.scan(ReduceOp::Sum, e.flip(dy, axis), axis), axis), is_guarded(dy));
  // A product: from the end, c_i = dy_i + c_{i+1} x_{i+1}, dx_i = c_i y_{i-1}. Axis in front, rows as wholes.
  std::vector<Dim> shape = dims(s, x);
  std::vector<int64_t> front = to_front(shape.size(), axis);
  ValueId xs = e.transpose(primal(s, x), front), ys = e.transpose(primal(s, node.results[0]), front);
  ValueId ds = e.transpose(dy, front);
  std::vector<Dim> rows = type(xs).dims;
  DType t = type(xs).dtype;
  Type row = Type::tensor(t, std::vector<Dim>(rows.begin() + 1, rows.end()));
  ValueId n = e.size(rows[0]);
  std::vector<ValueId> out =
      e.loop(e.i64(0), n, e.i64(1), {e.zeros(Type::tensor(t, rows)), e.zeros(row)},
             [&](Emit& in, ValueId j, const std::vector<ValueId>& carried) {
               ValueId i = in.sub(in.sub(n, in.i64(1)), j);
               ValueId c = in.add(in.at(ds, {i}), carried[1]);
               ValueId is_first = in.compare(ScalarOp::Eq, i, 0);
               ValueId before = in.at(ys, {in.op(ScalarOp::Max, {in.sub(i, in.i64(1)), in.i64(0)})});
               ValueId d = in.where(is_first, c, in.mul(c, before));
               return std::vector<ValueId>{in.with_at(carried[0], {i}, d, UpdateMode::Set), in.mul(c, in.at(xs, {i}))};
             });
  add(s, x, e.reshape(e.transpose(out[0], inverse(front)), shape), is_guarded(dy));
}

} // namespace tl
