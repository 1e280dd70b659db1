// Inserts Await where the host must know a scalar that depends on elements of tensors: conditions, loop bounds, sizes,
// arguments of calls, exit codes. Everything else goes on without waiting.
//
// Needs: nothing.
// Gives: conditions, bounds, sizes, scalar arguments and results of calls are host scalars (dataflow_scalars says so);
//        sizes that are constants are written as such; a Guard of whole-tensor condition guards a value of other sizes
//        through one scalar.
//
// A condition waits right where it is needed, not before: what comes before it, and what fails before it, comes first.
// A size waits before the first node that mentions it, since its tensors' types do from then on.
#include "ir/graph/rewrite.h"
#include "passes/edit.h"
#include "passes/emit.h"
#include "passes/passes.h"
#include "passes/schedule/placement.h"
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <unordered_map>

namespace tl {
using namespace ir;
namespace {

// What is in `of` where the condition first fails, in the order of its elements. Only read if it does.
std::vector<ValueId> at_first_failure(Emit& e, ValueId condition, const std::vector<ValueId>& of) {
  const std::vector<Dim> dims = e.dims(condition);
  const std::vector<int64_t> axes = other_axes(dims.size(), {});
  ValueId place;
  for (int64_t axis : axes) {
    const Dim& dim = dims[static_cast<size_t>(axis)];
    ValueId along = e.broadcast(e.iota(dim), {axis}, dims);
    place = place.valid() ? e.add(e.mul(place, e.size(dim)), along) : along;
  }
  ValueId first = e.reduce(ReduceOp::Min, e.where(condition, e.i64(INT64_MAX), place), axes);
  ValueId chosen = e.op(ScalarOp::Eq, {place, first});
  std::vector<ValueId> result;
  for (ValueId payload : of)
    result.push_back(
        e.type(payload).is_scalar()
            ? payload
            : e.reduce(ReduceOp::Max, e.where(chosen, payload, -std::numeric_limits<double>::infinity()), axes));
  return result;
}

// Guard(x, cond[…]) where x is not of cond's sizes: all elements must hold, so the condition becomes one scalar, and
// the payload that of the first element which fails.
void reduce_conditions(Module& module, Function& f) {
  Edit edit(module, f);
  edit.visit = [&](NodeId id) {
    const Node& node = f[id];
    if (node.op != Op::Guard || f[node.operands[1]].type.is_scalar() ||
        same_dims(f, node.operands[0], node.operands[1]))
      return Edit::Keep;
    ReduceAttrs attrs{ReduceOp::All, {}};
    for (size_t i = 0; i < f[node.operands[1]].type.dims.size(); ++i)
      attrs.axes.push_back(static_cast<int64_t>(i));
    LocId loc = node.loc;
    ValueId all = edit.one(Op::Reduce, {node.operands[1]}, Type::scalar(DType::Bool), attrs, loc);
    std::vector<ValueId> payload(f[id].operands.begin() + 2, f[id].operands.end());
    if (!std::all_of(payload.begin(), payload.end(), [&](ValueId v) { return f[v].type.is_scalar(); })) {
      Region added;
      Emit e(module, f, added, loc);
      payload = at_first_failure(e, f[id].operands[1], payload);
      for (NodeId node : added.nodes)
        edit.keep(node);
    }
    Node& guard = f[id];
    guard.operands.resize(2);
    guard.operands[1] = all;
    guard.operands.insert(guard.operands.end(), payload.begin(), payload.end());
    return Edit::Keep;
  };
  edit.run(); // also writes constant sizes as constants
}

class Placer {
public:
  Placer(Module& module, Function& function, bool entry)
      : module_(module), f_(function), entry_(entry), dataflow_(dataflow_scalars(function)) {
    is_size_.assign(f_.values.size(), false);
    find_sizes(f_.body);
  }

  void run() {
    region(f_.body, [&](Builder& at) {
      if (!entry_)
        for (ValueId& value : f_.body.yields)
          value = host(value, at);
    });
    if (inserted_ > 0) replace_sizes(f_.body);
  }

private:
  using Awaited = std::unordered_map<uint32_t, ValueId>;

  bool dataflow(ValueId value) const { return value.index < dataflow_.size() && dataflow_[value.index]; }

  void find_sizes(const Region& r) {
    auto types = [&](const std::vector<ValueId>& values) {
      for (ValueId value : values)
        for (const Dim& dim : f_[value].type.dims)
          if (!dim.is_constant() && dataflow(dim.value)) is_size_[dim.value.index] = any_size_ = true;
    };
    types(r.params);
    for (NodeId id : r.nodes) {
      types(f_[id].results);
      for (const Region& inner : f_[id].regions)
        find_sizes(inner);
    }
  }

  // The host's copy of a value, waiting here if it must.
  ValueId host(ValueId value, Builder& at) {
    ValueId known = current(value);
    if (!dataflow(known)) return known;
    ValueId awaited = at.one(Op::Await, {known}, f_[known].type);
    f_[awaited].name = std::string(f_[known].name);
    scopes_.back()[value.index] = awaited;
    ++inserted_;
    return awaited;
  }
  // What stands for the value here: its awaited copy, if there is one in scope.
  ValueId current(ValueId value) const {
    if (inserted_ == 0) return value;
    for (size_t i = scopes_.size(); i-- > 0;) {
      auto at = scopes_[i].find(value.index);
      if (at != scopes_[i].end()) return at->second;
    }
    return value;
  }

  // Sizes mentioned in a node or in its regions.
  void mentioned(const Node& node, std::vector<ValueId>& sizes) const {
    auto types = [&](const std::vector<ValueId>& values) {
      for (ValueId value : values)
        for (const Dim& dim : f_[value].type.dims)
          if (!dim.is_constant() && is_size_[dim.value.index]) sizes.push_back(dim.value);
    };
    types(node.results);
    for (const Region& region : node.regions) {
      types(region.params);
      for (NodeId id : region.nodes)
        mentioned(f_[id], sizes);
    }
  }

  template <class AtEnd> void region(Region& r, AtEnd at_end) {
    std::vector<NodeId> nodes = std::move(r.nodes);
    r.nodes.clear();
    Builder at(module_, f_, r);
    scopes_.emplace_back();
    for (NodeId id : nodes) {
      if (any_size_) {
        std::vector<ValueId> sizes;
        mentioned(f_[id], sizes);
        for (ValueId size : sizes)
          if (defined_.size() > size.index && defined_[size.index]) host_size(size, at);
      }
      node(id, at);
      r.nodes.push_back(id);
      for (ValueId result : f_[id].results)
        define(result);
    }
    at_end(at);
    scopes_.pop_back();
  }

  void define(ValueId value) {
    if (defined_.size() <= value.index) defined_.resize(f_.values.size());
    defined_[value.index] = true;
  }

  void host_size(ValueId size, Builder& at) {
    ValueId awaited = host(size, at);
    if (awaited != size) sizes_[size.index] = awaited;
  }

  void node(NodeId id, Builder& at) {
    // Operands first: what is known to the host by now is used as such.
    for (size_t i = 0; i < f_[id].operands.size(); ++i) {
      ValueId operand = f_[id].operands[i];
      ValueId now = needs_host(f_[id], i) ? host(operand, at) : current(operand);
      f_[id].operands[i] = now;
    }
    Op op = f_[id].op;
    if (op == Op::Map || op == Op::Kernel) return captured(id);
    std::vector<bool> sizes = carried_sizes(id, at);
    for (size_t i = 0; i < f_[id].regions.size(); ++i) {
      Region inner = std::move(f_[id].regions[i]);
      for (ValueId param : inner.params)
        define(param);
      bool condition = op == Op::While && i == 0;
      region(inner, [&](Builder& end) {
        for (size_t k = 0; k < inner.yields.size(); ++k) {
          ValueId& value = inner.yields[k];
          value = condition || (k < sizes.size() && sizes[k]) ? host(value, end) : current(value);
        }
      });
      f_[id].regions[i] = std::move(inner);
    }
    // With its operands known, this may be a host scalar now.
    const Node& node = f_[id];
    if (node.regions.empty() && node.results.size() == 1 && dataflow(node.results[0]) &&
        !gives_dataflow(f_, node, dataflow_padded()))
      dataflow_[node.results[0].index] = false;
  }

  // Results of a branch or loop that are sizes: they are host scalars on every way, so they wait where they come from.
  std::vector<bool> carried_sizes(NodeId id, Builder& at) {
    Op op = f_[id].op;
    if (!any_size_ || (op != Op::If && op != Op::For && op != Op::While)) return {};
    std::vector<bool> sizes(f_[id].results.size());
    size_t first = op == Op::For ? 1 : 0, fixed = op == Op::For ? 3 : 0;
    for (size_t k = 0; k < sizes.size(); ++k) {
      std::vector<ValueId> names{f_[id].results[k]};
      if (op != Op::If)
        for (const Region& region : f_[id].regions)
          names.push_back(region.params[(region.params.size() > f_[id].results.size() ? first : 0) + k]);
      for (ValueId name : names)
        sizes[k] = sizes[k] || is_size_[name.index];
      if (!sizes[k]) continue;
      for (ValueId name : names)
        dataflow_[name.index] = is_size_[name.index] = false;
      if (op != Op::If) f_[id].operands[fixed + k] = host(f_[id].operands[fixed + k], at);
    }
    return sizes;
  }

  // Inside a Map or a Kernel: the same values under their present names.
  void captured(NodeId id) {
    if (inserted_ == 0) return;
    Node& node = f_[id];
    for (Region& inner : node.regions) {
      for (ValueId& value : inner.yields)
        value = current(value);
      for (NodeId n : inner.nodes) {
        for (ValueId& value : f_[n].operands)
          value = current(value);
        captured(n);
      }
    }
  }

  const std::vector<bool>& dataflow_padded() {
    dataflow_.resize(f_.values.size());
    return dataflow_;
  }

  bool needs_host(const Node& node, size_t i) const {
    if (!f_[node.operands[i]].type.is_scalar()) return false;
    switch (node.op) {
    case Op::If:
    case Op::DeviceInfo:
    case Op::Call: return true;
    case Op::For: return i < 3;
    case Op::Transfer:
    case Op::Place:
    case Op::MemoryStats:
    case Op::ReleaseCache:
    case Op::BroadcastFrom:
    case Op::Stopwatch:
    case Op::Exit: return i == 1;
    case Op::ListGet:
    case Op::ListSet: return i == 1;
    case Op::ListSlice:
    case Op::Text: return i > 0;
    case Op::Guard: return i > 0 && !f_[node.operands[0]].type.is_tensor(); // of a string
    case Op::Constant:
    case Op::ConstTensor:
    case Op::ConstStr:
    case Op::Iota:
    case Op::Elementwise:
    case Op::Convert:
    case Op::Broadcast:
    case Op::Reshape:
    case Op::Transpose:
    case Op::Slice:
    case Op::Pad:
    case Op::Concat:
    case Op::Index:
    case Op::Gather:
    case Op::Update:
    case Op::Scatter:
    case Op::Reduce:
    case Op::Scan:
    case Op::Contract:
    case Op::Map:
    case Op::While:
    case Op::ListMake:
    case Op::ListLength:
    case Op::ListAppend:
    case Op::ListConcat:
    case Op::ListJoin:
    case Op::Linalg:
    case Op::Sort:
    case Op::ReadLine:
    case Op::Await:
    case Op::Format:
    case Op::Print:
    case Op::Assert:
    case Op::Load:
    case Op::Save:
    case Op::Exists:
    case Op::ReadText:
    case Op::WriteText:
    case Op::Wait:
    case Op::WaitAll:
    case Op::Time:
    case Op::Interrupted:
    case Op::Debug:
    case Op::Plot:
    case Op::Progress:
    case Op::DeviceCount:
    case Op::DeviceOf:
    case Op::ProcessRank:
    case Op::WorldSize:
    case Op::AllReduce:
    case Op::Vjp:
    case Op::Jvp:
    case Op::Vmap:
    case Op::Checkpoint:
    case Op::CustomVjp:
    case Op::StopGradient:
    case Op::Kernel: return false;
    }
    throw std::logic_error("place: no operation");
  }

  void replace_sizes(Region& r) {
    auto types = [&](const std::vector<ValueId>& values) {
      for (ValueId value : values)
        for (Dim& dim : f_[value].type.dims) {
          if (dim.is_constant()) continue;
          auto at = sizes_.find(dim.value.index);
          if (at != sizes_.end()) dim.value = at->second;
        }
    };
    types(r.params);
    for (NodeId id : r.nodes) {
      types(f_[id].results);
      for (Region& inner : f_[id].regions)
        replace_sizes(inner);
      if (f_[id].op == Op::Kernel) f_[id].operands = captures(f_, f_[id]);
    }
  }

  Module& module_;
  Function& f_;
  bool entry_;            // results of the entry may be dataflow
  bool any_size_ = false; // some size is
  std::vector<bool> dataflow_, is_size_, defined_;
  std::vector<Awaited> scopes_; // of the regions around
  Awaited sizes_;
  int inserted_ = 0;
};

} // namespace

Module place(Module module) {
  for (uint32_t i = 0; i < module.functions.size(); ++i) {
    hold_unread_guards(module, module.functions[i]);
    reduce_conditions(module, module.functions[i]);
    Placer(module, module.functions[i], i == module.entry).run();
  }
  return module;
}

} // namespace tl
