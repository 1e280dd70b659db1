// Graph -> bytecode. Each value has a slot; a loop's parameter, its carried value and its result share one. Tokens have
// none: nodes are in an order that respects them, and bytecode runs in order.
#include "passes/schedule/schedule.h"
#include "abi/linalg_op.h"
#include "ir/graph/op_info.h"
#include "passes/devices.h"
#include "passes/edit.h"
#include "passes/fuse/views.h"
#include "passes/schedule/function_scheduler.h"
#include "passes/schedule/placement.h"
#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

namespace tl {
using namespace ir;

constexpr uint32_t kNoSlot = UINT32_MAX;

FunctionScheduler::FunctionScheduler(const Module& module, uint32_t index, ProgramTables& tables)
    : module_(module), f_(module.functions[index]), index_(index), tables_(tables), dataflow_(dataflow_scalars(f_)) {
  slots_.assign(f_.values.size(), kNoSlot);
  devices_ = has_devices(module);
}

BcFunction FunctionScheduler::run() {
  out_.name = f_.name;
  for (ValueId param : f_.body.params)
    if (!is_token(param)) out_.params.push_back(define(param));
  nodes(f_.body);
  Instruction result = make(BcOp::Return, {});
  for (ValueId value : f_.body.yields)
    if (!is_token(value)) result.in.push_back({slot(value)});
  add(std::move(result));
  out_.slot_count = static_cast<uint32_t>(handles_.size());
  mark_lifetimes(out_, handles_, kept_);
  return std::move(out_);
}

void FunctionScheduler::fail(const Node& node, const std::string& what) const {
  throw std::logic_error(fmt::format("schedule: in {}: {}: {}", f_.name, name_of(node.op), what));
}

Slot FunctionScheduler::new_slot(bool handle) {
  handles_.push_back(handle);
  return {static_cast<uint32_t>(handles_.size() - 1)};
}

Slot FunctionScheduler::define(ValueId value) {
  Slot result = new_slot(is_handle(value));
  slots_[value.index] = result.index;
  return result;
}

void FunctionScheduler::share(ValueId value, Slot slot) {
  slots_[value.index] = slot.index;
  // One of the values in it may be dataflow where another is not.
  if (is_handle(value)) handles_[slot.index] = true;
}

Slot FunctionScheduler::slot(ValueId value) const {
  if (slots_[value.index] == kNoSlot)
    throw std::logic_error(fmt::format("schedule: in {}: value {} has no slot", f_.name, value.index));
  return {slots_[value.index]};
}

SizeRef FunctionScheduler::size(const Dim& dim) const {
  SizeRef ref;
  ref.is_slot = !dim.is_constant();
  if (ref.is_slot)
    ref.slot = slot(dim.value);
  else
    ref.constant = dim.constant;
  return ref;
}

OutputDesc FunctionScheduler::describe(const Type& type) const {
  OutputDesc desc;
  desc.dtype = type.dtype;
  if (type.kind == Type::Kind::Str) desc.kind = OutputDesc::Kind::Str;
  if (type.kind == Type::Kind::List) desc.kind = OutputDesc::Kind::List;
  for (const Dim& dim : type.dims)
    desc.dims.push_back(size(dim));
  return desc;
}

Instruction FunctionScheduler::make(BcOp op, LocId loc) const {
  Instruction instruction{};
  instruction.op = op;
  instruction.loc = loc;
  return instruction;
}

size_t FunctionScheduler::add(Instruction instruction) {
  out_.code.push_back(std::move(instruction));
  return out_.code.size() - 1;
}

void FunctionScheduler::move(Slot to, Slot from, LocId loc) {
  if (to == from) return;
  Instruction instruction = make(BcOp::Move, loc);
  instruction.in.push_back({from});
  instruction.out.push_back(to);
  add(std::move(instruction));
}

void FunctionScheduler::moves(std::vector<std::pair<Slot, Slot>> pairs, LocId loc) {
  std::erase_if(pairs, [](const auto& pair) { return pair.first == pair.second; });
  std::vector<uint32_t> readers(handles_.size() + pairs.size());
  for (auto& [to, from] : pairs)
    ++readers[from.index];
  while (!pairs.empty()) {
    size_t before = pairs.size();
    for (size_t i = 0; i < pairs.size();) {
      auto [to, from] = pairs[i];
      if (readers[to.index]) {
        ++i;
        continue;
      }
      move(to, from, loc);
      --readers[from.index];
      pairs[i] = pairs.back();
      pairs.pop_back();
    }
    if (pairs.size() < before) continue;
    // Only cycles are left: one target steps aside.
    Slot aside = pairs[0].first, spare = new_slot(handles_[aside.index]);
    move(spare, aside, loc);
    for (auto& [to, from] : pairs)
      if (from == aside) from = spare;
    readers[spare.index] = readers[aside.index];
    readers[aside.index] = 0;
  }
}

Slot FunctionScheduler::constant(DType type, Scalar value, LocId loc) {
  Instruction instruction = make(BcOp::ConstScalar, loc);
  instruction.dtype = type;
  instruction.imm = value;
  instruction.out.push_back(new_slot(false));
  return out_.code[add(std::move(instruction))].out[0];
}

Slot FunctionScheduler::scalar(ScalarOp op, DType type, Slot a, Slot b, LocId loc, Slot to) {
  Instruction instruction = make(BcOp::Scalar, loc);
  instruction.scalar = op;
  instruction.dtype = type;
  instruction.in = {{a}, {b}};
  instruction.out.push_back(to);
  add(std::move(instruction));
  return to;
}

FunctionScheduler::Number FunctionScheduler::number(ValueId value) const {
  if (auto n = integer_of(f_, value)) return {true, *n, {}};
  return {false, 0, slot(value)};
}

FunctionScheduler::Number FunctionScheduler::number(const Dim& dim) const {
  return dim.is_constant() ? Number{true, dim.constant, {}} : number(dim.value);
}

FunctionScheduler::Number FunctionScheduler::combine(ScalarOp op, const Number& a, const Number& b, LocId loc) {
  bool adds = op == ScalarOp::Add;
  if (a.known && b.known) return {true, adds ? a.value + b.value : a.value * b.value, {}};
  if (a.known && a.value == (adds ? 0 : 1)) return b;
  if (b.known && b.value == (adds ? 0 : 1)) return a;
  if (!adds && ((a.known && a.value == 0) || (b.known && b.value == 0))) return {};
  return {false, 0, scalar(op, DType::I64, in_slot(a, loc), in_slot(b, loc), loc, new_slot(false))};
}

void FunctionScheduler::nodes(const Region& region) {
  for (NodeId id : region.nodes)
    node(id, f_[id]);
}

Instruction FunctionScheduler::plain(BcOp op, const Node& node) {
  Instruction instruction = make(op, node.loc);
  for (ValueId value : node.operands)
    if (!is_token(value)) instruction.in.push_back({slot(value)});
  for (ValueId value : node.results)
    if (!is_token(value)) instruction.out.push_back(define(value));
  return instruction;
}

void FunctionScheduler::described_host(HostOp op, const Node& node, uint32_t index, std::vector<int64_t> ints) {
  Instruction instruction = plain(BcOp::Host, node);
  instruction.host_op = op;
  instruction.index = index;
  instruction.ints = std::move(ints);
  if (op == HostOp::ListJoin) instruction.site = static_cast<int32_t>(index);
  for (ValueId value : node.results)
    if (!is_token(value)) instruction.outputs.push_back(describe(f_[value].type));
  instruction.dtype = f_[node.results[0]].type.dtype;
  add(std::move(instruction));
}

void FunctionScheduler::host(HostOp op, const Node& node, uint32_t index) {
  Instruction instruction = plain(BcOp::Host, node);
  instruction.host_op = op;
  instruction.index = index;
  add(std::move(instruction));
}

void FunctionScheduler::list_operation(const Node& node) {
  switch (node.op) {
  case Op::ListMake: {
    const auto& a = node.as<ListMakeAttrs>();
    return described_host(HostOp::ListMake, node, 0, {a.width, a.count});
  }
  case Op::ListLength: return described_host(HostOp::ListLength, node);
  case Op::ListGet: {
    std::vector<int64_t> sizes;
    for (const LeafAxis& size : node.as<ListGetAttrs>().sizes)
      sizes.insert(sizes.end(), {size.leaf, size.axis});
    return described_host(HostOp::ListGet, node, 0, std::move(sizes));
  }
  case Op::ListSet: return described_host(HostOp::ListSet, node);
  case Op::ListAppend: return described_host(HostOp::ListAppend, node, 0, {node.as<ListAppendAttrs>().width});
  case Op::ListConcat: return described_host(HostOp::ListConcat, node);
  case Op::ListSlice: {
    const auto& given = node.as<ListSliceAttrs>();
    return described_host(HostOp::ListSlice, node, 0, {given.first, given.last, given.step});
  }
  default: { // ListJoin
    const auto& a = node.as<ListJoinAttrs>();
    return described_host(HostOp::ListJoin, node, a.site, {a.axis, a.stack});
  }
  }
}

void FunctionScheduler::node(NodeId id, const Node& node) {
  switch (node.op) {
  case Op::Constant: {
    Instruction i = plain(BcOp::ConstScalar, node);
    i.dtype = f_[node.results[0]].type.dtype;
    i.imm = node.as<ConstantAttrs>().literal;
    add(std::move(i));
    return;
  }
  case Op::ConstTensor: {
    Instruction i = plain(BcOp::ConstTensor, node);
    i.index = node.as<ConstTensorAttrs>().tensor;
    add(std::move(i));
    return;
  }
  case Op::ConstStr: {
    Instruction i = plain(BcOp::ConstStr, node);
    i.index = tables_.string(node.as<ConstStrAttrs>().text);
    add(std::move(i));
    return;
  }
  case Op::Elementwise:
  case Op::Convert: return arithmetic(node);
  case Op::Reshape:
  case Op::Slice:
  case Op::Index: return view(node);
  case Op::If: return branch(node);
  case Op::For: return for_loop(node);
  case Op::While: return while_loop(node);
  case Op::Call: {
    Instruction i = plain(BcOp::Call, node);
    i.index = node.as<CallAttrs>().function;
    add(std::move(i));
    return;
  }
  case Op::Guard: {
    for (size_t k = 1; k < node.operands.size(); ++k)
      if (is_handle(node.operands[k])) fail(node, "a condition that the host does not know");
    Instruction i = plain(BcOp::Guard, node);
    i.index = node.as<SiteAttrs>().site;
    add(std::move(i));
    return;
  }
  case Op::Await: {
    Instruction i = plain(BcOp::Await, node);
    i.dtype = f_[node.results[0]].type.dtype;
    add(std::move(i));
    return;
  }
  case Op::Linalg: return linalg(node);
  case Op::Sort: return sort(node);
  case Op::Kernel: return launch(id, node);
  default: return host_node(node);
  }
}

void FunctionScheduler::host_node(const Node& node) {
  switch (node.op) {
  case Op::Format: {
    Instruction i = plain(BcOp::Host, node);
    i.host_op = HostOp::Format;
    i.index = tables_.format(node.as<FormatAttrs>().format);
    add(std::move(i));
    return;
  }
  case Op::Print: return host(HostOp::Print, node, node.as<PrintAttrs>().to_stderr);
  case Op::Assert: {
    Instruction i = plain(BcOp::Host, node);
    i.host_op = HostOp::Assert;
    i.site = static_cast<int32_t>(node.as<AssertAttrs>().site);
    i.index = tables_.format(node.as<AssertAttrs>().format);
    add(std::move(i));
    return;
  }
  case Op::Load: {
    Instruction i = plain(BcOp::Host, node);
    i.host_op = HostOp::Load;
    i.dtype = f_[node.results[1]].type.dtype;
    i.imm = {node.as<LoadAttrs>().options};
    i.outputs.push_back(describe(f_[node.results[1]].type));
    add(std::move(i));
    return;
  }
  case Op::ListMake:
  case Op::ListLength:
  case Op::ListGet:
  case Op::ListSet:
  case Op::ListAppend:
  case Op::ListConcat:
  case Op::ListSlice:
  case Op::ListJoin: return list_operation(node);
  case Op::Text: {
    const auto& a = node.as<TextAttrs>();
    return described_host(HostOp::Text, node, static_cast<uint32_t>(a.op), a.bounds);
  }
  case Op::ReadLine: return host(HostOp::ReadLine, node);
  case Op::Save: return host(HostOp::Save, node);
  case Op::Exists: return host(HostOp::Exists, node);
  case Op::ReadText: return host(HostOp::ReadText, node, node.as<ReadTextAttrs>().names);
  case Op::WriteText: return host(HostOp::WriteText, node);
  case Op::Wait: return host(HostOp::Wait, node);
  case Op::WaitAll: return host(HostOp::WaitAll, node);
  case Op::Time: return host(HostOp::Time, node);
  case Op::Interrupted: return host(HostOp::Interrupted, node);
  case Op::Exit: return host(HostOp::Exit, node);
  case Op::Debug: {
    Instruction i = make(BcOp::Host, node.loc);
    i.host_op = HostOp::Debug;
    if (const std::string& name = node.as<DebugAttrs>().name; !name.empty()) i.index = 1 + tables_.format({{name}, {}});
    i.in.push_back({slot(node.operands[1])});
    add(std::move(i));
    return move(define(node.results[1]), slot(node.operands[1]), node.loc);
  }
  case Op::Plot: {
    const auto& a = node.as<PlotAttrs>();
    return described_host(HostOp::Plot, node, static_cast<uint32_t>(a.kind), {a.has_path, a.has_x});
  }
  case Op::Stopwatch:
    return described_host(HostOp::Stopwatch, node, static_cast<uint32_t>(node.as<StopwatchAttrs>().op));
  case Op::Progress: return host(HostOp::Progress, node, node.as<ProgressAttrs>().last);
  case Op::DeviceCount:
    return described_host(HostOp::DeviceCount, node, static_cast<uint32_t>(node.as<DeviceCountAttrs>().kind));
  case Op::DeviceOf: return described_host(HostOp::DeviceOf, node);
  case Op::Transfer: return described_host(HostOp::Transfer, node);
  case Op::Place: return described_host(HostOp::Place, node);
  case Op::DeviceInfo: return described_host(HostOp::DeviceInfo, node);
  case Op::MemoryStats: return described_host(HostOp::MemoryStats, node);
  case Op::ReleaseCache: return described_host(HostOp::ReleaseCache, node);
  case Op::ProcessRank: return described_host(HostOp::ProcessRank, node);
  case Op::WorldSize: return described_host(HostOp::WorldSize, node);
  case Op::AllReduce: return described_host(HostOp::AllReduce, node);
  case Op::BroadcastFrom: return described_host(HostOp::BroadcastFrom, node);
  default: fail(node, "is outside of a kernel");
  }
}

void FunctionScheduler::arithmetic(const Node& node) {
  bool convert = node.op == Op::Convert;
  if (is_handle(node.results[0])) fail(node, "is outside of a kernel");
  Instruction i = plain(convert ? BcOp::Convert : BcOp::Scalar, node);
  DType operand = f_[node.operands[node.is(ScalarOp::Where) ? 1 : 0]].type.dtype;
  if (!convert) i.scalar = node.as<ElementwiseAttrs>().op;
  i.dtype = convert ? f_[node.results[0]].type.dtype : operand;
  i.dtype2 = operand;
  add(std::move(i));
}

void FunctionScheduler::view(const Node& node) {
  auto contiguous = contiguous_view(f_, node);
  if (!contiguous) fail(node, "is outside of a kernel");
  const std::vector<Dim>& dims = f_[node.operands[0]].type.dims;
  Number offset;
  for (const ContiguousView::Term& term : contiguous->offset) {
    if (is_handle(node.operands[term.operand])) fail(node, "an offset that the host does not know");
    Number at = number(node.operands[term.operand]);
    if (at.known && at.value == 0) continue;
    Number step{true, 1, {}};
    for (size_t axis = term.axis + 1; axis < dims.size(); ++axis)
      step = combine(ScalarOp::Mul, step, number(dims[axis]), node.loc);
    offset = combine(ScalarOp::Add, offset, combine(ScalarOp::Mul, at, step, node.loc), node.loc);
  }
  Instruction i = make(BcOp::View, node.loc);
  i.in.push_back({slot(node.operands[0])});
  if (!(offset.known && offset.value == 0)) i.in.push_back({in_slot(offset, node.loc)});
  i.outputs.push_back(describe(f_[node.results[0]].type));
  i.out.push_back(define(node.results[0]));
  add(std::move(i));
}

// Batch, m, n, k and the site, then the operands.
void FunctionScheduler::linalg(const Node& node) {
  const std::vector<Dim>& dims = f_[node.operands[0]].type.dims;
  const size_t leading = dims.size() - 2;
  Number batch{true, 1, {}};
  for (size_t axis = 0; axis < leading; ++axis)
    batch = combine(ScalarOp::Mul, batch, number(dims[axis]), node.loc);
  Number columns;
  if (node.as<LinalgAttrs>().op == LinalgOp::RealFftTransposed)
    columns = number(f_[node.results[0]].type.dims[leading]);
  else if (node.operands.size() > 1)
    columns = number(f_[node.operands[1]].type.dims.back());
  std::vector<Operand> numbers;
  for (const Number& n : {batch, number(dims[leading]), number(dims[leading + 1]), columns})
    numbers.push_back({in_slot(n, node.loc)});
  numbers.push_back({constant(DType::I64, Scalar::of(int64_t{node.as<LinalgAttrs>().site}), node.loc)});
  Instruction i = plain(BcOp::Linalg, node);
  i.in.insert(i.in.begin(), numbers.begin(), numbers.end());
  i.index = static_cast<uint32_t>(node.as<LinalgAttrs>().op);
  i.dtype = f_[node.operands[0]].type.dtype;
  for (ValueId value : node.results) {
    i.outputs.push_back(describe(f_[value].type));
    for (uint32_t k = 0; k < node.operands.size() && devices_; ++k)
      i.outputs.back().device_of.push_back(static_cast<uint32_t>(numbers.size()) + k);
  }
  add(std::move(i));
}

// Rows, n, k and the element type, then x.
void FunctionScheduler::sort(const Node& node) {
  const Type& x = f_[node.operands[0]].type;
  Number rows{true, 1, {}};
  for (size_t axis = 0; axis + 1 < x.dims.size(); ++axis)
    rows = combine(ScalarOp::Mul, rows, number(x.dims[axis]), node.loc);
  std::vector<Operand> numbers;
  for (const Number& n : {rows, number(x.dims.back()), number(f_[node.results[0]].type.dims.back())})
    numbers.push_back({in_slot(n, node.loc)});
  numbers.push_back({constant(DType::I64, Scalar::of(static_cast<int64_t>(x.dtype)), node.loc)});
  Instruction i = plain(BcOp::Sort, node);
  i.in.insert(i.in.begin(), numbers.begin(), numbers.end());
  i.index = static_cast<uint32_t>(node.as<SortAttrs>().op);
  i.dtype = x.dtype;
  i.outputs.push_back(describe(f_[node.results[0]].type));
  if (devices_) i.outputs.back().device_of.push_back(static_cast<uint32_t>(numbers.size()));
  add(std::move(i));
}

Scheduled schedule(const Module& module) {
  ProgramTables tables;
  for (uint32_t i = 0; i < module.functions.size(); ++i)
    tables.program.functions.push_back(FunctionScheduler(module, i, tables).run());
  Program& program = tables.program;
  program.interface = module.interface;
  program.entry = module.entry;
  program.kernel_count = static_cast<uint32_t>(tables.kernels.size());
  program.tensors = module.tensors;
  program.sites = module.sites;
  program.locations = module.locations;
  return {std::move(program), std::move(tables.kernels)};
}

} // namespace tl
