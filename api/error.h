// What is wrong with a call of the API.
#pragma once
#include "driver/messages.h"
#include "driver/usage.h"
#include "lang/diagnostics.h"
#include <stdexcept>
#include <string>

namespace tl::api {

using namespace driver;

struct Error {
  int status = 0;
  std::string kind, message, hint, file, text;
  int64_t line = 0, column = 0;
};

struct Failed : std::exception {
  explicit Failed(Error what) : error(std::move(what)) {}
  Error error;
};

// Kinds of wrong arguments, for languages that tell them apart.
inline constexpr const char* kWrongType = "WrongType";   // another type or rank
inline constexpr const char* kWrongValue = "WrongValue"; // a value that does not fit, a name that nothing has
[[noreturn]] void usage(const char* kind, std::string message, std::string hint = {});

// The first of them, with the text of all. `own_end`: places behind it in the program's own file are of what was added
// to it, and are left out.
Error error_of(int status, const Diagnostics& diagnostics, const SourceManager& sources, FileId main, size_t own_end);
Error error_of(int status, Diagnostic diagnostic, const SourceManager& sources, FileId main, size_t own_end);
Error error_of(int status, const KeptMessages& messages);

const Error& last_error(); // of this thread
// Calls f; what it throws becomes this thread's last error. The status.
template <class F> int guarded(F&& f);
int fail(Error error);
int fail_with_current_exception();

template <class F> int guarded(F&& f) {
  try {
    f();
    return 0;
  } catch (...) {
    return fail_with_current_exception();
  }
}

} // namespace tl::api
