// Computes what is made of constants alone, and what comes out the same for all numbers that its operands may be.
//
// Needs: nothing.
// Gives: no scalar operation on constants only, no element of a constant tensor at constant positions, no comparison
//        that ranges.h decides, no Guard whose condition is known to hold, and few operations on large constant
//        tensors only (fold_tensors.h). The bits are those of every engine, since all evaluate abi/scalar_functions.h.
#include "passes/edit.h"
#include "passes/passes.h"
#include "passes/simplify/fold_tensors.h"
#include "passes/simplify/ranges.h"
#include "passes/simplify/simplify.h"
#include <algorithm>
#include <unordered_set>

namespace tl {
using namespace ir;
namespace {

// The element of a constant tensor, if the positions are constants and inside.
std::optional<Scalar> element(const Module& module, const Function& f, const Node& node) {
  const Node* source = producer_of(f, node.operands[0]);
  if (!source || source->op != Op::ConstTensor) return std::nullopt;
  const HostTensor& tensor = module.tensors[source->as<ConstTensorAttrs>().tensor];
  if (tensor.dims.size() + 1 != node.operands.size()) return std::nullopt;
  int64_t at = 0;
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    auto index = integer_of(f, node.operands[1 + i]);
    if (!index || *index < 0 || *index >= tensor.dims[i]) return std::nullopt;
    at = at * tensor.dims[i] + *index;
  }
  return tensor.get(at);
}

std::optional<Scalar> value_of(const Module& module, const Function& f, const Node& node) {
  if (node.op == Op::Index) return element(module, f, node);
  if (node.op != Op::Elementwise && node.op != Op::Convert) return std::nullopt;
  if (!f[node.results[0]].type.is_scalar()) return std::nullopt;
  Scalar operands[3];
  for (size_t i = 0; i < node.operands.size(); ++i) {
    auto constant = constant_of(f, node.operands[i]);
    if (!constant) return std::nullopt;
    operands[i] = *constant;
  }
  DType from = f[node.operands[node.is(ScalarOp::Where) ? 1 : 0]].type.dtype;
  if (node.op == Op::Convert) return convert_scalar(from, f[node.results[0]].type.dtype, operands[0]);
  return eval_scalar(node.as<ElementwiseAttrs>().op, from, {operands, node.operands.size()});
}

// Sizes of tensors. Where one fails, so does every tensor that has it, and what is read from it.
using Sizes = std::unordered_set<uint32_t>;
Sizes sizes_of(const Function& f) {
  Sizes sizes;
  for (const Value& value : f.values)
    for (const Dim& dim : value.type.dims)
      if (!dim.is_constant()) sizes.insert(dim.value.index);
  return sizes;
}

// What may fail of what scalars are computed from.
Sizes sources_of(const Function& f, std::vector<ValueId> left) {
  Sizes sources, seen;
  while (!left.empty()) {
    const ValueId value = left.back();
    left.pop_back();
    const Node* node = producer_of(f, value);
    if (!node || node->op == Op::Constant || !seen.insert(value.index).second) continue;
    if (node->op == Op::Elementwise || node->op == Op::Convert)
      left.insert(left.end(), node->operands.begin(), node->operands.end());
    else
      sources.insert(value.index);
  }
  return sources;
}

// A comparison of numbers that are known to lie on one side of each other. An operand that fails makes it fail, but for
// sizes in the subscripts of a map: what they are of fails, too.
std::optional<Scalar> decided(const Function& f, const Node& node, Ranges& ranges, const Sizes* sizes) {
  if (node.op != Op::Elementwise || !f[node.results[0]].type.is_scalar()) return std::nullopt;
  const auto answer = ranges.decided(node);
  if (!answer) return std::nullopt;
  const Sizes sources = sources_of(f, node.operands);
  const bool fails =
      std::any_of(sources.begin(), sources.end(), [&](uint32_t value) { return !sizes || !sizes->contains(value); });
  return fails ? std::nullopt : std::optional(Scalar::of(static_cast<uint8_t>(*answer)));
}

// A Guard that holds, and whose condition fails only where the value does. What it lets through is known at once, so
// that what is computed from it is folded in the same run.
bool holds(const Function& f, const Node& node, Ranges& ranges, const Sizes& sizes) {
  if (node.op != Op::Guard || ranges.decided(node.operands[1]) != true) return false;
  const Sizes of_value = sources_of(f, {node.operands[0]}), of_condition = sources_of(f, {node.operands[1]});
  const bool of_tensor = !f[node.operands[0]].type.is_scalar(); // which fails where its sizes do
  return std::all_of(of_condition.begin(), of_condition.end(),
                     [&](uint32_t value) { return of_value.contains(value) || (of_tensor && sizes.contains(value)); });
}

// Subscripts i that count from the end where they are negative, where(i < 0, i + size, i), and never are.
ValueId counted_from_start(const Function& f, const Node& node, Ranges& ranges, const Sizes& sizes) {
  if (!node.is(ScalarOp::Where)) return {};
  const auto constant = constant_of(f, node.operands[0]);
  const Node *condition = producer_of(f, node.operands[0]), *other = producer_of(f, node.operands[1]);
  // That of a tensor fails where the subscripts do.
  const bool of_tensor = condition && condition->is(ScalarOp::Lt) && !f[node.results[0]].type.is_scalar() &&
                         condition->operands[0] == node.operands[2] && constant_of(f, condition->operands[1]);
  const bool never = constant ? !constant->as<uint8_t>() : of_tensor && ranges.decided(*condition) == false;
  if (!never || !other || !other->is(ScalarOp::Add)) return {};
  const bool of_size = sizes.contains(other->operands[1].index) || constant_of(f, other->operands[1]);
  return of_size && other->operands[0] == node.operands[2] ? node.operands[2] : ValueId{};
}

// The greater, or the less, of a number and a constant, if it is always the number.
ValueId always_first(const Function& f, const Node& node, Ranges& ranges) {
  if (!node.is(ScalarOp::Max) && !node.is(ScalarOp::Min)) return {};
  const auto bound = integer_of(f, node.operands[1]);
  const Ranges::Integers range = ranges.of(node.operands[0]);
  if (!bound || !range) return {};
  return (node.is(ScalarOp::Max) ? range->least >= *bound : range->most <= *bound) ? node.operands[0] : ValueId{};
}

} // namespace

Module fold(Module module) {
  for (Function& function : module.functions) {
    Edit edit(module, function);
    Ranges ranges(function);
    const Sizes sizes = sizes_of(function);
    int maps = 0; // around the node: constant tensors stand outside of them
    edit.scope = [&](NodeId id, size_t, bool enter) {
      if (function[id].op == Op::Map || function[id].op == Op::Kernel) maps += enter ? 1 : -1;
    };
    edit.visit = [&](NodeId id) {
      ranges.come_by(id, maps > 0);
      const Node& node = function[id];
      ValueId same = holds(function, node, ranges, sizes) ? node.operands[0] : ValueId{};
      if (!same.valid()) same = counted_from_start(function, node, ranges, sizes);
      if (!same.valid()) same = always_first(function, node, ranges);
      if (same.valid()) {
        edit.replace(node.results[0], same);
        return Edit::Drop;
      }
      std::optional<Scalar> value = value_of(module, function, node);
      if (!value) value = decided(function, node, ranges, maps > 0 ? &sizes : nullptr);
      std::optional<HostTensor> tensor;
      if (!value && maps == 0) tensor = folded_tensor(module, function, function[id]);
      if (!value && !tensor) return Edit::Keep;
      const ValueId result = function[id].results[0];
      Type type = function[result].type;
      if (tensor && type.is_scalar()) value = tensor->get(0);
      if (value) {
        edit.replace(result, edit.constant(type.dtype, *value));
      } else {
        const ConstTensorAttrs attrs{static_cast<uint32_t>(module.tensors.size())};
        module.tensors.push_back(std::move(*tensor));
        const LocId at = function[id].loc;
        edit.replace(result, edit.one(Op::ConstTensor, {}, std::move(type), attrs, at));
      }
      return Edit::Drop;
    };
    edit.run();
  }
  return module;
}

} // namespace tl
