// `export fn` as the entry of a program: what a library calls. Tensors, scalars and texts cross as they are, a struct
// as its parts, whatever they are, and a list as it is: outside these are handles.
#include "parser/check/export.h"
#include "parser/check/builtins/complex.h"
#include "parser/check/builtins/devices.h"
#include "parser/check/finalize.h"
#include "parser/check/finish.h"
#include "parser/check/function_calls.h"
#include "parser/check/functions.h"
#include "parser/check/leaves.h"
#include "parser/check/main.h"
#include "parser/check/names.h"
#include "parser/check/program.h"
#include "parser/check/sizes.h"
#include "parser/check/structs.h"
#include "parser/check/types.h"
#include "parser/check/values.h"
#include <fmt/format.h>
#include <functional>

namespace tl::checker {

static void export_results(Context& cx, typed::Block& block);

constexpr const char* kMayCross = "scalars, text, tensors, structs and lists can";

// What of this type cannot cross, or nothing.
static std::string why_not_exported(Context& cx, const Type& type, bool is_part) {
  if (type.is_str()) return "";
  const bool is_for_c = !cx.options.is_called && !cx.options.exported.empty();
  if (type.is_tensor() && is_complex(type.dtype)) return is_for_c ? "a complex number" : "";
  if (type.is_tensor()) return type.dtype == DType::Device ? "a device" : "";
  if (type.is_struct() || (type.is_tuple() && (is_part || cx.options.is_called))) {
    if (type.is_struct() && type.elements.empty()) return fmt::format("a struct without fields (`{}`)", show(cx, type));
    for (const Type& element : type.elements)
      if (std::string why = why_not_exported(cx, element, true); !why.empty()) return why;
    return "";
  }
  if (type.is_list() && holds_complex(type)) return "a list of complex numbers";
  if (type.is_list() && !is_part) {
    if (type.elements.empty()) return "a list whose element type is unknown";
    return why_not_exported(cx, type.elements[0], true);
  }
  if (type.is_list()) {
    bool own = true; // all its sizes are its elements' own
    auto visit = [&](auto& self, const Type& of) -> void {
      for (const Size& size : of.shape)
        if (auto atom = size.as_atom();
            !size.is_constant() && (!atom || cx.program.atoms[*atom].kind != AtomKind::Element))
          own = false;
      for (const Type& element : of.elements)
        self(self, element);
    };
    visit(visit, type);
    if (!own) return fmt::format("a list whose elements have sizes from outside (`{}`)", show(cx, type));
    return why_not_exported(cx, type.elements[0], true);
  }
  return fmt::format("`{}`", show(cx, type));
}

bool can_cross(Context& cx, const Type& type) { return why_not_exported(cx, type, true).empty(); }

std::string record_name(Context& cx, const Type& type) {
  if (type.is_tensor())
    return type.rank() ? fmt::format("{}_{}d", name_of(type.dtype), type.rank()) : std::string(name_of(type.dtype));
  if (type.is_str()) return "str";
  if (!type.is_struct()) {
    std::string name = type.is_list() ? "List" : fmt::format("Tuple{}", type.elements.size());
    for (const Type& element : type.elements)
      name += "_" + record_name(cx, element);
    for (const Entity* entity = find_type(cx, name); entity && entity->kind == Entity::Kind::Struct;
         entity = find_type(cx, name))
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

void check_export(Context& cx, const std::string& name) {
  FunctionInfo* exported = cx.names.file->names.at(name).function;
  const ast::Function& decl = *exported->decl;
  cx.program.interface.doc = decl.doc;
  bool fine = true;
  SaveAndRestore scope(cx.names.scope, cx.names.file);
  for (const ast::Param& param : decl.params)
    if (param.type && returns_function(cx, param.type)) {
      error(cx, "NotSupported", param.type->span, "a function cannot be a parameter of an exported function",
            kMayCross);
      fine = false;
    }
  fine = fine && has_known_types(cx, *exported, fmt::format("`{}` is exported", name));
  if (!fine) {
    return;
  }
  push_scope(cx);
  typed::Block& block = cx.program.main_call;
  Bindings bindings;
  bindings.params.resize(decl.params.size());
  std::vector<ExprPtr> values;
  std::set<std::string> sizes; // that a parameter has named
  for (const ast::Param& param : decl.params) {
    DimContext context;
    std::vector<AtomId> bound;
    context.mode = DimMode::Bind;
    context.bound = &bound;
    const size_t errors = cx.function->reports.size();
    bind_names(cx, param.type, context);
    Type type = type_of(cx, param.type, context);
    if (cx.function->reports.size() != errors) {
      fine = false;
      continue;
    }
    if (std::string why = why_not_exported(cx, type, false); !why.empty()) {
      error(cx, "NotSupported", param.type->span, fmt::format("{} cannot be a parameter of an exported function", why),
            kMayCross);
      fine = false;
      continue;
    }
    const size_t first = cx.program.interface.params.size();
    const bool is_handle = type.is_struct() || type.is_list() || type.is_tuple();
    if (type.is_list()) free_elements(cx, type);
    values.push_back(entry_leaves(cx, param, type, "", sizes));
    if (param.default_value && !is_handle)
      cx.program.interface.params[first].default_text = source_text(cx, param.default_value->span);
    if (is_handle)
      for (size_t i = first; i < cx.program.interface.params.size(); ++i)
        cx.program.interface.params[i].record = record_name(cx, type);
  }
  if (fine) {
    InstanceId id = entry_instance(cx, *exported, bindings);
    block.result =
        finish_call(cx, *exported, cx.instances.states[id.index].signature, std::move(values), decl.name.span, id);
    if (!block.result->type.is_error()) export_results(cx, block);
    finalize(cx, block);
  }
}

// Once it is known which functions have effects.
void check_export_top_level(Context& cx, const std::string& name) {
  if (has_effects(cx, cx.program.top_level)) {
    error(cx, "NotSupported", cx.names.file->names.at(name).function->decl->name.span,
          "a library runs the top level of its file in each call, and here that has effects",
          "put them into a function; a file that is read once, when the library is built, is a `const`");
  }
}

static Type with_sizes(Type type, const std::function<Size(const Size&)>& change) {
  for (Size& size : type.shape)
    size = change(size);
  for (Type& element : type.elements)
    element = with_sizes(std::move(element), change);
  return type;
}

// Structs under the names that the file has for them, also for those of modules that it imports: "nn.Linear".
static Type with_names(Context& cx, Type type) {
  for (Type& element : type.elements)
    element = with_names(cx, std::move(element));
  if (!type.is_struct()) return type;
  auto is_it = [&](const Entity& entity) {
    return entity.kind == Entity::Kind::Struct && entity.structure->record == type.record;
  };
  auto named_in = [&](const Scope& scope) {
    auto it = scope.names.find(type.record->name);
    return it != scope.names.end() && is_it(it->second);
  };
  if (const Entity* here = find_type(cx, type.record->name); here && is_it(*here)) return type;
  for (const auto& [alias, entity] : cx.names.file->names)
    if (entity.kind == Entity::Kind::Module && named_in(*entity.module)) {
      Record record = *type.record;
      record.name = alias + "." + record.name;
      type.record = std::make_shared<const Record>(std::move(record));
      break;
    }
  return type;
}

// Is a part of it counted from the end where it is negative? Its text does not say so.
static bool wraps(const Context& cx, const Size& size) {
  for (const Size::Term& term : size.terms)
    for (AtomId id : term.atoms) {
      const SizeAtom& atom = cx.program.atoms[id];
      if (atom.kind == AtomKind::Wrap || wraps(cx, atom.a) || wraps(cx, atom.b)) return true;
    }
  return false;
}

// Its sizes are computed from those of the parameters, "x.shape[0]" or "m.layers.0.w.shape[1]", and integers among
// them; `_` is a size that is known when the call has run.
static std::string type_in_parameters(Context& cx, const Type& type) {
  std::map<AtomId, Size> known;
  const AtomId unknown = size_atom(cx, AtomKind::Fresh, "_", {});
  for (size_t i = 0; i < cx.program.entry_params.size(); ++i) {
    const typed::Variable& variable = cx.program.variables[cx.program.entry_params[i].var.index];
    const ParamInfo& param = cx.program.interface.params[i];
    if (variable.atom.valid()) known[variable.atom] = Size::of(variable.atom);
    for (size_t k = 0; k < variable.type.shape.size(); ++k)
      if (auto atom = variable.type.shape[k].as_atom(); atom && !known.count(*atom))
        known[*atom] = Size::of(
            size_atom(cx, AtomKind::Fresh,
                      fmt::format("{}{}{}.shape[{}]", param.name, param.leaf.empty() ? "" : ".", param.leaf, k), {}));
  }
  return show(cx, with_sizes(with_names(cx, type), [&](const Size& size) {
                if (wraps(cx, size)) return Size::of(unknown);
                std::vector<AtomId> leaves;
                cx.program.atoms.collect(size, leaves);
                for (AtomId leaf : leaves)
                  if (!known.count(leaf)) return Size::of(unknown);
                return cx.program.atoms.substitute(size, known);
              }));
}

// With `_` for its sizes.
static std::string open_type(Context& cx, const Type& type) {
  const AtomId any = size_atom(cx, AtomKind::Fresh, "_", {});
  return show(cx, with_sizes(with_names(cx, type), [&](const Size&) { return Size::of(any); }));
}

ValueInfo value_info(Context& cx, const Type& type) {
  ValueInfo info;
  info.type = open_type(cx, type);
  if (type.is_unit()) return info;
  if (type.is_str()) {
    info.kind = ValueInfo::Kind::Str;
  } else if (type.is_tensor()) {
    info.kind = ValueInfo::Kind::Tensor;
    info.dtype = type.dtype;
    info.rank = static_cast<uint32_t>(type.rank());
  } else {
    info.kind = type.is_struct() ? ValueInfo::Kind::Struct
                : type.is_list() ? ValueInfo::Kind::List
                                 : ValueInfo::Kind::Tuple;
    info.record = record_name(cx, type);
    for (size_t i = 0; i < type.elements.size(); ++i) {
      if (type.is_struct()) info.names.push_back(type.record->fields[i].name);
      info.parts.push_back(value_info(cx, type.elements[i]));
    }
  }
  return info;
}

// The leaves of the result; of a tuple, each element is a result.
static void export_results(Context& cx, typed::Block& block) {
  const Type whole = refresh(cx, *block.result);
  const Span span = block.result->span;
  ExprPtr held = shared(cx, std::move(block.result), block);
  auto delivered = make_expr(typed::TupleExpr{}, span, Type::tuple({}));
  auto leaves = [&](auto& self, ExprPtr part, const ResultInfo& of, const std::string& path) -> void {
    const Type type = part->type;
    if (type.is_aggregate()) {
      for (uint32_t i = 0; i < type.elements.size(); ++i) {
        const std::string step = type.is_struct() ? type.record->fields[i].name : std::to_string(i);
        self(self, get_field(copy_part(cx, *part), i, span), of, path.empty() ? step : path + "." + step);
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
    if (holds_complex(type)) {
      std::vector<Arg> arguments(1);
      arguments[0].span = span;
      arguments[0].value = std::move(part);
      part = prelude_call(cx, "complex_pairs", std::move(arguments), span);
    }
    cx.program.interface.results.push_back(std::move(info));
    delivered->type.elements.push_back(part->type);
    delivered->operands.push_back(std::move(part));
  };
  if (cx.options.is_called) cx.program.interface.value = value_info(cx, whole);
  uint32_t value = 0;
  auto result = [&](ExprPtr part) {
    const Type type = part->type;
    if (std::string why = type.is_function() ? "a function" : why_not_exported(cx, type, false); !why.empty()) {
      error(cx, "NotSupported", span, fmt::format("{} cannot be a result of an exported function", why),
            "scalars, text, tensors, structs and lists can, and tuples of those");
      return;
    }
    ResultInfo info;
    info.value = value++;
    info.type_text = cx.options.is_called ? type_in_parameters(cx, type) : show(cx, type);
    if (type.is_struct() || type.is_list()) info.record = record_name(cx, type);
    leaves(leaves, std::move(part), info, "");
  };
  if (whole.is_tuple())
    for (uint32_t i = 0; i < whole.elements.size(); ++i)
      result(get_field(copy_part(cx, *held), i, span));
  else if (!whole.is_unit())
    result(std::move(held));
  block.result = std::move(delivered);
}

} // namespace tl::checker
