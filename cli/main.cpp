// The tl command. One file per command; this one finds which it is.
#include "commands.h"
#include "options.h"
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace tl::cli {
namespace {

const std::vector<std::string> kCommands = {"run", "check", "dump", "test", "explain", "version"};

// `tl FILE …` is `tl run FILE …`, `tl -e CODE` is `tl run -e CODE`; a #! line works through the first.
std::vector<std::string> normalise(std::vector<std::string> words) {
  if (words.empty()) return words;
  const std::string& first = words.front();
  bool is_command = std::find(kCommands.begin(), kCommands.end(), first) != kCommands.end();
  bool is_help = first == "-h" || first == "--help" || first == "--version";
  bool looks_like_file = first == "-" || first.find('.') != std::string::npos || first.find('/') != std::string::npos ||
                         access(first.c_str(), R_OK) == 0;
  if (!is_command && !is_help && (first[0] == '-' || looks_like_file)) words.insert(words.begin(), "run");
  return words;
}

int dispatch(std::vector<std::string> words) {
  CLI::App app{"tl: a small tensor language. Compiles and runs .tl programs.", "tl"};
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  int code = kFine;
  add_run(app, code);
  add_check(app, code);
  add_dump(app, code);
  add_test(app, code);
  add_explain(app, code);
  add_version(app, code);
  words = normalise(std::move(words));
  if (words.empty()) {
    std::fputs(app.help().c_str(), stdout);
    return kUsage;
  }
  std::reverse(words.begin(), words.end()); // CLI11 takes them from the back
  try {
    app.parse(words);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "tl: {}\n", error.what());
    return kUsage;
  }
  return code;
}

} // namespace
} // namespace tl::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN); // a closed pipe is a failing write, reported as such
  std::signal(SIGXFSZ, SIG_IGN); // and so is a file that may grow no further
  try {
    return tl::cli::dispatch({argv + 1, argv + argc});
  } catch (const tl::cli::UsageError& error) {
    fmt::print(stderr, "tl: {}\n", error.what());
    return tl::cli::kUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tl: internal error: {}\nThis is a fault of tl, not of the program.\n", error.what());
    return tl::cli::kInternal;
  }
}
