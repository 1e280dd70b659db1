// Nodes that compute values: pure operations, guards, formatted text, linear algebra.
#include "ir/graph/op_info.h"
#include "ir/interpret/interpreter.h"
#include "vm/io/io.h"
#include <fmt/format.h>

namespace tl::ir {

void Interpreter::compute(const Function& f, const Node& n, Frame& frame) {
  Cell result;
  const int16_t device = device_in(f, n.operands, frame); // before an operand is taken away
  for (ValueId id : n.operands)
    result.poison = first(result.poison, frame[id.index].poison);
  Dims dims = sizes(f[n.results[0]].type, frame, result.poison);
  // A check of sizes may have failed that this value does not depend on: what came before goes on.
  if (n.op == Op::Reshape && !result.poison && frame[n.operands[0].index].data.count() != element_count(dims)) {
    if (!first_failure_) fault("a reshape to another number of elements");
    result.poison = first_failure_;
  }
  if (!result.poison) {
    if (n.op == Op::ConstStr)
      result.text = std::make_shared<const std::string>(n.as<ConstStrAttrs>().text);
    else if (n.op == Op::Await)
      result = frame[n.operands[0].index];
    else
      result.data = pure(f, n, frame, dims);
    if (n.op != Op::ConstStr && result.data.dims() != dims)
      fault(fmt::format("a result of {} has not the sizes of its type", name_of(n.op)));
  }
  if (!f[n.results[0]].type.dims.empty()) result.device = device;
  frame[n.results[0].index] = std::move(result);
}

Data Interpreter::pure(const Function& f, const Node& n, Frame& frame, const Dims& dims) {
  DType type = f[n.results[0]].type.dtype;
  auto in = [&](size_t i) -> const Data& { return frame[n.operands[i].index].data; };
  auto ints = [&](size_t from) {
    Dims values;
    for (size_t i = from; i < n.operands.size(); ++i)
      values.push_back(in(i).i64());
    return values;
  };
  std::vector<const Data*> operands;
  for (ValueId id : n.operands)
    operands.push_back(&frame[id.index].data);
  switch (n.op) {
  case Op::Constant: return Data::of(type, n.as<ConstantAttrs>().literal);
  case Op::ConstTensor: return Data::of(module_.tensors[n.as<ConstTensorAttrs>().tensor]);
  case Op::Iota: return iota(dims[0]);
  case Op::Elementwise: {
    const ScalarOp op = n.as<ElementwiseAttrs>().op;
    return elementwise(op, in(op == ScalarOp::Where ? 1 : 0).dtype, operands, type, dims);
  }
  case Op::Convert: return convert(in(0), type);
  case Op::Broadcast: return broadcast(in(0), n.as<AxesAttrs>().axes, dims);
  case Op::Reshape: return reshape(in(0), dims);
  case Op::Transpose: return transpose(in(0), n.as<AxesAttrs>().axes);
  case Op::Slice: return slice(in(0), ints(1), n.as<StepsAttrs>().steps, dims);
  case Op::Pad: return pad(in(0), in(1).scalar, ints(2), dims);
  case Op::Concat: return concat(operands, n.as<AxisAttrs>().axis, dims);
  case Op::Index: return index(in(0), ints(1));
  case Op::Gather: return gather(in(0), in(1), n.as<AxisAttrs>().axis);
  case Op::Update: {
    const auto& a = n.as<UpdateAttrs>();
    Dims starts = ints(2);
    return update(take(frame, n.operands[0]).data, in(1), starts, a.steps, a.mode);
  }
  case Op::Scatter: return scatter(take(frame, n.operands[0]).data, in(1), in(2), n.as<ScatterAttrs>().mode);
  case Op::Reduce: {
    const auto& a = n.as<ReduceAttrs>();
    return reduce(a.op, in(0), n.operands.size() == 2 ? &in(1) : nullptr, a.axes);
  }
  case Op::Scan: return scan(n.as<ScanAttrs>().op, in(0), n.as<ScanAttrs>().axis);
  case Op::Contract: return contract(in(0), in(1), n.as<ContractAttrs>());
  case Op::Sort: return sort(n.as<SortAttrs>().op, in(0), dims);
  default: fault(fmt::format("{} is not pure", name_of(n.op)));
  }
}

void Interpreter::guard(const Node& n, Frame& frame) {
  Cell condition = frame[n.operands[1].index];
  Cell result = take(frame, n.operands[0]);
  result.poison = first(result.poison, condition.poison);
  if (!condition.poison)
    for (int64_t k = 0; k < condition.data.count(); ++k) {
      if (condition.data.get(k).as<uint8_t>()) continue;
      const ErrorSite& site = module_.sites[n.as<SiteAttrs>().site];
      std::vector<std::pair<std::string, int64_t>> holes{{"{e}", k}};
      for (size_t p = 2; p < n.operands.size(); ++p)
        for (const char* kind : {"", "d"})
          holes.emplace_back(fmt::format("{{{}{}}}", kind, p - 2),
                             frame[n.operands[p].index].data.get(k).as<int64_t>());
      result.poison = first(result.poison, fail_at(site, filled(site.message, holes)));
      break;
    }
  frame[n.results[0].index] = std::move(result);
}

std::string Interpreter::fill(const FormatTemplate& format, const Node& n, const Frame& frame, size_t from) const {
  std::vector<FormatValue> values;
  for (size_t i = from; i < n.operands.size(); ++i) {
    const Cell* value = &frame[n.operands[i].index];
    values.push_back([value](std::string_view spec) {
      if (value->text) return format_string(*value->text, spec);
      if (value->data.is_scalar()) return format_scalar(value->data.dtype, value->data.scalar, spec);
      return format_tensor(value->data.tensor, spec);
    });
  }
  return fill_template(format, values);
}

void Interpreter::format_node(const Node& n, Frame& frame) {
  Cell result;
  for (ValueId id : n.operands)
    result.poison = first(result.poison, frame[id.index].poison);
  if (!result.poison) result = cell(fill(n.as<FormatAttrs>().format, n, frame, 0));
  frame[n.results[0].index] = std::move(result);
}

void Interpreter::linalg(const Function& f, const Node& n, Frame& frame) {
  Poison poison;
  std::vector<const Data*> operands;
  for (ValueId id : n.operands) {
    poison = first(poison, frame[id.index].poison);
    operands.push_back(&frame[id.index].data);
  }
  std::vector<Data> results;
  for (ValueId id : n.results)
    results.push_back(Data::make(f[id].type.dtype, sizes(f[id].type, frame, poison)));
  if (poison) return poison_results(n, frame, poison);
  if (auto failed = decompose(n.as<LinalgAttrs>().op, operands, results)) {
    const ErrorSite& site = module_.sites[n.as<LinalgAttrs>().site];
    const std::string message = filled(site.message, {{"{0}", failed->matrix}, {"{1}", failed->info}});
    return poison_results(n, frame, fail_at(site, message));
  }
  const int16_t device = device_in(f, n.operands, frame);
  for (size_t i = 0; i < results.size(); ++i) {
    frame[n.results[i].index] = cell(std::move(results[i]));
    frame[n.results[i].index].device = device;
  }
}

} // namespace tl::ir
