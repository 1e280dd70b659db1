// Scalars of the symbolic execution: what is known of a number, and what checks show about sizes.
#include "passes/memory/peak_machine.h"
#include <algorithm>

namespace tl::peak {

void Machine::scalar(const Instruction& i) {
  std::vector<Value> values;
  for (size_t k = 0; k < i.in.size(); ++k)
    values.push_back(in(i, k));
  Value result;
  if (i.op == BcOp::Convert) {
    std::optional<Scalar> known = values.at(0).scalar();
    if (known)
      result = Value::of(i.dtype, convert_scalar(i.dtype2, i.dtype, *known));
    else if (i.dtype2 == DType::I64 && i.dtype == DType::I64)
      result = values[0];
    else
      result = found(i.dtype, "a number that is computed from others");
  } else {
    result = arithmetic(i, values);
  }
  give_away(i);
  state_.set(i.out[0], std::move(result));
}

Value Machine::compare(ScalarOp op, const Size& a, const Size& b) {
  auto known = [](bool holds) { return Value::of(DType::Bool, Scalar::of(uint8_t{holds})); };
  SizeAtoms& atoms = result_.atoms;
  auto not_less = [&](const Size& x, const Size& y) { return covers(x, y); };
  switch (op) {
  case ScalarOp::Eq:
  case ScalarOp::Ne: {
    Compare known_so = atoms.compare(a, b);
    if (known_so != Compare::Unknown) return known((known_so == Compare::Equal) == (op == ScalarOp::Eq));
    break;
  }
  case ScalarOp::Lt:
    if (not_less(a, b)) return known(false);
    if (not_less(b - Size(1), a)) return known(true);
    break;
  case ScalarOp::Le:
    if (not_less(b, a)) return known(true);
    if (not_less(a - Size(1), b)) return known(false);
    break;
  case ScalarOp::Gt: return compare(ScalarOp::Lt, b, a);
  case ScalarOp::Ge: return compare(ScalarOp::Le, b, a);
  default: break;
  }
  Value result = Value::unknown(DType::Bool);
  result.test = std::make_shared<Comparison>(Comparison{op, a, b});
  return result;
}

Value Machine::arithmetic(const Instruction& i, const std::vector<Value>& in) {
  const DType type = result_type(i.scalar, i.dtype);
  std::vector<Scalar> known;
  for (const Value& v : in)
    if (auto scalar = v.scalar()) known.push_back(*scalar);
  if (known.size() == in.size()) return Value::of(type, eval_scalar(i.scalar, i.dtype, known));
  SizeAtoms& atoms = result_.atoms;
  if (i.scalar == ScalarOp::Where) {
    if (auto condition = in.at(0).scalar()) return in.at(condition->as<uint8_t>() ? 1 : 2);
    if (type == DType::I64) {
      const Size &a = in[1].size, &b = in[2].size;
      if (a == b) return in[1];
      // A subscript that is counted from the end where it is negative.
      const Comparison* test = in[0].test.get();
      if (test && test->op == ScalarOp::Lt && test->b.is(0) && test->a == b) return Value::of(atoms.wrap(b, a - b));
      if (test && test->op == ScalarOp::Lt && test->a == a && test->b == b) return Value::of(atoms.min(a, b));
      if (test && test->op == ScalarOp::Lt && test->a == b && test->b == a) return Value::of(atoms.max(a, b));
    }
    return found(type, "one of two numbers");
  }
  if (i.dtype == DType::I64 && in.size() == 2) {
    const Size &a = in[0].size, &b = in[1].size;
    switch (i.scalar) {
    case ScalarOp::Add: return Value::of(a + b);
    case ScalarOp::Sub: return Value::of(a - b);
    case ScalarOp::Mul: return Value::of(a * b);
    case ScalarOp::Min: return Value::of(atoms.min(a, b));
    case ScalarOp::Max: return Value::of(atoms.max(a, b));
    case ScalarOp::FloorDiv: return Value::of(atoms.floor_div(a, b));
    case ScalarOp::Mod: return Value::of(atoms.mod(a, b));
    case ScalarOp::Eq:
    case ScalarOp::Ne:
    case ScalarOp::Lt:
    case ScalarOp::Le:
    case ScalarOp::Gt:
    case ScalarOp::Ge: return compare(i.scalar, a, b);
    default: break;
    }
  }
  if (i.dtype == DType::I64 && i.scalar == ScalarOp::Neg) return Value::of(Size(0) - in[0].size);
  if (i.dtype == DType::Bool && (i.scalar == ScalarOp::And || i.scalar == ScalarOp::Or))
    for (const Value& v : in)
      if (auto one = v.scalar(); one && (one->as<uint8_t>() != 0) == (i.scalar == ScalarOp::Or)) return v;
  return found(type, "a number that is computed from others");
}

void Machine::guard(const Instruction& i) {
  // A check that two sizes are equal: from here on they are.
  if (const Comparison* test = in(i, 1).test.get(); test && test->op == ScalarOp::Eq) {
    auto rank = [&](AtomId id) { // the rather to be replaced
      return explained_.contains(id) ? 2 : result_.atoms[id].name.find(' ') != std::string::npos ? 1 : 0;
    };
    Size a = normal(test->a), b = normal(test->b);
    std::optional<AtomId> left = a.as_atom(), right = b.as_atom();
    if (right && (!left || rank(*right) > rank(*left))) std::swap(left, right), std::swap(a, b);
    std::vector<AtomId> inside;
    result_.atoms.collect(b, inside);
    if (a != b && left && !turns_.contains(*left) && std::find(inside.begin(), inside.end(), *left) == inside.end()) {
      for (auto& [atom_id, size] : state_.same)
        size = result_.atoms.substitute(size, {{*left, b}});
      state_.same[*left] = b;
      bool of_parameters = !forked_ && !explained_.contains(*left);
      for (AtomId id : inside)
        of_parameters = of_parameters && !explained_.contains(id);
      if (of_parameters) equal_parameters_[*left] = b;
      for (Frame& frame : state_.frames)
        for (Value& value : frame.slots) {
          if (value.is_scalar() && value.dtype == DType::I64) value.size = normal(value.size);
          for (Size& dim : value.dims)
            dim = normal(dim);
        }
      for (Block& block : state_.blocks)
        if (Size bytes = normal(block.bytes); bytes != block.bytes) {
          bool& exact = state_.memories[block.device].exact;
          const bool was_exact = exact;
          state_.resize(block, bytes);
          exact = was_exact;
          for (Size& dim : block.dims)
            dim = normal(dim);
        }
      for (State::Memory& memory : state_.memories)
        for (Size& size : memory.scratch)
          size = normal(size);
    }
  }
  Value value = in(i, 0);
  state_.retain(value);
  give_away(i);
  state_.set(i.out[0], value);
  state_.release(value);
}

} // namespace tl::peak
