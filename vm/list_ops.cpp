// Lists: values of the issuing thread whose elements may still be computed.
#include "vm/interpreter.h"
#include "vm/io/io.h"
#include "vm/io/list.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl {

const List* Interpreter::list_at(const Instruction& i, size_t k, FailureRef& failure) {
  const Value& value = in(i, k);
  if (value.kind != Value::Kind::List) malformed(fmt::format("slot {} is no list", i.in.at(k).slot.index));
  take_first(failure, value.failure);
  return value.list;
}

int64_t Interpreter::number_at(const Instruction& i, size_t k, FailureRef& failure) {
  const Value& value = host_scalar(i, k);
  take_first(failure, value.failure);
  return value.scalar.as<int64_t>();
}

Value Interpreter::poisoned(const OutputDesc& desc, const FailureRef& failure) {
  if (desc.kind == OutputDesc::Kind::List) {
    Value value = Value::of_list(nullptr);
    value.failure = failure;
    return value;
  }
  bool is_str = desc.kind == OutputDesc::Kind::Str;
  if (!is_str && desc.dims.empty()) {
    Value value = Value::of_scalar(desc.dtype, {});
    value.failure = failure;
    return value;
  }
  Operation* op = operation();
  op->failure = failure;
  Node* node = engine_.nodes.create();
  node->loc = instruction_->loc;
  engine_.add_output(*op, node);
  Dims dims;
  for (size_t k = 0; k < desc.dims.size(); ++k)
    dims.push_back(0);
  Value value = Value::of_node(engine_.nodes, node, is_str ? Value::Kind::Str : Value::Kind::Tensor, desc.dtype, dims);
  engine_.submit(op);
  return value;
}

void Interpreter::give_results(const Instruction& i, std::vector<Value> values) {
  give_away(i);
  for (size_t k = 0; k < values.size() && k < i.out.size(); ++k)
    set(i.out[k], std::move(values[k]));
}

List* Interpreter::own_list(const Instruction& i, size_t width, FailureRef& failure) {
  const List* list = list_at(i, 0, failure);
  if (list && list->handles == 1 && i.in[0].last_use) return in(i, 0).list;
  List* copy = list ? new List(*list) : new List;
  copy->handles = 0;
  if (!list) copy->width = width;
  return copy;
}

void Interpreter::wait_for_all(const Value& value, FailureRef& failure) {
  take_first(failure, value.failure);
  if (value.node) {
    wait_for(value.node);
    take_first(failure, value.node->failure);
  }
  for (size_t k = 0; value.list && k < value.list->values.size(); ++k)
    if (value.list->values.has_handle(k)) wait_for_all(value.list->values.get(k), failure);
}

void Interpreter::list(const Instruction& i) {
  FailureRef failure;
  auto leaves = [&](List& into, size_t from) {
    for (size_t k = from; k < i.in.size(); ++k)
      into.values.push_back(in(i, k));
  };
  auto give_list = [&](List* list) {
    Value value = Value::of_list(list);
    if (failure) {
      value = Value::of_list(nullptr);
      value.failure = failure;
    }
    give_away(i);
    set(i.out[0], std::move(value));
  };
  switch (i.host_op) {
  case HostOp::ListMake: {
    auto* list = new List;
    list->width = static_cast<size_t>(i.ints.at(0));
    list->values.reserve(i.in.size());
    leaves(*list, 0);
    return give_list(list);
  }
  case HostOp::ListLength: {
    const List* list = list_at(i, 0, failure);
    Value value = Value::of_scalar(DType::I64, Scalar::of(static_cast<int64_t>(list ? list->length() : 0)));
    value.failure = failure;
    give_away(i);
    return set(i.out[0], std::move(value));
  }
  case HostOp::ListGet: return list_get(i, false);
  case HostOp::ListSet: {
    size_t width = i.in.size() - 2;
    int64_t at = number_at(i, 1, failure);
    if (list_at(i, 0, failure); failure) return give_list(nullptr);
    List* list = own_list(i, width, failure);
    if (at < 0 || static_cast<size_t>(at) >= list->length()) malformed("an index of a list is out of range");
    for (size_t k = 0; k < width; ++k)
      list->values.put(static_cast<size_t>(at) * width + k, in(i, 2 + k));
    return give_list(list);
  }
  case HostOp::ListAppend: {
    if (list_at(i, 0, failure); failure) return give_list(nullptr);
    List* list = own_list(i, i.in.size() - 1, failure);
    leaves(*list, 1);
    return give_list(list);
  }
  case HostOp::ListConcat: {
    const List* more = list_at(i, 1, failure);
    if (list_at(i, 0, failure); failure) return give_list(nullptr);
    if (!more) return give_list(in(i, 0).list);
    const List* first = in(i, 0).list;
    const bool own_first = is_own(in(i, 0)) && i.in[0].last_use, own_more = is_own(in(i, 1)) && i.in[1].last_use;
    if (own_more && first && first != more &&
        (!own_first || first->values.size() < more->values.size())) { // the longer one grows
      in(i, 1).list->values.prepend(first->values);
      return give_list(in(i, 1).list);
    }
    List* list = own_list(i, more->width, failure);
    list->values.append(more->values, 0, more->values.size());
    return give_list(list);
  }
  case HostOp::ListSlice: {
    SliceBounds bounds;
    std::optional<int64_t>* parts[] = {&bounds.first, &bounds.last, &bounds.step};
    size_t next = 1;
    for (size_t k = 0; k < 3; ++k)
      if (i.ints.at(k)) *parts[k] = number_at(i, next++, failure);
    const List* list = list_at(i, 0, failure);
    if (!failure && bounds.step == 0) failure = fail({"WrongIndex", "the step of a slice is 0", "", i.loc, 3, {}});
    if (failure || !list) return give_list(nullptr);
    auto [start, count, step] = bounds.resolve(static_cast<int64_t>(list->length()));
    const size_t width = list->width;
    if (step == 1 && list->handles == 1 && i.in[0].last_use) { // a stack or a queue, of which elements leave
      List* own = in(i, 0).list;
      own->values.keep(static_cast<size_t>(start) * width, static_cast<size_t>(count) * width);
      return give_list(own);
    }
    auto* part = new List;
    part->width = width;
    part->values.reserve(static_cast<size_t>(count) * width);
    for (int64_t k = 0; k < count; ++k)
      part->values.append(list->values, static_cast<size_t>(start + k * step) * width, width);
    return give_list(part);
  }
  case HostOp::ListJoin: return list_join(i);
  default: malformed("no operation on lists");
  }
}

void Interpreter::list_get(const Instruction& i, bool takes) {
  FailureRef failure;
  const List* list = list_at(i, 0, failure);
  int64_t at = number_at(i, 1, failure);
  const size_t width = i.out.size() - i.ints.size() / 2;
  if (failure) {
    std::vector<Value> values;
    for (size_t k = 0; k < i.out.size(); ++k)
      values.push_back(poisoned(i.outputs.at(k), failure));
    return give_results(i, std::move(values));
  }
  if (!list || at < 0 || static_cast<size_t>(at) >= list->length()) malformed("an index of a list is out of range");
  takes = takes && is_own(in(i, 0));
  const bool stays = !i.in[0].last_use && std::find(i.out.begin(), i.out.end(), i.in[0].slot) == i.out.end();
  const Value held = stays ? Value() : in(i, 0); // else its slot may be a result's
  Elements& values = in(i, 0).list->values;
  const size_t first = static_cast<size_t>(at) * list->width;
  give_away(i);
  for (size_t k = 0; k < width; ++k)
    if (Value& out = slot(i.out[k]); values.is_number(first + k) && out.holds_nothing())
      values.get_number(first + k, out);
    else
      out = takes ? values.take(first + k) : values.get(first + k);
  for (size_t k = 0; k < i.ints.size(); k += 2) {
    const Value& leaf = slot(i.out[static_cast<size_t>(i.ints[k])]);
    set(i.out[width + k / 2],
        Value::of_scalar(DType::I64, Scalar::of(leaf.dims.view()[static_cast<size_t>(i.ints[k + 1])])));
  }
}

// Numbers as one tensor.
void Interpreter::join_numbers(const Instruction& i, const Elements& numbers) {
  const OutputDesc& desc = i.outputs.at(0);
  const auto each = static_cast<size_t>(size_of(desc.dtype));
  const size_t bytes = numbers.size() * each;
  std::vector<std::byte> packed(bytes);
  for (size_t k = 0; k < numbers.size(); ++k) {
    const Scalar number = numbers.number(k);
    std::memcpy(packed.data() + k * each, &number.bits, each);
  }
  Operation* op = operation();
  op->kind = Operation::Kind::Task;
  op->small = true;
  op->device = cpu_of(kNoDevice);
  const auto count = static_cast<int64_t>(numbers.size());
  Dims dims;
  dims.push_back(count);
  Value result = make_output(*op, desc.dtype, std::move(dims));
  if (!engine_.allocate(*op, *result.node, op->device, bytes, [this] { sweep(); }))
    op->failure = no_memory(*op, type_text(desc.dtype, result.dims.view()), bytes);
  op->task = [packed = std::move(packed), data = result.node->data](Operation&) {
    std::memcpy(data, packed.data(), packed.size());
  };
  engine_.submit(op);
  give_away(i);
  set(i.out[0], std::move(result));
  if (i.out.size() > 1) set(i.out[1], Value::of_scalar(DType::I64, Scalar::of(count)));
}

void Interpreter::list_join(const Instruction& i) {
  FailureRef failure;
  const List* list = list_at(i, 0, failure);
  const OutputDesc& desc = i.outputs.at(0);
  if (!failure && list && desc.dims.size() == 1 && list->values.are_numbers()) return join_numbers(i, list->values);
  size_t rank = desc.dims.size();
  auto axis = static_cast<size_t>(i.ints.at(0));
  bool stack = i.ints.at(1) != 0;
  std::vector<std::vector<int64_t>> parts;
  std::vector<Value> elements;
  for (size_t k = 0; list && k < list->values.size(); ++k) {
    const Value& element = elements.emplace_back(list->values.get(k));
    auto view = element.dims.view();
    parts.emplace_back(view.begin(), view.end());
    take_first(failure, element.failure);
  }
  JoinedSizes joined;
  if (!failure) {
    joined = join_sizes(parts, axis, stack, rank);
    if (!joined.problem.empty()) {
      RuntimeError error = engine_.error_at_site(i.site, 0, 0, 0, i.loc, call_chain());
      error.message = joined.problem;
      // An element that failed has no sizes: then that is what to report.
      for (const Value& element : elements) {
        if (!element.node) continue;
        wait_for(element.node);
        take_first(failure, element.node->failure);
      }
      if (!failure) failure = fail(std::move(error));
    }
  }
  int16_t device = kNoDevice;
  for (size_t k = 0; !failure && k < elements.size(); ++k) {
    int16_t other = elements[k].device;
    if (device != kNoDevice && other != kNoDevice && device != other) {
      RuntimeError error = mixed_devices(device, other, i.loc);
      Engine::add_calls(error, call_chain());
      failure = fail(std::move(error));
    }
    if (device == kNoDevice) device = other;
  }
  std::vector<Value> values;
  if (failure) {
    for (size_t k = 0; k < i.out.size(); ++k)
      values.push_back(poisoned(i.outputs.at(k), failure));
    return give_results(i, std::move(values));
  }
  Dims dims;
  for (int64_t d : joined.dims)
    dims.push_back(d);
  Operation* op = operation();
  op->kind = Operation::Kind::Task;
  std::vector<Operand> sources;
  for (const Value& element : elements)
    sources.push_back(operand(*op, element));
  op->device = cpu_of(device);
  Value result = make_output(*op, desc.dtype, dims);
  if (rank) result.device = device;
  auto bytes = static_cast<uint64_t>(*dims.count() * size_of(desc.dtype));
  if (!engine_.allocate(*op, *result.node, op->device, bytes, [this] { sweep(); }))
    op->failure = no_memory(*op, type_text(desc.dtype, joined.dims), bytes);
  op->task = [sources = std::move(sources), data = result.node->data, joined, type = desc.dtype](Operation&) {
    std::vector<const std::byte*> from;
    for (const Operand& source : sources)
      from.push_back(source.node ? source.node->data + source.offset
                                 : reinterpret_cast<const std::byte*>(&source.scalar.bits));
    join_parts(joined, size_of(type), from, data);
  };
  values.push_back(std::move(result));
  for (size_t k = 0; k < rank; ++k)
    values.push_back(Value::of_scalar(DType::I64, Scalar::of(joined.dims[k])));
  engine_.submit(op);
  give_results(i, std::move(values));
}

} // namespace tl
