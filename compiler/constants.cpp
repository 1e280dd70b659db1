#include "compiler/constants.h"
#include "compiler/compile.h"
#include "ir/interpret/interpret.h"
#include "vm/interrupt.h"
#include <chrono>
#include <condition_variable>
#include <fmt/format.h>
#include <mutex>
#include <thread>

namespace tl::compiler {
namespace {

// Ends a run after some time, or with the one around it. While it lives.
class Watch {
public:
  Watch(double seconds, const std::atomic<bool>* interrupt)
      : end_(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds))),
        interrupt_(interrupt), thread_([this] { watch(); }) {}
  ~Watch() {
    {
      std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  const std::atomic<bool>* stop() const { return &stop_; }

private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(50), [&] { return done_; })) {
      if (std::chrono::steady_clock::now() < end_ && !(interrupt_ && *interrupt_)) continue;
      stop_ = true;
      interrupt_kernels(); // again each time: another kernel may have begun meanwhile
    }
  }

  const std::chrono::steady_clock::time_point end_;
  const std::atomic<bool>* interrupt_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_; // last: it uses the others
};

} // namespace

RunFlags flags_of_constants(const RunFlags& flags) {
  RunFlags own = flags;
  own.run = RunOptions();
  own.run.threads = flags.run.threads;
  own.run.sync = flags.run.sync;
  own.run.schedule_seed = flags.run.schedule_seed;
  own.run.listens = false;
  own.time_passes = false;
  return own;
}

ComputedConstant compute(ir::Module module, const RunFlags& flags, const std::vector<Argument>& arguments,
                         const std::atomic<bool>* interrupt) {
  const Watch watch(flags.const_seconds, interrupt);
  const OutputSink nothing = [](std::string_view) {};
  if (flags.interpreter) {
    Outcome outcome = ir::interpret(module, arguments, nothing, nothing, watch.stop());
    return {std::move(outcome), std::move(module.locations)};
  }
  Executable executable = make_executable(optimise(std::move(module), flags), flags);
  RunOptions options = flags.run;
  options.interrupt = watch.stop();
  Outcome outcome = tl::run(executable.program, *executable.kernels, arguments, options, nothing, nothing);
  return {std::move(outcome), std::move(executable.program.locations)};
}

std::optional<ir::Constants> compute_constants(const typed::Program& program, const SourceManager& sources, FileId main,
                                               Diagnostics& diagnostics, const RunFlags& flags,
                                               const std::atomic<bool>* interrupt) {
  ir::Constants values;
  const std::vector<const typed::Expr*> wanted = ir::constants_of(program);
  if (wanted.empty()) return values;
  const RunFlags own = flags_of_constants(flags);
  for (const typed::Expr* constant : wanted) {
    const Span name = constant->as<typed::BlockExpr>().constant.name;
    ir::ConstantProgram computing;
    std::optional<ir::Module> module = expand_lowered(
        [&] {
          computing = ir::lower_constant(program, sources, *constant, values);
          return std::move(computing.module);
        },
        sources, main, diagnostics, own.pass_options());
    if (!module) return std::nullopt;
    auto [outcome, locations] = compute(std::move(*module), own, {}, interrupt);
    if (!outcome.error && outcome.exit_code == kFine) {
      values[ir::key_of(*constant)] = ir::value_of(computing, std::move(outcome.results));
      continue;
    }
    const auto text = sources.text(name.file).substr(name.begin, name.end - name.begin);
    if (interrupt && *interrupt) {
      diagnostics.error("Interrupted", name, fmt::format("the computing of the const `{}` was interrupted", text));
      return std::nullopt;
    }
    if (!outcome.error || outcome.error->kind == "Interrupted") { // between two operations there is no error
      diagnostics.error(
          "NotConstant", name,
          fmt::format("the const `{}` is not computed after {} seconds of compiling", text, flags.const_seconds),
          "does it end? `--const-seconds` gives it longer, and a `let` is computed when the program runs");
      return std::nullopt;
    }
    Diagnostic d = diagnostic_of(*outcome.error, locations, sources, main);
    if (d.span.valid()) d.labels.insert(d.labels.begin(), {d.span, "here, when the const is computed"});
    diagnostics.error(d.kind, name, d.message, d.hint, std::move(d.labels));
    return std::nullopt;
  }
  return values;
}

} // namespace tl::compiler
