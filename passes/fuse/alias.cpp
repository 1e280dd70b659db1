#include "passes/fuse/alias.h"
#include "ir/graph/rewrite.h"
#include "passes/fuse/kernel_shape.h"
#include <algorithm>
#include <unordered_map>

namespace tl {
using namespace ir;
namespace {

uint32_t operand_number(const Node& kernel, ValueId value) {
  auto at = std::find(kernel.operands.begin(), kernel.operands.end(), value);
  if (at == kernel.operands.end()) throw std::logic_error("alias: a kernel updates what is not its operand");
  return static_cast<uint32_t>(at - kernel.operands.begin());
}

size_t uses_of(const Function& f, const Region& region, ValueId value) {
  size_t count = 0;
  walk(f, region, [&](NodeId id) {
    count += static_cast<size_t>(std::count(f[id].operands.begin(), f[id].operands.end(), value));
    for (const Region& inner : f[id].regions)
      count += static_cast<size_t>(std::count(inner.yields.begin(), inner.yields.end(), value));
  });
  return count;
}

// Does the kernel read what an Update or Scatter writes into other than at the written places themselves, each before
// it is written? `x[a:b] += e` does not; `x[::-1] = x` does.
bool reads_elsewhere(const Function& f, const Region& region, NodeId update_id) {
  const Node& update = f[update_id];
  ValueId base = update.operands[0];
  if (update.op == Op::Update && update.as<UpdateAttrs>().steps.empty())
    return false; // one element: its value is there before it is written
  std::vector<ValueId> starts(update.operands.begin() + std::min<size_t>(2, update.operands.size()),
                              update.operands.end());
  bool elsewhere = std::count(update.operands.begin() + 1, update.operands.end(), base) > 0;
  walk(f, region, [&](NodeId id) {
    const Node& node = f[id];
    if (id == update_id || std::count(node.operands.begin(), node.operands.end(), base) == 0) return;
    bool same_place = update.op == Op::Update && node.op == Op::Slice && node.operands[0] == base &&
                      node.as<StepsAttrs>().steps == update.as<UpdateAttrs>().steps &&
                      std::equal(node.operands.begin() + 1, node.operands.end(), starts.begin(), starts.end());
    elsewhere = elsewhere || !same_place;
  });
  return elsewhere;
}

std::vector<OutputAlias> of_update(const Function& f, const Node& kernel) {
  NodeId update = f[kernel.regions[0].yields[0]].producer;
  return {{AliasMode::Initial, operand_number(kernel, f[update].operands[0]),
           reads_elsewhere(f, kernel.regions[0], update)}};
}

std::vector<OutputAlias> of_loop(const Function& f, const Node& kernel) {
  std::vector<OutputAlias> result;
  for (ValueId yield : kernel.regions[0].yields) {
    if (f[yield].type.is_scalar()) {
      result.push_back({});
      continue;
    }
    const Node& loop = f[f[yield].producer];
    ValueId initial = loop.operands[(loop.op == Op::For ? 3 : 0) + f[yield].result];
    bool shared = uses_of(f, kernel.regions[0], initial) > 1;
    result.push_back({AliasMode::Initial, operand_number(kernel, initial), shared});
  }
  return result;
}

// Values that are read at the index of the output alone, through elementwise nodes.
std::unordered_map<uint32_t, bool> read_in_place(const Function& f, const Region& body, const KernelShape& shape) {
  std::unordered_map<uint32_t, bool> own; // missing: not read
  auto use = [&](ValueId value, bool in_place) {
    auto [at, fresh] = own.try_emplace(value.index, in_place);
    if (!fresh) at->second = at->second && in_place;
  };
  for (ValueId yield : body.yields)
    use(yield, level_of(f[yield].type, shape) == Level::Element);
  for (size_t i = body.nodes.size(); i-- > 0;) {
    const Node& node = f[body.nodes[i]];
    for (const Region& region : node.regions)
      walk(f, region, [&](NodeId id) {
        for (ValueId value : f[id].operands)
          use(value, false);
      });
    bool elementwise = node.op == Op::Elementwise || node.op == Op::Convert || node.op == Op::Guard;
    for (ValueId operand : node.operands) {
      bool in_place = node.op == Op::Reduce;
      if (elementwise) {
        auto at = own.find(node.results[0].index);
        in_place = at != own.end() && at->second && f[operand].type.dims == f[node.results[0]].type.dims;
      }
      use(operand, in_place);
    }
  }
  return own;
}

std::vector<OutputAlias> of_nest(const Function& f, const Node& kernel) {
  std::vector<OutputAlias> result(kernel.results.size());
  KernelShape shape = kernel_shape(f, kernel);
  bool single = kernel.results.size() == 1;
  if (shape.form != NestForm::Map && !(shape.form == NestForm::Rows && single)) return result;
  auto own = read_in_place(f, kernel.regions[0], shape);
  std::vector<bool> taken(kernel.operands.size());
  for (size_t i = 0; i < result.size(); ++i) {
    const Type& type = f[kernel.results[i]].type;
    if (type.is_scalar() || level_of(type, shape) != Level::Element) continue;
    for (uint32_t k = 0; k < kernel.operands.size(); ++k) {
      const Type& from = f[kernel.operands[k]].type;
      if (taken[k] || !(from.dims == type.dims) || size_of(from.dtype) != size_of(type.dtype)) continue;
      auto at = own.find(kernel.operands[k].index);
      if (at == own.end() || !at->second) continue;
      taken[k] = true;
      result[i] = {AliasMode::Reuse, k, false};
      break;
    }
  }
  return result;
}

} // namespace

std::vector<OutputAlias> output_aliases(const Function& f, const Node& kernel) {
  switch (kernel.as<KernelAttrs>().kind) {
  case KernelKind::Update: return of_update(f, kernel);
  case KernelKind::Loop: return of_loop(f, kernel);
  case KernelKind::Nest: return of_nest(f, kernel);
  case KernelKind::Contract: break;
  }
  return std::vector<OutputAlias>(kernel.results.size());
}

} // namespace tl
