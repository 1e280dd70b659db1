// Devices: where tensors are, copies from one memory to another, what there is.
#include "vm/interpreter.h"

namespace tl {

int16_t Interpreter::device_of(const Instruction& i, const OutputDesc& desc) {
  for (uint32_t k : desc.device_of)
    if (int16_t device = in(i, k).device; device != kNoDevice) return device;
  return kNoDevice;
}

Value Interpreter::on_device(const Value& x, int64_t device) {
  Value same = x;
  same.device = static_cast<int16_t>(device);
  if (device < 0 || device == x.device || !x.node || !x.node->data) return same; // without memory: it has failed
  const int to = devices_.index(device);
  if (to < 0) malformed("a tensor goes to a device that is not there");
  if (memory_of(x) == to) return same;
  Value result = copied(x, to);
  result.device = same.device;
  return result;
}

bool Interpreter::is_readable(const Value& x, int device) const {
  if (devices_.cards() == 0 || x.kind != Value::Kind::Tensor || !x.node->data) return true;
  const int home = memory_of(x);
  return home == device || (!engine_.is_card(home) && !engine_.is_card(device));
}

Value Interpreter::readable(const Value& x, int device) {
  if (is_readable(x, device)) return x;
  const int64_t bytes = x.dims.count().value_or(0) * size_of(x.dtype);
  for (const Replica* copy = x.node->replicas; copy; copy = copy->next) {
    if (copy->device != device || x.offset < copy->offset || x.offset + bytes > copy->offset + copy->bytes) continue;
    Value there =
        Value::of_node(engine_.nodes, copy->node, Value::Kind::Tensor, x.dtype, x.dims, x.offset - copy->offset);
    there.device = x.device;
    return there;
  }
  Value there = copied(x, device);
  there.device = x.device;
  engine_.nodes.add_replica(*x.node, {there.node, device, x.offset, bytes, nullptr});
  return there;
}

void Interpreter::bring_home(const Value& x) {
  if (devices_.cards() == 0) return;
  readable(x, 0);
  if (!x.list) return;
  for (size_t k = 0; k < x.list->values.size(); ++k)
    if (x.list->values.has_handle(k)) bring_home(x.list->values.get(k));
}

Value Interpreter::copied(const Value& x, int to) {
  const int from = memory_of(x);
  Operation* op = operation();
  op->kind = Operation::Kind::Copy;
  op->device = static_cast<int16_t>(to);
  op->from_device = static_cast<int16_t>(from);
  engine_.add_input(*op, x.node, true);
  Value result = make_output(*op, x.dtype, x.dims);
  const int64_t bytes = x.dims.count().value_or(0) * size_of(x.dtype);
  const int card = engine_.is_card(to) ? to : from;
  const bool crosses = engine_.is_card(to) != engine_.is_card(from);
  // A number has a slot of its own, which kernels may read as a whole.
  const uint64_t needed = std::max<uint64_t>(static_cast<uint64_t>(bytes), sizeof(Scalar));
  if (engine_.allocate(*op, *result.node, to, needed, [this] { sweep(); })) {
    op->copies.push_back({x.node->data + x.offset, result.node->data, bytes, result.node->block.moment});
    stats_.bytes += 2 * static_cast<uint64_t>(bytes);
    op->bytes = 2 * static_cast<uint64_t>(bytes);
    if (crosses && devices_.card(card)->takes_brief_copy(bytes))
      op->card = static_cast<int16_t>(card);
    else
      op->lane = engine_.copy_lane(from, to);
  } else {
    op->failure = no_memory(*op, type_text(x.dtype, x.dims.view()), static_cast<uint64_t>(bytes));
    op->kind = Operation::Kind::Poison;
  }
  engine_.submit(op);
  return result;
}

Value Interpreter::placed(const Value& x, int64_t device) {
  if (x.kind == Value::Kind::Tensor) return x.device != kNoDevice || x.dims.view().empty() ? x : on_device(x, device);
  if (x.kind != Value::Kind::List || !x.list) return x;
  auto* list = new List;
  list->width = x.list->width;
  Value result = Value::of_list(list);
  result.failure = x.failure;
  for (size_t k = 0; k < x.list->values.size(); ++k)
    list->values.push_back(placed(x.list->values.get(k), device));
  return result;
}

void Interpreter::device(const Instruction& i) {
  auto number = [](int64_t n) { return Value::of_scalar(DType::I64, Scalar::of(n)); };
  auto chosen = [&](size_t k) -> int { // a device that is there
    const Value& d = host_scalar(i, k);
    if (d.failure) stop(d.failure);
    const int device = devices_.index(d.scalar.as<int64_t>());
    if (device < 0) malformed("a device that is not there");
    return device;
  };
  std::vector<Value> values;
  switch (i.host_op) {
  case HostOp::DeviceCount:
    values.push_back(number(i.index == static_cast<uint32_t>(DeviceKind::Cpu) ? devices_.cpus() : devices_.cards()));
    break;
  case HostOp::DeviceOf: values.push_back(number(in(i, 0).device)); break;
  case HostOp::Transfer:
  case HostOp::Place: {
    const Value& d = host_scalar(i, 1);
    if (d.failure) {
      values.push_back(in(i, 0).kind == Value::Kind::Tensor && in(i, 0).device != kNoDevice &&
                               i.host_op == HostOp::Place
                           ? in(i, 0)
                           : poisoned(i.outputs.at(0), d.failure));
      break;
    }
    auto device = d.scalar.as<int64_t>();
    values.push_back(i.host_op == HostOp::Place ? placed(in(i, 0), device) : on_device(in(i, 0), device));
    break;
  }
  case HostOp::DeviceInfo: {
    const int device = chosen(0);
    const Card* card = devices_.card(device);
    values.push_back(text_value(card ? card->facts().name : processor_name()));
    values.push_back(number(static_cast<int64_t>(card ? card->facts().memory : devices_.memory(device).limit())));
    values.push_back(number(card ? card->facts().multiprocessors : devices_.cores(device, engine_.threads())));
    values.push_back(text_value(card ? card->facts().compute : ""));
    break;
  }
  case HostOp::MemoryStats: {
    const Pool& memory = devices_.memory(chosen(0));
    for (uint64_t bytes : {memory.in_use(), memory.peak(), memory.cached(), memory.limit()})
      values.push_back(number(static_cast<int64_t>(bytes)));
    break;
  }
  case HostOp::ReleaseCache: devices_.memory(chosen(0)).trim(); break;
  default: malformed("no operation on devices");
  }
  give_results(i, std::move(values));
}

} // namespace tl
