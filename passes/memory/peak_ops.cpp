// What operations do with memory, as vm/issue.cpp and vm/file_ops.cpp have it.
#include "passes/memory/peak_bound.h"
#include "passes/memory/peak_machine.h"
#include "vm/linalg/linalg.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::peak {
namespace {

constexpr size_t kMostMoments = 16; // of which a peak is the largest
constexpr int64_t kMostBytes = int64_t{1} << 50;

Size ceil_div(SizeAtoms& atoms, const Size& a, const Size& b) {
  if (b.is_constant() && b.constant() > 0) return atoms.floor_div(a + Size(b.constant() - 1), b);
  return Size(0) - atoms.floor_div(Size(0) - a, b);
}

Size without_negative(Size size) {
  std::erase_if(size.terms, [](const Size::Term& term) { return term.coefficient < 0; });
  return size;
}

} // namespace

// Is a at least b whatever the sizes are? None of them is negative.
bool Machine::covers(const Size& a, const Size& b) {
  Size difference = a - b;
  if (std::all_of(difference.terms.begin(), difference.terms.end(), [](const auto& t) { return t.coefficient > 0; }))
    return true;
  // A proof takes time, and what has many terms has none.
  constexpr size_t kMostTerms = 6;
  constexpr int kMostProofs = 3000;
  if (difference.is_constant() || difference.terms.size() > kMostTerms || ++proofs_ > kMostProofs) return false;
  return result_.atoms.proves_not_negative(difference);
}

// Adds to a set whose largest element counts.
void Machine::add_largest(std::vector<Size>& set, const Size& size) {
  for (const Size& other : set)
    if (covers(other, size)) return;
  std::erase_if(set, [&](const Size& other) { return covers(size, other); });
  set.push_back(size);
}

Size Machine::bytes_of(DType type, const std::vector<Size>& dims) {
  Size bytes = size_of(type);
  auto count = static_cast<int64_t>(size_of(type)); // of those that are known
  bool fits = true;
  for (const Size& dim : dims) {
    bytes = bytes * dim;
    if (dim.is_constant() && dim.constant() > 0) fits = fits && !__builtin_mul_overflow(count, dim.constant(), &count);
  }
  if (fits && count < kMostBytes) return bytes;
  missing("a tensor of more bytes than there are addresses");
  return {};
}

std::vector<Size> Machine::sizes(const OutputDesc& desc) {
  std::vector<Size> dims;
  for (const SizeRef& size : desc.dims)
    dims.push_back(size.is_slot ? state_.slot(size.slot).size : Size(size.constant));
  return dims;
}

uint32_t Machine::allocate(size_t device, DType type, std::vector<Size> dims, Size bytes) {
  Block block;
  block.counted = block.rounded = true;
  block.device = device;
  block.bytes = std::move(bytes);
  if (block.bytes.is_constant())
    block.exact = query_.block_bytes(static_cast<uint64_t>(std::max<int64_t>(0, block.bytes.constant())));
  block.dtype = type;
  block.dims = std::move(dims);
  block.loc = loc_;
  return state_.new_block(std::move(block));
}

// What is in use now, with a launch's workspace.
void Machine::note_peak(size_t number, const Size& workspace, std::optional<uint64_t> workspace_exact) {
  const size_t threads = scratches(number);
  State::Memory& memory = state_.memories[number];
  PeakMemory::Device& device = devices_[number];
  if (device.exact && memory.exact && workspace_exact) {
    const uint64_t now = memory.live_exact + *workspace_exact + uint64_t{threads} * memory.scratch_exact;
    device.exact = std::max(*device.exact, now);
    memory.reached = memory.reached || (number < wanted_.size() && wanted_[number] == now);
  } else {
    device.exact.reset();
  }
  std::vector<Size> totals;
  auto add_total = [&](const Size& total) {
    for (Size& most : at_last_turns(total))
      totals.push_back(std::move(most));
  };
  for (const Size& scratch : memory.scratch)
    add_total(memory.live + workspace + scratch * Size(static_cast<int64_t>(threads)));
  if (memory.scratch.empty()) add_total(memory.live + workspace);
  for (const Size& total : totals) {
    auto& moments = device.moments;
    if (std::any_of(moments.begin(), moments.end(), [&](const auto& moment) { return covers(moment.bytes, total); }))
      continue;
    std::erase_if(moments, [&](const auto& moment) { return covers(total, moment.bytes); });
    PeakMemory::Moment moment{total, loc_, {}};
    copied_ += state_.blocks.size();
    std::set<uint32_t> gone(state_.free_blocks.begin(), state_.free_blocks.end());
    for (uint32_t k = 0; k < state_.blocks.size(); ++k) {
      const Block& block = state_.blocks[k];
      if (gone.contains(k) || !block.counted || block.device != number || block.bytes.is(0)) continue;
      std::string what = block.what.empty() ? std::string(name_of(block.dtype)) : block.what;
      if (block.many) what = "elements of a list, each " + what;
      std::vector<Size> dims;
      for (const Size& dim : block.what.empty() ? block.dims : std::vector<Size>())
        dims.push_back(at_last_turns(dim).front());
      moment.parts.push_back({at_last_turns(block.bytes).front(), std::move(what), std::move(dims), block.loc});
    }
    if (!workspace.is(0)) moment.parts.push_back({at_last_turns(workspace).front(), "a workspace", {}, loc_});
    Size of_workers = total;
    for (const auto& part : moment.parts)
      of_workers = of_workers - part.bytes;
    if (!of_workers.is(0))
      moment.parts.push_back({of_workers, fmt::format("workspaces of {} threads", threads), {}, {}});
    std::stable_sort(moment.parts.begin(), moment.parts.end(),
                     [&](const auto& a, const auto& b) { return a.bytes != b.bytes && covers(a.bytes, b.bytes); });
    moments.push_back(std::move(moment));
    if (moments.size() <= kMostMoments) continue;
    // A bound for all of them: of each product of sizes the most that any has.
    std::map<std::vector<AtomId>, int64_t> most;
    for (const auto& each : moments)
      for (const auto& term : each.bytes.terms)
        most[term.atoms] = std::max(most[term.atoms], term.coefficient);
    PeakMemory::Moment bound = moments.front();
    bound.bytes = {};
    for (const auto& [atoms, coefficient] : most)
      if (coefficient > 0) bound.bytes.terms.push_back({atoms, coefficient});
    moments.assign(1, std::move(bound));
    device.at_most = true;
  }
}

Size Machine::evaluate(const SizeFormula& formula, const Instruction& i, size_t device) {
  using Op = SizeFormula::Op;
  constexpr size_t kMostLength = 10; // those of products have conditions for each way to cut one up
  std::vector<Size> stack;
  for (const SizeFormula::Step& step : formula.steps) {
    if (!stack.empty() && length_of(result_.atoms, stack.back()) > kMostLength) {
      devices_[device].at_most = true;
      return Bounds(result_.atoms).above(formula, [&](size_t argument) { return in(i, argument).size; });
    }
    if (step.op == Op::Const) {
      stack.emplace_back(step.value);
      continue;
    }
    if (step.op == Op::Arg) {
      stack.push_back(in(i, static_cast<size_t>(step.value)).size);
      continue;
    }
    Size b = stack.back();
    stack.pop_back();
    Size& a = stack.back();
    switch (step.op) {
    case Op::Add: a = a + b; break;
    case Op::Sub: a = a - b; break;
    case Op::Mul: a = a * b; break;
    case Op::CeilDiv: a = ceil_div(result_.atoms, a, b); break;
    case Op::FloorDiv: a = result_.atoms.floor_div(a, b); break;
    case Op::Min: // a switch that a size turns on counts as on
      a = b.is_constant() && !a.is_constant() ? b : result_.atoms.min(a, b);
      break;
    case Op::Max: a = result_.atoms.max(a, b); break;
    case Op::Const:
    case Op::Arg: break;
    }
  }
  return stack.empty() ? Size() : above(stack.back());
}

// A bound that reads better: what is rounded up to a multiple counts as if nearly all of one more was needed.
Size Machine::above(const Size& size) {
  Size result;
  for (const Size::Term& term : size.terms) {
    Size product(term.coefficient);
    for (AtomId id : term.atoms) {
      const SizeAtom atom = result_.atoms[id];
      if (atom.kind == AtomKind::Positive && term.coefficient > 0)
        product = product * without_negative(atom.a);
      else
        product = product * Size::of(id);
    }
    result = result + product;
  }
  Size whole;
  for (const Size::Term& term : result.terms) {
    Size product(1);
    int64_t coefficient = term.coefficient;
    for (AtomId id : term.atoms) {
      const SizeAtom atom = result_.atoms[id];
      const bool multiple = atom.kind == AtomKind::FloorDiv && atom.b.is_constant() && atom.b.constant() > 0 &&
                            coefficient > 0 && coefficient % atom.b.constant() == 0;
      if (multiple) coefficient /= atom.b.constant();
      product = product * (multiple ? atom.a : Size::of(id));
    }
    whole = whole + product * Size(coefficient);
  }
  return whole == size ? whole : above(whole);
}

void Machine::launch(const Instruction& i, const PeakQuery::Workspace& workspace, std::optional<Size> local) {
  std::vector<Value> made;
  std::vector<bool> taken(i.in.size());
  std::vector<bool> in_place(i.outputs.size());
  std::vector<int16_t> placed(i.outputs.size(), kNoDevice);
  int16_t runs_on = kNoDevice; // as the VM decides: of the first output that has a device
  for (size_t k = 0; k < i.outputs.size(); ++k) {
    for (uint32_t from : i.outputs[k].device_of)
      if (placed[k] == kNoDevice) placed[k] = in(i, from).device;
    if (runs_on == kNoDevice) runs_on = placed[k];
  }
  const size_t device = runs_on == kNoDevice ? 0 : static_cast<size_t>(runs_on);
  for (size_t k = 0; k < i.outputs.size(); ++k) {
    const OutputDesc& desc = i.outputs[k];
    if (desc.mode == AliasMode::None || desc.alias >= i.in.size() || !i.in[desc.alias].last_use) continue;
    const Value& from = in(i, desc.alias);
    if (from.kind != Value::Kind::Tensor || from.object == kNone || taken[desc.alias]) continue;
    const Block& block = state_.blocks[from.object];
    bool alone = block.counted && block.rounded && !block.many && block.handles == 1 && block.device == device;
    for (size_t other = 0; other < i.in.size(); ++other)
      if (other != desc.alias && in(i, other).kind == Value::Kind::Tensor && in(i, other).object == from.object)
        alone = false;
    if (alone) taken[desc.alias] = in_place[k] = true;
  }
  for (size_t k = 0; k < i.outputs.size(); ++k) {
    const OutputDesc& desc = i.outputs[k];
    std::vector<Size> dims = sizes(desc);
    Size bytes = bytes_of(desc.dtype, dims);
    uint32_t block;
    if (in_place[k]) {
      Block old = state_.blocks[in(i, desc.alias).object];
      state_.stop_counting(state_.blocks[in(i, desc.alias).object]);
      block = allocate(device, desc.dtype, dims, old.bytes);
      Block& now = state_.blocks[block];
      uint64_t& live = state_.memories[device].live_exact;
      live = live - now.exact + old.exact;
      now.exact = old.exact;
    } else {
      block = allocate(device, desc.dtype, dims, std::move(bytes));
    }
    made.push_back(Value::tensor(desc.dtype, std::move(dims), block));
    if (!desc.dims.empty()) made.back().device = placed[k];
    state_.retain(made.back());
  }
  Size shared = evaluate(workspace.shared, i, device);
  std::optional<uint64_t> shared_exact;
  if (shared.is_constant())
    shared_exact = shared.constant() > 0 ? query_.block_bytes(static_cast<uint64_t>(shared.constant())) : 0;
  Size of_worker = local ? *local : evaluate(workspace.local, i, device);
  if (!of_worker.is(0)) add_largest(state_.memories[device].scratch, of_worker);
  uint64_t& scratch_exact = state_.memories[device].scratch_exact;
  if (!of_worker.is_constant())
    devices_[device].exact.reset();
  else if (of_worker.constant() > 0 && static_cast<uint64_t>(of_worker.constant()) > scratch_exact)
    scratch_exact = query_.block_bytes(static_cast<uint64_t>(of_worker.constant()));
  note_peak(device, shared, shared_exact);
  give_away(i);
  for (size_t k = 0; k < made.size(); ++k) {
    if (k < i.out.size()) state_.set(i.out[k], made[k]);
    state_.release(made[k]);
  }
}

void Machine::linalg(const Instruction& i) {
  int64_t numbers[4];
  bool known = true;
  for (size_t k = 0; k < 4; ++k) {
    std::optional<Scalar> n = in(i, k).scalar();
    known = known && n;
    numbers[k] = n ? n->as<int64_t>() : 0;
  }
  const auto op = static_cast<LinalgOp>(i.index);
  if (known)
    return launch(i, {}, linalg_workspace(op, i.dtype, {numbers[0], numbers[1], numbers[2], numbers[3]}).value_or(0));
  launch(i, {{}, linalg_workspace_formula(op, i.dtype)}, std::nullopt);
}

void Machine::view(const Instruction& i) {
  Value value = in(i, 0);
  if (value.kind != Value::Kind::Tensor) value = Value::tensor(value.dtype, {}, kNone); // a scalar that becomes one
  state_.retain(value);
  value.dtype = i.outputs.at(0).dtype;
  value.dims = sizes(i.outputs[0]);
  give_away(i);
  state_.set(i.out[0], value);
  state_.release(value);
}

// ---- run-time entries ----------------------------------------------------------------------------------------------

void Machine::define(const Instruction& i) {
  std::vector<Value> values(i.out.size());
  for (size_t k = 0; k < i.out.size(); ++k) {
    const OutputDesc* desc = k < i.outputs.size() ? &i.outputs[k] : nullptr;
    if (!desc || (desc->kind == OutputDesc::Kind::Tensor && desc->dims.empty())) {
      values[k] = found(desc ? desc->dtype : DType::I64, "a number that is found while it runs", static_cast<int>(k));
    } else if (desc->kind == OutputDesc::Kind::Str) {
      values[k] = Value::text();
    } else if (desc->kind == OutputDesc::Kind::List) {
      values[k] = Value::list(kNone);
    } else { // its sizes may be among the results themselves
      std::vector<Size> dims;
      for (size_t axis = 0; axis < desc->dims.size(); ++axis) {
        const SizeRef& size = desc->dims[axis];
        auto own = std::find(i.out.begin(), i.out.end(), size.slot);
        if (!size.is_slot)
          dims.emplace_back(size.constant);
        else if (own != i.out.end())
          dims.push_back(
              found(DType::I64, "a number that is found while it runs", static_cast<int>(own - i.out.begin())).size);
        else
          dims.push_back(state_.slot(size.slot).size);
      }
      values[k] = Value::tensor(desc->dtype, std::move(dims), kNone);
    }
  }
  give_away(i);
  for (size_t k = 0; k < i.out.size(); ++k)
    state_.set(i.out[k], std::move(values[k]));
}

void Machine::host(const Instruction& i) {
  switch (i.host_op) {
  case HostOp::Load: return load(i);
  case HostOp::ListMake:
  case HostOp::ListLength:
  case HostOp::ListSet:
  case HostOp::ListAppend:
  case HostOp::ListConcat:
  case HostOp::ListSlice: return list(i);
  case HostOp::ListGet: return list_get(i);
  case HostOp::ListJoin: return list_join(i);
  case HostOp::Wait: {
    std::vector<Value> values;
    for (size_t k = 0; k < i.out.size(); ++k) {
      values.push_back(in(i, k));
      state_.retain(values.back());
    }
    give_away(i);
    for (size_t k = 0; k < i.out.size(); ++k) {
      state_.set(i.out[k], values[k]);
      state_.release(values[k]);
    }
    return;
  }
  case HostOp::Interrupted: return state_.set(i.out[0], Value::of(DType::Bool, Scalar::of(uint8_t{0})));
  case HostOp::Exists: return state_.set(i.out[0], Value::unknown(DType::Bool));
  case HostOp::Time: return state_.set(i.out[0], Value::unknown(DType::F64));
  case HostOp::Format:
  case HostOp::ReadText:
  case HostOp::ReadLine: give_away(i); return state_.set(i.out.at(0), Value::text());
  case HostOp::DeviceCount:
  case HostOp::DeviceOf:
  case HostOp::Transfer:
  case HostOp::Place:
  case HostOp::ReleaseCache:
  case HostOp::AllReduce:
  case HostOp::BroadcastFrom: return device(i);
  default: return define(i);
  }
}

// A handle on the value in that memory, as one reference for the caller.
Value Machine::on_device(const Value& value, int16_t device, bool unless_placed) {
  Value same = value;
  if (value.kind == Value::Kind::List && value.object != kNone && unless_placed &&
      state_.lists[value.object].many.empty()) {
    uint32_t made = state_.new_list(state_.lists[value.object].width);
    const std::vector<Value> elements = state_.lists[value.object].values;
    for (const Value& element : elements) {
      Value placed = on_device(element, device, true);
      state_.lists[made].values.push_back(placed);
    }
    same = Value::list(made);
  } else if (value.kind == Value::Kind::Tensor &&
             !(unless_placed && (value.device != kNoDevice || value.dims.empty()))) {
    const size_t from = value.object == kNone ? 0 : state_.blocks[value.object].device;
    if (device >= 0 && static_cast<size_t>(device) < devices_.size() && static_cast<size_t>(device) != from)
      same.object = allocate(static_cast<size_t>(device), value.dtype, value.dims, bytes_of(value.dtype, value.dims));
    same.device = device;
  }
  state_.retain(same);
  return same;
}

void Machine::device(const Instruction& i) {
  Value made;
  switch (i.host_op) {
  case HostOp::ReleaseCache: return give_away(i);
  case HostOp::DeviceCount:
    made =
        Value::of(Size(i.index == static_cast<uint32_t>(DeviceKind::Cpu) ? static_cast<int64_t>(devices_.size()) : 0));
    break;
  case HostOp::DeviceOf: made = Value::of(Size(in(i, 0).device)); break;
  case HostOp::Transfer:
  case HostOp::Place: {
    std::optional<Scalar> number = in(i, 1).scalar();
    if (!number && devices_.size() > 1) missing("what is on a device that depends on data");
    made = on_device(in(i, 0), static_cast<int16_t>(number ? number->as<int64_t>() : 0), i.host_op == HostOp::Place);
    for (size_t d = 0; d < devices_.size(); ++d)
      note_peak(d, {}, 0);
    give_away(i);
    state_.set(i.out[0], made);
    return state_.release(made);
  }
  default: made = in(i, 0); break; // of one process
  }
  state_.retain(made);
  give_away(i);
  state_.set(i.out[0], made);
  state_.release(made);
}

// As if the file was read; one that can be mapped takes nothing.
void Machine::load(const Instruction& i) {
  const OutputDesc& desc = i.outputs.at(0);
  give_away(i);
  if (desc.dims.empty()) return state_.set(i.out[0], found(i.dtype, "a number that is loaded"));
  std::vector<Size> dims;
  for (size_t axis = 0; axis < desc.dims.size(); ++axis)
    dims.push_back(found(DType::I64, fmt::format("axis {} of what is loaded", axis), static_cast<int>(axis)).size);
  Size bytes = bytes_of(i.dtype, dims);
  Value made = Value::tensor(i.dtype, dims, allocate(0, i.dtype, dims, std::move(bytes)));
  state_.set(i.out[0], std::move(made));
  note_peak(0, {}, 0);
  for (size_t k = 0; k < dims.size() && k + 1 < i.out.size(); ++k)
    state_.set(i.out[k + 1], Value::of(dims[k]));
}

} // namespace tl::peak
