// Loop kernels: an outlined host loop as sequential code. Nodes are emitted in their order; carried scalars are carried
// values, carried tensors are memory that is updated in place. Of the tensors that turns make, passes/fuse/sequence.h
// says which are kept in workspace; the others are pulled.
#include "backend/kernel/forms.h"
#include "ir/graph/failure_flow.h"
#include "ir/graph/op_info.h"
#include "ir/graph/rewrite.h"
#include "passes/fuse/sequence.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace tl::kir {
namespace {

class Sequential {
public:
  Sequential(Emitter& e, const Layout& layout)
      : e_(e), b_(e.b), is_vector_(layout.vector && e.target == Target::Cpu), flow_(e.function, e.region()),
        sequence_(e.function, e.region()) {}

  void lower() {
    const ir::Region& region = e_.region();
    find_endless(region);
    const auto flags = static_cast<int64_t>(endless_.size());
    if (flags) failed_ = e_.add_workspace(ParamKind::Local, DType::Bool, SizeFormula::constant(flags), "failed");
    for (size_t i = 0; i < region.yields.size(); ++i)
      output_of_[region.yields[i].index] = e_.output_param(i);
    e_.loads_stay = true;
    e_.checked_apart = true; // Guards are checked where they stand
    ir::walk(e_.function, region, [&](ir::NodeId id) { makes_tensors_ |= makes_tensor(e_.function[id]); });
    phase(
        e_, SizeFormula::constant(1),
        [&](ValueId) {
          for (int64_t k = 0; k < flags; ++k)
            b_.store(failed_, b_.i64(k), b_.boolean(false));
          turn_factors(region);
          nodes(region);
          for (size_t i = 0; i < region.yields.size(); ++i)
            if (e_.type(region.yields[i]).is_scalar())
              b_.store(e_.output_param(i), b_.i64(0), e_.scalar(region.yields[i]));
        },
        SizeFormula::constant(1));
  }

private:
  bool is_memory(ir::ValueId v) const { return !e_.type(v).is_scalar(); }
  // Does it make a tensor, or read more than an element of one?
  bool makes_tensor(const ir::Node& n) const {
    switch (n.op) {
    case ir::Op::If:
    case ir::Op::For:
    case ir::Op::While:
    case ir::Op::Guard: return false;
    case ir::Op::Reduce:
    case ir::Op::Contract: return true;
    case ir::Op::Update: return is_memory(n.operands[1]);
    default: return is_memory(n.results[0]);
    }
  }

  // The whiles whose condition suffers a Guard inside them. It is total, and may then hold for ever: each has a flag
  // that these Guards raise and that ends it. All that it carries is poisoned with its condition.
  void find_endless(const ir::Region& region) {
    for (ir::NodeId id : region.nodes) {
      const ir::Node& n = e_.function[id];
      if (n.op == ir::Op::While && !flow_.guards(n.regions[0].yields[0]).empty()) endless_.push_back(&n);
      for (const ir::Region& inner : n.regions)
        find_endless(inner);
    }
  }

  void nodes(const ir::Region& region) {
    for (ir::NodeId id : region.nodes)
      node(id);
  }

  void node(ir::NodeId id) {
    const ir::Node& n = e_.function[id];
    Builder::At here(b_, n.loc);
    switch (n.op) {
    case ir::Op::For:
    case ir::Op::While: loop(n); break;
    case ir::Op::If: branch(n); break;
    case ir::Op::Update: update(n); break;
    case ir::Op::Guard: guard(id); break;
    default:
      if (!is_memory(n.results[0]))
        e_.bound[n.results[0].index] = e_.scalar(n.results[0]);
      else if (sequence_.is_kept(n.results[0]))
        keep(n.results);
    }
  }

  uint32_t memory_of(ir::ValueId v) const {
    auto it = e_.memory.find(v.index);
    if (it != e_.memory.end()) return it->second;
    if (!e_.inside(v)) return e_.param_of(v);
    unsupported("a tensor without memory in sequential code");
  }

  // --- tensors: where they are, and which version of them is there

  void put(ir::ValueId v, uint32_t param) {
    e_.memory[v.index] = param;
    newest_[param] = v;
  }
  bool is_in_place(ir::ValueId v) const {
    auto at = e_.memory.find(v.index);
    if (at == e_.memory.end() || b_.kernel.params[at->second].kind == ParamKind::Input) return false;
    auto last = newest_.find(at->second);
    return last != newest_.end() && last->second == v;
  }
  uint32_t workspace(const ir::Type& type, const char* name) {
    return e_.add_workspace(ParamKind::Local, type.dtype, e_.formula(type.dims), name);
  }

  // All elements of a space, in order: as one vector, or row after row.
  void each(std::span<const ir::Dim> dims, bool is_linear, const std::function<void(const Index&)>& body,
            bool may_be_vector = true) {
    Index index;
    if (dims.empty()) return body(index);
    const size_t rows = is_linear ? 0 : dims.size() - 1;
    std::function<void(size_t)> nest = [&](size_t axis) {
      if (axis < rows) {
        e_.serial_loop(b_.i64(0), e_.size(dims[axis]), [&](ValueId i) {
          index.push_back(i);
          nest(axis + 1);
          index.pop_back();
        });
        return;
      }
      auto at = [&](ValueId j) {
        Index full = index, rest = e_.decompose(j, dims.subspan(rows));
        full.insert(full.end(), rest.begin(), rest.end());
        body(full);
      };
      const ValueId count = e_.product(dims.subspan(rows));
      const auto constant = b_.constant_of(count);
      if (constant == 1)
        at(b_.i64(0));
      else
        e_.loop(b_.i64(0), count, is_vector_ && may_be_vector, at);
    };
    nest(0);
  }
  // Is an element of v, at a place in the row-major order, computed from elements at that place?
  bool is_linear(ir::ValueId v) const {
    if (!e_.inside(v) || e_.memory.contains(v.index)) return true;
    if (!e_.function[v].producer.valid()) return true;
    const ir::Node& n = e_.producer(v);
    if (n.op == ir::Op::Broadcast) return e_.type(n.operands[0]).is_scalar();
    if (n.op != ir::Op::Elementwise && n.op != ir::Op::Convert && n.op != ir::Op::Guard) return false;
    return std::all_of(n.operands.begin(), n.operands.end(), [&](ir::ValueId operand) {
      return e_.type(operand).is_scalar() || (e_.type(operand).dims == e_.type(v).dims && is_linear(operand));
    });
  }

  void copy(ir::ValueId v, uint32_t param) {
    const std::vector<ir::Dim>& dims = e_.type(v).dims;
    each(dims, is_linear(v),
         [&](const Index& index) { b_.store(param, e_.linearise(index, dims), e_.pull(v, index)); });
  }
  uint32_t fresh_copy(ir::ValueId v, const char* name) {
    const uint32_t param = workspace(e_.type(v), name);
    copy(v, param);
    return param;
  }
  // Factors from outside that the columns of a product go across: they are read in every turn, so that a copy whose
  // last axis is that of the columns pays.
  void turn_factors(const ir::Region& region) {
    if (!is_vector_) return;
    std::set<uint32_t> along; // of which others take the columns as they lie
    std::vector<std::pair<ir::ValueId, size_t>> across;
    ir::walk(e_.function, region, [&](ir::NodeId id) {
      const ir::Node& n = e_.function[id];
      if (n.op != ir::Op::Contract || !sequence_.is_kept(n.results[0])) return;
      const auto& [lhs, rhs, kept] = n.as<ir::ContractAttrs>();
      for (size_t k = 0; k < 2; ++k) {
        Emitter::AxisMap map;
        for (int64_t label : k == 0 ? lhs : rhs) {
          auto at = std::find(kept.begin(), kept.end(), label);
          map.push_back(at == kept.end() ? std::nullopt : std::optional<size_t>(at - kept.begin()));
        }
        std::set<std::pair<uint32_t, Emitter::AxisMap>> seen;
        e_.each_access(
            n.operands[k], map,
            [&](ir::ValueId input, const Emitter::AxisMap& axes) {
              auto lanes = std::find(axes.begin(), axes.end(), std::optional<size_t>(kept.size() - 1));
              if (lanes == axes.end()) return;
              if (lanes + 1 == axes.end())
                along.insert(input.index);
              else
                across.emplace_back(input, static_cast<size_t>(lanes - axes.begin()));
            },
            seen);
      }
    });
    for (const auto& [input, axis] : across)
      if (!along.contains(input.index)) turn(input, axis);
    e_.load_from = [&](ir::ValueId input, const Index& index) -> std::optional<ValueId> {
      auto at = turned_.find(input.index);
      if (at == turned_.end()) return std::nullopt;
      return b_.load(at->second.param, e_.linearise(permuted(index, at->second.axis), at->second.dims), false);
    };
  }
  template <class T> static std::vector<T> permuted(std::vector<T> axes, size_t last) {
    const auto moved = axes.begin() + static_cast<ptrdiff_t>(last);
    std::rotate(moved, moved + 1, axes.end());
    return axes;
  }
  void turn(ir::ValueId input, size_t axis) {
    constexpr int64_t kMost = 65536; // elements; where the sizes are not known, there are few
    const std::vector<ir::Dim>& dims = e_.type(input).dims;
    int64_t count = 1;
    for (const ir::Dim& dim : dims)
      if (dim.is_constant()) count = std::min(count, kMost + 1) * std::min(dim.constant, kMost + 1);
    if (count > kMost || e_.inside(input) || turned_.contains(input.index)) return;
    const uint32_t param = workspace(e_.type(input), "turned");
    const std::vector<ir::Dim> to = permuted(dims, axis);
    each(dims, false,
         [&](const Index& index) { b_.store(param, e_.linearise(permuted(index, axis), to), e_.pull(input, index)); });
    turned_.emplace(input.index, Turned{param, axis, to});
  }

  // What one node gives, computed here.
  void keep(const std::vector<ir::ValueId>& results) {
    std::vector<uint32_t> params;
    for (ir::ValueId v : results)
      params.push_back(workspace(e_.type(v), "turn"));
    const std::vector<ir::Dim>& dims = e_.type(results[0]).dims;
    each(dims, is_linear(results[0]), [&](const Index& index) {
      std::vector<ValueId> values;
      for (ir::ValueId v : results)
        values.push_back(e_.pull(v, index));
      for (size_t i = 0; i < params.size(); ++i)
        b_.store(params[i], e_.linearise(index, dims), values[i]);
    });
    for (size_t i = 0; i < params.size(); ++i)
      put(results[i], params[i]);
  }
  // Does it read what is in one of these memories?
  bool reads_any(ir::ValueId v, const std::set<uint32_t>& params) const {
    const std::vector<ir::ValueId> sources = sequence_.sources(v);
    return std::any_of(sources.begin(), sources.end(), [&](ir::ValueId source) {
      auto at = e_.memory.find(source.index);
      return at != e_.memory.end() && params.contains(at->second);
    });
  }

  // Memory of a tensor that a loop carries. That of the kernel's own region is the output's, which starts as a copy of
  // the operand; what is not an output gets workspace, or stays the operand if nothing writes it.
  uint32_t carried_memory(ir::ValueId init, ir::ValueId result, bool written, const std::set<uint32_t>& taken) {
    if (is_in_place(init) && !taken.contains(e_.memory.at(init.index))) return e_.memory.at(init.index);
    if (auto it = output_of_.find(result.index); it != output_of_.end()) return it->second;
    if (!written && !e_.inside(init)) return memory_of(init);
    return fresh_copy(init, "copy");
  }

  void guard(ir::NodeId id) {
    const ir::Node& n = e_.function[id];
    ir::ValueId v = n.operands[0], result = n.results[0];
    std::vector<int64_t> flags;
    for (size_t k = 0; k < endless_.size(); ++k)
      if (flow_.suffers(endless_[k]->regions[0].yields[0], id)) flags.push_back(static_cast<int64_t>(k));
    ValueId ok;
    each(
        e_.type(n.operands[1]).dims, false,
        [&](const Index& index) {
          ok = e_.guard(n, index);
          if (flags.empty() || b_.constant_of(ok) == 1) return;
          Instr instr = make(KOp::If, {ok});
          b_.open({}, true);
          instr.blocks.push_back(b_.close());
          b_.open({}, true);
          for (int64_t k : flags)
            b_.store(failed_, b_.i64(k), b_.boolean(true));
          instr.blocks.push_back(b_.close());
          b_.append(std::move(instr), {});
        },
        flags.empty());
    e_.checked.insert(&n);
    if (!is_memory(v)) {
      const bool in_range = e_.type(v).dtype == DType::I64 && !is_memory(n.operands[1]);
      ValueId value = e_.scalar(v);
      e_.bound[result.index] = in_range ? b_.select(ok, value, b_.i64(0)) : value;
    } else if (sequence_.is_kept(result)) {
      keep(n.results);
    } else if (is_in_place(v)) {
      put(result, e_.memory.at(v.index));
    } else if (e_.memory.contains(v.index)) {
      e_.memory[result.index] = e_.memory.at(v.index);
    }
  }

  void update(const ir::Node& n) {
    const ir::Type& type = e_.type(n.results[0]);
    const ir::ValueId base = n.operands[0], value = n.operands[1];
    const uint32_t param = is_in_place(base) ? e_.memory.at(base.index) : fresh_copy(base, "copy");
    const std::vector<ir::Dim>& dims = e_.type(value).dims;
    // What is read from where it is written is computed first.
    const bool staged = is_memory(value) && reads_any(value, {param});
    const auto before = e_.memory;
    if (staged) e_.memory[value.index] = fresh_copy(value, "value");
    const auto& [mode, steps] = n.as<ir::UpdateAttrs>();
    each(dims, false, [&](const Index& index) {
      Index at;
      for (size_t i = 2; i < n.operands.size(); ++i) {
        ValueId start = e_.scalar(n.operands[i]);
        at.push_back(index.empty() ? start : b_.add(start, b_.mul(index[i - 2], b_.i64(steps[i - 2]))));
      }
      ValueId v = e_.pull(value, index), offset = e_.linearise(at, type.dims);
      if (mode == ir::UpdateMode::Add) v = expand(b_, ScalarOp::Add, type.dtype, {b_.load(param, offset, false), v});
      b_.store(param, offset, v);
    });
    if (staged) e_.memory = before;
    put(n.results[0], param);
  }

  // Is the tensor that comes in as `param` given on changed?
  bool is_written(const ir::Region& body, size_t tensor_param, size_t yield) const {
    return body.yields[yield] != body.params[tensor_param];
  }

  void loop(const ir::Node& n) {
    bool counted = n.op == ir::Op::For;
    size_t fixed = counted ? 3 : 0; // bounds before the carried values
    size_t lead = counted ? 1 : 0;  // the index before them among the parameters
    const ir::Region& body = n.regions.back();
    std::vector<ValueId> operands;
    std::vector<DType> types;
    for (size_t i = 0; i < fixed; ++i)
      operands.push_back(e_.scalar(n.operands[i]));
    std::vector<size_t> scalars;
    std::vector<uint32_t> memories(n.results.size());
    std::set<uint32_t> taken;
    for (size_t i = fixed; i < n.operands.size(); ++i) {
      size_t k = i - fixed;
      if (!is_memory(n.operands[i])) {
        scalars.push_back(k);
        operands.push_back(e_.scalar(n.operands[i]));
        types.push_back(b_.type(operands.back()));
        continue;
      }
      memories[k] = carried_memory(n.operands[i], n.results[k], is_written(body, k + lead, k), taken);
      taken.insert(memories[k]);
      for (const ir::Region& r : n.regions)
        put(r.params[k + lead], memories[k]);
    }
    Instr instr = make(counted ? KOp::For : KOp::While, operands);
    auto enter = [&](const ir::Region& r, bool conditional) {
      std::vector<DType> params = types;
      if (counted) params.insert(params.begin(), DType::I64);
      // Tensors in memory change from turn to turn, so that what reads them must not leave.
      std::vector<ValueId> ids = b_.open(params, conditional || makes_tensors_);
      if (counted) e_.bound[r.params[0].index] = ids[0];
      for (size_t s = 0; s < scalars.size(); ++s)
        e_.bound[r.params[scalars[s] + lead].index] = ids[s + lead];
      nodes(r);
    };
    if (!counted) {
      enter(n.regions[0], true);
      ValueId go_on = e_.scalar(n.regions[0].yields[0]);
      if (auto at = std::find(endless_.begin(), endless_.end(), &n); at != endless_.end()) {
        ValueId failed = b_.load(failed_, b_.i64(at - endless_.begin()), false);
        go_on = b_.both(go_on, b_.pure(KOp::Not, DType::Bool, {failed}));
      }
      instr.blocks.push_back(b_.close({go_on}));
    }
    enter(body, !counted);
    std::vector<ValueId> yields;
    for (ir::ValueId yield : body.yields)
      if (!is_memory(yield)) yields.push_back(e_.scalar(yield));
    hand_on(n, memories, lead);
    instr.blocks.push_back(b_.close(std::move(yields)));
    std::vector<ValueId> results = b_.append(std::move(instr), types);
    for (size_t s = 0; s < scalars.size(); ++s)
      e_.bound[n.results[scalars[s]].index] = results[s];
    for (size_t k = 0; k < n.results.size(); ++k)
      if (is_memory(n.results[k])) put(n.results[k], memories[k]);
  }

  // At the end of a turn: what it hands on, to where the next one reads it. What reads one of these places is computed
  // before any of them is written, but for an element that reads its own place alone.
  void hand_on(const ir::Node& n, const std::vector<uint32_t>& memories, size_t lead) {
    const ir::Region& body = n.regions.back();
    std::vector<size_t> moved;
    std::set<uint32_t> places;
    for (size_t k = 0; k < body.yields.size(); ++k) {
      const ir::ValueId yield = body.yields[k];
      if (!is_memory(yield) || (is_in_place(yield) && e_.memory.at(yield.index) == memories[k])) continue;
      if (yield == body.params[k + lead]) continue; // nothing writes it
      moved.push_back(k);
      places.insert(memories[k]);
    }
    std::vector<std::pair<ir::ValueId, uint32_t>> staged;
    for (size_t k : moved) {
      const ir::ValueId yield = body.yields[k], before = body.params[k + lead];
      std::set<uint32_t> others = places;
      const auto last = newest_.find(memories[k]);
      const bool own = last != newest_.end() && last->second == before && sequence_.reads_in_place(yield, before);
      if (own) others.erase(memories[k]);
      if (reads_any(yield, others)) staged.emplace_back(yield, fresh_copy(yield, "next"));
    }
    const auto memory = e_.memory;
    for (const auto& [yield, param] : staged)
      e_.memory[yield.index] = param;
    for (size_t k : moved)
      copy(body.yields[k], memories[k]);
    e_.memory = memory;
  }

  void branch(const ir::Node& n) {
    ValueId condition = e_.scalar(n.operands[0]);
    Instr instr = make(KOp::If, {condition});
    std::vector<DType> types;
    std::vector<size_t> scalars;
    for (size_t k = 0; k < n.results.size(); ++k) {
      if (is_memory(n.results[k])) continue;
      scalars.push_back(k);
      types.push_back(value_type(e_.type(n.results[k]).dtype));
    }
    // A result whose sides are versions of one tensor from before is in that tensor's memory; of another, each side
    // makes a copy.
    std::vector<std::optional<uint32_t>> memories(n.results.size());
    std::set<uint32_t> taken;
    for (size_t k = 0; k < n.results.size(); ++k) {
      if (!is_memory(n.results[k])) continue;
      const ir::ValueId one = sequence_.root(n.regions[0].yields[k]), other = sequence_.root(n.regions[1].yields[k]);
      auto at = e_.memory.find(one.index);
      if (one != other || at == e_.memory.end() || !newest_.contains(at->second) || !taken.insert(at->second).second)
        memories[k] = workspace(e_.type(n.results[k]), "choice");
    }
    const std::unordered_map<uint32_t, ir::ValueId> before = newest_;
    std::set<uint32_t> lost; // what was there is there no more
    for (size_t side = 0; side < 2; ++side) {
      const ir::Region& r = n.regions[side];
      newest_ = before;
      b_.open({}, true);
      nodes(r);
      std::vector<ValueId> yields;
      for (size_t k : scalars)
        yields.push_back(e_.scalar(r.yields[k]));
      for (size_t k = 0; k < n.results.size(); ++k)
        if (memories[k]) copy(r.yields[k], *memories[k]);
      instr.blocks.push_back(b_.close(std::move(yields)));
      for (const auto& [param, version] : before)
        if (auto at = newest_.find(param); at == newest_.end() || at->second != version) lost.insert(param);
    }
    newest_ = before;
    for (uint32_t param : lost)
      newest_.erase(param);
    std::vector<ValueId> results = b_.append(std::move(instr), types);
    for (size_t s = 0; s < scalars.size(); ++s)
      e_.bound[n.results[scalars[s]].index] = results[s];
    for (size_t k = 0; k < n.results.size(); ++k) {
      if (!is_memory(n.results[k])) continue;
      if (!memories[k]) {
        const uint32_t param = memory_of(n.regions[0].yields[k]);
        if (param != memory_of(n.regions[1].yields[k])) unsupported("a choice between tensors in sequential code");
        memories[k] = param;
      }
      put(n.results[k], *memories[k]);
    }
  }

  Emitter& e_;
  Builder& b_;
  const bool is_vector_;
  bool makes_tensors_ = false;                       // or reads more than an element of one at a time
  std::unordered_map<uint32_t, uint32_t> output_of_; // yields -> parameters
  ir::FailureFlow flow_;
  const Sequence sequence_;
  struct Turned { // a copy of an operand, one axis of which is its last
    uint32_t param;
    size_t axis;
    std::vector<ir::Dim> dims;
  };
  std::unordered_map<uint32_t, Turned> turned_;
  std::unordered_map<uint32_t, ir::ValueId> newest_; // by parameter: the version of a tensor that is there
  std::vector<const ir::Node*> endless_;
  uint32_t failed_ = 0; // a flag for each of them
};

} // namespace

void lower_loop(Emitter& e, const Layout& layout) { Sequential(e, layout).lower(); }

} // namespace tl::kir
