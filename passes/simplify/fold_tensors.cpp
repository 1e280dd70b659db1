#include "passes/simplify/fold_tensors.h"
#include "abi/factors.h"
#include "ir/graph/rewrite.h"
#include "ir/interpret/interpret.h"
#include "passes/edit.h"
#include <algorithm>
#include <stdexcept>
#include <variant>

namespace tl {
using namespace ir;
namespace {

// Elements of the tensors that a node is given. Fewer are computed as fast when the program runs, and are no load; more
// would keep the compiler busy, since the reference interpreter computes them.
constexpr int64_t kFewest = 64, kMost = int64_t{1} << 22;

// Each element from few others, and no more elements than there are.
bool is_cheap(Op op) {
  switch (op) {
  case Op::Elementwise:
  case Op::Convert:
  case Op::Reshape:
  case Op::Transpose:
  case Op::Slice:
  case Op::Concat:
  case Op::Index:
  case Op::Gather:
  case Op::Reduce:
  case Op::Scan: return true;
  default: return false;
  }
}

bool has_constant_dims(const Type& type) {
  return type.is_tensor() &&
         std::all_of(type.dims.begin(), type.dims.end(), [](const Dim& dim) { return dim.is_constant(); });
}

int64_t elements(const Type& type) {
  int64_t count = 1;
  for (const Dim& dim : type.dims)
    count = std::min(count * std::min(dim.constant, kMost + 1), kMost + 1);
  return count;
}

} // namespace

std::optional<HostTensor> folded_tensor(const Module& module, const Function& function, const Node& node) {
  if (!is_cheap(node.op) || node.results.size() != 1) return std::nullopt;
  const Type& type = function[node.results[0]].type;
  if (!has_constant_dims(type)) return std::nullopt;
  int64_t given = 0;
  for (ValueId operand : node.operands) {
    const Node* producer = producer_of(function, operand);
    if (!producer) return std::nullopt;
    if (producer->op == Op::ConstTensor)
      given += module.tensors[producer->as<ConstTensorAttrs>().tensor].count();
    else if (producer->op != Op::Constant)
      return std::nullopt;
    if (given > kMost) return std::nullopt;
  }
  if (given < kFewest || elements(type) > given) return std::nullopt;
  // Integers that a product widens as it reads them stay as small as they are.
  const DType from = function[node.operands[0]].type.dtype;
  if (node.op == Op::Convert && from != type.dtype && is_factor_type(from, type.dtype)) return std::nullopt;

  Module alone; // of this node
  alone.functions.emplace_back();
  Function& f = alone.functions[0];
  Builder builder(alone, f, f.body);
  const ValueId token = builder.param(Type::token());
  std::vector<ValueId> operands;
  for (ValueId operand : node.operands) {
    const Node& producer = *producer_of(function, operand);
    const Type& own = function[operand].type;
    if (producer.op == Op::Constant) {
      operands.push_back(builder.constant(own.dtype, producer.as<ConstantAttrs>().literal));
      continue;
    }
    const ConstTensorAttrs tensor{static_cast<uint32_t>(alone.tensors.size())};
    alone.tensors.push_back(module.tensors[producer.as<ConstTensorAttrs>().tensor]);
    operands.push_back(builder.one(Op::ConstTensor, {}, own, tensor));
  }
  f.body.yields = {token, builder.one(node.op, std::move(operands), type, node.attrs)};
  ResultInfo result;
  result.dtype = type.dtype;
  result.rank = static_cast<uint32_t>(type.dims.size());
  alone.interface.results.push_back(result);
  Outcome outcome;
  try {
    outcome = interpret(alone, {}, [](std::string_view) {});
  } catch (const std::logic_error&) { // what never runs may have sizes that do not fit
    return std::nullopt;
  }
  if (outcome.error || outcome.results.size() != 1) return std::nullopt;
  HostTensor* tensor = std::get_if<HostTensor>(&outcome.results[0]);
  return tensor ? std::optional(std::move(*tensor)) : std::nullopt;
}

void drop_unused_tensors(Module& module) {
  std::vector<uint32_t> position(module.tensors.size(), UINT32_MAX);
  std::vector<HostTensor> used;
  for (Function& function : module.functions) {
    std::vector<NodeId> constants;
    walk(function, function.body, [&](NodeId id) {
      if (function[id].op == Op::ConstTensor) constants.push_back(id);
    });
    for (NodeId id : constants) {
      auto& attrs = function[id].as<ConstTensorAttrs>();
      if (position[attrs.tensor] == UINT32_MAX) {
        position[attrs.tensor] = static_cast<uint32_t>(used.size());
        used.push_back(module.tensors[attrs.tensor]);
      }
      attrs.tensor = position[attrs.tensor];
    }
  }
  module.tensors = std::move(used);
}

} // namespace tl
