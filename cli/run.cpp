// tl run FILE [ARGS]
#include "commands.h"
#include "compile.h"
#include "driver/arguments.h"
#include "driver/messages.h"
#include "ir/interpret.h"
#include "ir/lower.h"
#include "profile.h"
#include "vm/idle.h"
#include "vm/interrupt.h"
#include "vm/io/io.h"
#include <atomic>
#include <csignal>
#include <fmt/format.h>
#include <unistd.h>

namespace tl::cli {
namespace {

std::atomic<bool> stopped{false};

void stop(int) {
  stopped = true;
  interrupt_kernels();
}

// The first Ctrl-C ends the run in order, so that what was recorded of it can be shown; the second ends the process.
// Not where the program asks for Ctrl-C itself.
const std::atomic<bool>* stop_on_interrupt(const Program& program) {
  for (const BcFunction& function : program.functions)
    for (const Instruction& i : function.code)
      if (i.op == BcOp::Host && i.host_op == HostOp::Interrupted) return nullptr;
  struct sigaction action {};
  action.sa_handler = stop;
  action.sa_flags = static_cast<int>(SA_NODEFER | SA_RESETHAND); // the handler may be left by a jump
  ::sigaction(SIGINT, &action, nullptr);
  return &stopped;
}

int run(const RunFlags& flags, const std::vector<std::string>& words, const std::string* code) {
  if (!code && words.empty()) throw UsageError("run needs a file (or -e CODE)");
  if (!code && words.front().size() > 1 && words.front()[0] == '-')
    throw UsageError(
        fmt::format("unknown option {}; tl run --help lists those that stand before the file", words.front()));
  std::string path = code ? "<command line>" : words.front();
  std::vector<std::string> rest(words.begin() + (code ? 0 : 1), words.end());

  Frontend frontend;
  read_source(frontend, path, code);
  typed::Program typed = check_source(frontend);
  std::optional<ir::Module> lowered;
  if (!frontend.diagnostics.has_errors()) lowered = lower_source(frontend, typed);
  show(frontend.diagnostics, frontend.sources);
  if (!lowered) return kRejected;

  ir::Module module = std::move(*lowered);
  ProgramArguments arguments = parse_arguments(module.interface, rest);
  if (arguments.help) {
    std::fputs(help_text(module.interface, path).c_str(), stdout);
    return kFine;
  }

  const ProgramInterface interface = module.interface;
  StandardOutput out;
  Outcome outcome;
  std::string stats;
  bool trace_failed = false;
  if (flags.interpreter) {
    outcome = ir::interpret(module, arguments.values, out.sink(), {}, nullptr, flags.run.cpu_devices);
  } else {
    module = optimise(std::move(module), flags);
    Executable executable = make_executable(module, flags);
    Stats counters;
    RunOptions options = flags.run;
    options.flush_each_effect = isatty(STDOUT_FILENO) != 0;
    std::optional<Profile> profile;
    const bool timeline = flags.explain_idle || !flags.trace.empty();
    if (flags.profile || flags.stats || timeline) options.profile = &profile.emplace(timeline);
    if (timeline) options.interrupt = stop_on_interrupt(executable.program);
    outcome = tl::run(executable.program, *executable.kernels, arguments.values, options, out.sink(), error_output(),
                      &counters);
    if (flags.stats) stats = to_text(counters) + cache_text(executable.cache.get());
    const auto& locations = executable.program.locations;
    if (flags.explain_idle)
      stats += to_text(explain_idle(*profile), [&](LocId loc) {
        return place_text(place_of(loc, locations, frontend.sources, frontend.file), frontend.sources);
      });
    if (flags.profile) stats += profile_table(*profile, counters, locations, frontend.sources, frontend.file);
    try {
      if (!flags.trace.empty()) write_trace(flags.trace, *profile, locations, frontend.sources, frontend.file);
    } catch (const IoError& error) {
      show(error.kind, error.what());
      trace_failed = true;
    }
  }
  int exit_code = outcome.exit_code;
  try {
    if (!outcome.error) deliver_results(interface, outcome.results, arguments.outputs, out.sink());
    out.flush();
  } catch (const IoError& error) {
    show(error.kind, error.what());
    exit_code = kRuntimeError;
  }
  if (outcome.error) exit_code = report_failure(*outcome.error, module.locations, frontend.sources, frontend.file);
  std::fputs(stats.c_str(), stderr);
  return exit_code == kFine && trace_failed ? kRuntimeError : exit_code;
}

} // namespace

void add_run(CLI::App& app, int& exit_code) {
  struct State {
    RunFlags flags;
    std::string code;
  };
  auto state = std::make_shared<State>();
  CLI::App* command =
      app.add_subcommand("run", "compile and run a program: tl run [flags] FILE [the program's arguments]");
  command->prefix_command(); // all that follows FILE is the program's
  state->flags.add_to(*command);
  state->flags.add_profiling_to(*command);
  CLI::Option* inline_code = command->add_option("-e", state->code, "run this text");
  command->callback([command, state, inline_code, &exit_code] {
    state->flags.finish();
    exit_code = run(state->flags, command->remaining(), inline_code->count() ? &state->code : nullptr);
  });
}

} // namespace tl::cli
