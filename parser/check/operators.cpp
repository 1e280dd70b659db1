// Operators: elementwise with broadcasting, `and` and `or`, `**`, `@`; what to say when types don't go together.
#include "parser/check/context.h"
#include <fmt/format.h>

namespace tl::checker {

bool Checker::is_made_here() const {
  const FunctionInfo* info = ctx_->instance.valid() ? states_[ctx_->instance.index].info : nullptr;
  const ast::Expr* body = info ? info->decl->body.expression : nullptr;
  return body && body->span == info->decl->name.span;
}

// How `from` becomes a `to`, without losing anything where there is a way. `target`: the variable that takes it.
std::string Checker::conversion_hint(const typed::Expr& from, const Type& to, const typed::Expr* target) {
  const Type given = resolved(from.type), wanted = resolved(to);
  const std::string source = text(from.span);
  if (!given.is_tensor() || !wanted.is_tensor() || source.starts_with("|") || is_made_here()) return "";
  if (!has_zero(given.dtype) || !has_zero(wanted.dtype)) return "";
  // A variable whose literal nothing gave a type: it is declared with one, rather than converted afterwards.
  auto declared = [&](const typed::Expr* e) {
    auto found = e && e->kind == ExprKind::Variable ? open_at_first_.find(e->var) : open_at_first_.end();
    return found == open_at_first_.end() ? std::string() : found->second;
  };
  auto declaration = [&](const typed::Expr& e) {
    const typed::Variable& v = p_.variables[e.var.index];
    return fmt::format("{} {}", v.is_mutable ? "var" : "let", v.name);
  };
  const bool loses = is_float(given.dtype) && !is_float(wanted.dtype);
  if (std::string literal = declared(target); !literal.empty() && loses && given.rank() == 0)
    return fmt::format("make it a float where it is declared: `{}: {} = {}`", declaration(*target),
                       name_of(given.dtype), literal);
  if (std::string literal = declared(&from); !literal.empty() && is_float(given.dtype) && is_float(wanted.dtype))
    return fmt::format("give its type where it is declared: `{}: {} = {}`", declaration(from), name_of(wanted.dtype),
                       literal);
  return fmt::format("write `{}({})` to convert it{}", name_of(wanted.dtype), source,
                     loses ? ", which drops fractions" : "");
}

void Checker::mixed_types(const typed::Expr& a, const typed::Expr& b, const std::string& what, Span span) {
  Type x = resolved(a.type), y = resolved(b.type);
  std::string hint;
  // Convert towards the float, or the wider type.
  bool convert_a = is_float(y.dtype) && !is_float(x.dtype);
  if (is_float(x.dtype) == is_float(y.dtype)) convert_a = tl::size_of(x.dtype) < tl::size_of(y.dtype);
  const typed::Expr& from = convert_a ? a : b;
  const Type& to = convert_a ? y : x;
  if (has_zero(x.dtype) && has_zero(y.dtype)) {
    if (resolved(from.type).open && from.kind == ExprKind::Literal)
      hint = fmt::format("write the literal as {}", is_float(to.dtype) ? "a float" : "an integer");
    else
      hint = conversion_hint(from, to);
  }
  std::vector<Label> labels{label(a), label(b)};
  error("MixedTypes", span, fmt::format("{} mixes {} and {}", what, name_of(x.dtype), name_of(y.dtype)), hint,
        std::move(labels));
}

// One element type for operands first, first + 1, …
bool Checker::same_element(std::vector<ExprPtr>& operands, size_t first, const std::string& what, Span span) {
  for (size_t i = first + 1; i < operands.size(); ++i) {
    if (!unify(operands[first]->type, operands[i]->type)) {
      mixed_types(*operands[first], *operands[i], what, span);
      return false;
    }
  }
  for (auto& operand : operands)
    refresh(*operand);
  return true;
}

ExprPtr Checker::scalar_node(ScalarOp op, std::vector<ExprPtr> operands, Span span, const std::string& what) {
  for (auto& operand : operands) {
    refresh(*operand);
    if (operand->type.is_error()) return broken(span);
    if (!operand->type.is_tensor()) {
      std::string hint;
      if (operand->type.is_str()) hint = "text is put together as \"{a}{b}\"";
      if (operand->type.is_struct()) hint = "`map(f, p)` works on each leaf of a struct";
      error("TypeMismatch", operand->span,
            fmt::format("{} works on numbers and tensors, not on {}", what, show(operand->type)), hint,
            {label(*operand)});
      return broken(span);
    }
  }
  TypeRule rule = info(op).rule;
  auto expects = [&](size_t i, const std::string& wanted, const std::string& hint) {
    error("TypeMismatch", operands[i]->span,
          fmt::format("{} takes {}, and `{}` is {}", what, wanted, text(operands[i]->span), show(operands[i]->type)),
          hint, {label(*operands[i])});
    return broken(span);
  };
  size_t first = rule == TypeRule::Select ? 1 : 0; // the operands of one element type start here
  if (rule == TypeRule::Bits || rule == TypeRule::KeyFold) {
    if (operands[0]->type.dtype != DType::Key) return expects(0, "a key", "");
    if (!unify(operands[1]->type, Type::scalar(DType::I64))) return expects(1, "an i64", "");
    refresh(*operands[1]);
  } else {
    if (rule == TypeRule::Select) {
      settle(*operands[0]);
      if (operands[0]->type.dtype != DType::Bool) return expects(0, "a bool first", "a condition like `x > 0`");
    }
    if (!same_element(operands, first, what, span)) return broken(span);
  }
  const Type element = operands[first]->type;
  switch (rule) {
  case TypeRule::NumSame:
  case TypeRule::OrdBool:
    if (!element.open && !is_num(element.dtype))
      return expects(
          first, "numbers",
          element.dtype == DType::Bool ? fmt::format("`i64({})` counts true as 1", text(operands[first]->span)) : "");
    break;
  case TypeRule::FloatSame:
  case TypeRule::FloatBool:
    if (!constrain_float(element)) {
      std::string hint = fmt::format("write `f32({})` to convert it", text(operands[first]->span));
      if (op == ScalarOp::Div)
        hint = fmt::format("`//` divides integers and rounds down; `f32({})` converts", text(operands[first]->span));
      return expects(first, "floats", hint);
    }
    break;
  case TypeRule::IntSame:
    if (!constrain_int(element)) return expects(first, "integers", "");
    break;
  case TypeRule::BoolSame:
    for (size_t i = 0; i < operands.size(); ++i) {
      settle(*operands[i]);
      if (operands[i]->type.dtype != DType::Bool)
        return expects(i, "bools", fmt::format("write `{} != 0`", text(operands[i]->span)));
    }
    break;
  case TypeRule::EqBool: // keys too
  case TypeRule::Select:
  case TypeRule::Bits:
  case TypeRule::KeyFold: break;
  }
  auto node = make(ExprKind::Scalar, span, Type::error());
  node->scalar_op = op;
  std::vector<typed::Expr*> raw;
  for (auto& operand : operands)
    raw.push_back((refresh(*operand), operand.get()));
  auto shape = broadcast(raw, what, span, node->checks);
  if (!shape) return broken(span);
  Type result = resolved(operands[first]->type);
  if (rule == TypeRule::EqBool || rule == TypeRule::OrdBool || rule == TypeRule::FloatBool)
    result = Type::scalar(DType::Bool);
  if (rule == TypeRule::Bits) result = Type::scalar(DType::I64);
  result.shape = std::move(*shape);
  node->type = std::move(result);
  node->operands = std::move(operands);
  return node;
}

ExprPtr Checker::unary(const ast::Expr& e, const ast::Unary& u, const Type* expected) {
  if (u.op == ast::UnaryOp::Negate) {
    if (auto* node = ast::as<ast::IntLiteral>(u.operand)) return int_literal(node->value, true, e.span);
    if (auto* node = ast::as<ast::FloatLiteral>(u.operand)) return float_literal(node->value, node->text, true, e.span);
  }
  std::vector<ExprPtr> operands;
  operands.push_back(value(u.operand, expected));
  if (u.op == ast::UnaryOp::Negate && operands[0]->kind == ExprKind::Literal && operands[0]->index == 2) { // -inf, -pi
    operands[0]->flag = !operands[0]->flag;
    operands[0]->span = e.span;
    return std::move(operands[0]);
  }
  if (refresh(*operands[0]).is_struct()) return unary_struct(u.op, std::move(operands[0]), e.span);
  return scalar_node(u.op == ast::UnaryOp::Negate ? ScalarOp::Neg : ScalarOp::Not, std::move(operands), e.span,
                     u.op == ast::UnaryOp::Negate ? "`-`" : "`not`");
}

namespace {

// Can it neither fail nor cost more than a few instructions?
bool is_total(const typed::Expr& e) {
  switch (e.kind) {
  case ExprKind::Literal:
  case ExprKind::SizeValue:
  case ExprKind::Variable: return true;
  case ExprKind::Scalar:
    if (e.scalar_op == ScalarOp::FloorDiv || e.scalar_op == ScalarOp::Mod || e.scalar_op == ScalarOp::Pow ||
        !e.checks.empty())
      return false;
    break;
  case ExprKind::Convert: break;
  default: return false;
  }
  for (const auto& operand : e.operands)
    if (!is_total(*operand)) return false;
  return true;
}

} // namespace

// A chain `a and b and c` is gone through from its first operand, so that each is learnt from once.
ExprPtr Checker::short_circuit(const ast::Expr& e, const ast::Binary& b) {
  std::vector<const ast::Expr*> chain{&e}; // from the whole to its first pair
  while (auto* inner = ast::as<ast::Binary>(ast::as<ast::Binary>(chain.back())->left)) {
    if (inner->op != b.op) break;
    chain.push_back(ast::as<ast::Binary>(chain.back())->left);
  }
  auto mark = ctx_->facts;
  ExprPtr result = value(ast::as<ast::Binary>(chain.back())->left);
  bool scalars = result->type.is_scalar(); // otherwise all operands are computed, whatever the others are
  if (scalars) learn(*result, b.op == ast::BinaryOp::And);
  for (auto pair = chain.rbegin(); pair != chain.rend() && !result->type.is_error(); ++pair) {
    auto before = ctx_->current;
    bool was_reachable = ctx_->reachable;
    ExprPtr right = value(ast::as<ast::Binary>(*pair)->right);
    scalars = scalars && right->type.is_scalar();
    if (scalars) learn(*right, b.op == ast::BinaryOp::And);
    result = join_conditions(b.op, std::move(result), std::move(right), (*pair)->span);
    if (result->kind != ExprKind::If) continue;
    // Two ways meet here: one past the right side, one through it.
    std::vector<std::map<VarId, Type>> ways{std::move(before)};
    if (ctx_->reachable) ways.push_back(ctx_->current);
    result->blocks[b.op == ast::BinaryOp::And ? 0 : 1].diverges = !ctx_->reachable;
    result->joins = join_variables(std::move(ways), (*pair)->span);
    ctx_->reachable = was_reachable;
  }
  ctx_->facts = mark;
  return result;
}

ExprPtr Checker::join_conditions(ast::BinaryOp op, ExprPtr left, ExprPtr right, Span span) {
  bool is_and = op == ast::BinaryOp::And;
  std::string what = is_and ? "`and`" : "`or`";
  std::vector<ExprPtr> operands;
  bool scalars = left->type.is_scalar() && right->type.is_scalar();
  if (!scalars || is_total(*right)) {
    operands.push_back(std::move(left));
    operands.push_back(std::move(right));
    return scalar_node(is_and ? ScalarOp::And : ScalarOp::Or, std::move(operands), span, what);
  }
  for (const auto* side : {&left, &right})
    if (resolved((*side)->type).dtype != DType::Bool) {
      error("TypeMismatch", (*side)->span, fmt::format("{} takes bools, and this is {}", what, show((*side)->type)),
            fmt::format("write `{} != 0`", text((*side)->span)), {label(**side)});
      return broken(span);
    }
  auto node = make(ExprKind::If, span, Type::scalar(DType::Bool));
  node->operands.push_back(std::move(left));
  node->blocks.resize(2);
  node->blocks[is_and ? 0 : 1].result = std::move(right);
  node->blocks[is_and ? 1 : 0].result = literal_bool(!is_and, span);
  return node;
}

ExprPtr Checker::power(ExprPtr base, const ast::Expr* exponent, Span span, Span op_span) {
  if (refresh(*base).is_struct())
    return struct_op(ast::BinaryOp::Power, std::move(base), value(exponent), span, op_span);
  auto* small = ast::as<ast::IntLiteral>(exponent);
  if (small && small->value >= 2 && small->value <= 4 && refresh(*base).is_tensor()) {
    typed::Block block;
    ExprPtr x = shared(std::move(base), block);
    ExprPtr product = copy_simple(*x);
    for (uint64_t i = 1; i < small->value; ++i) {
      std::vector<ExprPtr> factors;
      factors.push_back(std::move(product));
      factors.push_back(copy_simple(*x));
      product = scalar_node(ScalarOp::Mul, std::move(factors), span, "`**`");
      if (product->type.is_error()) return product;
    }
    if (block.statements.empty()) return product;
    auto node = make(ExprKind::Block, span, product->type);
    block.result = std::move(product);
    node->blocks.push_back(std::move(block));
    return node;
  }
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(base));
  operands.push_back(value(exponent));
  return scalar_node(ScalarOp::Pow, std::move(operands), span, fmt::format("`{}`", text(span)));
}

ExprPtr Checker::binary(const ast::Expr& e, const ast::Binary& b, const Type* expected) {
  if (b.op == ast::BinaryOp::And || b.op == ast::BinaryOp::Or) return short_circuit(e, b);
  if (b.op == ast::BinaryOp::Power) return power(value(b.left, expected), b.right, e.span, b.op_span);
  ExprPtr left = value(b.left, expected && expected->is_list() ? expected : nullptr);
  // xs + [x] joins lists
  Type list = refresh(*left);
  if (list.is_list() && !list.elements.empty()) // of any sizes
    list = list_of(list.elements[0], [](const Size&) { return true; });
  ExprPtr right = value(b.right, list.is_list() && b.op == ast::BinaryOp::Add ? &list : nullptr);
  return binary_op(b.op, std::move(left), std::move(right), e.span, b.op_span);
}

ExprPtr Checker::binary_op(ast::BinaryOp op, ExprPtr a, ExprPtr b, Span span, Span op_span) {
  refresh(*a);
  refresh(*b);
  if (a->type.is_error() || b->type.is_error()) return broken(span);
  std::string what = span.length() <= 40 ? fmt::format("`{}`", text(span)) : fmt::format("`{}`", ast::symbol(op));
  if (what.find('\n') != std::string::npos) what = fmt::format("`{}`", ast::symbol(op));
  if (op == ast::BinaryOp::Add && a->type.is_str() && b->type.is_str()) {
    auto text = new_interp(span);
    append_value(*text, std::move(a), "", span);
    append_value(*text, std::move(b), "", span);
    return finish_interp(std::move(text));
  }
  bool compares = op == ast::BinaryOp::Equal || op == ast::BinaryOp::NotEqual;
  auto has_parts = [](const typed::Expr& e) { return e.type.is_list() || e.type.is_aggregate(); };
  if (compares && has_parts(*a) && has_parts(*b))
    return equality(op == ast::BinaryOp::Equal, std::move(a), std::move(b), span);
  if (a->type.is_list() || b->type.is_list()) {
    if (op == ast::BinaryOp::Add) return list_concat(std::move(a), std::move(b), span);
    error("TypeMismatch", span, fmt::format("`{}` does not work on lists", ast::symbol(op)),
          compares
              ? "a list is compared with a list"
              : fmt::format("`list(… for x in {})` makes a list of results", text((a->type.is_list() ? a : b)->span)),
          {label(*a), label(*b)});
    return broken(span);
  }
  if (a->type.is_str() || b->type.is_str()) {
    switch (op) {
    case ast::BinaryOp::Equal:
    case ast::BinaryOp::NotEqual:
    case ast::BinaryOp::Less:
    case ast::BinaryOp::LessEqual:
    case ast::BinaryOp::Greater:
    case ast::BinaryOp::GreaterEqual: return text_compare(op, std::move(a), std::move(b), span);
    case ast::BinaryOp::Multiply: {
      if (b->type.is_str()) std::swap(a, b);
      if (!b->type.is_scalar() || (!b->type.open && !is_int(b->type.dtype))) break;
      std::vector<ExprPtr> operands;
      operands.push_back(std::move(a));
      operands.push_back(to_i64(std::move(b), "a count"));
      return text_node(TextOp::Repeat, std::move(operands), span);
    }
    default: break;
    }
  }
  if (a->type.is_struct() || b->type.is_struct()) return struct_op(op, std::move(a), std::move(b), span, op_span);
  if (op == ast::BinaryOp::MatrixMultiply) return matmul(std::move(a), std::move(b), span, what);
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
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(a));
  operands.push_back(std::move(b));
  return scalar_node(ops.at(op), std::move(operands), span, what);
}

ExprPtr Checker::matmul(ExprPtr a, ExprPtr b, Span span, const std::string& what) {
  for (auto* side : {&a, &b}) {
    if (refresh(**side).is_error()) return broken(span);
    if (!(*side)->type.is_tensor() || (*side)->type.rank() == 0) {
      error("TypeMismatch", (*side)->span,
            fmt::format("{} multiplies matrices and vectors, not {}", what, show((*side)->type)),
            (*side)->type.is_scalar() ? "a scalar scales with `*`" : "", {label(*a), label(*b)});
      return broken(span);
    }
  }
  std::vector<ExprPtr> both;
  both.push_back(std::move(a));
  both.push_back(std::move(b));
  if (!same_element(both, 0, what, span)) return broken(span);
  typed::Expr &x = *both[0], &y = *both[1];
  if (!x.type.open && !is_num(x.type.dtype)) {
    error("TypeMismatch", span, fmt::format("{} takes numbers, not {}", what, name_of(x.type.dtype)));
    return broken(span);
  }
  auto node = make(ExprKind::Builtin, span, Type::error());
  node->builtin = Builtin::Matmul;
  const Size inner_a = x.type.shape.back();
  const Size inner_b = y.type.rank() == 1 ? y.type.shape[0] : y.type.shape[y.type.rank() - 2];
  std::string message =
      fmt::format("{} needs equal inner sizes, but the last axis of `{}` is {{0}} and axis {} of `{}` is {{1}}", what,
                  text(x.span), y.type.rank() == 1 ? 0 : y.type.rank() - 2, text(y.span));
  if (!require_equal(inner_a, inner_b, true, message, span, node->checks)) {
    std::vector<Label> labels{label(x), label(y)};
    add_origins(inner_a, inner_b, labels);
    std::string hint = equality_hint(inner_a, inner_b);
    if (y.type.rank() >= 2 && compare(inner_a, y.type.shape.back()) == Compare::Equal)
      hint = fmt::format("transpose the second: `{}.T`", text(y.span));
    else if (x.type.rank() >= 2 && compare(x.type.shape[x.type.rank() - 2], inner_b) == Compare::Equal)
      hint = fmt::format("transpose the first: `{}.T`", text(x.span));
    error("ShapeMismatch", span,
          fmt::format("{} needs equal inner sizes, but has {}", what, different(inner_a, inner_b)), hint,
          std::move(labels));
    return broken(span);
  }
  size_t matrix_axes_a = x.type.rank() == 1 ? 1 : 2, matrix_axes_b = y.type.rank() == 1 ? 1 : 2;
  std::vector<Size> shape;
  if (x.type.rank() > matrix_axes_a && y.type.rank() > matrix_axes_b) {
    std::vector<typed::Expr*> raw{&x, &y};
    auto leading = broadcast(raw, what, span, node->checks, 2);
    if (!leading) return broken(span);
    shape = *leading;
  } else {
    const typed::Expr& wide = x.type.rank() > matrix_axes_a ? x : y;
    size_t matrix_axes = &wide == &x ? matrix_axes_a : matrix_axes_b;
    shape.assign(wide.type.shape.begin(), wide.type.shape.end() - static_cast<ptrdiff_t>(matrix_axes));
  }
  if (matrix_axes_a == 2) shape.push_back(x.type.shape[x.type.rank() - 2]);
  if (matrix_axes_b == 2) shape.push_back(y.type.shape.back());
  node->type = resolved(x.type);
  node->type.shape = std::move(shape);
  node->operands = std::move(both);
  return node;
}

} // namespace tl::checker
