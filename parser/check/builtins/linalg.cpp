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

namespace {

// One call.
struct Linalg {
  Context& cx;
  Rule& r;
  ExprPtr node = nullptr;
  std::string what = fmt::format("`{}`", r.name);
  std::vector<Size> leading = {}; // axes, of all operands together

  typed::Expr& a() const { return *node->operands[0]; }
  Type with(std::initializer_list<Size> last) const;
  bool matrices();
  void mismatch(const std::string& message, const Size& one, const Size& other, std::string hint);
  bool solution(const Size& n);
};

Type Linalg::with(std::initializer_list<Size> last) const {
  Type t = cx.open.resolved(a().type);
  t.shape = leading;
  t.shape.insert(t.shape.end(), last);
  return t;
}

// Are the operands floats, and a matrices?
bool Linalg::matrices() {
  if (node->operands.size() > 1 && !same_element(cx, node->operands, 0, what, r.span)) return false;
  typed::Expr& a = this->a();
  const DType element = refresh(cx, a).dtype;
  if (!cx.open.constrain_float(a.type) || (!a.type.open && element != DType::F32 && element != DType::F64)) {
    const bool is_ours = is_library(cx, a.span.file); // called by a function of linalg.tl, which the message names
    r.fail("TypeMismatch", a.span,
           fmt::format("{} works on f32 and f64, not {}", is_ours ? "`linalg`" : what, name_of(element)),
           is_ours ? "convert before: `f32(x)`"
                   : fmt::format("write `{}({}({}){})`", r.name, usual_float(cx), source_text(cx, a.span),
                                 node->operands.size() > 1 ? ", …" : ""));
    return false;
  }
  const size_t rank = a.type.rank();
  if (rank < 2) {
    r.fail("TypeMismatch", a.span, fmt::format("{} takes matrices, not {}", what, show(cx, a.type)),
           rank == 1 ? fmt::format("`{0}[:, new]` is a matrix of one column", source_text(cx, a.span)) : "");
    return false;
  }
  return true;
}

void Linalg::mismatch(const std::string& message, const Size& one, const Size& other, std::string hint) {
  std::vector<Label> labels;
  for (const ExprPtr& operand : node->operands)
    labels.push_back(label_of(cx, *operand));
  add_origins(cx, one, other, labels);
  error(cx, "ShapeMismatch", r.span, fmt::format("{}{}", message, different(cx, one, other)),
        hint.empty() ? equality_hint(cx, one, other) : std::move(hint), std::move(labels));
}

// The type of x with a @ x = b.
bool Linalg::solution(const Size& n) {
  bool& lower_half = node->attrs<typed::LinalgAttrs>().lower;
  lower_half = true;
  if (node->is(Builtin::TriangularSolve) && r.has(2)) {
    auto lower = r.constant(2);
    if (!lower || lower->kind != Static::Kind::Bool) {
      r.fail("NotConstant", r.by[2]->span, fmt::format("`lower` of {} is the constant true or false", what));
      return false;
    }
    lower_half = lower->number != 0;
  }
  typed::Expr& b = *node->operands[1];
  if (b.type.rank() == 0) {
    r.fail("TypeMismatch", b.span, fmt::format("{} takes a vector or matrices for b, not {}", what, show(cx, b.type)));
    return false;
  }
  const bool vector = b.type.rank() == 1;
  const Size rows = vector ? b.type.shape[0] : b.type.shape[b.type.rank() - 2];
  if (!require_equal(cx, n, rows, true, fmt::format("{} needs b to have as many rows as a: {{0}}, not {{1}}", what),
                     r.span, node->checks)) {
    bool vectors = b.type.rank() + 1 == a().type.rank() && compare(cx, b.type.shape.back(), n) == Compare::Equal;
    mismatch(fmt::format("{} needs b to have as many rows as a: ", what), n, rows,
             vectors ? fmt::format("for a vector per matrix write `{}[..., new]`", source_text(cx, b.span)) : "");
    return false;
  }
  if (!vector && b.type.rank() > 2) {
    if (a().type.rank() > 2) {
      auto both = broadcast(cx, {&a(), &b}, what, r.span, node->checks, 2);
      if (!both) return false;
      leading = *both;
    } else {
      leading.assign(b.type.shape.begin(), b.type.shape.end() - 2);
    }
  }
  node->type = vector ? with({n}) : with({n, b.type.shape.back()});
  return true;
}

} // namespace

// A tuple of results where there are several.
ExprPtr linalg_rule(Context& cx, Rule& r) {
  const Builtin builtin = r.builtin;
  const bool solves = builtin == Builtin::Solve || builtin == Builtin::TriangularSolve;
  const bool square =
      solves || builtin == Builtin::Cholesky || builtin == Builtin::Eigh || builtin == Builtin::EigParts;
  if (!r.bind()) return nullptr;
  Linalg call{cx, r};
  ExprPtr& node = call.node;
  node = make_expr(typed::BuiltinExpr{builtin, typed::LinalgAttrs{}}, r.span, Type::error());
  for (size_t i = 0; i < (solves ? 2 : 1); ++i)
    node->operands.push_back(r.tensor(i));
  if (!r.ok) return nullptr;
  if (!call.matrices()) return nullptr;
  const std::vector<Size> own = call.a().type.shape;
  const size_t rank = own.size();
  Size m = own[rank - 2];
  const Size n = own[rank - 1];
  if (square) {
    if (!require_equal(cx, m, n, true, fmt::format("{} needs square matrices, and these are {{0}} by {{1}}", call.what),
                       r.span, node->checks)) {
      call.mismatch(fmt::format("{} needs square matrices: ", call.what), m, n,
                    solves ? "`linalg.lstsq(a, b)` takes other matrices" : "");
      return nullptr;
    }
    m = n;
  }
  call.leading.assign(own.begin(), own.end() - 2);
  const Size p = cx.program.atoms.min(m, n, sure_facts(cx));
  switch (builtin) {
  case Builtin::Cholesky: node->type = call.with({n, n}); break;
  case Builtin::LuFactor: {
    Type pivots = call.with({p});
    node->type = Type::tuple({call.with({m, n}), Type::tensor(DType::I64, pivots.shape)});
    break;
  }
  case Builtin::Qr: node->type = Type::tuple({call.with({m, p}), call.with({p, n})}); break;
  case Builtin::Svd: node->type = Type::tuple({call.with({m, p}), call.with({p}), call.with({p, n})}); break;
  case Builtin::Eigh: node->type = Type::tuple({call.with({n}), call.with({n, n})}); break;
  case Builtin::EigParts: node->type = Type::tuple({call.with({n}), call.with({n}), call.with({n, n})}); break;
  default:
    if (!call.solution(n)) return nullptr;
  }
  node->attrs<typed::LinalgAttrs>().shape = call.with({m, n}).shape;
  return std::move(node);
}

} // namespace tl::checker
