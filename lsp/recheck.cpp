// What an edit changes of what is known about a text. By names: a declaration whose interface has changed makes all
// that mention it worth another look, and those among them whose own interface follows from it pass that on.
#include "compiler/library.h"
#include "lsp/analysis.h"
#include "parser/lint/lint.h"
#include "parser/syntax/reparse.h"
#include <algorithm>
#include <cctype>
#include <set>
#include <unordered_set>

namespace tl::lsp {
namespace {

constexpr size_t kMostParts = 100; // edits, until all of the text is read again: what is replaced keeps its memory

bool has_function(const ast::TypeExpr& type) {
  if (ast::as<ast::FunctionType>(type)) return true;
  const auto any = [](const std::vector<ast::TypeExpr*>& parts) {
    return std::any_of(parts.begin(), parts.end(), [](const ast::TypeExpr* part) { return has_function(*part); });
  };
  if (const auto* tuple = ast::as<ast::TupleType>(type)) return any(tuple->elements);
  return any(ast::as<ast::NamedType>(type)->arguments);
}

void add_names(const ast::Pattern& pattern, std::set<std::string, std::less<>>& names) {
  if (pattern.kind == ast::Pattern::Kind::Name) names.insert(pattern.name);
  for (const ast::Pattern* element : pattern.elements)
    add_names(*element, names);
}

// What a statement at the top declares for the rest of the file.
std::set<std::string, std::less<>> names_of(const ast::Stmt& s) {
  std::set<std::string, std::less<>> names;
  if (const auto* function = ast::as<ast::Function>(s)) names.insert(function->name.text);
  if (const auto* record = ast::as<ast::Struct>(s)) names.insert(record->name.text);
  if (const auto* constant = ast::as<ast::Const>(s)) names.insert(constant->name.text);
  if (const auto* let = ast::as<ast::Let>(s)) add_names(*let->pattern, names);
  return names;
}

// The part of its text that says what others see of it: of a function without a written result, all.
std::string_view interface_of(const SourceManager& sources, const ast::Stmt& s) {
  Span span = s.span;
  const auto* function = ast::as<ast::Function>(s);
  if (function && function->result && !has_function(*function->result)) {
    if (function->body.block) span.end = function->body.block->span.begin;
    if (function->body.expression) span.end = function->body.expression->span.begin;
  }
  return sources.text(span);
}

using Names = std::unordered_set<std::string_view>;

bool mentions(std::string_view text, const Names& names) {
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c < 0; };
  for (size_t i = 0; i < text.size();) {
    if (!is_letter(text[i])) {
      ++i;
      continue;
    }
    const size_t begin = i;
    while (i < text.size() && is_letter(text[i]))
      ++i;
    if (names.contains(text.substr(begin, i - begin))) return true;
  }
  return false;
}

bool is_closed(const ast::Stmt& s) { return ast::as<ast::Function>(s) || ast::as<ast::Test>(s); }

// The statements that depend on what these replace or are.
class Dependents {
public:
  Dependents(const SourceManager& sources, const std::vector<ast::Stmt*>& rest) : sources_(sources), rest_(rest) {}

  void change(const std::vector<ast::Stmt*>& before, const std::vector<ast::Stmt*>& after) {
    std::map<std::string, std::string> old_ones, new_ones; // interfaces by names
    for (auto [statements, all] : {std::pair(&before, &old_ones), std::pair(&after, &new_ones)})
      for (const ast::Stmt* s : *statements)
        for (const std::string& name : names_of(*s))
          (*all)[name] += interface_of(sources_, *s);
    for (const auto& [all, others] : {std::pair(&old_ones, &new_ones), std::pair(&new_ones, &old_ones)})
      for (const auto& [name, interface] : *all)
        if (const auto it = others->find(name); it == others->end() || it->second != interface) add(name);
  }

  std::unordered_set<const ast::Stmt*> find() {
    std::unordered_set<const ast::Stmt*> found;
    for (bool grows = !names_.empty(); grows;) {
      grows = false;
      for (const ast::Stmt* s : rest_) {
        if (found.contains(s) || !mentions(sources_.text(s->span), names_)) continue;
        found.insert(s);
      }
      for (const ast::Stmt* s : found)
        if (!passed_on_.contains(s) && mentions(interface_of(sources_, *s), names_)) {
          passed_on_.insert(s);
          for (const std::string& name : names_of(*s))
            grows = add(name) || grows;
        }
    }
    return found;
  }

private:
  bool add(const std::string& name) {
    const auto [it, is_new] = owned_.insert(name);
    if (is_new) names_.insert(*it);
    return is_new;
  }

  const SourceManager& sources_;
  const std::vector<ast::Stmt*>& rest_;
  std::set<std::string> owned_;
  Names names_; // views of those
  std::unordered_set<const ast::Stmt*> passed_on_;
};

} // namespace

bool Analyzer::recheck(Analysis& known, const std::string& text) {
  if (known.parts.size() >= kMostParts) return false;
  const FileId before = known.file, now = sources_.add(known.name, text);
  const TextEdit edit = difference(known.text, text);
  std::optional<Reparsed> read = reparse(sources_, known.tree, now, edit);
  const auto is_import = [](const ast::Stmt* s) { return ast::as<ast::Import>(s) != nullptr; };
  const auto gone = known.tree.statements.begin() + static_cast<ptrdiff_t>(read ? read->first : 0);
  const auto rest = gone + static_cast<ptrdiff_t>(read ? read->count : 0);
  if (!read || std::any_of(gone, rest, is_import) ||
      std::any_of(read->part.statements.begin(), read->part.statements.end(), is_import)) {
    sources_.forget(now);
    return false;
  }
  std::vector<ast::Stmt*> others(known.tree.statements.begin(), gone);
  others.insert(others.end(), rest, known.tree.statements.end());
  Dependents dependents(sources_, others);
  dependents.change({gone, rest}, read->part.statements);
  const std::unordered_set<const ast::Stmt*> affected = dependents.find();

  // From here on all is of the new text.
  const auto place = [&](Span span) {
    if (span.file != before) return span;
    const uint32_t by = edit.new_end - edit.old_end; // may wrap, and wraps back
    return span.begin >= edit.old_end ? Span{now, span.begin + by, span.end + by} : Span{now, span.begin, span.end};
  };
  std::vector<Diagnostic> old = known.diagnostics.sorted();
  const Span replaced = gone == rest ? Span{} : join((*gone)->span, (*std::prev(rest))->span);
  std::erase_if(old, [&](const Diagnostic& d) {
    return d.span.file == before && replaced.valid() && d.span.begin >= replaced.begin && d.span.begin < replaced.end;
  });
  for (Diagnostic& d : old) {
    d.span = d.span.valid() ? place(d.span) : d.span;
    for (Label& label : d.labels)
      label.span = label.span.valid() ? place(label.span) : label.span;
  }
  move_nodes(*known.tree.arena, place);
  for (ast::File& part : known.parts)
    move_nodes(*part.arena, place);
  std::vector<ast::Stmt*>& all = known.tree.statements;
  all.erase(gone, rest);
  all.insert(all.begin() + static_cast<ptrdiff_t>(read->first), read->part.statements.begin(),
             read->part.statements.end());
  const std::unordered_set<const ast::Stmt*> made(read->part.statements.begin(), read->part.statements.end());
  known.parts.push_back(std::move(read->part));
  sources_.forget(before);
  known.file = known.tree.id = now;
  known.text = text;

  Settled settled;
  std::vector<Span> left; // functions and tests, by their places
  for (const ast::Stmt* s : all) {
    if (!is_closed(*s) || made.contains(s) || affected.contains(s)) continue;
    left.push_back(s->span);
    if (const auto* function = ast::as<ast::Function>(s))
      settled.functions[function] = known.acting.contains(function->name.text);
    if (const auto* test = ast::as<ast::Test>(s)) settled.tests.insert(test);
  }
  const auto is_left = [&](const Diagnostic& d) {
    if (!d.span.valid() || d.span.file != now) return d.span.valid();
    const auto after = std::upper_bound(left.begin(), left.end(), d.span.begin,
                                        [](uint32_t at, Span span) { return at < span.begin; });
    return after != left.begin() && d.span.begin < std::prev(after)->end;
  };

  Diagnostics found;
  ExprTypes types;
  CheckOptions options = compiler::check_options(known.imports);
  options.missing_file_is_warning = true;
  options.types = &types;
  options.settled = &settled;
  const typed::Program program = tl::check(known.tree, prelude_, sources_, found, options);
  known.note_effects(program);
  for (const Diagnostic& d : old)
    if (d.severity == Severity::Error && is_left(d)) found.report(d);
  if (!found.has_errors()) {
    Diagnostics warnings;
    const Index index = tl::index(
        known.tree,
        {types, program, known.imports,
         [&](const ast::File& file) -> const std::vector<Symbol>& { return outline(known, file); }, prelude_});
    lint::warn({known.tree, index, types, known.imports, prelude_}, warnings);
    // Which imports are used follows from types too, and those in what is settled are not there.
    const auto is_known = [&](const Diagnostic& d) { return is_left(d) || d.kind == "UnusedImport"; };
    for (const Diagnostic& d : warnings.sorted())
      if (!is_known(d)) found.report(d);
    for (const Diagnostic& d : old)
      if (d.severity == Severity::Warning && is_known(d)) found.report(d);
  }
  known.outlines.clear(); // by files that move
  known.diagnostics = std::move(found);
  return true;
}

} // namespace tl::lsp
