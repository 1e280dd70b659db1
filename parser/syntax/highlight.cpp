#include "parser/syntax/highlight.h"
#include "abi/dtype.h"
#include "parser/syntax/token.h"
#include <algorithm>

namespace tl {
namespace {

using syntax::Kind;
using syntax::Token;

bool is_type_name(const std::string& name) {
  return dtype_from_name(name) || name == "str" || name == "range" || name == "List";
}

TextClass class_of(const Token& token, const Token& next) {
  using enum syntax::Grammar::token::token_kind_type;
  switch (token.kind) {
  case NAME:
    if (is_type_name(token.text)) return TextClass::Type;
    return next.kind == LPAREN && next.span.begin == token.span.end ? TextClass::Call : TextClass::Plain;
  case INT:
  case FLOAT: return TextClass::Number;
  case TEXT:
  case FORMAT:
  case STRING_BEGIN:
  case STRING_END: return TextClass::String;
  case AS:
  case TEST:
  case ON:
  case EXPORT: return TextClass::Keyword;
  default: return syntax::is_keyword(token.kind) ? TextClass::Keyword : TextClass::Plain;
  }
}

struct Coloured {
  Span span;
  TextClass kind;
};

} // namespace

std::vector<TextPiece> highlight(std::string_view text) {
  SourceManager sources;
  Diagnostics ignored;
  FileId file = sources.add("text", std::string(text));
  syntax::TokenList list = syntax::lay_out(syntax::lex(sources, file, ignored), sources, ignored);
  std::vector<Coloured> coloured;
  for (size_t i = 0; i + 1 < list.tokens.size(); ++i) {
    TextClass kind = class_of(list.tokens[i], list.tokens[i + 1]);
    if (kind != TextClass::Plain && !list.tokens[i].synthetic) coloured.push_back({list.tokens[i].span, kind});
  }
  for (Span comment : list.comments)
    coloured.push_back({comment, TextClass::Comment});
  std::sort(coloured.begin(), coloured.end(),
            [](const Coloured& a, const Coloured& b) { return a.span.begin < b.span.begin; });
  std::vector<TextPiece> pieces;
  size_t at = 0;
  auto add = [&](TextClass kind, size_t end) {
    if (end > at) pieces.push_back({kind, text.substr(at, end - at)});
    at = std::max(at, end);
  };
  for (const Coloured& piece : coloured) {
    if (piece.span.begin < at) continue;
    add(TextClass::Plain, piece.span.begin);
    add(piece.kind, std::min<size_t>(piece.span.end, text.size()));
  }
  add(TextClass::Plain, text.size());
  return pieces;
}

} // namespace tl
