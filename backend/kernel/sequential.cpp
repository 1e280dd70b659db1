// Loop kernels: an outlined host loop as sequential code. Nodes are emitted in their order; carried scalars are carried
// values, carried tensors are memory that is updated in place.
#include "backend/kernel/forms.h"
#include "ir/graph/failure_flow.h"
#include "ir/graph/op_info.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::kir {
namespace {

class Sequential {
public:
  explicit Sequential(Emitter& e) : e_(e), b_(e.b), flow_(e.function, e.region()) {}

  void lower() {
    const ir::Region& region = e_.region();
    find_endless(region);
    const auto flags = static_cast<int64_t>(endless_.size());
    if (flags) failed_ = e_.add_workspace(ParamKind::Local, DType::Bool, SizeFormula::constant(flags), "failed");
    for (size_t i = 0; i < region.yields.size(); ++i)
      output_of_[region.yields[i].index] = e_.output_param(i);
    e_.loads_stay = true;
    phase(
        e_, SizeFormula::constant(1),
        [&](ValueId) {
          for (int64_t k = 0; k < flags; ++k)
            b_.store(failed_, b_.i64(k), b_.boolean(false));
          nodes(region);
          for (size_t i = 0; i < region.yields.size(); ++i)
            if (e_.type(region.yields[i]).is_scalar())
              b_.store(e_.output_param(i), b_.i64(0), e_.scalar(region.yields[i]));
        },
        SizeFormula::constant(1));
  }

private:
  bool is_memory(ir::ValueId v) const { return !e_.type(v).is_scalar(); }

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
      if (n.results.size() != 1 || is_memory(n.results[0]))
        unsupported(fmt::format("{} of tensors in sequential code", ir::name_of(n.op)));
      e_.bound[n.results[0].index] = e_.scalar(n.results[0]);
    }
  }

  uint32_t memory_of(ir::ValueId v) const {
    auto it = e_.memory.find(v.index);
    if (it != e_.memory.end()) return it->second;
    if (!e_.inside(v)) return e_.param_of(v);
    unsupported("a tensor without memory in sequential code");
  }

  // Memory of a tensor that a loop of the kernel's own region carries: the output's, which starts as a copy of the
  // operand. What is not an output gets workspace, or stays the operand if nothing writes it.
  uint32_t carried_memory(ir::ValueId init, ir::ValueId result, bool written) {
    if (e_.inside(init)) return memory_of(init);
    if (auto it = output_of_.find(result.index); it != output_of_.end()) return it->second;
    uint32_t input = e_.param_of(init);
    if (!written) return input;
    const ir::Type& type = e_.type(init);
    uint32_t copy = e_.add_workspace(ParamKind::Local, type.dtype, e_.formula(type.dims), "copy");
    e_.vector_loop(b_.i64(0), e_.product(type.dims), [&](ValueId i) { b_.store(copy, i, b_.load(input, i, false)); });
    return copy;
  }

  void guard(ir::NodeId id) {
    const ir::Node& n = e_.function[id];
    ir::ValueId v = n.operands[0], result = n.results[0];
    ValueId ok = e_.guard(n, {});
    std::vector<int64_t> flags;
    for (size_t k = 0; k < endless_.size(); ++k)
      if (flow_.suffers(endless_[k]->regions[0].yields[0], id)) flags.push_back(static_cast<int64_t>(k));
    if (!flags.empty() && b_.constant_of(ok) != 1) {
      Instr instr = make(KOp::If, {ok});
      b_.open({}, true);
      instr.blocks.push_back(b_.close());
      b_.open({}, true);
      for (int64_t k : flags)
        b_.store(failed_, b_.i64(k), b_.boolean(true));
      instr.blocks.push_back(b_.close());
      b_.append(std::move(instr), {});
    }
    if (is_memory(v)) {
      e_.memory[result.index] = memory_of(v);
      return;
    }
    ValueId value = e_.scalar(v);
    e_.bound[result.index] = e_.type(v).dtype == DType::I64 ? b_.select(ok, value, b_.i64(0)) : value;
  }

  void update(const ir::Node& n) {
    const ir::Type& type = e_.type(n.results[0]);
    if (is_memory(n.operands[1])) unsupported("an update of more than one element in sequential code");
    uint32_t param = memory_of(n.operands[0]);
    if (b_.kernel.params[param].kind == ParamKind::Input) unsupported("an update of an operand in sequential code");
    Index at;
    for (size_t i = 2; i < n.operands.size(); ++i)
      at.push_back(e_.scalar(n.operands[i]));
    ValueId value = e_.scalar(n.operands[1]), offset = e_.linearise(at, type.dims);
    if (n.as<ir::UpdateAttrs>().mode == ir::UpdateMode::Add)
      value = expand(b_, ScalarOp::Add, type.dtype, {b_.load(param, offset, false), value});
    b_.store(param, offset, value);
    e_.memory[n.results[0].index] = param;
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
    for (size_t i = fixed; i < n.operands.size(); ++i) {
      size_t k = i - fixed;
      if (!is_memory(n.operands[i])) {
        scalars.push_back(k);
        operands.push_back(e_.scalar(n.operands[i]));
        types.push_back(b_.type(operands.back()));
        continue;
      }
      uint32_t param = carried_memory(n.operands[i], n.results[k], is_written(body, k + lead, k));
      for (const ir::Region& r : n.regions)
        e_.memory[r.params[k + lead].index] = param;
      e_.memory[n.results[k].index] = param;
    }
    Instr instr = make(counted ? KOp::For : KOp::While, operands);
    auto enter = [&](const ir::Region& r, bool conditional) {
      std::vector<DType> params = types;
      if (counted) params.insert(params.begin(), DType::I64);
      std::vector<ValueId> ids = b_.open(params, conditional);
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
    for (size_t k = 0; k < body.yields.size(); ++k) {
      if (!is_memory(body.yields[k]))
        yields.push_back(e_.scalar(body.yields[k]));
      else if (memory_of(body.yields[k]) != memory_of(body.params[k + lead]))
        unsupported("a loop that exchanges tensors");
    }
    instr.blocks.push_back(b_.close(std::move(yields)));
    std::vector<ValueId> results = b_.append(std::move(instr), types);
    for (size_t s = 0; s < scalars.size(); ++s)
      e_.bound[n.results[scalars[s]].index] = results[s];
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
    std::vector<std::vector<uint32_t>> memories(2);
    for (size_t side = 0; side < 2; ++side) {
      const ir::Region& r = n.regions[side];
      b_.open({}, true);
      nodes(r);
      std::vector<ValueId> yields;
      for (size_t k : scalars)
        yields.push_back(e_.scalar(r.yields[k]));
      for (size_t k = 0; k < n.results.size(); ++k)
        if (is_memory(n.results[k])) memories[side].push_back(memory_of(r.yields[k]));
      instr.blocks.push_back(b_.close(std::move(yields)));
    }
    if (memories[0] != memories[1]) unsupported("a choice between tensors in sequential code");
    std::vector<ValueId> results = b_.append(std::move(instr), types);
    for (size_t s = 0; s < scalars.size(); ++s)
      e_.bound[n.results[scalars[s]].index] = results[s];
    size_t m = 0;
    for (size_t k = 0; k < n.results.size(); ++k)
      if (is_memory(n.results[k])) e_.memory[n.results[k].index] = memories[0][m++];
  }

  Emitter& e_;
  Builder& b_;
  std::unordered_map<uint32_t, uint32_t> output_of_; // yields -> parameters
  ir::FailureFlow flow_;
  std::vector<const ir::Node*> endless_;
  uint32_t failed_ = 0; // a flag for each of them
};

} // namespace

void lower_loop(Emitter& e) { Sequential(e).lower(); }

} // namespace tl::kir
