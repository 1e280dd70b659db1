// Checks a program given as text, for tests.
#pragma once
#include "lang/stdlib.h"
#include "parser/check/check.h"
#include "parser/syntax/parse.h"
#include <memory>
#include <string>

namespace tl {

struct Checked {
  std::unique_ptr<SourceManager> sources = std::make_unique<SourceManager>();
  ast::File prelude, file;
  Diagnostics diagnostics;
  typed::Program program;

  // Kinds of all diagnostics in order of the text, separated by spaces.
  std::string kinds() const {
    std::string text;
    for (const Diagnostic& d : diagnostics.sorted())
      text += (text.empty() ? "" : " ") + d.kind;
    return text;
  }
  std::string messages() const { return render(diagnostics, *sources); }
  // The type of the first variable of this name; of the last, where there are several and `last` is set.
  std::string type_of(const std::string& name, bool last = false) const {
    std::string result = "there is no such variable";
    for (const auto& v : program.variables)
      if (v.name == name) {
        result = to_string(v.type, program.atoms);
        if (!last) break;
      }
    return result;
  }
  std::string text() const { return typed::to_text(program); }
};

inline Checked check_text(const std::string& text, const CheckOptions& options = {}) {
  Checked c;
  std::string prelude;
  for (const EmbeddedFile& file : embedded_stdlib())
    if (file.name == "prelude.tl") prelude = file.text;
  FileId prelude_id = c.sources->add("std:prelude.tl", prelude), id = c.sources->add("test.tl", text);
  c.prelude = parse(*c.sources, prelude_id, c.diagnostics, {.is_library = true});
  c.file = parse(*c.sources, id, c.diagnostics);
  if (!c.diagnostics.has_errors()) c.program = check(c.file, c.prelude, *c.sources, c.diagnostics, options);
  return c;
}

} // namespace tl
