#include "passes/devices.h"
#include "abi/device.h"
#include "ir/graph/op_info.h"
#include "ir/graph/rewrite.h"
#include "passes/edit.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <stdexcept>

namespace tl {
using namespace ir;
namespace {

constexpr size_t kSources = 16; // more than these are one unknown

class Checks {
public:
  Checks(Module& module, Function& function) : module_(module), f_(function) {}

  void run() {
    find_placed();
    drop_places();
    sources_.resize(f_.values.size());
    for (ValueId param : f_.body.params)
      own(param);
    region(f_.body);
  }

private:
  bool is_shaped(ValueId value) const { return f_[value].type.is_tensor() && !f_[value].type.dims.empty(); }

  // The tensors that meet in a node, each once.
  std::vector<ValueId> tensors(const Node& node) const {
    std::vector<ValueId> result;
    auto add = [&](ValueId value) {
      if (is_shaped(value) && !std::count(result.begin(), result.end(), value)) result.push_back(value);
    };
    for (ValueId value : node.operands)
      add(value);
    if (node.op == Op::Map)
      for (ValueId value : captures(f_, node))
        add(value);
    return result;
  }

  // ---- which values surely have a device -------------------------------------------------------------------------
  void find_placed() {
    placed_.assign(f_.values.size(), true);
    for (ValueId param : f_.body.params)
      placed_[param.index] = false;
    for (changed_ = true; changed_;) {
      changed_ = false;
      placed(f_.body);
    }
  }
  void mark(ValueId value, bool is) {
    if (is || !placed_[value.index]) return;
    placed_[value.index] = false;
    changed_ = true;
  }
  void placed(const Region& region) {
    for (NodeId id : region.nodes)
      placed(f_[id]);
  }
  void placed(const Node& node) {
    for (const Region& inner : node.regions)
      placed(inner);
    if (node.op == Op::Transfer || node.op == Op::Place) return;
    if (node.op == Op::If) {
      for (const Region& branch : node.regions)
        for (size_t i = 0; i < node.results.size(); ++i)
          mark(node.results[i], placed_[branch.yields[i].index]);
      return;
    }
    if (node.op == Op::For || node.op == Op::While) {
      size_t fixed = node.op == Op::For ? 3 : 0, first = node.op == Op::For ? 1 : 0;
      const Region& body = node.regions.back();
      for (size_t i = 0; i < node.results.size(); ++i) {
        bool is = placed_[node.operands[fixed + i].index] && placed_[body.yields[i].index];
        mark(body.params[first + i], is);
        mark(node.results[i], is);
        if (node.op == Op::While) mark(node.regions[0].params[i], is);
      }
      return;
    }
    const DeviceRule rule = info(node.op).devices;
    std::vector<ValueId> met = tensors(node);
    bool any = rule == DeviceRule::Joins &&
               std::any_of(met.begin(), met.end(), [&](ValueId value) { return placed_[value.index]; });
    for (size_t i = 0; i < node.results.size(); ++i)
      mark(node.results[i],
           any || (rule == DeviceRule::Same && i < node.operands.size() && placed_[node.operands[i].index]));
  }

  void drop_places() {
    Edit edit(module_, f_);
    edit.visit = [&](NodeId id) {
      const Node& node = f_[id];
      if (node.op != Op::Place || !is_shaped(node.operands[0]) || !placed_[node.operands[0].index]) return Edit::Keep;
      edit.replace(node.results[0], node.operands[0]);
      return Edit::Drop;
    };
    edit.run();
  }

  // ---- which may differ ------------------------------------------------------------------------------------------
  // A tensor's device is that of one of its sources; of a tensor without, none.
  using Sources = std::vector<uint32_t>;

  void set_sources(ValueId value, Sources from) {
    sources_.resize(std::max(sources_.size(), f_.values.size()));
    sources_[value.index] = std::move(from);
  }
  void own(ValueId value) {
    if (is_shaped(value)) set_sources(value, {value.index});
  }
  const Sources& sources(ValueId value) {
    sources_.resize(std::max(sources_.size(), f_.values.size()));
    return sources_[value.index];
  }
  static std::pair<uint32_t, uint32_t> pair(uint32_t a, uint32_t b) { return {std::min(a, b), std::max(a, b)}; }

  bool may_differ(ValueId a, ValueId b) {
    for (uint32_t x : sources(a))
      for (uint32_t y : sources(b))
        if (x != y && !compared_.contains(pair(x, y))) return true;
    return false;
  }
  void have_compared(ValueId a, ValueId b) {
    for (uint32_t x : sources(a))
      for (uint32_t y : sources(b))
        if (x != y && compared_.insert(pair(x, y)).second) scope_.push_back(pair(x, y));
  }

  // The device that a program says a tensor is on.
  std::optional<int64_t> known_device(ValueId value) {
    const Sources& from = sources(value);
    if (from.size() != 1) return std::nullopt;
    auto at = known_.find(from[0]);
    return at == known_.end() ? std::nullopt : std::optional(at->second);
  }
  void learn_device(const Node& node) {
    auto device = constant_of(f_, node.operands[1]);
    if (!device)
      if (const Node* made = producer_of(f_, node.operands[1]); made && made->op == Op::Guard)
        device = constant_of(f_, made->operands[0]);
    bool decides = node.op == Op::Transfer || (is_shaped(node.operands[0]) && sources(node.operands[0]).empty());
    if (device && decides) known_[node.results[0].index] = device->as<int64_t>();
  }

  void region(Region& r) {
    std::vector<std::pair<uint32_t, uint32_t>> outer = std::move(scope_);
    scope_.clear();
    for (ValueId param : r.params)
      own(param);
    std::vector<NodeId> nodes = std::move(r.nodes);
    r.nodes.clear();
    for (NodeId id : nodes) {
      node(id, r);
      r.nodes.push_back(id);
    }
    for (const auto& gone : scope_)
      compared_.erase(gone);
    scope_ = std::move(outer);
  }

  void node(NodeId id, Region& into) {
    Op op = f_[id].op;
    switch (info(op).devices) {
    case DeviceRule::Same:
      for (size_t i = 0; i < f_[id].results.size(); ++i) {
        Sources from = i < f_[id].operands.size() ? sources(f_[id].operands[i]) : Sources{};
        set_sources(f_[id].results[i], std::move(from));
      }
      return;
    case DeviceRule::Own: {
      std::vector<Region> regions = std::move(f_[id].regions);
      for (Region& inner : regions)
        region(inner);
      f_[id].regions = std::move(regions);
      for (ValueId value : f_[id].results)
        own(value);
      if (op == Op::Transfer || op == Op::Place) learn_device(f_[id]);
      return;
    }
    case DeviceRule::Joins: break;
    }
    std::vector<ValueId> met = tensors(f_[id]);
    std::erase_if(met, [&](ValueId value) { return sources(value).empty(); });
    Sources all;
    for (size_t k = 0; k < met.size(); ++k) {
      for (uint32_t source : sources(met[k]))
        if (!std::count(all.begin(), all.end(), source)) all.push_back(source);
      for (size_t before = 0; before < k; ++before)
        if (may_differ(met[before], met[k])) {
          check(id, met[before], met[k], into);
          have_compared(met[before], met[k]);
        }
    }
    for (ValueId value : std::vector<ValueId>(f_[id].results)) {
      if (!is_shaped(value)) continue;
      set_sources(value, all);
      if (all.size() <= kSources) continue;
      own(value);
      for (ValueId other : met)
        have_compared(value, other);
    }
  }

  // From here on `b` is poisoned in this node unless it is on the device of `a`.
  void check(NodeId id, ValueId a, ValueId b, Region& into) {
    LocId loc = f_[id].loc;
    const std::string hint = "`x.to(d)` is a copy of x on the device d";
    auto known_a = known_device(a), known_b = known_device(b);
    if (known_a && known_b) {
      if (*known_a == *known_b) return;
      throw MixedDevices(
          fmt::format("this mixes tensors on {} and on {}", device_name(*known_a), device_name(*known_b)), hint, loc);
    }
    Builder e(module_, f_, into);
    ValueId da = e.one(Op::DeviceOf, {a}, Type::scalar(DType::I64), {}, loc);
    ValueId db = e.one(Op::DeviceOf, {b}, Type::scalar(DType::I64), {}, loc);
    ValueId none = e.scalar(ScalarOp::Lt, {e.scalar(ScalarOp::Min, {da, db}, loc), e.i64(0)}, loc);
    ValueId fits = e.scalar(ScalarOp::Or, {none, e.scalar(ScalarOp::Eq, {da, db}, loc)}, loc);
    const SiteAttrs attrs{static_cast<uint32_t>(module_.sites.size())};
    module_.sites.push_back({"DeviceMismatch", "this mixes tensors on {d0} and on {d1}", hint, loc, {}});
    ValueId checked = e.one(Op::Guard, {b, fits, da, db}, Type(f_[b].type), attrs, loc);
    set_sources(checked, Sources(sources(b)));
    replace(f_[id], b, checked);
  }

  void replace(Node& node, ValueId from, ValueId to) {
    std::replace(node.operands.begin(), node.operands.end(), from, to);
    for (Region& inner : node.regions) {
      std::replace(inner.yields.begin(), inner.yields.end(), from, to);
      for (NodeId id : inner.nodes)
        replace(f_[id], from, to);
    }
  }

  Module& module_;
  Function& f_;
  std::vector<bool> placed_; // by value
  bool changed_ = false;
  std::vector<Sources> sources_;                     // by value
  std::set<std::pair<uint32_t, uint32_t>> compared_; // pairs of sources, on one device where a check has passed
  std::vector<std::pair<uint32_t, uint32_t>> scope_; // those that this region added
  std::map<uint32_t, int64_t> known_;                // by source
};

} // namespace

bool has_devices(const Module& module) {
  bool found = false;
  for (const Function& function : module.functions)
    walk(function, function.body, [&](NodeId id) {
      Op op = function[id].op;
      found = found || op == Op::DeviceOf || op == Op::Transfer || op == Op::Place;
    });
  return found;
}

std::vector<uint32_t> device_operands(const Function& f, const Node& kernel, size_t result) {
  // By value: the operands that it is computed from, through tensors alone and at all.
  std::map<uint32_t, std::set<uint32_t>> through_tensors, any;
  for (uint32_t k = 0; k < kernel.operands.size(); ++k)
    if (!f[kernel.operands[k]].type.dims.empty())
      through_tensors[kernel.operands[k].index] = any[kernel.operands[k].index] = {k};
  auto add = [&](ValueId from, ValueId to) {
    auto merge = [&](std::map<uint32_t, std::set<uint32_t>>& map) {
      if (auto at = map.find(from.index); at != map.end()) {
        std::set<uint32_t> more = at->second;
        map[to.index].insert(more.begin(), more.end());
      }
    };
    if (!f[from].type.dims.empty()) merge(through_tensors);
    merge(any);
  };
  std::function<void(const Region&)> visit = [&](const Region& region) {
    for (NodeId id : region.nodes) {
      const Node& node = f[id];
      bool loop = node.op == Op::For || node.op == Op::While;
      size_t fixed = node.op == Op::For ? 3 : 0, first = node.op == Op::For ? 1 : 0;
      for (size_t k = 0; loop && k < node.results.size(); ++k) // a carried tensor stays on its device
        for (ValueId value : {node.regions.back().params[first + k], node.results[k]})
          add(node.operands[fixed + k], value);
      for (const Region& inner : node.regions)
        if (node.op != Op::Map) visit(inner);
      for (size_t k = 0; loop && k < node.results.size(); ++k)
        add(node.regions.back().yields[k], node.results[k]);
      if (loop) continue;
      std::vector<ValueId> used = node.operands;
      if (!node.regions.empty())
        for (ValueId value : captures(f, node))
          used.push_back(value);
      for (ValueId value : used)
        for (ValueId made : node.results)
          add(value, made);
    }
  };
  visit(kernel.regions[0]);
  ValueId yielded = kernel.regions[0].yields[result];
  const std::set<uint32_t>& found = (f[yielded].type.dims.empty() ? any : through_tensors)[yielded.index];
  return {found.begin(), found.end()};
}

Module check_devices(Module module) {
  if (!has_devices(module)) return module;
  try {
    for (Function& function : module.functions)
      Checks(module, function).run();
  } catch (MixedDevices& reason) {
    reason.locations = module.locations;
    throw;
  }
  return module;
}

} // namespace tl
