// Reads all tokens of tl, as parser/syntax/lexer.re and layout.cpp do: which line's end is a statement's depends on the
// token before and the brackets around it, whether `<` is a bracket on four tokens. So what was read decides, not what
// the parser could take.
#include "abi.h"
#include "tokens.h"
#include <stdlib.h>
#include <string.h>

enum {
  kTypeEnd = 250, // the `>` of a type, among the tokens before
  kLongString,    // in `"""`, among what is open
  kHistory = 4,
  kHeader = kHistory + 1,
  kMaxOpen = kSerializationSize - kHeader // deeper brackets are not told apart
};

typedef struct {
  uint8_t before[kHistory]; // the last tokens, the latest first
  bool in_import;
  unsigned depth;
  uint8_t open[kMaxOpen]; // brackets, with `<` of types; INTERP_BEGIN; STRING_BEGIN or kLongString
} Scanner;

void* tree_sitter_tl_external_scanner_create(void) { return calloc(1, sizeof(Scanner)); }
void tree_sitter_tl_external_scanner_destroy(void* scanner) { free(scanner); }

unsigned tree_sitter_tl_external_scanner_serialize(void* scanner, char* buffer) {
  const Scanner* s = scanner;
  memcpy(buffer, s->before, kHistory);
  buffer[kHistory] = (char)s->in_import;
  memcpy(buffer + kHeader, s->open, s->depth);
  return kHeader + s->depth;
}

void tree_sitter_tl_external_scanner_deserialize(void* scanner, const char* buffer, unsigned length) {
  Scanner* s = scanner;
  memset(s, 0, kHeader);
  s->in_import = false;
  s->depth = 0;
  if (length < kHeader) return;
  memcpy(s->before, buffer, kHistory);
  s->in_import = buffer[kHistory] != 0;
  s->depth = length - kHeader;
  memcpy(s->open, buffer + kHeader, s->depth);
}

// ---- characters

static void advance(TSLexer* lexer) { lexer->advance(lexer, false); }
static bool is_blank(int32_t c) { return c == ' ' || c == '\t' || c == '\r'; }
static bool is_digit(int32_t c) { return c >= '0' && c <= '9'; }

static bool is_in(const Range* ranges, size_t count, int32_t c) {
  size_t low = 0;
  for (size_t high = count; low < high;) {
    const size_t middle = (low + high) / 2;
    if (ranges[middle].last < c)
      low = middle + 1;
    else
      high = middle;
  }
  return low < count && ranges[low].first <= c;
}

static bool begins_name(int32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  return is_in(letters, sizeof letters / sizeof *letters, c);
}
static bool continues_name(int32_t c) {
  return begins_name(c) || is_digit(c) || is_in(marks, sizeof marks / sizeof *marks, c);
}

static void peek_blanks(TSLexer* lexer) {
  while (is_blank(lexer->lookahead))
    advance(lexer);
}

static void peek_line(TSLexer* lexer) {
  while (!lexer->eof(lexer) && lexer->lookahead != '\n')
    advance(lexer);
}

// ---- what is open

static uint8_t top(const Scanner* s) { return s->depth ? s->open[s->depth - 1] : NOTHING; }

static void open_bracket(Scanner* s, uint8_t kind) {
  if (s->depth < kMaxOpen) s->open[s->depth++] = kind;
}

static uint8_t innermost(const Scanner* s) {
  for (unsigned i = s->depth; i-- > 0;)
    if (s->open[i] != LESS) return s->open[i];
  return NOTHING;
}
static bool joins_lines(const Scanner* s) { return innermost(s) != LBRACE && innermost(s) != NOTHING; }

static void drop_type_brackets(Scanner* s) {
  while (top(s) == LESS)
    --s->depth;
}

static bool at_statement_start(const Scanner* s) {
  return s->before[0] == NOTHING || s->before[0] == END_STATEMENT || s->before[0] == LBRACE;
}

// Closes down to the bracket that a closing one belongs to, but not what is around an interpolation.
static uint8_t close_bracket(Scanner* s, uint8_t closing) {
  const uint8_t opening = closing == RPAREN ? LPAREN : closing == RBRACKET ? LBRACKET : LBRACE;
  unsigned level = s->depth;
  while (level > 0 && s->open[level - 1] != opening && s->open[level - 1] != INTERP_BEGIN)
    --level;
  if (level == 0) return closing;
  const bool ends_code = s->open[level - 1] == INTERP_BEGIN;
  if (ends_code && closing != RBRACE) return closing;
  s->depth = level - 1;
  return ends_code ? INTERP_END : closing;
}

// The line ends inside a string that may not span lines: it is closed, with all that is in it.
static void close_strings(Scanner* s) {
  for (unsigned i = 0; i < s->depth; ++i)
    if (s->open[i] == STRING_BEGIN) {
      s->depth = i;
      s->before[0] = STRING_END;
    }
}

// A statement begins inside ( or [, which was left open.
static void close_left_open(Scanner* s) {
  unsigned level = s->depth;
  while (level > 0 && s->open[level - 1] != LBRACE && s->open[level - 1] != INTERP_BEGIN)
    --level;
  if (level == s->depth) return;
  s->depth = level;
  s->before[0] = RPAREN;
}

// ---- tokens

static bool found(Scanner* s, TSLexer* lexer, uint8_t token) {
  memmove(s->before + 1, s->before, kHistory - 1);
  s->before[0] = token;
  if (token == IMPORT) s->in_import = true;
  if (token == END_STATEMENT) s->in_import = false;
  lexer->result_symbol = token == kTypeEnd ? GREATER - 1 : token - 1;
  return true;
}

static bool found_to_here(Scanner* s, TSLexer* lexer, uint8_t token) {
  lexer->mark_end(lexer);
  return found(s, lexer, token);
}

static bool found_extra(TSLexer* lexer, uint8_t token) {
  lexer->result_symbol = token - 1;
  return true;
}

static uint8_t read_word(TSLexer* lexer) {
  char text[12];
  size_t length = 0;
  for (; continues_name(lexer->lookahead); advance(lexer))
    if (length + 1 < sizeof text) text[length++] = lexer->lookahead < 0x80 ? (char)lexer->lookahead : '?';
  text[length] = 0;
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
    if (strcmp(words[i].text, text) == 0) return words[i].token;
  return NAME;
}

// The longest sign; NOTHING for `!` alone.
static uint8_t read_sign(TSLexer* lexer) {
  char text[4] = {0};
  for (size_t length = 0; length < sizeof text - 1; ++length) {
    text[length] = lexer->lookahead < 0x80 ? (char)lexer->lookahead : '?';
    bool begins_sign = false;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; ++i)
      begins_sign |= strncmp(signs[i].text, text, length + 1) == 0;
    if (!begins_sign) {
      text[length] = 0;
      break;
    }
    advance(lexer);
  }
  for (size_t i = 0; i < sizeof signs / sizeof *signs; ++i)
    if (strcmp(signs[i].text, text) == 0) return signs[i].token;
  return NOTHING;
}

static void read_digits(TSLexer* lexer) {
  while (is_digit(lexer->lookahead) || lexer->lookahead == '_')
    advance(lexer);
}

static bool is_digit_of(int32_t c, int base) {
  if (base == 16 && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) return true;
  return c == '_' || (c >= '0' && c < '0' + (base < 10 ? base : 10));
}

// Marks the number's end; NOTHING where letters follow.
static uint8_t read_number(TSLexer* lexer) {
  const bool zero = lexer->lookahead == '0';
  uint8_t token = INT;
  advance(lexer);
  const int32_t mark = lexer->lookahead | 0x20;
  if (zero && (mark == 'x' || mark == 'o' || mark == 'b')) {
    const int base = mark == 'x' ? 16 : mark == 'o' ? 8 : 2;
    bool is_empty = true;
    for (advance(lexer); is_digit_of(lexer->lookahead, base); advance(lexer))
      is_empty &= lexer->lookahead == '_';
    lexer->mark_end(lexer);
    return is_empty || continues_name(lexer->lookahead) ? NOTHING : INT;
  }
  read_digits(lexer);
  lexer->mark_end(lexer);
  if (lexer->lookahead == '.') {
    advance(lexer);
    if (!is_digit(lexer->lookahead)) return INT; // `1..n`, `1.max(2)`
    token = FLOAT;
    read_digits(lexer);
  }
  if (lexer->lookahead == 'e' || lexer->lookahead == 'E') {
    advance(lexer);
    if (lexer->lookahead == '+' || lexer->lookahead == '-') advance(lexer);
    if (!is_digit(lexer->lookahead)) return NOTHING;
    token = FLOAT;
    read_digits(lexer);
  }
  if (lexer->lookahead == 'i') {
    advance(lexer);
    token = FLOAT;
  }
  lexer->mark_end(lexer);
  return continues_name(lexer->lookahead) ? NOTHING : token;
}

// ---- what follows a word

// The next token, from which `skip` reads away comments and lines.
static void peek_to_token(TSLexer* lexer, bool semicolons) {
  for (;;) {
    if (lexer->lookahead == '#')
      peek_line(lexer);
    else if (is_blank(lexer->lookahead) || lexer->lookahead == '\n' || (semicolons && lexer->lookahead == ';'))
      advance(lexer);
    else
      return;
  }
}

static unsigned peek_quotes(TSLexer* lexer, unsigned most) {
  unsigned count = 0;
  for (; count < most && lexer->lookahead == '"'; ++count)
    advance(lexer);
  return count;
}

static bool reads_end_of_string(TSLexer* lexer, bool is_long) {
  const unsigned quotes = is_long ? 3 : 1;
  return peek_quotes(lexer, quotes) == quotes;
}

// Reads on in the text of a string; false where its line ends.
static bool peek_text(TSLexer* lexer, uint8_t* open, unsigned* depth) {
  const bool is_long = open[*depth - 1] == kLongString;
  const int32_t c = lexer->lookahead;
  if (c == '"') {
    if (reads_end_of_string(lexer, is_long)) --*depth;
    return true;
  }
  if (c == '\n' && !is_long) return false;
  advance(lexer);
  if (c == '\\') advance(lexer);
  if (c != '{') return true;
  if (lexer->lookahead == '{')
    advance(lexer);
  else
    open[(*depth)++] = INTERP_BEGIN;
  return true;
}

// Is there a `{` outside brackets before this statement ends?
static bool block_follows(TSLexer* lexer) {
  uint8_t open[64];
  for (unsigned depth = 0; !lexer->eof(lexer) && depth < sizeof open;) {
    if (depth && (open[depth - 1] == STRING_BEGIN || open[depth - 1] == kLongString)) {
      if (!peek_text(lexer, open, &depth)) return false;
      continue;
    }
    const int32_t c = lexer->lookahead;
    if (depth == 0 && c == '{') return true;
    if (depth == 0 && (c == '\n' || c == ';' || c == '#')) return false;
    if (c == '"') {
      const unsigned quotes = peek_quotes(lexer, 3);
      if (quotes != 2) open[depth++] = quotes == 1 ? STRING_BEGIN : kLongString;
      continue;
    }
    if (c == '#') {
      peek_line(lexer);
      continue;
    }
    advance(lexer);
    if (c == '(' || c == '[' || c == '{') open[depth++] = LPAREN;
    if ((c == ')' || c == ']' || c == '}') && depth-- == 0) return false;
  }
  return false;
}

static bool begins_device(TSLexer* lexer) {
  if (lexer->lookahead == '(' || is_digit(lexer->lookahead)) return true;
  if (!begins_name(lexer->lookahead)) return false;
  const uint8_t word = read_word(lexer);
  return word == IF || !is_keyword(word);
}

// A word that is a keyword only in some places; behind it.
static bool is_keyword_here(const Scanner* s, TSLexer* lexer, uint8_t word) {
  if (word == AS) {
    if (!s->in_import) return false;
    peek_to_token(lexer, false);
    return begins_name(lexer->lookahead) && !is_keyword(read_word(lexer));
  }
  if (!at_statement_start(s)) return false;
  peek_blanks(lexer);
  if (word == EXPORT) return begins_name(lexer->lookahead) && read_word(lexer) == FN;
  if (word == TEST) return lexer->lookahead == '"';
  return begins_device(lexer) && block_follows(lexer);
}

// ---- layout

// Does the line's end before this token end the statement? `token` is NOTHING for one that decides nothing.
static bool ends_statement(Scanner* s, TSLexer* lexer, uint8_t token) {
  if (joins_lines(s) && s->before[0] != DOT) {
    bool begins = only_begins_statement(token);
    if (token == FN) {
      peek_blanks(lexer);
      begins = begins_name(lexer->lookahead);
    }
    if (begins) close_left_open(s);
  }
  if (joins_lines(s) || continues_after(s->before[0]) || token == ELSE || token == DOT) return false;
  drop_type_brackets(s);
  return token != RBRACE && !at_statement_start(s);
}

// Does a `<` open the arguments of a type? It does after `: name`, `-> name`, `fn name`, `struct name`, and inside such
// arguments.
static bool opens_type_arguments(const Scanner* s) {
  if (s->before[0] != NAME) return false;
  const bool qualified = s->before[1] == DOT && s->before[2] == NAME;
  switch (s->before[qualified ? 3 : 1]) {
  case COLON: return innermost(s) != LBRACKET;
  case ARROW:
  case FN:
  case STRUCT: return true;
  case LESS:
  case COMMA:
  case LPAREN: return top(s) == LESS;
  default: return false;
  }
}

static bool scan_semicolon(Scanner* s, TSLexer* lexer) {
  advance(lexer);
  lexer->mark_end(lexer);
  if (joins_lines(s)) return found(s, lexer, END_STATEMENT);
  drop_type_brackets(s);
  if (at_statement_start(s)) return found_extra(lexer, EMPTY_STATEMENT);
  peek_to_token(lexer, true);
  if (lexer->lookahead == '}' || lexer->eof(lexer)) return found_extra(lexer, EMPTY_STATEMENT);
  return found(s, lexer, END_STATEMENT);
}

static bool scan_comment(TSLexer* lexer) {
  advance(lexer);
  const uint8_t token = lexer->lookahead == '#' ? DOC_COMMENT : COMMENT;
  lexer->mark_end(lexer);
  while (!lexer->eof(lexer) && lexer->lookahead != '\n') {
    const bool is_end = lexer->lookahead == '\r';
    advance(lexer);
    if (!is_end) lexer->mark_end(lexer);
  }
  return found_extra(lexer, token);
}

static bool scan_string_begin(Scanner* s, TSLexer* lexer) {
  advance(lexer);
  lexer->mark_end(lexer);
  const bool is_long = peek_quotes(lexer, 2) == 2;
  if (is_long) lexer->mark_end(lexer);
  open_bracket(s, is_long ? kLongString : STRING_BEGIN);
  return found(s, lexer, STRING_BEGIN);
}

// How a value is written, behind `:`, up to the `}`; a quote closes the interpolation, too.
static bool scan_format(Scanner* s, TSLexer* lexer) {
  for (bool nested = false; !lexer->eof(lexer) && lexer->lookahead != '\n' && lexer->lookahead != '"'; advance(lexer)) {
    if (lexer->lookahead == '}' && !nested) break;
    nested = lexer->lookahead == '{' || (nested && lexer->lookahead != '}');
  }
  if (lexer->lookahead == '"') close_bracket(s, RBRACE);
  return found_to_here(s, lexer, FORMAT);
}

static bool scan_sign(Scanner* s, TSLexer* lexer, uint8_t token) {
  if (token == GREATER && top(s) == LESS) {
    --s->depth;
    return found_to_here(s, lexer, kTypeEnd);
  }
  switch (token) {
  case NOTHING: return false;
  case COLON:
    if (innermost(s) == INTERP_BEGIN) return scan_format(s, lexer);
    break;
  case LESS:
    if (opens_type_arguments(s)) open_bracket(s, LESS);
    break;
  case LBRACE:
    drop_type_brackets(s);
    open_bracket(s, LBRACE);
    break;
  case LPAREN:
  case LBRACKET: open_bracket(s, token); break;
  case RPAREN:
  case RBRACKET:
  case RBRACE: token = close_bracket(s, token); break;
  default: break;
  }
  return found_to_here(s, lexer, token);
}

static bool scan_word(Scanner* s, TSLexer* lexer, uint8_t word) {
  lexer->mark_end(lexer);
  const bool is_contextual = word == AS || word == TEST || word == ON || word == EXPORT;
  if (is_contextual ? !is_keyword_here(s, lexer, word) : s->before[0] == DOT) word = NAME;
  return found(s, lexer, word);
}

static bool scan_code(Scanner* s, TSLexer* lexer) {
  bool is_new_line = false;
  for (; is_blank(lexer->lookahead) || lexer->lookahead == '\n'; lexer->advance(lexer, true))
    is_new_line |= lexer->lookahead == '\n';
  if (is_new_line) close_strings(s);
  if (lexer->eof(lexer)) return false;
  const int32_t c = lexer->lookahead;
  if (c == '#') return scan_comment(lexer);
  if (c == ';') return scan_semicolon(s, lexer);
  lexer->mark_end(lexer);
  const bool is_word = begins_name(c);
  uint8_t token = c == '}' ? RBRACE : NOTHING;
  if (is_word) token = read_word(lexer);
  if (c == '.') token = read_sign(lexer);
  if (is_new_line && ends_statement(s, lexer, token)) return found(s, lexer, END_STATEMENT);
  if (is_word) return scan_word(s, lexer, token);
  if (c == '"') return scan_string_begin(s, lexer);
  if (is_digit(c)) {
    token = read_number(lexer);
    return token != NOTHING && found(s, lexer, token);
  }
  if (c == '>' && top(s) == LESS) {
    advance(lexer);
    return scan_sign(s, lexer, GREATER);
  }
  return scan_sign(s, lexer, c == '.' ? token : read_sign(lexer));
}

// ---- the text of strings

static bool is_escape(TSLexer* lexer) {
  advance(lexer);
  const int32_t c = lexer->lookahead;
  if (c != 0 && c < 0x80 && strchr("ntr0\"\\", c)) {
    advance(lexer);
    return true;
  }
  if (c != 'u') return false;
  advance(lexer);
  if (lexer->lookahead != '{') return false;
  while (!lexer->eof(lexer) && lexer->lookahead != '}' && lexer->lookahead != '"' && lexer->lookahead != '\n')
    advance(lexer);
  if (lexer->lookahead != '}') return false;
  advance(lexer);
  return true;
}

static bool scan_brace(Scanner* s, TSLexer* lexer) {
  const int32_t brace = lexer->lookahead;
  advance(lexer);
  if (lexer->lookahead == brace) {
    advance(lexer);
    return found_to_here(s, lexer, ESCAPE);
  }
  if (brace == '}') return false;
  open_bracket(s, INTERP_BEGIN);
  return found_to_here(s, lexer, INTERP_BEGIN);
}

static bool must_end_with_line(const Scanner* s) { return s->depth && memchr(s->open, STRING_BEGIN, s->depth); }

static bool scan_text(Scanner* s, TSLexer* lexer) {
  for (bool is_empty = true;; is_empty = false) {
    const int32_t c = lexer->lookahead;
    lexer->mark_end(lexer);
    if (lexer->eof(lexer)) return !is_empty && found(s, lexer, TEXT);
    const bool ends_line = c == '\n' && must_end_with_line(s);
    if (!is_empty && (ends_line || c == '{' || c == '}' || c == '\\')) return found(s, lexer, TEXT);
    if (ends_line) return scan_code(s, lexer);
    if (c == '{' || c == '}') return scan_brace(s, lexer);
    if (c == '\\') return is_escape(lexer) && found_to_here(s, lexer, ESCAPE);
    if (c != '"') {
      advance(lexer);
      continue;
    }
    if (!reads_end_of_string(lexer, top(s) == kLongString)) continue;
    if (!is_empty) return found(s, lexer, TEXT);
    --s->depth;
    return found_to_here(s, lexer, STRING_END);
  }
}

bool tree_sitter_tl_external_scanner_scan(void* scanner, TSLexer* lexer, const bool* valid) {
  (void)valid;
  Scanner* s = scanner;
  if (top(s) == STRING_BEGIN || top(s) == kLongString) return scan_text(s, lexer);
  return scan_code(s, lexer);
}
