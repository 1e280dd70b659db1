// Kernel nodes: the launch of a kernel, and which failures its outputs suffer.
#include "ir/graph/rewrite.h"
#include "passes/devices.h"
#include "passes/fuse/alias.h"
#include "passes/schedule/function_scheduler.h"
#include <algorithm>

namespace tl {
using namespace ir;

std::vector<ValueId> FunctionScheduler::deciding(const Region& region) const {
  std::vector<ValueId> values;
  walk(f_, region, [&](NodeId id) {
    const Node& node = f_[id];
    if (node.op == Op::If) values.push_back(node.operands[0]);
    if (node.op == Op::For) values.insert(values.end(), node.operands.begin(), node.operands.begin() + 3);
    if (node.op == Op::While) values.push_back(node.regions[0].yields[0]);
  });
  return values;
}

// The sites of assertions of sequential code.
std::vector<int32_t> FunctionScheduler::asserted_in(const Region& region) const {
  std::vector<int32_t> out;
  walk(f_, region, [&](NodeId id) {
    if (f_[id].op != Op::Guard) return;
    const auto site = f_[id].as<SiteAttrs>().site;
    if (module_.sites[site].kind == "AssertionFailed") out.push_back(static_cast<int32_t>(site));
  });
  return out;
}

Suffers FunctionScheduler::suffers(const Node& kernel, const FailureFlow& flow,
                                   const std::vector<ValueId>& values) const {
  Suffers out;
  for (ValueId value : values) {
    for (NodeId guard : flow.guards(value))
      out.sites.push_back(static_cast<int32_t>(f_[guard].as<SiteAttrs>().site));
    for (ValueId source : flow.outsiders(value))
      for (uint32_t k = 0; k < kernel.operands.size(); ++k)
        if (kernel.operands[k] == source) out.inputs.push_back(k);
  }
  auto once = [](auto& numbers) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  };
  once(out.sites);
  once(out.inputs);
  return out;
}

void FunctionScheduler::launch(NodeId id, const Node& node) {
  Instruction i = plain(BcOp::Launch, node);
  i.index = static_cast<uint32_t>(tables_.kernels.size());
  tables_.kernels.push_back({index_, id});
  std::vector<OutputAlias> aliases = output_aliases(f_, node);
  const Region& region = node.regions[0];
  std::optional<FailureFlow> flow;
  if (node.as<KernelAttrs>().kind == KernelKind::Loop) flow.emplace(f_, region);
  for (size_t k = 0; k < node.results.size(); ++k) {
    OutputDesc desc = describe(f_[node.results[k]].type);
    desc.mode = aliases[k].mode;
    desc.alias = aliases[k].operand;
    if (devices_) desc.device_of = device_operands(f_, node, k);
    if (flow) {
      std::vector<ValueId> needed = deciding(region);
      needed.push_back(region.yields[k]);
      desc.suffers = suffers(node, *flow, needed);
    }
    i.outputs.push_back(std::move(desc));
    bool twice = false; // two outputs that start as one operand: each needs a copy
    for (size_t other = 0; other < aliases.size(); ++other)
      twice = twice || (other != k && aliases[other].mode == AliasMode::Initial &&
                        aliases[k].mode == AliasMode::Initial && aliases[other].operand == aliases[k].operand);
    if (aliases[k].keep_operand || twice) kept_.push_back({out_.code.size(), aliases[k].operand});
  }
  if (flow)
    if (Suffers all = suffers(node, *flow, deciding(region)); !all.sites.empty() || !all.inputs.empty()) {
      const std::vector<int32_t> asserted = asserted_in(region); // one of an earlier turn is reported before it
      all.sites.insert(all.sites.end(), asserted.begin(), asserted.end());
      i.decides = std::move(all);
    }
  add(std::move(i));
}

} // namespace tl
