// The interface: arguments in, the run, results and failures out.
#include "vm/vm.h"
#include "vm/interpreter.h"
#include <chrono>
#include <fmt/format.h>
#include <stdexcept>

namespace tl {

// Fills the entry function's parameters: per parameter of main, "was it given" if it has a default, then a tensor's
// sizes, then the value.
void Interpreter::enter_arguments(Frame& frame, std::vector<Argument> arguments) {
  const auto& params = program_.interface.params;
  std::vector<Value> values;
  auto scalar = [&](DType type, auto value) { values.push_back(Value::of_scalar(type, Scalar::of(value))); };
  arguments.resize(std::max(arguments.size(), params.size()));
  if (arguments.size() > params.size()) throw std::invalid_argument("more arguments than main has parameters");
  for (size_t k = 0; k < params.size(); ++k) {
    const ParamInfo& param = params[k];
    Argument& argument = arguments[k];
    bool given = argument.index() != 0;
    if (!given && !param.has_default) throw std::invalid_argument(fmt::format("no argument for '{}'", param.name));
    if (param.has_default) scalar(DType::Bool, uint8_t{given});
    if (param.kind == ParamInfo::Kind::Str) {
      if (given && !std::holds_alternative<std::string>(argument))
        throw std::invalid_argument(fmt::format("'{}' takes a string", param.name));
      Node* node = engine_.nodes.create();
      if (given) node->text = std::move(std::get<std::string>(argument));
      node->waiters.store(Node::done_mark(), std::memory_order_relaxed);
      values.push_back(Value::of_node(engine_.nodes, node, Value::Kind::Str));
      continue;
    }
    size_t rank = param.kind == ParamInfo::Kind::Scalar ? 0 : param.rank;
    HostTensor x;
    if (!given)
      x = HostTensor::make(param.dtype, std::vector<int64_t>(rank, 0));
    else if (auto* tensor = std::get_if<HostTensor>(&argument))
      x = std::move(*tensor);
    if (!x.bytes || x.dtype != param.dtype || x.dims.size() != rank)
      throw std::invalid_argument(fmt::format("'{}' takes {} of rank {}", param.name, name_of(param.dtype), rank));
    if (param.kind == ParamInfo::Kind::Scalar) {
      values.push_back(Value::of_scalar(param.dtype, x.get(0)));
      continue;
    }
    Dims dims;
    for (int64_t d : x.dims) {
      scalar(DType::I64, d);
      dims.push_back(d);
    }
    Node* node = engine_.nodes.create();
    uint64_t bytes = x.mapped ? 0 : static_cast<uint64_t>(x.byte_count());
    if (!memory_->reserve(bytes))
      stop(fail({"OutOfMemory",
                 fmt::format("there is no room for the argument '{}' under the memory limit", param.name),
                 "",
                 {},
                 3,
                 {}}));
    node->reserved = bytes;
    node->data = x.bytes.get();
    node->external = std::move(x.bytes);
    node->waiters.store(Node::done_mark(), std::memory_order_relaxed);
    values.push_back(Value::of_node(engine_.nodes, node, Value::Kind::Tensor, param.dtype, std::move(dims)));
    argument = std::monostate{};
  }
  if (values.size() != frame.function->params.size())
    malformed(fmt::format("the entry takes {} values, not {}", frame.function->params.size(), values.size()));
  for (size_t k = 0; k < values.size(); ++k)
    frame.slots[frame.function->params[k].index] = std::move(values[k]);
}

std::vector<Argument> Interpreter::results(std::vector<Value>& values) {
  std::vector<Argument> out;
  for (Value& v : values) {
    if (v.kind == Value::Kind::Str) {
      out.emplace_back(v.node->text);
      continue;
    }
    HostTensor x;
    x.dtype = v.dtype;
    if (v.kind == Value::Kind::Scalar) {
      x = HostTensor::make(v.dtype, {});
      x.set(0, v.scalar);
    } else if (v.kind == Value::Kind::Tensor) {
      x.dims.assign(v.dims.view().begin(), v.dims.view().end());
      Node* node = v.node;
      if (!node->external) { // the pool's memory outlives the run with the result
        Block block = std::exchange(node->block, {});
        node->external =
            std::shared_ptr<std::byte[]>(block.data, [pool = memory_, block](std::byte*) { pool->free(block); });
      }
      x.bytes = std::shared_ptr<std::byte[]>(node->external, node->data + v.offset);
    }
    out.emplace_back(std::move(x));
  }
  return out;
}

Outcome Interpreter::run(std::vector<Argument> arguments) {
  Outcome outcome;
  FailureRef failure;
  std::vector<Value> values;
  const Instruction none{BcOp::Drop, {}, {}, {}, {}, {}, 0, 0, -1, {}, {}, {}, {}, {}};
  bool ended = false; // by return or exit: everything issued matters
  try {
    instruction_ = &none;
    if (program_.entry >= program_.functions.size()) malformed("there is no entry function");
    Frame& frame = frames_.emplace_back();
    frame.function = &program_.functions[program_.entry];
    frame.slots.resize(frame.function->slot_count);
    depth_ = 1;
    enter_arguments(frame, std::move(arguments));
    values = loop();
    ended = true;
  } catch (Stop& stopped) {
    failure = std::move(stopped.failure);
  } catch (const Exited& exited) {
    outcome.exit_code = exited.code;
    ended = true;
  } catch (const Interrupted&) {
    outcome.exit_code = 130;
  }
  try {
    flush();
    engine_.wait_all();
    flush();
  } catch (Stop& stopped) {
    engine_.wait_all();
    if (!failure) failure = std::move(stopped.failure);
  }
  // An effect that failed came before whatever ended the program.
  if (FailureRef effect = engine_.effect_failure()) failure = effect;
  if (ended && !failure) failure = engine_.first_failure();
  if (failure) {
    outcome.error = failure->error;
    outcome.exit_code = failure->error.exit_code;
  } else {
    outcome.results = results(values);
  }
  values.clear();
  return outcome;
}

Outcome run(const Program& program, KernelProvider& kernels, std::vector<Argument> arguments, const RunOptions& options,
            OutputSink out, OutputSink err, Stats* stats) {
  Stats local;
  Stats& counters = stats ? *stats : local;
  counters = {};
  auto start = std::chrono::steady_clock::now();
  auto pool = std::make_shared<Pool>(options.memory_limit ? options.memory_limit : machine_memory() / 10 * 9);
  Console console(std::move(out), std::move(err), options.flush_each_effect);
  Outcome outcome;
  {
    Interpreter interpreter(program, kernels, options, pool, console, counters);
    outcome = interpreter.run(std::move(arguments));
  }
  counters.peak_memory = pool->peak();
  counters.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

std::string to_text(const Stats& s) {
  return fmt::format("operations        {}\n"
                     "kernels launched  {}\n"
                     "kernels compiled  {}\n"
                     "bytes moved       {}\n"
                     "waits             {} ({:.6f} s)\n"
                     "peak memory       {} bytes\n"
                     "threads           {}\n"
                     "time              {:.6f} s\n",
                     s.operations, s.kernels_launched, s.kernels_compiled, s.bytes, s.waits, s.wait_seconds,
                     s.peak_memory, s.threads, s.seconds);
}

} // namespace tl
