// Equalities between sizes: what is proven, what is rejected, what is left to run time; broadcasting; joins.
#include "parser/check/sizes.h"
#include "parser/check/functions.h"
#include "parser/check/leaves.h"
#include "parser/check/lists.h"
#include "parser/check/modules.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {
namespace {
// A product of sums has as many terms as all of them multiplied: beyond this a size is any number.
constexpr size_t kMaxTerms = 256;

// How many terms it has with those that its Modular atoms stand for, which arithmetic opens.
size_t terms_in(const SizeAtoms& atoms, const Size& size) {
  size_t count = 0;
  for (const Size::Term& term : size.terms) {
    size_t factor = 1;
    for (AtomId id : term.atoms)
      if (atoms[id].kind == AtomKind::Modular) factor *= std::min<size_t>(atoms[id].a.terms.size(), kMaxTerms + 1);
    count += std::min(factor, kMaxTerms + 1);
  }
  return count;
}
} // namespace

AtomId size_atom(Context& cx, AtomKind kind, std::string name, Span origin) {
  SizeAtom atom;
  atom.kind = kind;
  atom.name = std::move(name);
  atom.origin = origin;
  atom.not_negative = true;
  return cx.program.atoms.add(std::move(atom));
}

std::optional<Size> size_of(Context& cx, const typed::Expr& e) {
  auto number = number_of(cx, e);
  return number && cx.program.atoms.computes(*number) ? number : std::nullopt;
}

static std::optional<Size> number_of(const typed::LiteralExpr& literal) {
  const uint64_t magnitude = literal.value.bits;
  if (literal.form == LiteralForm::Float) return std::nullopt;
  // One that is written and is no i64 is said to be none when its type is known.
  if (literal.form == LiteralForm::Int && magnitude > uint64_t{INT64_MAX} + (literal.negative ? 1 : 0))
    return std::nullopt;
  return Size(static_cast<int64_t>(literal.negative ? 0 - magnitude : magnitude));
}

static ExprPtr element_value(Context& cx, VarId parameter, int64_t index, Span span) {
  ExprPtr whole = variable_value(cx, parameter, span);
  if (whole->type.is_tuple()) {
    auto part = make_expr(typed::TupleGetExpr{static_cast<uint32_t>(index)}, span, Type::scalar(DType::I64));
    part->operands.push_back(std::move(whole));
    return part;
  }
  typed::Subscript at;
  at.kind = typed::Subscript::Kind::At;
  at.value = size_expr(Size(index), span);
  at.in_range = true;
  at.span = span;
  auto element = make_expr(typed::IndexExpr{}, span, Type::scalar(DType::I64));
  element->as<typed::IndexExpr>().subscripts.push_back(std::move(at));
  element->operands.push_back(std::move(whole));
  return element;
}

// The atom of an element of a parameter of this function; nothing where it has no such elements.
// `makes`: it becomes a size here, else only where it is one already.
static std::optional<AtomId> parameter_element(Context& cx, VarId parameter, int64_t index, Span span, bool makes) {
  constexpr int64_t kMostElements = 8;
  if (!cx.function->signature) return std::nullopt;
  if (!makes && cx.function->elements.empty()) return std::nullopt;
  const auto& params = cx.function->signature->params;
  if (std::none_of(params.begin(), params.end(), [&](const auto& param) { return param.var == parameter; }))
    return std::nullopt;
  for (const ParameterElement& known : cx.function->elements)
    if (known.parameter == parameter && known.index == index) return cx.program.variables[known.variable.index].atom;
  const typed::Variable& whole = cx.program.variables[parameter.index];
  const Type type = cx.open.resolved(whole.type);
  const bool is_vector = type.is_tensor() && type.rank() == 1 && type.dtype == DType::I64 && !type.open &&
                         type.shape[0].is_constant() && type.shape[0].constant() <= kMostElements;
  const int64_t count = is_vector         ? type.shape[0].constant()
                        : type.is_tuple() ? static_cast<int64_t>(type.elements.size())
                                          : 0;
  if (index < 0) index += count;
  if (whole.is_mutable || index < 0 || index >= count) return std::nullopt;
  for (const ParameterElement& known : cx.function->elements)
    if (known.parameter == parameter && known.index == index) return cx.program.variables[known.variable.index].atom;
  if (!makes) return std::nullopt;
  if (!is_vector) {
    const Type& part = type.elements[static_cast<size_t>(index)];
    if (!part.is_scalar() || part.dtype != DType::I64 || part.open) return std::nullopt;
  }
  const VarId own = new_variable(cx, fmt::format("{}[{}]", whole.name, index), Type::scalar(DType::I64), false, span);
  bind_atom(cx, own);
  cx.function->elements.push_back({parameter, own, index});
  return cx.program.variables[own.index].atom;
}

// The same of an expression that is one.
static std::optional<AtomId> parameter_element(Context& cx, const typed::Expr& e, bool makes) {
  const auto* whole = e.operands.empty() ? nullptr : e.operands[0]->get_if<typed::VariableExpr>();
  if (!whole) return std::nullopt;
  if (const auto* part = e.get_if<typed::TupleGetExpr>())
    return parameter_element(cx, whole->var, static_cast<int64_t>(part->index), e.span, makes);
  const auto* element = e.get_if<typed::IndexExpr>();
  if (!element || element->subscripts.size() != 1 || element->subscripts[0].kind != typed::Subscript::Kind::At)
    return std::nullopt;
  const std::optional<Size> at = number_of(cx, *element->subscripts[0].value);
  if (!at || !at->is_constant()) return std::nullopt;
  return parameter_element(cx, whole->var, at->constant(), e.span, makes);
}

std::optional<Size> number_of(Context& cx, const typed::Expr& e) {
  Type t = cx.open.resolved(e.type);
  if (!t.is_scalar() || t.dtype != DType::I64) return std::nullopt;
  if (t.open && cx.open.kind_of(t) != LiteralKind::Int) return std::nullopt;
  if (const auto* size = e.get_if<typed::SizeExpr>()) return size->size;
  if (const auto* literal = e.get_if<typed::LiteralExpr>()) return number_of(*literal);
  if (const auto* variable = e.get_if<typed::VariableExpr>()) {
    if (auto it = cx.sizes.known.find(variable->var); it != cx.sizes.known.end()) return it->second;
    AtomId atom = cx.program.variables[variable->var.index].atom;
    if (atom.valid()) return Size::of(atom);
    return std::nullopt;
  }
  if (const auto element = parameter_element(cx, e, false)) return Size::of(*element);
  if (const auto* list = e.get_if<typed::ListExpr>(); list && list->op == typed::ListOp::Length) {
    const auto* made = e.operands[0]->get_if<typed::ListExpr>();
    if (!made || made->op != typed::ListOp::Make) return std::nullopt;
    return Size(static_cast<int64_t>(e.operands[0]->operands.size()));
  }
  if (const auto* scalar = e.get_if<typed::ScalarExpr>()) {
    std::vector<Size> args;
    for (const auto& operand : e.operands) {
      auto size = number_of(cx, *operand);
      if (!size || terms_in(cx.program.atoms, *size) > kMaxTerms) return std::nullopt;
      args.push_back(*size);
    }
    SizeAtoms& atoms = cx.program.atoms;
    const SizeFacts facts = sure_facts(cx);
    // A quotient by 0 fails, and that by -1 may be no i64: these are values of their own.
    auto divides = [&] {
      if (args[1].is_constant()) return !args[1].is(0) && !args[1].is(-1);
      return atoms.proves_not_negative(args[1] - Size(1), cx.function->facts);
    };
    std::optional<Size> result;
    switch (scalar->op) {
    case ScalarOp::Add: return atoms.i64_sum(args[0], args[1]);
    case ScalarOp::Sub: return atoms.i64_sum(args[0], atoms.i64_product(args[1], -1));
    case ScalarOp::Mul: return atoms.i64_product(args[0], args[1]);
    case ScalarOp::Neg: return atoms.i64_product(args[0], -1);
    case ScalarOp::FloorDiv:
      if (divides()) result = atoms.floor_div(args[0], args[1]);
      break;
    case ScalarOp::Mod:
      if (divides()) result = atoms.mod(args[0], args[1]);
      break;
    case ScalarOp::Min: result = atoms.min(args[0], args[1], facts); break;
    case ScalarOp::Max: result = atoms.max(args[0], args[1], facts); break;
    case ScalarOp::Clamp: result = atoms.clip(args[0], args[1], args[2], facts); break;
    default: break;
    }
    return result && !result->is_too_large() ? result : std::nullopt;
  }
  return std::nullopt;
}

// Labels at the places where the names in a and b come from.
void add_origins(Context& cx, const Size& a, const Size& b, std::vector<Label>& labels) {
  std::vector<AtomId> atoms;
  cx.program.atoms.collect(a, atoms);
  cx.program.atoms.collect(b, atoms);
  for (AtomId id : atoms) {
    const SizeAtom& atom = cx.program.atoms[id];
    if (!atom.origin.valid() || is_library(cx, atom.origin.file)) continue;
    bool quoted = atom.name.find('`') != std::string::npos; // "axis 0 of `x`"
    std::string name = atom.name.empty() ? "_" : atom.name;
    Label label{atom.origin, (quoted ? name : fmt::format("`{}`", name)) + " comes from here"};
    if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(label);
  }
}

SizeCheck size_check(Context& cx, const Size& a, const Size& b, std::string message, Span span) {
  SizeCheck check;
  check.a = a;
  check.b = b;
  check.kind = "ShapeMismatch";
  check.message = std::move(message);
  check.span = span;
  std::vector<Label> labels;
  add_origins(cx, a, b, labels);
  for (Label& label : labels)
    check.notes.push_back({label.text, label.span});
  return check;
}

std::string different(Context& cx, const Size& a, const Size& b) {
  return fmt::format("{} and {}", show(cx, a), show(cx, b));
}

std::string equality_hint(Context& cx, const Size& a, const Size& b) {
  auto x = a.as_atom(), y = b.as_atom();
  if (x && y && cx.program.atoms[*x].kind == AtomKind::Named && cx.program.atoms[*y].kind == AtomKind::Named)
    return fmt::format("if they are equal, say so before: `assert {} == {}`, or use one name for both", show(cx, a),
                       show(cx, b));
  return "";
}

bool require_equal(Context& cx, const Size& a, const Size& b, bool implied, const std::string& message, Span span,
                   SizeChecks& checks, bool reads) {
  const Compare known = compare(cx, a, b);
  if (known == Compare::Different) return false;
  if (known == Compare::Equal && (!reads || cx.program.atoms.compare(a, b, sure_facts(cx)) == Compare::Equal))
    return true;
  auto x = a.as_atom(), y = b.as_atom();
  if (known == Compare::Unknown && implied && x && y && cx.program.atoms[*x].kind == AtomKind::Named &&
      cx.program.atoms[*y].kind == AtomKind::Named)
    return false;
  const SizeFacts sure = sure_facts(cx);
  checks.push_back(size_check(cx, cx.program.atoms.under(a, sure), cx.program.atoms.under(b, sure), message, span));
  // From here on it is a fact.
  for (const auto& [atom, other] : {std::pair{x, b}, std::pair{y, a}})
    if (atom) {
      std::vector<AtomId> inside;
      cx.program.atoms.collect(cx.program.atoms.under(other, cx.function->facts), inside);
      if (std::find(inside.begin(), inside.end(), *atom) == inside.end()) {
        const SizeFacts::Mark mark = cx.function->facts.mark();
        cx.function->facts.equal.push_back({*atom, other});
        cx.function->facts.claim(mark);
        break;
      }
    }
  return true;
}

static void require_bound(Context& cx, const Size& a, SizeCheck::Relation relation, const Size& bound, const char* kind,
                          std::string message, Span span, SizeChecks& checks) {
  const Size difference = relation == SizeCheck::Relation::AtLeast ? a - bound : bound - a;
  if (cx.program.atoms.proves_not_negative(difference, sure_facts(cx))) return;
  SizeCheck check = size_check(cx, a, bound, std::move(message), span);
  check.relation = relation;
  check.kind = kind;
  check.claimed = cx.program.atoms.proves_not_negative(difference, cx.function->facts);
  checks.push_back(std::move(check));
  const SizeFacts::Mark mark = cx.function->facts.mark();
  cx.function->facts.not_negative.push_back(difference);
  cx.function->facts.claim(mark);
}

void require_at_most(Context& cx, const Size& a, const Size& most, const char* kind, std::string message, Span span,
                     SizeChecks& checks) {
  require_bound(cx, a, SizeCheck::Relation::AtMost, most, kind, std::move(message), span, checks);
}

// a is no longer than an axis may be; {0} in `what` is a.
static void require_axis(Context& cx, const Size& a, const std::string& what, Span span, SizeChecks& checks) {
  require_at_most(cx, a, kLongestAxis, "SizeOverflow",
                  fmt::format("{}, more than the {} that an axis may have", what, kLongestAxis), span, checks);
}

void require_size(Context& cx, const Size& a, int64_t least, const std::string& message, Span span,
                  SizeChecks& checks) {
  require_bound(cx, a, SizeCheck::Relation::AtLeast, least, "NegativeSize", message, span, checks);
  require_axis(cx, a, "a size cannot be {0}", span, checks);
}

bool stretches(Context& cx, typed::Expr& x, size_t axis, const Size& to, const std::string& what, Span span,
               SizeChecks& checks) {
  Size& size = x.type.shape[axis];
  if (size.is(1)) return true;
  if (size.is_constant() || compare(cx, size, 1) != Compare::Equal || compare(cx, size, to) == Compare::Equal)
    return false;
  require_equal(cx, size, 1, true, fmt::format("{} stretches axis {} of 1 element, which has {{0}}", what, axis), span,
                checks);
  size = 1;
  return true;
}

// Does the operand fit if it gets an axis of size 1, as `a / a.sum(axis = 1)` would with the axis that was summed? Says
// how to write that; "" if not.
static std::string stretched_hint(Context& cx, const typed::Expr& operand, const std::vector<typed::Expr*>& others) {
  const std::vector<Size>& shape = operand.type.shape;
  for (const typed::Expr* other : others) {
    if (other == &operand || other->type.shape.size() <= shape.size() || shape.empty()) continue;
    for (size_t at = shape.size(); at > 0; --at) { // before axis 0 it has it already
      std::vector<Size> longer = shape;
      longer.insert(longer.begin() + static_cast<ptrdiff_t>(at), Size(1));
      const size_t from = other->type.shape.size() - longer.size();
      bool fits = true;
      for (size_t k = 0; k < longer.size() && fits; ++k)
        fits = longer[k].is(1) || compare(cx, longer[k], other->type.shape[from + k]) == Compare::Equal;
      if (!fits) continue;
      const std::string text = source_text(cx, operand.span);
      if (text.find('\n') != text.npos || text.size() > 60)
        return "an axis of size 1 stretches: `x[:, new]`, or `keep = true` in a sum";
      static constexpr std::string_view reductions[] = {"sum",       "mean",     "prod",   "min",    "max",
                                                        "any",       "all",      "argmax", "argmin", "std",
                                                        "logsumexp", "variance", "norm"};
      for (std::string_view name : reductions)
        if (text.ends_with(')') && text.find("axis") != text.npos && text.find("keep") == text.npos &&
            (text.starts_with(fmt::format("{}(", name)) || text.find(fmt::format(".{}(", name)) != text.npos))
          return fmt::format("to keep the axis, with size 1: `{}, keep = true)`", text.substr(0, text.size() - 1));
      std::string items;
      for (size_t k = 0; k < at; ++k)
        items += ":, ";
      const bool is_word = text.find_first_of(" +-*/@%") == text.npos;
      return fmt::format("an axis of size 1 stretches: `{}[{}new]`{}", is_word ? text : "(" + text + ")", items,
                         "; a sum and its like keep theirs by `keep = true`");
    }
  }
  return "";
}

// NumPy's rule: aligned right; what is known to be 1 stretches, rank 0 too. Nothing if two sizes differ (reported).
std::optional<std::vector<Size>> broadcast(Context& cx, const std::vector<typed::Expr*>& operands,
                                           const std::string& what, Span span, SizeChecks& checks,
                                           size_t skip_last_axes) {
  std::vector<Size> result;
  std::vector<typed::Expr*> from; // which operand gave each axis, from the right
  for (typed::Expr* operand : operands) {
    const auto& shape = operand->type.shape;
    if (shape.size() < skip_last_axes) continue;
    size_t rank = shape.size() - skip_last_axes;
    for (size_t i = 0; i < rank; ++i) {
      const Size& size = shape[rank - 1 - i];
      if (i >= result.size()) {
        result.push_back(size);
        from.push_back(operand);
        continue;
      }
      if (result[i] == size || stretches(cx, *operand, rank - 1 - i, result[i], what, span, checks)) continue;
      const size_t axis = from[i]->type.shape.size() - skip_last_axes - 1 - i;
      if (result[i].is(1) || stretches(cx, *from[i], axis, size, what, span, checks)) {
        result[i] = size;
        from[i] = operand;
        continue;
      }
      std::string message =
          fmt::format("{} needs equal sizes, but axis {} of `{}` is {{0}} and axis {} of `{}` is {{1}}", what, axis,
                      source_text(cx, from[i]->span), rank - 1 - i, source_text(cx, operand->span));
      if (!require_equal(cx, result[i], size, true, message, span, checks)) {
        std::vector<Label> labels;
        for (typed::Expr* e : operands)
          if (!e->type.is_scalar()) labels.push_back(label_of(cx, *e));
        add_origins(cx, result[i], size, labels);
        std::string hint = equality_hint(cx, result[i], size);
        for (const typed::Expr* e : operands)
          if (std::string other = stretched_hint(cx, *e, operands); !other.empty()) hint = std::move(other);
        error(cx, "ShapeMismatch", span,
              fmt::format("{} needs equal sizes, but has {}", what, different(cx, result[i], size)), hint,
              std::move(labels));
        return std::nullopt;
      }
      if (size.is_constant()) result[i] = size; // checked: the constant says more
    }
  }
  // What an operand has one element of stretches, too, where another one has made the result longer after it.
  for (typed::Expr* operand : operands)
    for (size_t i = 0; i + skip_last_axes < operand->type.shape.size(); ++i) {
      const size_t axis = operand->type.shape.size() - skip_last_axes - 1 - i;
      if (operand->type.shape[axis] != result[i]) stretches(cx, *operand, axis, result[i], what, span, checks);
    }
  std::reverse(result.begin(), result.end());
  return result;
}

Size steps_within(Context& cx, const Size& distance, int64_t by) {
  const int64_t stride = by < 0 ? -std::max(by, -INT64_MAX) : by;
  return cx.program.atoms.floor_div(distance - Size(1), stride) + Size(1);
}

// Does its difference to another such number fit an i64, or that of the two be told apart again (SizeAtoms::parts)?
static bool subtracts(const Context& cx, const Size& number) {
  if (number.is_constant() || number.as_atom()) return true;
  auto [least, most] = cx.program.atoms.range_of(number);
  return least >= INT64_MIN / 2 && most <= INT64_MAX / 2;
}

// The elements of parameters that a size is computed from are sizes themselves.
static void take_elements(Context& cx, const typed::Expr& e) {
  (void)parameter_element(cx, e, true);
  if (!e.is<typed::ScalarExpr>()) return;
  for (const ExprPtr& operand : e.operands)
    take_elements(cx, *operand);
}

std::optional<Size> element_size(Context& cx, const typed::Expr& value, int64_t index) {
  if (value.is<typed::TensorLiteralExpr>() || value.is<typed::TupleExpr>()) {
    if (index >= static_cast<int64_t>(value.operands.size())) return std::nullopt;
    const std::optional<Size> known = number_of(cx, *value.operands[static_cast<size_t>(index)]);
    if (!known || !cx.program.atoms.computes(*known)) return std::nullopt;
    return cx.program.atoms.unwrapped(*known);
  }
  const auto* variable = value.get_if<typed::VariableExpr>();
  const auto atom = variable ? parameter_element(cx, variable->var, index, value.span, true) : std::nullopt;
  return atom ? std::optional(Size::of(*atom)) : std::nullopt;
}

std::vector<typed::Stmt> element_variables(Context& cx) {
  std::vector<typed::Stmt> all;
  for (const ParameterElement& element : cx.function->elements) {
    const Span span = cx.program.variables[element.variable.index].span;
    all.push_back(let_variable(element.variable, element_value(cx, element.parameter, element.index, span), span));
  }
  return all;
}

// An i64 value where a size is expected: itself if it is one, else a new atom that this node binds.
Size size_argument(Context& cx, ExprPtr value, typed::Expr& node, bool not_negative, const std::string& what) {
  value = to_i64(cx, std::move(value), what);
  if (value->type.is_error()) return 0;
  Span span = value->span;
  Size size;
  take_elements(cx, *value);
  auto known = number_of(cx, *value);
  if (known && cx.program.atoms.computes(*known) && (not_negative || subtracts(cx, *known)))
    size = not_negative ? cx.program.atoms.unwrapped(*known) : *known;
  else {
    SizeAtom atom;
    atom.kind = AtomKind::Fresh;
    atom.name = source_text(cx, span);
    atom.origin = span;
    AtomId id = cx.program.atoms.add(std::move(atom));
    node.binds.push_back({id, std::move(value)});
    size = Size::of(id);
    if (known) cx.function->facts.equal.push_back({id, *known});
  }
  if (not_negative && size.is_too_large())
    error(cx, "SizeOverflow", span, "this size is no i64");
  else if (size.is_constant() && not_negative && size.constant() < 0)
    error(cx, "NegativeSize", span, fmt::format("a size cannot be {}", show(cx, size)));
  else if (size.is_constant() && not_negative && size.constant() > kLongestAxis)
    error(cx, "SizeOverflow", span,
          fmt::format("a size cannot be {}, more than the {} that an axis may have", show(cx, size), kLongestAxis));
  else if (not_negative)
    require_size(cx, size, 0, fmt::format("a size cannot be {{0}}: `{}`", source_text(cx, span)), span, node.checks);
  return size;
}

void learn_index(Context& cx, const Size& index, const Size& first, const Size& end) {
  cx.function->facts.not_negative.push_back(index - first);
  cx.function->facts.not_negative.push_back(end - index - Size(1));
  const SizeFacts sure = sure_facts(cx);
  auto least = cx.program.atoms.range_of(first, sure).first,
       most = cx.program.atoms.range_of(end - Size(1), sure).second;
  cx.program.atoms.set_range(*index.as_atom(), least, most);
}

// What a condition says about sizes: equalities, and which differences are not negative.
void learn_condition(Context& cx, const typed::Expr& c, bool holds) {
  if (c.is(ScalarOp::Not)) return learn_condition(cx, *c.operands[0], !holds);
  const auto* branches = c.get_if<typed::IfExpr>();
  if (branches && branches->then_block.result && branches->else_block.result) {
    // `a and b` is `if a { b } else { false }`, `a or b` is `if a { true } else { b }`
    const typed::Expr &yes = *branches->then_block.result, &no = *branches->else_block.result;
    const auto *always = yes.get_if<typed::LiteralExpr>(), *never = no.get_if<typed::LiteralExpr>();
    if (holds && never && never->value.bits == 0)
      learn_condition(cx, *c.operands[0], true), learn_condition(cx, yes, true);
    if (!holds && always && always->value.bits != 0)
      learn_condition(cx, *c.operands[0], false), learn_condition(cx, no, false);
    return;
  }
  if (!c.is<typed::ScalarExpr>() || c.operands.size() != 2) return;
  ScalarOp op = c.as<typed::ScalarExpr>().op;
  if (op == ScalarOp::And && holds) {
    learn_condition(cx, *c.operands[0], true);
    learn_condition(cx, *c.operands[1], true);
    return;
  }
  if (op == ScalarOp::Or && !holds) {
    learn_condition(cx, *c.operands[0], false);
    learn_condition(cx, *c.operands[1], false);
    return;
  }
  auto a = number_of(cx, *c.operands[0]), b = number_of(cx, *c.operands[1]);
  if (!a || !b) return;
  SizeFacts& facts = cx.function->facts;
  // What can never be is not learned: nobody comes to where it would hold, and from it anything would follow.
  auto know = [&](Size fact) {
    if (!cx.program.atoms.proves_not_negative(Size(-1) - fact)) facts.not_negative.push_back(std::move(fact));
  };
  Size less = *b - *a; // a < b means less - 1 >= 0
  if (!holds) {
    switch (op) {
    case ScalarOp::Lt: op = ScalarOp::Ge; break;
    case ScalarOp::Le: op = ScalarOp::Gt; break;
    case ScalarOp::Gt: op = ScalarOp::Le; break;
    case ScalarOp::Ge: op = ScalarOp::Lt; break;
    case ScalarOp::Ne: op = ScalarOp::Eq; break;
    default: return;
    }
  }
  switch (op) {
  case ScalarOp::Lt: know(less - Size(1)); break;
  case ScalarOp::Le: know(less); break;
  case ScalarOp::Gt: know(Size(-1) - less); break;
  case ScalarOp::Ge: know(Size(0) - less); break;
  case ScalarOp::Eq: {
    Size difference = cx.program.atoms.under(*a - *b, facts);
    const bool claims = difference != cx.program.atoms.under(*a - *b, facts.sure());
    const SizeFacts::Mark mark = facts.mark();
    // One atom that stands alone with coefficient 1 or -1 is solved for; the youngest, so that older names stay.
    for (auto term = difference.terms.rbegin(); term != difference.terms.rend(); ++term) {
      if (term->atoms.size() != 1 || (term->coefficient != 1 && term->coefficient != -1)) continue;
      AtomId atom = term->atoms[0];
      AtomKind kind = cx.program.atoms[atom].kind;
      if (kind != AtomKind::Named && kind != AtomKind::Value && kind != AtomKind::Fresh) continue;
      Size value = Size::of(atom) - difference * Size(term->coefficient);
      std::vector<AtomId> inside;
      cx.program.atoms.collect(value, inside);
      // n % k == 0 is n == k * (n // k): a rule that leaves what it makes as it is.
      bool divides = value != Size::of(atom) && cx.program.atoms.substitute(value, {{atom, value}}) == value;
      if (!divides && std::find(inside.begin(), inside.end(), atom) != inside.end()) continue;
      facts.equal.push_back({atom, value});
      if (claims) facts.claim(mark);
      return;
    }
    know(difference);
    know(Size(0) - difference);
    if (claims) facts.claim(mark);
    break;
  }
  default: break;
  }
}

// The type of a value that is an a on one way and a b on the other (same kinds and ranks): where sizes differ, new
// ones.
Type fresh_join(Context& cx, const Type& a, const Type& b, std::vector<typed::FreshAtom>& fresh,
                const std::string& what, Span span, std::vector<uint32_t> path) {
  if (a.is_list() && b.is_list()) return either_element(cx, a, b);
  Type result = a;
  for (size_t i = 0; i < a.shape.size() && i < b.shape.size(); ++i) {
    if (a.shape[i] == b.shape[i]) continue;
    if (compare(cx, a.shape[i], b.shape[i]) == Compare::Equal) {
      // By what is known here: said without the names of either way.
      const Size known = cx.program.atoms.under(a.shape[i], cx.function->facts);
      if (known == cx.program.atoms.under(b.shape[i], cx.function->facts)) result.shape[i] = known;
      continue;
    }
    AtomId id = size_atom(cx, AtomKind::Fresh, fmt::format("axis {} of {}", i, what), span);
    result.shape[i] = Size::of(id);
    fresh.push_back({id, path, static_cast<uint32_t>(i)});
  }
  for (size_t i = 0; i < a.elements.size() && i < b.elements.size(); ++i) {
    auto inner = path;
    inner.push_back(static_cast<uint32_t>(i));
    result.elements[i] = fresh_join(cx, a.elements[i], b.elements[i], fresh, what, span, inner);
  }
  return result;
}

// Where several ways meet: the variables whose sizes differ get new ones. Sets the current types.
std::vector<typed::Join> join_variables(Context& cx, std::vector<std::map<VarId, Type>> states, Span span) {
  std::vector<typed::Join> joins;
  if (states.empty()) return joins;
  std::map<VarId, Type> merged;
  for (const auto& [var, first] : states[0]) {
    Type type = cx.open.resolved(first);
    bool everywhere = true, same = true;
    Type other = type;
    for (size_t i = 1; i < states.size(); ++i) {
      auto it = states[i].find(var);
      if (it == states[i].end()) {
        everywhere = false;
        break;
      }
      Type t = cx.open.resolved(it->second);
      std::vector<typed::FreshAtom> unused;
      if (t == type || t.is_error()) continue;
      same = false;
      other = type.is_error() ? type : t;
    }
    if (!everywhere) continue;
    if (same || type.is_error() || type.is_range()) {
      merged[var] = type;
      continue;
    }
    // All sizes that differ between any two ways.
    typed::Join join;
    join.var = var;
    Type mixed = type;
    for (size_t i = 1; i < states.size(); ++i) {
      Type t = cx.open.resolved(states[i].at(var));
      auto mark = [&](auto& self, Type& into, const Type& from) -> void {
        if (into.is_list()) {
          into = either_element(cx, into, from);
          return;
        }
        for (size_t k = 0; k < into.shape.size() && k < from.shape.size(); ++k)
          if (compare(cx, into.shape[k], from.shape[k]) != Compare::Equal)
            into.shape[k] = Size(INT64_MIN); // equal to no size
        for (size_t k = 0; k < into.elements.size() && k < from.elements.size(); ++k)
          self(self, into.elements[k], from.elements[k]);
      };
      mark(mark, mixed, t);
    }
    join.type =
        fresh_join(cx, type, mixed, join.fresh, fmt::format("`{}`", cx.program.variables[var.index].name), span);
    merged[var] = join.type;
    joins.push_back(std::move(join));
  }
  cx.function->current = std::move(merged);
  return joins;
}

} // namespace tl::checker
