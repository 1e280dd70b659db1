#include "compiler/declarations.h"
#include "parser/check/modules.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::compiler {
namespace {

// Does a type name type parameters, functions or any number of axes?
bool is_closed(const ast::TypeExpr& type, const std::vector<ast::TypeParam>& params) {
  if (std::holds_alternative<ast::FunctionType>(type.node)) return false;
  if (const auto* tuple = std::get_if<ast::TupleType>(&type.node))
    return std::all_of(tuple->elements.begin(), tuple->elements.end(),
                       [&](const ast::TypeExpr* element) { return is_closed(*element, params); });
  const auto& named = std::get<ast::NamedType>(type.node);
  if (named.module.empty())
    for (const ast::TypeParam& param : params)
      if (param.name.text == named.name.text) return false;
  return std::all_of(named.arguments.begin(), named.arguments.end(),
                     [&](const ast::TypeExpr* argument) { return is_closed(*argument, params); }) &&
         std::none_of(named.dims.begin(), named.dims.end(),
                      [](const ast::Expr* size) { return ast::as<ast::Spread>(size) != nullptr; });
}

Declared declared(const SourceManager& sources, const std::string& name, const ast::TypeExpr* type,
                  const ast::Expr* value, std::string doc, const std::vector<ast::TypeParam>& types) {
  Declared result;
  result.name = name;
  result.doc = std::move(doc);
  if (value) {
    result.has_default = true;
    result.default_value = sources.text(value->span);
  }
  if (!type) return result;
  result.has_type = true;
  result.type = sources.text(type->span);
  result.is_closed = is_closed(*type, types);
  if (const auto* named = std::get_if<ast::NamedType>(&type->node); named && named->arguments.empty()) {
    if (named->module.empty()) result.of = dtype_from_name(named->name.text);
    for (const ast::TypeParam& param : types)
      if (param.name.text == named->name.text) result.element_type = param.name.text;
  }
  return result;
}

std::string type_params_text(const SourceManager& sources, const std::vector<ast::TypeParam>& params) {
  std::string text;
  for (const ast::TypeParam& param : params) {
    text += (text.empty() ? "<" : ", ") + param.name.text;
    if (!param.bound.empty()) text += ": " + param.bound.text;
    if (param.default_type) text += fmt::format(" = {}", sources.text(param.default_type->span));
  }
  return text.empty() ? "" : text + ">";
}

std::string parameters_text(const Declaration& declaration) {
  std::string text;
  for (const Declared& param : declaration.parameters) {
    text += (text.empty() ? "" : ", ") + param.name;
    if (param.has_type) text += ": " + param.type;
    if (param.has_default) text += " = " + param.default_value;
  }
  return text;
}

} // namespace

Declaration declaration_of(const SourceManager& sources, const ast::Function& function) {
  Declaration result;
  result.name = function.name.text;
  result.doc = function.doc;
  for (const ast::Param& param : function.params) {
    result.parameters.push_back(
        declared(sources, param.name.text, param.type, param.default_value, param.doc, function.type_params));
    result.is_generic = result.is_generic || !result.parameters.back().is_closed;
  }
  result.text =
      fmt::format("fn {}{}({})", result.name, type_params_text(sources, function.type_params), parameters_text(result));
  if (function.result) {
    result.has_result = true;
    result.result = sources.text(function.result->span);
    result.text += " -> " + result.result;
  }
  return result;
}

std::optional<Declaration> declaration_of_lambda(const std::string& expression) {
  if (expression.empty() || expression[0] != '|') return std::nullopt;
  SourceManager sources;
  Diagnostics diagnostics;
  const ast::File file = parse(sources, sources.add("<expression>", expression), diagnostics);
  if (diagnostics.has_errors() || file.statements.size() != 1) return std::nullopt;
  const auto* statement = ast::as<ast::ExprStmt>(file.statements[0]);
  const auto* lambda = statement ? ast::as<ast::Lambda>(statement->value) : nullptr;
  if (!lambda) return std::nullopt;
  Declaration result;
  result.name = expression;
  for (const ast::Param& param : lambda->params)
    result.parameters.push_back(declared(sources, param.name.text, param.type, param.default_value, param.doc, {}));
  result.text = expression;
  return result;
}

Declaration declaration_of(const SourceManager& sources, const ast::Struct& record) {
  Declaration result;
  result.name = record.name.text;
  result.doc = record.doc;
  result.is_struct = true;
  result.is_generic = !record.type_params.empty() || !record.sizes.empty();
  for (const ast::StructField& field : record.fields)
    result.parameters.push_back(declared(sources, field.name.text, field.type, nullptr, field.doc, record.type_params));
  // Its own size parameters have no meaning elsewhere.
  for (Declared& field : result.parameters)
    field.is_closed = field.is_closed && !result.is_generic;
  std::string sizes;
  for (const ast::Ident& size : record.sizes)
    sizes += (sizes.empty() ? "[" : ", ") + size.text;
  result.text = fmt::format("struct {}{}{} {{ {} }}", result.name, type_params_text(sources, record.type_params),
                            sizes.empty() ? "" : sizes + "]", parameters_text(result));
  return result;
}

std::vector<Declaration> imported_structs(const Frontend& frontend) {
  std::vector<Declaration> found;
  auto add = [&](const ast::File& file, const std::string& before) {
    for (const ast::Stmt* statement : file.statements)
      if (const auto* record = ast::as<ast::Struct>(statement)) {
        Declaration declaration = declaration_of(frontend.sources, *record);
        declaration.name = before + declaration.name;
        for (Declared& field : declaration.parameters) // its types are the module's
          field.is_closed = false;
        found.push_back(std::move(declaration));
      }
  };
  add(frontend.prelude, "");
  for (const ast::Stmt* statement : frontend.tree.statements)
    if (const auto* import = ast::as<ast::Import>(statement))
      if (auto it = frontend.imports.targets.find(import); it != frontend.imports.targets.end() && it->second)
        add(*it->second, checker::name_of_module(*import) + ".");
  return found;
}

} // namespace tl::compiler
