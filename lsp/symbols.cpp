// What a document declares, as a tree; what all programs of the client's folders declare; what can be folded.
#include "compiler/programs.h"
#include "driver/usage.h"
#include "lang/ast_walk.h"
#include "lsp/features.h"
#include "lsp/uri.h"
#include "parser/syntax/parse.h"
#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace tl::lsp {
namespace {

// The protocol's numbers.
constexpr int kModule = 2, kMethod = 6, kField = 8, kFunction = 12, kVariable = 13, kConstant = 14, kStruct = 23;

struct Declared {
  std::string name, detail;
  int kind = 0; // SymbolKind of the protocol
  Span span, whole;
  std::vector<Declared> inside;
};

std::vector<Declared> declared_in(const std::vector<ast::Stmt*>& statements, const SourceManager& sources);

void add_pattern(const ast::Pattern& pattern, const ast::Stmt& s, bool is_var, std::vector<Declared>& into) {
  if (pattern.kind == ast::Pattern::Kind::Name)
    into.push_back({pattern.name, is_var ? "var" : "let", kVariable, pattern.span, s.span, {}});
  for (const ast::Pattern* element : pattern.elements)
    add_pattern(*element, s, is_var, into);
}

// "(x: f32[n], by = 2.0) -> f32[n]"
std::string detail_of(const ast::Function& function, Span whole, const SourceManager& sources) {
  const uint32_t end = function.body.expression ? function.body.expression->span.begin
                       : function.body.block    ? function.body.block->span.begin
                                                : whole.end;
  std::string text(sources.text(Span{whole.file, function.name.span.end, std::max(end, function.name.span.end)}));
  while (!text.empty() && (std::isspace(static_cast<unsigned char>(text.back())) || text.back() == '='))
    text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::vector<Declared> declared_in(const std::vector<ast::Stmt*>& statements, const SourceManager& sources) {
  std::vector<Declared> all;
  for (const ast::Stmt* s : statements) {
    if (auto* function = ast::as<ast::Function>(s)) {
      Declared declared{
          function->name.text, detail_of(*function, s->span, sources), kFunction, function->name.span, s->span, {}};
      if (function->body.block)
        for (const Declared& inner : declared_in(function->body.block->statements, sources))
          if (inner.kind != kVariable) declared.inside.push_back(inner);
      all.push_back(std::move(declared));
    } else if (auto* record = ast::as<ast::Struct>(s)) {
      Declared declared{record->name.text, "", kStruct, record->name.span, s->span, {}};
      for (const ast::StructField& field : record->fields)
        declared.inside.push_back(
            {field.name.text, std::string(sources.text(field.type->span)), kField, field.name.span, field.span, {}});
      all.push_back(std::move(declared));
    } else if (auto* constant = ast::as<ast::Const>(s)) {
      all.push_back({constant->name.text, "const", kConstant, constant->name.span, s->span, {}});
    } else if (auto* let = ast::as<ast::Let>(s)) {
      add_pattern(*let->pattern, *s, let->is_var, all);
    } else if (auto* import = ast::as<ast::Import>(s)) {
      all.push_back({import->alias.empty() ? import->path : import->alias.text,
                     "import",
                     kModule,
                     import->path_span,
                     s->span,
                     {}});
    } else if (auto* test = ast::as<ast::Test>(s)) {
      all.push_back({fmt::format("test \"{}\"", test->name), "", kMethod, test->name_span, s->span, {}});
    }
  }
  return all;
}

Json json_of(const Workspace& workspace, const Text& text, const Declared& declared) {
  Json json{{"name", declared.name.empty() ? "?" : declared.name},
            {"kind", declared.kind},
            {"range", workspace.range(text, declared.whole.begin, declared.whole.end)},
            {"selectionRange", workspace.range(text, declared.span.begin, declared.span.end)}};
  if (!declared.detail.empty()) json["detail"] = declared.detail;
  for (const Declared& inner : declared.inside)
    json["children"].push_back(json_of(workspace, text, inner));
  return json;
}

// Are the characters of `query` in the name, in their order? Without regard to case.
bool is_match(std::string_view name, std::string_view query) {
  size_t at = 0;
  for (const char c : name)
    if (at < query.size() &&
        std::tolower(static_cast<unsigned char>(c)) == std::tolower(static_cast<unsigned char>(query[at])))
      ++at;
  return at == query.size();
}

void add_matches(const Workspace& workspace, const std::string& name, const Text& text, const std::string& query,
                 Json& all) {
  SourceManager sources;
  Diagnostics ignored;
  const ast::File tree = parse(sources, sources.add(name, text.bytes()), ignored);
  for (const Declared& declared : declared_in(tree.statements, sources))
    if (declared.kind != kModule && is_match(declared.name, query))
      all.push_back(
          {{"name", declared.name},
           {"kind", declared.kind},
           {"location",
            {{"uri", uri_of_name(name)}, {"range", workspace.range(text, declared.span.begin, declared.span.end)}}}});
}

class Folds {
public:
  explicit Folds(const Text& text) : text_(text) { comments(); }
  void block(const ast::Block& block) {
    add_block(block.span);
    statements(block.statements);
  }
  void statements(const std::vector<ast::Stmt*>& list) {
    for (size_t i = 0; i < list.size(); ++i) {
      size_t end = i;
      while (end < list.size() && ast::as<ast::Import>(list[end]))
        ++end;
      if (end > i) add(line(list[i]->span.begin), line(list[end - 1]->span.begin), "imports"), i = end - 1;
      statement(*list[i]);
    }
  }
  Json all = Json::array();

private:
  bool is_comment(uint32_t line) const { // and nothing else
    const size_t first = text_.bytes().find_first_not_of(" \t", text_.line_begin(line));
    return first != std::string::npos && first < text_.line_end(line) && text_.bytes()[first] == '#';
  }
  void comments() {
    for (uint32_t first = 0; first < text_.line_count(); ++first) {
      uint32_t end = first;
      while (end < text_.line_count() && is_comment(end))
        ++end;
      if (end == first) continue;
      add(first, end - 1, "comment");
      first = end;
    }
  }
  uint32_t line(uint32_t offset) const { return text_.position(offset, Encoding::Utf8).line; }
  void add(uint32_t first, uint32_t last, const char* kind) {
    if (last <= first) return;
    Json fold{{"startLine", first}, {"endLine", last}};
    if (*kind) fold["kind"] = kind;
    all.push_back(fold);
  }
  // Its last line, with the bracket that closes it, stays to be seen.
  void add_block(Span span) {
    const uint32_t last = line(std::max(span.begin, span.end - 1));
    if (last > 0) add(line(span.begin), last - 1, "");
  }
  void statement(const ast::Stmt& s) {
    if (ast::as<ast::Struct>(s)) add_block(s.span);
    ast::each_part(s, [&](const ast::Expr* e) { expr(*e); }, [&](const ast::Block& inner) { block(inner); });
  }
  void expr(const ast::Expr& e) {
    const bool is_long = ast::as<ast::Call>(e) || ast::as<ast::MethodCall>(e) || ast::as<ast::ListLiteral>(e);
    if (is_long) add_block(e.span);
    ast::each_part(e, [&](const ast::Expr* part) { expr(*part); }, [&](const ast::Block& inner) { block(inner); });
  }
  const Text& text_;
};

} // namespace

Json document_symbols(Workspace& workspace, const Json& params) {
  Document& document = workspace.document(params);
  const Analysis& analysis = workspace.analysis(document);
  Json all = Json::array();
  for (const Declared& declared : declared_in(analysis.tree.statements, workspace.analyzer().sources()))
    all.push_back(json_of(workspace, document.text, declared));
  return all;
}

Json workspace_symbols(Workspace& workspace, const Json& params) {
  const auto query = params.at("query").get<std::string>();
  Json all = Json::array();
  for (const auto& [uri, document] : workspace.documents())
    add_matches(workspace, document.name, document.text, query, all);
  for (const std::string& name : workspace.closed_programs())
    try {
      add_matches(workspace, name, Text(compiler::read_program(name)), query, all);
    } catch (const std::exception&) {
      continue; // it cannot be read
    }
  return all;
}

Json folding_ranges(Workspace& workspace, const Json& params) {
  Document& document = workspace.document(params);
  const Analysis& analysis = workspace.analysis(document);
  Folds folds(document.text);
  folds.statements(analysis.tree.statements);
  return folds.all;
}

} // namespace tl::lsp
