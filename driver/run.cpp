#include "driver/run.h"
#include "abi/visible.h"
#include "driver/profile.h"
#include "driver/usage.h"
#include "vm/idle.h"
#include "vm/interrupt.h"
#include "vm/io/access.h"
#include "vm/io/io.h"
#include "vm/ranks.h"
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <system_error>
#include <unistd.h>

namespace tl::driver {
namespace {

std::atomic<bool> stopped{false};

void stop(int) {
  stopped = true;
  interrupt_kernels();
}

// The first Ctrl-C ends the run in order: what it printed and what was recorded of it are shown, and where it was; the
// second ends the process.
// Not where the program asks for Ctrl-C itself.
const std::atomic<bool>* stop_on_interrupt(const Program& program) {
  for (const BcFunction& function : program.functions)
    for (const Instruction& i : function.code)
      if (i.op == BcOp::Host && i.host_op == HostOp::Interrupted) return nullptr;
  struct sigaction action{};
  action.sa_handler = stop;
  action.sa_flags = static_cast<int>(SA_NODEFER | SA_RESETHAND); // the handler may be left by a jump
  ::sigaction(SIGINT, &action, nullptr);
  return &stopped;
}

// A process among several ends with the others: it waits for them where all is well, else it ends them too.
int leave(int code) {
  if (!Ranks::several()) return code;
  if (code == kFine) {
    try {
      Ranks::world().finish();
      return code;
    } catch (const RuntimeError& error) {
      show(error.kind, error.message);
      code = kRuntimeError;
    }
  }
  std::fflush(nullptr);
  Ranks::world().abort(code);
}

// Standard output could not be written. A reader that has gone, as in `tl doc | head`, knows why.
int unwritten(int error) {
  pollfd output{STDOUT_FILENO, 0, 0};
  const bool gone = error == EPIPE || (::poll(&output, 1, 0) == 1 && (output.revents & POLLERR));
  if (!gone) show("IoError", fmt::format("standard output: {}", error ? std::strerror(error) : "it cannot be written"));
  return kRuntimeError;
}

// What a command has printed is written, or its exit code says that it is not.
int with_output_written(int code) {
  errno = 0;
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout);
  return failed && code == kFine ? unwritten(errno) : code;
}

int without_memory() {
  show("OutOfMemory", "the system gives no more memory");
  return kRuntimeError;
}

} // namespace

int deliver(const Outcome& outcome, const ProgramInterface& interface, const std::vector<Location>& locations,
            const ProgramArguments& arguments, StandardOutput& out, const SourceManager& sources, FileId main) {
  int exit_code = outcome.exit_code;
  const NamedByUser by_user;
  try {
    if (!outcome.error) deliver_results(interface, outcome.results, arguments.outputs, out.sink());
    out.flush();
  } catch (const IoError& error) {
    if (!out.reader_is_gone()) show(error.kind, error.what());
    exit_code = kRuntimeError;
  }
  if (outcome.error && outcome.error->kind == "IoError" && out.reader_is_gone()) return outcome.error->exit_code;
  if (outcome.error) exit_code = report_failure(*outcome.error, locations, sources, main);
  return exit_code;
}

int run_program(const Program& program, KernelProvider& kernels, const ProgramArguments& arguments,
                const RunSetup& setup, const SourceManager& sources, FileId main,
                const std::function<std::string()>& more_stats) {
  check_devices(setup);
  const auto& locations = program.locations;
  StandardOutput out;
  RunOptions options = setup.run;
  options.flush_each_effect = isatty(STDOUT_FILENO) != 0;
  std::optional<Profile> profile;
  const bool timeline = setup.explain_idle || !setup.trace.empty();
  if (setup.looks() || setup.stats) options.profile = &profile.emplace(timeline);
  options.interrupt = stop_on_interrupt(program);
  Stats counters;
  Outcome outcome = tl::run(program, kernels, arguments.values, options, out.sink(), error_output(), &counters);

  std::string seen;
  if (setup.stats) seen = to_text(counters) + (more_stats ? more_stats() : "");
  if (setup.explain_idle)
    for (const IdleReport& report : explain_idle(*profile))
      seen += to_text(report, [&](LocId loc) { return place_text(place_of(loc, locations, sources, main), sources); });
  if (setup.profile) seen += profile_table(*profile, counters, locations, sources, main);
  bool trace_failed = false;
  try {
    const NamedByUser by_user;
    if (!setup.trace.empty()) write_trace(setup.trace, *profile, locations, sources, main);
  } catch (const IoError& error) {
    show(error.kind, error.what());
    trace_failed = true;
  }
  int exit_code = deliver(outcome, program.interface, locations, arguments, out, sources, main);
  std::fputs(visible_lines(seen).c_str(), stderr);
  return exit_code == kFine && trace_failed ? kRuntimeError : exit_code;
}

int guarded(const std::function<int()>& body) {
  std::signal(SIGPIPE, SIG_IGN); // a closed pipe is a failing write, reported as such
  std::signal(SIGXFSZ, SIG_IGN); // and so is a file that may grow no further
  try {
    return leave(with_output_written(body()));
  } catch (const std::system_error& error) { // fmt's, of a write that failed
    if (std::ferror(stdout)) return leave(unwritten(error.code().value()));
    if (error.code().value() == EAGAIN || error.code().value() == ENOMEM) return leave(without_memory());
    show("InternalError", fmt::format("internal error: {}; this is a fault of tl, not of the program", error.what()));
    return leave(kInternal);
  } catch (const UsageError& error) {
    show("UsageError", error.what());
    return kUsage;
  } catch (const IoError& error) {
    show(error.kind, error.what());
    return leave(kRuntimeError);
  } catch (const std::bad_alloc&) {
    return leave(without_memory());
  } catch (const std::exception& error) {
    show("InternalError", fmt::format("internal error: {}; this is a fault of tl, not of the program", error.what()));
    return leave(kInternal);
  }
}

} // namespace tl::driver
