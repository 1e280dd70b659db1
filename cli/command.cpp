// The tl command. One file per command; this one finds which it is.
#include "cli/command.h"
#include "backend/cpu/bounded.h"
#include "commands.h"
#include "driver/run.h"
#include "lang/deep_stack.h"
#include "lang/suggest.h"
#include "options.h"
#include <fmt/format.h>
#include <unistd.h>

namespace tl::cli {
namespace {

// `tl FILE …` is `tl run FILE …`, `tl -e CODE` is `tl run -e CODE`; a #! line works through the first. Throws
// UsageError for a word that is neither a command nor a file.
std::vector<std::string> normalise(Command app, std::vector<std::string> words) {
  if (words.empty() && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) return {"repl"};
  if (words.empty()) return words;
  if (words.front() == "help") { // `tl help COMMAND` is `tl COMMAND --help`
    if (words.size() == 1) return {"--help"};
    for (const Command& command : app.commands())
      if (words.size() == 2 && command.name() == words[1]) return {words[1], "--help"};
  }
  const std::string& first = words.front();
  Nearest nearest(first);
  for (const Command& command : app.commands()) {
    if (command.name() == first) return words;
    nearest.consider(command.name());
  }
  if (first == "-h" || first == "--help" || first == "--version" || first == "-V") return words;
  bool is_file = first.find_first_of("./-") != std::string::npos || access(first.c_str(), R_OK) == 0;
  if (!is_file)
    throw UsageError(fmt::format("there is no command or file '{}'{}", first,
                                 nearest.best().empty() ? "; tl --help lists the commands"
                                                        : fmt::format("; did you mean 'tl {}'?", nearest.best())));
  words.insert(words.begin(), "run");
  return words;
}

int dispatch(std::vector<std::string> words) {
  int code = kFine;
  auto add_commands = [&code](Command app) {
    add_run(app, code);
    add_import(app, code);
    add_check(app, code);
    add_build(app, code);
    add_fmt(app, code);
    add_test(app, code);
    add_dump(app, code);
    add_doc(app, code);
    add_explain(app, code);
    add_version(app, code);
    add_devices(app, code);
    add_repl(app, code);
    add_kernel(app);
    add_lsp(app, code);
    add_completions(app);
    add_help(app);
  };
  return parse_command_line(std::move(words), version_text(), add_commands, normalise, code);
}

} // namespace

int run_command(int argc, char** argv) {
  const int exit_code = guarded([&] {
    int code = 0;
    on_deep_stack([&] { code = dispatch({argv + 1, argv + argc}); });
    return end_of_cards(code);
  });
  return cpu::end_of_left_behind(exit_code);
}

} // namespace tl::cli
