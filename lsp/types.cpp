#include "lsp/types.h"
#include "lsp/names.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tl::lsp {
namespace {

constexpr size_t kMostTypes = 3; // of one variable

// Of the node for which `accept` says so.
template <class Accept> std::string type_where(const Analysis& analysis, const Accept& accept) {
  for (const auto& [node, type] : analysis.types)
    if (node->span.file == analysis.file && accept(*node)) return to_string(analysis, type);
  return "";
}

bool declares_struct(const Analysis& analysis, std::string_view name) {
  return std::any_of(analysis.tree.statements.begin(), analysis.tree.statements.end(), [&](const auto& statement) {
    const auto* declared = ast::as<ast::Struct>(statement);
    return declared && declared->name.text == name;
  });
}

// The type with `blank` for sizes that are no number and no name. False: it has a part that cannot be written here.
bool make_writable(const Analysis& analysis, Type& type, AtomId blank) {
  if (type.kind == TypeKind::Range || type.kind == TypeKind::Function || type.kind == TypeKind::Element ||
      type.is_error() || type.is_unit() || (type.is_struct() && !declares_struct(analysis, type.record->name)))
    return false;
  const SizeAtoms& atoms = analysis.program.atoms;
  for (Size& size : type.shape) {
    const auto atom = size.as_atom();
    const bool is_named = atom && (atoms[*atom].kind == AtomKind::Named || atoms[*atom].kind == AtomKind::Value) &&
                          is_name(atoms[*atom].name);
    if (!size.is_constant() && !is_named) size = Size::of(blank);
  }
  return std::all_of(type.elements.begin(), type.elements.end(),
                     [&](Type& element) { return make_writable(analysis, element, blank); });
}

} // namespace

std::string written(Analysis& analysis, Type type) {
  const AtomId blank = analysis.program.atoms.add({AtomKind::Fresh, "_", {}, true, {}, {}});
  return make_writable(analysis, type, blank) ? tl::to_string(type, analysis.program.atoms) : "";
}

std::string to_string(const Analysis& analysis, const Type& type) {
  if (type.is_function() || type.is_error() || type.is_unit()) return "";
  return tl::to_string(type, analysis.program.atoms);
}

std::string type_of_variable(const Analysis& analysis, Span declaration) {
  std::vector<std::string> types;
  for (const typed::Variable& variable : analysis.program.variables) {
    if (variable.span != declaration) continue;
    std::string type = to_string(analysis, variable.type);
    if (!type.empty() && std::find(types.begin(), types.end(), type) == types.end()) types.push_back(std::move(type));
  }
  if (types.size() > kMostTypes) types.resize(kMostTypes);
  return fmt::format("{}", fmt::join(types, " or "));
}

std::string written_type_of_variable(Analysis& analysis, Span declaration) {
  std::string result;
  for (const typed::Variable& variable : analysis.program.variables) {
    if (variable.span != declaration) continue;
    const std::string type = written(analysis, variable.type);
    if (type.empty() || (!result.empty() && type != result)) return "";
    result = type;
  }
  return result;
}

std::string type_of_call(const Analysis& analysis, Span callee) {
  return type_where(analysis, [&](const ast::Expr& node) {
    if (auto* call = ast::as<ast::Call>(node)) return call->callee->span == callee;
    auto* method = ast::as<ast::MethodCall>(node);
    return method && method->name.span == callee;
  });
}

std::string type_of_field(const Analysis& analysis, Span name) {
  return type_where(analysis, [&](const ast::Expr& node) {
    auto* field = ast::as<ast::Field>(node);
    return field && field->name.span == name;
  });
}

std::optional<std::pair<uint32_t, std::string>> inferred_result(const Analysis& analysis, const Symbol& symbol,
                                                                const TypeText& text) {
  const auto* function = symbol.statement ? ast::as<ast::Function>(symbol.statement) : nullptr;
  if (!function || function->result || function->name.text == "main") return std::nullopt;
  std::string type;
  for (const typed::Instance& instance : analysis.program.instances) {
    if (instance.span != function->name.span) continue;
    const std::string found = text(instance.result);
    if (!type.empty() && type != found) return std::nullopt; // not the same of all calls
    type = found;
  }
  const uint32_t body = function->body.expression ? function->body.expression->span.begin
                        : function->body.block    ? function->body.block->span.begin
                                                  : 0;
  // Behind the bracket that closes the parameters: the last one before the body, or its `=`.
  uint32_t end = function->name.span.end;
  for (const ast::Param& param : function->params)
    end = std::max(end, param.span.end);
  const size_t bracket = analysis.text.find(')', end);
  if (type.empty() || bracket == std::string::npos || bracket >= body) return std::nullopt;
  return std::pair(static_cast<uint32_t>(bracket + 1), "-> " + type);
}

std::optional<TypedText> expression_at(const Analysis& analysis, uint32_t offset) {
  const ast::Expr* found = nullptr;
  for (const auto& [node, type] : analysis.types) {
    const Span span = node->span;
    if (span.file != analysis.file || span.begin > offset || span.end < offset) continue;
    if (to_string(analysis, type).empty()) continue;
    if (!found || span.length() < found->span.length()) found = node;
  }
  if (!found) return std::nullopt;
  return TypedText{found->span, to_string(analysis, analysis.types.at(found))};
}

} // namespace tl::lsp
