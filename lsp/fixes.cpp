// Where the words of a hint belong is not certain: each place that they may mean is tried, and the checker says which
// of them mends the program.
#include "lsp/fixes.h"
#include "lang/ast_walk.h"
#include "parser/syntax/parse.h"
#include <algorithm>
#include <cctype>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <optional>

namespace tl::lsp {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// A name, an operator or another single token.
bool is_token(std::string_view text) {
  const bool is_a_word = !text.empty() && is_word(text.front());
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_a_word ? is_word(c) : std::ispunct(static_cast<unsigned char>(c)) && !std::strchr("()[]{}\"", c);
  });
}

// Does the text have this part, not as a piece of a longer word?
bool holds(std::string_view text, std::string_view part) {
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    const size_t end = at + part.size();
    const bool begins = at == 0 || !is_word(part.front()) || !is_word(text[at - 1]);
    if (begins && (end == text.size() || !is_word(part.back()) || !is_word(text[end]))) return true;
  }
  return false;
}

constexpr std::string_view kAnyArguments = "(…)";

// `f(…)`
bool of_any_arguments(std::string_view text) {
  return text.ends_with(kAnyArguments) && is_token(text.substr(0, text.size() - kAnyArguments.size()));
}

// The number of arguments of `f(x, lo, hi)`, if they are names that only stand for some; of `f(…)` any.
std::optional<size_t> stand_ins(std::string_view text) {
  const size_t open = text.find('(');
  if (open == text.npos || !text.ends_with(')')) return std::nullopt;
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  for (size_t count = 1;; ++count) {
    const size_t comma = rest.find(", ");
    if (!is_token(rest.substr(0, comma)) || !is_word(rest.front())) return std::nullopt;
    if (comma == rest.npos) return count;
    rest = rest.substr(comma + 2);
  }
}

struct Quoted {
  std::string text;
  bool is_spelling = false; // it is to be written: "did you mean `sum`?", "write `f32` or `f64`"
};

// What stands in backquotes, but for what only sketches a program, or is an example. `f(…)` is a function's name.
std::vector<Quoted> quoted_in(std::string_view hint) {
  std::vector<Quoted> all;
  bool was_spelling = false;
  size_t last = 0;
  for (size_t begin = hint.find('`'); begin != std::string_view::npos; begin = hint.find('`', last)) {
    const size_t end = hint.find('`', begin + 1);
    if (end == std::string_view::npos) break;
    const std::string_view before = hint.substr(last, begin - last);
    const bool continues = was_spelling && (before == " or " || before == ", " || before == ", or ");
    was_spelling = continues || before.ends_with("did you mean ") || before.ends_with("write ") ||
                   before.ends_with("is written ") || before.ends_with("it is ");
    std::string text(hint.substr(begin + 1, end - begin - 1));
    const bool is_sketch = text.find("…") != std::string::npos && !of_any_arguments(text);
    if (!text.empty() && !is_sketch && !before.ends_with("like ")) all.push_back({std::move(text), was_spelling});
    last = end + 1;
  }
  return all;
}

// A way to do what a hint says, before it has been tried.
struct Candidate {
  std::vector<Edit> edits;
  bool is_name = false; // one that is there: what is then said of the place is not this edit's fault
};

class Candidates {
public:
  Candidates(const Diagnostic& d, const Analysis& analysis, const Index& index, const SourceManager& sources)
      : d_(d), analysis_(analysis), index_(index), sources_(sources), source_(sources.text(analysis.file)) {}

  std::vector<Candidate> all() {
    if (!of_kind()) of_hint();
    return std::move(all_);
  }

private:
  std::string_view text(Span span) const { return sources_.text(span); }
  void add(Span span, std::string text) { all_.push_back({{{span, std::move(text)}}}); }

  // Kinds whose edit no words are needed for. False: this is none.
  bool of_kind() {
    if (d_.kind == "UnusedImport") return add(without(d_.span), ""), true;
    if (d_.kind == "UnreachableCode") return add(without(rest_of_block()), ""), true;
    if (d_.kind == "UnchangedVariable") return with_keyword(d_.span, "let"), true;
    if (d_.kind == "NotAssignable") return with_keyword(declaration(d_.span), "var"), true;
    if (d_.kind == "DeviceMismatch") return on_the_device(), true;
    if (d_.kind != "UnusedName") return false;
    if (const auto quoted = quoted_in(d_.hint); !quoted.empty()) add(d_.span, quoted.front().text);
    return true;
  }

  void of_hint() {
    std::optional<std::string> module; // that is to be imported
    for (const Quoted& quoted : quoted_in(d_.hint)) {
      if (quoted.text.starts_with("assert ")) {
        add_edit(statement_before(quoted.text));
      } else if (quoted.text.starts_with("import ")) {
        if (is_imported(quoted.text)) continue;
        module = quoted.text;
        add_edit(import_line(quoted.text));
        if (quoted.is_spelling && d_.kind == "SyntaxError") add(line_of(d_.span), quoted.text); // `from a import b`
      } else if (quoted.text.starts_with("let ") || quoted.text.starts_with("var ")) {
        declared_as(quoted.text);
      } else {
        if (module) all_.push_back({{import_line(*module), {d_.span, quoted.text}}});
        renamed(quoted.text);
        if (quoted.is_spelling) spelled(quoted.text);
        if (!of_any_arguments(quoted.text)) in_place(quoted.text);
      }
    }
    for (const Quoted& quoted : quoted_in(d_.message))
      if (quoted.is_spelling) spelled(quoted.text);
  }
  void add_edit(Edit edit) { all_.push_back({{std::move(edit)}}); }

  // In place of the name or operator that the diagnostic points at. Of `axis = ` what is not there.
  void spelled(const std::string& text) {
    const std::string_view old = this->text(d_.span);
    const bool is_letters = d_.kind == "BadName" || d_.kind == "BadCharacter";
    if (!is_token(old) && !is_letters) return;
    const std::string name = text.ends_with(" = ") ? text.substr(0, text.size() - 3) : text;
    all_.push_back({{{d_.span, apart(name)}}, is_token(name)});
    if (name != text) add(d_.span, text);
    if (const size_t dot = text.rfind('.'); dot != text.npos && is_token(text.substr(dot + 1)))
      add(d_.span, text.substr(dot + 1)); // of a path it points at the last name
  }

  // `asin(x)` for a call of `arcsin` with one argument, `sum(…)` for one of `np.sum`: the function's name alone. For
  // the whole call what has all its arguments.
  void renamed(const std::string& text) {
    const size_t open = text.find('(');
    if (open == std::string::npos || open == 0) return;
    const std::string head = text.substr(0, open);
    const std::optional<size_t> count = stand_ins(text);
    const auto call = [&](const ast::Expr& e, Span path, Span name, size_t given,
                          const std::vector<ast::Argument>& arguments) {
      const bool is_here = path == d_.span || name == d_.span || (path.begin == d_.span.begin && name != path);
      if (is_here && is_token(this->text(name)) && (of_any_arguments(text) || count == given)) {
        add(name, head);
        if (path != name) add(path, head);
      }
      const bool is_inside = e.span.begin <= d_.span.begin && d_.span.end <= e.span.end;
      if (is_inside && this->text(name) == head && !arguments.empty() && text != this->text(e.span) &&
          std::all_of(arguments.begin(), arguments.end(),
                      [&](const ast::Argument& a) { return holds(text, this->text(a.value->span)); }))
        add(e.span, text);
    };
    walk(
        [&](const ast::Expr& e) {
          if (const auto* plain = ast::as<ast::Call>(e))
            call(e, plain->callee->span, plain->callee->span, plain->arguments.size(), plain->arguments);
          if (const auto* method = ast::as<ast::MethodCall>(e))
            call(e, {e.span.file, method->receiver->span.begin, method->name.span.end}, method->name.span,
                 method->arguments.size() + 1, method->arguments);
        },
        [](const ast::Block&) {});
  }

  // With blanks where it would become one word with what is beside it.
  std::string apart(const std::string& word) const {
    const bool joins_left = d_.span.begin > 0 && is_word(source_[d_.span.begin - 1]) && is_word(word.front());
    const bool joins_right = d_.span.end < source_.size() && is_word(source_[d_.span.end]) && is_word(word.back());
    return (joins_left ? " " : "") + word + (joins_right ? " " : "");
  }

  // `f32(n)` for `n`: in place of the longest part that the diagnostic points at and the new text holds; of equal
  // parts the later one. `f32(a) / f32(b)`, which has all operands, for the whole `a / b`.
  void in_place(const std::string& text) {
    if (d_.kind == "SyntaxError") return; // it points at a token, not at a value
    if (const auto operation = operation_in(text)) return add(*operation, text);
    std::optional<Span> found;
    auto consider = [&](Span span) {
      if (!span.valid() || span.file != analysis_.file || span.length() == 0) return;
      const std::string_view part = this->text(span);
      const bool is_longer_call = part.ends_with(')') && text.starts_with(part.substr(0, part.size() - 1));
      if (text != part && (is_longer_call || holds(text, part)) && (!found || span.length() >= found->length()))
        found = span;
    };
    consider(d_.span);
    for (const Label& label : d_.labels)
      consider(label.span);
    if (found) add(*found, text);
  }

  // The operation that the diagnostic is about, if the text has both its operands.
  std::optional<Span> operation_in(const std::string& text) const {
    std::optional<Span> found;
    walk(
        [&](const ast::Expr& e) {
          const auto* binary = ast::as<ast::Binary>(e);
          if (!binary || !holds(text, this->text(binary->left->span)) || !holds(text, this->text(binary->right->span)))
            return;
          if (e.span == d_.span || binary->left->span == d_.span || binary->right->span == d_.span) found = e.span;
        },
        [](const ast::Block&) {});
    return found && text != this->text(*found) ? found : std::nullopt;
  }

  // `let b: f64[_] = e` for the `let b = e` that is there.
  void declared_as(const std::string& text) {
    const size_t end = text.find_first_of(":= ", 4);
    const std::string_view name = std::string_view(text).substr(4, end - 4);
    const Symbol* nearest = nullptr;
    for (const Symbol& symbol : index_.symbols)
      if (symbol.name == name && ast::as<ast::Let>(symbol.statement) && symbol.extent.begin <= d_.span.begin &&
          d_.span.begin <= symbol.extent.end)
        nearest = &symbol;
    if (nearest) add(nearest->statement->span, text);
  }

  bool is_imported(std::string_view import) const {
    return std::any_of(analysis_.tree.statements.begin(), analysis_.tree.statements.end(),
                       [&](const ast::Stmt* s) { return ast::as<ast::Import>(s) && text(s->span) == import; });
  }

  Span declaration(Span name) const {
    const Mention* mention = index_.at(name.begin);
    return mention ? mention->symbol : Span{};
  }

  // `let` or `var` for the other before a pattern.
  void with_keyword(Span pattern, const std::string& keyword) {
    const auto is_of_it = [&](const Symbol& s) {
      return ast::as<ast::Let>(s.statement) && s.statement->span.begin < pattern.begin &&
             pattern.begin < s.statement->span.end;
    };
    const auto symbol = std::find_if(index_.symbols.begin(), index_.symbols.end(), is_of_it);
    if (!pattern.valid() || symbol == index_.symbols.end()) return;
    const Span whole = symbol->statement->span;
    add({whole.file, whole.begin, whole.begin + 3}, keyword); // both have three letters
  }

  Span line_of(Span span) const {
    const size_t before = source_.rfind('\n', span.begin == 0 ? 0 : span.begin - 1);
    const size_t begin = span.begin == 0 || before == source_.npos ? 0 : before + 1;
    const size_t end = std::min(source_.find('\n', span.begin), source_.size());
    return {span.file, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }

  // Before what is wrong: a line, or where that is the expression of a function, a block in place of it.
  Edit statement_before(const std::string& text) const {
    for (const ast::Stmt* s : analysis_.tree.statements) {
      const auto* function = ast::as<ast::Function>(s);
      const ast::Expr* body = function ? function->body.expression : nullptr;
      if (!body || d_.span.begin < body->span.begin || body->span.end < d_.span.end) continue;
      const auto equals = static_cast<uint32_t>(source_.rfind('=', body->span.begin));
      const std::string expression(this->text(body->span));
      return {{d_.span.file, equals, body->span.end}, "{\n  " + text + "\n  " + expression + "\n}"};
    }
    return line_before(d_.span, text, source_);
  }

  // Behind the imports that there are; else before what the file begins with, and its documentation.
  Edit import_line(const std::string& text) const {
    const ast::Stmt *last = nullptr, *first = nullptr;
    for (const ast::Stmt* s : analysis_.tree.statements) {
      if (ast::as<ast::Import>(s)) last = s;
      if (!first) first = s;
    }
    size_t at = 0;
    if (last) {
      at = line_of(last->span).end;
      const auto place = static_cast<uint32_t>(at);
      return {{analysis_.file, place, place}, "\n" + text};
    }
    if (first) at = line_of(first->span).begin;
    while (at > 0) { // documentation belongs to what follows it
      const Span line = line_of({analysis_.file, static_cast<uint32_t>(at - 1), static_cast<uint32_t>(at - 1)});
      if (!this->text(line).starts_with("##")) break;
      at = line.begin;
    }
    const auto place = static_cast<uint32_t>(at);
    return {{analysis_.file, place, place}, text + "\n"};
  }

  // All of the statement, with its line where nothing else is on it.
  Span without(Span span) const {
    const size_t before = source_.find_last_not_of(" \t", span.begin == 0 ? source_.npos : span.begin - 1);
    const bool begins_line = span.begin == 0 || before == source_.npos || source_[before] == '\n';
    const size_t after = source_.find_first_not_of(" \t\r", span.end);
    if (!begins_line || (after != source_.npos && source_[after] != '\n')) return span;
    const size_t begin = before == source_.npos || span.begin == 0 ? 0 : before + 1;
    const size_t end = after == source_.npos ? source_.size() : after + 1;
    return {span.file, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }

  // All expressions and blocks of the file, the outer before what is in them.
  void walk(const std::function<void(const ast::Expr&)>& on_expr,
            const std::function<void(const ast::Block&)>& on_block) const {
    std::function<void(const ast::Block&)> block;
    const std::function<void(const ast::Expr*)> expr = [&](const ast::Expr* e) {
      on_expr(*e);
      ast::each_part(*e, expr, block);
    };
    block = [&](const ast::Block& inner) {
      on_block(inner);
      for (const ast::Stmt* s : inner.statements)
        ast::each_part(*s, expr, block);
    };
    for (const ast::Stmt* s : analysis_.tree.statements)
      ast::each_part(*s, expr, block);
  }

  // From what the diagnostic points at to the end of the innermost block that it is in.
  Span rest_of_block() const {
    Span rest = d_.span;
    walk([](const ast::Expr&) {},
         [&](const ast::Block& block) {
           if (!block.statements.empty() && block.span.begin <= d_.span.begin && d_.span.end <= block.span.end)
             rest.end = std::max(d_.span.end, block.statements.back()->span.end);
         });
    return rest;
  }

  // The right side of the operation, there from the device of the left one.
  void on_the_device() {
    const ast::Binary* found = nullptr;
    walk(
        [&](const ast::Expr& e) {
          const auto* binary = ast::as<ast::Binary>(e);
          if (binary && e.span == d_.span) found = binary;
        },
        [](const ast::Block&) {});
    const bool is_simple = found && ast::as<ast::Name>(found->left) && !ast::as<ast::Binary>(found->right) &&
                           !ast::as<ast::Unary>(found->right);
    if (!is_simple) return;
    const Span right = found->right->span;
    add(right, fmt::format("{}.to({}.device)", text(right), text(found->left->span)));
  }

  const Diagnostic& d_;
  const Analysis& analysis_;
  const Index& index_;
  const SourceManager& sources_;
  std::string_view source_;
  std::vector<Candidate> all_;
};

size_t syntax_errors(const std::string& text) {
  SourceManager sources;
  Diagnostics found;
  parse(sources, sources.add("edited", text), found);
  return found.error_count();
}

// The text with the edits, and where what they wrote is.
struct Edited {
  std::string text;
  std::vector<Span> written;
};
Edited edited(const std::string& source, std::vector<Edit> edits) {
  std::sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.span.begin < b.span.begin; });
  Edited result;
  uint32_t at = 0;
  for (const Edit& edit : edits) {
    result.text += source.substr(at, edit.span.begin - at);
    const auto begin = static_cast<uint32_t>(result.text.size());
    result.text += edit.text;
    result.written.push_back({edit.span.file, begin, static_cast<uint32_t>(result.text.size())});
    at = edit.span.end;
  }
  result.text += source.substr(at);
  return result;
}

size_t how_often(const Diagnostic& d, const Analysis& analysis) {
  const std::vector<Diagnostic> all = analysis.diagnostics.sorted();
  return static_cast<size_t>(std::count_if(all.begin(), all.end(), [&](const Diagnostic& other) {
    return other.kind == d.kind && other.message == d.message;
  }));
}

bool works(Workspace& workspace, const Document& document, const Diagnostic& d, const Candidate& candidate) {
  const std::string& source = document.text.bytes();
  const Edited after = edited(source, candidate.edits);
  if (after.text == source) return false;
  const size_t errors = syntax_errors(after.text);
  if (errors > 0 && errors >= syntax_errors(source)) return false;
  std::unique_ptr<Analysis> analysis = workspace.analyse(document.name, after.text);
  const bool is_gone = how_often(d, *analysis) < how_often(d, *document.analysis);
  // What the same lines say wrong that they did not say before.
  const auto is_new = [&](const Diagnostic& other) {
    const auto meets = [&](Span written) {
      const size_t begin = written.begin == 0 ? std::string::npos : after.text.rfind('\n', written.begin - 1);
      const size_t end = after.text.find('\n', written.end);
      return other.span.file == analysis->file && (begin == std::string::npos || other.span.begin > begin) &&
             other.span.begin < end;
    };
    return other.severity == Severity::Error && how_often(other, *analysis) > how_often(other, *document.analysis) &&
           std::any_of(after.written.begin(), after.written.end(), meets);
  };
  const std::vector<Diagnostic> left = analysis->diagnostics.sorted();
  const bool is_clean = candidate.is_name || std::none_of(left.begin(), left.end(), is_new);
  workspace.forget(std::move(analysis));
  return is_gone && is_clean;
}

std::string title_of(const Candidate& candidate, const SourceManager& sources) {
  const Edit& edit = candidate.edits.front();
  const auto shown = [](std::string_view text) {
    const size_t begin = text.find_first_not_of(" \t\r\n"), end = text.find_last_not_of(" \t\r\n");
    if (begin == text.npos) return std::string();
    const std::string_view whole = text.substr(begin, end + 1 - begin);
    return std::string(whole.substr(0, whole.find('\n'))) + (whole.find('\n') == whole.npos ? "" : " …");
  };
  std::string title;
  if (edit.text.empty())
    title = fmt::format("remove `{}`", shown(sources.text(edit.span)));
  else if (edit.span.length() == 0)
    title = fmt::format("insert `{}`", shown(edit.text));
  else if (edit.text.starts_with("{\n  ")) // a block with a statement before what was there
    title = fmt::format("insert `{}`", edit.text.substr(4, edit.text.find('\n', 4) - 4));
  else
    title = fmt::format("write `{}` in place of `{}`", shown(edit.text), shown(sources.text(edit.span)));
  if (candidate.edits.size() > 1) title += fmt::format(" and write `{}`", candidate.edits[1].text);
  return title;
}

} // namespace

Edit line_before(Span span, const std::string& text, std::string_view source) {
  const size_t before = span.begin == 0 ? source.npos : source.rfind('\n', span.begin - 1);
  const size_t begin = before == source.npos ? 0 : before + 1;
  const size_t first = source.find_first_not_of(" \t", begin);
  const std::string indent(source.substr(begin, first - begin));
  const auto at = static_cast<uint32_t>(begin);
  return {{span.file, at, at}, indent + text + "\n"};
}

std::unique_ptr<Analysis> tried(Workspace& workspace, Document& document, const std::vector<Edit>& edits) {
  const Edited after = edited(document.text.bytes(), edits);
  if (syntax_errors(after.text) > 0) return nullptr;
  std::unique_ptr<Analysis> analysis = workspace.analyse(document.name, after.text);
  if (analysis->diagnostics.error_count() > workspace.analysis(document).diagnostics.error_count())
    workspace.forget(std::move(analysis));
  return analysis;
}

std::vector<Fix> fixes_of(Workspace& workspace, Document& document, const Diagnostic& diagnostic, int& tries) {
  Analysis& analysis = workspace.analysis(document);
  Analyzer& analyzer = workspace.analyzer();
  std::vector<Fix> fixes;
  for (Candidate& candidate : Candidates(diagnostic, analysis, analyzer.index(analysis), analyzer.sources()).all()) {
    const std::string title = title_of(candidate, analyzer.sources());
    if (std::any_of(fixes.begin(), fixes.end(), [&](const Fix& fix) { return fix.title == title; })) continue;
    if (--tries < 0) break;
    if (works(workspace, document, diagnostic, candidate)) fixes.push_back({std::move(candidate.edits), title});
  }
  return fixes;
}

} // namespace tl::lsp
