// Wording of syntax errors, and where to go on after one.
#include "parser/check/foreign_names.h"
#include "parser/syntax/driver.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::syntax {
namespace {

bool has(const std::vector<Kind>& kinds, Kind kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// What only continues an expression, or begins another: too many to list.
bool continues_expression(Kind kind) {
  switch (kind) {
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
  case LPAREN:
  case LBRACKET:
  case DOT:
  case ADD_ASSIGN:
  case SUBTRACT_ASSIGN:
  case MULTIPLY_ASSIGN:
  case DIVIDE_ASSIGN:
  case FLOOR_DIVIDE_ASSIGN:
  case REMAINDER_ASSIGN:
  case MATRIX_MULTIPLY_ASSIGN:
  case POWER_ASSIGN: return true;
  default: return false;
  }
}

bool begins_expression(Kind kind) {
  switch (kind) {
  case NAME:
  case INT:
  case FLOAT:
  case STRING_BEGIN:
  case TRUE:
  case FALSE:
  case NONE:
  case LPAREN:
  case LBRACKET:
  case MINUS:
  case NOT:
  case IF:
  case BAR:
  case BARBAR: return true;
  default: return false;
  }
}

std::string describe_kind(Kind kind) {
  switch (kind) {
  case NAME: return "a name";
  case INT:
  case FLOAT: return "a number";
  case STRING_BEGIN: return "a string";
  case TEXT:
  case INTERP_BEGIN:
  case STRING_END: return "the rest of a string";
  case INTERP_END: return "`}`";
  case FORMAT: return "`:` and a format";
  case END_STATEMENT: return "the end of the statement";
  case END: return "the end of the file";
  default: return fmt::format("`{}`", kind_name(kind));
  }
}

// What could be here, in the user's words; empty when that is too much to say.
std::vector<std::string> wanted(std::vector<Kind> expected) {
  std::vector<std::string> words;
  if (has(expected, LET)) return {"a statement"};
  if (has(expected, INT)) {
    words.push_back("an expression");
    std::erase_if(expected, begins_expression);
  } else if (has(expected, FN) && has(expected, NAME)) {
    words.push_back("a type");
    std::erase_if(expected, [](Kind k) { return k == FN || k == NAME || k == LPAREN; });
  } else if (has(expected, NAME) && has(expected, LPAREN) && expected.size() == 2) {
    return {"a name"};
  }
  if (has(expected, PLUS)) {
    std::erase_if(expected, [](Kind k) { return continues_expression(k) || k == ASSIGN || k == ELSE; });
  } else {
    // After the name of a type.
    if (has(expected, LESS) && expected.size() > 2)
      std::erase_if(expected, [](Kind k) { return k == LESS || k == LBRACKET || k == DOT; });
  }
  if (has(expected, ARROW) || (has(expected, LBRACE) && has(expected, ASSIGN))) // the body of a function
    std::erase_if(expected, [](Kind k) { return k == END_STATEMENT || k == END || k == RBRACE; });
  if (has(expected, END_STATEMENT)) {
    words.push_back("the end of the statement");
    std::erase_if(expected, [](Kind k) { return k == END_STATEMENT || k == END || k == RBRACE; });
  } else if (has(expected, END)) {
    words.push_back("the end of the statement");
    std::erase_if(expected, [](Kind k) { return k == END; });
  }
  for (Kind kind : expected)
    words.push_back(describe_kind(kind));
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  if (words.size() > 4) words.clear();
  return words;
}

struct ForeignWord {
  std::string_view word, hint;
};
// Words of other languages that people write out of habit.
constexpr ForeignWord foreign_words[] = {
    {"def", "a function is declared with `fn`: `fn f(x) = …`"},
    {"func", "a function is declared with `fn`: `fn f(x) = …`"},
    {"function", "a function is declared with `fn`: `fn f(x) = …`"},
    {"lambda", "a function without a name is written `|x| x + 1`"},
    {"elif", "write `else if`"},
    {"elsif", "write `else if`"},
    {"elseif", "write `else if`"},
    {"class", "a record is declared with `struct`"},
    {"impl", "functions stand outside of structs: `fn f(a: A)`, and `a.f()` calls it"},
    {"mut", "a variable that changes is declared with `var`"},
    {"print", "a call takes parentheses: `print(x)`"},
    {"then", "the block of an `if` is written in braces: `if c { a } else { b }`"},
    {"do", "the block of a loop is written in braces: `while c { }`, `for i in 0..n { }`"},
    {"match", "choose with `if c { } else if d { } else { }`"},
    {"switch", "choose with `if c { } else if d { } else { }`"},
    {"loop", "a loop without an end is `while true { }`"},
    {"until", "write `while not c { }`"},
    {"unless", "write `if not c { }`"},
    {"with", "a file is read at once, and closes by itself: `read_text(path)`, `load(path)`"},
    {"del", "values are freed by themselves; leave it out"},
    {"raise", "`assert c, \"message\"` stops a program"},
    {"throw", "`assert c, \"message\"` stops a program"},
    {"global", "a function takes what it needs as parameters and returns what it makes"},
    {"yield", "build a list with `list(e for … )`"},
    {"is", "write `==`"},
    {"try", "a failure ends the program; `exists(path)` and `if` test beforehand"},
    {"pub", "all names of a file are public"},
    {"public", "all names of a file are public"},
    {"async", "every call is asynchronous; `wait(x)` waits"},
    {"await", "every call is asynchronous; `wait(x)` waits"},
    {"int", "a variable is declared with `let` or `var`: `let x: i64 = e`"},
    {"float", "a variable is declared with `let` or `var`: `let x: f32 = e`"},
    {"auto", "a variable is declared with `let` or `var`"},
    {"pass", "an empty block is `{ }`"},
    {"enum", "there are no enumerations: name numbers, `const red = 0`"},
    {"type", "types have no other names; a parameter of any is `fn f<T: float>(x: T[n])`"},
    {"use", "write `import name`"},
    {"using", "write `import name`"},
    {"include", "write `import name`"},
};

// Does it stand in what begins with `//` or `/*` on its line?
bool follows_slashes(const std::vector<Token>& tokens, size_t index) {
  if (tokens[index].kind == STAR && index > 0) return tokens[index - 1].kind == SLASH;
  for (size_t at = index; at > 0 && !tokens[at].line_start; --at)
    if (tokens[at - 1].kind == SLASH_SLASH) return true;
  return false;
}

} // namespace

std::string Driver::describe(const Token& token) const {
  switch (token.kind) {
  case END: return "the file ends";
  case END_STATEMENT: return token.span.length() ? "`;` ends the statement" : "the line ends";
  case STRING_BEGIN: return "found a string";
  case INTERP_END: return "found `}`";
  case FORMAT: return "found `:`";
  default: return token.synthetic ? "the statement ends" : fmt::format("found `{}`", text(token));
  }
}

// `from m import f` of Python: the index is that of `m`.
std::string Driver::import_hint(size_t index) const {
  const std::string_view module = tokens_[index].text;
  const bool has_name =
      index + 2 < tokens_.size() && tokens_[index + 1].kind == IMPORT && tokens_[index + 2].kind == NAME;
  const std::string_view name = has_name ? std::string_view(tokens_[index + 2].text) : "f";
  if (!is_foreign_module(module)) return fmt::format("write `import {0}`, and then `{0}.{1}`", module, name);
  const auto known = member_hint(name);
  return known ? *known : fmt::format("`{}` is a library of Python; `tl doc --search {}` looks in tl's", module, name);
}

// A colon behind the keyword of a block: Julia's range, or the block of Python.
std::string Driver::header_colon_hint(size_t index) const {
  const Token &from = tokens_[index - 1], &to = tokens_[index + 1];
  const bool is_for = tokens_[static_cast<size_t>(find_header(index))].kind == FOR;
  if (!is_for || !begins_expression(to.kind)) return "a block is written in braces: `{ … }`";
  if (to.kind != INT && tokens_[block_begin(index)].kind != LBRACE) return "a block is written in braces: `{ … }`";
  if (from.kind != INT || to.kind != INT) return "a range is `a..b + 1`, and ends before its second number";
  return fmt::format("a range ends before its second number: `{}..{} + 1`", text(from), text(to));
}

// The type that begins there, up to the body of its function; that of a number if there is none.
std::string Driver::type_text(size_t first) const {
  size_t end = first;
  while (end < tokens_.size() && tokens_[end].parent >= tokens_[first].parent && tokens_[end].kind != LBRACE &&
         tokens_[end].kind != ASSIGN && tokens_[end].kind != END_STATEMENT && tokens_[end].kind != END)
    ++end;
  if (end == first) return "f32";
  return std::string(sources_.text({tokens_[first].span.file, tokens_[first].span.begin, tokens_[end - 1].span.end}));
}

// What follows the parameters of a function without `->` or `=`: a type, or its body.
std::string Driver::result_hint(size_t first) const {
  const std::string_view word = tokens_[first].text;
  const bool is_type = tokens_[first].kind != NAME || dtype_from_name(word) || word == "str" ||
                       (!word.empty() && std::isupper(static_cast<unsigned char>(word[0])));
  if (is_type) return fmt::format("the type of a result is written `-> {}`", type_text(first));
  return "the body of a function follows `=`, or stands in braces: `fn f(x) = x + 1`";
}

// `{"a": 1}`, `{k: v}`, `{}`
bool Driver::is_dictionary(size_t brace) const {
  size_t at = brace + 1;
  if (tokens_[at].kind == RBRACE) return true;
  if (tokens_[at].kind == STRING_BEGIN)
    while (at + 1 < tokens_.size() && tokens_[at].kind != STRING_END && tokens_[at].kind != END_STATEMENT)
      ++at;
  return at + 1 < tokens_.size() && tokens_[at + 1].kind == COLON;
}

// Advice for the mistakes that people make most.
std::string Driver::hint_for(size_t index, const std::vector<Kind>& expected) const {
  constexpr std::string_view lambda = "a function without a name is written `|x| x + 1`";
  constexpr std::string_view method = "functions stand outside of structs: `fn f(a: A)`, and `a.f()` calls it";
  const Token& token = tokens_[index];
  const Token* before = index > 0 ? &tokens_[index - 1] : nullptr;
  Kind previous = before ? before->kind : END_STATEMENT;
  const auto kind_at = [&](size_t at) { return at < tokens_.size() ? tokens_[at].kind : END; };
  const bool is_call = token.kind == NAME && kind_at(index + 1) == LPAREN;
  for (const Token* suspect : {&token, before})
    if (suspect && suspect->kind == NAME && !(suspect == &token && is_call && token.text == "print"))
      for (const ForeignWord& foreign : foreign_words)
        if (suspect->text == foreign.word && (suspect == before || begins_expression(previous) || previous == RBRACE ||
                                              previous == RPAREN || previous == RBRACKET))
          return std::string(foreign.hint);
  if (token.kind == NAME && previous == NAME && before->text == "from") return import_hint(index);
  if (text(token) == "as" && kind_at(index + 1) == NAME) {
    const bool is_short = previous == NAME || previous == INT || previous == FLOAT;
    return fmt::format("a conversion is written as a call: `{}({})`", tokens_[index + 1].text,
                       is_short ? text(*before) : "x");
  }
  if (token.kind == NAME && previous == RPAREN && has(expected, ARROW)) return result_hint(index);
  if (token.kind != END_STATEMENT && follows_slashes(tokens_, index)) return "a comment begins with `#`";
  bool in_header = find_header(index) >= 0;
  if (expected.size() == 1 && expected[0] == COLON && index >= 2 && tokens_[index - 2].kind == NAME)
    return "a field is written `name: type`";
  if (token.kind == LBRACE && before && before->text == "test") return "a test has a name: `test \"…\" { }`";
  if (previous == NAME && before->text == "f" && token.kind == STRING_BEGIN) return "every string fills in `{x}`";
  switch (token.kind) {
  case SLASH:
  case SLASH_SLASH:
    if (previous == DOT) return "operators work on each element of a tensor: `a / b`";
    if (has(expected, LET)) return "a comment begins with `#`";
    break;
  case ASSIGN:
    if (previous == EQUAL) return "write `==`";
    if (index >= 2 && previous == NAME && tokens_[index - 2].kind == FOR) return "write `for i in 0..n { }`";
    if (in_struct(index)) return "fields have no values of their own: a function that makes one gives them";
    if (kind_at(index + 1) == GREATER) return std::string(lambda);
    if (previous == DOTDOT) return "a range ends before its second number: `0..n + 1`";
    if (previous == COLON) return "a declaration is `let x = e`";
    if (in_header) return "`==` compares; `=` only assigns, as a statement of its own";
    if (previous == ASSIGN || has(expected, EQUAL)) return "`==` compares; an assignment is a statement of its own";
    break;
  case COLON:
    if (previous == RPAREN && has(expected, ARROW)) return result_hint(index + 1);
    if (has(expected, DOTDOT) && (previous == LBRACKET || previous == COMMA))
      return "an axis of any size is `_`: `f32[_, _]`, or a name for its size: `f32[n, m]`";
    if (previous == NAME && index >= 2 && (tokens_[index - 2].kind == LPAREN || tokens_[index - 2].kind == COMMA) &&
        has(expected, RPAREN))
      return "an argument is named by `=`: `f(x = 1.0)`";
    if (in_header) return header_colon_hint(index);
    if (has(expected, EQUAL)) return "a variable is declared with `let` or `var`: `let x: f32 = e`";
    break;
  case DOT:
    if (index + 1 < tokens_.size() && tokens_[index + 1].kind == INT) return "a number begins with a digit: `0.5`";
    if (index >= 2 && tokens_[index - 2].kind == IMPORT)
      return fmt::format("write `import {0}`, and then `{0}.name`", before->text);
    if (index >= 2 && tokens_[index - 2].kind == FN) return std::string(method);
    break;
  case INT:
  case FLOAT:
    if (previous == DOT) return "an element of a tuple is `t[0]`";
    if ((previous == INT || previous == FLOAT) && has(expected, RBRACKET) && has(expected, COMMA))
      return "elements are separated by commas, and rows are lists of their own: `[[1, 2], [3, 4]]`";
    break;
  case ARROW:
    if (previous == NAME && has(expected, END_STATEMENT)) return std::string(lambda);
    break;
  case LESS:
    if (previous == LESS) return "bits are shifted by `shift_left(a, n)`";
    break;
  case GREATER:
  case GREATER_EQUAL:
    if (previous == LESS) return "write `!=`";
    if (previous == GREATER) return "bits are shifted by `shift_right(a, n)`";
    if (previous == ASSIGN) return "the body of a function follows `=`, of a lambda its second `|`";
    break;
  case PLUS:
    if (previous == PLUS) return "to add one write `x += 1`";
    return "there is no unary `+`";
  case BAR: return "the bits of integers are combined by `bit_or(a, b)`, conditions by `or`";
  case ELSE: return "`else` follows the block of an `if`";
  case LBRACE:
    if (auto foreign = foreign_header(index)) return *foreign;
    if (has(expected, LET)) return "a block of its own is written `if true { … }`";
    if (previous == NAME && index + 2 < tokens_.size() && tokens_[index + 1].kind == NAME &&
        tokens_[index + 2].kind == COLON)
      return "a struct is made with parentheses: `P(x = 1.0)`";
    if (has(expected, INT) && is_dictionary(index))
      return "there are no dictionaries: names belong to a struct, `struct P { a: f32 }`; other keys are a list of "
             "their own";
    if (before &&
        (previous == ASSIGN || previous == LPAREN || previous == COMMA || previous == RETURN || previous == LBRACKET))
      return "a block is only allowed after `fn`, `if`, `else`, `for`, `while` and as the body of a lambda";
    break;
  case COMMA:
    if (has(expected, RPAREN) && expected.size() == 1) return "a comprehension is the only argument of its call";
    if (index >= 2 && tokens_[index - 2].kind == IMPORT)
      return fmt::format("each module has a line of its own: `import {}`", text(*before));
    if (find_header(index) < 0 && has(expected, END_STATEMENT)) return "a tuple is written in parentheses: `(a, b)`";
    if (index >= 2 && (tokens_[index - 2].kind == LET || tokens_[index - 2].kind == VAR))
      return "to take a tuple apart write `let (a, b) = e`";
    break;
  case ELLIPSIS:
    if (previous == LBRACKET || previous == COMMA) return "axes that there may be are `..s`: `f32[..s, n]`";
    return "a range is `a..b`, and ends before b";
  case FN: return std::string(in_struct(index) ? method : lambda);
  case FORMAT:
    if (previous == INTERP_BEGIN) return "the value stands before its format: `{x:.2f}`";
    break;
  case LPAREN:
    if (previous == BAR) return "a lambda takes a tuple as one: `|p| p[0] + p[1]`";
    if (previous == DOT && index >= 2 && tokens_[index - 2].kind == NAME)
      return fmt::format("functions of numbers work on each element of a tensor: `{}(x)`", tokens_[index - 2].text);
    break;
  case LET:
    if (previous == LPAREN && index >= 2 && tokens_[index - 2].kind == FOR) return "write `for i in 0..n { }`";
    break;
  case STAR:
    if (previous == DOT) return "operators work on each element of a tensor: `a * b`";
    if (has(expected, INT) || has(expected, LET)) return "there are no references: a value is written `x`";
    break;
  case INTERP_END:
    if (previous == INTERP_BEGIN) return "braces themselves are `{{` and `}}`";
    break;
  case NOT:
    if (kind_at(index + 1) == IN)
      return "to look something up write `not any(x == a)`, or `find(s, part) < 0` in a text";
    if (has(expected, INT)) return "`not` binds more loosely than this operator: use parentheses";
    break;
  case END_STATEMENT:
    if (token.span.length() && has(expected, RBRACKET)) return "rows are lists of their own: `[[1, 2], [3, 4]]`";
    break;
  case FOR:
    if (has(expected, RBRACKET) && has(expected, IF))
      return "several loops stand behind one `for`: `for i in 0..n, j in 0..m`";
    if (has(expected, RPAREN)) return "a comprehension must be the only argument of its call, or be written in `[ ]`";
    break;
  case VAR:
    if (index + 1 < tokens_.size() && tokens_[index + 1].kind == LPAREN) return "write `variance(x)`";
    break;
  case NEW: return "`new` adds an axis, in a subscript: `x[new, :]`";
  case IF:
    if (has(expected, END_STATEMENT) || has(expected, RPAREN) || has(expected, RBRACKET))
      return "a choice is written `if c { a } else { b }`";
    break;
  case IN:
    if (index >= 3 && tokens_[index - 3].kind == FOR) return "write `for i in 0..n { }`, without parentheses";
    if (in_header && tokens_[static_cast<size_t>(find_header(index))].kind == FOR) break;
    return "`in` belongs to `for`; to look something up write `any(x == a)`, or `find(s, part) >= 0` in a text";
  case LBRACKET:
    if (previous == LET || previous == VAR) return "a tuple is taken apart by `let (a, b) = e`; elements are `x[0]`";
    if ((previous == COLON || previous == ARROW) && !has(expected, INT))
      return "the type of a tensor is `f32[n]`, of a list `List<f32>`";
    break;
  case RBRACKET:
    if (previous == LBRACKET && index >= 2 && tokens_[index - 2].kind == NAME && has(expected, DOTDOT))
      return "without axes the type is the element's: `f32`";
    break;
  default: break;
  }
  const bool ends_here = has(expected, END_STATEMENT) || has(expected, RPAREN) || has(expected, RBRACKET);
  if (ends_here && !in_header && previous == NAME && (token.kind == NAME || token.kind == STRING_BEGIN))
    return fmt::format("a call takes parentheses: `{}({})`", before->text, token.kind == NAME ? token.text : "\"…\"");
  if (in_header && has(expected, LBRACE) && begins_expression(token.kind))
    return "the block is written in braces: `{ … }`";
  if (token.kind == END_STATEMENT && in_header && has(expected, LBRACE)) return "the `{` belongs on the same line";
  if (has(expected, END_STATEMENT) && (begins_expression(token.kind) || has({LET, VAR, WHILE, RETURN}, token.kind)))
    return "statements go on lines of their own, or are separated by `;`";
  return {};
}

void Driver::syntax_error(const std::vector<Kind>& expected) {
  size_t index = last_index_;
  const Token& token = tokens_[index];
  errors_here_ = index == error_index_ ? errors_here_ + 1 : 0;
  error_index_ = index;
  // What the lexer or the layout has complained about needs no second message.
  // One statement gives one, but for those in its blocks.
  size_t end = statement_end(index);
  bool reported = token.kind == BAD || too_deep_ || end == last_end_;
  last_end_ = end;
  for (size_t i = index; i <= end && !reported; ++i)
    reported = tokens_[i].synthetic;
  if (!reported) {
    std::vector<std::string> words = wanted(expected);
    std::string found = describe(token), message;
    Span place = token.span;
    // Something is missing at the end of a line; what the next one begins with is not to blame.
    bool after_line = index > 0 && (token.kind == END || (token.kind == RBRACE && token.line_start));
    if (after_line) {
      uint32_t end = tokens_[index - 1].span.end;
      place = {place.file, end, end};
      if (token.kind != END) found = "the line ends";
    }
    if (words.empty()) {
      message = after_line || token.kind == END_STATEMENT
                    ? fmt::format("{} too early", found)
                    : fmt::format("`{}` is not allowed here", token.kind == STRING_BEGIN ? "\"" : text(token));
    } else {
      message = "expected ";
      for (size_t i = 0; i < words.size(); ++i) {
        if (i) message += i + 1 == words.size() ? " or " : ", ";
        message += words[i];
      }
      message += ", but " + found;
    }
    error("SyntaxError", place, message, hint_for(index, expected));
  }
}

// `struct S { x: f32 = ` …
// The hint for a block whose keyword is another language's: `switch (x) {`.
std::optional<std::string> Driver::foreign_header(size_t brace) const {
  size_t first = brace;
  while (first > 0 && !tokens_[first].line_start)
    --first;
  if (tokens_[first].kind != NAME || tokens_[brace - 1].kind != RPAREN) return std::nullopt;
  for (const ForeignWord& foreign : foreign_words)
    if (tokens_[first].text == foreign.word && foreign.word != "print") return std::string(foreign.hint);
  return std::nullopt;
}

bool Driver::in_struct(size_t index) const {
  const int level = tokens_[index].parent;
  for (int at = level; at > 0 && tokens_[static_cast<size_t>(level)].kind == LBRACE; --at) {
    const Token& token = tokens_[static_cast<size_t>(at - 1)];
    if (token.kind == STRUCT) return true;
    if (token.line_start || token.kind == END_STATEMENT) return false;
  }
  return false;
}

// If the token is between a keyword and the block that it wants (`if x = 1 {`): the index of the keyword. Else -1.
int Driver::find_header(size_t index) const {
  size_t at = index;
  for (;;) {
    int level = tokens_[at].parent;
    size_t first = static_cast<size_t>(level + 1);
    bool complete = false;
    for (size_t i = at; i-- > first && !complete;) {
      const Token& token = tokens_[i];
      if (token.parent != level) continue;
      switch (token.kind) {
      case END_STATEMENT:
      case LBRACE: complete = true; break; // the block of what is before
      case WHILE:
      case ON:
      case TEST: return static_cast<int>(i);
      case FN:
        if (tokens_[i + 1].kind == NAME || i + 1 == index) return static_cast<int>(i);
        break;
      case FOR:
        if (level < 0 || tokens_[level].kind == LBRACE) return static_cast<int>(i);
        break;
      case IF: {
        bool filter = false;
        if (level >= 0 && tokens_[level].kind != LBRACE)
          for (size_t j = first; j < i; ++j)
            filter = filter || (tokens_[j].kind == FOR && tokens_[j].parent == level);
        if (!filter) return static_cast<int>(i);
        break;
      }
      default: break;
      }
    }
    if (level < 0 || tokens_[level].kind == LBRACE) return -1;
    at = static_cast<size_t>(level);
  }
}

// Does the statement that is at this level (the index of the bracket around it) end here? Inside ( ) and [ ] also
// the element does.
bool Driver::ends_statement(size_t index, int level) const {
  const Token& token = tokens_[index];
  if (token.kind == END) return true;
  if (token.parent != level) return false;
  if (token.kind == END_STATEMENT || token.kind == RBRACE) return true;
  bool in_brackets = level >= 0 && tokens_[level].kind != LBRACE;
  return in_brackets &&
         (token.kind == COMMA || token.kind == RPAREN || token.kind == RBRACKET || token.kind == INTERP_END);
}

// The end of the statement that the token is in.
size_t Driver::statement_end(size_t index) const {
  int level = tokens_[index].parent;
  while (level >= 0 && tokens_[level].kind != LBRACE)
    level = tokens_[level].parent;
  while (!ends_statement(index, level))
    ++index;
  return index;
}

// The block of the broken header that the token is in, or where that statement or element ends.
size_t Driver::block_begin(size_t index) const {
  int header = find_header(index);
  if (header < 0) return statement_end(index);
  int level = tokens_[header].parent;
  bool body_is_expression = false;
  for (;; ++index) {
    if (ends_statement(index, level)) return index;
    if (tokens_[index].parent != level) continue;
    if (tokens_[index].kind == ASSIGN && tokens_[header].kind == FN) body_is_expression = true;
    if (tokens_[index].kind == LBRACE && !body_is_expression) return index;
  }
}

// One token can break every header around it (`while if for x: y`); more errors than that mean no progress.
constexpr int most_errors_at_a_token = 300;

bool Driver::resume() {
  next_ = statement_end(error_index_);
  inserted_ = 0;
  return errors_here_ < most_errors_at_a_token;
}

bool Driver::resume_at_block() {
  next_ = block_begin(error_index_);
  // The parser comes back to the innermost header until every header around has a block too: one more each time.
  inserted_ = tokens_[next_].kind != LBRACE ? 2 * (errors_here_ + 1) : 0;
  return errors_here_ < most_errors_at_a_token;
}

} // namespace tl::syntax
