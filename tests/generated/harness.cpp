#include "harness.h"
#include "backend/cpu/jit.h"
#include "backend/kernel/lower.h"
#include "ir/graph/text.h"
#include "ir/graph/verify.h"
#include "ir/interpret/interpret.h"
#include "passes/pipeline.h"
#include "passes/schedule/schedule.h"
#include "vm/vm.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

namespace tl::generated {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// What runs, for a crash in generated code.
char running[200];
void say_what_ran(int signal) {
  const char text[] = "\ncrashed in: ";
  (void)!write(2, text, sizeof text - 1);
  (void)!write(2, running, std::strlen(running));
  (void)!write(2, "\n", 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}
void note_running(const std::string& what) {
  static bool once = [] {
    for (int signal : {SIGSEGV, SIGILL, SIGFPE, SIGABRT, SIGBUS})
      std::signal(signal, say_what_ran);
    return true;
  }();
  (void)once;
  std::snprintf(running, sizeof running, "%s", what.c_str());
}

bool is_number(const std::string& dim) { return dim[0] >= '0' && dim[0] <= '9'; }
std::string dim_text(const std::string& dim) { return is_number(dim) ? dim : "%" + dim; }

// The command line of a graph whose entry has only tensors and scalars.
void add_interface(ir::Module& module) {
  const ir::Function& entry = module.functions[module.entry];
  module.interface = {};
  auto dim_of_later = [&](ir::ValueId id) {
    for (ir::ValueId p : entry.body.params)
      for (const ir::Dim& dim : entry[p].type.dims)
        if (dim.value == id) return true;
    return false;
  };
  for (ir::ValueId id : entry.body.params) {
    const ir::Type& type = entry[id].type;
    if (!type.is_tensor() || dim_of_later(id)) continue;
    ParamInfo info;
    info.kind = type.dims.empty() ? ParamInfo::Kind::Scalar : ParamInfo::Kind::Tensor;
    info.name = entry[id].name;
    info.dtype = type.dtype;
    info.rank = static_cast<uint32_t>(type.dims.size());
    module.interface.params.push_back(info);
  }
  for (ir::ValueId id : entry.body.yields) {
    const ir::Type& type = entry[id].type;
    if (type.kind == ir::Type::Kind::Token) continue;
    ResultInfo& result = module.interface.results.emplace_back();
    result.is_str = !type.is_tensor();
    result.is_scalar = type.is_scalar();
    result.dtype = type.dtype;
    result.rank = static_cast<uint32_t>(type.dims.size());
  }
}

std::string value_text(DType type, Scalar value) {
  if (is_float(type)) return fmt::format("{:.17g}", convert_scalar(type, DType::F64, value).as<double>());
  if (is_unsigned(type))
    return std::to_string(convert_scalar(type == DType::Key ? DType::U64 : type, DType::U64, value).as<uint64_t>());
  return std::to_string(convert_scalar(type, DType::I64, value).as<int64_t>());
}

std::string sizes_text(const std::vector<int64_t>& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

std::string inputs_text(const std::vector<Argument>& inputs) {
  std::string text;
  for (const Argument& a : inputs)
    if (auto* t = std::get_if<HostTensor>(&a)) {
      text += fmt::format(" {}{}", name_of(t->dtype), sizes_text(t->dims));
      if (t->dims.empty()) text += "=" + value_text(t->dtype, t->get(0));
    }
  return text;
}

struct Run {
  Outcome outcome;
  std::string printed;
};

// Where two runs differ, or nothing.
std::string difference(const Run& expected, const Run& got) {
  const auto &e = expected.outcome, &g = got.outcome;
  auto error_text = [](const Outcome& o) {
    return o.error ? o.error->kind + ": " + o.error->message : std::string("no error");
  };
  if (error_text(e) != error_text(g)) return fmt::format("expected {}, got {}", error_text(e), error_text(g));
  if (e.exit_code != g.exit_code) return fmt::format("expected exit code {}, got {}", e.exit_code, g.exit_code);
  if (expected.printed != got.printed)
    return fmt::format("expected output `{}`, got `{}`", expected.printed, got.printed);
  if (e.results.size() != g.results.size())
    return fmt::format("expected {} results, got {}", e.results.size(), g.results.size());
  for (size_t r = 0; r < e.results.size(); ++r) {
    const auto *x = std::get_if<HostTensor>(&e.results[r]), *y = std::get_if<HostTensor>(&g.results[r]);
    if (!x != !y) return fmt::format("result {}: of another kind", r);
    if (!x) continue;
    if (x->dtype != y->dtype || x->dims != y->dims)
      return fmt::format("result {}: expected {}{}, got {}{}", r, name_of(x->dtype), sizes_text(x->dims),
                         name_of(y->dtype), sizes_text(y->dims));
    int64_t wrong = 0;
    std::string first;
    for (int64_t i = 0; i < x->count(); ++i) {
      Scalar a = x->get(i), b = y->get(i);
      if (a == b || (is_nan(x->dtype, a) && is_nan(x->dtype, b))) continue;
      if (wrong++ == 0)
        first = fmt::format("[{}] expected {} (0x{:x}), got {} (0x{:x})", i, value_text(x->dtype, a), a.bits,
                            value_text(x->dtype, b), b.bits);
    }
    if (wrong) return fmt::format("result {}: {} of {} differ, first {}", r, wrong, x->count(), first);
  }
  return {};
}

Run interpreted(const ir::Module& module, const std::vector<Argument>& inputs) {
  Run run;
  run.outcome =
      ir::interpret(module, inputs, [&](std::string_view text) { run.printed += text; }, [](std::string_view) {});
  return run;
}

struct Mode {
  const char* name;
  int threads;
  bool sync;
};
constexpr Mode kModes[] = {{"1 worker", 1, false}, {"2 workers", 2, false}, {"sync", 2, true}};

} // namespace

struct Tester::Expected : Run {};

std::string type_text(DType dtype, const std::vector<std::string>& dims) {
  std::string text(name_of(dtype));
  if (dims.empty()) return text;
  std::vector<std::string> sizes;
  for (const std::string& d : dims)
    sizes.push_back(dim_text(d));
  return fmt::format("{}[{}]", text, fmt::join(sizes, ", "));
}

std::string program(const std::vector<Operand>& operands, const std::string& body,
                    const std::vector<std::string>& results, const std::string& tables, const std::string& token) {
  std::string params, head;
  std::vector<std::string> known;
  for (const Operand& x : operands) {
    std::vector<std::string> given; // its sizes as parameters: the size itself where it is met first
    bool same = true;
    for (size_t i = 0; i < x.dims.size(); ++i) {
      const std::string& dim = x.dims[i];
      bool fresh = !is_number(dim) && std::find(known.begin(), known.end(), dim) == known.end();
      if (fresh) known.push_back(dim);
      given.push_back(fresh ? dim : fmt::format("{}_{}", x.name, i));
      same = same && fresh;
      params += fmt::format(", %{}: i64", given.back());
    }
    params += fmt::format(", %{}{}: {}", x.name, same ? "" : "_in", type_text(x.dtype, given));
    // Equal sizes are the same value: the harness gives fitting inputs, so there is no check here.
    if (!same) head += fmt::format("  %{}: {} = reshape %{}_in\n", x.name, type_text(x.dtype, x.dims), x.name);
  }
  std::string yields;
  for (const std::string& r : results)
    yields += ", %" + r;
  return fmt::format("{}entry @main\nfunc @main(%t: token{}) {{\n{}{}  yield %{}{}\n}}\n", tables, params, head, body,
                     token, yields);
}

void Tester::begin(const std::string& section) {
  if (!section_.empty())
    fmt::print("{:<14} {:5} cases {:6} passed {:5} failed  {:.1f} s\n", section_, cases_ - section_cases_,
               passed_ - section_passed_, failed_ - section_failed_, now() - section_start_);
  std::fflush(stdout);
  section_ = section;
  section_passed_ = passed_, section_failed_ = failed_, section_cases_ = cases_, section_start_ = now();
}

int Tester::finish() {
  begin("");
  fmt::print("{} passed, {} failed\n", passed_, failed_);
  return failed_ ? 1 : 0;
}

void Tester::fail(const std::string& name, const std::string& what, const std::string& detail) {
  ++failed_;
  fmt::print("FAILED {}: {}\n", name, what);
  if (options.verbose && !detail.empty()) fmt::print("{}\n", detail);
  std::fflush(stdout);
  if (options.stop) std::exit(finish());
}

void Tester::run(const Case& test) {
  if (!wants(test.name)) return;
  ir::Module module;
  try {
    module = ir::parse_text(test.text);
  } catch (const std::exception& e) {
    return fail(test.name, fmt::format("text: {}", e.what()), test.text);
  }
  add_interface(module);
  run(test.name, module, test.inputs);
}

void Tester::run(const std::string& name, const ir::Module& module, const std::vector<std::vector<Argument>>& inputs) {
  if (!wants(name)) return;
  ++cases_;
  note_running(name + " (reference)");
  if (options.verbose) {
    fmt::print("{}\n", name);
    std::fflush(stdout);
  }
  auto faults = ir::verify(module);
  if (!faults.empty()) return fail(name, "verify: " + faults[0], ir::to_text(module));
  std::vector<Expected> expected;
  try {
    for (const auto& input : inputs)
      expected.push_back({interpreted(module, input)});
  } catch (const std::exception& e) {
    return fail(name, fmt::format("interpreter: {}", e.what()), ir::to_text(module));
  }
  compiled(name, module, inputs, expected, "");
  std::vector<std::string> optional;
  for (const PassInfo& pass : passes())
    if (!pass.required) optional.emplace_back(pass.name);
  if (options.full)
    for (const std::string& pass : optional)
      compiled(name, module, inputs, expected, pass);
  else if (!optional.empty())
    compiled(name, module, inputs, expected, optional[static_cast<size_t>(cases_) % optional.size()]);
}

void Tester::compiled(const std::string& name, const ir::Module& module,
                      const std::vector<std::vector<Argument>>& inputs, const std::vector<Expected>& expected,
                      const std::string& disabled) {
  const std::string config = disabled.empty() ? "" : " without " + disabled;
  note_running(name + config);
  ir::Module optimised;
  Scheduled scheduled;
  std::unique_ptr<KernelProvider> provider;
  std::string step = "passes";
  try {
    PassOptions options;
    options.verify = true;
    if (!disabled.empty()) options.disabled.insert(disabled);
    optimised = run_passes(module, options);
    step = "schedule";
    scheduled = schedule(optimised);
    std::vector<kir::Kernel> kernels;
    for (const KernelRef& ref : scheduled.kernels) {
      step = "kernel lowering";
      kernels.push_back(lower_kernel(optimised, optimised.functions[ref.function], ref.node, Target::Cpu));
      kir::Kernel on_card = lower_kernel(optimised, optimised.functions[ref.function], ref.node, Target::Gpu);
      const std::string its_name = std::exchange(on_card.name, "k");
      std::string text = kir::to_text(on_card);
      on_card.name = its_name;
      kernels_.emplace(std::move(text), std::move(on_card));
    }
    JitOptions jit;
    if (!disabled.empty()) jit.level = 0;
    step = "jit";
    provider = make_jit(std::move(kernels), jit);
  } catch (const std::exception& e) {
    return fail(name + config, fmt::format("{}: {}", step, e.what()),
                ir::to_text(step == "passes" ? module : optimised));
  }
  for (const Mode& mode : kModes) {
    if (!disabled.empty() && mode.threads == 1) continue;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string where = fmt::format("{}{}, {}, inputs{}", name, config, mode.name, inputs_text(inputs[i]));
      note_running(where);
      RunOptions options;
      options.threads = mode.threads;
      options.sync = mode.sync;
      Run got;
      std::string wrong;
      try {
        got.outcome = tl::run(
            scheduled.program, *provider, inputs[i], options, [&](std::string_view text) { got.printed += text; },
            [](std::string_view) {});
        wrong = difference(expected[i], got);
      } catch (const std::exception& e) {
        wrong = fmt::format("threw: {}", e.what());
      }
      if (wrong.empty()) {
        pass();
        continue;
      }
      // Whose fault: does the interpreter see the difference in the graph after the passes?
      std::string blame = "the kernels or the VM";
      try {
        if (!difference(expected[i], interpreted(optimised, inputs[i])).empty()) blame = "the passes";
      } catch (const std::exception& e) {
        blame = fmt::format("the passes (interpreter: {})", e.what());
      }
      fail(where, fmt::format("{} (blame {})", wrong, blame),
           ir::to_text(module) + "--- after the passes\n" + ir::to_text(optimised));
      return; // the rest says the same again
    }
  }
}

} // namespace tl::generated
