// Scans: the rules of both modes.
#include "passes/derive/forward.h"
#include "passes/derive/reverse.h"

namespace tl {
using namespace ir;

// Of a scan that chooses: which element of x each element of y is, the first of equals (as with a reduction), as
// numbers of elements in row-major order. Of NaNs too: behind one all are.
static ValueId chosen_elements(Emit& e, ValueId y, int64_t axis) {
  const std::vector<Dim> shape = e.dims(y);
  ValueId position = e.iota(shape[static_cast<size_t>(axis)]);
  ValueId before = e.gather(y, e.op(ScalarOp::Max, {e.sub(position, e.i64(1)), e.i64(0)}), axis);
  ValueId stays = e.op(ScalarOp::Or, {e.op(ScalarOp::Eq, {y, before}), e.op(ScalarOp::IsNan, {before})});
  ValueId is_first = e.broadcast(e.compare(ScalarOp::Eq, position, 0), {axis}, shape);
  ValueId is_new = e.op(ScalarOp::Or, {is_first, e.op(ScalarOp::Not, {stays})});
  ValueId numbers = e.reshape(e.iota(e.product(shape)), shape);
  return e.scan(ReduceOp::Max, e.where(is_new, numbers, 0), axis);
}

ValueId Forward::scan(Emit& e, const Node& node) {
  ValueId x = node.operands[0], y = node.results[0];
  const auto [op, axis] = node.as<ScanAttrs>();
  if (op == ReduceOp::Sum) return linear(e, node, 1);
  if (chooses(op)) return e.gather(e.reshape(of(x), {e.product(type(x).dims)}), chosen_elements(e, y, axis), 0);
  // A product: y_i = y_{i-1} x_i, so that dy_i = dy_{i-1} x_i + y_{i-1} dx_i. Axis in front, rows as wholes.
  std::vector<int64_t> front = to_front(type(x).dims.size(), axis);
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
  const auto [op, axis] = node.as<ScanAttrs>();
  if (op == ReduceOp::Sum)
    return add(s, x, e.flip(e.scan(ReduceOp::Sum, e.flip(dy, axis), axis), axis), is_guarded(dy));
  if (chooses(op)) {
    ValueId chosen = chosen_elements(e, primal(s, node.results[0]), axis);
    const Dim n = e.product(type(chosen).dims);
    ValueId dx = e.scatter(e.zeros(Type::tensor(type(dy).dtype, {n})), e.reshape(chosen, {n}), e.reshape(dy, {n}),
                           UpdateMode::Add);
    return add(s, x, e.reshape(dx, dims(s, x)), true);
  }
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
