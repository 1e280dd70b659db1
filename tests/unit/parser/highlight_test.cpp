// Colours of a program's text: the pieces are the text, and what is in strings and comments is not code.
#include "parser/syntax/highlight.h"
#include <doctest/doctest.h>
#include <string>

using namespace tl;

namespace {

std::string joined(std::string_view text) {
  std::string out;
  for (const TextPiece& piece : highlight(text))
    out += piece.text;
  return out;
}

// The pieces of one kind, with a blank between.
std::string all(TextClass kind, std::string_view text) {
  std::string out;
  for (const TextPiece& piece : highlight(text))
    if (piece.kind == kind) out += (out.empty() ? "" : " ") + std::string(piece.text);
  return out;
}

} // namespace

TEST_CASE("highlight: each piece is what it is") {
  const std::string text =
      "fn f(x: f32[n]) -> f32 = sum(x) * 2.5 # fn\nprint(\"let {f([1.0]):.2f} if\")\nlet a = x.sum()";
  CHECK(joined(text) == text);
  CHECK(all(TextClass::Keyword, text) == "fn let");
  CHECK(all(TextClass::Type, text) == "f32 f32");
  CHECK(all(TextClass::Call, text) == "f sum print f sum");
  CHECK(all(TextClass::Number, text) == "2.5 1.0");
  CHECK(all(TextClass::Comment, text) == "# fn");
  CHECK(all(TextClass::String, text) == "\" let  :.2f  if \"");
}

TEST_CASE("highlight: what is no program stays whole") {
  for (std::string_view text :
       {std::string_view(), std::string_view("((("), std::string_view("\"open {x"), std::string_view("\"open {f(\n"),
        std::string_view("\xFF\x00 )]}", 6), std::string_view("'a' $ \\ ```"), std::string_view("\"\"\"a\n{b"),
        std::string_view("x: T[..s] + y: T[..s] -> T[..s]"), std::string_view("let let = 08x1"),
        std::string_view("# only")})
    CHECK(joined(text) == text);
}
