// `export fn` as the entry of a program: what a library calls. Tensors, scalars and texts cross as they are, a struct
// as its parts, whatever they are, and a list as it is: outside these are handles.
#include "parser/check/context.h"
#include <fmt/format.h>

namespace tl::checker {

constexpr const char* kMayCross = "scalars, text, tensors, structs and lists can";

// What of this type cannot cross, or nothing.
std::string Checker::why_not_exported(const Type& type, bool is_part) {
  if (type.is_str()) return "";
  if (type.is_tensor()) return type.dtype == DType::Device ? "a device" : "";
  if (type.is_struct() || (type.is_tuple() && is_part)) {
    if (type.is_struct() && type.elements.empty()) return fmt::format("a struct without fields (`{}`)", show(type));
    for (const Type& element : type.elements)
      if (std::string why = why_not_exported(element, true); !why.empty()) return why;
    return "";
  }
  if (type.is_list() && !is_part) {
    if (type.elements.empty()) return "a list whose element type is unknown";
    return why_not_exported(type.elements[0], true);
  }
  if (type.is_list()) {
    bool own = true; // all its sizes are its elements' own
    auto visit = [&](auto& self, const Type& of) -> void {
      for (const Size& size : of.shape)
        if (auto atom = size.as_atom(); !size.is_constant() && (!atom || p_.atoms[*atom].kind != AtomKind::Element))
          own = false;
      for (const Type& element : of.elements)
        self(self, element);
    };
    visit(visit, type);
    if (!own) return fmt::format("a list whose elements have sizes from outside (`{}`)", show(type));
    return why_not_exported(type.elements[0], true);
  }
  return fmt::format("`{}`", show(type));
}

// Tells structs and lists of a program apart: the name, and the element types of its parts where they may differ;
// "List_f32_2d", "List_Tuple2_Model_i64".
std::string Checker::record_name(const Type& type) {
  if (type.is_tensor())
    return type.rank() ? fmt::format("{}_{}d", name_of(type.dtype), type.rank()) : std::string(name_of(type.dtype));
  if (type.is_str()) return "str";
  if (!type.is_struct()) {
    std::string name = type.is_list() ? "List" : fmt::format("Tuple{}", type.elements.size());
    for (const Type& element : type.elements)
      name += "_" + record_name(element);
    for (const Entity* entity = find_type(name); entity && entity->kind == Entity::Kind::Struct;
         entity = find_type(name))
      name += "_";
    return name;
  }
  std::string name = type.record->name;
  if (type.record->types.empty()) return name;
  auto visit = [&](auto& self, const Type& of) -> void {
    if (of.is_tensor()) name += "_" + std::string(name_of(of.dtype));
    for (const Type& element : of.elements)
      self(self, element);
  };
  visit(visit, type);
  return name;
}

void Checker::check_export(const std::string& name) {
  FunctionInfo* exported = file_->names.at(name).function;
  const ast::Function& decl = *exported->decl;
  p_.interface.doc = decl.doc;
  bool fine = true;
  Scope* saved = scope_;
  scope_ = file_;
  for (const ast::Param& param : decl.params)
    if (param.type && returns_function(param.type)) {
      error("NotSupported", param.type->span, "a function cannot be a parameter of an exported function", kMayCross);
      fine = false;
    }
  fine = fine && has_known_types(*exported, fmt::format("`{}` is exported", name));
  if (!fine) {
    scope_ = saved;
    return;
  }
  push_scope();
  typed::Block& block = p_.main_call;
  Bindings bindings;
  bindings.params.resize(decl.params.size());
  std::vector<ExprPtr> values;
  std::set<std::string> sizes; // that a parameter has named
  for (const ast::Param& param : decl.params) {
    DimContext context;
    std::vector<AtomId> bound;
    context.mode = DimMode::Bind;
    context.bound = &bound;
    const size_t errors = ctx_->reports.size();
    bind_names(param.type, context);
    Type type = type_of(param.type, context);
    if (ctx_->reports.size() != errors) {
      fine = false;
      continue;
    }
    if (std::string why = why_not_exported(type, false); !why.empty()) {
      error("NotSupported", param.type->span, fmt::format("{} cannot be a parameter of an exported function", why),
            kMayCross);
      fine = false;
      continue;
    }
    const size_t first = p_.interface.params.size();
    const bool is_handle = type.is_struct() || type.is_list();
    if (type.is_list()) free_elements(type);
    values.push_back(entry_leaves(param, type, "", sizes));
    if (param.default_value && !is_handle) p_.interface.params[first].default_text = text(param.default_value->span);
    if (is_handle)
      for (size_t i = first; i < p_.interface.params.size(); ++i)
        p_.interface.params[i].record = record_name(type);
  }
  if (fine) {
    InstanceId id = entry_instance(*exported, bindings);
    block.result = finish_call(*exported, states_[id.index].signature, std::move(values), decl.name.span, id);
    if (!block.result->type.is_error()) export_results(block);
    finalize(block);
  }
  scope_ = saved;
}

// Once it is known which functions have effects.
void Checker::check_export_top_level(const std::string& name) {
  if (has_effects(p_.top_level)) {
    error("NotSupported", file_->names.at(name).function->decl->name.span,
          "a library runs the top level of its file in each call, and here that has effects",
          "put them into a function; a file that is read once, when the library is built, is a `const`");
  }
}

// The leaves of the result; of a tuple, each element is a result.
void Checker::export_results(typed::Block& block) {
  const Type whole = refresh(*block.result);
  const Span span = block.result->span;
  ExprPtr held = shared(std::move(block.result), block);
  auto delivered = make(ExprKind::Tuple, span, Type::tuple({}));
  auto leaves = [&](auto& self, ExprPtr part, const ResultInfo& of, const std::string& path) -> void {
    const Type type = part->type;
    if (type.is_aggregate()) {
      for (uint32_t i = 0; i < type.elements.size(); ++i) {
        const std::string step = type.is_struct() ? type.record->fields[i].name : std::to_string(i);
        self(self, get(again(*part), i, span), of, path.empty() ? step : path + "." + step);
      }
      return;
    }
    ResultInfo info = of;
    info.is_str = type.is_str();
    info.is_scalar = type.is_scalar();
    info.is_list = type.is_list();
    info.dtype = type.dtype;
    info.rank = static_cast<uint32_t>(type.rank());
    info.leaf = of.record.empty() ? "" : path;
    p_.interface.results.push_back(std::move(info));
    delivered->type.elements.push_back(type);
    delivered->operands.push_back(std::move(part));
  };
  uint32_t value = 0;
  auto result = [&](ExprPtr part) {
    const Type type = part->type;
    if (std::string why = type.is_function() ? "a function" : why_not_exported(type, false); !why.empty()) {
      error("NotSupported", span, fmt::format("{} cannot be a result of an exported function", why),
            "scalars, text, tensors, structs and lists can, and tuples of those");
      return;
    }
    ResultInfo info;
    info.value = value++;
    info.type_text = show(type);
    if (type.is_struct() || type.is_list()) info.record = record_name(type);
    leaves(leaves, std::move(part), info, "");
  };
  if (whole.is_tuple())
    for (uint32_t i = 0; i < whole.elements.size(); ++i)
      result(get(again(*held), i, span));
  else if (!whole.is_unit())
    result(std::move(held));
  block.result = std::move(delivered);
}

} // namespace tl::checker
