// The functions of tl.h that compile.
#include "api/compiled/function.h"
#include "api/compiled/session.h"
#include "cli/command.h"
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

bool is_name(const char* text) {
  return *text && !std::isdigit(static_cast<unsigned char>(*text)) &&
         std::all_of(text, text + std::strlen(text), is_word);
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
    if (!is_name(text_of(name, "name"))) usage(kWrongValue, fmt::format("'{}' is no name", name));
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
  return guarded([&] {
    static thread_local std::string text;
    text.clear();
    for (const std::string& name : compiled(session)->bound_names())
      text += name + "\n";
    if (names) *names = text.c_str();
  });
}

int tl_command_line(int argc, char** argv) { return cli::run_command(argc, argv); }

} // extern "C"
} // namespace tl::api
