// What may be written at a place, and what a call that is being written takes.
#include "abi/scalar_op.h"
#include "compiler/programs.h"
#include "lang/stdlib.h"
#include "lsp/features.h"
#include "lsp/scope.h"
#include "lsp/types.h"
#include "parser/syntax/cursor.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <set>

namespace tl::lsp {
namespace {

// The protocol's numbers.
using ItemKind = int;
constexpr ItemKind kFunctionItem = 3, kFieldItem = 5, kVariableItem = 6, kModuleItem = 9, kPropertyItem = 10,
                   kKeywordItem = 14, kFileItem = 17, kFolderItem = 19, kConstantItem = 21, kStructItem = 22,
                   kTypeParameterItem = 25;

ItemKind kind_of(SymbolKind kind) {
  switch (kind) {
  case SymbolKind::Function: return kFunctionItem;
  case SymbolKind::Struct: return kStructItem;
  case SymbolKind::Field: return kFieldItem;
  case SymbolKind::Const:
  case SymbolKind::Size: return kConstantItem;
  case SymbolKind::Module: return kModuleItem;
  case SymbolKind::TypeParameter: return kTypeParameterItem;
  case SymbolKind::Variable:
  case SymbolKind::Parameter: break;
  }
  return kVariableItem;
}

// Items in groups: those of the first are nearest.
class Items {
public:
  explicit Items(bool is_markdown) : is_markdown_(is_markdown) {}
  void add(int group, const std::string& label, ItemKind kind, const std::string& detail = "",
           const std::string& doc = "") {
    if (!seen_.insert(label).second) return;
    Json item{{"label", label}, {"kind", kind}, {"sortText", fmt::format("{}{}", group, label)}};
    if (!detail.empty()) item["detail"] = detail;
    if (!doc.empty()) item["documentation"] = markup(is_markdown_, doc);
    all.push_back(std::move(item));
  }
  Json all = Json::array();

private:
  bool is_markdown_;
  std::set<std::string> seen_;
};

std::string detail_of(Workspace& workspace, Analysis& analysis, const Symbol& symbol) {
  if (symbol.kind == SymbolKind::Variable || symbol.kind == SymbolKind::Parameter)
    if (std::string type = type_of_variable(analysis, symbol.span); !type.empty()) return type;
  return declaration_text(workspace, symbol);
}

void add_symbol(Workspace& workspace, Analysis& analysis, int group, const Symbol& symbol, Items& items) {
  if (is_inner_symbol(workspace, symbol)) return;
  items.add(group, symbol.name, kind_of(symbol.kind), detail_of(workspace, analysis, symbol), symbol.doc);
}

void add_elementwise(Items& items) {
  for (int i = 0; i < kScalarOpCount; ++i)
    if (is_word(kScalarOps[i].name[0])) items.add(3, std::string(kScalarOps[i].name), kFunctionItem, "elementwise");
}

void add_names(Workspace& workspace, Analysis& analysis, uint32_t offset, Items& items) {
  each_name_at(workspace, analysis, offset, [&](const Symbol& symbol) {
    const bool is_own = symbol.span.file == analysis.file;
    const bool is_near = symbol.kind == SymbolKind::Variable || symbol.kind == SymbolKind::Parameter;
    add_symbol(workspace, analysis, is_own ? (is_near ? 1 : 2) : 3, symbol, items);
  });
  add_elementwise(items);
  for (int i = 0; i < kDTypeCount; ++i)
    items.add(4, std::string(name_of(static_cast<DType>(i))), kKeywordItem, "a conversion");
  for (const std::string_view keyword : kKeywords)
    items.add(4, std::string(keyword), kKeywordItem);
  items.add(4, "new", kKeywordItem);
}

void add_types(Workspace& workspace, Analysis& analysis, uint32_t offset, Items& items) {
  each_name_at(workspace, analysis, offset, [&](const Symbol& symbol) {
    if (symbol.kind == SymbolKind::Struct || symbol.kind == SymbolKind::TypeParameter ||
        symbol.kind == SymbolKind::Module)
      add_symbol(workspace, analysis, 1, symbol, items);
  });
  for (int i = 0; i < kDTypeCount; ++i)
    items.add(2, std::string(name_of(static_cast<DType>(i))), kKeywordItem);
  for (const char* name : {"str", "List", "range", "fn"})
    items.add(2, name, kKeywordItem);
}

// Is a type parameter's bound being written: `fn f<T: `, `struct P<A: any, B: `?
bool is_bound(std::string_view before) {
  const std::string_view line = before.substr(before.rfind('\n') + 1);
  const size_t open = line.rfind('<');
  return (line.starts_with("fn ") || line.starts_with("struct ") || line.starts_with("export fn ")) &&
         open != line.npos && line.find_first_of(">(", open) == line.npos;
}

void add_files(const Document& document, std::string_view typed, bool is_import, Items& items) {
  const bool is_file = document.name.starts_with('/');
  const std::string base = is_import && is_file ? std::filesystem::path(document.name).parent_path().string() : "";
  const size_t folder = typed.rfind('/') == std::string_view::npos ? 0 : typed.rfind('/') + 1;
  for (const std::string& name : compiler::files_beginning(typed, is_import, base))
    items.add(1, name.substr(folder), name.ends_with('/') ? kFolderItem : kFileItem);
}

void add_modules(Items& items) {
  for (const EmbeddedFile& file : embedded_stdlib())
    if (file.name.ends_with(".tl") && file.name != "prelude.tl")
      items.add(1, file.name.substr(0, file.name.size() - 3), kModuleItem);
}

// ---- behind a dot ----

bool is_type_parameter(std::string_view text) { return text.size() == 1 && std::isupper(text[0]); }

// May a function whose first parameter is written like this take such a value? What cannot be told may.
bool may_take(const Type& type, std::string_view written) {
  if (written.empty()) return true;
  const std::string_view name = written.substr(0, written.find_first_of("[<("));
  const bool is_element = dtype_from_name(name).has_value() || is_type_parameter(name);
  if (type.is_tensor()) return is_element;
  if (type.is_str()) return name == "str";
  if (type.is_list()) return name == "List";
  if (type.is_struct()) return name.substr(name.rfind('.') + 1) == type.record->name || is_type_parameter(written);
  return !is_element;
}

void add_methods(Workspace& workspace, Analysis& analysis, uint32_t offset, const Type& type, Items& items) {
  auto consider = [&](int group, const Symbol& symbol) {
    if (symbol.kind != SymbolKind::Function) return;
    const std::vector<Symbol> parts = parts_of(workspace, analysis, symbol);
    if (parts.empty()) return;
    const std::string_view first = workspace.analyzer().sources().text(parts[0].whole);
    const size_t colon = first.find(": ");
    if (may_take(type, colon == std::string_view::npos ? "" : first.substr(colon + 2)))
      add_symbol(workspace, analysis, group, symbol, items);
  };
  each_name_at(workspace, analysis, offset,
               [&](const Symbol& symbol) { consider(symbol.span.file == analysis.file ? 2 : 3, symbol); });
  for (const Symbol& module : workspace.analyzer().index(analysis).symbols)
    if (const ast::File* file = file_of_module(analysis, module))
      for (const Symbol& symbol : workspace.analyzer().outline(analysis, *file))
        consider(3, symbol);
  if (type.is_tensor()) add_elementwise(items);
}

void add_fields(const Analysis& analysis, const Type& type, Items& items) {
  if (type.is_struct())
    for (size_t i = 0; i < type.record->fields.size() && i < type.elements.size(); ++i)
      items.add(1, type.record->fields[i].name, kFieldItem, to_string(analysis, type.elements[i]));
  if (type.is_struct()) items.add(2, "with", kFunctionItem, "a copy with other fields");
  if (!type.is_tensor()) return;
  items.add(2, "shape", kPropertyItem, "its sizes");
  items.add(2, "T", kPropertyItem, "its transpose");
  items.add(2, "device", kPropertyItem, "where it is");
}

// The longest expression that ends there: what stands before a dot.
const Type* type_before(const Analysis& analysis, uint32_t end) {
  const ast::Expr* found = nullptr;
  for (const auto& [node, type] : analysis.types)
    if (node->span.file == analysis.file && node->span.end == end &&
        (!found || node->span.length() > found->span.length()))
      found = node;
  return found ? &analysis.types.at(found) : nullptr;
}

// Of the variable that has this name there, where no expression says it: a name that is assigned to, or that stands in
// what does not parse.
const Type* type_of_name(Workspace& workspace, Analysis& analysis, uint32_t end) {
  const std::string_view text = workspace.analyzer().sources().text(analysis.file).substr(0, end);
  const size_t begin = word_begin(text, false);
  if (begin == end || (begin > 0 && text[begin - 1] == '.')) return nullptr;
  const Type* found = nullptr;
  each_name_at(workspace, analysis, static_cast<uint32_t>(begin), [&](const Symbol& symbol) {
    if (symbol.name != text.substr(begin)) return;
    for (const typed::Variable& variable : analysis.program.variables)
      if (variable.span == symbol.span && !found) found = &variable.type;
  });
  return found;
}

void add_members(Workspace& workspace, Analysis& analysis, uint32_t dot, Items& items) {
  uint32_t end = dot;
  const std::string_view text = workspace.analyzer().sources().text(analysis.file);
  while (end > 0 && std::isspace(static_cast<unsigned char>(text[end - 1])))
    --end;
  const Mention* mention = workspace.analyzer().index(analysis).at(end);
  const Symbol* symbol = mention ? workspace.analyzer().symbol(analysis, mention->symbol) : nullptr;
  if (symbol && symbol->kind == SymbolKind::Module) {
    if (const ast::File* file = file_of_module(analysis, *symbol))
      for (const Symbol& member : workspace.analyzer().outline(analysis, *file))
        if (member.owner < 0 && member.kind != SymbolKind::Module) add_symbol(workspace, analysis, 1, member, items);
    return;
  }
  const Type* type = type_before(analysis, end);
  if (!type) type = type_of_name(workspace, analysis, end);
  if (type) {
    add_fields(analysis, *type, items);
    add_methods(workspace, analysis, dot, *type, items);
  }
}

// ---- in a call ----

std::string_view callee_before(std::string_view text, size_t bracket) {
  const size_t begin = word_begin(text.substr(0, bracket), true);
  return text.substr(begin, bracket - begin);
}

// "axis = " of what the call may have and does not have yet.
void add_arguments(Workspace& workspace, Analysis& analysis, std::string_view before, size_t bracket, Items& items) {
  const std::string_view given = before.substr(bracket + 1), callee = callee_before(before, bracket);
  if (callee.empty()) return;
  auto is_given = [&](const std::string& name) {
    return given.find(name + " =") != std::string_view::npos || given.find(name + "=") != std::string_view::npos;
  };
  if (callee.ends_with(".with")) {
    const auto end = static_cast<uint32_t>(bracket - std::string_view(".with").size());
    const Type* type = type_before(analysis, end);
    if (!type) type = type_of_name(workspace, analysis, end);
    if (type && type->is_struct())
      for (size_t i = 0; i < type->record->fields.size() && i < type->elements.size(); ++i)
        if (const std::string& name = type->record->fields[i].name; !is_given(name))
          items.add(0, name + " = ", kPropertyItem, to_string(analysis, type->elements[i]));
    return;
  }
  for (const Symbol& symbol : callees_of(workspace, analysis, static_cast<uint32_t>(bracket), callee).all)
    for (const Symbol& part : parts_of(workspace, analysis, symbol))
      if (!workspace.analyzer().sources().text(part.whole).starts_with("..") && !is_given(part.name))
        items.add(0, part.name + " = ", kPropertyItem, std::string(workspace.analyzer().sources().text(part.whole)),
                  part.doc);
}

void complete_name(Workspace& workspace, Analysis& analysis, std::string_view before, uint32_t begin, Items& items) {
  const Around around = around_end(before);
  const size_t last = before.substr(0, begin).find_last_not_of(" \t\r\n");
  const char previous = last == std::string_view::npos ? ' ' : before[last];
  const bool is_result = previous == '>' && last > 0 && before[last - 1] == '-';
  if (around.call && (previous == '(' || previous == ','))
    add_arguments(workspace, analysis, before, *around.call, items);
  if (previous == ':' && is_bound(before.substr(0, begin)))
    for (const char* bound : {"any", "complex", "float", "int", "num"})
      items.add(1, bound, kKeywordItem);
  else if (previous == ':' || is_result)
    add_types(workspace, analysis, begin, items);
  else
    add_names(workspace, analysis, begin, items);
}

// ---- signatures ----

// Which argument is being written: its position, and its name if it has one.
struct Current {
  size_t position = 0;
  std::string name;
};
Current current_argument(std::string_view given) {
  Current current;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] == '(' || given[i] == '[' || given[i] == '{') ++depth;
    if (given[i] == ')' || given[i] == ']' || given[i] == '}') --depth;
    if (given[i] == ',' && depth == 0) ++current.position, begin = i + 1;
  }
  const std::string_view argument = given.substr(begin);
  const size_t equals = argument.find('=');
  if (equals == std::string_view::npos || (equals + 1 < argument.size() && argument[equals + 1] == '=')) return current;
  for (const char c : argument.substr(0, equals))
    if (is_word(c)) current.name += c;
  return current;
}

} // namespace

Json completion(Workspace& workspace, const Json& params) {
  Document& document = workspace.document(params);
  const uint32_t offset = workspace.offset(document.text, params.at("position"));
  const std::string& text = document.text.bytes();
  const std::string_view before = std::string_view(text).substr(0, offset);
  const std::string_view after = std::string_view(text).substr(offset);
  const Around around = around_end(before);
  Items items(workspace.markdown.in_items);
  if (around.in_comment) return items.all;
  if (around.quote) {
    const std::string_view outside = before.substr(0, *around.quote);
    const bool is_import = follows_import(outside);
    if (is_import || outside.ends_with('(')) add_files(document, before.substr(*around.quote + 1), is_import, items);
    return items.all;
  }
  const auto begin = static_cast<uint32_t>(word_begin(before, false));
  if (follows_import(before.substr(0, begin))) {
    add_modules(items);
  } else if (begin > 0 && before[begin - 1] == '.' && !before.substr(0, begin).ends_with("..")) {
    // A name stands there while the program is checked, or it would not parse.
    std::unique_ptr<Analysis> analysis =
        workspace.analyse(document.name, fmt::format("{}{}{}{}{}", before, begin == offset ? "name" : "",
                                                     closing_hole(before, after), missing_block(before, after), after));
    add_members(workspace, *analysis, begin - 1, items);
    workspace.forget(std::move(analysis));
  } else if (begin == offset || !std::isdigit(static_cast<unsigned char>(before[begin]))) {
    const std::string_view block = missing_block(before, after);
    if (block.empty()) {
      complete_name(workspace, workspace.analysis(document), before, begin, items);
    } else {
      std::unique_ptr<Analysis> analysis = workspace.analyse(
          document.name, fmt::format("{}{}{}{}", before, begin == offset ? "name" : "", block, after));
      complete_name(workspace, *analysis, before, begin, items);
      workspace.forget(std::move(analysis));
    }
  }
  return items.all;
}

Json signature_help(Workspace& workspace, const Json& params) {
  Document& document = workspace.document(params);
  const uint32_t offset = workspace.offset(document.text, params.at("position"));
  const std::string_view before = std::string_view(document.text.bytes()).substr(0, offset);
  const Around around = around_end(before);
  const std::string_view callee = around.call ? callee_before(before, *around.call) : "";
  if (callee.empty() || around.in_comment) return nullptr;
  Analysis& analysis = workspace.analysis(document);
  const Callees callees = callees_of(workspace, analysis, static_cast<uint32_t>(*around.call), callee);
  const Current current = current_argument(before.substr(*around.call + 1));
  Json signatures = Json::array();
  for (const Symbol& symbol : callees.all) {
    Json parameters = Json::array();
    size_t active = current.position + (callees.is_method ? 1 : 0);
    for (const Symbol& part : parts_of(workspace, analysis, symbol)) {
      if (part.name == current.name) active = parameters.size();
      Json parameter{{"label", workspace.analyzer().sources().text(part.whole)}};
      if (!part.doc.empty()) parameter["documentation"] = part.doc;
      parameters.push_back(std::move(parameter));
    }
    Json signature{{"label", declaration_text(workspace, symbol)}, {"activeParameter", active}};
    if (!symbol.doc.empty()) signature["documentation"] = markup(workspace.markdown.in_signatures, symbol.doc);
    signature["parameters"] = std::move(parameters);
    signatures.push_back(std::move(signature));
  }
  if (signatures.empty()) return nullptr;
  return {{"signatures", signatures}, {"activeSignature", 0}, {"activeParameter", signatures[0]["activeParameter"]}};
}

} // namespace tl::lsp
