// What a name means: its declaration, its type here, its documentation.
#include "lsp/features.h"
#include "lsp/scope.h"
#include "lsp/types.h"
#include "parser/doc/library.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tl::lsp {
namespace {

std::string code(const std::string& text) { return fmt::format("```tl\n{}\n```", text); }

std::string documented(const std::string& declaration, const std::string& doc) {
  return doc.empty() ? code(declaration) : code(declaration) + "\n" + doc;
}

// Of a function or struct of the library, all overloads; also of what is built in and declared nowhere.
std::string of_library(const std::string& name) {
  static const std::vector<DocumentedModule> modules = documented_library();
  std::string text;
  for (const DocumentedModule& module : modules)
    for (const Documented& entry : module.functions)
      if (entry.name == name) {
        text +=
            (text.empty() ? "" : "\n\n") + documented(fmt::format("{}", fmt::join(entry.signatures, "\n")), entry.doc);
      }
  return text;
}

std::string of_module(Workspace& workspace, Analysis& analysis, const Symbol& symbol) {
  const auto* import = ast::as<ast::Import>(symbol.statement);
  const auto target = analysis.imports.targets.find(import);
  const std::string declaration(workspace.analyzer().sources().text(symbol.whole));
  return documented(declaration, target == analysis.imports.targets.end() ? "" : target->second->doc);
}

// What stands before a name's type: "let ", "var ".
std::string keyword(const Symbol& symbol) {
  if (symbol.kind != SymbolKind::Variable || !symbol.statement) return "";
  return symbol.is_mutable ? "var " : "let ";
}

std::string owner_of(const Index& index, const Symbol& symbol) {
  return symbol.owner < 0 ? "" : index.symbols[static_cast<size_t>(symbol.owner)].name;
}

std::string of_symbol(Workspace& workspace, Analysis& analysis, const Symbol& symbol, Span where) {
  Analyzer& analyzer = workspace.analyzer();
  const SourceManager& sources = analyzer.sources();
  const std::string declaration(sources.text(symbol.whole));
  const std::string& file = sources.name(symbol.span.file);
  switch (symbol.kind) {
  case SymbolKind::Function: {
    if (is_library_file(file)) {
      const std::string module = library_module(file);
      return of_library(module == "prelude" ? symbol.name : module + "." + symbol.name);
    }
    const std::string type = type_of_call(analysis, where);
    return documented("fn " + signature_text(declaration), symbol.doc) +
           (type.empty() ? "" : fmt::format("\n\nhere: `{}`", type));
  }
  case SymbolKind::Struct: return documented(declaration, symbol.doc);
  case SymbolKind::Const: return documented(declaration, symbol.doc);
  case SymbolKind::Module: return of_module(workspace, analysis, symbol);
  case SymbolKind::Size: {
    const std::string owner = owner_of(analyzer.index(analysis), symbol);
    return code(symbol.name + ": i64") + (owner.empty() ? "\na size" : fmt::format("\na size of `{}`", owner));
  }
  case SymbolKind::TypeParameter: return code(declaration) + "\na type parameter";
  case SymbolKind::Field:
  case SymbolKind::Parameter: {
    const std::string type =
        symbol.kind == SymbolKind::Field ? type_of_field(analysis, where) : type_of_variable(analysis, symbol.span);
    const bool is_told = type.empty() || declaration.find(": " + type) != std::string::npos;
    return documented(declaration, symbol.doc) + (is_told ? "" : fmt::format("\n\nhere: `{}`", type));
  }
  case SymbolKind::Variable: {
    const std::string type = type_of_variable(analysis, symbol.span);
    return documented(keyword(symbol) + symbol.name + (type.empty() ? "" : ": " + type), symbol.doc);
  }
  }
  return "";
}

} // namespace

Json hover(Workspace& workspace, const Json& params) {
  Document& document = workspace.document(params);
  const uint32_t offset = workspace.offset(document.text, params.at("position"));
  Analysis& analysis = workspace.analysis(document);
  Span span;
  std::string text;
  if (const Mention* mention = workspace.analyzer().index(analysis).at(offset)) {
    span = mention->span;
    if (const Symbol* symbol = workspace.analyzer().symbol(analysis, mention->symbol))
      text = of_symbol(workspace, analysis, *symbol, span);
    else
      text = of_library(std::string(workspace.analyzer().sources().text(span)));
  }
  if (text.empty() && analysis.diagnostics.has_errors())
    if (const auto written = written_at(workspace, analysis, offset)) {
      span = written->span;
      text = of_symbol(workspace, analysis, written->symbol, span);
    }
  if (text.empty())
    if (const auto typed = expression_at(analysis, offset)) {
      span = typed->span;
      text = code(typed->type);
    }
  if (text.empty()) return nullptr;
  return {{"contents", markup(workspace.markdown.in_hovers, text)},
          {"range", workspace.range(document.text, span.begin, span.end)}};
}

} // namespace tl::lsp
