// What `tl check` reports, as the protocol has it.
#include "lsp/features.h"
#include "lsp/library_copy.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::lsp {
namespace {

constexpr int kError = 1, kWarning = 2; // DiagnosticSeverity
constexpr int kUnnecessary = 1;         // DiagnosticTag: shown faded

// Of a place in a file that the document imports: the import that leads there, directly or by others.
Span import_of(const Analysis& analysis, FileId file) {
  Span first;
  for (const ast::Stmt* statement : analysis.tree.statements) {
    const auto* import = ast::as<ast::Import>(statement);
    if (!import || !import->is_file) continue;
    if (!first.valid()) first = import->path_span;
    const auto target = analysis.imports.targets.find(import);
    if (target != analysis.imports.targets.end() && target->second->id == file) return import->path_span;
  }
  return first;
}

Json related(Workspace& workspace, Span span, const std::string& message) {
  return {{"location", workspace.location(span)}, {"message", message}};
}

Json json_of(Workspace& workspace, const Document& document, const Analysis& analysis, const Diagnostic& d) {
  const SourceManager& sources = workspace.analyzer().sources();
  Span span = d.span;
  Json all_related = Json::array();
  std::string message = d.message;
  if (span.valid() && span.file != analysis.file) {
    const LineColumn place = sources.line_column(span);
    message = fmt::format("{}:{}:{}: {}", sources.name(span.file), place.line, place.column, message);
    all_related.push_back(related(workspace, span, d.message));
    span = import_of(analysis, span.file);
  }
  for (const Label& label : d.labels)
    if (label.span.valid() && !label.text.empty()) all_related.push_back(related(workspace, label.span, label.text));
  if (!d.hint.empty()) message += "\nhint: " + d.hint;
  if (!span.valid()) span = {analysis.file, 0, 0};
  Json json{{"range", workspace.range(document.text, span.begin, span.end)},
            {"severity", d.severity == tl::Severity::Error ? kError : kWarning},
            {"code", d.kind},
            {"source", "tl"},
            {"message", message}};
  if (d.kind == "UnusedName" || d.kind == "UnusedImport" || d.kind == "UnreachableCode") json["tags"] = {kUnnecessary};
  if (!all_related.empty()) json["relatedInformation"] = all_related;
  return json;
}

} // namespace

Json diagnostics_of(Workspace& workspace, Document& document) {
  Json all = Json::array();
  const Analysis& analysis = workspace.diagnosed(document);
  if (!is_library_copy(document.name)) // it is checked as a program, which would declare all of it again
    for (const Diagnostic& diagnostic : analysis.diagnostics.sorted())
      all.push_back(json_of(workspace, document, analysis, diagnostic));
  Json params{{"uri", document.uri}, {"diagnostics", all}};
  if (document.version.is_number_integer()) params["version"] = document.version;
  return params;
}

} // namespace tl::lsp
