#include "api/error.h"
#include "vm/io/io.h"
#include <fmt/format.h>
#include <new>

namespace tl::api {
namespace {

thread_local Error last;

// Without the places that the user did not write.
Diagnostic own_places(Diagnostic d, FileId main, size_t own_end) {
  auto is_added = [&](Span span) { return span.file == main && span.begin >= own_end; };
  if (is_added(d.span)) d.span = {};
  std::erase_if(d.labels, [&](const Label& label) { return is_added(label.span); });
  return d;
}

} // namespace

void usage(const char* kind, std::string message, std::string hint) {
  Error error;
  error.status = kUsage;
  error.kind = kind;
  error.text = message + (hint.empty() ? "" : "\n    hint: " + hint);
  error.message = std::move(message);
  error.hint = std::move(hint);
  throw Failed(std::move(error));
}

Error error_of(int status, Diagnostic diagnostic, const SourceManager& sources, FileId main, size_t own_end) {
  const Diagnostic d = own_places(std::move(diagnostic), main, own_end);
  Error error;
  error.status = status;
  error.kind = d.kind;
  error.message = d.message;
  error.hint = d.hint;
  error.text = render(d, sources);
  if (d.span.valid()) {
    const LineColumn place = sources.line_column(d.span);
    error.file = sources.name(d.span.file);
    error.line = place.line;
    error.column = place.column;
  }
  return error;
}

Error error_of(int status, const Diagnostics& diagnostics, const SourceManager& sources, FileId main, size_t own_end) {
  std::optional<Error> first;
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics.sorted()) {
    if (diagnostic.severity != Severity::Error) continue;
    Error error = error_of(status, diagnostic, sources, main, own_end);
    text += error.text;
    if (!first || (first->file.empty() && !error.file.empty())) first = std::move(error);
  }
  first->text = std::move(text);
  return std::move(*first);
}

Error error_of(int status, const KeptMessages& messages) {
  Error error;
  error.status = status;
  for (const KeptMessages::Message& message : messages.all) {
    if (message.diagnostic.severity != Severity::Error) continue;
    if (error.text.empty()) {
      error.kind = message.diagnostic.kind;
      error.message = message.diagnostic.message;
      error.hint = message.diagnostic.hint;
      error.file = message.file;
      if (!message.file.empty()) {
        error.line = message.place.line;
        error.column = message.place.column;
      }
    }
    error.text += message.text;
  }
  return error;
}

const Error& last_error() { return last; }

int fail(Error error) {
  last = std::move(error);
  return last.status;
}

int fail_with_current_exception() {
  Error error;
  try {
    throw;
  } catch (Failed& failed) {
    error = std::move(failed.error);
  } catch (const UsageError& wrong) {
    error.status = kUsage;
    error.kind = kWrongValue;
    error.message = wrong.what();
  } catch (const IoError& wrong) {
    error.status = kRuntimeError;
    error.kind = wrong.kind;
    error.message = wrong.what();
  } catch (const std::bad_alloc&) {
    error.status = kRuntimeError;
    error.kind = "OutOfMemory";
    error.message = "there is no memory left";
  } catch (const std::exception& wrong) {
    error.status = kInternal;
    error.kind = "InternalError";
    error.message = fmt::format("{}; this is a fault of tl, not of the program", wrong.what());
  } catch (...) {
    error.status = kInternal;
    error.kind = "InternalError";
    error.message = "this is a fault of tl, not of the program";
  }
  if (error.text.empty()) error.text = error.message;
  return fail(std::move(error));
}

} // namespace tl::api
