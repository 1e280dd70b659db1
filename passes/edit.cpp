#include "passes/edit.h"

namespace tl {
using namespace ir;

void Edit::run() { region(f_.body); }

void Edit::replace(ValueId from, ValueId to) {
  if (replaced_.size() <= from.index) replaced_.resize(f_.values.size());
  replaced_[from.index] = to;
  changed = true;
}

ValueId Edit::resolve(ValueId value) {
  ValueId last = value;
  while (last.index < replaced_.size() && replaced_[last.index].valid())
    last = replaced_[last.index];
  while (value != last) { // shorten the way for the next
    ValueId next = replaced_[value.index];
    replaced_[value.index] = last;
    value = next;
  }
  return last;
}

Type Edit::resolve(Type type) {
  for (Dim& dim : type.dims) {
    if (dim.is_constant()) continue;
    ValueId value = resolve(dim.value);
    auto number = integer_of(f_, value);
    // A negative size belongs to a path that a Guard has failed; it stays a value.
    dim = number && *number >= 0 ? Dim::of(*number) : Dim::of(value);
  }
  return type;
}

NodeId Edit::node(Op op, std::vector<ValueId> operands, std::vector<Type> results, Attrs attrs, LocId loc,
                  std::vector<Region> regions) {
  Region here; // the Builder appends to a region
  NodeId id = Builder(module_, f_, here)
                  .node(op, std::move(operands), std::move(results), std::move(attrs), loc, std::move(regions));
  out_->push_back(id);
  return id;
}

ValueId Edit::one(Op op, std::vector<ValueId> operands, Type result, Attrs attrs, LocId loc) {
  std::vector<Type> results;
  results.push_back(std::move(result));
  return f_[node(op, std::move(operands), std::move(results), std::move(attrs), loc)].results[0];
}

ValueId Edit::constant(DType type, Scalar value) {
  return one(Op::Constant, {}, Type::scalar(type), ConstantAttrs{value});
}

void Edit::splice(const std::vector<NodeId>& ids) {
  std::vector<NodeId> copy = ids;
  nodes(copy);
}

void Edit::types(const std::vector<ValueId>& values) {
  for (ValueId value : values) {
    Type type = resolve(f_[value].type);
    if (!(type == f_[value].type)) {
      f_[value].type = std::move(type);
      changed = true;
    }
  }
}

void Edit::nodes(const std::vector<NodeId>& ids) {
  for (NodeId id : ids) {
    for (ValueId& value : f_[id].operands)
      value = resolve(value);
    types(std::vector<ValueId>(f_[id].results));
    if (visit && visit(id) == Drop) continue;
    types(std::vector<ValueId>(f_[id].results)); // a size beside them may have been replaced
    for (size_t i = 0; i < f_[id].regions.size(); ++i) {
      // Moved out: adding nodes moves the others.
      Region inner = std::move(f_[id].regions[i]);
      if (scope) scope(id, i, true);
      region(inner);
      if (scope) scope(id, i, false);
      f_[id].regions[i] = std::move(inner);
    }
    if (leave && leave(id) == Drop) continue;
    types(std::vector<ValueId>(f_[id].results));
    out_->push_back(id);
  }
}

void Edit::region(Region& r) {
  std::vector<NodeId> out, *outer = out_;
  out_ = &out;
  types(r.params);
  nodes(r.nodes);
  for (ValueId& value : r.yields)
    value = resolve(value);
  r.nodes = std::move(out);
  out_ = outer;
}

std::optional<Scalar> constant_of(const Function& function, ValueId value) {
  const Node* node = producer_of(function, value);
  if (!node || node->op != Op::Constant) return std::nullopt;
  return node->as<ConstantAttrs>().literal;
}

std::optional<int64_t> integer_of(const Function& function, ValueId value) {
  if (function[value].type != Type::scalar(DType::I64)) return std::nullopt;
  auto scalar = constant_of(function, value);
  if (!scalar) return std::nullopt;
  return scalar->as<int64_t>();
}

} // namespace tl
