// The rules of the module linalg: decompositions of matrices and solutions of systems, over leading axes.
#include "parser/check/builtins/linalg.h"
#include "parser/check/builtins/rules.h"
#include "parser/check/modules.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/sizes.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

// Its types: `sizes` of a, with the leading axes of all operands together; a tuple of results where there are several.
ExprPtr linalg_rule(Context& cx, Builtin builtin, Rule& r) {
  const bool triangular = builtin == Builtin::TriangularSolve, solves = builtin == Builtin::Solve || triangular;
  const bool square = solves || builtin == Builtin::Cholesky || builtin == Builtin::Eigh;
  if (!r.bind()) return nullptr;
  auto node = make_expr(ExprKind::Builtin, r.span, Type::error());
  node->builtin = builtin;
  for (size_t i = 0; i < (solves ? 2 : 1); ++i)
    node->operands.push_back(r.tensor(i));
  if (!r.ok) return nullptr;
  const std::string what = fmt::format("`{}`", r.name);
  if (solves && !same_element(cx, node->operands, 0, what, r.span)) return nullptr;
  typed::Expr& a = *node->operands[0];
  const DType element = refresh(cx, a).dtype;
  if (!cx.open.constrain_float(a.type) || (!a.type.open && element != DType::F32 && element != DType::F64)) {
    const bool is_ours = is_library(cx, a.span.file); // called by a function of linalg.tl, which the message names
    r.fail("TypeMismatch", a.span,
           fmt::format("{} works on f32 and f64, not {}", is_ours ? "`linalg`" : what, name_of(element)),
           is_ours ? "convert before: `f32(x)`"
                   : fmt::format("write `{}(f32({}){})`", r.name, source_text(cx, a.span), solves ? ", …" : ""));
    return nullptr;
  }
  const size_t rank = a.type.rank();
  if (rank < 2) {
    r.fail("TypeMismatch", a.span, fmt::format("{} takes matrices, not {}", what, show(cx, a.type)),
           rank == 1 ? fmt::format("`{0}[:, new]` is a matrix of one column", source_text(cx, a.span)) : "");
    return nullptr;
  }
  const std::vector<Size> own = a.type.shape;
  Size m = own[rank - 2];
  const Size n = own[rank - 1];
  auto mismatch = [&](const std::string& message, const Size& one, const Size& other, std::string hint) {
    std::vector<Label> labels;
    for (const ExprPtr& operand : node->operands)
      labels.push_back(label_of(cx, *operand));
    add_origins(cx, one, other, labels);
    error(cx, "ShapeMismatch", r.span, fmt::format("{}{}", message, different(cx, one, other)),
          hint.empty() ? equality_hint(cx, one, other) : std::move(hint), std::move(labels));
    return nullptr;
  };
  if (square) {
    if (!require_equal(cx, m, n, true, fmt::format("{} needs square matrices, and these are {{0}} by {{1}}", what),
                       r.span, node->checks))
      return mismatch(fmt::format("{} needs square matrices: ", what), m, n,
                      solves ? "`linalg.lstsq(a, b)` takes other matrices" : "");
    m = n;
  }
  std::vector<Size> leading(own.begin(), own.end() - 2);
  auto with = [&](std::initializer_list<Size> last) {
    Type t = cx.open.resolved(a.type);
    t.shape = leading;
    t.shape.insert(t.shape.end(), last);
    return t;
  };
  const Size p = cx.program.atoms.min(m, n, sure_facts(cx));
  switch (builtin) {
  case Builtin::Cholesky: node->type = with({n, n}); break;
  case Builtin::LuFactor: {
    Type pivots = with({p});
    node->type = Type::tuple({with({m, n}), Type::tensor(DType::I64, pivots.shape)});
    break;
  }
  case Builtin::Qr: node->type = Type::tuple({with({m, p}), with({p, n})}); break;
  case Builtin::Svd: node->type = Type::tuple({with({m, p}), with({p}), with({p, n})}); break;
  case Builtin::Eigh: node->type = Type::tuple({with({n}), with({n, n})}); break;
  default: { // a @ x = b
    node->flag = true;
    if (triangular && r.has(2)) {
      auto lower = r.constant(2);
      if (!lower || lower->kind != Static::Kind::Bool) {
        r.fail("NotConstant", r.by[2]->span, fmt::format("`lower` of {} is the constant true or false", what));
        return nullptr;
      }
      node->flag = lower->number != 0;
    }
    typed::Expr& b = *node->operands[1];
    if (b.type.rank() == 0) {
      r.fail("TypeMismatch", b.span,
             fmt::format("{} takes a vector or matrices for b, not {}", what, show(cx, b.type)));
      return nullptr;
    }
    const bool vector = b.type.rank() == 1;
    const Size rows = vector ? b.type.shape[0] : b.type.shape[b.type.rank() - 2];
    if (!require_equal(cx, n, rows, true, fmt::format("{} needs b to have as many rows as a: {{0}}, not {{1}}", what),
                       r.span, node->checks)) {
      bool vectors = b.type.rank() + 1 == rank && compare(cx, b.type.shape.back(), n) == Compare::Equal;
      return mismatch(fmt::format("{} needs b to have as many rows as a: ", what), n, rows,
                      vectors ? fmt::format("for a vector per matrix write `{}[..., new]`", source_text(cx, b.span))
                              : "");
    }
    if (!vector && b.type.rank() > 2) {
      if (rank > 2) {
        auto both = broadcast(cx, {&a, &b}, what, r.span, node->checks, 2);
        if (!both) return nullptr;
        leading = *both;
      } else {
        leading.assign(b.type.shape.begin(), b.type.shape.end() - 2);
      }
    }
    node->type = vector ? with({n}) : with({n, b.type.shape.back()});
  }
  }
  node->sizes = with({m, n}).shape;
  return node;
}

} // namespace tl::checker
