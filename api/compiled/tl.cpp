// The functions of tl.h that compile.
#include "api/compiled/function.h"
#include "api/compiled/session.h"
#include "cli/command.h"
#include "cli/editor/indent.h"
#include "parser/syntax/names.h"
#include "parser/syntax/parse.h"
#include <algorithm>
#include <cctype>
#include <cstring>
#include <fmt/format.h>

namespace tl::api {
namespace {

const char* text_of(const char* text, const char* what) {
  if (!text) usage(kWrongValue, fmt::format("the {} is null", what));
  return text;
}

std::string lines_of(const std::vector<std::string>& texts) {
  std::string lines;
  for (const std::string& text : texts)
    lines += text + "\n";
  return lines;
}

// Until the next call of this thread that gives one.
void give_text(const char** to, std::string text) {
  static thread_local std::string given;
  given = std::move(text);
  if (to) *to = given.c_str();
}

} // namespace

extern "C" {

int tl_session_open(tl_session** session) {
  return guarded([&] {
    if (!session) usage(kWrongValue, "the place for the session is null");
    *session = new tl_session{std::make_shared<CompiledSession>()};
  });
}

int tl_session_add_source(tl_session* session, const char* name, const char* text) {
  return guarded([&] { compiled(session)->add_source(text_of(name, "name"), text_of(text, "text")); });
}
int tl_session_add_file(tl_session* session, const char* path) {
  return guarded([&] { compiled(session)->add_file(text_of(path, "path")); });
}

int tl_session_run(tl_session* session, const char* name, const char* text) {
  return guarded([&] { compiled(session)->run_piece(text_of(name, "name"), text_of(text, "text")); });
}
int tl_session_bind(tl_session* session, const char* name, const tl_argument* value) {
  return guarded([&] {
    if (!value) usage(kWrongValue, "the value is null");
    if (!is_name_text(text_of(name, "name"))) usage(kWrongValue, fmt::format("'{}' is no name", name));
    compiled(session)->bind(name, *value);
  });
}
int tl_session_lookup(tl_session* session, const char* name, tl_value** value) {
  return guarded([&] {
    Content content = compiled(session)->lookup(text_of(name, "name"));
    if (!value) usage(kWrongValue, "the place for the value is null");
    *value = new tl_value(std::move(content));
  });
}
int tl_session_names(tl_session* session, const char** names) {
  return guarded([&] { give_text(names, lines_of(compiled(session)->bound_names())); });
}

int tl_session_set_display(tl_session* session, tl_display display, void* context) {
  return guarded([&] { compiled(session)->set_display(display, context); });
}
int tl_session_complete(tl_session* session, const char* text, size_t cursor, size_t* begin, const char** completions) {
  return guarded([&] {
    const CompiledSession::Completions found = compiled(session)->complete(text_of(text, "text"), cursor);
    if (begin) *begin = found.begin;
    give_text(completions, lines_of(found.texts));
  });
}
int tl_session_help(tl_session* session, const char* name, const char** text) {
  return guarded([&] { give_text(text, compiled(session)->help(text_of(name, "name"))); });
}
int tl_is_incomplete(const char* text, size_t* indentation) {
  if (!text || !is_incomplete(text)) return 0;
  if (indentation) *indentation = editor::indentation_after(text);
  return 1;
}

int tl_command_line(int argc, char** argv) { return cli::run_command(argc, argv); }

} // extern "C"
} // namespace tl::api
