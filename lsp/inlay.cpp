// What the checker has inferred, shown in the text: types and sizes of variables, results of functions.
#include "lsp/features.h"
#include "lsp/types.h"
#include <algorithm>
#include <map>

namespace tl::lsp {
namespace {

constexpr size_t kLongestHint = 60; // characters

Json hint_at(const Workspace& workspace, const Text& text, uint32_t offset, const std::string& type) {
  constexpr int kType = 1; // InlayHintKind
  const size_t count = character_count(type);
  Json hint{{"position", workspace.range(text, offset, offset)["start"]}, {"kind", kType}};
  hint["label"] = count <= kLongestHint ? type : type.substr(0, type.find_last_of(" ,[", kLongestHint)) + "…";
  if (count > kLongestHint) hint["tooltip"] = type;
  return hint;
}

// Is the type of this variable not written?
bool is_inferred(const Symbol& symbol) {
  const auto* let =
      symbol.kind == SymbolKind::Variable && symbol.statement ? ast::as<ast::Let>(symbol.statement) : nullptr;
  return let && !let->type;
}

} // namespace

Json inlay_hints(Workspace& workspace, const Json& params) {
  Document& document = workspace.document(params);
  const uint32_t begin = workspace.offset(document.text, params.at("range").at("start"));
  const uint32_t end = workspace.offset(document.text, params.at("range").at("end"));
  Analysis& analysis = workspace.analysis(document);
  Json all = Json::array();
  for (const Symbol& symbol : workspace.analyzer().index(analysis).symbols) {
    if (symbol.span.begin < begin || symbol.span.end > end || !is_inferred(symbol)) continue;
    const std::string type = type_of_variable(analysis, symbol.span);
    if (!type.empty()) all.push_back(hint_at(workspace, document.text, symbol.span.end, ": " + type));
  }
  for (const Symbol& symbol : workspace.analyzer().index(analysis).symbols) {
    if (symbol.span.begin < begin || symbol.span.end > end) continue;
    if (const auto result =
            inferred_result(analysis, symbol, [&](const Type& type) { return to_string(analysis, type); }))
      all.push_back(hint_at(workspace, document.text, result->first, " " + result->second));
  }
  return all;
}

} // namespace tl::lsp
