#include "lsp/scope.h"
#include "parser/doc/library.h"
#include "parser/syntax/cursor.h"
#include <algorithm>
#include <map>

namespace tl::lsp {
namespace {

bool is_callable(const Symbol& symbol) {
  return symbol.kind == SymbolKind::Function || symbol.kind == SymbolKind::Struct;
}

void add_callables(const std::vector<Symbol>& symbols, std::string_view name, std::vector<Symbol>& into) {
  for (const Symbol& symbol : symbols)
    if (is_callable(symbol) && symbol.name == name) into.push_back(symbol);
}

} // namespace

void each_name_at(Workspace& workspace, Analysis& analysis, uint32_t offset,
                  const std::function<void(const Symbol& symbol)>& on_symbol) {
  std::map<std::string_view, const Symbol*> nearest;
  for (const Symbol& symbol : workspace.analyzer().index(analysis).symbols) {
    if (!symbol.extent.valid() || offset < symbol.extent.begin || offset > symbol.extent.end) continue;
    const auto [it, is_new] = nearest.try_emplace(symbol.name, &symbol);
    const Symbol& other = *it->second;
    if (!is_new && (symbol.extent.begin >= other.extent.begin || symbol.extent.length() < other.extent.length()))
      it->second = &symbol;
  }
  for (const auto& [name, symbol] : nearest)
    on_symbol(*symbol);
  for (const Symbol& symbol : workspace.analyzer().outline(analysis, workspace.analyzer().prelude()))
    if (symbol.owner < 0 && !nearest.count(symbol.name)) on_symbol(symbol);
}

std::optional<Written> written_at(Workspace& workspace, Analysis& analysis, uint32_t offset) {
  const std::string_view text = analysis.text;
  const size_t begin = word_begin(text.substr(0, offset), false);
  size_t end = offset;
  while (end < text.size() && is_word(text[end]))
    ++end;
  const Around around = around_end(text.substr(0, begin));
  if (begin == end || around.quote || around.in_comment || (begin > 0 && text[begin - 1] == '.')) return std::nullopt;
  const std::string_view word = text.substr(begin, end - begin);
  std::optional<Written> result;
  each_name_at(workspace, analysis, static_cast<uint32_t>(begin), [&](const Symbol& symbol) {
    if (symbol.name == word && !result)
      result = {{analysis.file, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, symbol};
  });
  return result;
}

bool is_inner_symbol(const Workspace& workspace, const Symbol& symbol) {
  const std::string& file = workspace.analyzer().sources().name(symbol.span.file);
  if (symbol.owner >= 0 || !is_library_file(file)) return false;
  const std::string module = library_module(file);
  return is_inner(module == "prelude" ? symbol.name : module + "." + symbol.name);
}

const ast::File* file_of_module(const Analysis& analysis, const Symbol& module) {
  const auto* import = module.kind == SymbolKind::Module ? ast::as<ast::Import>(module.statement) : nullptr;
  const auto target = import ? analysis.imports.targets.find(import) : analysis.imports.targets.end();
  return target == analysis.imports.targets.end() ? nullptr : target->second;
}

Callees callees_of(Workspace& workspace, Analysis& analysis, uint32_t offset, std::string_view name) {
  Callees result;
  const size_t dot = name.rfind('.');
  const std::string_view last = name.substr(dot == std::string_view::npos ? 0 : dot + 1);
  Analyzer& analyzer = workspace.analyzer();
  std::vector<const ast::File*> modules;
  for (const Symbol& symbol : analyzer.index(analysis).symbols)
    if (const ast::File* file = file_of_module(analysis, symbol)) {
      modules.push_back(file);
      if (dot != std::string_view::npos && symbol.name == name.substr(0, dot)) {
        add_callables(analyzer.outline(analysis, *file), last, result.all);
        return result;
      }
    }
  result.is_method = dot != std::string_view::npos;
  each_name_at(workspace, analysis, offset, [&](const Symbol& symbol) {
    if (is_callable(symbol) && symbol.name == last) result.all.push_back(symbol);
  });
  for (const ast::File* file : modules)
    if (result.is_method && result.all.empty()) add_callables(analyzer.outline(analysis, *file), last, result.all);
  return result;
}

std::vector<Symbol> parts_of(Workspace& workspace, Analysis& analysis, const Symbol& symbol) {
  std::vector<Symbol> parts;
  const ast::File* file = workspace.analyzer().file(analysis, symbol.span.file);
  if (!file) return parts;
  const std::vector<Symbol>& symbols = symbol.span.file == analysis.file
                                           ? workspace.analyzer().index(analysis).symbols
                                           : workspace.analyzer().outline(analysis, *file);
  for (const Symbol& part : symbols)
    if (part.owner >= 0 && symbols[static_cast<size_t>(part.owner)].span == symbol.span &&
        (part.kind == SymbolKind::Parameter || part.kind == SymbolKind::Field))
      parts.push_back(part);
  return parts;
}

std::string declaration_text(Workspace& workspace, const Symbol& symbol) {
  const std::string_view text = workspace.analyzer().sources().text(symbol.whole);
  if (symbol.kind == SymbolKind::Function) return on_one_line(signature_text(text));
  return std::string(text.substr(0, text.find('\n')));
}

} // namespace tl::lsp
