// Names, literals, brackets, `if`, ranges, conversions, fields.
#include "parser/check/expressions.h"
#include "parser/check/builtins/devices.h"
#include "parser/check/builtins/rules.h"
#include "parser/check/builtins/shape.h"
#include "parser/check/calls.h"
#include "parser/check/comprehensions.h"
#include "parser/check/constants.h"
#include "parser/check/foreign_names.h"
#include "parser/check/functions.h"
#include "parser/check/indexing.h"
#include "parser/check/known.h"
#include "parser/check/lists.h"
#include "parser/check/modules.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/session.h"
#include "parser/check/sizes.h"
#include "parser/check/statements.h"
#include "parser/check/strings.h"
#include "parser/check/structs.h"
#include "parser/check/type_limits.h"
#include "parser/check/types.h"
#include "parser/check/unknown.h"
#include "parser/check/values.h"
#include <fmt/format.h>
#include <limits>
#include <numbers>

namespace tl::checker {

static ExprPtr static_value(Context& cx, const Static& value, Span span);

static ExprPtr check_list_literal(Context& cx, const ast::Expr& e, const ast::ListLiteral& list, const Type* expected);

// A parameter that is a constant of this instance, whether one is `none`, and in the library what follows from these.
static std::optional<bool> known_condition(Context& cx, const ast::Expr* condition) {
  std::optional<Static> known = compared_with_none(cx, condition);
  auto* name = ast::as<ast::Name>(condition);
  const Entity* entity = name ? find(cx, name->name) : nullptr;
  if (entity && entity->kind == Entity::Kind::Static) known = entity->value;
  if (!known && is_library(cx, condition->span.file)) known = computed_static(cx, condition);
  if (!known || known->kind != Static::Kind::Bool) return std::nullopt;
  return known->number != 0;
}

static ExprPtr check_if(Context& cx, const ast::Expr& e, const ast::If& node, const Type* expected, bool want);

static ExprPtr check_range(Context& cx, const ast::Expr& e, const ast::Range& r);

static ExprPtr check_field(Context& cx, const ast::Expr& e, const ast::Field& f);

ExprPtr check_value(Context& cx, const ast::Expr* e, const Type* expected) {
  ExprPtr result = check_expr(cx, e, expected);
  switch (result->type.kind) {
  case TypeKind::Element:
  case TypeKind::None:
    error(cx, "TypeMismatch", e->span, fmt::format("`{}` is not a value here", source_text(cx, e->span)),
          result->type.kind == TypeKind::None ? "a parameter that may be `none` is declared without a type: `y = none`"
                                              : "");
    return broken(e->span);
  default: return result;
  }
}

// The last time that it is checked counts: loops are checked again with sizes that hold.
static void note_type(Context& cx, const ast::Expr* e, const Type& type) {
  if (cx.options.types && !type.is_error() && !is_library(cx, e->span.file)) (*cx.options.types)[e] = type;
}

ExprPtr check_expr(Context& cx, const ast::Expr* e, const Type* expected, bool want) {
  if (!cx.held.empty())
    if (auto found = cx.held.find(e); found != cx.held.end()) return variable_value(cx, found->second, e->span);
  ExprPtr result = std::visit(
      [&](const auto& node) -> ExprPtr {
        using T = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<T, ast::IntLiteral>)
          return int_literal(cx, node.value, false, e->span);
        else if constexpr (std::is_same_v<T, ast::FloatLiteral>)
          return number_literal(cx, node, false, e->span);
        else if constexpr (std::is_same_v<T, ast::BoolLiteral>)
          return bool_value(node.value, e->span);
        else if constexpr (std::is_same_v<T, ast::NoneLiteral>)
          return make_expr(typed::UnitExpr{}, e->span, Type::none());
        else if constexpr (std::is_same_v<T, ast::StringLiteral>)
          return check_string(cx, *e, node);
        else if constexpr (std::is_same_v<T, ast::Name>)
          return check_name(cx, *e, node.name);
        else if constexpr (std::is_same_v<T, ast::Wildcard>) {
          if (find(cx, kLastValue)) return check_name(cx, *e, kLastValue);
          error(cx, "UnknownName", e->span, "`_` is not a value");
          return broken(e->span);
        } else if constexpr (std::is_same_v<T, ast::Spread>) {
          error(cx, "TypeMismatch", e->span, "`..` is only allowed in the sizes of a shape");
          return broken(e->span);
        } else if constexpr (std::is_same_v<T, ast::Tuple>) {
          if (node.elements.empty()) return make_expr(typed::UnitExpr{}, e->span, Type::unit());
          auto tuple = make_expr(typed::TupleExpr{}, e->span, Type::tuple({}));
          bool fine = true;
          for (size_t i = 0; i < node.elements.size(); ++i) {
            const Type* inner =
                expected && expected->is_tuple() && i < expected->elements.size() ? &expected->elements[i] : nullptr;
            tuple->operands.push_back(check_value(cx, node.elements[i], inner));
            tuple->type.elements.push_back(tuple->operands.back()->type);
            fine = fine && !tuple->operands.back()->type.is_error();
          }
          if (!fine) tuple->type = Type::error();
          return tuple;
        } else if constexpr (std::is_same_v<T, ast::ListLiteral>)
          return check_list_literal(cx, *e, node, expected);
        else if constexpr (std::is_same_v<T, ast::Comprehension>)
          return check_comprehension(cx, *e, node, "", e->span, expected);
        else if constexpr (std::is_same_v<T, ast::Unary>)
          return check_unary(cx, *e, node, expected);
        else if constexpr (std::is_same_v<T, ast::Binary>) {
          const bool may_join = node.op == ast::BinaryOp::Add && is_library(cx, e->span.file);
          if (auto known = may_join ? computed_static(cx, e) : std::nullopt;
              known && known->kind == Static::Kind::Tuple) // no operation on values joins tuples
            return static_value(cx, *known, e->span);
          return check_binary(cx, *e, node, expected);
        } else if constexpr (std::is_same_v<T, ast::Range>)
          return check_range(cx, *e, node);
        else if constexpr (std::is_same_v<T, ast::Call>)
          return check_call(cx, *e, node, expected);
        else if constexpr (std::is_same_v<T, ast::MethodCall>)
          return check_method_call(cx, *e, node, expected);
        else if constexpr (std::is_same_v<T, ast::Field>)
          return check_field(cx, *e, node);
        else if constexpr (std::is_same_v<T, ast::Subscript>)
          return check_subscript(cx, *e, node);
        else if constexpr (std::is_same_v<T, ast::If>)
          return check_if(cx, *e, node, expected, want);
        else
          return check_lambda(cx, *e, node);
      },
      e->node);
  if (const std::string why = too_large(result->type); !why.empty()) {
    error(cx, "TooLarge", e->span, why, "a list or a tensor holds many values of one kind");
    return broken(e->span);
  }
  note_type(cx, e, result->type);
  return result;
}

static ExprPtr static_value(Context& cx, const Static& value, Span span) {
  switch (value.kind) {
  case Static::Kind::Int:
    return int_literal(cx,
                       value.number < 0 ? 0 - static_cast<uint64_t>(value.number) : static_cast<uint64_t>(value.number),
                       value.number < 0, span);
  case Static::Kind::Bool: return bool_value(value.number != 0, span);
  case Static::Kind::String: return make_expr(typed::StrExpr{value.name}, span, Type::str());
  case Static::Kind::None: return make_expr(typed::UnitExpr{}, span, Type::none());
  case Static::Kind::Element: return make_expr(typed::UnitExpr{}, span, Type::element(value.dtype));
  case Static::Kind::Function: return make_expr(typed::UnitExpr{}, span, function_type(cx, value));
  case Static::Kind::Tuple: {
    auto tuple = make_expr(typed::TupleExpr{}, span, Type::tuple({}));
    for (const Static& element : value.elements) {
      tuple->operands.push_back(static_value(cx, element, span));
      tuple->type.elements.push_back(tuple->operands.back()->type);
    }
    return tuple;
  }
  }
  return broken(span);
}

// A const has the type that each use wants, so its expression is checked again at each.
ExprPtr const_value(Context& cx, ConstInfo& info, const std::string& name, Span span) {
  if (info.in_use) {
    error(cx, "UnknownName", info.decl->name.span, fmt::format("the const `{}` is defined by itself", name));
    return broken(span);
  }
  SaveAndRestore scope(cx.names.scope);
  bool saved_const = cx.in_const;
  SaveAndRestore variables(cx.const_variables, static_cast<uint32_t>(cx.program.variables.size()));
  cx.names.scope = info.env;
  cx.in_const = info.in_use = true;
  const auto* written = info.decl->type ? ast::as<ast::NamedType>(info.decl->type) : nullptr;
  ExprPtr result;
  const bool is_scalar =
      written && written->dims.empty() && (dtype_from_name(written->name.text) || written->name.text == "str");
  if (info.decl->type && !is_scalar) {
    // A tensor or a struct, whose sizes may be the value's.
    typed::Block block;
    typed::Stmt held;
    held.kind = StmtKind::Let;
    held.span = span;
    push_scope(cx);
    // What is checked here holds where this value is, and other uses check it again.
    SizeFacts facts = cx.function->facts;
    result = annotated_value(cx, info.decl->type, info.decl->value, info.env, fmt::format("const `{}`", name),
                             held.size_defs);
    cx.function->facts = std::move(facts);
    if (!result->type.is_error()) {
      // The names of sizes are this annotation's own: what they stand for is known.
      const std::map<AtomId, Size> by(held.size_defs.begin(), held.size_defs.end());
      auto known = [&](auto& self, Type& type) -> void {
        for (Size& size : type.shape)
          size = cx.program.atoms.substitute(size, by);
        for (Type& element : type.elements)
          self(self, element);
      };
      Type type = refresh(cx, *result);
      known(known, type);
      const VarId var = new_variable(cx, name, type, false, span);
      held.pattern.var = var;
      held.value = std::move(result);
      block.statements.push_back(std::move(held));
      result = in_block(std::move(block), variable_value(cx, var, span), span);
    }
  } else {
    result = check_value(cx, info.decl->value);
    if (info.decl->type) {
      DimContext context;
      Type type = type_of(cx, info.decl->type, context);
      result = coerce(cx, std::move(result), type, fmt::format("const `{}`", name));
    }
  }
  cx.in_const = saved_const;
  info.in_use = false;
  return computed_const(cx, std::move(result), info.decl->name.span);
}

ExprPtr check_name(Context& cx, const ast::Expr& e, const std::string& name) {
  const Entity* entity = find(cx, name);
  if (entity && is_prelude_function(*entity)) entity = nullptr;
  if (!entity) {
    if (auto dtype = dtype_from_name(name)) return make_expr(typed::UnitExpr{}, e.span, Type::element(*dtype));
    if (name == "cpu") return device_number(cx, Builtin::Cpu, int_value(0, e.span), e.span);
    if (cx.names.builtins.count(name))
      return make_expr(typed::UnitExpr{}, e.span, function_type(cx, *static_of(cx, &e)));
    double number = 0;
    if (name == "pi")
      number = std::numbers::pi;
    else if (name == "e")
      number = std::numbers::e;
    else if (name == "inf")
      number = std::numeric_limits<double>::infinity();
    else if (name == "nan")
      number = std::numeric_limits<double>::quiet_NaN();
    else {
      unknown_name(cx, name, e.span, false);
      return broken(e.span);
    }
    return float_literal(cx, number,
                         name == "pi"  ? "3.14159265358979323846"
                         : name == "e" ? "2.71828182845904523536"
                                       : "",
                         false, e.span);
  }
  switch (entity->kind) {
  case Entity::Kind::Variable: {
    if (cx.in_const && entity->var.index < cx.const_variables) {
      error(cx, "NotConstant", e.span,
            fmt::format("a const must be known when the program is compiled, and `{}` is a variable", name));
      return broken(e.span);
    }
    VarId var = entity->var;
    if (!cx.program.variables[var.index].type.is_function())
      capture(cx, var, e.span, name); // a function has nothing at run time
    return variable_value(cx, var, e.span);
  }
  case Entity::Kind::SizeName: return size_expr(entity->size, e.span);
  case Entity::Kind::Const: return const_value(cx, *entity->constant, name, e.span);
  case Entity::Kind::Function:
  case Entity::Kind::Struct: return make_expr(typed::UnitExpr{}, e.span, function_type(cx, *static_of(cx, &e)));
  case Entity::Kind::Static: return static_value(cx, entity->value, e.span);
  case Entity::Kind::TypeParam:
    return make_expr(typed::UnitExpr{}, e.span, Type::element(cx.open.resolved(entity->element).dtype));
  case Entity::Kind::Spread:
    error(cx, "TypeMismatch", e.span, fmt::format("`{}` names axes: write `..{}` in a shape", name, name));
    return broken(e.span);
  case Entity::Kind::Module:
    error(cx, "TypeMismatch", e.span, fmt::format("`{}` is a module, not a value", name),
          fmt::format("its names are written `{}.name`", name));
    return broken(e.span);
  case Entity::Kind::Poisoned: return broken(e.span);
  }
  return broken(e.span);
}

static ExprPtr check_list_literal(Context& cx, const ast::Expr& e, const ast::ListLiteral& list, const Type* expected) {
  if (expected && expected->is_list()) {
    std::vector<ExprPtr> elements;
    for (const ast::Expr* element : list.elements)
      elements.push_back(check_value(cx, element, expected->elements.empty() ? nullptr : &expected->elements[0]));
    return list_make(cx, std::move(elements), e.span, expected);
  }
  auto node = make_expr(typed::TensorLiteralExpr{}, e.span, Type::error());
  if (list.elements.empty()) {
    node->type = cx.open.new_open(LiteralKind::Builder);
    node->type.shape = {Size(0)};
    if (expected && expected->is_tensor()) (void)cx.open.unify(node->type, *expected);
    return node;
  }
  for (const ast::Expr* element : list.elements) {
    node->operands.push_back(check_value(cx, element));
    typed::Expr& v = *node->operands.back();
    if (v.type.is_error()) return broken(e.span);
    if (!v.type.is_tensor() || is_device(v.type)) { // what is no number makes a list
      while (node->operands.size() < list.elements.size())
        node->operands.push_back(check_value(cx, list.elements[node->operands.size()]));
      return list_make(cx, std::move(node->operands), e.span, expected);
    }
  }
  if (!same_element(cx, node->operands, 0, "this tensor", e.span)) return broken(e.span);
  Type type = node->operands[0]->type;
  for (size_t i = 1; i < node->operands.size(); ++i) {
    const typed::Expr& v = *node->operands[i];
    bool fits = v.type.rank() == type.rank();
    for (size_t k = 0; fits && k < type.rank(); ++k)
      fits = require_equal(cx, type.shape[k], v.type.shape[k], true,
                           fmt::format("the rows of a tensor need one shape, but axis {} is {{0}} and {{1}}", k),
                           v.span, node->checks);
    if (fits) continue;
    error(cx, "ShapeMismatch", v.span, "the rows of a tensor need one shape", "",
          {label_of(cx, *node->operands[0]), label_of(cx, v)});
    return broken(e.span);
  }
  type.shape.insert(type.shape.begin(), Size(static_cast<int64_t>(node->operands.size())));
  node->type = std::move(type);
  return node;
}

ExprPtr check_condition(Context& cx, const ast::Expr* e) {
  ExprPtr c = check_value(cx, e);
  cx.open.settle(c->type);
  if (c->type.is_error()) return c;
  if (c->type.is_scalar() && c->type.dtype == DType::Bool) return c;
  std::string hint;
  if (c->type.is_tensor() && c->type.dtype == DType::Bool)
    hint = fmt::format("write `all({0})` or `any({0})`", source_text(cx, e->span));
  else if (c->type.is_scalar())
    hint = fmt::format("write `{} != 0`", source_text(cx, e->span));
  else if (c->type.is_tuple() && c->type.elements.size() == 2 && c->type.elements[1].is_str())
    hint = "`assert` takes no parentheses: `assert c, \"message\"`";
  error(cx, "TypeMismatch", e->span, fmt::format("a condition is one bool, not {}", show(cx, c->type)), hint,
        {label_of(cx, *c)});
  c->type = Type::error();
  return c;
}

// What was to be the value of a block is computed as a statement.
static void drop_result(typed::Block& block) {
  typed::Stmt statement;
  statement.span = block.result->span;
  statement.value = std::move(block.result);
  block.statements.push_back(std::move(statement));
}

// The last of a chain of `else if`, if it has no `else`.
static const ast::Expr* if_without_else(const ast::Expr& e) {
  const auto* node = ast::as<ast::If>(&e);
  if (!node || !node->else_block) return node ? &e : nullptr;
  const std::vector<ast::Stmt*>& inside = node->else_block->statements;
  const auto* only = inside.size() == 1 ? ast::as<ast::ExprStmt>(inside[0]) : nullptr;
  return only ? if_without_else(*only->value) : nullptr;
}

static ExprPtr check_if(Context& cx, const ast::Expr& e, const ast::If& node, const Type* expected, bool want) {
  // What is known for this instance of a generic function picks its branch while checking.
  if (const std::optional<bool> holds = known_condition(cx, node.condition)) {
    typed::Block chosen;
    if (*holds)
      chosen = check_block(cx, node.then_block, want, expected);
    else if (node.else_block)
      chosen = check_block(cx, *node.else_block, want, expected);
    Type type = chosen.result ? chosen.result->type : Type::unit();
    return make_expr(typed::BlockExpr{std::move(chosen)}, e.span, std::move(type));
  }
  auto result = make_expr(typed::IfExpr{}, e.span, Type::unit());
  result->operands.push_back(check_condition(cx, node.condition));
  const typed::Expr& test = *result->operands[0];
  auto facts = cx.function->facts;
  auto before = cx.function->current;
  bool was_reachable = cx.function->reachable;
  bool want_value = want && node.else_block;
  std::vector<std::map<VarId, Type>> states;
  auto& branches = result->as<typed::IfExpr>();
  if (!test.type.is_error()) learn_condition(cx, test, true);
  branches.then_block = check_block(cx, node.then_block, want_value, expected);
  bool then_ends = cx.function->reachable;
  if (then_ends) states.push_back(cx.function->current);
  cx.function->facts = facts;
  cx.function->current = before;
  cx.function->reachable = was_reachable;
  if (!test.type.is_error()) learn_condition(cx, test, false);
  auto else_facts = cx.function->facts;
  bool else_ends = was_reachable;
  if (node.else_block) {
    branches.else_block = check_block(cx, *node.else_block, want_value, expected);
    else_ends = cx.function->reachable;
  }
  if (else_ends) states.push_back(cx.function->current);
  // After `if c { return }` it is known that c was false.
  cx.function->facts = !then_ends && else_ends && !node.else_block ? else_facts : facts;
  cx.function->reachable = was_reachable && (then_ends || else_ends);
  if (states.empty())
    cx.function->current = before;
  else
    branches.joins = join_variables(cx, std::move(states), e.span);
  if (test.type.is_error()) result->type = Type::error();
  if (!want_value || result->type.is_error()) return result;
  typed::Expr *a = branches.then_block.result.get(), *b = branches.else_block.result.get();
  Type left = a ? refresh(cx, *a) : Type::unit(), right = b ? refresh(cx, *b) : Type::unit();
  auto is_wildcard = [&](AtomId atom) {
    return (cx.program.atoms[atom].kind == AtomKind::Fresh && cx.program.atoms[atom].name == "_") ||
           cx.sizes.open_results.contains(atom);
  };
  if (!then_ends && !else_ends) // of what follows the jumps, or what is wanted
    result->type = !left.is_unit()    ? left
                   : !right.is_unit() ? right
                   : expected         ? behind_jump(cx, *expected, is_wildcard)
                                      : Type::unit();
  else if (!then_ends)
    result->type = right;
  else if (!else_ends)
    result->type = left;
  else if (left.is_error() || right.is_error())
    result->type = Type::error();
  else {
    std::vector<Label> labels;
    if (a) labels.push_back(label_of(cx, *a));
    if (b) labels.push_back(label_of(cx, *b));
    if (cx.session.shown_ifs.count(&e) && left.is_unit() != right.is_unit()) {
      drop_result(left.is_unit() ? branches.else_block : branches.then_block);
    } else if (!same_form(cx, left, right)) {
      std::string hint;
      if (has_function(cx, left) && has_function(cx, right))
        hint =
            "which function is called is known when compiling: put the `if` into one function, `|x| if c { f(x) } …`";
      if (left.is_tensor() && right.is_tensor() && left.rank() == right.rank() && b)
        hint = fmt::format("write `{}({})`", name_of(left.dtype), source_text(cx, b->span));
      if (const ast::Expr* last = left.is_unit() != right.is_unit() ? if_without_else(e) : nullptr)
        error(cx, "MissingResult", last->span, "this `if` has no `else`, and so no value where its condition is false",
              "add `else { … }`", std::move(labels));
      else
        error(cx, "TypeMismatch", e.span,
              fmt::format("the branches of `if` have different types, {} and {}", show(cx, left), show(cx, right)),
              hint, std::move(labels));
      result->type = Type::error();
    } else if (has_range(cx, left) && left != right) {
      error(cx, "NotSupported", e.span, "an `if` cannot choose between two ranges yet", "choose between their ends",
            std::move(labels));
      result->type = Type::error();
    } else {
      std::vector<typed::FreshAtom> fresh;
      result->type = fresh_join(cx, cx.open.resolved(left), cx.open.resolved(right), fresh, "this `if`", e.span);
      result->fresh = std::move(fresh);
    }
  }
  return result;
}

static ExprPtr check_range(Context& cx, const ast::Expr& e, const ast::Range& r) {
  auto node = make_expr(typed::RangeExpr{}, e.span, Type::error());
  ExprPtr first = check_value(cx, r.first), last = check_value(cx, r.last);
  if (first->type.is_error() || last->type.is_error()) return node;
  size_t errors = cx.function->reports.size();
  Size lo = size_argument(cx, std::move(first), *node, false, "the start of a range");
  Size hi = size_argument(cx, std::move(last), *node, false, "the end of a range");
  if (cx.function->reports.size() == errors) node->type = Type::range(lo, hi, 1);
  return node;
}

static ExprPtr check_field(Context& cx, const ast::Expr& e, const ast::Field& f) {
  if (Scope* module = module_of(cx, f.object)) return module_name(cx, module, e, f);
  if (const ast::Name* root = unknown_root(cx, f.object)) {
    unknown_module(cx, root->name, f.name.text, f.object->span);
    return broken(e.span);
  }
  ExprPtr object = check_value(cx, f.object);
  refresh(cx, *object);
  if (object->type.is_error()) return object;
  const std::string& name = f.name.text;
  if (object->type.is_struct()) {
    auto index = object->type.record->find(name);
    if (index) {
      if (object->is<typed::TupleExpr>() && std::all_of(object->operands.begin(), object->operands.end(),
                                                        [&](const ExprPtr& operand) { return is_simple(*operand); }))
        return std::move(object->operands[*index]);
      return get_field(std::move(object), *index, e.span);
    }
    if (name == "device") return device_of(cx, std::move(object), e.span);
    unknown_field(cx, object->type, f.name);
    return broken(e.span);
  }
  if (object->type.is_tensor() && name == "T") {
    std::vector<int64_t> axes;
    for (size_t i = object->type.rank(); i-- > 0;)
      axes.push_back(static_cast<int64_t>(i));
    return permute_to(cx, std::move(object), std::move(axes), e.span);
  }
  if (object->type.is_tensor() && name == "shape") {
    typed::Block block;
    object = shared(cx, std::move(object), block);
    auto tuple = make_expr(typed::TupleExpr{}, e.span, Type::tuple({}));
    for (const Size& size : object->type.shape) {
      tuple->operands.push_back(size_expr(size, e.span));
      tuple->type.elements.push_back(Type::scalar(DType::I64));
    }
    return in_block(std::move(block), std::move(tuple), e.span);
  }
  if (object->type.is_tensor() && (name == "real" || name == "imag")) {
    std::vector<Arg> args(1);
    args[0].span = object->span;
    args[0].value = std::move(object);
    const Builtin part = name == "real" ? Builtin::RealPart : Builtin::ImaginaryPart;
    return builtin_call(cx, part, std::move(args), e.span, true, nullptr);
  }
  std::string hint;
  if (name == "device") return device_of(cx, std::move(object), e.span);
  if (name == "grad")
    hint = "gradients are of functions: `grad(f)(x)` is that of f in its first argument";
  else if (find_callable(cx, name, true))
    hint = fmt::format("`{}` is a function: write `{}()`", name, source_text(cx, e.span));
  else if (name == "size" || name == "ndim")
    hint = name == "size" ? "`x.shape` has the sizes" : "write `rank(x)`";
  else if (name == "dtype")
    hint = "element types are known when compiling; error messages show them";
  else if (auto foreign = foreign_hint(name))
    hint = *foreign;
  error(cx, "UnknownName", f.name.span, fmt::format("{} has no field `{}`", show(cx, object->type), name), hint,
        {label_of(cx, *object)});
  return broken(e.span);
}

} // namespace tl::checker
