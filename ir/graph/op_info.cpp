#include "ir/graph/op_info.h"
#include "abi/text_op.h"

namespace tl::ir {
namespace {

constexpr OpInfo kOps[] = {
#define TL_GRAPH_OP(Enum, name, kind, devices, fusion, home, hoist, derivative, cost)                                  \
  {name,       OpKind::kind, DeviceRule::devices,    FusionClass::fusion,                                              \
   Home::home, Hoist::hoist, Derivative::derivative, cost},
#include "ir/graph/graph_ops.def"
};
static_assert(std::size(kOps) == kOpCount);

} // namespace

const OpInfo& info(Op op) { return kOps[static_cast<int>(op)]; }

std::optional<Op> op_from_name(std::string_view name) {
  for (int i = 0; i < kOpCount; ++i)
    if (kOps[i].name == name) return static_cast<Op>(i);
  return std::nullopt;
}

std::optional<ScalarOp> scalar_from_name(std::string_view name) {
  for (int i = 0; i < kScalarOpCount; ++i)
    if (kScalarOps[i].name == name) return static_cast<ScalarOp>(i);
  return std::nullopt;
}

bool is_effect(const Function& function, const Node& node) {
  return !node.results.empty() && function[node.results[0]].type.kind == Type::Kind::Token;
}

bool must_stay(const Function& function, const Node& node) {
  if (node.op == Op::Text && node.attrs.index == static_cast<uint32_t>(TextOp::Parse)) return true; // may fail
  if (kind_of(node.op) == OpKind::Fallible || node.op == Op::Call || node.op == Op::While || is_effect(function, node))
    return true;
  for (const Region& region : node.regions)
    for (NodeId id : region.nodes)
      if (must_stay(function, function[id])) return true;
  return false;
}

} // namespace tl::ir
