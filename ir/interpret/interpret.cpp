// Running a module: failures, calls and control.
#include "ir/interpret/interpret.h"
#include "abi/device.h"
#include "ir/graph/op_info.h"
#include "ir/interpret/interpreter.h"
#include "lang/deep_stack.h"
#include <algorithm>
#include <fmt/format.h>
#include <new>
#include <utility>

namespace tl::ir {

constexpr int kMaxCallDepth = 10000;

Outcome Interpreter::run(const std::vector<Argument>& arguments) {
  Outcome outcome;
  try {
    std::vector<Cell> results = run_entry(arguments);
    if (first_failure_) throw Stop{first_failure_, 0};
    for (size_t i = 1; i < results.size(); ++i) {
      if (results[i].poison) throw Stop{results[i].poison, 0};
      outcome.results.push_back(argument(results[i]));
    }
  } catch (const Stop& stop) {
    outcome.exit_code = stop.exit_code;
    if (stop.failure) {
      outcome.error = stop.failure->error;
      outcome.exit_code = stop.failure->error.exit_code;
    }
  }
  return outcome;
}

std::vector<Cell> Interpreter::run_entry(const std::vector<Argument>& arguments) {
  try {
    return call(module_.entry, entry_arguments(module_, arguments), {});
  } catch (const std::bad_alloc&) {
    throw Stop{fail({"OutOfMemory", "there is not enough memory", "", loc_, 3, {}}), 0};
  }
}

Poison Interpreter::fail(RuntimeError error) {
  constexpr size_t most = 20;
  for (size_t i = 0; i < calls_.size() && i < most; ++i)
    error.notes.emplace_back("called from here", calls_[calls_.size() - 1 - i]);
  if (calls_.size() > most) error.notes.emplace_back(fmt::format("and {} more calls", calls_.size() - most), LocId{});
  auto failure = std::make_shared<const Failure>(Failure{std::move(error), next_order_++});
  if (!first_failure_) first_failure_ = failure;
  return failure;
}

Poison Interpreter::fail_at(const ErrorSite& site, const std::string& message) {
  return fail({site.kind, message, site.hint, site.loc, 3, site.notes});
}

std::string Interpreter::filled(std::string text, const std::vector<std::pair<std::string, int64_t>>& holes) {
  for (const auto& [hole, value] : holes)
    for (size_t at = text.find(hole); at != std::string::npos; at = text.find(hole, at))
      text.replace(at, hole.size(), hole[1] == 'd' ? device_name(value) : std::to_string(value));
  return text;
}

void Interpreter::poison_results(const Node& n, Frame& frame, const Poison& poison) {
  for (ValueId id : n.results) {
    frame[id.index] = {};
    frame[id.index].poison = poison;
  }
}

void Interpreter::too_deep(LocId loc) {
  std::string message = fmt::format("calls are nested more than {} deep", kMaxCallDepth);
  throw Stop{fail({"StackOverflow", std::move(message), "does the recursion end?", loc, 3, {}}), 0};
}

std::vector<Cell> Interpreter::call(uint32_t index, std::vector<Cell> arguments, LocId loc) {
  if (depth_ >= kMaxCallDepth) too_deep(loc);
  const Function& f = module_.functions[index];
  if (single_uses_[index].empty()) single_uses_[index] = find_single_uses(f);
  if (f.body.params.size() != arguments.size()) fault("@" + f.name + " gets a wrong number of arguments");
  Frame frame(f.values.size());
  for (size_t i = 0; i < arguments.size(); ++i)
    frame[f.body.params[i].index] = std::move(arguments[i]);
  const std::vector<bool>* single = std::exchange(single_, &single_uses_[index]);
  ++depth_;
  if (loc.index) calls_.push_back(loc);
  std::vector<Cell> results = region(f, f.body, frame);
  if (loc.index) calls_.pop_back();
  --depth_;
  single_ = single;
  return results;
}

std::vector<Cell> Interpreter::region(const Function& f, const Region& r, Frame& frame) {
  if (interrupt_ && interrupt_->load(std::memory_order_relaxed))
    throw Stop{fail({"Interrupted", "interrupted", "", loc_, 130, {}}), 0};
  for (NodeId id : r.nodes)
    node(f, f[id], frame);
  std::vector<Cell> results;
  results.reserve(r.yields.size());
  for (ValueId id : r.yields)
    results.push_back(take(frame, id));
  return results;
}

bool Interpreter::needs(const Node& n, Frame& frame, const Poison& poison) {
  if (!poison) return true;
  if (map_depth_ == 0) throw Stop{poison, 0};
  for (ValueId id : n.results) {
    frame[id.index] = {};
    frame[id.index].poison = poison;
  }
  return false;
}

void Interpreter::run_if(const Function& f, const Node& n, Frame& frame) {
  const Cell& condition = frame[n.operands[0].index];
  if (!needs(n, frame, condition.poison)) return;
  give(frame, n.results, region(f, n.regions[condition.data.truth() ? 0 : 1], frame));
}

void Interpreter::run_for(const Function& f, const Node& n, Frame& frame) {
  Poison poison;
  for (int i = 0; i < 3; ++i)
    poison = first(poison, frame[n.operands[static_cast<size_t>(i)].index].poison);
  if (!needs(n, frame, poison)) return;
  int64_t i = frame[n.operands[0].index].data.i64(), end = frame[n.operands[1].index].data.i64();
  int64_t step = frame[n.operands[2].index].data.i64();
  const Region& body = n.regions[0];
  std::vector<ValueId> carried(body.params.begin() + 1, body.params.end());
  std::vector<Cell> values;
  for (size_t k = 3; k < n.operands.size(); ++k)
    values.push_back(take(frame, n.operands[k]));
  while (step > 0 ? i < end : i > end) {
    frame[body.params[0].index] = cell(Data::of(i));
    give(frame, carried, std::move(values));
    values = region(f, body, frame);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  give(frame, n.results, std::move(values));
}

void Interpreter::run_while(const Function& f, const Node& n, Frame& frame) {
  std::vector<Cell> values;
  for (ValueId id : n.operands)
    values.push_back(take(frame, id));
  for (;;) {
    give(frame, n.regions[0].params, std::vector<Cell>(values));
    Cell condition = region(f, n.regions[0], frame)[0];
    if (!needs(n, frame, condition.poison)) return;
    if (!condition.data.truth()) break;
    for (ValueId id : n.regions[0].params)
      frame[id.index] = {}; // so that the body may write in place
    give(frame, n.regions[1].params, std::move(values));
    values = region(f, n.regions[1], frame);
  }
  give(frame, n.results, std::move(values));
}

void Interpreter::run_map(const Function& f, const Node& n, Frame& frame) {
  Poison poison;
  Dims dims = sizes(f[n.results[0]].type, frame, poison);
  std::vector<Data> results;
  if (!poison) {
    for (ValueId id : n.results)
      results.push_back(Data::make(f[id].type.dtype, dims));
    const Region& body = n.regions[0];
    int64_t count = element_count(dims);
    Dims at(dims.size(), 0);
    ++map_depth_;
    for (int64_t linear = 0; linear < count; ++linear) {
      for (size_t i = 0; i < at.size(); ++i)
        frame[body.params[i].index] = cell(Data::of(at[i]));
      for (NodeId id : body.nodes)
        node(f, f[id], frame);
      for (size_t i = 0; i < results.size(); ++i) {
        const Cell& value = frame[body.yields[i].index];
        poison = first(poison, value.poison);
        if (!value.poison) results[i].set(linear, value.data.scalar);
      }
      for (size_t i = dims.size(); i-- > 0;) {
        if (++at[i] < dims[i]) break;
        at[i] = 0;
      }
    }
    --map_depth_;
  }
  const int16_t device = device_in(f, captures(f, n), frame);
  for (size_t i = 0; i < n.results.size(); ++i) {
    frame[n.results[i].index] = poison ? Cell{{}, nullptr, poison, nullptr} : cell(std::move(results[i]));
    frame[n.results[i].index].device = device;
  }
}

void Interpreter::run_kernel(const Function& f, const Node& n, Frame& frame) {
  give(frame, n.results, region(f, n.regions[0], frame));
}

void Interpreter::run_call(const Node& n, Frame& frame) {
  std::vector<Cell> arguments;
  for (ValueId id : n.operands)
    arguments.push_back(take(frame, id));
  give(frame, n.results, call(n.as<CallAttrs>().function, std::move(arguments), n.loc));
}

Dims Interpreter::sizes(const Type& type, const Frame& frame, Poison& poison) {
  Dims dims;
  for (const Dim& dim : type.dims) {
    if (dim.is_constant()) {
      dims.push_back(dim.constant);
      continue;
    }
    const Cell& size = frame[dim.value.index];
    poison = first(poison, size.poison);
    dims.push_back(size.poison ? 0 : size.data.i64());
  }
  // Of a branch that is not taken and that a transform computes all the same: a failure only if anybody needs it.
  if (!poison && std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 0; })) {
    RuntimeError error{"InternalError", "a size is negative and nothing checked it", "", loc_, 3, {}};
    poison = std::make_shared<const Failure>(Failure{std::move(error), next_order_++});
  }
  return dims;
}

void Interpreter::node(const Function& f, const Node& n, Frame& frame) {
  loc_ = n.loc;
  if (kind_of(n.op) == OpKind::Effect) return effect(f, n, frame);
  switch (n.op) {
  case Op::If: return run_if(f, n, frame);
  case Op::For: return run_for(f, n, frame);
  case Op::While: return run_while(f, n, frame);
  case Op::Map: return run_map(f, n, frame);
  case Op::Kernel: return run_kernel(f, n, frame);
  case Op::DeviceCount:
  case Op::DeviceOf:
  case Op::Transfer:
  case Op::Place:
  case Op::DeviceInfo:
  case Op::ProcessRank:
  case Op::WorldSize:
  case Op::AllReduce:
  case Op::BroadcastFrom: return run_device(n, frame, cpu_devices_);
  case Op::Call: return run_call(n, frame);
  case Op::Guard: return guard(n, frame);
  case Op::Format: return format_node(n, frame);
  case Op::ListMake:
  case Op::ListLength:
  case Op::ListGet:
  case Op::ListSet:
  case Op::ListAppend:
  case Op::ListConcat:
  case Op::ListSlice:
  case Op::ListJoin: return list(f, n, frame);
  case Op::Linalg: return linalg(f, n, frame);
  case Op::Text: return text(f, n, frame);
  default: return compute(f, n, frame);
  }
}

Outcome interpret(const Module& module, const std::vector<Argument>& arguments, const OutputSink& out,
                  const OutputSink& err, const std::atomic<bool>* interrupt, int cpu_devices) {
  Outcome outcome;
  on_deep_stack([&] { outcome = Interpreter(module, out, err, interrupt, cpu_devices).run(arguments); });
  return outcome;
}

} // namespace tl::ir
