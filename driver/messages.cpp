#include "driver/messages.h"
#include "abi/visible.h"
#include "lang/place.h"
#include "vm/io/io.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>

namespace tl::driver {
namespace {

bool json = false;
thread_local KeptMessages* kept = nullptr;

Span span_of(LocId loc, const std::vector<Location>& locations, const SourceManager& sources, FileId main) {
  if (loc.index == 0) return {};
  const Location& place = locations[loc.index];
  if (main.valid() && sources.name(main) == place.file) return {main, place.begin, place.end};
  for (uint32_t i = 0; i < sources.file_count(); ++i)
    if (sources.name(FileId{i}) == place.file) return {FileId{i}, place.begin, place.end};
  return {};
}

} // namespace

void show_as_json(bool wanted) { json = wanted; }

KeptMessages::KeptMessages() : outer_(kept) { kept = this; }
KeptMessages::~KeptMessages() { kept = outer_; }

void show(const Diagnostic& diagnostic, const SourceManager& sources) {
  if (kept) {
    KeptMessages::Message message{diagnostic, "", {}, render(diagnostic, sources)};
    if (diagnostic.span.valid()) {
      message.file = sources.name(diagnostic.span.file);
      message.place = sources.line_column(diagnostic.span);
    }
    return kept->all.push_back(std::move(message));
  }
  std::fputs((json ? render_json(diagnostic, sources) : render(diagnostic, sources)).c_str(), stderr);
}

void show(const Diagnostics& diagnostics, const SourceManager& sources) {
  for (const Diagnostic& diagnostic : diagnostics.sorted())
    show(diagnostic, sources);
}

void show(const std::string& kind, const std::string& message) {
  if (!json && !kept) {
    std::fputs(fmt::format("tl: {}\n", visible(message)).c_str(),
               stderr); // fmt::print would throw where stderr is closed
    return;
  }
  Diagnostic diagnostic;
  diagnostic.kind = kind;
  diagnostic.message = message;
  show(diagnostic, SourceManager());
}

Span place_of(LocId loc, const std::vector<Location>& locations, const SourceManager& sources, FileId main) {
  return span_of(user_place(loc, locations), locations, sources, main);
}

Diagnostic diagnostic_of(const RuntimeError& error, const std::vector<Location>& locations,
                         const SourceManager& sources, FileId main) {
  Diagnostic diagnostic;
  diagnostic.kind = error.kind;
  diagnostic.message = error.message;
  diagnostic.hint = error.hint;
  auto in_library = [&](LocId loc) { return loc.index != 0 && is_library_file(locations[loc.index].file); };
  LocId place = user_place(error.loc, locations);
  // A call that was not inlined: its callers are in the notes.
  for (const auto& [text, loc] : error.notes)
    if (in_library(place) && !in_library(user_place(loc, locations))) place = user_place(loc, locations);
  diagnostic.span = span_of(place, locations, sources, main);
  for (const auto& [text, loc] : error.notes) {
    Span span = span_of(loc, locations, sources, main);
    if (span.valid() && !in_library(loc) && loc != place) diagnostic.labels.push_back({span, text});
  }
  // The way from the top of the program to the place: who called whom.
  for (LocId loc = place; loc.index != 0 && locations[loc.index].caller.index != 0;) {
    LocId caller = locations[loc.index].caller;
    Span span = span_of(caller, locations, sources, main);
    if (span.valid())
      diagnostic.labels.push_back({span, fmt::format("called here: {}", locations[loc.index].function)});
    loc = caller;
  }
  // What a derivative keeps for its way back is the usual reason.
  bool derived = false;
  for (LocId loc = error.loc; loc.index != 0; loc = locations[loc.index].caller) {
    std::string_view function = locations[loc.index].function;
    derived = derived || function.find("grad(") != function.npos || function.starts_with("vjp(");
  }
  if (derived && error.kind == "OutOfMemory" && diagnostic.hint.empty())
    diagnostic.hint = "the derivative keeps what it needs of every step; with `checkpoint(f)` around a part of the "
                      "function, that part is computed again instead";
  return diagnostic;
}

int report_failure(const RuntimeError& error, const std::vector<Location>& locations, const SourceManager& sources,
                   FileId main) {
  show(diagnostic_of(error, locations, sources, main), sources);
  return error.exit_code;
}

OutputSink error_output() {
  return [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); };
}

OutputSink flushed_output(std::FILE* file) {
  return [file](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), file);
    std::fflush(file);
  };
}

OutputSink StandardOutput::sink() {
  return [this](std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) fail();
  };
}

void StandardOutput::flush() {
  if (std::fflush(stdout) != 0) fail();
}

void StandardOutput::fail() {
  is_gone_ = errno == EPIPE;
  throw IoError(fmt::format("standard output: {}", std::strerror(errno)));
}

} // namespace tl::driver
