// The rules of built-in functions that make tensors: zeros, ones, arange, linspace, random ones.
#include "parser/check/builtins/builders.h"
#include "parser/check/builtins/join.h"
#include "parser/check/builtins/rules.h"
#include "parser/check/builtins/shape.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/sizes.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

// 0 or 1 of that element type, even bool.
static ExprPtr builder_number(Context& cx, uint64_t value, const Type& type, Span span) {
  auto e = int_literal(cx, value, false, span);
  e->type = cx.open.element_of(type);
  e->as<typed::LiteralExpr>().is_fill = true;
  return e;
}

static ExprPtr builder_node(Builtin builtin, Span span) {
  auto node = make_expr(typed::BuiltinExpr{builtin}, span, Type::error());
  return node;
}

// zeros and ones.
static ExprPtr filled_rule(Context& cx, Rule& r) {
  const Builtin builtin = r.builtin;
  if (r.args.size() > 1 && r.args[1].name.empty() && r.args[1].source && ast::as<ast::IntLiteral>(r.args[1].source)) {
    std::string sizes;
    for (const Arg& arg : r.args)
      if (arg.name.empty() && arg.source) sizes += (sizes.empty() ? "" : ", ") + source_text(cx, arg.source->span);
    r.fail("TypeMismatch", r.span, fmt::format("the sizes of `{}` are written in brackets", r.name),
           fmt::format("write `{}([{}])`", r.name, sizes));
    return nullptr;
  }
  if (!r.bind()) return nullptr;
  auto node = builder_node(Builtin::Full, r.span);
  auto sizes = dims(cx, r.by[0]->source, *node, r.name);
  if (!sizes) return nullptr;
  auto element = r.element(1);
  if (!r.ok) return nullptr;
  if (element == DType::Key) {
    r.fail("TypeMismatch", r.by[1]->span, "keys are made by `key` and `split`");
    return nullptr;
  }
  node->type = element ? Type::scalar(*element) : cx.open.new_open(LiteralKind::Builder);
  node->operands.push_back(builder_number(cx, builtin == Builtin::Ones, node->type, r.span));
  node->type.shape = std::move(*sizes);
  return node;
}

// zeros_like and ones_like.
static ExprPtr filled_like_rule(Context& cx, Rule& r) {
  const Builtin builtin = r.builtin;
  if (!r.bind()) return nullptr;
  ExprPtr x = r.tensor(0);
  if (!r.ok) return nullptr;
  auto node = builder_node(Builtin::Full, r.span);
  node->type = x->type;
  node->operands.push_back(builder_number(cx, builtin == Builtin::OnesLike, node->type, r.span));
  typed::Block before; // the sizes may be known only with the value
  node->operands.push_back(shared(cx, std::move(x), before));
  return in_block(std::move(before), std::move(node), r.span);
}

static ExprPtr full_rule(Context& cx, Rule& r) {
  if (!r.bind()) return nullptr;
  auto node = builder_node(Builtin::Full, r.span);
  auto sizes = dims(cx, r.by[0]->source, *node, r.name);
  ExprPtr fill = r.value(1);
  auto element = r.element(2);
  if (!sizes || !r.ok) return nullptr;
  if (!fill->type.is_scalar()) {
    r.fail("TypeMismatch", fill->span, fmt::format("`full` repeats one number, not {}", show(cx, fill->type)));
    return nullptr;
  }
  if (element && !cx.open.unify(fill->type, Type::scalar(*element))) fill = convert(cx, std::move(fill), *element);
  node->type = refresh(cx, *fill);
  node->type.shape = std::move(*sizes);
  node->operands.push_back(std::move(fill));
  return node;
}

static ExprPtr eye_rule(Context& cx, Rule& r) {
  if (!r.bind()) return nullptr;
  auto node = builder_node(Builtin::Eye, r.span);
  ExprPtr count = r.value(0);
  auto element = r.element(1);
  if (!r.ok) return nullptr;
  size_t errors = cx.function->reports.size();
  Size n = size_argument(cx, std::move(count), *node, true, "a size");
  if (cx.function->reports.size() != errors) return nullptr;
  node->type = element ? Type::scalar(*element) : cx.open.new_open(LiteralKind::Builder);
  node->type.shape = {n, n};
  return node;
}

static ExprPtr linspace_rule(Context& cx, Rule& r) {
  if (!r.bind()) return nullptr;
  auto node = builder_node(Builtin::Linspace, r.span);
  ExprPtr lo = r.value(0), hi = r.value(1), count = r.value(2);
  auto element = r.element(3);
  if (!r.ok) return nullptr;
  Type type = element ? Type::scalar(*element) : cx.open.new_open(LiteralKind::Float);
  for (auto* end : {&lo, &hi})
    if (!(*end)->type.is_scalar() || !cx.open.unify(type, (*end)->type) || !cx.open.constrain_float(type)) {
      r.fail("TypeMismatch", (*end)->span,
             fmt::format("`linspace` goes between floats, not {}", show(cx, (*end)->type)),
             fmt::format("write `{}({})`", usual_float(cx), source_text(cx, (*end)->span)));
      return nullptr;
    }
  size_t errors = cx.function->reports.size();
  Size n = size_argument(cx, std::move(count), *node, true, "a size");
  if (cx.function->reports.size() != errors) return nullptr;
  node->type = cx.open.resolved(type);
  node->type.shape = {n};
  node->operands.push_back(std::move(lo));
  node->operands.push_back(std::move(hi));
  return node;
}

static ExprPtr range_rule(Context& cx, Rule& r) {
  if (!r.bind()) return nullptr;
  auto node = make_expr(typed::RangeExpr{}, r.span, Type::error());
  size_t errors = cx.function->reports.size();
  std::vector<Size> ends;
  for (size_t i = 0; i < 3; ++i)
    if (r.has(i)) ends.push_back(size_argument(cx, r.value(i), *node, false, i == 2 ? "a step" : "the end of a range"));
  if (cx.function->reports.size() != errors || !r.ok) return nullptr;
  if (ends.size() == 1) ends.insert(ends.begin(), Size(0));
  if (ends.size() == 2) ends.push_back(1);
  if (ends[2].is(0)) {
    r.fail("WrongArguments", r.by[2]->span, "the step of a range cannot be 0");
    return nullptr;
  }
  node->type = Type::range(ends[0], ends[1], ends[2]);
  return node;
}

namespace {

// The arguments of arange(stop), arange(start, stop), arange(start, stop, step).
struct ArangeArguments {
  std::vector<ExprPtr> ends;    // start, stop, step
  bool whole = true;            // all are integers
  std::optional<DType> element; // given, or the integers' own
};

std::optional<ArangeArguments> read_arange(Context& cx, Rule& r) {
  if (!r.bind()) return std::nullopt;
  if (r.overload == 0) r.by.insert(r.by.begin() + 1, 2, nullptr); // arange(stop): as if `stop` stood first
  ArangeArguments a;
  a.element = r.element(3);
  if (!r.ok) return std::nullopt;
  std::vector<ExprPtr>& ends = a.ends;
  for (size_t i = 0; i < 3; ++i)
    if (r.has(i)) ends.push_back(r.value(i));
  if (!r.ok) return std::nullopt;
  if (ends.size() == 1) ends.insert(ends.begin(), int_literal(cx, 0, false, r.span));
  if (ends.size() == 2) ends.push_back(int_literal(cx, 1, false, r.span));
  for (auto& end : ends) {
    if (!end->type.is_scalar() || (!end->type.open && !is_num(end->type.dtype))) {
      r.fail("TypeMismatch", end->span, fmt::format("`arange` goes between numbers, not {}", show(cx, end->type)));
      return std::nullopt;
    }
    // Of the type of its arguments; what is computed from sizes, which are i64, is of the type that the context wants.
    Type type = cx.open.resolved(end->type);
    a.whole = a.whole && is_int(type.dtype);
    if (!r.has(3) && !type.open && is_int(type.dtype) && type.dtype != DType::I64) a.element = type.dtype;
  }
  return a;
}

// Of integers: the count is a size; start and step are literals of whatever type the context wants, unless they are
// values.
ExprPtr arange_of_integers(Context& cx, Rule& r, ArangeArguments a) {
  auto node = builder_node(Builtin::Arange, r.span);
  Type type = a.element ? Type::scalar(*a.element) : cx.open.new_open(LiteralKind::Int);
  size_t errors = cx.function->reports.size();
  ExprPtr start = a.ends[0]->is<typed::LiteralExpr>() ? copy_simple(*a.ends[0]) : nullptr;
  ExprPtr step = a.ends[2]->is<typed::LiteralExpr>() ? copy_simple(*a.ends[2]) : nullptr;
  Size lo = size_argument(cx, std::move(a.ends[0]), *node, false, "the start"),
       hi = size_argument(cx, std::move(a.ends[1]), *node, false, "the end");
  Size stride = size_argument(cx, std::move(a.ends[2]), *node, false, "the step");
  if (cx.function->reports.size() != errors) return nullptr;
  if (stride.is(0)) {
    r.fail("WrongArguments", r.span, "the step of `arange` cannot be 0");
    return nullptr;
  }
  Size count;
  if (stride.is_constant()) {
    int64_t by = stride.constant();
    Size distance = cx.program.atoms.positive(by > 0 ? hi - lo : lo - hi, sure_facts(cx));
    count = steps_within(cx, distance, by);
  } else
    count = cx.program.atoms.positive(Size(0) - cx.program.atoms.floor_div(lo - hi, stride), sure_facts(cx));
  if (!start || !step) (void)cx.open.unify(type, Type::scalar(DType::I64));
  auto as_operand = [&](ExprPtr value, const Size& size) {
    if (!value) {
      ExprPtr number = size_expr(size, r.span);
      return a.element ? convert(cx, std::move(number), *a.element) : std::move(number);
    }
    value->type = cx.open.element_of(type);
    value->as<typed::LiteralExpr>().form = LiteralForm::Int;
    return value;
  };
  node->operands.push_back(as_operand(std::move(start), lo));
  node->operands.push_back(as_operand(std::move(step), stride));
  node->type = cx.open.resolved(type);
  node->type.shape = {count};
  return node;
}

// Expressions that compute how many floats an `arange` has.
struct FloatCount {
  Context& cx;
  Span span;
  typed::Block& before;

  template <typename... Operands> ExprPtr operation(ScalarOp op, Operands... operands) {
    std::vector<ExprPtr> list;
    (list.push_back(std::move(operands)), ...);
    return scalar_node(cx, op, std::move(list), span, "`arange`");
  }
  ExprPtr to_integer(ExprPtr value) {
    auto count = make_expr(typed::ConvertExpr{}, span, Type::scalar(DType::I64));
    count->operands.push_back(std::move(value));
    return count;
  }
  ExprPtr zero() { return float_literal(cx, 0, "0.0", false, span); }
  // ceil((stop - start) / step)
  ExprPtr quotient(const ArangeArguments& a) {
    ExprPtr distance = operation(ScalarOp::Sub, copy_simple(*a.ends[1]), copy_simple(*a.ends[0]));
    ExprPtr exact = operation(ScalarOp::Div, std::move(distance), copy_simple(*a.ends[2]));
    return shared(cx, operation(ScalarOp::Ceil, std::move(exact)), before);
  }
};

bool is_zero_literal(const typed::Expr& e) {
  const auto* literal = e.get_if<typed::LiteralExpr>();
  if (!literal) return false;
  return literal->form == LiteralForm::Int ? literal->value.bits == 0 : literal->value.as<double>() == 0;
}

// Of floats: the count is ceil((stop - start) / step), which only the run tells. The arguments have one type.
ExprPtr arange_of_floats(Context& cx, Rule& r, ArangeArguments a) {
  auto node = builder_node(Builtin::Arange, r.span);
  typed::Block before;
  for (ExprPtr& end : a.ends) {
    if (!cx.open.constrain_float(end->type)) return nullptr;
    end = shared(cx, std::move(end), before);
  }
  if (is_zero_literal(*a.ends[2])) {
    r.fail("WrongArguments", r.span, "the step of `arange` cannot be 0");
    return nullptr;
  }
  FloatCount make{cx, r.span, before};
  ExprPtr quotient = make.quotient(a);
  ExprPtr finite = shared(cx, make.operation(ScalarOp::IsFinite, copy_simple(*quotient)), before);
  ExprPtr count = make.operation(ScalarOp::Max, copy_simple(*quotient), make.zero());
  count = make.operation(ScalarOp::Where, copy_simple(*finite), std::move(count), make.zero());
  Size n = size_argument(cx, make.to_integer(std::move(count)), *node, true, "a size");
  node->checks.clear(); // not negative by construction
  Size is_finite = size_argument(cx, make.to_integer(std::move(finite)), *node, false, "");
  SizeCheck check = size_check(cx, is_finite, 1, "the step of `arange` cannot be 0, and its ends are finite", r.span);
  check.relation = SizeCheck::Relation::AtLeast;
  check.kind = "WrongArguments";
  check.notes.clear();
  node->checks.push_back(std::move(check));
  node->type = cx.open.resolved(a.ends[0]->type);
  node->type.shape = {n};
  node->operands.push_back(std::move(a.ends[0]));
  node->operands.push_back(std::move(a.ends[2]));
  return in_block(std::move(before), std::move(node), r.span);
}

ExprPtr arange_rule(Context& cx, Rule& r) {
  auto a = read_arange(cx, r);
  if (!a) return nullptr;
  if (a->whole) return arange_of_integers(cx, r, std::move(*a));
  if (!same_element(cx, a->ends, 0, "`arange`", r.span)) return nullptr;
  if (a->element && !cx.open.unify(a->ends[0]->type, Type::scalar(*a->element))) {
    r.fail("TypeMismatch", r.by[3]->span,
           fmt::format("`arange` of {} does not make {}", show(cx, a->ends[0]->type), name_of(*a->element)));
    return nullptr;
  }
  return arange_of_floats(cx, r, std::move(*a));
}

} // namespace

ExprPtr builder_rule(Context& cx, Rule& r) {
  const Builtin builtin = r.builtin;
  switch (builtin) {
  case Builtin::Zeros:
  case Builtin::Ones: return filled_rule(cx, r);
  case Builtin::ZerosLike:
  case Builtin::OnesLike: return filled_like_rule(cx, r);
  case Builtin::Full: return full_rule(cx, r);
  case Builtin::Eye: return eye_rule(cx, r);
  case Builtin::Linspace: return linspace_rule(cx, r);
  case Builtin::Range: return range_rule(cx, r);
  case Builtin::Arange: return arange_rule(cx, r);
  default: return nullptr;
  }
}

ExprPtr random_rule(Context& cx, Rule& r) {
  const Builtin builtin = r.builtin;
  const Type* expected = r.expected;
  auto node = make_expr(typed::BuiltinExpr{builtin}, r.span, Type::scalar(DType::Key));
  if (builtin == Builtin::Key) {
    if (!r.bind()) return nullptr;
    ExprPtr seed = to_i64(cx, r.value(0), "a seed");
    if (seed->type.is_error()) r.ok = false;
    node->operands.push_back(std::move(seed));
    return node;
  }
  if (builtin == Builtin::SplitKey) {
    if (!r.args.empty() && r.args[0].source && r.args.size() >= 1) {
      r.args[0].value = check_value(cx, r.args[0].source);
      Type type = refresh(cx, *r.args[0].value);
      if (type.is_error()) return nullptr;
      if (type.is_str()) return split_text(cx, r);
      if (type.is_tensor() && type.dtype != DType::Key) return split_tensor(cx, r);
    }
    if (!r.bind(r.args.size() > 1 ? 1 : 0)) return nullptr;
    ExprPtr k = r.key(0);
    if (!r.ok) return nullptr;
    if (!r.has(1))
      node->type = Type::tuple({Type::scalar(DType::Key), Type::scalar(DType::Key)});
    else {
      size_t errors = cx.function->reports.size();
      Size n = size_argument(cx, r.value(1), *node, true, "a size");
      if (cx.function->reports.size() != errors) return nullptr;
      node->type.shape = {n};
    }
    node->operands.push_back(std::move(k));
    return node;
  }
  bool range = builtin == Builtin::RandInt, bernoulli = builtin == Builtin::Bernoulli;
  if (!r.bind()) return nullptr;
  ExprPtr k = r.key(0);
  if (!r.ok) return nullptr;
  node->operands.push_back(std::move(k));
  if (bernoulli) {
    ExprPtr p = r.value(1);
    if (!r.ok) return nullptr;
    if (!p->type.is_scalar() || !cx.open.constrain_float(p->type)) {
      r.fail("TypeMismatch", p->span, fmt::format("a probability is a float, not {}", show(cx, p->type)));
      return nullptr;
    }
    node->operands.push_back(std::move(p));
  }
  auto sizes = dims(cx, r.by[bernoulli ? 2 : 1]->source, *node, r.name);
  if (!sizes) return nullptr;
  if (bernoulli) {
    node->type = Type::scalar(DType::Bool);
  } else if (builtin == Builtin::Bits || range) {
    bool wanted = range && expected && expected->is_tensor() && !expected->open && is_int(expected->dtype);
    node->type = Type::scalar(wanted ? expected->dtype : DType::I64);
    for (size_t i = 2; range && i < 4; ++i) {
      ExprPtr end = to_i64(cx, r.value(i), "an end of the range");
      if (end->type.is_error()) r.ok = false;
      node->operands.push_back(std::move(end));
    }
  } else {
    auto element = r.element(builtin == Builtin::Normal ? 2 : 4);
    if (!r.ok) return nullptr;
    Type type = element ? Type::scalar(*element) : cx.open.new_open(LiteralKind::Float);
    if (!cx.open.constrain_float(type)) {
      r.fail("TypeMismatch", r.span, fmt::format("`{}` makes floats", r.name));
      return nullptr;
    }
    for (size_t i = 2; builtin == Builtin::Uniform && i < 4; ++i) {
      ExprPtr end =
          r.has(i) ? r.value(i) : float_literal(cx, i == 2 ? 0.0 : 1.0, i == 2 ? "0.0" : "1.0", false, r.span);
      if (!r.ok) return nullptr;
      if (!end->type.is_scalar() || !cx.open.unify(type, end->type)) {
        r.fail("TypeMismatch", end->span,
               fmt::format("an end of `uniform` is {}, not {}", show(cx, type), show(cx, end->type)));
        return nullptr;
      }
      node->operands.push_back(std::move(end));
    }
    node->type = cx.open.resolved(type);
  }
  node->type.shape = std::move(*sizes);
  return node;
}

} // namespace tl::checker
