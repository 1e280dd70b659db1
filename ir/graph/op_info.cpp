#include "ir/graph/op_info.h"
#include "abi/text_op.h"

namespace tl::ir {
namespace {

template <class T, class... Alternatives> constexpr size_t index_of(const std::variant<Alternatives...>*) {
  size_t index = 0;
  static_cast<void>((... || (std::is_same_v<T, Alternatives> || (++index, false))));
  return index;
}

template <class T> Attrs default_attrs() { return T{}; }

constexpr OpInfo kOps[] = {
#define TL_GRAPH_OP(Enum, name, attrs, kind, devices, fusion, home, hoist, derivative, cost)                           \
  {name,                                                                                                               \
   index_of<HeldAttrs<attrs>>(static_cast<Attrs*>(nullptr)),                                                           \
   default_attrs<attrs>,                                                                                               \
   OpKind::kind,                                                                                                       \
   DeviceRule::devices,                                                                                                \
   FusionClass::fusion,                                                                                                \
   Home::home,                                                                                                         \
   Hoist::hoist,                                                                                                       \
   Derivative::derivative,                                                                                             \
   cost},
#include "ir/graph/graph_ops.def"
};
static_assert(std::size(kOps) == kOpCount);

} // namespace

const OpInfo& info(Op op) { return kOps[static_cast<int>(op)]; }

std::string_view name_of(const Node& node) {
  const auto* elementwise = std::get_if<ElementwiseAttrs>(&node.attrs);
  return elementwise ? info(elementwise->op).name : name_of(node.op);
}

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
  if (node.op == Op::Text && node.as<TextAttrs>().op == TextOp::Parse) return true; // may fail
  if (kind_of(node.op) == OpKind::Fallible || node.op == Op::Call || node.op == Op::While || is_effect(function, node))
    return true;
  for (const Region& region : node.regions)
    for (NodeId id : region.nodes)
      if (must_stay(function, function[id])) return true;
  return false;
}

} // namespace tl::ir
