#include "ir/interpret/values.h"
#include "abi/device.h"
#include <stdexcept>
#include <utility>

namespace tl::ir {
namespace {

[[noreturn]] void fault(const std::string& what) { throw std::logic_error("interpreter: " + what); }

Cell cell_of(
    const Argument& argument) { // no overload of cell(): it would hide that of text, and be what text converts to
  if (auto* text = std::get_if<std::string>(&argument)) return cell(std::string(*text));
  if (auto* t = std::get_if<HostTensor>(&argument)) {
    Cell made = cell(Data::of(HostTensor(*t)));
    made.device = t->device;
    return made;
  }
  const ListArgument& given = *std::get<std::shared_ptr<const ListArgument>>(argument);
  auto list = std::make_shared<List>();
  list->width = given.width;
  for (const Argument& element : given.values)
    list->values.push_back(cell_of(element));
  return cell(std::move(list));
}

// What has no device gets this one; of a list its elements.
void put(Cell& x, int16_t device) {
  if (x.list) {
    x.list = std::make_shared<List>(*x.list);
    for (Cell& element : x.list->values)
      put(element, device);
  } else if (!x.text && !x.data.is_scalar() && x.device == kNoDevice) {
    x.device = device;
  }
}

} // namespace

std::vector<Cell> entry_arguments(const Module& module, const std::vector<Argument>& arguments) {
  const auto& params = module.interface.params;
  if (arguments.size() < params.size()) fault("a wrong number of arguments");
  std::vector<Cell> cells{Cell{}}; // the token
  for (size_t i = 0; i < params.size(); ++i) {
    bool given = !std::holds_alternative<std::monostate>(arguments[i]);
    if (params[i].has_default)
      cells.push_back(cell(Data::of(DType::Bool, Scalar::of(uint8_t{given}))));
    else if (!given)
      fault("an argument without a default is missing");
    if (params[i].kind == ParamInfo::Kind::Str) {
      cells.push_back(cell(given ? std::get<std::string>(arguments[i]) : std::string()));
      continue;
    }
    if (params[i].kind == ParamInfo::Kind::List) {
      cells.push_back(cell_of(arguments[i]));
      continue;
    }
    HostTensor t =
        given ? std::get<HostTensor>(arguments[i]) : HostTensor::make(params[i].dtype, Dims(params[i].rank, 0));
    if (t.dtype != params[i].dtype || t.dims.size() != params[i].rank) fault("an argument has a wrong type");
    for (int64_t size : t.dims)
      cells.push_back(cell(Data::of(size)));
    cells.push_back(cell(Data::of(std::move(t))));
  }
  for (size_t i = params.size(); i < arguments.size(); ++i) { // of a session
    if (auto* t = std::get_if<HostTensor>(&arguments[i]))
      for (int64_t size : t->dims)
        cells.push_back(cell(Data::of(size)));
    cells.push_back(cell_of(arguments[i]));
  }
  return cells;
}

Argument argument(const Cell& value) {
  if (value.text) return *value.text;
  if (!value.list) {
    HostTensor t = value.data.host();
    t.device = value.device;
    return t;
  }
  auto list = std::make_shared<ListArgument>();
  list->width = value.list->width;
  for (const Cell& element : value.list->values)
    list->values.push_back(argument(element));
  return list;
}

// The device of what is computed from these, all of which are on one if on any (passes/devices.h).
int16_t device_in(const Function& f, const std::vector<ValueId>& values, const Frame& frame) {
  for (ValueId id : values)
    if (f[id].type.is_tensor() && !f[id].type.dims.empty() && frame[id.index].device != kNoDevice)
      return frame[id.index].device;
  return kNoDevice;
}

void run_device(const Node& n, Frame& frame, int cpu_devices) {
  auto out = [&](size_t i) -> Cell& { return frame[n.results[i].index]; };
  auto number = [](int64_t value) { return cell(Data::of(value)); };
  switch (n.op) {
  case Op::DeviceCount: out(0) = number(n.as<DeviceCountAttrs>().kind == DeviceKind::Cpu ? cpu_devices : 0); return;
  case Op::DeviceOf: out(0) = number(frame[n.operands[0].index].device); return;
  case Op::ProcessRank: out(0) = number(0); return;
  case Op::WorldSize: out(0) = number(1); return;
  case Op::AllReduce:
  case Op::BroadcastFrom: {
    Cell same = frame[n.operands[0].index];
    out(0) = std::move(same);
    return;
  }
  case Op::DeviceInfo: {
    const Cell d = frame[n.operands[0].index];
    out(0) = cell(processor_name());
    out(1) = number(static_cast<int64_t>(physical_memory()));
    out(2) = number(processor_count());
    out(3) = cell(std::string());
    for (size_t i = 0; i < 4; ++i)
      out(i).poison = d.poison;
    return;
  }
  default: break;
  }
  const Cell d = frame[n.operands[1].index];
  Cell x = frame[n.operands[0].index];
  if (n.op == Op::Place && (x.list ? false : x.device != kNoDevice)) {
    out(0) = std::move(x);
    return;
  }
  x.poison = first(x.poison, d.poison);
  if (!d.poison) {
    auto device = static_cast<int16_t>(d.data.scalar.as<int64_t>());
    if (n.op == Op::Place)
      put(x, device);
    else
      x.device = device;
  }
  out(0) = std::move(x);
}

} // namespace tl::ir
