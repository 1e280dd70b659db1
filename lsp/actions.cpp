// What an editor can do about a diagnostic: what its hint says; and types that are inferred, written.
#include "lang/ast_walk.h"
#include "lsp/features.h"
#include "lsp/types.h"
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <optional>

namespace tl::lsp {
namespace {

struct Edit {
  Span span;
  std::string text;
};

// What stands in the first quotes behind these words of a hint: "did you mean `sum`?".
std::optional<std::string> quoted_after(const std::string& hint, std::string_view words) {
  const size_t begin = hint.find(fmt::format("{}`", words));
  if (begin == std::string::npos) return std::nullopt;
  const size_t first = begin + words.size() + 1, end = hint.find('`', first);
  if (end == std::string::npos) return std::nullopt;
  return hint.substr(first, end - first);
}

// `f32(n)` for `n`: in place of the longest part that the diagnostic points at and the new text holds.
std::optional<Edit> replacement(const Diagnostic& d, const std::string& text, FileId file,
                                const SourceManager& sources) {
  std::optional<Span> found;
  auto consider = [&](Span span) {
    if (!span.valid() || span.file != file || span.length() == 0) return;
    const std::string_view part = sources.text(span);
    const bool is_held = text != part && text.find(part) != std::string::npos;
    if (is_held && (!found || span.length() > found->length())) found = span;
  };
  consider(d.span);
  for (const Label& label : d.labels)
    consider(label.span);
  if (!found || text.find("…") != std::string::npos) return std::nullopt;
  return Edit{*found, text};
}

// Before the line of the statement, with its indentation.
Edit line_before(Span span, const std::string& text, std::string_view source) {
  const size_t begin =
      source.rfind('\n', span.begin) == std::string_view::npos ? 0 : source.rfind('\n', span.begin) + 1;
  const size_t first = source.find_first_not_of(" \t", begin);
  const std::string indent(source.substr(begin, first - begin));
  const auto at = static_cast<uint32_t>(begin);
  return {{span.file, at, at}, indent + text + "\n"};
}

// Before what is wrong: a line, or where that is the expression of a function, a block in place of it.
Edit statement_before(Span span, const std::string& text, const ast::File& tree, std::string_view source) {
  for (const ast::Stmt* s : tree.statements) {
    const auto* function = ast::as<ast::Function>(s);
    const ast::Expr* body = function ? function->body.expression : nullptr;
    if (!body || span.begin < body->span.begin || body->span.end < span.end) continue;
    const auto equals = static_cast<uint32_t>(source.rfind('=', body->span.begin));
    const std::string expression(source.substr(body->span.begin, body->span.length()));
    return {{span.file, equals, body->span.end}, "{\n  " + text + "\n  " + expression + "\n}"};
  }
  return line_before(span, text, source);
}

// All of the statement, with its line where nothing else is on it.
Edit without(Span span, std::string_view source) {
  const size_t before = source.find_last_not_of(" \t", span.begin == 0 ? std::string_view::npos : span.begin - 1);
  const bool begins_line = span.begin == 0 || before == std::string_view::npos || source[before] == '\n';
  const size_t after = source.find_first_not_of(" \t\r", span.end);
  if (!begins_line || (after != std::string_view::npos && source[after] != '\n')) return {span, ""};
  const size_t begin = before == std::string_view::npos || span.begin == 0 ? 0 : before + 1;
  const size_t end = after == std::string_view::npos ? source.size() : after + 1;
  return {{span.file, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, ""};
}

// `let` for the `var` before a pattern.
std::optional<Edit> as_let(Span pattern, std::string_view source) {
  const size_t begin = source.rfind("var", pattern.begin);
  if (begin == std::string_view::npos) return std::nullopt;
  const auto at = static_cast<uint32_t>(begin);
  return Edit{{pattern.file, at, at + 3}, "let"};
}

// The right side of the operation at this place, there from the device of the left one.
std::optional<Edit> on_the_device(Span place, const Analysis& analysis, const SourceManager& sources) {
  const ast::Binary* found = nullptr;
  const std::function<void(const ast::Expr*)> expr = [&](const ast::Expr* e) {
    const auto* binary = ast::as<ast::Binary>(e);
    if (binary && e->span == place) found = binary;
    ast::each_part(*e, expr, [&](const ast::Block& inner) {
      for (const ast::Stmt* s : inner.statements)
        ast::each_part(*s, expr, [&](const ast::Block&) {});
    });
  };
  const std::function<void(const ast::Block&)> block = [&](const ast::Block& inner) {
    for (const ast::Stmt* s : inner.statements)
      ast::each_part(*s, expr, block);
  };
  for (const ast::Stmt* s : analysis.tree.statements)
    ast::each_part(*s, expr, block);
  const bool is_simple = found && ast::as<ast::Name>(found->left) && !ast::as<ast::Binary>(found->right) &&
                         !ast::as<ast::Unary>(found->right);
  if (!is_simple) return std::nullopt;
  const Span right = found->right->span;
  return Edit{right, fmt::format("{}.to({}.device)", sources.text(right), sources.text(found->left->span))};
}

// What a character or name that may not stand there is written as.
std::optional<Edit> edit_of_letters(const Diagnostic& d) {
  const bool is_letters = d.kind == "BadName" || (d.kind == "BadCharacter" && d.hint.starts_with("write `"));
  const auto text = is_letters ? quoted_after(d.hint, "write ") : std::nullopt;
  return text && text->find("…") == std::string::npos ? std::optional(Edit{d.span, *text}) : std::nullopt;
}

// What a warning says to do.
std::optional<Edit> edit_of_warning(const Diagnostic& d, std::string_view source) {
  if (const auto name = quoted_after(d.hint, "name it "); name && d.kind == "UnusedName") return Edit{d.span, *name};
  if (const auto clock = quoted_after(d.hint, "write "); clock && d.kind == "UnfinishedWork")
    return Edit{d.span, *clock};
  if (d.kind == "UnusedImport") return without(d.span, source);
  if (d.kind == "UnchangedVariable") return as_let(d.span, source);
  return std::nullopt;
}

std::optional<Edit> edit_of(const Diagnostic& d, const Analysis& analysis, const SourceManager& sources) {
  const FileId file = analysis.file;
  if (const auto edit = edit_of_warning(d, sources.text(file))) return edit;
  if (const auto edit = edit_of_letters(d)) return edit;
  if (d.kind == "DeviceMismatch") return on_the_device(d.span, analysis, sources);
  if (d.hint.starts_with('`') && d.hint.find("[:, new]` is ") != std::string::npos)
    return replacement(d, *quoted_after(d.hint, ""), file, sources);
  if (const auto name = quoted_after(d.hint, "did you mean ")) return Edit{d.span, *name};
  if (const auto condition = quoted_after(d.hint, "say so before: "))
    return statement_before(d.span, *condition, analysis.tree, sources.text(file));
  if (const auto text = quoted_after(d.hint, "write ")) return replacement(d, *text, file, sources);
  return std::nullopt;
}

std::string title_of(const Edit& edit, const SourceManager& sources) {
  if (edit.text.empty()) {
    const std::string_view text = sources.text(edit.span);
    return fmt::format("remove `{}`", text.substr(0, text.find_last_not_of(" \t\r\n") + 1));
  }
  if (edit.span.length() == 0) {
    const size_t begin = edit.text.find_first_not_of(" \t");
    return fmt::format("insert `{}`", edit.text.substr(begin, edit.text.size() - 1 - begin));
  }
  if (edit.text.starts_with("{\n  ")) // a block with a statement before what was there
    return fmt::format("insert `{}`", edit.text.substr(4, edit.text.find('\n', 4) - 4));
  return fmt::format("write `{}` in place of `{}`", edit.text, sources.text(edit.span));
}

Json action(Workspace& workspace, const Document& document, const std::string& title, const char* kind,
            const Edit& edit) {
  Json changes{{document.uri, Json::array({{{"range", workspace.range(document.text, edit.span.begin, edit.span.end)},
                                            {"newText", edit.text}}})}};
  return {{"title", title}, {"kind", kind}, {"edit", {{"changes", changes}}}};
}

} // namespace

Json code_actions(Workspace& workspace, const Json& params) {
  Document& document = workspace.document(params);
  const uint32_t begin = workspace.offset(document.text, params.at("range").at("start"));
  const uint32_t end = workspace.offset(document.text, params.at("range").at("end"));
  Analysis& analysis = workspace.analysis(document);
  const SourceManager& sources = workspace.analyzer().sources();
  auto is_there = [&](Span span) { return span.file == analysis.file && span.begin <= end && begin <= span.end; };
  Json all = Json::array();
  for (const Diagnostic& diagnostic : analysis.diagnostics.sorted()) {
    if (!is_there(diagnostic.span)) continue;
    if (const auto edit = edit_of(diagnostic, analysis, sources))
      all.push_back(action(workspace, document, title_of(*edit, sources), "quickfix", *edit));
  }
  for (const Symbol& symbol : workspace.analyzer().index(analysis).symbols) {
    if (!is_there(symbol.span)) continue;
    const auto* let = symbol.statement ? ast::as<ast::Let>(symbol.statement) : nullptr;
    std::optional<Edit> edit;
    if (const auto result =
            inferred_result(analysis, symbol, [&](const Type& type) { return written(analysis, type); }))
      edit = {{analysis.file, result->first, result->first}, " " + result->second};
    else if (const std::string type = written_type_of_variable(analysis, symbol.span);
             let && !let->type && let->pattern->kind == ast::Pattern::Kind::Name && !type.empty())
      edit = {{analysis.file, symbol.span.end, symbol.span.end}, ": " + type};
    if (edit)
      all.push_back(action(workspace, document,
                           fmt::format("write the type `{}`", edit->text.substr(edit->text.find(' ') + 1)),
                           "refactor.rewrite", *edit));
  }
  return all;
}

} // namespace tl::lsp
