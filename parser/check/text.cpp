// Text: comparison, subscripts and the functions of the prelude on it.
#include "parser/check/text.h"
#include "parser/check/arguments.h"
#include "parser/check/builtins/rules.h"
#include "parser/check/expressions.h"
#include "parser/check/lists.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/sizes.h"
#include "parser/check/strings.h"
#include "parser/check/tables.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

ExprPtr text_node(Context& cx, TextOp op, std::vector<ExprPtr> operands, Span span) {
  Type type;
  switch (info(op).result[0]) {
  case 's': type = Type::str(); break;
  case 'l': type = Type::list(Type::str()); break;
  case 'b': type = Type::tensor(DType::U8, {}); break;
  default: type = Type::scalar(DType::I64); break;
  }
  for (const auto& operand : operands)
    if (operand->type.is_error()) return broken(span);
  auto node = make_expr(typed::TextExpr{op}, span, std::move(type));
  node->operands = std::move(operands);
  if (info(op).result == "b") {
    AtomId id = size_atom(cx, AtomKind::Fresh, fmt::format("axis 0 of `{}`", source_text(cx, span)), span);
    node->type.shape = {Size::of(id)};
    node->fresh.push_back({id, {}, 0});
  }
  return node;
}

// a < b as compare(a, b) < 0.
ExprPtr text_compare(Context& cx, ast::BinaryOp op, ExprPtr a, ExprPtr b, Span span) {
  if (!a->type.is_str() || !b->type.is_str()) {
    const typed::Expr& other = a->type.is_str() ? *b : *a;
    error(cx, "TypeMismatch", span, fmt::format("text cannot be compared with {}", show(cx, other.type)),
          is_text_column(cx, other.type)
              ? fmt::format("the rows that are this text: `table.is({}, {})`", source_text(cx, other.span),
                            source_text(cx, (a->type.is_str() ? *a : *b).span))
          : is_time_column(cx, other.type)
              ? fmt::format("write `{}.seconds`, and `table.moment({})`", source_text(cx, other.span),
                            source_text(cx, (a->type.is_str() ? *a : *b).span))
          : other.type.is_scalar() ? fmt::format("write `str({})`, or `parse({}, …)`", source_text(cx, other.span),
                                                 name_of(cx.open.resolved(other.type).dtype))
                                   : "",
          {label_of(cx, *a), label_of(cx, *b)});
    return broken(span);
  }
  std::vector<ExprPtr> both;
  both.push_back(std::move(a));
  both.push_back(std::move(b));
  std::vector<ExprPtr> operands;
  operands.push_back(text_node(cx, TextOp::Compare, std::move(both), span));
  operands.push_back(int_value(0, span));
  return binary_op(cx, op, std::move(operands[0]), std::move(operands[1]), span, span);
}

ExprPtr text_subscript(Context& cx, ExprPtr base, const ast::Subscript& s, Span span) {
  using Item = ast::SubscriptItem::Kind;
  if (s.items.size() != 1 || (s.items[0].kind != Item::Index && s.items[0].kind != Item::Slice)) {
    error(cx, "WrongIndex", span, "text takes one index or slice", "", {label_of(cx, *base)});
    return broken(span);
  }
  const ast::SubscriptItem& item = s.items[0];
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(base));
  if (item.kind == Item::Index) {
    operands.push_back(to_i64(cx, check_value(cx, item.index), "an index of a text"));
    cx.open.settle(operands.back()->type);
    return text_node(cx, TextOp::At, std::move(operands), span);
  }
  typed::SliceBounds given;
  for (ExprPtr& bound : slice_bounds(cx, item, given))
    operands.push_back(std::move(bound));
  ExprPtr node = text_node(cx, TextOp::Slice, std::move(operands), span);
  if (auto* text = node->get_if<typed::TextExpr>()) text->bounds = given;
  return node;
}

ExprPtr text_rule(Context& cx, Rule& r) {
  const Builtin builtin = r.builtin;
  std::vector<ExprPtr> operands;
  auto take = [&](size_t i) -> bool {
    ExprPtr v = r.value(i);
    if (!r.ok) return false;
    cx.open.settle(v->type);
    if (!v->type.is_str()) {
      r.fail("TypeMismatch", v->span, fmt::format("`{}` takes text, and this is {}", r.name, show(cx, v->type)),
             v->type.is_tensor() ? fmt::format("write `str({})`", source_text(cx, v->span)) : "");
      return false;
    }
    operands.push_back(std::move(v));
    return true;
  };
  switch (builtin) {
  case Builtin::Strip:
    if (!r.bind() || !take(0) || (r.has(1) && !take(1))) return nullptr;
    return text_node(cx, TextOp::Strip, std::move(operands), r.span);
  case Builtin::Replace:
    if (!r.bind() || !take(0) || !take(1) || !take(2)) return nullptr;
    return text_node(cx, TextOp::Replace, std::move(operands), r.span);
  case Builtin::Find:
    if (!r.bind() || !take(0) || !take(1)) return nullptr;
    return text_node(cx, TextOp::Find, std::move(operands), r.span);
  case Builtin::Lines:
    if (!r.bind() || !take(0)) return nullptr;
    return text_node(cx, TextOp::Lines, std::move(operands), r.span);
  case Builtin::Bytes:
    if (!r.bind() || !take(0)) return nullptr;
    return text_node(cx, TextOp::Bytes, std::move(operands), r.span);
  case Builtin::ReadLine: {
    if (!r.bind()) return nullptr;
    auto node = make_expr(typed::BuiltinExpr{builtin}, r.span, Type::str());
    return node;
  }
  case Builtin::Join: { // join(list, separator), and as in Python separator.join(list)
    if (!r.bind()) return nullptr;
    ExprPtr a = r.value(0), b = r.has(1) ? r.value(1) : nullptr;
    if (!r.ok) return nullptr;
    if (!b) {
      b = make_expr(typed::StrExpr{}, r.span, Type::str());
    }
    if (a->type.is_str() && b->type.is_list()) std::swap(a, b);
    bool texts = a->type.is_list() && (a->type.elements.empty() || a->type.elements[0].is_str());
    if (!texts || !b->type.is_str()) {
      r.fail("TypeMismatch", r.span,
             fmt::format("`join` takes a list of texts and a separator, and here are {} and {}", show(cx, a->type),
                         show(cx, b->type)),
             a->type.is_list() && b->type.is_str() ? fmt::format("write `join(list(str(x) for x in {}), {})`",
                                                                 source_text(cx, a->span), source_text(cx, b->span))
                                                   : "");
      return nullptr;
    }
    operands.push_back(std::move(a));
    operands.push_back(std::move(b));
    return text_node(cx, TextOp::Join, std::move(operands), r.span);
  }
  case Builtin::Parse: {
    if (!r.bind()) return nullptr;
    auto type = r.constant(0);
    if (!type || type->kind != Static::Kind::Element) {
      r.fail("TypeMismatch", r.by[0]->span, "the first argument of `parse` is an element type", "like `parse(f32, s)`");
      return nullptr;
    }
    if (!take(1)) return nullptr;
    ExprPtr node = text_node(cx, TextOp::Parse, std::move(operands), r.span);
    if (!node->type.is_error()) node->type = Type::scalar(type->dtype);
    return node;
  }
  case Builtin::Str: {
    if (!r.bind()) return nullptr;
    ExprPtr x = r.value(0);
    if (!r.ok) return nullptr;
    cx.open.settle(x->type);
    if (x->type.is_tensor() && x->type.rank() == 1 && x->type.dtype == DType::U8) {
      operands.push_back(std::move(x));
      return text_node(cx, TextOp::Decode, std::move(operands), r.span);
    }
    auto interp = new_interp(r.span);
    append_value(cx, *interp, std::move(x), "", r.span);
    return finish_interp(std::move(interp));
  }
  default: return nullptr;
  }
}

} // namespace tl::checker
