// Tokens: what the lexer hands to the layout, and the layout to the grammar. Their kinds are Bison's (grammar.yy).
#pragma once
#include "grammar.hpp"
#include "lang/diagnostics.h"
#include "lang/source.h"
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tl::syntax {

using Kind = Grammar::token::token_kind_type;
using enum Grammar::token::token_kind_type;

struct Token {
  Kind kind{};
  Span span;
  std::string text;        // NAME, INT, FLOAT: as written; TEXT: escapes resolved; FORMAT: raw
  uint64_t integer = 0;    // INT
  double number = 0;       // FLOAT
  bool line_start = false; // the first on its line
  bool synthetic = false;  // not in the text: closes a string or bracket that was left open (and reported)
  // Set by the layout:
  int parent = -1; // index of the innermost open bracket; of a closing bracket: of its opening one; -1: none
};

// `##` comments, joined by lines. A block above is keyed by the first byte of the token on the next line, a comment
// that follows something on its line by its own first byte.
struct Docs {
  std::string file;
  std::map<uint32_t, std::string> above, behind;
};

struct TokenList {
  std::vector<Token> tokens; // ends with one END
  Docs docs;
  std::vector<Span> comments; // all of them, `##` too, from the `#` to the end of the line
};

// All tokens of a file, with strings taken apart: STRING_BEGIN (TEXT | INTERP_BEGIN … FORMAT? INTERP_END)* STRING_END.
// Newlines show only as `line_start`. What cannot be a token is reported and becomes BAD, or what was probably meant.
TokenList lex(const SourceManager& sources, FileId file, Diagnostics& diagnostics);

// Decides which newlines separate statements (END_STATEMENT), which contextual words are keywords, where `>=` ends a
// type; closes brackets that are left open (with a report), so that brackets match in what it returns. A text that is
// not whole may go on: a block that is open at its end is not taken for one that was forgotten to be closed.
TokenList lay_out(TokenList lexed, const SourceManager& sources, Diagnostics& diagnostics, bool is_whole = true);

bool is_keyword(Kind kind); // one that is a keyword everywhere, unless a `.` comes before it

// "name", "integer", "->": the name of a kind in grammar.yy.
std::string_view kind_name(Kind kind);

} // namespace tl::syntax
