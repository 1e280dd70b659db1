// Where a name is declared and where it is written, in all files that are open or in the client's folders.
#include "compiler/programs.h"
#include "lsp/features.h"
#include "lsp/names.h"
#include "lsp/scope.h"
#include "lsp/uri.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::lsp {
namespace {

struct Named {
  Document& document;
  Analysis& analysis;
  uint32_t offset;
  const Mention* mention; // null: no name is there
};

Named name_at(Workspace& workspace, const Json& params) {
  Document& document = workspace.document(params);
  const uint32_t offset = workspace.offset(document.text, params.at("position"));
  Analysis& analysis = workspace.analysis(document);
  return {document, analysis, offset, workspace.analyzer().index(analysis).at(offset)};
}

// A place that stays while files are read and forgotten.
struct Place {
  std::string name; // of the file
  uint32_t begin = 0, end = 0;
  bool operator==(const Place&) const = default;
};
Place place_of(const Workspace& workspace, Span span) {
  return {workspace.analyzer().sources().name(span.file), span.begin, span.end};
}

// The file behind the name of a module; else where it is declared.
Span declaration_of(Workspace& workspace, Analysis& analysis, const Mention& mention) {
  const Symbol* symbol = workspace.analyzer().symbol(analysis, mention.symbol);
  const auto* import = symbol && symbol->kind == SymbolKind::Module ? ast::as<ast::Import>(symbol->statement) : nullptr;
  const auto target = analysis.imports.targets.find(import);
  if (import && target != analysis.imports.targets.end()) return {target->second->id, 0, 0};
  return mention.symbol;
}

// The mentions of one name in one file.
struct Uses {
  std::string uri;
  Text text;
  std::vector<Mention> mentions;
};
using UsesByName = std::map<std::string, Uses>; // by the name of the file

void add_uses(Workspace& workspace, Analysis& analysis, const Text& text, const std::string& uri, const Place& declared,
              UsesByName& uses) {
  std::vector<Mention> found;
  for (const Mention& mention : workspace.analyzer().index(analysis).mentions)
    if (mention.symbol.valid() && place_of(workspace, mention.symbol) == declared) found.push_back(mention);
  if (!found.empty()) uses[analysis.name] = {uri, text, std::move(found)};
}

// The programs in the client's folders that are not open and hold this word.
std::vector<std::pair<std::string, std::string>> files_with(Workspace& workspace, const std::string& word) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& name : workspace.closed_programs()) {
    try {
      std::string text = compiler::read_program(name);
      if (text.find(word) != std::string::npos) files.emplace_back(name, std::move(text));
    } catch (const std::exception&) {
      continue; // it cannot be read
    }
  }
  return files;
}

// All places of what is named there. What only one file can name is looked for in that file alone.
UsesByName uses_of(Workspace& workspace, const Named& named) {
  UsesByName uses;
  const Symbol* symbol = workspace.analyzer().symbol(named.analysis, named.mention->symbol);
  if (!symbol) return uses;
  const Place declared = place_of(workspace, symbol->span);
  const std::string word = symbol->name;
  add_uses(workspace, named.analysis, named.document.text, named.document.uri, declared, uses);
  if (!is_visible_elsewhere(*symbol)) return uses;
  for (auto& [uri, document] : workspace.documents())
    if (&document != &named.document)
      add_uses(workspace, workspace.analysis(document), document.text, uri, declared, uses);
  for (const auto& [name, text] : files_with(workspace, word)) {
    std::unique_ptr<Analysis> analysis = workspace.analyse(name, text);
    add_uses(workspace, *analysis, Text(text), uri_of_name(name), declared, uses);
    workspace.forget(std::move(analysis));
  }
  return uses;
}

} // namespace

Json definition(Workspace& workspace, const Json& params) {
  const Named named = name_at(workspace, params);
  if (!named.mention) {
    const auto written = written_at(workspace, named.analysis, named.offset);
    return written ? workspace.location(written->symbol.span) : Json(nullptr);
  }
  if (!named.mention->symbol.valid()) return nullptr;
  const Span span = declaration_of(workspace, named.analysis, *named.mention);
  return workspace.location(span);
}

Json references(Workspace& workspace, const Json& params) {
  const Named named = name_at(workspace, params);
  if (!named.mention || !named.mention->symbol.valid()) return nullptr;
  const bool with_declaration = params.value("/context/includeDeclaration"_json_pointer, true);
  Json all = Json::array();
  for (const auto& [name, uses] : uses_of(workspace, named))
    for (const Mention& mention : uses.mentions)
      if (with_declaration || !mention.is_declaration)
        all.push_back({{"uri", uses.uri}, {"range", workspace.range(uses.text, mention.span.begin, mention.span.end)}});
  return all;
}

Json document_highlight(Workspace& workspace, const Json& params) {
  constexpr int kRead = 2, kWrite = 3; // DocumentHighlightKind
  const Named named = name_at(workspace, params);
  if (!named.mention || !named.mention->symbol.valid()) return nullptr;
  Json all = Json::array();
  for (const Mention& mention : workspace.analyzer().index(named.analysis).mentions)
    if (mention.symbol == named.mention->symbol)
      all.push_back({{"range", workspace.range(named.document.text, mention.span.begin, mention.span.end)},
                     {"kind", mention.is_write || mention.is_declaration ? kWrite : kRead}});
  return all;
}

// ---- renaming ----

static bool is_run(const Symbol& symbol, std::string_view name) {
  return name == "main" && symbol.statement && ast::as<ast::Function>(symbol.statement);
}

// What may be given another name: what the client's own files declare. Throws ResponseError.
static const Symbol& renamed_symbol(Workspace& workspace, const Named& named) {
  const Symbol* symbol = named.mention ? workspace.analyzer().symbol(named.analysis, named.mention->symbol) : nullptr;
  if (!symbol) throw ResponseError(ErrorCode::RequestFailed, "there is no name that could be changed");
  if (is_library_file(workspace.analyzer().sources().name(symbol->span.file)))
    throw ResponseError(ErrorCode::RequestFailed, fmt::format("`{}` is the standard library's", symbol->name));
  if (workspace.analyzer().sources().text(named.mention->span) != symbol->name)
    throw ResponseError(ErrorCode::RequestFailed, "the name of a file is not changed here; `as` gives it another");
  if (is_run(*symbol, symbol->name))
    throw ResponseError(ErrorCode::RequestFailed, "`main` is what a program runs, by this name");
  return *symbol;
}

Json prepare_rename(Workspace& workspace, const Json& params) {
  const Named named = name_at(workspace, params);
  const std::string name = renamed_symbol(workspace, named).name;
  return {{"range", workspace.range(named.document.text, named.mention->span.begin, named.mention->span.end)},
          {"placeholder", name}};
}

// Which mentions mean the same: for each, the first that does.
static std::vector<size_t> meanings(const Index& index) {
  std::vector<size_t> first(index.mentions.size());
  for (size_t i = 0; i < first.size(); ++i) {
    first[i] = i;
    for (size_t k = 0; k < i && first[i] == i; ++k)
      if (index.mentions[i].symbol.valid() && index.mentions[k].symbol == index.mentions[i].symbol) first[i] = k;
  }
  return first;
}

static std::string renamed(const Uses& uses, const std::string& name) {
  std::string text = uses.text.bytes();
  for (auto mention = uses.mentions.rbegin(); mention != uses.mentions.rend(); ++mention)
    text.replace(mention->span.begin, mention->span.length(), name);
  return text;
}

// Throws ResponseError where the new name would be another's, or hide it, in this document.
static void require_same_meaning(Workspace& workspace, const Named& named, const UsesByName& uses,
                                 const std::string& name) {
  std::map<std::string, std::string> texts;
  for (const auto& [file, in_file] : uses)
    texts[file] = renamed(in_file, name);
  std::unique_ptr<Analysis> analysis = workspace.analyzer().analyse(
      named.document.name, texts[named.document.name], [&](const std::string& file) -> const std::string* {
        const auto it = texts.find(file);
        return it == texts.end() ? workspace.held(file) : &it->second;
      });
  const bool is_same =
      meanings(workspace.analyzer().index(named.analysis)) == meanings(workspace.analyzer().index(*analysis)) &&
      analysis->diagnostics.error_count() <= named.analysis.diagnostics.error_count();
  workspace.forget(std::move(analysis));
  if (!is_same) throw ResponseError(ErrorCode::RequestFailed, fmt::format("`{}` means something else here", name));
}

Json rename(Workspace& workspace, const Json& params) {
  const auto name = params.at("newName").get<std::string>();
  const Named named = name_at(workspace, params);
  if (is_run(renamed_symbol(workspace, named), name))
    throw ResponseError(ErrorCode::RequestFailed, "`main` is what a program runs, and this would become it");
  if (!is_name(name)) throw ResponseError(ErrorCode::RequestFailed, fmt::format("`{}` is no name", name));
  const UsesByName all = uses_of(workspace, named);
  require_same_meaning(workspace, named, all, name);
  Json changes = Json::object();
  for (const auto& [file, uses] : all)
    for (const Mention& mention : uses.mentions)
      changes[uses.uri].push_back(
          {{"range", workspace.range(uses.text, mention.span.begin, mention.span.end)}, {"newText", name}});
  return {{"changes", changes}};
}

} // namespace tl::lsp
