// tl test [PATH…]: runs the `test` blocks of files, a line for each.
#include "abi/visible.h"
#include "commands.h"
#include "compiler/compile.h"
#include "compiler/programs.h"
#include "driver/messages.h"
#include "ir/interpret/interpret.h"
#include "options.h"
#include "vm/io/io.h"
#include "vm/profile.h"
#include <fmt/format.h>

namespace tl::cli {
namespace {

struct TestFlags {
  RunFlags run;
  std::vector<std::string> paths;
  std::string filter;
};

struct Count {
  int passed = 0, failed = 0;
};

void run_file(const std::string& path, const TestFlags& flags, Count& count) {
  Frontend frontend;
  read_source(frontend, path);
  typed::Program typed = check_source(frontend);
  std::optional<std::vector<LoweredTest>> tests;
  if (!frontend.diagnostics.has_errors()) tests = lower_tests(frontend, typed, flags.run);
  show(frontend.diagnostics, frontend.sources);
  if (!tests) {
    fmt::print("FAIL  {}: rejected\n", visible(path));
    ++count.failed;
    return;
  }
  for (LoweredTest& test : *tests) {
    if (test.name.find(flags.filter) == std::string::npos) continue;
    ir::Module module = std::move(test.module);
    std::string printed;
    OutputSink sink = [&](std::string_view text) { printed += text; };
    Outcome outcome;
    if (flags.run.interpreter) {
      outcome = ir::interpret(module, {}, sink, {}, nullptr, flags.run.run.cpu_devices);
    } else {
      module = optimise(std::move(module), flags.run);
      Executable executable = make_executable(module, flags.run);
      Stats counters;
      RunOptions options = flags.run.run;
      std::optional<Profile> profile;
      if (flags.run.stats) options.profile = &profile.emplace(false);
      outcome = tl::run(executable.program, *executable.kernels, {}, options, sink, error_output(), &counters);
      if (flags.run.stats)
        fmt::print(stderr, "{}: {}\n{}{}", visible(path), visible(test.name), to_text(counters),
                   cache_text(executable.cache.get()));
    }
    bool passed = !outcome.error && outcome.exit_code == 0;
    ++(passed ? count.passed : count.failed);
    fmt::print("{}  {}: {}\n", passed ? "ok  " : "FAIL", visible(path), visible(test.name));
    if (passed) continue;
    std::fputs(printed.c_str(), stdout);
    std::fflush(stdout);
    if (outcome.error) report_failure(*outcome.error, module.locations, frontend.sources, frontend.file);
  }
}

} // namespace

void add_test(Command app, int& exit_code) {
  auto flags = std::make_shared<TestFlags>();
  Command command = app.add_command("test", "run the test blocks of files, or of all .tl files in folders");
  command.add_option("PATH", flags->paths, "files and folders (default: this folder)");
  command.add_option("--filter", flags->filter, "only tests whose names contain this");
  add_run_options(command, flags->run);
  command.on_chosen([flags, &exit_code] {
    flags->run.finish();
    flags->run.open_devices();
    if (flags->paths.empty()) flags->paths.push_back(".");
    Count count;
    for (const std::string& path : programs_under(flags->paths))
      run_file(path, *flags, count);
    fmt::print("{} passed, {} failed\n", count.passed, count.failed);
    exit_code = count.failed ? kRejected : kFine;
  });
}

} // namespace tl::cli
