// tl explain KIND: the section of docs/errors.md about a kind of message.
#include "commands.h"
#include "lang/stdlib.h"
#include "lang/suggest.h"
#include "options.h"
#include <fmt/format.h>

namespace tl::cli {
namespace {

struct Section {
  std::string kind, text;
};

std::vector<Section> sections() {
  std::vector<Section> all;
  for (const EmbeddedFile& file : embedded_stdlib()) {
    if (file.name != "errors.md") continue;
    for (size_t at = file.text.find("\n## "); at != std::string::npos;) {
      size_t end = file.text.find("\n## ", at + 1);
      std::string text = file.text.substr(at + 4, end == std::string::npos ? end : end - at - 4);
      all.push_back({text.substr(0, text.find('\n')), text});
      at = end;
    }
  }
  return all;
}

// The examples indented, the first named what it is.
std::string for_terminal(const Section& section) {
  std::string out, line;
  int example = 0;
  bool inside = false;
  const bool is_warning = section.text.find("\nA warning of `tl check`") != std::string::npos;
  for (char c : section.text + "\n") {
    if (c != '\n') {
      line += c;
      continue;
    }
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) out += ++example == 2 ? "\nright:\n" : is_warning ? "\nwarned of:\n" : "\nrefused:\n";
    } else if (inside) {
      out += "    " + line + "\n";
    } else if (!line.empty()) {
      out += line + "\n";
      if (line == section.kind) out += "\n";
    }
    line.clear();
  }
  return out;
}

int explain(const std::string& kind) {
  std::vector<Section> all = sections();
  if (kind.empty()) {
    for (const Section& section : all)
      fmt::print("{}\n", section.kind);
    return kFine;
  }
  Nearest nearest(kind);
  for (const Section& section : all) {
    if (section.kind == kind) {
      std::fputs(for_terminal(section).c_str(), stdout);
      return kFine;
    }
    nearest.consider(section.kind);
  }
  throw UsageError(fmt::format("there is no kind of message `{}`{}; `tl explain` lists them", kind,
                               nearest.best().empty() ? "" : fmt::format(" (did you mean `{}`?)", nearest.best())));
}

} // namespace

void add_explain(Command app, int& exit_code) {
  auto kind = std::make_shared<std::string>();
  Command command = app.add_command("explain", "an error at length: its cause, an example, how to mend it");
  command.add_option("KIND", *kind, "the name in brackets after `error`; without it, all kinds");
  command.on_chosen([kind, &exit_code] { exit_code = explain(*kind); });
}

} // namespace tl::cli
