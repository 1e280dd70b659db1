// tl fmt FILE…: writes programs in their canonical form.
#include "parser/format/format.h"
#include "commands.h"
#include "compiler/programs.h"
#include "driver/messages.h"
#include "options.h"
#include "vm/io/io.h"
#include <fmt/format.h>
#include <unistd.h>

namespace tl::cli {
namespace {

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t done = ::write(descriptor, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw std::system_error(errno, std::generic_category());
    text.remove_prefix(static_cast<size_t>(done));
  }
}

// The exit code for one file. Standard input goes to standard output.
int format_file(const std::string& path, bool check) {
  SourceManager sources;
  Diagnostics diagnostics;
  std::string before = read_program(path);
  FileId file = sources.add(path == "-" ? "<stdin>" : path, before);
  std::optional<std::string> text = format_source(sources, file, diagnostics);
  show(diagnostics, sources);
  if (!text) return kRejected;
  if (check) {
    if (*text == before) return kFine;
    fmt::print("{}\n", sources.name(file));
    return kRejected;
  }
  try {
    if (path == "-")
      write_all(STDOUT_FILENO, *text);
    else if (*text != before)
      write_file_atomically(path, [&](int descriptor) { write_all(descriptor, *text); });
  } catch (const IoError& error) {
    show("IoError", error.what());
    return kRuntimeError;
  } catch (const std::system_error& error) {
    show("IoError", fmt::format("standard output: {}", error.code().message()));
    return kRuntimeError;
  }
  return kFine;
}

} // namespace

void add_fmt(Command app, int& exit_code) {
  struct State {
    std::vector<std::string> paths;
    bool check = false;
  };
  auto state = std::make_shared<State>();
  Command command = app.add_command("fmt", "write programs in their canonical form, in place");
  command
      .add_option("FILE", state->paths, "programs and folders of them; - is standard input, written to standard output")
      .required();
  command.add_flag("--check", state->check, "only list the files that would change; exit code 1 if there are any");
  add_message_format(command);
  command.on_chosen([state, &exit_code] {
    for (const std::string& path : programs_under(state->paths))
      exit_code = std::max(exit_code, format_file(path, state->check));
  });
}

} // namespace tl::cli
