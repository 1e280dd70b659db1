// The token layer between lexer and grammar: newlines, contextual words, `>=` after a type, brackets that match.
#include "parser/syntax/parse.h"
#include "parser/syntax/token.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::syntax {
namespace {

constexpr size_t kMaxBrackets = 20'000;
constexpr size_t kMaxTypes = 256; // `<` in each other

// Does a line that ends in this token go on?
bool continues_after(Kind kind) {
  switch (kind) {
  case ASSIGN:
  case ADD_ASSIGN:
  case SUBTRACT_ASSIGN:
  case MULTIPLY_ASSIGN:
  case DIVIDE_ASSIGN:
  case FLOOR_DIVIDE_ASSIGN:
  case REMAINDER_ASSIGN:
  case MATRIX_MULTIPLY_ASSIGN:
  case POWER_ASSIGN:
  case ARROW:
  case COMMA:
  case PLUS:
  case MINUS:
  case STAR:
  case SLASH:
  case SLASH_SLASH:
  case PERCENT:
  case AT:
  case STAR_STAR:
  case EQUAL:
  case NOT_EQUAL:
  case LESS:
  case LESS_EQUAL:
  case GREATER:
  case GREATER_EQUAL:
  case DOTDOT:
  case AND:
  case OR:
  case NOT:
  case IN: return true;
  default: return false;
  }
}

// Words that begin a statement and never appear inside parentheses (except in a block there).
bool only_begins_statement(Kind kind) {
  switch (kind) {
  case LET:
  case VAR:
  case CONST:
  case STRUCT:
  case IMPORT:
  case WHILE:
  case BREAK:
  case CONTINUE:
  case RETURN:
  case ASSERT: return true;
  default: return false;
  }
}

bool opens(Kind kind) { return kind == LPAREN || kind == LBRACKET || kind == LBRACE || kind == INTERP_BEGIN; }
bool closes(Kind kind) { return kind == RPAREN || kind == RBRACKET || kind == RBRACE || kind == INTERP_END; }
Kind closing(Kind open) {
  return open == LPAREN ? RPAREN : open == LBRACKET ? RBRACKET : open == LBRACE ? RBRACE : INTERP_END;
}

// Where the `{` begin that no `}` closes, if every bracket closes the next one before it that it can close.
std::vector<uint32_t> never_closed(const std::vector<Token>& tokens) {
  std::vector<const Token*> open;
  for (const Token& token : tokens) {
    if (opens(token.kind)) open.push_back(&token);
    if (!closes(token.kind)) continue;
    size_t level = open.size();
    while (level > 0 && closing(open[level - 1]->kind) != token.kind)
      level = open[level - 1]->kind == INTERP_BEGIN ? 0 : level - 1;
    if (level > 0) open.resize(level - 1);
  }
  std::vector<uint32_t> begins;
  for (const Token* token : open)
    if (token->kind == LBRACE) begins.push_back(token->span.begin);
  return begins;
}

bool ends_operand(Kind kind) {
  switch (kind) {
  case NAME:
  case INT:
  case FLOAT:
  case STRING_END:
  case TRUE:
  case FALSE:
  case NONE:
  case RPAREN:
  case RBRACKET:
  case RBRACE: return true;
  default: return false;
  }
}

class Layout {
public:
  Layout(TokenList lexed, const SourceManager& sources, Diagnostics& diagnostics, bool is_whole)
      : in_(std::move(lexed.tokens)), sources_(sources), diagnostics_(diagnostics) {
    if (is_whole) never_closed_ = never_closed(in_);
    out_.docs = std::move(lexed.docs);
    out_.comments = std::move(lexed.comments);
    out_.tokens.reserve(in_.size() + in_.size() / 8);
  }

  TokenList run() {
    for (at_ = 0; at_ < in_.size(); ++at_) {
      Token& token = in_[at_];
      if (token.kind == END || !place(token)) break;
    }
    finish();
    return std::move(out_);
  }

private:
  // An open bracket, or the `<` of a type's arguments (which closes by itself where the type cannot go on).
  struct Open {
    int index; // in out_.tokens
    Kind kind; // LESS: of a type
  };
  // A pair that matched, but whose closing brace is further left than its opening line: where a `}` may be missing.
  struct Suspect {
    Span open;
    uint32_t begin;
  };

  std::vector<Token> in_;
  const SourceManager& sources_;
  Diagnostics& diagnostics_;
  size_t at_ = 0;
  TokenList out_;
  std::vector<Open> open_;
  std::vector<Suspect> suspects_;
  std::vector<uint32_t> never_closed_; // in the order of the text; of a text that may go on: none
  bool in_import_ = false;
  bool type_closed_ = false; // the last token is the `>` of a type

  Kind previous() const { return out_.tokens.empty() ? END_STATEMENT : out_.tokens.back().kind; }
  Kind next_kind() const { return at_ + 1 < in_.size() ? in_[at_ + 1].kind : END; }
  bool next_on_line() const { return at_ + 1 < in_.size() && !in_[at_ + 1].line_start; }
  bool at_statement_start() const { return previous() == END_STATEMENT || previous() == LBRACE; }

  // The innermost bracket that is written as one: END if none is open.
  Kind innermost() const {
    for (size_t i = open_.size(); i-- > 0;)
      if (open_[i].kind != LESS) return open_[i].kind;
    return END;
  }
  bool joins_lines() const { return innermost() != LBRACE && innermost() != END; }

  void drop_type_brackets() {
    while (!open_.empty() && open_.back().kind == LESS)
      open_.pop_back();
  }

  Token& push(Token token) {
    token.parent = -1;
    for (size_t i = open_.size(); i-- > 0;)
      if (open_[i].kind != LESS) {
        token.parent = open_[i].index;
        break;
      }
    type_closed_ = false;
    out_.tokens.push_back(std::move(token));
    return out_.tokens.back();
  }

  void push_synthetic(Kind kind, Span where) {
    Token token;
    token.kind = kind;
    token.span = {where.file, where.begin, where.begin};
    token.synthetic = true;
    push(std::move(token));
  }

  void end_statement(Span where) {
    if (at_statement_start()) return;
    Token token;
    token.kind = END_STATEMENT;
    token.span = where;
    push(std::move(token));
    in_import_ = false;
  }

  std::string_view text(const Token& token) const { return sources_.text(token.span); }

  void report_unclosed(const Token& open) {
    // An interpolation that is not closed was reported by the lexer.
    if (open.kind == INTERP_BEGIN) return;
    std::vector<Label> labels;
    std::string hint;
    if (open.kind == LBRACE)
      for (const Suspect& suspect : suspects_)
        if (suspect.begin > open.span.begin) {
          labels.push_back({suspect.open, "by the indentation, it may be missing for this one"});
          break;
        }
    diagnostics_.error("UnclosedBracket", open.span, fmt::format("this `{}` is never closed", text(open)),
                       std::move(hint), std::move(labels));
  }

  // Closes all down to and including open_[level], as if its bracket stood before `where`.
  void close_down_to(size_t level, Span where, bool report) {
    drop_type_brackets();
    while (open_.size() > level) {
      drop_type_brackets();
      if (open_.size() <= level) break;
      Open top = open_.back();
      if (report) report_unclosed(out_.tokens[top.index]);
      if (top.kind == LBRACE && previous() == END_STATEMENT) out_.tokens.pop_back();
      push_synthetic(closing(top.kind), where);
      out_.tokens.back().parent = top.index;
      open_.pop_back();
    }
  }

  // A line begins inside ( or [ with a word that can only begin a statement: the bracket was left open.
  void close_left_open(const Token& token) {
    bool begins = only_begins_statement(token.kind) || (token.kind == FN && next_kind() == NAME);
    if (!begins || !joins_lines() || previous() == DOT) return;
    size_t level = open_.size();
    while (level > 0 && open_[level - 1].kind != LBRACE && open_[level - 1].kind != INTERP_BEGIN)
      --level;
    if (level == open_.size()) return;
    // Report the innermost; the ones around it are most likely closed where it should have been.
    drop_type_brackets();
    report_unclosed(out_.tokens[open_.back().index]);
    close_down_to(level, token.span, false);
  }

  // What is declared at the top of a file, at the beginning of a line.
  bool begins_declaration(const Token& token) const {
    if (token.span.begin > 0 && indentation(token.span) > 0) return false;
    switch (token.kind) {
    case STRUCT:
    case IMPORT:
    case CONST: return true;
    case FN: return next_kind() == NAME;
    case NAME:
      return (token.text == "export" && next_kind() == FN) || (token.text == "test" && next_kind() == STRING_BEGIN);
    default: return false;
    }
  }

  // A declaration that is not indented, in a block that is never closed: it stands behind that block, or all that
  // follows would be part of it.
  void close_never_closed(const Token& token) {
    if (never_closed_.empty() || !begins_declaration(token)) return;
    for (size_t level = 0; level < open_.size(); ++level) {
      const uint32_t begin = out_.tokens[open_[level].index].span.begin;
      if (open_[level].kind == LBRACE && std::binary_search(never_closed_.begin(), never_closed_.end(), begin))
        return close_down_to(level, token.span, true);
    }
  }

  void newline_before(const Token& token) {
    if (out_.tokens.empty()) return;
    close_never_closed(token);
    close_left_open(token);
    if (joins_lines()) return;
    Kind last = previous();
    if (continues_after(last) && !type_closed_) return;
    if (token.kind == ELSE) return;
    if (token.kind == DOT && (next_kind() == NAME || is_keyword(next_kind())) && next_on_line()) return;
    drop_type_brackets();
    if (token.kind != RBRACE) end_statement({token.span.file, line_end(), line_end()});
  }
  uint32_t line_end() const { return out_.tokens.back().span.end; }

  // The words that are keywords only where they can be.
  void contextual(Token& token) {
    if (previous() == DOT && is_keyword(token.kind)) {
      token.kind = NAME;
      token.text = std::string(text(token));
      return;
    }
    if (token.kind != NAME) return;
    if (token.text == "as" && in_import_ && next_kind() == NAME) token.kind = AS;
    if (!at_statement_start()) return;
    if (token.text == "export" && next_kind() == FN && next_on_line()) token.kind = EXPORT;
    if (token.text == "test" && next_kind() == STRING_BEGIN && next_on_line()) token.kind = TEST;
    if (token.text == "on" && next_on_line() && begins_device(next_kind()) && block_follows()) token.kind = ON;
  }
  static bool begins_device(Kind kind) { return kind == NAME || kind == LPAREN || kind == IF || kind == INT; }
  // Is there a `{` outside brackets before this statement ends?
  bool block_follows() const {
    int depth = 0;
    for (size_t i = at_ + 1; i < in_.size(); ++i) {
      const Token& token = in_[i];
      if (depth == 0 && (token.line_start || token.kind == END_STATEMENT)) return false;
      if (token.kind == LBRACE && depth == 0) return true;
      if (opens(token.kind)) ++depth;
      if (closes(token.kind)) --depth;
      if (depth < 0) return false;
    }
    return false;
  }

  bool too_many_types_open() const { return open_.size() >= kMaxTypes && open_[open_.size() - kMaxTypes].kind == LESS; }

  // Does a `<` after the last token open the arguments of a type? It does after `: name`, `-> name`, `fn name`, `struct
  // name`, and inside such arguments. A `:` in [ ] belongs to a slice.
  bool opens_type_arguments() const {
    const std::vector<Token>& tokens = out_.tokens;
    size_t i = tokens.size();
    if (i < 2 || tokens[i - 1].kind != NAME) return false;
    --i;
    if (i >= 2 && tokens[i - 1].kind == DOT && tokens[i - 2].kind == NAME) i -= 2;
    if (i == 0) return false;
    switch (tokens[i - 1].kind) {
    case COLON: return innermost() != LBRACKET;
    case ARROW:
    case FN:
    case STRUCT: return true;
    case LESS:
    case COMMA:
    case LPAREN: return !open_.empty() && open_.back().kind == LESS;
    default: return false;
    }
  }

  bool open_bracket(const Token& token) {
    if (open_.size() >= kMaxBrackets) {
      diagnostics_.error("TooDeep", token.span, fmt::format("brackets are nested more than {} deep", kMaxBrackets));
      return false;
    }
    if (token.kind == LBRACE) drop_type_brackets();
    push(token);
    open_.push_back({static_cast<int>(out_.tokens.size()) - 1, token.kind});
    return true;
  }

  void close_bracket(const Token& token) {
    drop_type_brackets();
    size_t level = open_.size();
    while (level > 0 && closing(open_[level - 1].kind) != token.kind) {
      // What is inside an interpolation does not close what is outside.
      if (open_[level - 1].kind == INTERP_BEGIN) level = 1;
      --level;
    }
    if (level == 0) {
      diagnostics_.error("UnclosedBracket", token.span, fmt::format("this `{}` closes nothing", text(token)));
      push(token).kind = BAD;
      return;
    }
    close_down_to(level, token.span, true);
    int index = open_.back().index;
    if (token.kind == RBRACE) {
      if (previous() == END_STATEMENT) out_.tokens.pop_back();
      note_indentation(out_.tokens[index], token);
    }
    open_.pop_back();
    push(token).parent = index;
  }

  uint32_t indentation(Span place) const {
    uint32_t line = sources_.line_column(place).line;
    std::string_view text = sources_.line_text(place.file, line);
    return static_cast<uint32_t>(std::min(text.find_first_not_of(" \t"), text.size()));
  }
  void note_indentation(const Token& open, const Token& close) {
    if (close.line_start && indentation(close.span) < indentation(open.span))
      suspects_.push_back({open.span, open.span.begin});
  }

  // False to stop reading.
  bool place(Token& token) {
    if (token.line_start) newline_before(token);
    contextual(token);
    switch (token.kind) {
    case END_STATEMENT:
      if (joins_lines())
        push(token);
      else {
        drop_type_brackets();
        end_statement(token.span);
      }
      return true;
    case LPAREN:
    case LBRACKET:
    case LBRACE:
    case INTERP_BEGIN: return open_bracket(token);
    case RPAREN:
    case RBRACKET:
    case RBRACE:
    case INTERP_END: close_bracket(token); return true;
    case LESS:
      if (!too_many_types_open() && opens_type_arguments()) {
        push(token);
        open_.push_back({static_cast<int>(out_.tokens.size()) - 1, LESS});
        return true;
      }
      break;
    case GREATER:
    case GREATER_EQUAL:
      if (!open_.empty() && open_.back().kind == LESS) {
        open_.pop_back();
        Token close = token;
        close.kind = GREATER;
        close.span.end = close.span.begin + 1;
        push(close);
        type_closed_ = true;
        if (token.kind == GREATER_EQUAL) {
          Token assign = token;
          assign.kind = ASSIGN;
          assign.line_start = false;
          ++assign.span.begin;
          push(assign);
        }
        return true;
      }
      break;
    case BARBAR:
      if (ends_operand(previous())) {
        diagnostics_.error("BadCharacter", token.span, "`||` is written `or`");
        token.kind = OR;
      }
      break;
    case IMPORT: in_import_ = true; break;
    default: break;
    }
    push(token);
    return true;
  }

  void finish() {
    Span end = in_[at_ < in_.size() ? at_ : in_.size() - 1].span;
    end.end = end.begin;
    bool complete = in_[std::min(at_, in_.size() - 1)].kind == END;
    close_down_to(0, end, complete);
    if (previous() == END_STATEMENT && !out_.tokens.empty()) out_.tokens.pop_back();
    Token token;
    token.kind = END;
    token.span = end;
    token.synthetic = !complete;
    push(std::move(token));
  }
};

} // namespace

bool is_keyword(Kind kind) {
  switch (kind) {
  case LET:
  case VAR:
  case CONST:
  case FN:
  case STRUCT:
  case IMPORT:
  case IF:
  case ELSE:
  case FOR:
  case IN:
  case WHILE:
  case BREAK:
  case CONTINUE:
  case RETURN:
  case TRUE:
  case FALSE:
  case AND:
  case OR:
  case NOT:
  case ASSERT:
  case NEW:
  case NONE: return true;
  default: return false;
  }
}

TokenList lay_out(TokenList lexed, const SourceManager& sources, Diagnostics& diagnostics, bool is_whole) {
  return Layout(std::move(lexed), sources, diagnostics, is_whole).run();
}

} // namespace tl::syntax

namespace tl {

bool is_incomplete(std::string_view text) {
  using namespace syntax;
  SourceManager sources;
  Diagnostics in_words, in_lines;
  TokenList lexed = lex(sources, sources.add("", std::string(text)), in_words);
  for (const Diagnostic& d : in_words.sorted())
    if (d.kind == "UnterminatedString" && d.span.length() == 3) return true; // of a string that may span lines
  if (in_words.has_errors()) return false;
  TokenList laid_out = lay_out(std::move(lexed), sources, in_lines, false);
  if (laid_out.tokens.size() < 2) return false;
  const Token& last = laid_out.tokens[laid_out.tokens.size() - 2];
  bool closed_for_you = last.synthetic && (last.kind == RPAREN || last.kind == RBRACKET || last.kind == RBRACE);
  return closed_for_you || continues_after(last.kind);
}

} // namespace tl
