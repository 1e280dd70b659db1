// einsum("bij,bjk->bik", a, b): each letter names an axis; those behind the arrow are kept, the others summed over.
#include "parser/check/builtins/einsum.h"
#include "parser/check/builtins/rules.h"
#include "parser/check/builtins/shape.h"
#include "parser/check/expressions.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/sizes.h"
#include "parser/check/values.h"
#include <fmt/format.h>
#include <utility>

namespace tl::checker {

namespace {

constexpr int kEllipsis = 256; // labels from here on: axes of `...`, counted from the last

struct Equation {
  std::vector<std::vector<int>> inputs; // letters; kEllipsis for `...`
  std::vector<int> output;
  bool has_output = false;
};

// Nothing, and what is wrong, if this is not an equation.
std::optional<Equation> parse_equation(const std::string& text, std::string& wrong) {
  Equation result;
  result.inputs.emplace_back();
  std::vector<int>* side = &result.inputs.back();
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == ' ') continue;
    if (c == ',' && !result.has_output) {
      side = &result.inputs.emplace_back();
    } else if (c == '-' && i + 1 < text.size() && text[i + 1] == '>' && !result.has_output) {
      ++i;
      result.has_output = true;
      side = &result.output;
    } else if (text.compare(i, 3, "...") == 0) {
      i += 2;
      if (std::find(side->begin(), side->end(), kEllipsis) != side->end()) {
        wrong = "`...` may appear only once in an operand";
        return std::nullopt;
      }
      side->push_back(kEllipsis);
    } else if (isalpha(static_cast<unsigned char>(c))) {
      if (result.has_output && std::find(side->begin(), side->end(), c) != side->end()) {
        wrong = fmt::format("`{}` appears twice after the arrow", c);
        return std::nullopt;
      }
      side->push_back(c);
    } else {
      wrong = fmt::format("`{}` is not part of an equation of `einsum`", c);
      return std::nullopt;
    }
  }
  return result;
}

void fail(Rule& r, Span at, const std::string& message) {
  r.fail("WrongArguments", at, message, "like `einsum(\"ij,jk->ik\", a, b)`");
}

std::string name_of_label(int label) {
  return label < kEllipsis ? fmt::format("`{}`", static_cast<char>(label)) : std::string("`...`");
}

bool contains(const std::vector<int>& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// The equation, of as many operands as are given. Nothing (and reported) if it is none.
std::optional<Equation> read_equation(Rule& r) {
  auto wrong = [&](Span at, const std::string& message) {
    fail(r, at, message);
    return std::nullopt;
  };
  for (const Arg& arg : r.args)
    if (!arg.name.empty()) return wrong(arg.name_span, "`einsum` takes its arguments by position");
  auto* text = r.args.empty() || !r.args[0].source ? nullptr : ast::as<ast::StringLiteral>(r.args[0].source);
  if (!text || text->parts.size() > 1 || (text->parts.size() == 1 && text->parts[0].value))
    return wrong(r.args.empty() ? r.span : r.args[0].span, "the equation of `einsum` is a text known when compiling");
  const Span at = r.args[0].span;
  std::string what;
  auto equation = parse_equation(text->parts.empty() ? "" : text->parts[0].text, what);
  if (!equation) return wrong(at, what);
  const size_t count = r.args.size() - 1;
  if (equation->inputs.size() != count)
    return wrong(at, fmt::format("the equation has {} operand{}, and {} {} given", equation->inputs.size(),
                                 equation->inputs.size() == 1 ? "" : "s", count, count == 1 ? "is" : "are"));
  return equation;
}

// Tensors of numbers of one type; none (and reported) if they are not that.
std::vector<ExprPtr> read_operands(Context& cx, Rule& r) {
  std::vector<ExprPtr> operands;
  for (size_t i = 1; i < r.args.size(); ++i) {
    Arg& arg = r.args[i];
    ExprPtr x = arg.value ? std::move(arg.value) : check_value(cx, arg.source);
    refresh(cx, *x);
    if (x->type.is_error())
      r.ok = false;
    else if (!x->type.is_tensor())
      r.fail("TypeMismatch", x->span, fmt::format("`einsum` takes tensors, not {}", show(cx, x->type)));
    operands.push_back(std::move(x));
  }
  if (!r.ok || !same_element(cx, operands, 0, "`einsum`", r.span)) return {};
  for (auto& x : operands) {
    refresh(cx, *x);
    if (x->type.open || is_num(x->type.dtype) || is_complex(x->type.dtype)) continue;
    r.fail("TypeMismatch", x->span, fmt::format("`einsum` takes numbers, not {}", show(cx, x->type)));
    return {};
  }
  return operands;
}

// The operands with a label for each axis, and how they become one.
struct Contraction {
  Context& cx;
  Rule& r;
  std::vector<ExprPtr> operands;
  std::vector<std::vector<int>> labels = std::vector<std::vector<int>>(operands.size()); // of their axes
  std::vector<SizeChecks> checks = std::vector<SizeChecks>(operands.size());             // of their sizes
  std::map<int, Size> sizes = {};                                                        // of each label
  std::map<int, size_t> seen = {};                                                       // how often
  std::vector<int> order = {};                                                           // of first appearance
  int ellipsis_rank = 0; // axes that the longest `...` stands for
  std::vector<int> output = {};

  bool label_axes(size_t i, const std::vector<int>& letters);
  bool measure_axes(size_t i);
  bool add_size(size_t i, int label, const Size& size);
  void add_ellipsis();
  bool find_output(const Equation& equation, Span at);
  ExprPtr node_of(std::vector<ExprPtr> xs, const std::vector<std::vector<int>>& of, const std::vector<int>& kept,
                  SizeChecks checked);
  ExprPtr node_of(ExprPtr x, const std::vector<int>& of, const std::vector<int>& kept, SizeChecks checked);
  void simplify_operand(size_t i);
  std::vector<int> kept_after(size_t i, const std::vector<int>& have) const;
  ExprPtr contract();
};

// The labels of an operand's axes, as its letters in the equation say.
bool Contraction::label_axes(size_t i, const std::vector<int>& letters) {
  const size_t rank = operands[i]->type.rank();
  bool open = contains(letters, kEllipsis);
  size_t own = letters.size() - (open ? 1 : 0);
  if (open ? own > rank : own != rank) {
    r.fail("ShapeMismatch", operands[i]->span,
           fmt::format("the equation names {}{} ax{} of this operand, which has {}", open ? "at least " : "", own,
                       own == 1 ? "is" : "es", rank),
           fmt::format("it is {}", show(cx, operands[i]->type)));
    return false;
  }
  for (int letter : letters) {
    if (letter != kEllipsis) {
      labels[i].push_back(letter);
      continue;
    }
    int extra = static_cast<int>(rank - own);
    ellipsis_rank = std::max(ellipsis_rank, extra);
    for (int k = extra; k-- > 0;)
      labels[i].push_back(kEllipsis + k);
  }
  return true;
}

bool Contraction::measure_axes(size_t i) {
  const std::vector<Size> shape = operands[i]->type.shape;
  for (size_t k = 0; k < shape.size(); ++k)
    if (!add_size(i, labels[i][k], shape[k])) return false;
  return true;
}

// An axis of operand i has this label and size: axes of one label have one size, or 1.
bool Contraction::add_size(size_t i, int label, const Size& size) {
  if (seen[label]++ == 0) order.push_back(label);
  auto [known, added] = sizes.emplace(label, size);
  if (added || size.is(1)) return true;
  if (known->second.is(1)) {
    known->second = size;
    return true;
  }
  if (require_equal(cx, known->second, size, true,
                    fmt::format("`einsum` needs one size for {}, but has {{0}} and {{1}}", name_of_label(label)),
                    r.span, checks[i]))
    return true;
  std::vector<Label> at_operands;
  for (const auto& x : operands)
    at_operands.push_back(label_of(cx, *x));
  add_origins(cx, known->second, size, at_operands);
  error(cx, "ShapeMismatch", r.span,
        fmt::format("`einsum` needs one size for {}, but has {}", name_of_label(label),
                    different(cx, known->second, size)),
        equality_hint(cx, known->second, size), std::move(at_operands));
  return false;
}

void Contraction::add_ellipsis() {
  for (int k = ellipsis_rank; k-- > 0;)
    output.push_back(kEllipsis + k);
}

// The labels of the result's axes; `at`: where the equation is.
bool Contraction::find_output(const Equation& equation, Span at) {
  if (!equation.has_output) { // as in NumPy: what occurs once, in alphabetical order
    add_ellipsis();
    for (const auto& [label, times] : seen)
      if (times == 1 && label < kEllipsis) output.push_back(label);
    return true;
  }
  for (int label : equation.output) {
    if (label == kEllipsis) {
      add_ellipsis();
      continue;
    }
    if (!seen.count(label)) {
      fail(r, at, fmt::format("{} appears after the arrow but in no operand", name_of_label(label)));
      return false;
    }
    output.push_back(label);
  }
  return true;
}

// A node of one or two operands, with labels numbered: kept ones first, then in order of appearance.
ExprPtr Contraction::node_of(std::vector<ExprPtr> xs, const std::vector<std::vector<int>>& of,
                             const std::vector<int>& kept, SizeChecks checked) {
  auto node = make_expr(typed::BuiltinExpr{Builtin::Einsum, typed::EinsumAttrs{}}, r.span,
                        cx.open.element_of(cx.open.resolved(xs[0]->type)));
  std::map<int, int64_t> number;
  for (int label : kept) {
    number.emplace(label, static_cast<int64_t>(number.size()));
    node->type.shape.push_back(sizes.at(label));
  }
  for (int label : order)
    for (const auto& own : of)
      if (contains(own, label)) number.emplace(label, static_cast<int64_t>(number.size()));
  auto& labels = node->attrs<typed::EinsumAttrs>();
  for (size_t i = 0; i < of.size(); ++i)
    for (int label : of[i])
      (i == 0 ? labels.lhs : labels.rhs).push_back(number.at(label));
  node->checks = std::move(checked);
  node->operands = std::move(xs);
  return node;
}

ExprPtr Contraction::node_of(ExprPtr x, const std::vector<int>& of, const std::vector<int>& kept, SizeChecks checked) {
  std::vector<ExprPtr> one;
  one.push_back(std::move(x));
  return node_of(std::move(one), {of}, kept, std::move(checked));
}

// Axes that stretch do not vary their operand: they go. Axes of one name in an operand become one, its diagonal; a
// single operand keeps them, for the node that sums.
void Contraction::simplify_operand(size_t i) {
  std::vector<Size> rest;
  std::vector<int> own;
  for (size_t k = 0; k < labels[i].size(); ++k) {
    const Size& size = operands[i]->type.shape[k];
    if (size.is(1) && !sizes.at(labels[i][k]).is(1)) continue;
    rest.push_back(size);
    own.push_back(labels[i][k]);
  }
  operands[i] = reshape_to(cx, std::move(operands[i]), rest, r.span);
  labels[i] = own;
  if (operands.size() == 1) return;
  std::vector<int> once;
  for (int label : own)
    if (!contains(once, label)) once.push_back(label);
  labels[i] = once;
  if (once.size() < own.size()) operands[i] = node_of(std::move(operands[i]), own, once, std::exchange(checks[i], {}));
}

// The labels that are still needed after operand i has been taken in by what has the labels `have`.
std::vector<int> Contraction::kept_after(size_t i, const std::vector<int>& have) const {
  if (i + 1 == operands.size()) return output;
  std::vector<int> kept;
  for (int label : order) {
    bool later = contains(output, label);
    for (size_t k = i + 1; k < operands.size(); ++k)
      later = later || contains(labels[k], label);
    if (later && (contains(have, label) || contains(labels[i], label))) kept.push_back(label);
  }
  return kept;
}

// Pairs from left to right; what is still needed is kept.
ExprPtr Contraction::contract() {
  for (size_t i = 0; i < operands.size(); ++i)
    simplify_operand(i);
  if (operands.size() == 1) return node_of(std::move(operands[0]), labels[0], output, std::move(checks[0]));
  ExprPtr result = std::move(operands[0]);
  std::vector<int> have = labels[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    std::vector<int> kept = kept_after(i, have);
    std::vector<ExprPtr> both;
    both.push_back(std::move(result));
    both.push_back(std::move(operands[i]));
    for (SizeCheck& check : checks[0])
      checks[i].push_back(std::move(check));
    checks[0].clear();
    result = node_of(std::move(both), {have, labels[i]}, kept, std::move(checks[i]));
    have = kept;
  }
  return result;
}

} // namespace

ExprPtr einsum_rule(Context& cx, Rule& r) {
  auto equation = read_equation(r);
  if (!equation) return nullptr;
  Contraction contraction{cx, r, read_operands(cx, r)};
  if (contraction.operands.empty()) return nullptr;
  for (size_t i = 0; i < equation->inputs.size(); ++i)
    if (!contraction.label_axes(i, equation->inputs[i]) || !contraction.measure_axes(i)) return nullptr;
  if (!contraction.find_output(*equation, r.args[0].span)) return nullptr;
  return contraction.contract();
}

} // namespace tl::checker
