// The standard library's sources, embedded in the binary at build time (cmake/embed.cmake writes the table).
#pragma once
#include <string>
#include <vector>

namespace tl {

struct EmbeddedFile {
  std::string name; // "prelude.tl"
  std::string text;
};

const std::vector<EmbeddedFile>& embedded_stdlib();

} // namespace tl
