// Operators: elementwise with broadcasting, `and` and `or`, `**`, `@`; what to say when types don't go together.
#include "parser/check/operators.h"
#include "parser/check/calls.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/leaves.h"
#include "parser/check/lists.h"
#include "parser/check/modules.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/strings.h"
#include "parser/check/structs.h"
#include "parser/check/text.h"
#include "parser/check/values.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::checker {

static ExprPtr join_conditions(Context& cx, ast::BinaryOp op, ExprPtr left, ExprPtr right, Span span);

// Variables among these whose value was an integer without a type, and still is.
static std::vector<VarId> open_integers(const Context& cx, const std::vector<ExprPtr>& operands) {
  std::vector<VarId> result;
  for (const ExprPtr& operand : operands) {
    const auto* variable = operand->get_if<typed::VariableExpr>();
    const Type type = variable ? cx.open.resolved(operand->type) : Type::error();
    if (type.open && cx.open.kind_of(type) == LiteralKind::Int) result.push_back(variable->var);
  }
  return result;
}

// what is checked is nowhere in the text: the body of a function that is made
static bool is_made_here(const Context& cx) {
  const FunctionInfo* info =
      cx.function->instance.valid() ? cx.instances.states[cx.function->instance.index].info : nullptr;
  const ast::Expr* body = info ? info->decl->body.expression : nullptr;
  return body && body->span == info->decl->name.span;
}

// How `from` becomes a `to`, without losing anything where there is a way. `target`: the variable that takes it.
std::string_view usual_float(const Context& cx) {
  bool has_f32 = false, has_f64 = false;
  auto note = [&](auto& self, const Type& type) -> void {
    if (type.is_tensor() && !type.open) {
      has_f32 = has_f32 || part_of(type.dtype) == DType::F32;
      has_f64 = has_f64 || part_of(type.dtype) == DType::F64;
    }
    for (const Type& element : type.elements)
      self(self, element);
  };
  if (cx.annotated) note(note, Type::scalar(*cx.annotated));
  if (!has_f32 && !has_f64 && cx.function->signature) {
    for (const Signature::Param& param : cx.function->signature->params)
      note(note, param.type);
    if (cx.function->signature->has_result) note(note, cx.function->signature->result);
  }
  for (const Scope* scope = cx.names.scope; scope && !has_f32 && !has_f64; scope = scope->parent)
    for (const auto& [name, entity] : scope->names)
      if (entity.kind == Entity::Kind::Variable)
        note(note, cx.open.resolved(cx.program.variables[entity.var.index].type));
  return name_of(has_f64 && !has_f32 ? DType::F64 : DType::F32);
}

// f(x) of the text of x, which may stand in parentheses.
static std::string as_call(std::string_view function, std::string_view x) {
  int depth = 0;
  bool enclosed = x.size() > 2 && x.front() == '(' && x.back() == ')';
  for (size_t i = 0; i < x.size() && enclosed; ++i) {
    if (x[i] == '(') ++depth;
    if (x[i] == ')') --depth;
    if (x[i] == '"' || (x[i] == ',' && depth == 1) || (depth == 0 && i + 1 < x.size())) enclosed = false;
  }
  return enclosed ? fmt::format("{}{}", function, x) : fmt::format("{}({})", function, x);
}

std::string conversion_hint(Context& cx, const typed::Expr& from, const Type& to, const typed::Expr* target) {
  const Type given = cx.open.resolved(from.type);
  Type wanted = cx.open.resolved(to);
  if (wanted.is_tensor() && wanted.open && cx.open.kind_of(wanted) != LiteralKind::Int)
    wanted = Type::tensor(*dtype_from_name(usual_float(cx)), wanted.shape);
  const std::string source = source_text(cx, from.span);
  if (!given.is_tensor() || !wanted.is_tensor() || source.starts_with("|") || is_made_here(cx)) return "";
  if (!has_zero(given.dtype) || !has_zero(wanted.dtype)) return "";
  // A variable whose literal nothing gave a type: it is declared with one, rather than converted afterwards.
  auto declared = [&](const typed::Expr* e) {
    const auto* variable = e ? e->get_if<typed::VariableExpr>() : nullptr;
    auto found = variable ? cx.open_at_first.find(variable->var) : cx.open_at_first.end();
    return found == cx.open_at_first.end() ? std::string() : found->second;
  };
  auto declaration = [&](const typed::Expr& e) {
    const typed::Variable& v = cx.program.variables[e.as<typed::VariableExpr>().var.index];
    return fmt::format("{} {}", v.is_mutable ? "var" : "let", v.name);
  };
  if (is_complex(given.dtype) && !is_complex(wanted.dtype)) return fmt::format("write `real({})`", source);
  auto type_of_rank = [](const Type& shape, const Type& element) {
    const std::vector<std::string> axes(shape.rank(), "_");
    return axes.empty() ? std::string(name_of(element.dtype))
                        : fmt::format("{}[{}]", name_of(element.dtype), fmt::join(axes, ", "));
  };
  const bool loses = is_float(given.dtype) && !is_float(wanted.dtype) && !is_complex(wanted.dtype);
  if (std::string literal = declared(target); !literal.empty() && loses && given.rank() == 0)
    return fmt::format("make it a float where it is declared: `{}: {} = {}`", declaration(*target),
                       name_of(given.dtype), literal);
  const bool narrows = is_float(given.dtype) && is_float(wanted.dtype) && size_of(given.dtype) > size_of(wanted.dtype);
  if (std::string literal = declared(target); !literal.empty() && narrows && wanted.rank() == 0)
    return fmt::format("give its type where it is declared: `{}: {} = {}`", declaration(*target), name_of(given.dtype),
                       literal);
  if (std::string literal = declared(&from); !literal.empty() && is_float(given.dtype) && is_float(wanted.dtype))
    return fmt::format("give its type where it is declared: `{}: {} = {}`", declaration(from),
                       type_of_rank(given, wanted), literal);
  return fmt::format("write `{}` to convert it{}", as_call(name_of(wanted.dtype), source),
                     loses ? ", which drops fractions" : "");
}

void mixed_types(Context& cx, const typed::Expr& a, const typed::Expr& b, const std::string& what, Span span) {
  Type x = cx.open.resolved(a.type), y = cx.open.resolved(b.type);
  std::string hint;
  // Convert towards the complex number or the float, or the wider type.
  auto kind = [](DType t) { return is_complex(t) ? 2 : is_float(t) ? 1 : 0; };
  bool convert_a = kind(x.dtype) < kind(y.dtype);
  if (kind(x.dtype) == kind(y.dtype)) convert_a = tl::size_of(x.dtype) < tl::size_of(y.dtype);
  const typed::Expr& from = convert_a ? a : b;
  const Type& to = convert_a ? y : x;
  if (has_zero(x.dtype) && has_zero(y.dtype)) {
    if (cx.open.resolved(from.type).open && from.is<typed::LiteralExpr>())
      hint = fmt::format("write the literal as {}", kind(to.dtype) > 0 ? "a float" : "an integer");
    else
      hint = conversion_hint(cx, from, to);
  }
  std::vector<Label> labels{label_of(cx, a), label_of(cx, b)};
  error(cx, "MixedTypes", span, fmt::format("{} mixes {} and {}", what, name_of(x.dtype), name_of(y.dtype)), hint,
        std::move(labels));
}

// Real numbers beside complex ones with parts of their type are complex. A literal may be both, and is left to `unify`.
static void promote(Context& cx, std::vector<ExprPtr>& operands, size_t first) {
  auto is_complex_operand = [&](const ExprPtr& operand) { return cx.open.is_complex(operand->type); };
  const auto begin = operands.begin() + static_cast<ptrdiff_t>(first);
  auto found = std::find_if(begin, operands.end(), is_complex_operand);
  if (found == operands.end() || std::all_of(begin, operands.end(), is_complex_operand)) return;
  for (auto it = found; it != operands.end(); ++it) // rather one whose type is known
    if (is_complex_operand(*it) && !cx.open.resolved((*it)->type).open) found = it;
  typed::Expr& z = **found;
  for (auto it = begin; it != operands.end(); ++it) {
    if (is_complex_operand(*it) || !(*it)->type.is_tensor() || (*it)->is<typed::LiteralExpr>()) continue;
    Type real = refresh(cx, **it);
    if (real.open && refresh(cx, z).open && cx.open.kind_of(real) == LiteralKind::Float) cx.open.settle((*it)->type);
    if (real.open) (void)cx.open.unify(real, Type::scalar(part_of(refresh(cx, z).dtype)));
    real = refresh(cx, **it);
    const auto to = complex_of(real.dtype);
    if (to && cx.open.unify(z.type, Type::scalar(*to))) *it = convert(cx, std::move(*it), *to);
  }
}

// One element type for operands first, first + 1, …
bool same_element(Context& cx, std::vector<ExprPtr>& operands, size_t first, const std::string& what, Span span) {
  promote(cx, operands, first);
  for (size_t i = first + 1; i < operands.size(); ++i) {
    if (!cx.open.unify(operands[first]->type, operands[i]->type)) {
      mixed_types(cx, *operands[first], *operands[i], what, span);
      return false;
    }
  }
  for (auto& operand : operands)
    refresh(cx, *operand);
  return true;
}

bool takes_complex(ScalarOp op) {
  switch (op) {
  case ScalarOp::Neg:
  case ScalarOp::Add:
  case ScalarOp::Sub:
  case ScalarOp::Mul:
  case ScalarOp::Div:
  case ScalarOp::Eq:
  case ScalarOp::Ne:
  case ScalarOp::Where: return true;
  default: return false;
  }
}

static ExprPtr complex_function(Context& cx, ScalarOp op, std::vector<ExprPtr> operands, Span span,
                                const std::string& what) {
  const bool differ = operands.size() == 2 && operands[0]->type.rank() != operands[1]->type.rank();
  const std::string name = fmt::format("complex_{}{}", info(op).name, differ ? "_of" : "");
  const auto callable = callable_in(cx, cx.names.prelude, name);
  if (!callable) {
    const bool orders = info(op).rule == TypeRule::OrdBool || op == ScalarOp::Min || op == ScalarOp::Max;
    const std::string z = source_text(cx, operands[0]->span);
    error(cx, "TypeMismatch", span, fmt::format("{} takes real numbers, not {}", what, show(cx, operands[0]->type)),
          orders ? "complex numbers have no order; `abs` is their magnitude"
                 : fmt::format("`real({0})` and `imag({0})` are real", z),
          {label_of(cx, *operands[0])});
    return broken(span);
  }
  std::vector<Arg> args;
  for (ExprPtr& operand : operands) {
    Arg& arg = args.emplace_back();
    arg.span = operand->span;
    arg.value = std::move(operand);
  }
  return call_named(cx, *callable, name, span, std::move(args), span, false, nullptr);
}

ExprPtr scalar_node(Context& cx, ScalarOp op, std::vector<ExprPtr> operands, Span span, const std::string& what) {
  for (auto& operand : operands) {
    refresh(cx, *operand);
    if (operand->type.is_error()) return broken(span);
    if (!operand->type.is_tensor()) {
      std::string hint;
      if (operand->type.is_str()) hint = "text is put together as \"{a}{b}\", of a number as `str(x)`";
      if (operand->type.is_str() && (op == ScalarOp::Max || op == ScalarOp::Min))
        hint = fmt::format("of texts: `if a {} b {{ a }} else {{ b }}`", op == ScalarOp::Max ? ">" : "<");
      if (operand->type.is_tuple()) hint = "tuples have no arithmetic and no order: compare their parts";
      if (operand->type.is_struct()) hint = "`map(f, p)` works on each leaf of a struct";
      error(cx, "TypeMismatch", operand->span,
            fmt::format("{} works on numbers and tensors, not on {}", what, show(cx, operand->type)), hint,
            {label_of(cx, *operand)});
      return broken(span);
    }
  }
  TypeRule rule = info(op).rule;
  auto expects = [&](size_t i, const std::string& wanted, const std::string& hint) {
    error(cx, "TypeMismatch", operands[i]->span,
          fmt::format("{} takes {}, and `{}` is {}", what, wanted, source_text(cx, operands[i]->span),
                      show(cx, operands[i]->type)),
          hint, {label_of(cx, *operands[i])});
    return broken(span);
  };
  const std::vector<VarId> integers = open_integers(cx, operands);
  size_t first = rule == TypeRule::Select ? 1 : 0; // the operands of one element type start here
  if (rule == TypeRule::Bits || rule == TypeRule::KeyFold) {
    if (operands[0]->type.dtype != DType::Key) return expects(0, "a key", "");
    if (!cx.open.unify(operands[1]->type, Type::scalar(DType::I64))) return expects(1, "an i64", "");
    refresh(cx, *operands[1]);
  } else {
    if (rule == TypeRule::Select) {
      cx.open.settle(operands[0]->type);
      if (operands[0]->type.dtype != DType::Bool) return expects(0, "a bool first", "a condition like `x > 0`");
    }
    if (!same_element(cx, operands, first, what, span)) return broken(span);
  }
  const Type element = operands[first]->type;
  const bool complex = is_complex(element.dtype);
  if (complex && !takes_complex(op) && rule != TypeRule::BoolSame)
    return complex_function(cx, op, std::move(operands), span, what);
  switch (rule) {
  case TypeRule::NumSame:
  case TypeRule::OrdBool:
    if (!complex && !element.open && !is_num(element.dtype))
      return expects(first, "numbers",
                     element.dtype == DType::Bool
                         ? fmt::format("`i64({})` counts true as 1", source_text(cx, operands[first]->span))
                         : "");
    break;
  case TypeRule::FloatSame:
  case TypeRule::FloatBool:
    if (!complex && !cx.open.constrain_float(element)) {
      auto converted = [&](const typed::Expr& e) { return as_call(usual_float(cx), source_text(cx, e.span)); };
      std::string hint = fmt::format("write `{}` to convert it", converted(*operands[first]));
      if (op == ScalarOp::Div) // both are integers
        hint = fmt::format("`//` divides integers and rounds down; `{} / {}` is a float", converted(*operands[0]),
                           converted(*operands[1]));
      return expects(first, "floats", hint);
    }
    break;
  case TypeRule::IntSame:
    if (!cx.open.constrain_int(element)) return expects(first, "integers", "");
    break;
  case TypeRule::BoolSame:
    for (size_t i = 0; i < operands.size(); ++i) {
      cx.open.settle(operands[i]->type);
      if (operands[i]->type.dtype != DType::Bool)
        return expects(i, "bools", fmt::format("write `{} != 0`", source_text(cx, operands[i]->span)));
    }
    break;
  case TypeRule::EqBool: // keys too
  case TypeRule::Select:
  case TypeRule::Bits:
  case TypeRule::KeyFold: break;
  }
  auto node = make_expr(typed::ScalarExpr{op}, span, Type::error());
  std::vector<typed::Expr*> raw;
  for (auto& operand : operands)
    raw.push_back((refresh(cx, *operand), operand.get()));
  auto shape = broadcast(cx, raw, what, span, node->checks);
  if (!shape) return broken(span);
  Type result = cx.open.resolved(operands[first]->type);
  if (is_float(result.dtype))
    for (VarId var : integers)
      cx.made_float.try_emplace(var, span);
  if (rule == TypeRule::EqBool || rule == TypeRule::OrdBool || rule == TypeRule::FloatBool)
    result = Type::scalar(DType::Bool);
  if (rule == TypeRule::Bits) result = Type::scalar(DType::I64);
  result.shape = std::move(*shape);
  node->type = std::move(result);
  node->operands = std::move(operands);
  return node;
}

ExprPtr check_unary(Context& cx, const ast::Expr& e, const ast::Unary& u, const Type* expected) {
  if (u.op == ast::UnaryOp::Negate) {
    if (auto* node = ast::as<ast::IntLiteral>(u.operand)) return int_literal(cx, node->value, true, e.span);
    if (auto* node = ast::as<ast::FloatLiteral>(u.operand)) return number_literal(cx, *node, true, e.span);
  }
  std::vector<ExprPtr> operands;
  operands.push_back(check_value(cx, u.operand, expected));
  auto* literal = operands[0]->get_if<typed::LiteralExpr>();
  if (u.op == ast::UnaryOp::Negate && literal && literal->form == LiteralForm::Float) { // -inf, -pi
    literal->negative = !literal->negative;
    operands[0]->span = e.span;
    return std::move(operands[0]);
  }
  if (refresh(cx, *operands[0]).is_struct()) return unary_struct(cx, u.op, std::move(operands[0]), e.span);
  return scalar_node(cx, u.op == ast::UnaryOp::Negate ? ScalarOp::Neg : ScalarOp::Not, std::move(operands), e.span,
                     u.op == ast::UnaryOp::Negate ? "`-`" : "`not`");
}

namespace {

// Can it neither fail nor cost more than a few instructions?
bool is_total(const typed::Expr& e) {
  if (is_simple(e)) return true;
  if (!e.is<typed::ScalarExpr, typed::ConvertExpr>()) return false;
  if (e.is(ScalarOp::FloorDiv) || e.is(ScalarOp::Mod) || e.is(ScalarOp::Pow)) return false;
  if (e.is<typed::ScalarExpr>() && !e.checks.empty()) return false;
  return std::all_of(e.operands.begin(), e.operands.end(), [](const ExprPtr& operand) { return is_total(*operand); });
}

} // namespace

// A chain `a and b and c` is gone through from its first operand, so that each is learnt from once.
static ExprPtr short_circuit(Context& cx, const ast::Expr& e, const ast::Binary& b) {
  std::vector<const ast::Expr*> chain{&e}; // from the whole to its first pair
  while (auto* inner = ast::as<ast::Binary>(ast::as<ast::Binary>(chain.back())->left)) {
    if (inner->op != b.op) break;
    chain.push_back(ast::as<ast::Binary>(chain.back())->left);
  }
  auto mark = cx.function->facts;
  ExprPtr result = check_value(cx, ast::as<ast::Binary>(chain.back())->left);
  bool scalars = result->type.is_scalar(); // otherwise all operands are computed, whatever the others are
  if (scalars) learn_condition(cx, *result, b.op == ast::BinaryOp::And);
  for (auto pair = chain.rbegin(); pair != chain.rend() && !result->type.is_error(); ++pair) {
    auto before = cx.function->current;
    bool was_reachable = cx.function->reachable;
    ExprPtr right = check_value(cx, ast::as<ast::Binary>(*pair)->right);
    scalars = scalars && right->type.is_scalar();
    if (scalars) learn_condition(cx, *right, b.op == ast::BinaryOp::And);
    result = join_conditions(cx, b.op, std::move(result), std::move(right), (*pair)->span);
    auto* branches = result->get_if<typed::IfExpr>();
    if (!branches) continue;
    // Two ways meet here: one past the right side, one through it.
    std::vector<std::map<VarId, Type>> ways{std::move(before)};
    if (cx.function->reachable) ways.push_back(cx.function->current);
    (b.op == ast::BinaryOp::And ? branches->then_block : branches->else_block).diverges = !cx.function->reachable;
    branches->joins = join_variables(cx, std::move(ways), (*pair)->span);
    cx.function->reachable = was_reachable;
  }
  cx.function->facts = mark;
  return result;
}

static ExprPtr join_conditions(Context& cx, ast::BinaryOp op, ExprPtr left, ExprPtr right, Span span) {
  bool is_and = op == ast::BinaryOp::And;
  std::string what = is_and ? "`and`" : "`or`";
  std::vector<ExprPtr> operands;
  bool scalars = left->type.is_scalar() && right->type.is_scalar();
  if (!scalars || is_total(*right)) {
    operands.push_back(std::move(left));
    operands.push_back(std::move(right));
    return scalar_node(cx, is_and ? ScalarOp::And : ScalarOp::Or, std::move(operands), span, what);
  }
  for (const auto* side : {&left, &right})
    if (cx.open.resolved((*side)->type).dtype != DType::Bool) {
      error(cx, "TypeMismatch", (*side)->span,
            fmt::format("{} takes bools, and this is {}", what, show(cx, (*side)->type)),
            fmt::format("write `{} != 0`", source_text(cx, (*side)->span)), {label_of(cx, **side)});
      return broken(span);
    }
  auto node = make_expr(typed::IfExpr{}, span, Type::scalar(DType::Bool));
  node->operands.push_back(std::move(left));
  auto& branches = node->as<typed::IfExpr>();
  branches.then_block.result = is_and ? std::move(right) : bool_value(true, span);
  branches.else_block.result = is_and ? bool_value(false, span) : std::move(right);
  return node;
}

ExprPtr check_power(Context& cx, ExprPtr base, const ast::Expr* exponent, Span span, Span op_span) {
  if (refresh(cx, *base).is_struct())
    return struct_op(cx, ast::BinaryOp::Power, std::move(base), check_value(cx, exponent), span, op_span);
  auto* small = ast::as<ast::IntLiteral>(exponent);
  if (small && small->value >= 2 && small->value <= 4 && refresh(cx, *base).is_tensor()) {
    typed::Block block;
    ExprPtr x = shared(cx, std::move(base), block);
    ExprPtr product = copy_simple(*x);
    for (uint64_t i = 1; i < small->value; ++i) {
      std::vector<ExprPtr> factors;
      factors.push_back(std::move(product));
      factors.push_back(copy_simple(*x));
      product = scalar_node(cx, ScalarOp::Mul, std::move(factors), span, "`**`");
      if (product->type.is_error()) return product;
    }
    return in_block(std::move(block), std::move(product), span);
  }
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(base));
  operands.push_back(check_value(cx, exponent));
  return scalar_node(cx, ScalarOp::Pow, std::move(operands), span, fmt::format("`{}`", source_text(cx, span)));
}

ExprPtr check_binary(Context& cx, const ast::Expr& e, const ast::Binary& b, const Type* expected) {
  if (b.op == ast::BinaryOp::And || b.op == ast::BinaryOp::Or) return short_circuit(cx, e, b);
  if (b.op == ast::BinaryOp::Power)
    return check_power(cx, check_value(cx, b.left, expected), b.right, e.span, b.op_span);
  const bool compares = b.op == ast::BinaryOp::Equal || b.op == ast::BinaryOp::NotEqual;
  Type of_right;
  if (compares && ast::as<ast::ListLiteral>(b.left) && !ast::as<ast::ListLiteral>(b.right)) {
    const Snapshot before = snapshot(cx);
    of_right = check_expr(cx, b.right)->type;
    rollback(cx, before);
  }
  const Type* of_left = of_right.is_list() ? &of_right : expected && expected->is_list() ? expected : nullptr;
  ExprPtr left = check_value(cx, b.left, of_left);
  // xs + [x] joins lists, xs == [x] compares them
  Type list = refresh(cx, *left);
  if (list.is_list() && !list.elements.empty()) // of any sizes
    list = list_of(cx, list.elements[0], [](const Size&) { return true; });
  const bool takes_lists = compares || b.op == ast::BinaryOp::Add;
  ExprPtr right = check_value(cx, b.right, list.is_list() && takes_lists ? &list : nullptr);
  return binary_op(cx, b.op, std::move(left), std::move(right), e.span, b.op_span);
}

std::optional<ScalarOp> scalar_op_of(ast::BinaryOp op) {
  static const std::map<ast::BinaryOp, ScalarOp> ops = {{ast::BinaryOp::Add, ScalarOp::Add},
                                                        {ast::BinaryOp::Subtract, ScalarOp::Sub},
                                                        {ast::BinaryOp::Multiply, ScalarOp::Mul},
                                                        {ast::BinaryOp::Divide, ScalarOp::Div},
                                                        {ast::BinaryOp::FloorDivide, ScalarOp::FloorDiv},
                                                        {ast::BinaryOp::Remainder, ScalarOp::Mod},
                                                        {ast::BinaryOp::Power, ScalarOp::Pow},
                                                        {ast::BinaryOp::Equal, ScalarOp::Eq},
                                                        {ast::BinaryOp::NotEqual, ScalarOp::Ne},
                                                        {ast::BinaryOp::Less, ScalarOp::Lt},
                                                        {ast::BinaryOp::LessEqual, ScalarOp::Le},
                                                        {ast::BinaryOp::Greater, ScalarOp::Gt},
                                                        {ast::BinaryOp::GreaterEqual, ScalarOp::Ge},
                                                        {ast::BinaryOp::And, ScalarOp::And},
                                                        {ast::BinaryOp::Or, ScalarOp::Or}};
  auto found = ops.find(op);
  return found == ops.end() ? std::nullopt : std::optional(found->second);
}

ExprPtr binary_op(Context& cx, ast::BinaryOp op, ExprPtr a, ExprPtr b, Span span, Span op_span) {
  refresh(cx, *a);
  refresh(cx, *b);
  if (a->type.is_error() || b->type.is_error()) return broken(span);
  std::string what =
      span.length() <= 40 ? fmt::format("`{}`", source_text(cx, span)) : fmt::format("`{}`", ast::symbol(op));
  if (what.find('\n') != std::string::npos) what = fmt::format("`{}`", ast::symbol(op));
  if (op == ast::BinaryOp::Add && a->type.is_str() && b->type.is_str()) {
    auto text = new_interp(span);
    append_value(cx, *text, std::move(a), "", span);
    append_value(cx, *text, std::move(b), "", span);
    return finish_interp(std::move(text));
  }
  bool compares = op == ast::BinaryOp::Equal || op == ast::BinaryOp::NotEqual;
  auto has_parts = [](const typed::Expr& e) { return e.type.is_list() || e.type.is_aggregate(); };
  if (compares && has_parts(*a) && has_parts(*b))
    return equality(cx, op == ast::BinaryOp::Equal, std::move(a), std::move(b), span);
  if (a->type.is_list() || b->type.is_list()) {
    if (op == ast::BinaryOp::Add) return list_concat(cx, std::move(a), std::move(b), span);
    error(cx, "TypeMismatch", span, fmt::format("`{}` does not work on lists", ast::symbol(op)),
          compares ? "a list is compared with a list, which `list(…)` makes"
                   : fmt::format("`list(… for x in {})` makes a list of results",
                                 source_text(cx, (a->type.is_list() ? a : b)->span)),
          {label_of(cx, *a), label_of(cx, *b)});
    return broken(span);
  }
  if (a->type.is_str() || b->type.is_str()) {
    switch (op) {
    case ast::BinaryOp::Equal:
    case ast::BinaryOp::NotEqual:
    case ast::BinaryOp::Less:
    case ast::BinaryOp::LessEqual:
    case ast::BinaryOp::Greater:
    case ast::BinaryOp::GreaterEqual: return text_compare(cx, op, std::move(a), std::move(b), span);
    case ast::BinaryOp::Multiply: {
      if (b->type.is_str()) std::swap(a, b);
      if (!b->type.is_scalar() || (!b->type.open && !is_int(b->type.dtype))) break;
      std::vector<ExprPtr> operands;
      operands.push_back(std::move(a));
      operands.push_back(to_i64(cx, std::move(b), "a count"));
      return text_node(cx, TextOp::Repeat, std::move(operands), span);
    }
    default: break;
    }
  }
  if (a->type.is_struct() || b->type.is_struct()) return struct_op(cx, op, std::move(a), std::move(b), span, op_span);
  if (op == ast::BinaryOp::MatrixMultiply) return check_matmul(cx, std::move(a), std::move(b), span, what);
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(a));
  operands.push_back(std::move(b));
  return scalar_node(cx, *scalar_op_of(op), std::move(operands), span, what);
}

// What to write for a factor that fits if it is transposed: `y` of `y.T`.
static std::string without_transpose(const std::string& factor, const char* which) {
  if (!factor.ends_with(".T")) return fmt::format("transpose the {}: `{}.T`", which, factor);
  return fmt::format("the {} as it is: `{}`", which, factor.substr(0, factor.size() - 2));
}

ExprPtr check_matmul(Context& cx, ExprPtr a, ExprPtr b, Span span, const std::string& what) {
  for (auto* side : {&a, &b}) {
    if (refresh(cx, **side).is_error()) return broken(span);
    if (!(*side)->type.is_tensor() || (*side)->type.rank() == 0) {
      error(cx, "TypeMismatch", (*side)->span,
            fmt::format("{} multiplies matrices and vectors, not {}", what, show(cx, (*side)->type)),
            (*side)->type.is_scalar() ? "a scalar scales with `*`" : "", {label_of(cx, *a), label_of(cx, *b)});
      return broken(span);
    }
  }
  std::vector<ExprPtr> both;
  both.push_back(std::move(a));
  both.push_back(std::move(b));
  if (!same_element(cx, both, 0, what, span)) return broken(span);
  typed::Expr &x = *both[0], &y = *both[1];
  if (!x.type.open && !is_num(x.type.dtype) && !is_complex(x.type.dtype)) {
    error(cx, "TypeMismatch", span, fmt::format("{} takes numbers, not {}", what, name_of(x.type.dtype)));
    return broken(span);
  }
  auto node = make_expr(typed::BuiltinExpr{Builtin::Matmul}, span, Type::error());
  const Size inner_a = x.type.shape.back();
  const Size inner_b = y.type.rank() == 1 ? y.type.shape[0] : y.type.shape[y.type.rank() - 2];
  std::string message =
      fmt::format("{} needs equal inner sizes, but the last axis of `{}` is {{0}} and axis {} of `{}` is {{1}}", what,
                  source_text(cx, x.span), y.type.rank() == 1 ? 0 : y.type.rank() - 2, source_text(cx, y.span));
  if (!require_equal(cx, inner_a, inner_b, true, message, span, node->checks)) {
    std::vector<Label> labels{label_of(cx, x), label_of(cx, y)};
    add_origins(cx, inner_a, inner_b, labels);
    std::string hint = equality_hint(cx, inner_a, inner_b);
    if (y.type.rank() >= 2 && compare(cx, inner_a, y.type.shape.back()) == Compare::Equal)
      hint = without_transpose(source_text(cx, y.span), "second");
    else if (x.type.rank() >= 2 && compare(cx, x.type.shape[x.type.rank() - 2], inner_b) == Compare::Equal)
      hint = without_transpose(source_text(cx, x.span), "first");
    error(cx, "ShapeMismatch", span,
          fmt::format("{} needs equal inner sizes, but has {}", what, different(cx, inner_a, inner_b)), hint,
          std::move(labels));
    return broken(span);
  }
  size_t matrix_axes_a = x.type.rank() == 1 ? 1 : 2, matrix_axes_b = y.type.rank() == 1 ? 1 : 2;
  std::vector<Size> shape;
  if (x.type.rank() > matrix_axes_a && y.type.rank() > matrix_axes_b) {
    std::vector<typed::Expr*> raw{&x, &y};
    auto leading = broadcast(cx, raw, what, span, node->checks, 2);
    if (!leading) return broken(span);
    shape = *leading;
  } else {
    const typed::Expr& wide = x.type.rank() > matrix_axes_a ? x : y;
    size_t matrix_axes = &wide == &x ? matrix_axes_a : matrix_axes_b;
    shape.assign(wide.type.shape.begin(), wide.type.shape.end() - static_cast<ptrdiff_t>(matrix_axes));
  }
  if (matrix_axes_a == 2) shape.push_back(x.type.shape[x.type.rank() - 2]);
  if (matrix_axes_b == 2) shape.push_back(y.type.shape.back());
  node->type = cx.open.resolved(x.type);
  node->type.shape = std::move(shape);
  node->operands = std::move(both);
  return node;
}

} // namespace tl::checker
