#include "parser/check/builtins/complex.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/sizes.h"
#include "parser/check/values.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::checker {
namespace {

// complex(re, im): floats, of one type, under the sizes that both broadcast to.
ExprPtr of_parts(Context& cx, Rule& r) {
  const std::string what = fmt::format("`{}`", r.name);
  std::vector<ExprPtr> parts;
  for (size_t i = 0; i < 2; ++i)
    parts.push_back(r.tensor(i));
  if (!r.ok) return nullptr;
  if (r.expected && r.expected->is_tensor() && is_complex(r.expected->dtype))
    for (ExprPtr& part : parts)
      if (refresh(cx, *part).open) (void)cx.open.unify(part->type, Type::scalar(part_of(r.expected->dtype)));
  if (!same_element(cx, parts, 0, what, r.span)) return nullptr;
  if (!cx.open.constrain_float(parts[0]->type)) {
    r.fail("TypeMismatch", parts[0]->span, fmt::format("{} takes floats, not {}", what, show(cx, parts[0]->type)),
           is_complex(parts[0]->type.dtype) ? "" : fmt::format("write `f64({})`", source_text(cx, parts[0]->span)));
    return nullptr;
  }
  for (ExprPtr& part : parts)
    cx.open.settle(part->type);
  const auto whole = complex_of(parts[0]->type.dtype);
  if (!whole) {
    r.fail("TypeMismatch", parts[0]->span,
           fmt::format("{} takes f32 or f64, not {}", what, name_of(parts[0]->type.dtype)),
           fmt::format("write `{}({})`", usual_float(cx), source_text(cx, parts[0]->span)));
    return nullptr;
  }
  auto node = make_expr(typed::BuiltinExpr{r.builtin}, r.span, Type::error());
  auto shape = broadcast(cx, {parts[0].get(), parts[1].get()}, what, r.span, node->checks);
  if (!shape) return nullptr;
  node->type = Type::tensor(*whole, std::move(*shape));
  node->operands = std::move(parts);
  return node;
}

} // namespace

ExprPtr complex_rule(Context& cx, Rule& r) {
  if (!r.bind()) return nullptr;
  if (r.builtin == Builtin::Complex) return of_parts(cx, r);
  ExprPtr z = r.tensor(0);
  if (!r.ok) return nullptr;
  if (!cx.open.is_complex(z->type)) {
    if (r.builtin == Builtin::RealPart && (z->type.open || is_num(z->type.dtype))) return z;
    r.fail("TypeMismatch", z->span, fmt::format("`{}` takes complex numbers, not {}", r.name, show(cx, z->type)));
    return nullptr;
  }
  cx.open.settle(z->type);
  auto node = make_expr(typed::BuiltinExpr{r.builtin}, r.span, z->type);
  node->type.dtype = part_of(z->type.dtype);
  node->operands.push_back(std::move(z));
  return node;
}

// Transforms along an axis.
ExprPtr fourier_rule(Context& cx, Rule& r) {
  if (!r.bind()) return nullptr;
  const bool of_real = r.builtin == Builtin::RealFftRows, to_real = r.builtin == Builtin::RealFftTransposedRows;
  ExprPtr z = r.tensor(0);
  ExprPtr count = to_real ? r.value(1) : nullptr;
  if (!r.ok) return nullptr;
  if (cx.open.is_complex(z->type) == of_real || (of_real && !cx.open.constrain_float(z->type))) {
    r.fail("TypeMismatch", z->span,
           fmt::format("`{}` takes {} numbers, not {}", r.name, of_real ? "real" : "complex", show(cx, z->type)),
           of_real ? "" : fmt::format("write `c64({})`", source_text(cx, z->span)));
    return nullptr;
  }
  cx.open.settle(z->type);
  if (z->type.rank() == 0) {
    r.fail("TypeMismatch", z->span, fmt::format("`{}` goes along an axis, and one number has none", r.name));
    return nullptr;
  }
  const DType part = of_real ? z->type.dtype : part_of(z->type.dtype);
  const auto whole = complex_of(part);
  if (!whole) {
    r.fail("TypeMismatch", z->span, fmt::format("`{}` takes f32 or f64, not {}", r.name, name_of(part)));
    return nullptr;
  }
  const int64_t axis = r.axis(to_real ? 2 : 1, z->type.rank(), -1);
  if (!r.ok) return nullptr;
  auto node = make_expr(typed::BuiltinExpr{r.builtin, typed::AxisAttrs{axis}}, r.span, z->type);
  node->type.dtype = to_real ? part : *whole;
  Size& along = node->type.shape[static_cast<size_t>(axis)];
  auto half = [&](const Size& n) { return cx.program.atoms.floor_div(n, 2) + 1; };
  if (of_real) along = half(along);
  if (to_real) {
    const size_t errors = cx.function->reports.size();
    const Size n = size_argument(cx, std::move(count), *node, true, "a size");
    if (cx.function->reports.size() != errors) return nullptr;
    const std::string message = fmt::format("`{}` needs n // 2 + 1 numbers: {{0}}, and these are {{1}}", r.name);
    if (!require_equal(cx, half(n), along, true, message, r.span, node->checks)) {
      r.fail("ShapeMismatch", r.span, fmt::format("`{}` needs n // 2 + 1 numbers", r.name));
      return nullptr;
    }
    along = n;
  }
  node->operands.push_back(std::move(z));
  return node;
}

bool holds_complex(const Type& type) {
  return (type.is_tensor() && is_complex(type.dtype)) ||
         std::any_of(type.elements.begin(), type.elements.end(), holds_complex);
}

// Built-in functions that lowering does to the parts of complex numbers, or knows as products (ir/lower/complex.cpp).
bool takes_complex(Builtin builtin) {
  switch (builtin) {
  case Builtin::Complex:
  case Builtin::RealPart:
  case Builtin::ImaginaryPart:
  case Builtin::FftRows:
  case Builtin::InverseFftRows:
  case Builtin::RealFftRows:
  case Builtin::RealFftTransposedRows:
  case Builtin::Sum:
  case Builtin::Mean:
  case Builtin::CumSum:
  case Builtin::Reshape:
  case Builtin::Permute:
  case Builtin::BroadcastTo:
  case Builtin::Concat:
  case Builtin::Stack:
  case Builtin::Pad:
  case Builtin::Flip:
  case Builtin::Full:
  case Builtin::Eye:
  case Builtin::Take:
  case Builtin::Gather:
  case Builtin::ScatterAdd:
  case Builtin::Einsum:
  case Builtin::Matmul:
  case Builtin::Dot:
  case Builtin::Load:
  case Builtin::Save:
  case Builtin::Wait:
  case Builtin::StopGradient:
  case Builtin::To:
  case Builtin::DeviceOf:
  case Builtin::AllReduce:
  case Builtin::BroadcastFrom: return true;
  default: return false;
  }
}

std::string refuses_complex(const typed::Expr& e) {
  auto is_complex_type = [](const Type& type) { return type.is_tensor() && is_complex(type.dtype); };
  auto is_complex_operand = [&](const ExprPtr& x) { return is_complex_type(x->type); };
  if (!is_complex_type(e.type) && std::none_of(e.operands.begin(), e.operands.end(), is_complex_operand)) return "";
  if (const auto* function = e.get_if<typed::BuiltinExpr>(); function && !takes_complex(function->builtin))
    return fmt::format("`{}` works on real numbers, not on complex ones", info(function->builtin).name);
  if (const auto* list = e.get_if<typed::ListExpr>(); list && list->op == typed::ListOp::Join)
    return "tensors of complex numbers are joined from a tuple, not from a list";
  if (const auto* fold = e.get_if<typed::ComprehensionExpr>();
      fold && fold->is_reduction && fold->reduce != ReduceOp::Sum)
    return fmt::format("`{}` works on real numbers, not on complex ones", info(fold->reduce).name);
  return "";
}

} // namespace tl::checker
