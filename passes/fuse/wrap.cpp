#include "passes/fuse/wrap.h"
#include "ir/graph/rewrite.h"
#include <unordered_map>

namespace tl {
using namespace ir;
namespace {

using Renaming = std::unordered_map<uint32_t, ValueId>;

void rename(ValueId& value, const Renaming& names) {
  auto at = names.find(value.index);
  if (at != names.end()) value = at->second;
}

void rename(Function& f, NodeId id, const Renaming& names) {
  Node& node = f[id];
  for (ValueId& value : node.operands)
    rename(value, names);
  for (ValueId result : node.results)
    for (Dim& dim : f[result].type.dims)
      if (!dim.is_constant()) rename(dim.value, names);
  for (Region& region : node.regions) {
    for (NodeId inner : region.nodes)
      rename(f, inner, names);
    for (ValueId& value : region.yields)
      rename(value, names);
  }
}

} // namespace

NodeId wrap_kernel(Module& module, Function& f, std::vector<NodeId> nodes, KernelKind kind,
                   const std::vector<ValueId>& outputs, LocId loc) {
  Renaming names;
  for (ValueId output : outputs) {
    Value copy = f[output];
    ValueId inside{static_cast<uint32_t>(f.values.size())};
    f[f[output].producer].results[f[output].result] = inside;
    f.values.push_back(std::move(copy));
    names[output.index] = inside;
  }

  // Constants from outside move in as copies.
  Node probe{Op::Kernel, {}, {}, {}, {}, {}};
  probe.regions.emplace_back();
  probe.regions[0].nodes = nodes;
  Region body;
  Builder into(module, f, body);
  for (ValueId value : captures(f, probe)) {
    NodeId producer = f[value].producer;
    if (!producer.valid() || f[producer].op != Op::Constant) continue;
    ValueId copy = into.constant(f[value].type.dtype, f[producer].as<ConstantAttrs>().literal);
    names[value.index] = copy;
  }
  for (NodeId id : nodes) {
    rename(f, id, names);
    body.nodes.push_back(id);
  }
  std::vector<Type> types;
  for (ValueId output : outputs) {
    body.yields.push_back(names[output.index]);
    types.push_back(Type());
  }

  Region elsewhere;
  std::vector<Region> regions;
  regions.push_back(std::move(body));
  NodeId kernel =
      Builder(module, f, elsewhere).node(Op::Kernel, {}, std::move(types), KernelAttrs{kind}, loc, std::move(regions));
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    f[kernel].results[i] = outputs[i];
    f[outputs[i]].producer = kernel;
    f[outputs[i]].result = i;
  }
  f[kernel].operands = captures(f, f[kernel]);
  return kernel;
}

} // namespace tl
