// Text -> tokens (re2c). One function reads code, one reads the inside of strings; a stack of open strings says which is next,
// since `"{…}"` holds code that may hold strings.
#include "parser/syntax/names.h"
#include "parser/syntax/token.h"
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace tl::syntax {
namespace {

using Byte = unsigned char;

// A string that is not closed yet. `brackets` are those open in the code of its current interpolation.
struct OpenString {
  uint32_t begin = 0;
  bool triple = false;
  bool in_code = false;
  std::string brackets;
};

// Length of the valid UTF-8 character at `p`, or 0. The text ends with a 0 byte, which no continuation byte equals.
int character_length(const Byte* p) {
  auto tail = [&](int i) { return (p[i] & 0xC0) == 0x80; };
  if (p[0] < 0x80) return 1;
  if (p[0] >= 0xC2 && p[0] < 0xE0) return tail(1) ? 2 : 0;
  if (p[0] >= 0xE0 && p[0] < 0xF0) {
    if (!tail(1) || !tail(2)) return 0;
    if (p[0] == 0xE0 && p[1] < 0xA0) return 0; // overlong
    if (p[0] == 0xED && p[1] > 0x9F) return 0; // surrogate
    return 3;
  }
  if (p[0] >= 0xF0 && p[0] < 0xF5) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if (p[0] == 0xF0 && p[1] < 0x90) return 0;
    if (p[0] == 0xF4 && p[1] > 0x8F) return 0;
    return 4;
  }
  return 0;
}

class Lexer {
public:
  Lexer(const SourceManager& sources, FileId file, Diagnostics& diagnostics)
      : text_(sources.text(file)), file_(file), diagnostics_(diagnostics) {
    begin_ = reinterpret_cast<const Byte*>(text_.data());
    end_ = begin_ + text_.size();
    cursor_ = begin_;
  }

  TokenList run() {
    check_utf8();
    if (text_.starts_with("\xEF\xBB\xBF")) cursor_ += 3; // byte order mark
    while (!done_) {
      if (!strings_.empty() && !strings_.back().in_code)
        lex_text();
      else
        lex_code();
    }
    finish_doc_block(UINT32_MAX, UINT32_MAX);
    return std::move(out_);
  }

private:
  std::string_view text_;
  FileId file_;
  Diagnostics& diagnostics_;
  const Byte *begin_, *end_, *cursor_;
  const Byte* start_ = nullptr; // of the token being read
  bool at_line_start_ = true, done_ = false, has_lone_return_ = false;
  uint32_t line_ = 0;
  std::vector<OpenString> strings_;
  TokenList out_;
  // `##` lines directly above each other that wait for what they document
  std::string doc_block_;
  uint32_t doc_last_line_ = UINT32_MAX;

  uint32_t offset(const Byte* p) const { return static_cast<uint32_t>(p - begin_); }
  Span span() const { return {file_, offset(start_), offset(cursor_)}; }
  std::string_view lexeme() const { return text_.substr(offset(start_), cursor_ - start_); }

  void error(std::string kind, Span where, std::string message, std::string hint = {}) {
    diagnostics_.error(std::move(kind), where, std::move(message), std::move(hint));
  }

  Token& add(Kind kind, Span where, std::string text = {}) {
    if (at_line_start_) finish_doc_block(line_, where.begin);
    Token token;
    token.kind = kind;
    token.span = where;
    token.text = std::move(text);
    token.line_start = at_line_start_;
    at_line_start_ = false;
    out_.tokens.push_back(std::move(token));
    return out_.tokens.back();
  }
  void add(Kind kind) { add(kind, span()); }

  // A doc block belongs to the token that begins the line below it; the first block of a file may stand alone.
  void finish_doc_block(uint32_t next_line, uint32_t next_offset) {
    if (doc_last_line_ == UINT32_MAX) return;
    if (doc_last_line_ + 1 == next_line)
      out_.docs.above[next_offset] = doc_block_;
    else if (out_.tokens.empty() && out_.docs.file.empty())
      out_.docs.file = doc_block_;
    doc_block_.clear();
    doc_last_line_ = UINT32_MAX;
  }

  // A carriage return that ends no line: some programs show a new line there, others don't. One message for a file.
  void lone_return(Span where) {
    if (!std::exchange(has_lone_return_, true))
      error("BadCharacter", where, "a carriage return stands here without a line feed",
            "lines end in \\n or \\r\\n; in text it is written `\\r`");
  }

  void add_comment() {
    out_.comments.push_back(span());
    const std::string_view text = lexeme();
    const size_t end = text.find_last_not_of('\r') + 1, at = text.substr(0, end).find('\r');
    const uint32_t from = offset(start_) + static_cast<uint32_t>(at);
    if (at != std::string_view::npos) lone_return({file_, from, from + 1});
  }

  void add_doc() {
    add_comment();
    std::string_view doc = lexeme().substr(2);
    if (doc.starts_with(' ')) doc.remove_prefix(1);
    while (!doc.empty() && (doc.back() == '\r' || doc.back() == ' ')) doc.remove_suffix(1);
    if (!at_line_start_) {
      out_.docs.behind[offset(start_)] = std::string(doc);
      return;
    }
    if (doc_last_line_ != UINT32_MAX && doc_last_line_ + 1 != line_) finish_doc_block(UINT32_MAX, 0);
    if (doc_last_line_ != UINT32_MAX) doc_block_ += '\n';
    doc_block_ += doc;
    doc_last_line_ = line_;
  }

  void check_utf8() {
    for (const Byte* p = begin_; p < end_;) {
      int length = character_length(p);
      if (length == 0) {
        error("InvalidUtf8", {file_, offset(p), offset(p) + 1},
              fmt::format("byte 0x{:02x} is not valid UTF-8", *p), "save the file as UTF-8");
        return; // one message: a file in another encoding would give one per letter
      }
      p += length;
    }
  }

  bool ends_line(const Byte* p) const {
    while (p < end_ && (*p == ' ' || *p == '\t' || *p == '\r'))
      ++p;
    return p >= end_ || *p == '\n' || *p == '#';
  }

  // `vec![1]`, `println!("")` of Rust
  void macro_call() {
    const std::string name = out_.tokens.back().text;
    error("BadCharacter", span(), "`!` is not used in tl",
          name == "vec"                               ? "a list or tensor is written in brackets: `[1, 2]`"
          : name.starts_with("assert")                ? "write `assert c, \"message\"`"
          : name.find("print") != std::string::npos   ? "write `print(\"{x}\")`"
                                                      : fmt::format("a call is written `{}(x)`", name));
    add(BAD);
  }

  // The whole character at the cursor's last byte, for messages about it.
  void bad_character() {
    int length = character_length(start_);
    if (length > 1) cursor_ = start_ + length;
    if (*start_ >= 0x80 && length == 0) { // reported by check_utf8
      add(BAD);
      return;
    }
    if (*start_ < 0x20 || *start_ == 0x7F) {
      error("BadCharacter", span(), fmt::format("stray control character 0x{:02x}", *start_));
    } else {
      StrayCharacter stray = stray_character(lexeme());
      if (*start_ == '&' && !follows_value(false)) stray.hint = "there are no references: write the value, `x`, and its type, `f32`";
      if (*start_ == '\\' && !ends_line(cursor_)) stray.hint = "`linalg.solve(a, b)` solves a system of equations";
      error("BadCharacter", span(), stray.shown + " is not used in tl", std::move(stray.hint));
    }
    add(BAD);
  }

  // A word with other letters than ASCII's, as far as it is one.
  void unicode_name() {
    const size_t length = word_length(lexeme());
    if (length == 0) {
      cursor_ = start_ + 1;
      return bad_character();
    }
    cursor_ = start_ + length;
    if (auto problem = problem_of_word(lexeme()))
      error("BadName", span(), std::move(problem->message), std::move(problem->hint));
    add(NAME, span(), std::string(lexeme()));
  }

  // ---- numbers ----

  static bool bad_underscores(std::string_view digits) {
    return digits.ends_with('_') || digits.find("__") != std::string_view::npos ||
           digits.find("_.") != std::string_view::npos || digits.find("_e") != std::string_view::npos ||
           digits.find("_E") != std::string_view::npos;
  }
  static std::string without_underscores(std::string_view digits) {
    std::string out;
    for (char c : digits)
      if (c != '_') out += c;
    return out;
  }

  void integer(std::string_view digits, int base) {
    Token& token = add(INT, span(), std::string(lexeme()));
    std::string plain = without_underscores(digits);
    auto [rest, code] = std::from_chars(plain.data(), plain.data() + plain.size(), token.integer, base);
    if (code == std::errc::result_out_of_range)
      error("BadNumber", span(), fmt::format("`{}` is larger than any integer type holds", lexeme()),
            base == 10 ? "as a float, write it with `.0` or an exponent" : "");
    else if (code != std::errc() || rest != plain.data() + plain.size())
      error("BadNumber", span(), fmt::format("`{}` has a digit that base {} does not have", lexeme(), base));
    else if (bad_underscores(digits))
      error("BadNumber", span(), "`_` stands only between digits");
  }

  void floating() {
    Token& token = add(FLOAT, span(), without_underscores(lexeme()));
    const std::string& plain = token.text;
    auto [rest, code] = std::from_chars(plain.data(), plain.data() + plain.size(), token.number);
    // Out of range is both too large and too small; an exponent below zero tells which.
    if (code == std::errc::result_out_of_range) token.number = plain.find("e-") != std::string::npos || plain.find("E-") != std::string::npos ? 0 : HUGE_VAL;
    if (bad_underscores(lexeme())) error("BadNumber", span(), "`_` stands only between digits");
  }

  void bad_number() {
    std::string_view all = lexeme();
    size_t digits = 0;
    while (digits < all.size() && (std::isdigit(static_cast<Byte>(all[digits])) || all[digits] == '_' || all[digits] == '.'))
      ++digits;
    std::string_view number = all.substr(0, digits), suffix = all.substr(digits);
    while (number.ends_with('_'))
      number.remove_suffix(1);
    std::string hint;
    if (suffix == "j" || suffix == "im")
      hint = fmt::format("an imaginary number is written `{}i`", number);
    else if (suffix == "e" || suffix == "E")
      hint = "an exponent needs digits, as in `1e-3`";
    else if (suffix == "f" || suffix == "f32" || suffix == "f64" || suffix == "i32" || suffix == "i64" || suffix == "u8")
      hint = fmt::format("a literal takes the type that its context wants; or write `{}({})`", suffix == "f" ? "f32" : suffix, number);
    else
      hint = "a name begins with a letter; a product needs `*`";
    error("BadNumber", span(), fmt::format("`{}` is not a number", all), hint);
    add(INT, span(), std::string(all));
  }

  // ---- strings ----

  void begin_string(bool triple) {
    add(STRING_BEGIN);
    strings_.push_back({offset(start_), triple, false, {}});
  }

  void end_string() {
    add(STRING_END);
    strings_.pop_back();
  }

  // The line or the file ends inside a string: reports the outermost string that may not go on, and closes it and all in it.
  void unterminated(bool at_end) {
    size_t outermost = 0;
    while (!at_end && strings_[outermost].triple) ++outermost;
    const OpenString& string = strings_[outermost];
    std::string hint;
    if (string.in_code)
      hint = "`{` begins an expression to insert; a brace itself is `{{`";
    else if (!string.triple && !at_end)
      hint = "a string that spans lines stands in `\"\"\"`";
    error("UnterminatedString", {file_, string.begin, string.begin + (string.triple ? 3u : 1u)},
          string.triple ? "this string is never closed" : "this string is not closed on its line", hint);
    Span here{file_, offset(start_), offset(start_)};
    while (strings_.size() > outermost) {
      if (strings_.back().in_code) add(INTERP_END, here).synthetic = true;
      add(STRING_END, here).synthetic = true;
      strings_.pop_back();
    }
  }

  // `\"` in the code of a string, as other languages have it: that string is read to its end as text.
  void escaped_quote() {
    error("BadEscape", span(), "a quote inside `{…}` is written without `\\`",
          "write `{f(\"a\")}`; a `{` that belongs to the text is written `{{`");
    OpenString& string = strings_.back();
    const Byte* closing = cursor_;
    while (closing < end_ && *closing != '"' && *closing != '\n')
      closing += *closing == '\\' && closing + 1 < end_ && closing[1] != '\n' ? 2 : 1;
    const Span here = span();
    add(NAME, here, "_").synthetic = true;
    for (; !string.brackets.empty(); string.brackets.pop_back()) {
      const char open = string.brackets.back();
      add(open == '(' ? RPAREN : open == '[' ? RBRACKET : RBRACE, here).synthetic = true;
    }
    add(INTERP_END, here).synthetic = true;
    string.in_code = false;
    start_ = cursor_ = closing;
    if (closing >= end_ || *closing == '\n') return; // reported there, unless the string has more lines
    if (string.triple) return;
    ++cursor_;
    end_string();
  }

  bool must_end_with_line() const {
    for (const OpenString& string : strings_)
      if (!string.triple) return true;
    return false;
  }

  void open_bracket(Kind kind, char bracket) {
    if (!strings_.empty()) strings_.back().brackets += bracket;
    add(kind);
  }
  void close_bracket(Kind kind, char open) {
    if (!strings_.empty()) {
      std::string& brackets = strings_.back().brackets;
      size_t at = brackets.rfind(open);
      if (kind == RBRACE && at == std::string::npos) { // the end of the interpolation, whatever is open in it
        add(INTERP_END);
        strings_.back().in_code = false;
        return;
      }
      if (at != std::string::npos) brackets.resize(at);
    }
    add(kind);
  }

  // `:` outside brackets of an interpolation: everything up to `}` says how to format.
  void format() {
    const Byte* first = cursor_;
    for (bool nested = false; *cursor_ != '\n' && *cursor_ != '"' && cursor_ < end_; ++cursor_) {
      if (*cursor_ == '}' && !nested) break;
      if (*cursor_ == '{' && !nested) {
        start_ = cursor_;
        error("BadEscape", span(), "a format holds no values", "its width and precision are numbers: `{x:8.2f}`");
      }
      nested = *cursor_ == '{' || (nested && *cursor_ != '}');
    }
    if (cursor_ < end_ && *cursor_ == '"') { // no specification has quotes: the brace was left open
      add(FORMAT, span(), std::string(reinterpret_cast<const char*>(first), cursor_ - first));
      start_ = cursor_;
      error("UnterminatedString", span(), "`}` is missing after the format", "a brace itself is `{{`");
      add(INTERP_END, {file_, offset(cursor_), offset(cursor_)}).synthetic = true;
      strings_.back().in_code = false;
      return;
    }
    add(FORMAT, span(), std::string(reinterpret_cast<const char*>(first), cursor_ - first));
  }

  void unicode_escape(std::string& piece) {
    std::string_view digits = lexeme().substr(3, lexeme().size() - 4);
    uint32_t code = 0;
    auto [rest, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (problem != std::errc() || rest != digits.data() + digits.size() || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      error("BadEscape", span(), fmt::format("`{}` names no character", lexeme()), "write hexadecimal digits, as in `\\u{3b1}`");
    else
      piece += utf8_of(code);
  }

  // Does a value end right there? What follows is an operator.
  bool follows_value(bool directly) const {
    if (out_.tokens.empty()) return false;
    const Token& last = out_.tokens.back();
    if (directly && last.span.end != offset(start_)) return false;
    return last.kind == NAME || last.kind == INT || last.kind == FLOAT || last.kind == RPAREN || last.kind == RBRACKET;
  }

  // `x'` of Julia; but f'text', b'text' of Python
  bool is_transpose() const {
    if (!follows_value(true)) return false;
    const Token& last = out_.tokens.back();
    return last.kind != NAME || lexeme().size() < 2 || lexeme().back() != '\'' || last.text.size() > 2 ||
           last.text.find_first_not_of("fbruFBRU") != std::string::npos;
  }

  void single_quoted() {
    if (is_transpose()) {
      cursor_ = start_ + 1;
      error("BadCharacter", span(), "`'` is not used in tl", "transposed is `x.T`");
      add(BAD);
      return;
    }
    error("BadCharacter", {file_, offset(start_), offset(start_) + 1}, "strings stand in double quotes", "write `\"…\"`");
    std::string_view all = lexeme();
    if (all.size() < 2 || all.back() != '\'') { // no closing quote on this line
      cursor_ = start_ + 1;
      add(BAD);
      return;
    }
    Span where = span();
    add(STRING_BEGIN, {file_, where.begin, where.begin + 1});
    add(TEXT, {file_, where.begin + 1, where.end - 1}, std::string(all.substr(1, all.size() - 2)));
    add(STRING_END, {file_, where.end - 1, where.end});
  }

  void newline() {
    ++line_;
    if (!strings_.empty() && must_end_with_line()) unterminated(false);
    at_line_start_ = true;
  }

  void lex_text();
  void lex_code();
};

/*!re2c
  re2c:define:YYCTYPE = Byte;
  re2c:define:YYCURSOR = cursor_;
  re2c:define:YYMARKER = marker;
  re2c:yyfill:enable = 0;

  letter = [A-Za-z_];
  digit = [0-9];
  digits = digit [0-9_]*;
  exponent = [eE] [+-]? digits;
  name = letter [A-Za-z0-9_]*;
  // Characters in UTF-8 that may be letters: not those up to U+00BF, × and ÷, nor symbols and punctuation from U+2000 to
  // U+2BFF, before which a name or a keyword ends. Which ones are, unicode_name() sees.
  tail = [\x80-\xBF];
  unicode = "\xC3" [\x80-\x96\x98-\xB6\xB8-\xBF] | [\xC4-\xDF] tail | [\xE0-\xE1\xE3-\xEF] tail tail
          | "\xE2" [\xB0-\xBF] tail | [\xF0-\xF4] tail tail tail;
  unicode_name = (letter | unicode) ([A-Za-z0-9_] | unicode)*;
*/

// Reads up to the next `{`, or the end of the string.
void Lexer::lex_text() {
  const Byte* marker = nullptr;
  const Byte* first = cursor_;
  std::string piece;
  bool triple = strings_.back().triple;
  auto flush = [&] {
    if (!piece.empty()) add(TEXT, {file_, offset(first), offset(start_)}, piece);
  };
  for (;;) {
    start_ = cursor_;
    /*!re2c
      [\x00] {
        if (start_ < end_) { piece += '\0'; continue; }
        flush();
        --cursor_;
        unterminated(true);
        return;
      }
      "\r"+ { lone_return(span()); continue; }
      "\r"* "\n" {
        if (!triple || must_end_with_line()) {
          flush();
          cursor_ = start_; // the newline is read again, as code
          unterminated(false);
          return;
        }
        ++line_;
        piece += '\n';
        continue;
      }
      "\"\"\"" {
        if (!triple) cursor_ = start_ + 1;
        flush();
        end_string();
        return;
      }
      "\"" {
        if (triple) { piece += '"'; continue; }
        flush();
        end_string();
        return;
      }
      "{{" { piece += '{'; continue; }
      "}}" { piece += '}'; continue; }
      "{" {
        flush();
        add(INTERP_BEGIN);
        strings_.back().in_code = true;
        strings_.back().brackets.clear();
        return;
      }
      "}" {
        error("BadEscape", span(), "a lone `}` in a string", "a brace itself is `}}`");
        continue;
      }
      "\\n" { piece += '\n'; continue; }
      "\\t" { piece += '\t'; continue; }
      "\\r" { piece += '\r'; continue; }
      "\\0" { piece += '\0'; continue; }
      "\\\"" { piece += '"'; continue; }
      "\\\\" { piece += '\\'; continue; }
      "\\u{" [^}"\n\x00]* "}" { unicode_escape(piece); continue; }
      "\\" {
        if (*cursor_ != 0 && *cursor_ != '\n' && *cursor_ != '\r') cursor_ += std::max(character_length(cursor_), 1);
        std::string hint = "the escapes are \\n \\t \\r \\0 \\\" \\\\ \\u{…}";
        if (lexeme() == "\\{" || lexeme() == "\\}") hint = "a brace itself is written twice: `{{`, `}}`";
        if (lexeme() == "\\x") hint = "write `\\u{…}` with the number of the character";
        error("BadEscape", span(), fmt::format("`{}` is not an escape", lexeme()), hint);
        continue;
      }
      * { piece += static_cast<char>(*start_); continue; }
    */
  }
}

// Reads one token of code.
void Lexer::lex_code() {
  const Byte* marker = nullptr;
  start_ = cursor_;
  /*!re2c
    [\x00] {
      if (start_ < end_) return bad_character();
      --cursor_;
      if (!strings_.empty()) return unterminated(true);
      finish_doc_block(UINT32_MAX, 0); // there is nothing below that it could be about
      add(END, {file_, offset(start_), offset(start_)});
      done_ = true;
      return;
    }
    "\r"* "\n" { return newline(); }
    "\r"+ { if (cursor_ < end_) lone_return(span()); return; }
    [ \t] { return; }
    "##" [^\n\x00]* { return add_doc(); }
    "#" [^\n\x00]* { return add_comment(); }

    "let" { return add(LET); }
    "var" { return add(VAR); }
    "const" { return add(CONST); }
    "fn" { return add(FN); }
    "struct" { return add(STRUCT); }
    "import" { return add(IMPORT); }
    "if" { return add(IF); }
    "else" { return add(ELSE); }
    "for" { return add(FOR); }
    "in" { return add(IN); }
    "while" { return add(WHILE); }
    "break" { return add(BREAK); }
    "continue" { return add(CONTINUE); }
    "return" { return add(RETURN); }
    "true" { return add(TRUE); }
    "false" { return add(FALSE); }
    "and" { return add(AND); }
    "or" { return add(OR); }
    "not" { return add(NOT); }
    "assert" { return add(ASSERT); }
    "new" { return add(NEW); }
    "none" { return add(NONE); }
    name { add(NAME, span(), std::string(lexeme())); return; }
    unicode_name { return unicode_name(); }

    digits "." digits exponent? { return floating(); }
    digits exponent { return floating(); }
    digits ("." digits)? exponent? "i" { return floating(); }
    digits { return integer(lexeme(), 10); }
    "0" [xX] [0-9A-Za-z_]+ { return integer(lexeme().substr(2), 16); }
    "0" [oO] [0-9A-Za-z_]+ { return integer(lexeme().substr(2), 8); }
    "0" [bB] [0-9A-Za-z_]+ { return integer(lexeme().substr(2), 2); }
    digits ("." digits exponent?)? unicode_name { return bad_number(); }

    "\"\"\"" { return begin_string(true); }
    "\"" { return begin_string(false); }
    "'" [^'\n\x00]* "'"? { return single_quoted(); }
    "\\\"" {
      if (!strings_.empty()) return escaped_quote();
      return bad_character();
    }

    "(" { return open_bracket(LPAREN, '('); }
    ")" { return close_bracket(RPAREN, '('); }
    "[" { return open_bracket(LBRACKET, '['); }
    "]" { return close_bracket(RBRACKET, '['); }
    "{" { return open_bracket(LBRACE, '{'); }
    "}" { return close_bracket(RBRACE, '{'); }

    "," { return add(COMMA); }
    ";" { return add(END_STATEMENT); }
    ":" {
      if (!strings_.empty() && strings_.back().brackets.empty()) return format();
      return add(COLON);
    }
    "." { return add(DOT); }
    ".." { return add(DOTDOT); }
    "..." { return add(ELLIPSIS); }
    "->" { return add(ARROW); }
    "|" { return add(BAR); }
    "||" { return add(BARBAR); }
    "&&" {
      error("BadCharacter", span(), "`&&` is written `and`");
      return add(AND);
    }
    "!" {
      if (follows_value(true) && (*cursor_ == '(' || *cursor_ == '[')) return macro_call();
      error("BadCharacter", span(), "`!` is written `not`");
      return add(NOT);
    }

    "=" { return add(ASSIGN); }
    "+=" { return add(ADD_ASSIGN); }
    "-=" { return add(SUBTRACT_ASSIGN); }
    "*=" { return add(MULTIPLY_ASSIGN); }
    "/=" { return add(DIVIDE_ASSIGN); }
    "//=" { return add(FLOOR_DIVIDE_ASSIGN); }
    "%=" { return add(REMAINDER_ASSIGN); }
    "@=" { return add(MATRIX_MULTIPLY_ASSIGN); }
    "**=" { return add(POWER_ASSIGN); }

    "==" { return add(EQUAL); }
    "!=" { return add(NOT_EQUAL); }
    "<" { return add(LESS); }
    "<=" { return add(LESS_EQUAL); }
    ">" { return add(GREATER); }
    ">=" { return add(GREATER_EQUAL); }
    "+" { return add(PLUS); }
    "-" { return add(MINUS); }
    "*" { return add(STAR); }
    "/" { return add(SLASH); }
    "//" { return add(SLASH_SLASH); }
    "%" { return add(PERCENT); }
    "@" { return add(AT); }
    "**" { return add(STAR_STAR); }

    * { return bad_character(); }
  */
}

} // namespace

TokenList lex(const SourceManager& sources, FileId file, Diagnostics& diagnostics) {
  return Lexer(sources, file, diagnostics).run();
}

} // namespace tl::syntax
