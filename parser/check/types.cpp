// Types as they are written, and the signatures of functions.
#include "parser/check/types.h"
#include "lang/suggest.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/lists.h"
#include "parser/check/modules.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/struct_types.h"
#include <fmt/format.h>

namespace tl::checker {

namespace {

bool has_axes(const std::string& name, const ast::TypeExpr* type) {
  auto any = [&](const std::vector<ast::TypeExpr*>& types) {
    return std::any_of(types.begin(), types.end(), [&](const ast::TypeExpr* t) { return has_axes(name, t); });
  };
  if (!type) return false;
  if (auto* tuple = ast::as<ast::TupleType>(type)) return any(tuple->elements);
  if (auto* function = ast::as<ast::FunctionType>(type))
    return any(function->parameters) || has_axes(name, function->result);
  auto* named = ast::as<ast::NamedType>(type);
  return (named->has_dims && named->module.empty() && named->name.text == name) || any(named->arguments);
}

bool is_bounded(const ast::TypeParam& param) { return !param.bound.empty() && param.bound.text != "any"; }

} // namespace

bool is_whole(const ast::TypeParam& param, const ast::Struct& decl) {
  return !is_bounded(param) && std::none_of(decl.fields.begin(), decl.fields.end(), [&](const ast::StructField& f) {
    return has_axes(param.name.text, f.type);
  });
}

bool is_whole(const ast::TypeParam& param, const ast::Function& decl) {
  return !is_bounded(param) && !has_axes(param.name.text, decl.result) &&
         std::none_of(decl.params.begin(), decl.params.end(),
                      [&](const ast::Param& p) { return has_axes(param.name.text, p.type); });
}

// What the name of a type means, null: nothing; without a value where something is wrong, and reported.
static std::optional<const Entity*> meaning_as_type(Context& cx, const ast::NamedType& named) {
  if (named.module.empty()) return find_type(cx, named.name.text);
  const Entity* module = find(cx, named.module.text);
  if (!module || module->kind != Entity::Kind::Module) {
    error(cx, "UnknownName", named.module.span, fmt::format("there is no module `{}` here", named.module.text),
          fmt::format("`import {}` at the top of the file makes it known", named.module.text));
    return std::nullopt;
  }
  const Entity* entity = find_in(cx, module->module, named.name, named.module.text);
  if (!entity) return std::nullopt;
  if (entity->kind == Entity::Kind::Struct) return entity;
  error(cx, "UnknownType", named.name.span, fmt::format("`{}.{}` is not a type", named.module.text, named.name.text));
  return std::nullopt;
}

static Type tuple_type(Context& cx, const ast::TupleType& tuple, DimContext& context) {
  if (tuple.elements.empty()) return Type::unit();
  std::vector<Type> elements;
  for (size_t i = 0; i < tuple.elements.size(); ++i) {
    context.path.push_back(static_cast<uint32_t>(i));
    elements.push_back(type_of(cx, tuple.elements[i], context));
    context.path.pop_back();
  }
  return Type::tuple(std::move(elements));
}

static Type list_type(Context& cx, const ast::NamedType& named, Span span, DimContext& context) {
  if (named.arguments.size() != 1 || named.has_dims) {
    error(cx, "UnknownType", span, "a list's type names that of its elements", "like `List<f32>` or `List<f32[_, 3]>`");
    return Type::error();
  }
  bool outer = context.in_list;
  context.in_list = true;
  Type element = type_of(cx, named.arguments[0], context);
  context.in_list = outer;
  if (element.is_error()) return element;
  if (element.is_unit() || has_range(cx, element)) {
    error(cx, "UnknownType", named.arguments[0]->span,
          fmt::format("{} cannot be an element of a list", show(cx, element)));
    return Type::error();
  }
  return list_of(cx, element);
}

static void unknown_type(Context& cx, const ast::Ident& type) {
  static const std::map<std::string, std::string> elsewhere = {
      {"int", "i64"},          {"float", "f32"},    {"double", "f64"},    {"float32", "f32"},    {"float64", "f64"},
      {"int32", "i32"},        {"int64", "i64"},    {"string", "str"},    {"uint8", "u8"},       {"float16", "f16"},
      {"Tensor", "f32[n, m]"}, {"complex", "c128"}, {"complex64", "c64"}, {"complex128", "c128"}};
  const std::string& name = type.text;
  std::string hint;
  if (auto it = elsewhere.find(name); it != elsewhere.end()) {
    hint = fmt::format("write `{}`", it->second);
  } else {
    Nearest nearest(name);
    for (int i = 0; i < kDTypeCount; ++i)
      nearest.consider(std::string(name_of(static_cast<DType>(i))));
    for (const Scope* s = cx.names.scope; s; s = s->parent)
      for (const auto& [candidate, other] : s->names)
        if (other.kind == Entity::Kind::Struct) nearest.consider(candidate);
    for (const auto& [other, own] : elsewhere)
      nearest.consider(other);
    const auto own = elsewhere.find(nearest.best());
    if (!nearest.best().empty())
      hint = fmt::format("did you mean `{}`?", own == elsewhere.end() ? nearest.best() : own->second);
  }
  if (hint.empty() && name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z')
    hint = fmt::format("a type that a call chooses is declared: `fn f<{0}: any>(x: {0})`", name);
  error(cx, "UnknownType", type.span, fmt::format("there is no type `{}`", name), hint);
}

// The axes that a size or `..s` in a type stands for. False: something is wrong, and reported.
static bool append_axes(Context& cx, const ast::Expr* dim, DimContext& context, std::vector<Size>& shape) {
  if (auto* spread = ast::as<ast::Spread>(dim)) {
    const Entity* axes = find(cx, spread->name.text);
    if (!axes || axes->kind != Entity::Kind::Spread) {
      error(cx, "UnboundSize", dim->span, fmt::format("the axes `..{}` are not bound", spread->name.text),
            "bind them in the shape of a parameter");
      return false;
    }
    shape.insert(shape.end(), axes->sizes.begin(), axes->sizes.end());
    return true;
  }
  auto size = dim_of(cx, dim, context);
  if (!size) return false;
  shape.push_back(*size);
  if (!size->is_constant() || size->constant() >= 0) return true;
  error(cx, "NegativeSize", dim->span, fmt::format("a size cannot be {}", show(cx, *size)));
  return false;
}

// A tensor of this element type with the axes that are written.
static Type tensor_type(Context& cx, Type type, const ast::NamedType& named, Span span, DimContext& context) {
  type.shape.clear();
  bool fine = true;
  int spreads = 0;
  for (const ast::Expr* dim : named.dims) {
    context.axis = static_cast<uint32_t>(type.shape.size());
    if (ast::as<ast::Spread>(dim) && ++spreads > 1) {
      error(cx, "UnboundSize", dim->span, "`..` may appear only once in a type");
      fine = false;
    } else {
      fine = append_axes(cx, dim, context, type.shape) && fine;
    }
  }
  if (type.dtype == DType::Device && !type.shape.empty()) {
    error(cx, "TypeMismatch", span, "devices do not make a tensor", "`List<device>` is a list of them");
    fine = false;
  }
  return fine ? type : Type::error();
}

// What a type parameter stands for: sizes that each element of a list has of its own are any sizes where there is no
// list.
static Type type_argument(Context& cx, Type type, Span span, DimContext& context) {
  if (type.is_list() || context.in_list || context.of_struct || context.mode == DimMode::Lookup) return type;
  for (size_t k = 0; k < type.shape.size(); ++k) {
    if (!has_element_atom(cx.program.atoms, type.shape[k])) continue;
    context.axis = static_cast<uint32_t>(k);
    type.shape[k] = any_size(cx, span, context).value_or(type.shape[k]);
  }
  for (size_t i = 0; i < type.elements.size(); ++i) {
    context.path.push_back(static_cast<uint32_t>(i));
    type.elements[i] = type_argument(cx, std::move(type.elements[i]), span, context);
    context.path.pop_back();
  }
  return type;
}

static Type named_type(Context& cx, const ast::NamedType& named, Span span, DimContext& context) {
  const std::string& name = named.name.text;
  auto meaning = meaning_as_type(cx, named);
  if (!meaning) return Type::error();
  const Entity* entity = *meaning;
  if (entity && entity->kind == Entity::Kind::Struct) return struct_type(cx, *entity->structure, named, span, context);
  if (name == "List" && named.module.empty()) return list_type(cx, named, span, context);
  if (!named.module.empty() || !named.arguments.empty()) {
    error(cx, "UnknownType", span, fmt::format("there is no type `{}`", source_text(cx, span)),
          named.module.empty() ? "a list is `List<f32>`, a tensor `f32[n]`" : "");
    return Type::error();
  }
  if (name == "str" || name == "range") {
    if (named.has_dims) {
      error(cx, "UnknownType", span, fmt::format("`{}` has no axes", name));
      return Type::error();
    }
    return name == "str" ? Type::str() : Type::make(TypeKind::Range);
  }
  if (entity && entity->kind == Entity::Kind::TypeParam) {
    Type type = cx.open.resolved(entity->element);
    if (!named.has_dims) return type_argument(cx, std::move(type), span, context);
    if (type.is_tensor()) return tensor_type(cx, std::move(type), named, span, context);
    if (!type.is_error())
      error(cx, "UnknownType", span, fmt::format("`{}` is {} here, which has no axes", name, show(cx, type)));
    return Type::error();
  }
  if (auto dtype = dtype_from_name(name)) return tensor_type(cx, Type::scalar(*dtype), named, span, context);
  unknown_type(cx, named.name);
  return Type::error();
}

Type type_of(Context& cx, const ast::TypeExpr* type, DimContext& context) {
  if (auto* tuple = ast::as<ast::TupleType>(type)) return tuple_type(cx, *tuple, context);
  if (auto* function = ast::as<ast::FunctionType>(type)) return written_function(cx, *function);
  return named_type(cx, *ast::as<ast::NamedType>(type), type->span, context);
}

// Enters the names that a type binds: first those that stand alone, so that `f64[n + 1]` may use them.
void bind_names(Context& cx, const ast::TypeExpr* type, DimContext& context) {
  if (auto* tuple = ast::as<ast::TupleType>(type))
    for (const ast::TypeExpr* element : tuple->elements)
      bind_names(cx, element, context);
  if (auto* named = ast::as<ast::NamedType>(type)) {
    for (const ast::TypeExpr* argument : named->arguments)
      bind_names(cx, argument, context);
    for (const ast::Expr* dim : named->dims)
      if (ast::as<ast::Name>(dim)) (void)dim_of(cx, dim, context);
  }
}

bool is_of_kind(const std::string& bound, DType type) {
  if (bound == "float") return is_float(type);
  if (bound == "int") return is_int(type);
  if (bound == "complex") return is_complex(type);
  return bound != "num" || is_num(type) || is_complex(type);
}

bool fits_bound(Context& cx, const ast::TypeParam& param, const Type& type, Span span, const std::string& function) {
  const std::string& bound = param.bound.text;
  Type t = cx.open.resolved(type);
  bool fits = true;
  if (!t.is_tensor() && (bound == "float" || bound == "int" || bound == "num" || bound == "complex"))
    fits = false;
  else if (bound == "float")
    fits = cx.open.constrain_float(t);
  else if (bound == "int") {
    cx.open.settle(t);
    fits = is_int(t.dtype);
  } else if (bound == "complex") {
    cx.open.settle(t);
    fits = is_complex(t.dtype);
  } else if (bound == "num")
    fits = t.open || is_of_kind(bound, t.dtype);
  else if (!bound.empty() && bound != "any") {
    error(cx, "UnknownType", param.bound.span, fmt::format("there is no kind of types `{}`", bound),
          "the kinds are float, complex, int, num and any");
    return false;
  }
  if (!fits)
    error(cx, "TypeMismatch", span,
          fmt::format("`{}` takes a type {} that is {}, not {}", function, param.name.text, bound,
                      t.is_tensor() ? std::string(name_of(t.dtype)) : show(cx, t)),
          bound == "int" && t.is_tensor() && is_float(t.dtype) && function.ends_with("cross_entropy")
              ? "labels are numbers of classes: of rows with a 1 each they are `argmax(y, axis = -1)`"
          : bound != "float" || !t.is_tensor() ? ""
          : is_complex(t.dtype)                ? "`real`, `imag` and `abs` of complex numbers are floats"
                                               : "write `f32(…)` to convert it");
  return fits;
}

namespace {

// The parameters and the result of a function for these bindings, over sizes of its own.
struct SignatureMaker {
  Context& cx;
  const FunctionInfo& info;
  const Bindings& bindings;
  const Span call;
  const ast::Function& decl{*info.decl};
  Signature signature{};
  std::map<Size, Size> size_params{}; // for sizes of arguments

  void enter_bindings();
  void enter_spread(const std::string& name, size_t rank);
  void enter_params();
  void add_param(size_t i, DimContext& context);
  void enter_param(size_t i, const Type& type);
  void enter_static(size_t i, const Static& value);
  void take_result();
  Type own_sizes(const Type& type);
  Type abstracted(const Type& type);
  Size size_param(const Size& size);
};

void SignatureMaker::enter_bindings() {
  for (const auto& [name, type] : bindings.types) {
    Entity entity;
    entity.kind = Entity::Kind::TypeParam;
    entity.element = own_sizes(type);
    enter(cx, name, entity);
  }
  for (const auto& [name, size] : bindings.sizes) {
    Entity entity;
    entity.kind = Entity::Kind::SizeName;
    entity.size = size;
    entity.span = decl.name.span;
    enter(cx, name, entity);
  }
  for (const auto& [name, rank] : bindings.ranks)
    enter_spread(name, rank);
}

void SignatureMaker::enter_spread(const std::string& name, size_t rank) {
  Entity entity;
  entity.kind = Entity::Kind::Spread;
  if (auto it = bindings.spreads.find(name); it != bindings.spreads.end()) entity.sizes = it->second;
  for (size_t i = entity.sizes.size(); i < rank; ++i) {
    AtomId id = size_atom(cx, AtomKind::Named, rank == 1 ? name : fmt::format("{}{}", name, i), decl.name.span);
    signature.size_params.push_back(id);
    entity.sizes.push_back(Size::of(id));
  }
  enter(cx, name, entity);
}

// i64 parameters may be sizes of other parameters' shapes, wherever these are.
void SignatureMaker::enter_params() {
  signature.params.resize(decl.params.size());
  for (size_t i = 0; i < decl.params.size(); ++i)
    if (auto* named = ast::as<ast::NamedType>(decl.params[i].type);
        named && named->name.text == "i64" && !named->has_dims)
      enter_param(i, Type::scalar(DType::I64));
  DimContext context;
  context.mode = DimMode::Bind;
  context.bound = &signature.size_params;
  for (const ast::Param& param : decl.params)
    if (param.type) bind_names(cx, param.type, context);
  for (size_t i = 0; i < decl.params.size(); ++i)
    if (!signature.params[i].var.valid()) add_param(i, context);
}

void SignatureMaker::add_param(size_t i, DimContext& context) {
  const ast::Param& param = decl.params[i];
  const Bindings::Param& binding = bindings.params[i];
  if (!param.type) {
    if (binding.constant)
      enter_static(i, *binding.constant);
    else
      enter_param(i, own_sizes(binding.type));
    return;
  }
  context.of = fmt::format("`{}`", param.name.text);
  Type type = type_of(cx, param.type, context);
  if (has_range(cx, type)) {
    error(cx, "NotSupported", param.type->span, "a range cannot be a parameter yet", "pass its two ends");
    type = Type::error();
  }
  Span at = binding.span.valid() ? binding.span : call.valid() ? call : param.type->span;
  if (type.is_function() && binding.constant) {
    bool ok = true;
    enter_static(i, under_type(cx, *binding.constant, type.function, at, ok));
    return;
  }
  if (!binding.type.is_error()) (void)fill_functions(cx, type, binding.type, at);
  enter_param(i, type);
}

void SignatureMaker::enter_param(size_t i, const Type& type) {
  const ast::Param& param = decl.params[i];
  VarId var = raw_variable(cx, param.name.text, type, false, param.name.span);
  signature.params[i] = {var, type};
  if (type.is_scalar() && type.dtype == DType::I64) bind_atom(cx, var);
  Entity entity;
  entity.kind = Entity::Kind::Variable;
  entity.var = var;
  entity.span = param.name.span;
  enter(cx, param.name.text, entity);
}

void SignatureMaker::enter_static(size_t i, const Static& value) {
  Entity entity;
  entity.kind = Entity::Kind::Static;
  entity.value = value;
  entity.span = decl.params[i].name.span;
  enter(cx, decl.params[i].name.text, entity);
}

// Does the path lead to an element of a list?
static bool leads_into_list(const Type& type, const std::vector<uint32_t>& path) {
  const Type* part = &type;
  for (size_t i = 0; i < path.size() && !part->is_list() && path[i] < part->elements.size(); ++i)
    part = &part->elements[path[i]];
  return part->is_list();
}

void SignatureMaker::take_result() {
  if (!decl.result) return;
  DimContext context;
  context.mode = DimMode::Result;
  context.fresh = &signature.result_atoms;
  context.in_wrapper = info.wraps != nullptr;
  context.of = fmt::format("the result of `{}`", decl.name.text);
  signature.result = type_of(cx, decl.result, context);
  if (has_range(cx, signature.result)) {
    error(cx, "NotSupported", decl.result->span, "a range cannot be a result yet", "give its two ends");
    signature.result = Type::error();
  }
  // No caller can read a size from a list, which may be empty: the body tells it.
  signature.has_result =
      std::none_of(signature.result_atoms.begin(), signature.result_atoms.end(),
                   [&](const typed::FreshAtom& fresh) { return leads_into_list(signature.result, fresh.path); });
}

Type SignatureMaker::own_sizes(const Type& type) {
  const Type known = cx.open.resolved(type);
  return bindings.exact ? known : abstracted(known);
}

// A type of an argument with its sizes replaced by parameters of the instance: the same size, the same parameter.
// Constants stay.
Type SignatureMaker::abstracted(const Type& type) {
  Type result = type;
  for (Size& size : result.shape) {
    if (size.is_constant()) continue;
    if (auto atom = size.as_atom(); atom && cx.program.atoms[*atom].kind == AtomKind::Element) continue;
    size = size_param(size);
  }
  for (Type& element : result.elements)
    element = abstracted(element);
  return result;
}

Size SignatureMaker::size_param(const Size& size) {
  auto [it, is_new] = size_params.try_emplace(size);
  if (is_new) {
    auto single = size.as_atom();
    bool is_name = single && cx.program.atoms[*single].kind == AtomKind::Named;
    AtomId id = size_atom(cx, is_name ? AtomKind::Named : AtomKind::Fresh, show(cx, size),
                          is_name ? cx.program.atoms[*single].origin : call);
    signature.size_params.push_back(id);
    it->second = Size::of(id);
  }
  return it->second;
}

} // namespace

Type expected_result(Context& cx, const Signature& signature) {
  return signature.result_atoms.empty() ? signature.result : any_sizes(cx, signature.result);
}

std::string write_sizes_hint(const Context& cx, const Type& result) {
  if (!result.is_struct()) return "a struct's sizes stand behind its name: `-> (M[n], f32)`";
  std::vector<std::string> sizes;
  for (const ast::Ident& size : cx.names.struct_of.at(result.record.get())->decl->sizes)
    sizes.push_back(size.text);
  return fmt::format("write `-> {}[{}]`", result.record->name, fmt::join(sizes, ", "));
}

Signature make_signature(Context& cx, FunctionInfo& info, const Bindings& bindings, Span call) {
  SaveAndRestore scope(cx.names.scope);
  FunctionContext* saved_context = cx.function;
  FunctionContext quiet_context = {};
  if (cx.function->is_top_level) { // the names of top-level variables are not sizes of functions
    quiet_context.instance = cx.function->instance;
    quiet_context.own = cx.function->own;
    cx.function = &quiet_context;
  }
  cx.names.scope = info.env;
  SignatureMaker maker{cx, info, bindings, call};
  maker.signature.scope = push_scope(cx);
  maker.signature.scope->is_function = true;
  maker.enter_bindings();
  maker.enter_params();
  maker.take_result();
  cx.function = saved_context;
  for (Diagnostic& d : quiet_context.reports)
    cx.function->reports.push_back(std::move(d));
  return std::move(maker.signature);
}

} // namespace tl::checker
