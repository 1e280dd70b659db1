// What an editor can do about a diagnostic: what its hint says; and types that are inferred, written.
#include "lsp/features.h"
#include "lsp/fixes.h"
#include "lsp/types.h"
#include <fmt/format.h>
#include <optional>

namespace tl::lsp {
namespace {

constexpr int kMostTries = 60; // texts that one request has checked

Json action(Workspace& workspace, const Document& document, const std::string& title, const char* kind,
            const std::vector<Edit>& edits) {
  Json all = Json::array();
  for (const Edit& edit : edits)
    all.push_back({{"range", workspace.range(document.text, edit.span.begin, edit.span.end)}, {"newText", edit.text}});
  return {{"title", title}, {"kind", kind}, {"edit", {{"changes", {{document.uri, all}}}}}};
}

} // namespace

Json code_actions(Workspace& workspace, const Json& params) {
  Document& document = workspace.document(params);
  const uint32_t begin = workspace.offset(document.text, params.at("range").at("start"));
  const uint32_t end = workspace.offset(document.text, params.at("range").at("end"));
  Analysis& analysis = workspace.analysis(document);
  auto is_there = [&](Span span) { return span.file == analysis.file && span.begin <= end && begin <= span.end; };
  Json all = Json::array();
  int tries = kMostTries;
  for (const Diagnostic& diagnostic : analysis.diagnostics.sorted()) {
    if (!is_there(diagnostic.span)) continue;
    for (const Fix& fix : fixes_of(workspace, document, diagnostic, tries))
      all.push_back(action(workspace, document, fix.title, "quickfix", fix.edits));
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
    if (const auto signature = signature_of(workspace, document, symbol, tries))
      all.push_back(action(workspace, document, signature->title, "refactor.rewrite", signature->edits));
    if (edit)
      all.push_back(action(workspace, document,
                           fmt::format("write the type `{}`", edit->text.substr(edit->text.find(' ') + 1)),
                           "refactor.rewrite", {*edit}));
  }
  return all;
}

} // namespace tl::lsp
