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

// A size expression: literals, names, + - * // %, min, max, x.shape[0] and `_`.
std::optional<Size> dim_of(Context& cx, const ast::Expr* e, DimContext& context) {
  if (auto* node = ast::as<ast::IntLiteral>(e)) {
    if (node->value <= uint64_t{INT64_MAX}) return Size(static_cast<int64_t>(node->value));
    error(cx, "LiteralOutOfRange", e->span, fmt::format("{} does not fit in i64", node->value));
    return std::nullopt;
  }
  auto new_atom = [&](AtomKind kind, const std::string& name) {
    SizeAtom atom;
    atom.kind = kind;
    atom.name = name;
    atom.origin = e->span;
    atom.not_negative = true;
    return cx.program.atoms.add(std::move(atom));
  };
  if (ast::as<ast::Wildcard>(e) && context.in_list)    // a size that each element has of its own
    return Size::of(new_atom(AtomKind::Element, "_")); // list_of numbers it
  if (ast::as<ast::Wildcard>(e)) {
    if (context.mode == DimMode::Lookup) {
      error(cx, "UnboundSize", e->span, "`_` stands for any size, and here a size is needed");
      return std::nullopt;
    }
    AtomId id =
        new_atom(AtomKind::Fresh, context.of.empty() ? "_" : fmt::format("axis {} of {}", context.axis, context.of));
    if (context.mode == DimMode::Result) {
      context.fresh->push_back({id, context.path, context.axis});
      cx.sizes.open_results.insert(id);
    } else {
      context.bound->push_back(id);
    }
    return Size::of(id);
  }
  if (auto* node = ast::as<ast::Name>(e)) {
    bool in_function = false;
    for (const Scope* s = cx.names.scope; s; s = s->parent) {
      in_function = in_function || s->is_function;
      const Entity* found = s->meaning(node->name, in_function);
      if (!found) continue;
      const Entity& entity = *found;
      // What the script's statements bind doesn't take the place of a size's name in a function.
      bool is_binding = entity.kind == Entity::Kind::SizeName || entity.kind == Entity::Kind::Variable ||
                        entity.kind == Entity::Kind::Poisoned;
      if (s->is_file && is_binding && !cx.function->is_top_level) continue;
      switch (entity.kind) {
      case Entity::Kind::SizeName: return entity.size;
      case Entity::Kind::Static:
        if (entity.value.kind == Static::Kind::Int) return Size(entity.value.number);
        break;
      case Entity::Kind::Poisoned: return std::nullopt;
      case Entity::Kind::Const: {
        ExprPtr value = const_value(cx, *entity.constant, node->name, e->span);
        if (value->type.is_error()) return std::nullopt;
        if (auto size = size_of(cx, *value)) return size;
        error(cx, "TypeMismatch", e->span,
              fmt::format("`{}` is {}, and a size is an i64", node->name, show(cx, value->type)));
        return std::nullopt;
      }
      case Entity::Kind::Variable: {
        const typed::Variable& v = cx.program.variables[entity.var.index];
        Type type = cx.open.resolved(v.type);
        if (type.is_error()) return std::nullopt;
        if (!type.is_scalar() || type.dtype != DType::I64 || v.is_mutable) {
          error(cx, "TypeMismatch", e->span,
                v.is_mutable ? fmt::format("`{}` is a `var`, and a size must not change", node->name)
                             : fmt::format("`{}` is {}, and a size is an i64", node->name, show(cx, type)),
                v.is_mutable ? fmt::format("`let m = {}` gives the size a name", node->name) : "");
          return std::nullopt;
        }
        cx.open.settle(cx.program.variables[entity.var.index].type);
        capture(cx, entity.var, e->span, node->name);
        if (auto known = cx.sizes.known.find(entity.var); known != cx.sizes.known.end())
          return cx.program.atoms.unwrapped(known->second);
        if (v.atom.valid()) return Size::of(v.atom);
        return std::nullopt;
      }
      default: break;
      }
      break;
    }
    if ((context.mode == DimMode::Bind || context.mode == DimMode::Annotation) && !context.in_struct) {
      AtomId id = new_atom(AtomKind::Named, node->name);
      context.bound->push_back(id);
      Entity entity;
      entity.kind = Entity::Kind::SizeName;
      entity.size = Size::of(id);
      entity.span = e->span;
      enter(cx, node->name, entity);
      return Size::of(id);
    }
    if (context.in_wrapper && !context.in_struct) {
      AtomId id = new_atom(AtomKind::Fresh, node->name);
      context.fresh->push_back({id, context.path, context.axis});
      Entity entity;
      entity.kind = Entity::Kind::SizeName;
      entity.size = Size::of(id);
      entity.span = e->span;
      enter(cx, node->name, entity);
      return Size::of(id);
    }
    std::string other = did_you_mean(cx, node->name, false);
    error(cx, "UnboundSize", e->span, fmt::format("the size `{}` is not bound", node->name),
          context.in_struct ? "the sizes of a struct follow its name: `struct P[n] { … }`"
          : context.mode == DimMode::Result
              ? fmt::format("name it in the shape of a parameter, or write `_` for a size that only the result tells")
          : other.empty() ? ""
                          : fmt::format("did you mean `{}`?", other));
    return std::nullopt;
  }
  if (auto* node = ast::as<ast::Binary>(e)) {
    auto a = dim_of(cx, node->left, context), b = dim_of(cx, node->right, context);
    if (!a || !b) return std::nullopt;
    switch (node->op) {
    case ast::BinaryOp::Add: return *a + *b;
    case ast::BinaryOp::Subtract: return *a - *b;
    case ast::BinaryOp::Multiply: return *a * *b;
    case ast::BinaryOp::FloorDivide:
    case ast::BinaryOp::Remainder:
      if (b->is(0)) {
        error(cx, "DivisionByZero", e->span, "division by zero in a size");
        return std::nullopt;
      }
      return node->op == ast::BinaryOp::FloorDivide ? cx.program.atoms.floor_div(*a, *b) : cx.program.atoms.mod(*a, *b);
    default:
      error(cx, "UnboundSize", node->op_span, fmt::format("a size takes + - * // %, not `{}`", ast::symbol(node->op)));
      return std::nullopt;
    }
  }
  if (auto* node = ast::as<ast::Unary>(e); node && node->op == ast::UnaryOp::Negate) {
    auto a = dim_of(cx, node->operand, context);
    if (!a) return std::nullopt;
    return Size(0) - *a;
  }
  if (auto* node = ast::as<ast::Call>(e)) {
    auto* callee = ast::as<ast::Name>(node->callee);
    auto callable = callee ? find_callable(cx, callee->name, false) : std::nullopt;
    if (callable && (callable->scalar == ScalarOp::Min || callable->scalar == ScalarOp::Max) &&
        node->arguments.size() == 2) {
      auto a = dim_of(cx, node->arguments[0].value, context), b = dim_of(cx, node->arguments[1].value, context);
      if (!a || !b) return std::nullopt;
      return callable->scalar == ScalarOp::Min ? cx.program.atoms.min(*a, *b) : cx.program.atoms.max(*a, *b);
    }
  }
  if (ast::as<ast::Subscript>(e) || ast::as<ast::Field>(e) || ast::as<ast::MethodCall>(e)) {
    ExprPtr v = check_value(cx, e);
    if (v->type.is_error()) return std::nullopt;
    if (auto size = size_of(cx, *v)) return cx.program.atoms.unwrapped(*size);
  }
  error(cx, "UnboundSize", e->span, "this is not a size",
        "a size is a literal, a name, `_`, or + - * // % min max of those");
  return std::nullopt;
}

Type type_of(Context& cx, const ast::TypeExpr* type, DimContext& context) {
  if (auto* tuple = ast::as<ast::TupleType>(type)) {
    if (tuple->elements.empty()) return Type::unit();
    std::vector<Type> elements;
    for (size_t i = 0; i < tuple->elements.size(); ++i) {
      context.path.push_back(static_cast<uint32_t>(i));
      elements.push_back(type_of(cx, tuple->elements[i], context));
      context.path.pop_back();
    }
    return Type::tuple(std::move(elements));
  }
  if (auto* function = ast::as<ast::FunctionType>(type)) return written_function(cx, *function);
  auto* named = ast::as<ast::NamedType>(type);
  const std::string& name = named->name.text;
  const Entity* entity = nullptr;
  if (named->module.empty()) {
    entity = find_type(cx, name);
  } else {
    const Entity* module = find(cx, named->module.text);
    if (!module || module->kind != Entity::Kind::Module) {
      error(cx, "UnknownName", named->module.span, fmt::format("there is no module `{}` here", named->module.text),
            fmt::format("`import {}` at the top of the file makes it known", named->module.text));
      return Type::error();
    }
    entity = find_in(cx, module->module, named->name, named->module.text);
    if (!entity) return Type::error();
    if (entity->kind != Entity::Kind::Struct) {
      error(cx, "UnknownType", named->name.span, fmt::format("`{}.{}` is not a type", named->module.text, name));
      return Type::error();
    }
  }
  if (entity && entity->kind == Entity::Kind::Struct)
    return struct_type(cx, *entity->structure, *named, type->span, context);
  if (name == "List" && named->module.empty()) {
    if (named->arguments.size() != 1 || named->has_dims) {
      error(cx, "UnknownType", type->span, "a list's type names that of its elements",
            "like `List<f32>` or `List<f32[_, 3]>`");
      return Type::error();
    }
    bool outer = context.in_list;
    context.in_list = true;
    Type element = type_of(cx, named->arguments[0], context);
    context.in_list = outer;
    if (element.is_error()) return element;
    if (element.is_unit() || has_range(cx, element)) {
      error(cx, "UnknownType", named->arguments[0]->span,
            fmt::format("{} cannot be an element of a list", show(cx, element)));
      return Type::error();
    }
    return list_of(cx, element);
  }
  if (!named->module.empty() || !named->arguments.empty()) {
    error(cx, "NotSupported", type->span,
          fmt::format("the type `{}` is not supported yet", source_text(cx, type->span)));
    return Type::error();
  }
  Type result;
  if (name == "str" || name == "range") {
    if (named->has_dims) {
      error(cx, "UnknownType", type->span, fmt::format("`{}` has no axes", name));
      return Type::error();
    }
    return name == "str" ? Type::str() : Type::make(TypeKind::Range);
  }
  if (entity && entity->kind == Entity::Kind::TypeParam) {
    result = cx.open.resolved(entity->element);
    if (!named->has_dims) return result;
    if (!result.is_tensor()) {
      if (!result.is_error())
        error(cx, "UnknownType", type->span, fmt::format("`{}` is {} here, which has no axes", name, show(cx, result)));
      return Type::error();
    }
  } else if (auto dtype = dtype_from_name(name))
    result = Type::scalar(*dtype);
  else {
    static const std::map<std::string, std::string> elsewhere = {
        {"int", "i64"},     {"float", "f32"},   {"double", "f64"},      {"float32", "f32"},
        {"float64", "f64"}, {"int32", "i32"},   {"int64", "i64"},       {"string", "str"},
        {"uint8", "u8"},    {"float16", "f16"}, {"Tensor", "f32[n, m]"}};
    std::string hint;
    if (auto it = elsewhere.find(name); it != elsewhere.end())
      hint = fmt::format("write `{}`", it->second);
    else if (name.starts_with("complex"))
      hint = "complex numbers are not part of the language";
    else
      for (int i = 0; i < kDTypeCount; ++i)
        if (edit_distance(name, name_of(static_cast<DType>(i))) == 1 && hint.empty())
          hint = fmt::format("did you mean `{}`?", name_of(static_cast<DType>(i)));
    for (const Scope* s = cx.names.scope; s && hint.empty(); s = s->parent)
      for (const auto& [candidate, other] : s->names)
        if (other.kind == Entity::Kind::Struct && edit_distance(name, candidate) <= 2)
          hint = fmt::format("did you mean `{}`?", candidate);
    error(cx, "UnknownType", named->name.span, fmt::format("there is no type `{}`", name), hint);
    return Type::error();
  }
  result.shape.clear();
  bool fine = true;
  int spreads = 0;
  for (const ast::Expr* dim : named->dims) {
    context.axis = static_cast<uint32_t>(result.shape.size());
    if (auto* spread = ast::as<ast::Spread>(dim)) {
      if (++spreads > 1) {
        error(cx, "UnboundSize", dim->span, "`..` may appear only once in a type");
        fine = false;
        continue;
      }
      const Entity* axes = find(cx, spread->name.text);
      if (!axes || axes->kind != Entity::Kind::Spread) {
        error(cx, "UnboundSize", dim->span, fmt::format("the axes `..{}` are not bound", spread->name.text),
              "bind them in the shape of a parameter");
        fine = false;
        continue;
      }
      result.shape.insert(result.shape.end(), axes->sizes.begin(), axes->sizes.end());
      continue;
    }
    auto size = dim_of(cx, dim, context);
    if (!size) {
      fine = false;
      continue;
    }
    if (size->is_constant() && size->constant() < 0) {
      error(cx, "NegativeSize", dim->span, fmt::format("a size cannot be {}", show(cx, *size)));
      fine = false;
    }
    result.shape.push_back(*size);
  }
  if (result.dtype == DType::Device && !result.shape.empty()) {
    error(cx, "TypeMismatch", type->span, "devices do not make a tensor", "`List<device>` is a list of them");
    fine = false;
  }
  return fine ? result : Type::error();
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

// A type of an argument with its sizes replaced by parameters of the instance: the same size, the same parameter.
// Constants stay.
static Type abstracted(Context& cx, const Type& type, std::map<Size, Size>& names, Signature& signature, Span span) {
  Type result = type;
  for (Size& size : result.shape) {
    if (size.is_constant()) continue;
    if (auto atom = size.as_atom(); atom && cx.program.atoms[*atom].kind == AtomKind::Element) continue;
    auto [it, is_new] = names.try_emplace(size);
    if (is_new) {
      SizeAtom atom;
      auto single = size.as_atom();
      bool is_name = single && cx.program.atoms[*single].kind == AtomKind::Named;
      atom.kind = is_name ? AtomKind::Named : AtomKind::Fresh;
      atom.name = show(cx, size);
      atom.origin = is_name ? cx.program.atoms[*single].origin : span;
      atom.not_negative = true;
      AtomId id = cx.program.atoms.add(std::move(atom));
      signature.size_params.push_back(id);
      it->second = Size::of(id);
    }
    size = it->second;
  }
  for (Type& element : result.elements)
    element = abstracted(cx, element, names, signature, span);
  return result;
}

bool fits_bound(Context& cx, const ast::TypeParam& param, const Type& type, Span span, const std::string& function) {
  const std::string& bound = param.bound.text;
  Type t = cx.open.resolved(type);
  bool fits = true;
  if (!t.is_tensor() && (bound == "float" || bound == "int" || bound == "num"))
    fits = false;
  else if (bound == "float")
    fits = cx.open.constrain_float(t);
  else if (bound == "int") {
    cx.open.settle(t);
    fits = is_int(t.dtype);
  } else if (bound == "num")
    fits = t.open || is_num(t.dtype);
  else if (!bound.empty() && bound != "any") {
    error(cx, "UnknownType", param.bound.span, fmt::format("there is no kind of types `{}`", bound),
          "the kinds are float, int, num and any");
    return false;
  }
  if (!fits)
    error(cx, "TypeMismatch", span,
          fmt::format("`{}` takes a type {} that is {}, not {}", function, param.name.text, bound,
                      t.is_tensor() ? std::string(name_of(t.dtype)) : show(cx, t)),
          bound == "float" && t.is_tensor() ? "write `f32(…)` to convert it" : "");
  return fits;
}

// The parameters and the result of a function for these bindings, over sizes of its own.
Signature make_signature(Context& cx, FunctionInfo& info, const Bindings& bindings, Span call) {
  SaveAndRestore scope(cx.names.scope);
  FunctionContext* saved_context = cx.function;
  FunctionContext quiet_context = {};
  if (cx.function->is_top_level) { // the names of top-level variables are not sizes of functions
    quiet_context.instance = cx.function->instance;
    quiet_context.own = cx.function->own;
    cx.function = &quiet_context;
  }
  Signature signature;
  cx.names.scope = info.env;
  signature.scope = push_scope(cx);
  signature.scope->is_function = true;
  const ast::Function& decl = *info.decl;
  std::map<Size, Size> names;
  auto own_sizes = [&](const Type& type) {
    return bindings.exact ? cx.open.resolved(type) : abstracted(cx, cx.open.resolved(type), names, signature, call);
  };
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
  for (const auto& [name, rank] : bindings.ranks) {
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
  auto enter_static = [&](size_t i, const Static& value) {
    Entity entity;
    entity.kind = Entity::Kind::Static;
    entity.value = value;
    entity.span = decl.params[i].name.span;
    enter(cx, decl.params[i].name.text, entity);
  };
  // i64 parameters may be sizes of other parameters' shapes, wherever these stand.
  signature.params.resize(decl.params.size());
  auto enter_param = [&](size_t i, Type type) {
    const ast::Param& param = decl.params[i];
    VarId var = raw_variable(cx, param.name.text, type, false, param.name.span);
    signature.params[i] = {var, type};
    if (type.is_scalar() && type.dtype == DType::I64) bind_atom(cx, var);
    Entity entity;
    entity.kind = Entity::Kind::Variable;
    entity.var = var;
    entity.span = param.name.span;
    enter(cx, param.name.text, entity);
  };
  for (size_t i = 0; i < decl.params.size(); ++i)
    if (auto* named = ast::as<ast::NamedType>(decl.params[i].type);
        named && named->name.text == "i64" && !named->has_dims)
      enter_param(i, Type::scalar(DType::I64));
  DimContext context;
  context.mode = DimMode::Bind;
  context.bound = &signature.size_params;
  for (const ast::Param& param : decl.params)
    if (param.type) bind_names(cx, param.type, context);
  for (size_t i = 0; i < decl.params.size(); ++i) {
    const ast::Param& param = decl.params[i];
    if (signature.params[i].var.valid()) continue;
    if (param.type) {
      context.of = fmt::format("`{}`", param.name.text);
      Type type = type_of(cx, param.type, context);
      if (has_range(cx, type)) {
        error(cx, "NotSupported", param.type->span, "a range cannot be a parameter yet", "pass its two ends");
        type = Type::error();
      }
      const Bindings::Param& binding = bindings.params[i];
      Span at = binding.span.valid() ? binding.span : call.valid() ? call : param.type->span;
      if (type.is_function() && binding.constant) {
        bool ok = true;
        enter_static(i, under_type(cx, *binding.constant, type.function, at, ok));
        continue;
      }
      if (!binding.type.is_error()) (void)fill_functions(cx, type, binding.type, at);
      enter_param(i, type);
      continue;
    }
    const Bindings::Param& binding = bindings.params[i];
    if (binding.constant)
      enter_static(i, *binding.constant);
    else
      enter_param(i, own_sizes(binding.type));
  }
  if (decl.result) {
    DimContext result;
    result.mode = DimMode::Result;
    result.fresh = &signature.result_atoms;
    result.in_wrapper = info.wraps != nullptr;
    result.of = fmt::format("the result of `{}`", decl.name.text);
    signature.result = type_of(cx, decl.result, result);
    if (has_range(cx, signature.result)) {
      error(cx, "NotSupported", decl.result->span, "a range cannot be a result yet", "give its two ends");
      signature.result = Type::error();
    }
    signature.has_result = true;
  }
  cx.function = saved_context;
  for (Diagnostic& d : quiet_context.reports)
    cx.function->reports.push_back(std::move(d));
  return signature;
}

} // namespace tl::checker
