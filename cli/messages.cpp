#include "messages.h"
#include <cstdio>
#include <fmt/format.h>

namespace tl::cli {
namespace {

bool json = false;

} // namespace

void add_message_format(CLI::App& app) {
  app.add_option_function<std::string>(
         "--message-format", [](const std::string& format) { json = format == "json"; },
         "how messages are shown: text, or json (one object a line)")
      ->envname("TL_MESSAGE_FORMAT")
      ->check(CLI::IsMember({"text", "json"}))
      ->trigger_on_parse(); // a wrong flag further right is shown that way too
}

void show(const Diagnostic& diagnostic, const SourceManager& sources) {
  std::fputs((json ? render_json(diagnostic, sources) : render(diagnostic, sources)).c_str(), stderr);
}

void show(const Diagnostics& diagnostics, const SourceManager& sources) {
  for (const Diagnostic& diagnostic : diagnostics.sorted())
    show(diagnostic, sources);
}

void show(const std::string& kind, const std::string& message) {
  if (!json) {
    fmt::print(stderr, "tl: {}\n", message);
    return;
  }
  Diagnostic diagnostic;
  diagnostic.kind = kind;
  diagnostic.message = message;
  std::fputs(render_json(diagnostic, SourceManager()).c_str(), stderr);
}

} // namespace tl::cli
