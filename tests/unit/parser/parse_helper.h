// Short ways to parse in tests.
#pragma once
#include "parser/syntax/parse.h"
#include <string>

namespace tl::test {

// The tree of a text that must have no error, without its last newline; else its messages.
inline std::string tree(std::string text, const ParseOptions& options = {}) {
  SourceManager sources;
  Diagnostics diagnostics;
  FileId file = sources.add("t.tl", std::move(text));
  ast::File parsed = parse(sources, file, diagnostics, options);
  if (!diagnostics.empty()) return render(diagnostics, sources);
  std::string out = ast::to_text(parsed);
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

// `line:column Kind message` of every error, one a line, without the last newline.
inline std::string errors(std::string text) {
  SourceManager sources;
  Diagnostics diagnostics;
  FileId file = sources.add("t.tl", std::move(text));
  parse(sources, file, diagnostics);
  std::string out;
  for (const Diagnostic& d : diagnostics.sorted()) {
    LineColumn place = sources.line_column(d.span);
    out += (out.empty() ? "" : "\n") + std::to_string(place.line) + ":" + std::to_string(place.column) + " " + d.kind +
           " " + d.message;
  }
  return out;
}

// The hint of the first error.
inline std::string hint(std::string text) {
  SourceManager sources;
  Diagnostics diagnostics;
  FileId file = sources.add("t.tl", std::move(text));
  parse(sources, file, diagnostics);
  return diagnostics.empty() ? "no error" : diagnostics.sorted()[0].hint;
}

} // namespace tl::test
