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
  if (device >= devices_.count()) malformed("a tensor goes to a device that is not there");
  const int from = devices_.device_of(x.node->block.pool), to = static_cast<int>(device);
  if (from == to) return same;
  Operation* op = operation();
  op->kind = Operation::Kind::Copy;
  op->device = static_cast<int16_t>(to);
  op->lane = engine_.copy_lane(from, to);
  engine_.add_input(*op, x.node, true);
  Value result = make_output(*op, x.dtype, x.dims);
  result.device = same.device;
  const int64_t bytes = x.dims.count().value_or(0) * size_of(x.dtype);
  result.node->block = engine_.allocate(to, static_cast<uint64_t>(bytes), [this] { sweep(); });
  result.node->data = result.node->block.data;
  if (result.node->block) {
    op->copies.push_back({x.node->data + x.offset, result.node->data, bytes});
    stats_.bytes += 2 * static_cast<uint64_t>(bytes);
    op->bytes = 2 * static_cast<uint64_t>(bytes);
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
  for (const Value& element : x.list->values)
    list->values.push_back(placed(element, device));
  return result;
}

void Interpreter::device(const Instruction& i) {
  auto number = [](int64_t n) { return Value::of_scalar(DType::I64, Scalar::of(n)); };
  auto chosen = [&](size_t k) -> int { // a device that is there
    const Value& d = host_scalar(i, k);
    if (d.failure) stop(d.failure);
    auto device = d.scalar.as<int64_t>();
    if (device < 0 || device >= devices_.count()) malformed("a device that is not there");
    return static_cast<int>(device);
  };
  std::vector<Value> values;
  switch (i.host_op) {
  case HostOp::DeviceCount:
    values.push_back(number(i.index == static_cast<uint32_t>(DeviceKind::Cpu) ? devices_.count() : 0));
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
    int device = chosen(0);
    values.push_back(text_value(processor_name()));
    values.push_back(number(static_cast<int64_t>(devices_.memory(device).limit())));
    values.push_back(number(devices_.cores(device, engine_.threads())));
    values.push_back(text_value(""));
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
