// Lexer and parser, whatever the bytes; and what is asked of a text while it is typed.
#include "parser/syntax/parse.h"
#include "parser/syntax/highlight.h"
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  tl::SourceManager sources;
  tl::Diagnostics diagnostics;
  const tl::FileId file = sources.add("fuzz.tl", text);
  tl::parse(sources, file, diagnostics);
  tl::render(diagnostics, sources);
  tl::Diagnostics of_tokens;
  tl::dump_tokens(sources, file, of_tokens);
  tl::is_incomplete(text);
  std::string pieces;
  for (const tl::TextPiece& piece : tl::highlight(text))
    pieces += piece.text;
  if (pieces != text) std::abort();
  return 0;
}
