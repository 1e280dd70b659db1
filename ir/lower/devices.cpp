// Devices: which there are, copies to another one, and where new tensors go.
//
// A tensor that is made from no other belongs to no device, and goes along with those that it meets, so that functions
// work wherever their arguments are. At the top level of a script, in main and inside `on d { }` such tensors are put
// on a device where they are made.
#include "abi/device.h"
#include "ir/lower/function.h"
#include <algorithm>

namespace tl::ir {
namespace {

bool has_tensor(const tl::Type& type) {
  if (type.is_tensor()) return type.rank() > 0;
  return std::any_of(type.elements.begin(), type.elements.end(), has_tensor);
}

bool has_tensor(const Type& type) {
  if (type.is_tensor()) return !type.dims.empty();
  return type.is_list() &&
         std::any_of(type.elements.begin(), type.elements.end(), [](auto& t) { return has_tensor(t); });
}

} // namespace

ValueId FunctionLowerer::device_of(ValueId x, LocId at) {
  return here().one(Op::DeviceOf, {x}, Type::scalar(DType::I64), {}, at);
}

ValueId FunctionLowerer::put(ValueId x, ValueId device, LocId at) {
  return here().one(Op::Place, {x, device}, Type(type(x)), {}, at);
}

Leaves FunctionLowerer::placed(const typed::Expr& e, Leaves value) {
  using namespace typed;
  auto takes_tensors = [&] {
    return std::any_of(e.operands.begin(), e.operands.end(), [](auto& operand) { return has_tensor(operand->type); });
  };
  const bool makes_new = e.is<LiteralExpr, TensorLiteralExpr, ComprehensionExpr, ScalarExpr, TextExpr>() ||
                         (e.is<CallExpr, DeriveExpr, BuiltinExpr>() && !takes_tensors());
  if (!makes_new) return value;
  for (ValueId& leaf : value)
    if (has_tensor(type(leaf))) leaf = put(leaf, placing_, loc(e.span));
  return value;
}

void FunctionLowerer::place_parameters(Leaves& leaves) {
  for (ValueId& leaf : leaves)
    if (has_tensor(type(leaf))) leaf = put(leaf, placing_, {});
}

// A device that somebody else names, as the command line does.
ValueId FunctionLowerer::existing(ValueId given, Span span) {
  LocId at = loc(span);
  ValueId number = convert(given, DType::I64, at);
  auto among = [&](DeviceKind kind) {
    ValueId first = i64(kind == DeviceKind::Gpu ? kFirstGpu : 0);
    ValueId count = here().one(Op::DeviceCount, {}, Type::scalar(DType::I64), DeviceCountAttrs{kind}, at);
    ValueId end = scalar(ScalarOp::Add, {first, count}, at);
    return scalar(ScalarOp::And, {scalar(ScalarOp::Le, {first, number}, at), scalar(ScalarOp::Lt, {number, end}, at)},
                  at);
  };
  ValueId fits = scalar(ScalarOp::Or, {among(DeviceKind::Cpu), among(DeviceKind::Gpu)}, at);
  uint32_t s = site("NoSuchDevice", "there is no device {d0}", span, "`tl devices` lists what there is");
  return guard(given, fits, s, {number}, span);
}

Leaves FunctionLowerer::device_builtin(const typed::Expr& e, const Leaves& operands) {
  LocId at = loc(e.span);
  const Type i64_type = Type::scalar(DType::I64);
  auto count = [&](DeviceKind kind) { return here().one(Op::DeviceCount, {}, i64_type, DeviceCountAttrs{kind}, at); };
  auto one_of = [&](DeviceKind kind) -> ValueId {
    bool is_gpu = kind == DeviceKind::Gpu;
    ValueId number = operands.at(0);
    const Node* made_by = f_[number].producer.valid() ? &f_[f_[number].producer] : nullptr;
    bool known = made_by && made_by->op == Op::Constant;
    int64_t value = known ? made_by->as<ConstantAttrs>().literal.as<int64_t>() : 0;
    if (known && value == 0 && !is_gpu) return device(0); // always there
    ValueId there = count(kind);
    ValueId fits = scalar(ScalarOp::And,
                          {scalar(ScalarOp::Le, {i64(0), number}, at), scalar(ScalarOp::Lt, {number, there}, at)}, at);
    ValueId made = known ? device(value + (is_gpu ? kFirstGpu : 0))
                         : convert(scalar(ScalarOp::Add, {number, i64(is_gpu ? kFirstGpu : 0)}, at), DType::Device, at);
    uint32_t s = is_gpu ? site("NoSuchDevice", "there is no device gpu({0})", e.span, "`devices()` lists what there is")
                        : site("NoSuchDevice", "there is no device cpu({0}): this run has {1} of them", e.span,
                               "`--cpu-devices N` gives a program N CPU devices");
    return guard(made, fits, s, {number, there}, e.span);
  };
  switch (e.as<typed::BuiltinExpr>().builtin) {
  case Builtin::Cpu: return {one_of(DeviceKind::Cpu)};
  case Builtin::Gpu: return {one_of(DeviceKind::Gpu)};
  case Builtin::DeviceCount:
    return {count(e.attrs<typed::DeviceCountAttrs>().of_gpus ? DeviceKind::Gpu : DeviceKind::Cpu)};
  case Builtin::To:
    return {here().one(Op::Transfer, {operands.at(0), operands.at(1)}, Type(type(operands[0])), {}, at)};
  case Builtin::DeviceOf: { // what belongs to none is on the default device
    ValueId number = device_of(operands.at(0), at);
    ValueId none = convert(scalar(ScalarOp::Lt, {number, i64(0)}, at), DType::I64, at); // where it is -1
    ValueId more = scalar(ScalarOp::Mul, {none, i64(shared_.default_device + 1)}, at);
    return {convert(scalar(ScalarOp::Add, {number, more}, at), DType::Device, at)};
  }
  case Builtin::DeviceFacts: {
    NodeId node = here().node(Op::DeviceInfo, {operands.at(0)}, {Type::str(), i64_type, i64_type, Type::str()}, {}, at);
    return f_[node].results;
  }
  case Builtin::MemoryFacts:
    return effect(Op::MemoryStats, {ValueId{}, operands.at(0)}, {Type::token(), i64_type, i64_type, i64_type, i64_type},
                  {}, at);
  case Builtin::ReleaseCache: return effect(Op::ReleaseCache, {ValueId{}, operands.at(0)}, {Type::token()}, {}, at);
  case Builtin::ProcessRank: return {here().one(Op::ProcessRank, {}, i64_type, {}, at)};
  case Builtin::WorldSize: return {here().one(Op::WorldSize, {}, i64_type, {}, at)};
  case Builtin::AllReduce: return {here().one(Op::AllReduce, {operands.at(0)}, Type(type(operands[0])), {}, at)};
  case Builtin::BroadcastFrom:
    return {here().one(Op::BroadcastFrom, {operands.at(0), operands.at(1)}, Type(type(operands[0])), {}, at)};
  default: throw std::logic_error("lowering: no function of devices");
  }
}

} // namespace tl::ir
