// Computes what is made of constants alone.
//
// Needs: nothing.
// Gives: no scalar operation on constants only, no element of a constant tensor at constant positions, and few
//        operations on large constant tensors only (fold_tensors.h). The bits are those of every engine, since all
//        evaluate abi/scalar_functions.h.
#include "passes/edit.h"
#include "passes/passes.h"
#include "passes/simplify/fold_tensors.h"

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

} // namespace

Module fold(Module module) {
  for (Function& function : module.functions) {
    Edit edit(module, function);
    int maps = 0; // around the node: constant tensors stand outside of them
    edit.scope = [&](NodeId id, size_t, bool enter) {
      if (function[id].op == Op::Map || function[id].op == Op::Kernel) maps += enter ? 1 : -1;
    };
    edit.visit = [&](NodeId id) {
      std::optional<Scalar> value = value_of(module, function, function[id]);
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
