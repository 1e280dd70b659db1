// tl run FILE [ARGS]
#include "driver/run.h"
#include "abi/visible.h"
#include "backend/cache/disk_cache.h"
#include "cli/editor/terminal.h"
#include "commands.h"
#include "compiler/compile.h"
#include "driver/confine.h"
#include "driver/profile.h"
#include "ir/interpret/interpret.h"
#include "ir/lower/lower.h"
#include "options.h"
#include "parser/check/line_width.h"
#include "vm/audit.h"
#include <fmt/format.h>
#include <unistd.h>

namespace tl::cli {
namespace {

int run(RunFlags flags, const ImportFlags& import, const std::vector<std::string>& words, const std::string* code) {
  if (!code && words.empty()) throw UsageError("run needs a file (or -e CODE)");
  if (!code && words.front().size() > 1 && words.front()[0] == '-')
    throw UsageError(
        fmt::format("unknown option {}; tl run --help lists those that go before the file", words.front()));
  std::string path = code ? "<command line>" : words.front();
  std::vector<std::string> rest(words.begin() + (code ? 0 : 1), words.end());
  if (!rest.empty() && rest.front() == "--") rest.erase(rest.begin()); // it ends tl's own; a second is the program's

  Frontend frontend;
  if (code)
    read_source(frontend, path, code);
  else if (!read_source_or_model(frontend, path, import, flags))
    return kRejected;
  typed::Program typed = check_source(frontend);
  flags.open_devices();
  std::optional<ir::Module> lowered;
  if (!frontend.diagnostics.has_errors()) lowered = lower_source(frontend, typed, flags);
  show(frontend.diagnostics, frontend.sources);
  if (!lowered) return kRejected;

  ir::Module module = std::move(*lowered);
  ProgramArguments arguments = parse_arguments(module.interface, rest);
  if (arguments.help) {
    std::fputs(visible_lines(help_text(module.interface, "tl run " + path)).c_str(), stdout);
    return kFine;
  }

  if (flags.files.reach != FileRules::Reach::All) make_cache_folder(flags.cache_folder()); // while that can be done
  confine(flags, arguments, flags.cache_folder());
  if (flags.interpreter) {
    StandardOutput out;
    Outcome outcome = ir::interpret(module, arguments.values, out.sink(), {}, nullptr, flags.run.cpu_devices);
    return deliver(outcome, module.interface, module.locations, arguments, out, frontend.sources, frontend.file);
  }
  Executable executable = make_executable(optimise(std::move(module), flags), flags);
  auto run_with = [&](const RunSetup& setup) {
    return run_program(executable.program, *executable.kernels, arguments, setup, frontend.sources, frontend.file,
                       [&] { return cache_text(executable.cache.get()); });
  };
  if (!flags.audit) return run_with(flags);
  Audit audit;
  RunSetup watched = flags;
  watched.run.watch = &audit;
  const int exit_code = run_with(watched);
  const auto& locations = executable.program.locations;
  auto place = [&](LocId loc) {
    return place_text(place_of(loc, locations, frontend.sources, frontend.file), frontend.sources);
  };
  std::fputs(to_text(audit, place).c_str(), stderr);
  return audit.findings().empty() ? exit_code : kInternal;
}

} // namespace

void add_run(Command app, int& exit_code) {
  struct State {
    RunFlags flags;
    ImportFlags import;
    std::string code;
  };
  auto state = std::make_shared<State>();
  Command command = app.add_command("run", "compile and run a program: tl run [flags] FILE [the program's arguments]");
  command.leave_rest(); // all that follows FILE is the program's
  add_run_options(command, state->flags);
  add_looking_options(command, state->flags);
  add_model_options(command, state->import);
  Option inline_code = command.add_option("-e", state->code, "run this text");
  command.on_chosen([command, state, inline_code, &exit_code] {
    if (isatty(STDOUT_FILENO)) set_table_width(static_cast<int64_t>(editor::terminal_size().columns));
    state->flags.finish();
    exit_code = run(state->flags, state->import, command.rest(), inline_code.given() ? &state->code : nullptr);
  });
}

} // namespace tl::cli
