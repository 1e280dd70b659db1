// The run-time entries: formatting, effects, waits. An effect's task runs when its operands are computed and the effect
// before it is done.
#include "abi/interrupted.h"
#include "abi/visible.h"
#include "vm/interpreter.h"
#include "vm/io/io.h"
#include "vm/plot/plot.h"
#include <ctime>
#include <fmt/format.h>
#include <new>
#include <unistd.h>

namespace tl {

static const std::byte* data_of(Node* node, int64_t offset) { return node->data + offset; }

std::string Interpreter::Operand::text(std::string_view spec) const {
  FailureRef poisoned = node ? node->failure : failure;
  if (poisoned) throw poisoned;
  switch (kind) {
  case Value::Kind::Scalar: return format_scalar(dtype, scalar, spec);
  case Value::Kind::Tensor: return format_tensor(dtype, dims, data_of(node, offset), spec);
  case Value::Kind::Str: return format_string(node->text, spec);
  case Value::Kind::List:
  case Value::Kind::Empty: break;
  }
  return "";
}

HostTensor Interpreter::Operand::host() const {
  HostTensor tensor;
  if (node) {
    tensor.dtype = dtype;
    tensor.dims = dims; // the bytes are not owned: the operation keeps them
    tensor.bytes = std::shared_ptr<std::byte[]>(std::shared_ptr<std::byte[]>(), node->data + offset);
  } else {
    tensor = HostTensor::make(dtype, {});
    tensor.set(0, scalar);
  }
  return tensor;
}

Interpreter::Operand Interpreter::operand(Operation& op, const Value& value) {
  const Value here = readable(value, 0);
  Operand result{here.kind, here.dtype, here.scalar, here.failure, here.node, here.offset, {}};
  auto dims = here.dims.view();
  if (here.kind == Value::Kind::Tensor) result.dims.assign(dims.begin(), dims.end());
  if (here.node) engine_.add_input(op, here.node, here.kind == Value::Kind::Tensor);
  return result;
}

std::vector<Interpreter::Operand> Interpreter::operands(Operation& op, const Instruction& i, size_t from) {
  std::vector<Operand> result;
  for (size_t k = from; k < i.in.size(); ++k)
    result.push_back(operand(op, in(i, k)));
  return result;
}

static void take_host_failures(Operation& op, const FailureRef& failure) { take_first(op.failure, failure); }

static std::string render(const FormatTemplate& format, size_t count,
                          const std::function<std::string(size_t, std::string_view)>& text) {
  std::vector<FormatValue> values;
  for (size_t k = 0; k < count; ++k)
    values.push_back([&text, k](std::string_view spec) { return text(k, spec); });
  return fill_template(format, values);
}

Operation* Interpreter::effect() {
  Operation* op = operation();
  op->kind = Operation::Kind::Task;
  op->effect = true;
  come_after(*op, effects_);
  return op;
}

void Interpreter::come_after(Operation& op, Value& last) {
  if (last.node) engine_.add_input(op, last.node, false);
  Node* node = engine_.nodes.create();
  engine_.add_output(op, node);
  predecessor_ = std::exchange(last, Value::of_node(engine_.nodes, node, Value::Kind::Str));
}

void Interpreter::host(const Instruction& i) {
  switch (i.host_op) {
  case HostOp::Format: return format(i);
  case HostOp::Print: return print(i);
  case HostOp::Assert: return check_assertion(i);
  case HostOp::Load: return load(i);
  case HostOp::Save: return save(i);
  case HostOp::Exists: return exists(i);
  case HostOp::ReadText: return read_text(i);
  case HostOp::WriteText: return write_text(i);
  case HostOp::Wait: return wait(i);
  case HostOp::WaitAll: return wait_all();
  case HostOp::Exit: return exit_program(i);
  case HostOp::Debug: return debug(i);
  case HostOp::ListMake:
  case HostOp::ListLength:
  case HostOp::ListGet:
  case HostOp::ListSet:
  case HostOp::ListAppend:
  case HostOp::ListConcat:
  case HostOp::ListSlice:
  case HostOp::ListJoin: try { return list(i);
    } catch (const std::bad_alloc&) {
      stop(fail({"OutOfMemory", "no memory is left for a list", "", i.loc, 3, {}}));
    }
  case HostOp::Text: return text(i);
  case HostOp::ReadLine: return read_line(i);
  case HostOp::Plot: return plot(i);
  case HostOp::Stopwatch: {
    Scalar value =
        stopwatches_(static_cast<StopwatchOp>(i.index), i.in.empty() ? 0 : host_scalar(i, 0).scalar.as<int64_t>());
    give_away(i);
    return set(i.out[0], Value::of_scalar(i.outputs[0].dtype, value));
  }
  case HostOp::Progress: return progress(i);
  case HostOp::DeviceCount:
  case HostOp::DeviceOf:
  case HostOp::Transfer:
  case HostOp::Place:
  case HostOp::DeviceInfo:
  case HostOp::MemoryStats:
  case HostOp::ReleaseCache: return device(i);
  case HostOp::ProcessRank:
  case HostOp::WorldSize:
  case HostOp::AllReduce:
  case HostOp::BroadcastFrom: return ranks(i);
  case HostOp::Interrupted:
    return set(i.out[0],
               Value::of_scalar(DType::Bool, Scalar::of(static_cast<uint8_t>(options_.listens && interrupted()))));
  case HostOp::Time: {
    engine_.note_clock();
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    double seconds = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
    return set(i.out[0], Value::of_scalar(DType::F64, Scalar::of(seconds)));
  }
  }
}

void Interpreter::format(const Instruction& i) {
  const FormatTemplate& format = program_.formats.at(i.index);
  if (format.specs.size() != i.in.size()) malformed("a format with other holes than operands");
  Operation* op = operation();
  op->kind = Operation::Kind::Task;
  std::vector<Operand> values = operands(*op, i, 0);
  op->small = true;
  for (const Operand& v : values) {
    take_host_failures(*op, v.failure);
    if (!v.dims.empty()) op->small = false;
  }
  Node* node = engine_.nodes.create();
  engine_.add_output(*op, node);
  const bool grows = can_grow(i) && starts_with_first(format);
  op->task = [values = std::move(values), &format, node, grows](Operation&) {
    // Its handles are gone, or will be: the only reference is this operation's, or theirs.
    if (grows && values[0].node->refs.load(std::memory_order_acquire) == 1)
      node->text = std::move(values[0].node->text);
    else if (!values.empty())
      node->text = format.literals[0] + values[0].text(format.specs[0]);
    for (size_t k = 1; k < values.size(); ++k)
      node->text.append(format.literals[k]).append(values[k].text(format.specs[k]));
    node->text += format.literals.back();
  };
  Value result = Value::of_node(engine_.nodes, node, Value::Kind::Str);
  submit(op, i);
  set(i.out[0], std::move(result));
}

void Interpreter::print(const Instruction& i) {
  Operation* op = effect();
  std::vector<Operand> values = operands(*op, i, 0);
  for (const Operand& v : values)
    take_host_failures(*op, v.failure);
  op->small = true;
  if (options_.flush_each_effect) op->lane = kFileLane; // a terminal may be slow
  op->task = [values = std::move(values), to_stderr = i.index == 1, this](Operation&) {
    std::string text;
    for (const Operand& v : values)
      text += v.text({});
    to_stderr ? console_.print_error(text) : console_.print(text);
  };
  submit(op, i);
}

void Interpreter::plot(const Instruction& i) {
  Operation* op = effect();
  std::vector<Operand> values = operands(*op, i, 0);
  for (const Operand& v : values)
    take_host_failures(*op, v.failure);
  op->lane = kFileLane;
  op->task = [values = std::move(values), &i, this](Operation&) {
    PlotRequest request;
    request.kind = static_cast<PlotKind>(i.index);
    request.description = values.at(0).node->text;
    size_t next = 1;
    if (i.ints[0]) request.path = values.at(next++).node->text;
    request.labels = values.at(next++).node->text;
    request.has_x = i.ints[1] != 0;
    for (; next < values.size(); ++next)
      request.tensors.push_back(values[next].host());
    const auto draw = [&](const OutputSink& out) { return draw_on_page(request, out); };
    if (!console_.write_directly(draw)) console_.print(draw_plot(request, terminal()));
  };
  submit(op, i);
}

void Interpreter::check_assertion(const Instruction& i) {
  const Value& condition = in(i, 0);
  bool known = condition.kind == Value::Kind::Scalar;
  if (known && !condition.failure && condition.scalar.as<uint8_t>()) return give_away(i);
  Operation* op = effect();
  op->checks_inputs = true; // the message's operands matter only if it fails
  Operand tested = operand(*op, condition);
  std::vector<Operand> values = operands(*op, i, 1);
  op->small = true;
  if (tested.failure) op->failure = tested.failure;
  int32_t site = i.site;
  const FormatTemplate* message = i.index < program_.formats.size() ? &program_.formats[i.index] : nullptr;
  if (message && message->specs.size() != values.size()) message = nullptr;
  op->task = [tested = std::move(tested), values = std::move(values), site, message, this](Operation& self) {
    if (tested.node && tested.node->failure) throw FailureRef(tested.node->failure);
    Scalar scalar = tested.scalar;
    if (tested.node) std::memcpy(&scalar.bits, data_of(tested.node, tested.offset), 1);
    if (scalar.as<uint8_t>()) return;
    RuntimeError error = site >= 0 ? engine_.error_at_site(site, 0, 0, 0, self.loc, nullptr)
                                   : RuntimeError{"AssertionFailed", "", "", self.loc, 3, {}};
    if (message) {
      std::string text =
          render(*message, values.size(), [&](size_t k, std::string_view spec) { return values[k].text(spec); });
      if (!text.empty()) error.message = std::move(text);
    }
    throw error;
  };
  submit(op, i);
}

void Interpreter::debug(const Instruction& i) {
  std::string place;
  if (i.loc.index && i.loc.index < program_.locations.size())
    place = fmt::format("{}:{}: ", visible(program_.locations[i.loc.index].file), program_.locations[i.loc.index].line);
  if (i.index) place += program_.formats.at(i.index - 1).literals.at(0);
  Operation* op = effect();
  op->checks_inputs = true; // it tells of a failure, and passes it on
  Operand x = operand(*op, in(i, 0));
  op->task = [x = std::move(x), place = std::move(place), this](Operation&) {
    const auto* scalar = reinterpret_cast<const std::byte*>(&x.scalar.bits);
    FailureRef failure = x.node ? x.node->failure : x.failure;
    std::string summary = failure ? fmt::format("failed: {}", visible(failure->error.message))
                          : x.kind == Value::Kind::Str
                              ? x.node->text
                              : debug_summary(x.dtype, x.dims, x.node ? data_of(x.node, x.offset) : scalar);
    console_.print_error(fmt::format("{}{}\n", place, summary));
  };
  Value same = i.out.empty() ? Value() : in(i, 0);
  submit(op, i);
  if (!i.out.empty()) set(i.out[0], std::move(same));
}

void Interpreter::progress(const Instruction& i) {
  Operation* op = effect();
  std::vector<Operand> values;
  for (size_t k = 0; k < i.in.size(); ++k) {
    const Value& v = in(i, k);
    take_host_failures(*op, v.failure);
    if (k < 3)
      values.push_back(operand(*op, v));
    else if (v.node) // only waited for, where it is
      engine_.add_input(*op, v.node, false);
  }
  op->small = true;
  bool is_last = i.index == 1;
  op->task = [values = std::move(values), is_last, which = i.loc.index, this](Operation&) {
    auto number = [&](const Operand& v) {
      Scalar scalar = v.scalar;
      if (v.node) std::memcpy(&scalar.bits, data_of(v.node, v.offset), sizeof(int64_t));
      return scalar.as<int64_t>();
    };
    static const bool terminal = ::isatty(STDERR_FILENO) != 0;
    console_.draw_bar(which, number(values[0]) == 0, [&](double seconds, double still) {
      return progress_text(number(values[0]), number(values[1]), values[2].node->text,
                           {is_last, terminal, seconds, still});
    });
  };
  submit(op, i);
}

void Interpreter::wait(const Instruction& i) {
  flush();
  FailureRef failure;
  std::vector<Value> values;
  for (size_t k = 0; k < i.in.size(); ++k) {
    Value value = in(i, k);
    wait_for_all(value, failure);
    values.push_back(std::move(value));
  }
  if (failure) stop(failure);
  give_away(i);
  for (size_t k = 0; k < values.size() && k < i.out.size(); ++k)
    set(i.out[k], std::move(values[k]));
  flush(); // what was printed meanwhile
}

void Interpreter::wait_all() {
  flush();
  engine_.wait_all();
  flush();
  check_stop();
  if (FailureRef failure = engine_.first_failure()) stop(failure);
}

void Interpreter::exit_program(const Instruction& i) {
  wait_all();
  const Value& code = in(i, 0);
  FailureRef failure = code.node ? code.node->failure : code.failure;
  if (failure) stop(failure);
  Scalar value = code.scalar;
  if (code.node) std::memcpy(&value.bits, data_of(code.node, code.offset), static_cast<size_t>(size_of(code.dtype)));
  throw Exited{static_cast<int>(value.as<int64_t>() & 255)};
}

} // namespace tl
