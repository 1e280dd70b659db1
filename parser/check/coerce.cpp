// A value that is to have a type: of the result of a function, a parameter, a field, a variable that is assigned.
#include "parser/check/functions.h"
#include "parser/check/instances.h"
#include "parser/check/lists.h"
#include "parser/check/modules.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/sizes.h"
#include "parser/check/tables.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

namespace {

void replace_atoms(Type& to, const Type& have, const std::set<AtomId>& atoms) {
  if (to.rank() != have.rank()) return;
  for (size_t i = 0; i < to.shape.size(); ++i)
    if (auto atom = to.shape[i].as_atom(); atom && atoms.contains(*atom)) to.shape[i] = have.shape[i];
  for (size_t i = 0; i < to.elements.size() && i < have.elements.size(); ++i)
    replace_atoms(to.elements[i], have.elements[i], atoms);
}

// A `_` in the result of this function is whatever the value has, the same wherever it stands. One that only a list of
// elements with sizes of their own has is open there, too.
void keep_open_sizes(Context& cx, Type& to, const Type& have) {
  std::set<AtomId> open;
  for (const typed::FreshAtom& fresh : cx.function->signature->result_atoms)
    open.insert(fresh.atom);
  if (open.empty()) return;
  std::map<AtomId, Size> known;
  SizeChecks checks; // none: each is alone on an axis
  solve_sizes(cx, {&to}, {&have}, open, "", {}, known, checks);
  to = substitute(cx, to, known);
  replace_atoms(to, have, open);
}

// So is a size that an element of a list has of its own.
void keep_own_sizes(const Context& cx, Type& to, const Type& have) {
  if (to.is_list()) return;
  for (size_t i = 0; i < to.shape.size() && i < have.shape.size(); ++i)
    if (auto atom = to.shape[i].as_atom(); atom && cx.program.atoms[*atom].kind == AtomKind::Element)
      to.shape[i] = have.shape[i];
  for (size_t i = 0; i < to.elements.size() && i < have.elements.size(); ++i)
    keep_own_sizes(cx, to.elements[i], have.elements[i]);
}

// One value that is to have a type.
class Coercion {
public:
  Coercion(Context& cx, ExprPtr e, const Type& wanted, const std::string& what, const ast::TypeExpr* written)
      : cx(cx), e(std::move(e)), what(what), written(written) {
    refresh(cx, *this->e);
    target = cx.open.resolved(wanted);
  }
  ExprPtr run();

private:
  ExprPtr wrong();
  void mismatch(const std::string& hint);
  ExprPtr part_by_part();
  ExprPtr written_parts();
  ExprPtr recast();
  bool fits(const Type& from, const Type& to, const std::string& part);
  bool axis_fits(const Type& from, const Type& to, size_t axis, const std::string& part);

  Context& cx;
  ExprPtr e;
  Type target;
  const std::string& what; // it is, for messages
  const ast::TypeExpr* written;
  SizeChecks checks;
  bool same = true; // sizes
};

void Coercion::mismatch(const std::string& given) {
  std::string hint = given;
  if (hint.empty() && target.is_scalar() && e->type.is_tensor() && e->type.rank() > 0 && is_float(e->type.dtype) &&
      cx.open.resolved(target).dtype == cx.open.resolved(e->type).dtype)
    hint = "`mean(…)` or `sum(…)` of it is one number";
  if (hint.empty() && target.is_str() && is_text_column(cx, e->type))
    hint = fmt::format("each text of a column is changed by `table.mapped({}, |s| …)`", source_text(cx, e->span));
  // Of another rank: its sizes say nothing of those that are wanted.
  const auto* named = ast::as<ast::NamedType>(written);
  const bool as_written = named && target.is_tensor() && e->type.is_tensor() && target.rank() != e->type.rank() &&
                          named->dims.size() == target.rank() && target.rank() > 0;
  std::string wanted = show(cx, target);
  if (as_written) { // with the element type that is known: `f32[n]` of `T[n]`
    const std::string text = source_text(cx, written->span);
    wanted = wanted.substr(0, wanted.find('[')) + text.substr(text.find('['));
  }
  error(cx, "TypeMismatch", e->span, fmt::format("{} has to be {}, and this is {}", what, wanted, show(cx, e->type)),
        hint, {label_of(cx, *e)});
  e->type = Type::error();
}

ExprPtr Coercion::wrong() {
  e->type = Type::error();
  return std::move(e);
}

// An aggregate with lists in it.
ExprPtr Coercion::part_by_part() {
  typed::Block block;
  Type from = e->type;
  Span span = e->span;
  ExprPtr held = shared(cx, std::move(e), block);
  auto parts = make_expr(typed::TupleExpr{}, span, from);
  for (size_t i = 0; i < from.elements.size(); ++i) {
    auto get = make_expr(typed::TupleGetExpr{static_cast<uint32_t>(i)}, span, from.elements[i]);
    get->operands.push_back(copy_simple(*held));
    parts->operands.push_back(std::move(get));
  }
  ExprPtr result = coerce(cx, std::move(parts), target, what);
  return result->type.is_error() ? std::move(result) : in_block(std::move(block), std::move(result), span);
}

// (a, b): what is checked of one part is not known of the next, which has no part in that check.
ExprPtr Coercion::written_parts() {
  SizeFacts& facts = cx.function->facts;
  const SizeFacts::Mark before = facts.mark();
  std::vector<std::pair<AtomId, Size>> learned;
  bool fine = true;
  for (size_t i = 0; i < e->operands.size(); ++i) {
    std::string part = target.is_struct() ? fmt::format("field `{}` of {}", target.record->fields[i].name, what)
                                          : fmt::format("element {} of {}", i, what);
    e->operands[i] = coerce(cx, std::move(e->operands[i]), target.elements[i], part);
    e->type.elements[i] = e->operands[i]->type;
    fine = fine && !e->operands[i]->type.is_error();
    learned.insert(learned.end(), facts.equal.begin() + static_cast<long>(before.equal), facts.equal.end());
    facts.restore(before);
  }
  facts.equal.insert(facts.equal.end(), learned.begin(), learned.end());
  facts.claim(before);
  if (!fine && target.is_struct()) e->type = Type::error();
  return std::move(e);
}

// Sizes: written, so unequal names are checked when it runs.
bool Coercion::axis_fits(const Type& from, const Type& to, size_t axis, const std::string& part) {
  const Size &have = from.shape[axis], &want = to.shape[axis];
  same = same && have == want;
  auto* named = ast::as<ast::NamedType>(written);
  bool has_name = named && &to == &target && named->dims.size() == to.rank() &&
                  std::none_of(named->dims.begin(), named->dims.end(),
                               [](const ast::Expr* dim) { return ast::as<ast::Spread>(dim) != nullptr; });
  std::string message = fmt::format("axis {} of {} is {{0}}, where {} is written, which is {{1}}", axis, part,
                                    has_name ? source_text(cx, named->dims[axis]->span) : show(cx, want));
  if (want.is_constant())
    message = fmt::format("axis {} of {} is {{0}}, where {} is written", axis, part, show(cx, want));
  // A function of the library was asked for more than there is, as in topk(x, k).
  if (auto atom = want.as_atom(); atom && cx.program.atoms[*atom].kind == AtomKind::Value &&
                                  is_library(cx, e->span.file) && cx.function->instance.valid())
    message = fmt::format("`{}` cannot give {} = {{1}} along an axis of {{0}}",
                          cx.instances.states[cx.function->instance.index].info->decl->name.text, show(cx, want));
  if (require_equal(cx, have, want, false, message, e->span, checks)) return true;
  std::vector<Label> labels{label_of(cx, *e)};
  add_origins(cx, have, want, labels);
  error(cx, "ShapeMismatch", e->span,
        fmt::format("{} has to be {}, and this is {}: axis {} is {}, not {}", part, show(cx, to), show(cx, from), axis,
                    show(cx, have), show(cx, want)),
        "", std::move(labels));
  e->type = Type::error();
  return false;
}

bool Coercion::fits(const Type& from, const Type& to, const std::string& part) {
  if (from.kind != to.kind || from.rank() != to.rank() || from.elements.size() != to.elements.size() ||
      from.record != to.record || (from.is_tensor() && !cx.open.unify(from, to))) {
    mismatch(e->type.is_tensor() ? conversion_hint(cx, *e, to) : "");
    return false;
  }
  for (size_t i = 0; i < from.shape.size(); ++i)
    if (!axis_fits(from, to, i, part)) return false;
  for (size_t i = 0; i < from.elements.size(); ++i)
    if (!fits(from.elements[i], to.elements[i],
              from.record ? fmt::format("field `{}` of {}", from.record->fields[i].name, part)
                          : fmt::format("element {} of {}", i, part)))
      return false;
  return true;
}

ExprPtr Coercion::recast() {
  keep_own_sizes(cx, target, e->type);
  const Type from = e->type;
  if (!fits(from, target, what)) return std::move(e);
  refresh(cx, *e);
  if (same) {
    if (has_function(cx, target)) e->type = cx.open.resolved(target);
    return std::move(e);
  }
  auto node = make_expr(typed::RecastExpr{}, e->span, cx.open.resolved(target));
  node->checks = std::move(checks);
  node->operands.push_back(std::move(e));
  return node;
}

ExprPtr Coercion::run() {
  if (e->type.is_error()) return std::move(e);
  if (target.is_error()) return wrong();
  if (e->type.kind != target.kind || e->type.rank() != target.rank() || e->type.record != target.record) {
    mismatch("");
    return std::move(e);
  }
  if (cx.function->signature) keep_open_sizes(cx, target, e->type);
  if (has_function(cx, target)) {
    if (!fill_functions(cx, target, e->type, e->span)) return wrong();
    if (target.is_function()) {
      e->type = target;
      return std::move(e);
    }
  }
  if (target.is_list()) return coerce_list(cx, std::move(e), target, what);
  const bool as_many = target.elements.size() == e->type.elements.size();
  if (target.is_aggregate() && has_list(cx, target) && !e->is<typed::TupleExpr>() && as_many) return part_by_part();
  if (target.is_tuple() || (target.is_struct() && has_list(cx, target))) {
    if (!as_many) {
      mismatch("");
      return std::move(e);
    }
    if (e->is<typed::TupleExpr>()) return written_parts();
  }
  if (!target.is_tensor() && !target.is_aggregate()) return std::move(e);
  return recast();
}

} // namespace

ExprPtr coerce(Context& cx, ExprPtr e, const Type& wanted, const std::string& what, const ast::TypeExpr* written) {
  return Coercion(cx, std::move(e), wanted, what, written).run();
}

} // namespace tl::checker
