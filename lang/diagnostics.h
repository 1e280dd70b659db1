// Messages to the user about a program: what is wrong, where, why, and what to do about it.
#pragma once
#include "lang/source.h"
#include <string>
#include <vector>

namespace tl {

enum class Severity { Error, Warning };

// A further place that matters: an operand with its type, where a size came from, an opening bracket.
struct Label {
  Span span;
  std::string text; // may be empty: only carets
  bool operator==(const Label&) const = default;
};

// For example kind "ShapeMismatch", message "`a @ b` needs equal inner sizes", two labels, hint "transpose `b`: `b.T`".
struct Diagnostic {
  Severity severity = Severity::Error;
  std::string kind;    // CamelCase, what tests and `tl explain` name
  std::string message; // one line, in the user's words, no full stop
  Span span;           // the narrowest place to blame; invalid for "no place"
  std::vector<Label> labels;
  std::string hint; // may be empty; says what to write instead
  bool operator==(const Diagnostic&) const = default;
};

// Collects; the order of reports does not matter. Of very many errors (a file that is no tl program) only the first
// ones are kept, the others counted. Not thread-safe.
class Diagnostics {
public:
  static constexpr size_t most_kept = 1000;

  void report(Diagnostic diagnostic);
  // Short forms for the common case.
  void error(std::string kind, Span span, std::string message, std::string hint = {}, std::vector<Label> labels = {});
  void warning(std::string kind, Span span, std::string message, std::string hint = {}, std::vector<Label> labels = {});

  bool has_errors() const { return errors_ != 0; }
  size_t error_count() const { return errors_; }
  size_t left_out() const { return left_out_; }
  bool empty() const { return all_.empty(); }
  // By file, place, then order of report; the same kind at the same place with the same message appears once.
  std::vector<Diagnostic> sorted() const;

private:
  std::vector<Diagnostic> all_;
  size_t errors_ = 0, left_out_ = 0;
};

// `file:line:column: error[Kind]: message`, the source line, carets under the span and under every label with its text,
// and `hint: …`. Ends with a newline.
std::string render(const Diagnostic& diagnostic, const SourceManager& sources);
// All of them, sorted, and how many were left out.
std::string render(const Diagnostics& diagnostics, const SourceManager& sources);
// One JSON object on one line: file, line, column, kind, severity, message, hint, labels. Ends with a newline.
std::string render_json(const Diagnostic& diagnostic, const SourceManager& sources);

} // namespace tl
