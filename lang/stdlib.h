// The standard library's sources and the pages of the manual (cmake/stdlib.cmake lists them), embedded in the binary at
// build time (cmake/embed.cmake writes the table).
#pragma once
#include <string>
#include <vector>

namespace tl {

struct EmbeddedFile {
  std::string name; // "prelude.tl", "errors.md", "style.css"
  std::string text;
};

const std::vector<EmbeddedFile>& embedded_stdlib();

} // namespace tl
