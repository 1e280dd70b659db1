// The interface: arguments in, the run, results and failures out.
#include "vm/vm.h"
#include "vm/interpreter.h"
#include "vm/profile.h"
#include <chrono>
#include <fmt/format.h>
#include <stdexcept>

namespace tl {

// A leaf of an argument, behind the sizes of its axes.
void Interpreter::enter(std::vector<Value>& values, Argument argument, const std::string& name) {
  if (auto* text = std::get_if<std::string>(&argument)) return values.push_back(text_value(std::move(*text)));
  if (auto* list = std::get_if<std::shared_ptr<const ListArgument>>(&argument)) {
    auto* made = new List;
    made->width = (*list)->width;
    Value value = Value::of_list(made);
    for (const Argument& element : (*list)->values) {
      std::vector<Value> leaf;
      enter(leaf, element, name);
      made->values.push_back(std::move(leaf.back())); // its sizes are its own
    }
    return values.push_back(std::move(value));
  }
  HostTensor x = std::move(std::get<HostTensor>(argument));
  if (x.dims.empty()) return values.push_back(Value::of_scalar(x.dtype, x.get(0)));
  Dims dims;
  for (int64_t d : x.dims) {
    values.push_back(Value::of_scalar(DType::I64, Scalar::of(d)));
    dims.push_back(d);
  }
  Node* node = engine_.nodes.create();
  uint64_t bytes = x.mapped ? 0 : static_cast<uint64_t>(x.byte_count());
  Pool& memory = devices_.memory(0);
  if (!memory.reserve(bytes))
    stop(fail({"OutOfMemory",
               fmt::format("there is no room for {} under the memory limit",
                           name.empty() ? "the values of the session" : "the argument '" + name + "'"),
               "",
               {},
               3,
               {}}));
  node->reserved = bytes;
  node->account = &memory;
  node->data = x.bytes.get();
  node->external = std::move(x.bytes);
  node->waiters.store(Node::done_mark(), std::memory_order_relaxed);
  values.push_back(Value::of_node(engine_.nodes, node, Value::Kind::Tensor, x.dtype, std::move(dims)));
  values.back().device = devices_.index(x.device) >= 0 ? x.device : kNoDevice;
}

// Fills the entry function's parameters: per parameter of main, "was it given" if it has a default, then a tensor's
// sizes, then the value.
void Interpreter::enter_arguments(Frame& frame, std::vector<Argument> arguments) {
  const auto& params = program_.interface.params;
  std::vector<Value> values;
  arguments.resize(std::max(arguments.size(), params.size()));
  for (size_t k = 0; k < params.size(); ++k) {
    const ParamInfo& param = params[k];
    Argument& argument = arguments[k];
    bool given = argument.index() != 0;
    if (!given && !param.has_default) throw std::invalid_argument(fmt::format("no argument for '{}'", param.name));
    if (param.has_default) values.push_back(Value::of_scalar(DType::Bool, Scalar::of(uint8_t{given})));
    if (param.kind == ParamInfo::Kind::List) {
      if (!std::holds_alternative<std::shared_ptr<const ListArgument>>(argument))
        throw std::invalid_argument(fmt::format("'{}' takes a list", param.name));
    } else if (param.kind == ParamInfo::Kind::Str) {
      if (!given) argument = std::string();
      if (!std::holds_alternative<std::string>(argument))
        throw std::invalid_argument(fmt::format("'{}' takes a string", param.name));
    } else {
      size_t rank = param.kind == ParamInfo::Kind::Scalar ? 0 : param.rank;
      if (!given) argument = HostTensor::make(param.dtype, std::vector<int64_t>(rank, 0));
      auto* x = std::get_if<HostTensor>(&argument);
      if (!x || !x->bytes || x->dtype != param.dtype || x->dims.size() != rank)
        throw std::invalid_argument(fmt::format("'{}' takes {} of rank {}", param.name, name_of(param.dtype), rank));
    }
    enter(values, std::move(argument), param.name);
  }
  for (size_t k = params.size(); k < arguments.size(); ++k)
    enter(values, std::move(arguments[k]), "");
  if (values.size() != frame.function->params.size())
    malformed(fmt::format("the entry takes {} values, not {}", frame.function->params.size(), values.size()));
  for (size_t k = 0; k < values.size(); ++k)
    frame.slots[frame.function->params[k].index] = std::move(values[k]);
}

Argument Interpreter::result(Value& v) {
  if (v.kind == Value::Kind::Str) return v.node->text;
  if (v.kind == Value::Kind::List) {
    auto list = std::make_shared<ListArgument>();
    if (v.list) {
      list->width = v.list->width;
      for (size_t k = 0; k < v.list->values.size(); ++k) {
        Value element = v.list->values.get(k);
        list->values.push_back(result(element));
      }
    }
    return list;
  }
  HostTensor x;
  x.dtype = v.dtype;
  if (v.kind == Value::Kind::Scalar) {
    x = HostTensor::make(v.dtype, {});
    x.set(0, v.scalar);
  } else if (v.kind == Value::Kind::Tensor) {
    x.dims.assign(v.dims.view().begin(), v.dims.view().end());
    x.device = v.device;
    const Value here = readable(v, 0);
    Node* node = here.node;
    if (!node->external) { // the pool's memory outlives the run with the result
      Block block = std::exchange(node->block, {});
      node->external = std::shared_ptr<std::byte[]>(
          block.data, [pool = block.pool->shared_from_this(), block](std::byte*) mutable { Pool::free(block); });
    }
    x.bytes = std::shared_ptr<std::byte[]>(node->external, node->data + here.offset);
  }
  return x;
}

Outcome Interpreter::run(std::vector<Argument> arguments) {
  Outcome outcome;
  FailureRef failure;
  std::vector<Value> values;
  const Instruction none{BcOp::Drop, {}, {}, {}, {}, {}, 0, 0, -1, {}, {}, {}, {}, {}, {}};
  bool ended = false; // by return or exit: everything issued matters
  try {
    instruction_ = &none;
    if (program_.entry >= program_.functions.size()) malformed("there is no entry function");
    Frame& frame = frames_.emplace_back();
    frame.function = &program_.functions[program_.entry];
    frame.quick = quick(program_.entry);
    frame.slots.resize(frame.function->slot_count);
    depth_ = 1;
    top_ = &frames_.front();
    enter_arguments(frame, std::move(arguments));
    values = loop();
    ended = true;
  } catch (Stop& stopped) {
    failure = std::move(stopped.failure);
  } catch (const Exited& exited) {
    outcome.exit_code = exited.code;
    ended = true;
  } catch (const Interrupted&) {
    RuntimeError error{"Interrupted", "interrupted", "", instruction_->loc, 130, {}};
    if (depth_ > 0) Engine::add_calls(error, call_chain());
    failure = fail(std::move(error));
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
    for (Value& value : values)
      outcome.results.push_back(result(value));
  }
  values.clear();
  return outcome;
}

// A card's own share is a little less than what is free: the driver, and modules, need some.
static uint64_t memory_of_card(const RunOptions& options, const Card& card) {
  return options.memory_limit ? options.memory_limit : card.facts().free / 10 * 9;
}

uint64_t memory_of_each_device(const RunOptions& options) {
  const auto count = static_cast<uint64_t>(std::max(1, options.cpu_devices));
  return options.memory_limit ? options.memory_limit : machine_memory() / 5 * 4 / count;
}

Devices make_devices(const RunOptions& options) {
  const bool poison = options.schedule_seed.has_value();
  Devices devices(std::max(1, options.cpu_devices), memory_of_each_device(options), poison);
  for (const auto& card : options.cards)
    devices.add(card, memory_of_card(options, *card), poison);
  return devices;
}

Outcome run(const Program& program, KernelProvider& kernels, std::vector<Argument> arguments, const RunOptions& options,
            OutputSink out, OutputSink err, Stats* stats, const Devices* given) {
  Stats local;
  Stats& counters = stats ? *stats : local;
  counters = {};
  auto start = std::chrono::steady_clock::now();
  std::optional<Devices> own;
  if (!given) own.emplace(make_devices(options));
  const Devices& devices = given ? *given : *own;
  Console console(std::move(out), std::move(err), options.flush_each_effect);
  Outcome outcome;
  auto tell = [&](MemoryWatch* watch) {
    for (int d = 0; d < devices.count(); ++d)
      devices.memory(d).tell(watch);
  };
  if (options.watch) tell(options.watch);
  {
    Interpreter interpreter(program, kernels, options, devices, console, counters);
    outcome = interpreter.run(std::move(arguments));
  }
  if (options.watch) tell(nullptr);
  counters.peak_memory = devices.peak();
  counters.allocations = devices.allocations();
  for (int d = 0; d < devices.count(); ++d)
    counters.device_peaks.push_back(devices.memory(d).peak());
  for (int d = 0; d < devices.count(); ++d)
    counters.device_names.push_back(device_name(devices.number(d)));
  counters.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.profile) {
    options.profile->finish();
    counters.issue_seconds = options.profile->issue_seconds();
    counters.busy_seconds = options.profile->busy_seconds();
    for (int d = 0; d < devices.count(); ++d)
      counters.device_busy.push_back(
          options.profile->threads()[options.profile->stream_of(static_cast<size_t>(d))]->busy);
  }
  return outcome;
}

std::string to_text(const Stats& s) {
  std::string text;
  auto line = [&](std::string_view key, const std::string& value) { text += fmt::format("{:<17} {}\n", key, value); };
  line("operations", std::to_string(s.operations));
  line("kernels launched", std::to_string(s.kernels_launched));
  if (s.kernels_on_cards) line("  on GPUs", std::to_string(s.kernels_on_cards));
  if (s.card_products)
    line("  products there", fmt::format("{} ({} by cuBLASLt)", s.card_products, s.library_products));
  line("kernels compiled", std::to_string(s.kernels_compiled));
  line("bytes moved", std::to_string(s.bytes));
  for (const auto& [operation, count] : s.off_card)
    line("not on a GPU", fmt::format("{} ({} times)", operation, count));
  line("copies", fmt::format("{} ({} bytes)", s.copies, s.bytes_copied));
  auto waits = [&](std::string_view key, std::initializer_list<Profile::Doing> reasons) {
    Stats::Waits sum;
    for (Profile::Doing why : reasons) {
      sum.count += s.waits[static_cast<size_t>(why)].count;
      sum.seconds += s.waits[static_cast<size_t>(why)].seconds;
    }
    line(key, fmt::format("{} ({:.6f} s)", sum.count, sum.seconds));
  };
  using Doing = Profile::Doing;
  waits("waits", {Doing::Value, Doing::Memory, Doing::InFlight, Doing::All});
  waits("  for a value", {Doing::Value});
  waits("  for memory", {Doing::Memory});
  waits("  for room", {Doing::InFlight});
  waits("  for all", {Doing::All});
  line("allocations", std::to_string(s.allocations));
  line("peak memory", fmt::format("{} bytes", s.peak_memory));
  for (size_t d = 0; s.device_peaks.size() > 1 && d < s.device_peaks.size(); ++d)
    line("  of " + s.device_names[d], fmt::format("{} bytes", s.device_peaks[d]));
  line("threads", std::to_string(s.threads));
  if (s.issue_seconds >= 0 && s.operations)
    line("issue", fmt::format("{:.3f} us per operation ({:.6f} s)",
                              s.issue_seconds * 1e6 / static_cast<double>(s.operations), s.issue_seconds));
  if (s.busy_seconds >= 0 && s.seconds > 0)
    line("busy", fmt::format("{:.1f} % of {} threads ({:.6f} s)", 100 * s.busy_seconds / s.seconds / s.threads,
                             s.threads, s.busy_seconds));
  for (size_t d = 0; d < s.device_busy.size() && s.seconds > 0; ++d)
    if (s.device_busy[d] > 0)
      line("  " + s.device_names[d],
           fmt::format("{:.1f} % ({:.6f} s)", 100 * s.device_busy[d] / s.seconds, s.device_busy[d]));
  line("time", fmt::format("{:.6f} s", s.seconds));
  return text;
}

} // namespace tl
