// Rules about arithmetic. What changes a float's bits is no rule: x + 0 turns -0.0 into 0.0.
#include "passes/simplify/simplify.h"

namespace tl {
using namespace ir;
namespace {

using Result = std::optional<ValueId>;

struct View { // of an elementwise node
  const Function& f;
  const Node& node;
  View(Edit& edit, NodeId id) : f(edit.function()), node(f[id]) {}
  ValueId in(size_t i) const { return node.operands[i]; }
  bool is(ScalarOp op) const { return node.is(op); }
  DType type() const { return f[in(is(ScalarOp::Where) ? 1 : 0)].type.dtype; }
  bool ints() const { return is_int(type()); }
  bool scalar() const { return f[node.results[0]].type.is_scalar(); }
  // Operand i is the number n, in whatever type it has.
  bool number(size_t i, int64_t n) const {
    auto value = constant_of(f, in(i));
    if (!value) return false;
    DType t = f[in(i)].type.dtype;
    if (t == DType::Bool || t == DType::Key) return false;
    return *value == convert_scalar(DType::I64, t, Scalar::of(n));
  }
  bool truth(size_t i, bool wanted) const {
    auto value = constant_of(f, in(i));
    return value && f[in(i)].type.dtype == DType::Bool && (value->as<uint8_t>() != 0) == wanted;
  }
  // The operand, if it has the result's type (a splat does not).
  Result whole(size_t i) const {
    if (f[in(i)].type == f[node.results[0]].type) return in(i);
    return {};
  }
};

Result integer(Edit& edit, DType type, int64_t n) {
  return edit.constant(type, convert_scalar(DType::I64, type, Scalar::of(n)));
}
Result boolean(Edit& edit, bool b) { return edit.constant(DType::Bool, Scalar::of(static_cast<uint8_t>(b))); }

Result add_zero(Edit& edit, NodeId id) {
  View v(edit, id);
  if (!v.ints()) return {};
  if (v.is(ScalarOp::Add) && v.number(1, 0)) return v.whole(0);
  if (v.is(ScalarOp::Add) && v.number(0, 0)) return v.whole(1);
  if (v.is(ScalarOp::Sub) && v.number(1, 0)) return v.whole(0);
  return {};
}

Result times_one(Edit& edit, NodeId id) {
  View v(edit, id);
  if (v.is(ScalarOp::Mul) && v.number(1, 1)) return v.whole(0);
  if (v.is(ScalarOp::Mul) && v.number(0, 1)) return v.whole(1);
  if (v.is(ScalarOp::Div) && v.number(1, 1)) return v.whole(0);
  if (v.is(ScalarOp::FloorDiv) && v.ints() && v.number(1, 1)) return v.whole(0);
  return {};
}

Result times_zero(Edit& edit, NodeId id) {
  View v(edit, id);
  if (!v.ints() || !v.scalar()) return {};
  DType type = v.type();
  for (size_t i = 0; i < 2 && v.node.operands.size() == 2; ++i)
    if (v.is(ScalarOp::Mul) && v.number(i, 0) && cannot_fail(v.f, v.in(1 - i))) return integer(edit, type, 0);
  if (v.is(ScalarOp::Mod) && v.number(1, 1) && cannot_fail(v.f, v.in(0))) return integer(edit, type, 0);
  return {};
}

Result same_operands(Edit& edit, NodeId id) {
  View v(edit, id);
  if (v.node.operands.size() != 2 || v.in(0) != v.in(1) || !v.ints()) return {};
  if (v.is(ScalarOp::Min) || v.is(ScalarOp::Max) || v.is(ScalarOp::BitAnd) || v.is(ScalarOp::BitOr)) return v.in(0);
  if (!v.scalar()) return {};
  if (v.is(ScalarOp::Sub) || v.is(ScalarOp::BitXor))
    return cannot_fail(v.f, v.in(0)) ? integer(edit, v.type(), 0) : Result();
  // Checks of sizes, which are there where what has them is.
  if (v.is(ScalarOp::Eq) || v.is(ScalarOp::Le) || v.is(ScalarOp::Ge)) return boolean(edit, true);
  if (v.is(ScalarOp::Ne) || v.is(ScalarOp::Lt) || v.is(ScalarOp::Gt)) return boolean(edit, false);
  return {};
}

Result twice(Edit& edit, NodeId id) {
  View v(edit, id);
  if (!v.is(ScalarOp::Neg) && !v.is(ScalarOp::Not) && !v.is(ScalarOp::BitNot)) return {};
  const Node* inner = producer_of(v.f, v.in(0));
  if (!inner || !inner->is(v.node.as<ElementwiseAttrs>().op)) return {};
  return inner->operands[0];
}

Result logic(Edit& edit, NodeId id) {
  View v(edit, id);
  for (size_t i = 0; i < 2 && v.node.operands.size() == 2; ++i) {
    if (v.is(ScalarOp::And) && v.truth(i, true)) return v.whole(1 - i);
    if (v.is(ScalarOp::Or) && v.truth(i, false)) return v.whole(1 - i);
    if (!cannot_fail(v.f, v.in(1 - i))) continue;
    if (v.is(ScalarOp::And) && v.truth(i, false)) return v.whole(i);
    if (v.is(ScalarOp::Or) && v.truth(i, true)) return v.whole(i);
  }
  if ((v.is(ScalarOp::And) || v.is(ScalarOp::Or)) && v.in(0) == v.in(1)) return v.in(0);
  return {};
}

Result choose(Edit& edit, NodeId id) {
  View v(edit, id);
  if (!v.is(ScalarOp::Where)) return {};
  if (v.truth(0, true) && cannot_fail(v.f, v.in(2))) return v.whole(1);
  if (v.truth(0, false) && cannot_fail(v.f, v.in(1))) return v.whole(2);
  if (v.in(1) == v.in(2) && cannot_fail(v.f, v.in(0))) return v.whole(1);
  return {};
}

// Constants are on the right, and there is only one of them.
Result constant_right(Edit& edit, NodeId id) {
  View v(edit, id);
  if (!v.ints() || !v.scalar() || v.node.operands.size() != 2) return {};
  DType type = v.type();
  LocId loc = v.node.loc;
  auto emit = [&](ScalarOp op, ValueId a, ValueId b) {
    return edit.one(Op::Elementwise, {a, b}, Type::scalar(type), ElementwiseAttrs{op}, loc);
  };
  ValueId a = v.in(0), b = v.in(1);
  ScalarOp op = v.node.as<ElementwiseAttrs>().op;
  bool left = constant_of(v.f, a).has_value(), right = constant_of(v.f, b).has_value();
  if ((op == ScalarOp::Add || op == ScalarOp::Mul) && left && !right) return emit(op, b, a);
  if (!right || left) return {};
  if (op == ScalarOp::Sub) {
    Scalar n = *constant_of(v.f, b);
    return emit(ScalarOp::Add, a, edit.constant(type, eval_scalar(ScalarOp::Neg, type, {&n, 1})));
  }
  if (op != ScalarOp::Add && op != ScalarOp::Mul) return {};
  const Node* inner = producer_of(v.f, a);
  if (!inner || !inner->is(op)) return {};
  ValueId x = inner->operands[0];
  auto n = constant_of(v.f, inner->operands[1]);
  if (!n) return {};
  Scalar both[2] = {*n, *constant_of(v.f, b)};
  return emit(op, x, edit.constant(type, eval_scalar(op, type, both)));
}

// (a + b) - a -> b: sizes of slices.
Result difference(Edit& edit, NodeId id) {
  View v(edit, id);
  if (!v.is(ScalarOp::Sub) || !v.ints()) return {};
  const Node* sum = producer_of(v.f, v.in(0));
  if (!sum || !sum->is(ScalarOp::Add)) return {};
  for (size_t i = 0; i < 2; ++i) {
    ValueId rest = sum->operands[1 - i];
    if (sum->operands[i] == v.in(1) && v.f[rest].type == v.f[v.node.results[0]].type) return rest;
  }
  return {};
}

Result same_type(Edit& edit, NodeId id) {
  View v(edit, id);
  return v.whole(0);
}

// Guard(x, x op c), where x is what earlier Guards have let through and one of them has asked the same of it.
bool asked_before(const Function& f, ValueId value, const Node* condition) {
  if (!condition || condition->op != Op::Elementwise || condition->operands.size() != 2) return false;
  auto bound = constant_of(f, condition->operands[1]);
  if (!bound || condition->operands[0] != value) return false;
  for (const Node* guard = producer_of(f, value); guard && guard->op == Op::Guard;
       guard = producer_of(f, guard->operands[0])) {
    const Node* earlier = producer_of(f, guard->operands[1]);
    if (earlier && earlier->is(condition->as<ElementwiseAttrs>().op) && earlier->operands.size() == 2 &&
        earlier->operands[0] == guard->operands[0] && constant_of(f, earlier->operands[1]) == bound)
      return true;
  }
  return false;
}

Result guard_holds(Edit& edit, NodeId id) {
  View v(edit, id);
  if (asked_before(v.f, v.in(0), producer_of(v.f, v.in(1)))) return v.in(0);
  if (v.truth(1, true)) return v.in(0);
  const Node* cond = producer_of(v.f, v.in(1));
  if (cond && cond->op == Op::Broadcast) {
    auto value = constant_of(v.f, cond->operands[0]);
    if (value && value->as<uint8_t>()) return v.in(0);
  }
  const Node* inner = producer_of(v.f, v.in(0));
  while (inner && inner->op == Op::Reshape)
    inner = producer_of(v.f, inner->operands[0]);
  if (inner && inner->op == Op::Guard && inner->operands[1] == v.in(1)) return v.in(0);
  return {};
}

// It is true, or the assertion just before has asked the same.
Result assertion_holds(Edit& edit, NodeId id) {
  View v(edit, id);
  const Node* before = producer_of(v.f, v.in(0));
  const bool asked = before && before->op == Op::Assert && before->operands[1] == v.in(1);
  return asked || v.truth(1, true) ? v.in(0) : Result{};
}

Result plain_text(Edit& edit, NodeId id) {
  View v(edit, id);
  if (!v.node.operands.empty()) return {};
  const ConstStrAttrs attrs{v.node.as<FormatAttrs>().format.literals[0]};
  return edit.one(Op::ConstStr, {}, Type::str(), attrs, v.node.loc);
}

constexpr SimplifyRule kRules[] = {
    {"integers: x + 0, x - 0 -> x", Op::Elementwise, add_zero},
    {"x * 1, x / 1 -> x", Op::Elementwise, times_one},
    {"integers: x * 0, x % 1 -> 0", Op::Elementwise, times_zero},
    {"integers: x - x -> 0, x == x -> true, min(x, x) -> x", Op::Elementwise, same_operands},
    {"-(-x), not not x -> x", Op::Elementwise, twice},
    {"b and true -> b, b or true -> true", Op::Elementwise, logic},
    {"where(true, a, b) -> a, where(c, a, a) -> a", Op::Elementwise, choose},
    {"integers: c + x -> x + c, (x + c) + d -> x + (c + d), x - c -> x + -c", Op::Elementwise, constant_right},
    {"integers: (a + b) - a -> b", Op::Elementwise, difference},
    {"conversion to the same type -> x", Op::Convert, same_type},
    {"guard that holds, or that a guard before it covers -> x", Op::Guard, guard_holds},
    {"assertion that holds -> token", Op::Assert, assertion_holds},
    {"format without values -> its text", Op::Format, plain_text},
};

} // namespace

std::span<const SimplifyRule> scalar_rules() { return kRules; }

} // namespace tl
