// Control flow of the symbolic execution.
#include "passes/memory/peak_machine.h"
#include "passes/memory/peak_bound.h"
#include "vm/sort/sort.h"
#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

namespace tl::peak {
namespace {

constexpr uint64_t kPatience = 100'000; // steps after which loops whose turns can be counted count as open
constexpr uint64_t kMostSteps = 400'000;
constexpr uint64_t kMostEffort =
    3'000'000;                 // copied_ and SizeAtoms::effort(): where there are many blocks and long formulas
constexpr int kExactTurns = 2; // of an open loop: the first ones may differ from the others
constexpr int kMostTurns = 8;  // after which what changes is growing
constexpr int kExactWays = 6;  // that meet at an instruction, before they are made one
constexpr int kMostWays = 40;
constexpr size_t kMostFrames = 200; // of calls whose depth is not known

} // namespace

Machine::Machine(const Program& program, const PeakQuery& query, std::map<AtomId, Size> equal)
    : program_(program), query_(query) {
  const size_t count = std::max<size_t>(1, query.threads.size());
  for (size_t d = 0; d < count; ++d)
    devices_.push_back({device_name(static_cast<int64_t>(d)), {}, false, 0});
  state_.memories.resize(count);
  state_.same = std::move(equal);
}

Size Machine::atom(const std::string& name, AtomKind kind) {
  auto [at, fresh] = named_.try_emplace(name);
  if (fresh) at->second = result_.atoms.add({kind, name, {}, true, {}, {}});
  return Size::of(at->second);
}

Size Machine::normal(const Size& size) {
  if (state_.same.empty() || size.is_constant()) return size;
  return result_.atoms.substitute(size, state_.same);
}

void Machine::stands_for(AtomId name, const Size& was, const Size& is) {
  for (const Size* size : {&was, &is})
    if (*size != Size::of(name)) stands_for_[name].insert(*size);
}

Value Machine::found(DType type, const std::string& what, int part) {
  if (type != DType::I64) return Value::unknown(type);
  auto [at, fresh] = found_.try_emplace({instruction_, part, 0});
  if (fresh) {
    at->second = result_.atoms.add({AtomKind::Fresh, "", {}, true, {}, {}});
    explained_[at->second] = {"", what, loc_};
  }
  return Value::of(normal(Size::of(at->second)));
}

void Machine::missing(const std::string& what) {
  for (auto& device : devices_)
    device.exact.reset();
  if (said_.insert({what, loc_.index}).second) result_.unknown.push_back({"", what, loc_});
}

// Parameters as the VM puts them there (vm.cpp, enter_arguments).
void Machine::enter() {
  Frame& frame = state_.frames.emplace_back();
  frame.function = program_.entry;
  const BcFunction& function = program_.functions.at(program_.entry);
  frame.slots.resize(function.slot_count);
  const bool concrete = !query_.values.empty();
  std::vector<Value> values;
  auto size_of_name = [&](const std::string& name) {
    auto value = query_.values.find(name);
    return value == query_.values.end() ? normal(atom(name)) : Size(value->second.as<int64_t>());
  };
  const auto& params = program_.interface.params;
  for (size_t k = 0; k < params.size(); ++k) {
    const ParamInfo& param = params[k];
    auto value = query_.values.find(param.name);
    bool is_value = param.kind == ParamInfo::Kind::Scalar && value != query_.values.end();
    if (param.has_default) values.push_back(Value::of(DType::Bool, Scalar::of(uint8_t{!concrete || is_value})));
    if (param.kind == ParamInfo::Kind::Str) {
      values.push_back(Value::text());
    } else if (param.kind == ParamInfo::Kind::List) {
      values.push_back(Value::list(kNone));
      missing(fmt::format("what the list `{}{}{}` holds", param.name, param.leaf.empty() ? "" : ".", param.leaf));
    } else if (param.kind == ParamInfo::Kind::Scalar) {
      if (is_value)
        values.push_back(Value::of(param.dtype, value->second));
      else if (param.dtype == DType::I64 && !(param.has_default && concrete))
        values.push_back(Value::of(atom(param.name, AtomKind::Value)));
      else
        values.push_back(param.has_default && concrete ? Value::of(param.dtype, Scalar{})
                                                       : Value::unknown(param.dtype));
    } else {
      Block block;
      block.counted = true;
      block.dtype = param.dtype;
      block.what = fmt::format("argument `{}{}{}`", param.name, param.leaf.empty() ? "" : ".", param.leaf);
      for (uint32_t axis = 0; axis < param.rank; ++axis) {
        block.dims.push_back(size_of_name(query_.axis_names.at(k).at(axis)));
        values.push_back(Value::of(block.dims.back()));
      }
      block.bytes = bytes_of(param.dtype, block.dims);
      if (block.bytes.is_constant()) block.exact = static_cast<uint64_t>(block.bytes.constant());
      std::vector<Size> dims = block.dims;
      values.push_back(Value::tensor(param.dtype, std::move(dims), state_.new_block(std::move(block))));
    }
  }
  if (values.size() != function.params.size()) throw std::logic_error("peak memory: the entry takes other parameters");
  for (size_t k = 0; k < values.size(); ++k)
    state_.set(function.params[k], std::move(values[k]));
}

void Machine::follow() {
  Instruction start{};
  instruction_ = &start;
  enter();
  note_peak(0, {}, 0);
  while (true) {
    bool ended = !step();
    if (++steps_ > kMostSteps || copied_ + result_.atoms.effort() > kMostEffort) {
      missing("there are too many ways through the program to follow them all; this is one of those that were left");
      break;
    }
    if (!ended) continue;
    if (others_.empty()) break;
    state_ = std::move(others_.back());
    others_.pop_back();
  }
}

std::vector<bool> Machine::always_reach(const std::vector<std::optional<uint64_t>>& peaks) {
  wanted_ = peaks;
  always_.assign(peaks.size(), true);
  follow();
  for (size_t d = 0; d < always_.size(); ++d)
    always_[d] = always_[d] && devices_[d].exact; // else not all ways were followed to their ends
  return always_;
}

// The program ends here, on this way.
void Machine::conclude() {
  for (size_t d = 0; d < always_.size(); ++d)
    always_[d] = always_[d] && (!wanted_[d] || state_.memories[d].reached);
}

PeakMemory Machine::run() {
  follow();
  for (const auto& [turn, count] : turns_)
    stands_for_[turn].insert(count);
  for (auto& device : devices_)
    Bounds(result_.atoms, stands_for_).shorten(device);
  // Names for what was found, as far as the formulas have it.
  std::vector<AtomId> used;
  for (const auto& device : devices_)
    for (const auto& moment : device.moments)
      result_.atoms.collect(moment.bytes, used);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  result_.devices = std::move(devices_);
  SizeAtoms renamed; // atoms are immutable: the same once more, under their names
  int number = 0;
  for (auto k = static_cast<uint32_t>(renamed.size()); k < result_.atoms.size(); ++k) { // it has those of all
    SizeAtom a = result_.atoms[AtomId{k}];
    auto why = explained_.find(AtomId{k});
    if (why != explained_.end() && std::binary_search(used.begin(), used.end(), AtomId{k})) {
      do
        a.name = fmt::format("k{}", ++number);
      while (named_.contains(a.name));
      PeakMemory::Unknown unknown = why->second;
      unknown.name = a.name;
      result_.unknown.push_back(std::move(unknown));
    }
    renamed.add(std::move(a));
  }
  result_.atoms = std::move(renamed);
  return std::move(result_);
}

// ---- control -------------------------------------------------------------------------------------------------------

bool Machine::step() {
  Frame& frame = state_.top();
  const BcFunction& function = program_.functions.at(frame.function);
  if (frame.at >= function.code.size()) throw std::logic_error("peak memory: a function ends without return");
  const size_t at = frame.at++;
  const Instruction& i = function.code[at];
  instruction_ = &i;
  if (i.loc.index) loc_ = i.loc;
  switch (i.op) {
  case BcOp::ConstScalar: state_.set(i.out[0], Value::of(i.dtype, i.imm)); break;
  case BcOp::ConstTensor: {
    std::vector<Size> dims;
    for (int64_t d : program_.tensors.at(i.index).dims)
      dims.emplace_back(d);
    state_.set(i.out[0], Value::tensor(program_.tensors[i.index].dtype, std::move(dims), kNone));
    break;
  }
  case BcOp::ConstStr: state_.set(i.out[0], Value::text()); break;
  case BcOp::Move: {
    Value value = in(i, 0);
    state_.retain(value);
    give_away(i);
    state_.set(i.out[0], value);
    state_.release(value);
    break;
  }
  case BcOp::Scalar:
  case BcOp::Convert: scalar(i); break;
  case BcOp::Guard: {
    std::optional<Scalar> holds = in(i, 1).scalar();
    if (holds && !holds->as<uint8_t>()) return conclude(), false; // the program fails here
    guard(i);
    break;
  }
  case BcOp::Await: {
    Value value = in(i, 0);
    if (!i.loc.index && value.kind == Value::Kind::Tensor && value.object != kNone)
      if (LocId loc = state_.blocks[value.object].loc; loc.index) loc_ = loc; // where it was computed
    if (!value.is_scalar()) value = found(value.dtype, "a number that is computed from data");
    give_away(i);
    state_.set(i.out[0], std::move(value));
    break;
  }
  case BcOp::View: view(i); break;
  case BcOp::Launch: launch(i, query_.workspaces.at(i.index), std::nullopt); break;
  case BcOp::Linalg: linalg(i); break;
  case BcOp::Sort: {
    const CompiledKernel& kernel = sort_kernel(static_cast<SortOp>(i.index), i.dtype);
    launch(i, {kernel.shared_bytes, kernel.local_bytes}, std::nullopt);
    break;
  }
  case BcOp::Host:
    if (i.host_op == HostOp::Exit) return conclude(), false;
    host(i);
    break;
  case BcOp::Jump:
    frame.at = i.target;
    if (i.target <= at && !turn(at)) return false;
    leave_loops(state_, i.target);
    return arrive();
  case BcOp::JumpIfNot: return test(i, at) && arrive();
  case BcOp::Call: return call(i);
  case BcOp::Return:
    if (state_.frames.size() == 1) return conclude(), false;
    leave_loops(state_, std::nullopt);
    give_back();
    break;
  case BcOp::Drop:
    for (const auto& operand : i.in)
      state_.release(state_.slot(operand.slot));
    break;
  }
  return true;
}

void Machine::give_away(const Instruction& i) {
  for (const auto& operand : i.in)
    if (operand.last_use) state_.release(state_.slot(operand.slot));
}

bool Machine::test(const Instruction& i, size_t at) {
  std::optional<Scalar> condition = in(i, 0).scalar();
  if (!condition)
    if (auto loop = loop_left(state_.top().function, at, i.target);
        loop && !turn_together(i, at, loop->first, loop->second))
      return false;
  give_away(i);
  if (condition) {
    if (!condition->as<uint8_t>()) {
      state_.top().at = i.target;
      leave_loops(state_, i.target);
    }
    return true;
  }
  for (Turns& loop : state_.top().loops) // this leaves it, or does not
    if (!loop.open && loop.head <= at && at <= loop.end && i.target > loop.end) loop.open = true, loop.count = 1;
  forked_ = true;
  for (const Frame& frame : state_.frames)
    steps_ += frame.slots.size() / 16; // what a copy costs
  State other = state_;
  other.top().at = i.target;
  leave_loops(other, i.target);
  copied_ += other.frames.size() + other.blocks.size();
  others_.push_back(std::move(other));
  return true;
}

// Back at the head of a loop (state_ is there). False: what comes now was seen, or grows without an end.
bool Machine::turn(size_t from) {
  Frame& frame = state_.top();
  const auto head = static_cast<uint32_t>(frame.at), end = static_cast<uint32_t>(from);
  std::erase_if(frame.loops, [&](const Turns& inner) { return inner.head > head && inner.head <= end; });
  auto loop = std::find_if(frame.loops.begin(), frame.loops.end(), [&](const Turns& l) { return l.head == head; });
  if (loop == frame.loops.end()) loop = frame.loops.insert(loop, Turns{head, end, 0, false, nullptr, nullptr});
  if (!loop->open && steps_ >= kPatience) loop->open = true, loop->count = 0;
  ++loop->count;
  if (!loop->open) return true; // its turns can be counted out
  clear_dead();
  if (loop->cycle && loop->cycle->turn.valid()) return true; // its test says how it goes on
  bool alike = true;
  if (loop->count > kExactTurns && loop->before)
    alike = widen(*loop->before, state_, names_at(head, "a number that changes from turn to turn of this loop"));
  if (loop->count > kMostTurns) {
    if (!alike) missing(kGrows);
    return false;
  }
  loop->before = snapshot();
  return true;
}

// At a target of jumps: goes on unless another way was here in the same state. Where many ways meet, what differs
// between them is given up, so that they become one.
bool Machine::arrive() {
  if (!forked_) return true;
  clear_dead();
  std::string now = fingerprint(state_);
  steps_ += now.size() / 256; // what it costs
  if (!seen_.insert(std::move(now)).second) return false;
  Arrivals& here = arrivals_[place()];
  if (++here.count > kMostWays) {
    missing("too many ways of the program meet here to follow them all");
    return false;
  }
  if (here.count < kExactWays) return true;
  if (here.last && widen(*here.last, state_, names_at(state_.top().at, "a number that differs between ways to here")) &&
      !seen_.insert(fingerprint(state_)).second)
    return false;
  here.last = snapshot();
  return true;
}

// Where the program is: calls, and turns of loops that are counted out.
std::string Machine::place() const {
  std::string key;
  for (const Frame& frame : state_.frames) {
    key += fmt::format("{}:{}", frame.function, frame.at);
    for (const Turns& loop : frame.loops)
      if (!loop.open)
        key += fmt::format(" {}*{}", loop.head, loop.count);
      else if (loop.cycle)
        key += fmt::format(" {}@{}", loop.head, loop.cycle->turn.index);
    key += '/';
  }
  return key;
}

std::shared_ptr<const State> Machine::snapshot() const {
  auto copy = std::make_shared<State>(state_);
  for (Frame& frame : copy->frames)
    frame.loops.clear();
  return copy;
}

// Names for numbers that are given up at an instruction of the function that runs.
Widen Machine::names_at(size_t at, const char* what) {
  const void* key = &program_.functions[state_.top().function].code[at];
  return [this, key, what](size_t depth, uint32_t slot, int axis, const Size& was, const Size& is) {
    auto [found_at, fresh] =
        found_.try_emplace({key, static_cast<int>(slot) * 128 + axis + 1, static_cast<int>(depth)});
    if (fresh) {
      found_at->second = result_.atoms.add({AtomKind::Fresh, "", {}, true, {}, {}});
      explained_[found_at->second] = {"", what, loc_};
    }
    stands_for(found_at->second, was, is);
    return Size::of(found_at->second);
  };
}

bool Machine::call(const Instruction& i) {
  const BcFunction& callee = program_.functions.at(i.index);
  if (state_.frames.size() > (forked_ ? kMostFrames : 10'000)) {
    missing("how deep these calls go is not known");
    return false;
  }
  Frame frame;
  frame.function = i.index;
  frame.slots.resize(callee.slot_count);
  frame.call = i.loc;
  for (size_t k = 0; k < i.in.size(); ++k) {
    state_.retain(in(i, k));
    frame.slots.at(callee.params.at(k).index) = in(i, k);
  }
  give_away(i);
  state_.frames.push_back(std::move(frame));
  return true;
}

void Machine::give_back() {
  std::vector<Value> values;
  for (const auto& operand : current().in) {
    values.push_back(state_.slot(operand.slot));
    state_.retain(values.back());
  }
  for (Value& value : state_.top().slots)
    state_.release(value);
  state_.frames.pop_back();
  const Instruction& caller = program_.functions[state_.top().function].code[state_.top().at - 1];
  for (size_t k = 0; k < values.size(); ++k) {
    if (k < caller.out.size()) state_.set(caller.out[k], values[k]);
    state_.release(values[k]);
  }
}

// By instruction: the scalars that are read later; empty where nothing jumps to.
const std::vector<std::vector<bool>>& Machine::live_at_targets(uint32_t index) {
  auto [at, fresh] = live_.try_emplace(index);
  if (!fresh) return at->second;
  const BcFunction& f = program_.functions[index];
  std::vector<std::vector<bool>>& targets = at->second;
  targets.resize(f.code.size() + 1);
  for (const Instruction& i : f.code)
    if (i.op == BcOp::Jump || i.op == BcOp::JumpIfNot) targets[i.target].assign(f.slot_count, false);
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<bool> live(f.slot_count);
    for (size_t at_instr = f.code.size(); at_instr-- > 0;) {
      const Instruction& i = f.code[at_instr];
      if (i.op == BcOp::Jump || i.op == BcOp::Return) live.assign(f.slot_count, false);
      if (i.op == BcOp::Jump || i.op == BcOp::JumpIfNot)
        for (size_t k = 0; k < live.size(); ++k)
          live[k] = live[k] || targets[i.target][k];
      for (Slot slot : i.out)
        live[slot.index] = false;
      if (i.op != BcOp::Drop)
        for (const auto& operand : i.in)
          live[operand.slot.index] = true;
      for (const OutputDesc& desc : i.outputs)
        for (const SizeRef& size : desc.dims)
          if (size.is_slot && std::find(i.out.begin(), i.out.end(), size.slot) == i.out.end())
            live[size.slot.index] = true;
      if (!targets[at_instr].empty() && targets[at_instr] != live) {
        for (size_t k = 0; k < live.size(); ++k)
          live[k] = live[k] || targets[at_instr][k];
        changed = changed || targets[at_instr] != live;
        targets[at_instr] = live;
      }
    }
  }
  return targets;
}

void Machine::clear_dead() {
  Frame& frame = state_.top();
  const auto& live = live_at_targets(frame.function)[frame.at];
  if (live.empty()) return;
  for (size_t k = 0; k < frame.slots.size(); ++k)
    if (frame.slots[k].is_scalar() && !live[k]) frame.slots[k] = {};
}

void Machine::clear_dead(size_t head, size_t at) {
  Frame& frame = state_.top();
  const std::vector<bool>& live = live_at_targets(frame.function)[head];
  if (live.empty()) return;
  std::vector<bool> kept = live;
  const auto& code = program_.functions[frame.function].code;
  for (size_t k = head; k < at; ++k)
    for (Slot slot : code[k].out)
      kept[slot.index] = true;
  for (size_t k = 0; k < frame.slots.size(); ++k)
    if (frame.slots[k].is_scalar() && !kept[k]) frame.slots[k] = {};
}

} // namespace tl::peak

namespace tl {

// Twice: what checks at the start show about the parameters' sizes holds from the first operation on.
PeakMemory peak_memory(const Program& program, const PeakQuery& query) {
  peak::Machine first(program, query, {});
  first.run();
  peak::Machine second(program, query, first.equal_parameters());
  PeakMemory peak = second.run();
  std::vector<std::optional<uint64_t>> exact;
  for (const PeakMemory::Device& device : peak.devices)
    exact.push_back(device.exact);
  if (second.has_forked() && std::any_of(exact.begin(), exact.end(), [](const auto& bytes) { return bytes; })) {
    const std::vector<bool> always = peak::Machine(program, query, first.equal_parameters()).always_reach(exact);
    for (size_t d = 0; d < always.size(); ++d)
      peak.devices[d].always = always[d];
  }
  return peak;
}

} // namespace tl
