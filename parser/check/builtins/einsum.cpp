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

} // namespace

ExprPtr einsum_rule(Context& cx, Rule& r) {
  auto fail = [&](Span at, const std::string& message) {
    r.fail("WrongArguments", at, message, "like `einsum(\"ij,jk->ik\", a, b)`");
    return nullptr;
  };
  for (const Arg& arg : r.args)
    if (!arg.name.empty()) return fail(arg.name_span, "`einsum` takes its arguments by position");
  auto* text = r.args.empty() || !r.args[0].source ? nullptr : ast::as<ast::StringLiteral>(r.args[0].source);
  if (!text || text->parts.size() > 1 || (text->parts.size() == 1 && text->parts[0].value))
    return fail(r.args.empty() ? r.span : r.args[0].span, "the equation of `einsum` is a text known when compiling");
  const Span at = r.args[0].span;
  std::string wrong;
  auto equation = parse_equation(text->parts.empty() ? "" : text->parts[0].text, wrong);
  if (!equation) return fail(at, wrong);
  const size_t count = r.args.size() - 1;
  if (equation->inputs.size() != count)
    return fail(at, fmt::format("the equation has {} operand{}, and {} {} given", equation->inputs.size(),
                                equation->inputs.size() == 1 ? "" : "s", count, count == 1 ? "is" : "are"));

  std::vector<ExprPtr> operands;
  for (size_t i = 1; i <= count; ++i) {
    Arg& arg = r.args[i];
    ExprPtr x = arg.value ? std::move(arg.value) : check_value(cx, arg.source);
    refresh(cx, *x);
    if (x->type.is_error())
      r.ok = false;
    else if (!x->type.is_tensor())
      r.fail("TypeMismatch", x->span, fmt::format("`einsum` takes tensors, not {}", show(cx, x->type)));
    operands.push_back(std::move(x));
  }
  if (!r.ok || !same_element(cx, operands, 0, "`einsum`", r.span)) return nullptr;
  for (auto& x : operands) {
    refresh(cx, *x);
    if (x->type.open || is_num(x->type.dtype)) continue;
    r.fail("TypeMismatch", x->span, fmt::format("`einsum` takes numbers, not {}", show(cx, x->type)));
    return nullptr;
  }

  // A label for each axis, and the size of each label.
  std::vector<std::vector<int>> labels(count);
  std::vector<std::vector<SizeCheck>> checks(count);
  std::map<int, Size> sizes;
  std::map<int, size_t> seen; // how often
  std::vector<int> order;     // of first appearance
  int ellipsis_rank = 0;
  auto name_of_label = [](int label) {
    return label < kEllipsis ? fmt::format("`{}`", static_cast<char>(label)) : std::string("`...`");
  };
  for (size_t i = 0; i < count; ++i) {
    const std::vector<int>& letters = equation->inputs[i];
    const std::vector<Size> shape = operands[i]->type.shape;
    bool open = std::find(letters.begin(), letters.end(), kEllipsis) != letters.end();
    size_t own = letters.size() - (open ? 1 : 0);
    if (open ? own > shape.size() : own != shape.size()) {
      r.fail("ShapeMismatch", operands[i]->span,
             fmt::format("the equation names {}{} ax{} of this operand, which has {}", open ? "at least " : "", own,
                         own == 1 ? "is" : "es", shape.size()),
             fmt::format("it is {}", show(cx, operands[i]->type)));
      return nullptr;
    }
    for (int letter : letters) {
      if (letter != kEllipsis) {
        labels[i].push_back(letter);
        continue;
      }
      int extra = static_cast<int>(shape.size() - own);
      ellipsis_rank = std::max(ellipsis_rank, extra);
      for (int k = extra; k-- > 0;)
        labels[i].push_back(kEllipsis + k);
    }
    for (size_t k = 0; k < shape.size(); ++k) {
      int label = labels[i][k];
      if (seen[label]++ == 0) order.push_back(label);
      auto [known, added] = sizes.emplace(label, shape[k]);
      if (added || shape[k].is(1)) continue;
      if (known->second.is(1)) {
        known->second = shape[k];
        continue;
      }
      if (!require_equal(cx, known->second, shape[k], true,
                         fmt::format("`einsum` needs one size for {}, but has {{0}} and {{1}}", name_of_label(label)),
                         r.span, checks[i])) {
        std::vector<Label> at_operands;
        for (const auto& x : operands)
          at_operands.push_back(label_of(cx, *x));
        add_origins(cx, known->second, shape[k], at_operands);
        error(cx, "ShapeMismatch", r.span,
              fmt::format("`einsum` needs one size for {}, but has {}", name_of_label(label),
                          different(cx, known->second, shape[k])),
              equality_hint(cx, known->second, shape[k]), std::move(at_operands));
        return nullptr;
      }
    }
  }
  std::vector<int> output;
  auto add_ellipsis = [&] {
    for (int k = ellipsis_rank; k-- > 0;)
      output.push_back(kEllipsis + k);
  };
  if (equation->has_output) {
    for (int label : equation->output) {
      if (label == kEllipsis) {
        add_ellipsis();
        continue;
      }
      if (!seen.count(label))
        return fail(at, fmt::format("{} appears after the arrow but in no operand", name_of_label(label)));
      output.push_back(label);
    }
  } else { // as in NumPy: what stands once, in alphabetical order
    add_ellipsis();
    for (const auto& [label, times] : seen)
      if (times == 1 && label < kEllipsis) output.push_back(label);
  }

  // A node of one or two operands, with labels numbered: kept ones first, then in order of appearance.
  auto node_of = [&](std::vector<ExprPtr> xs, const std::vector<std::vector<int>>& of, const std::vector<int>& kept,
                     std::vector<SizeCheck> checked) {
    auto node = make_expr(ExprKind::Builtin, r.span, cx.open.element_of(cx.open.resolved(xs[0]->type)));
    node->builtin = Builtin::Einsum;
    std::map<int, int64_t> number;
    for (int label : kept) {
      number.emplace(label, static_cast<int64_t>(number.size()));
      node->type.shape.push_back(sizes.at(label));
    }
    for (int label : order)
      for (const auto& own : of)
        if (std::find(own.begin(), own.end(), label) != own.end())
          number.emplace(label, static_cast<int64_t>(number.size()));
    for (const auto& own : of)
      for (int label : own)
        node->ints.push_back(number.at(label));
    node->checks = std::move(checked);
    node->operands = std::move(xs);
    return node;
  };
  auto single = [](ExprPtr x) {
    std::vector<ExprPtr> one;
    one.push_back(std::move(x));
    return one;
  };

  // Axes that stretch do not vary their operand: they go. Axes of one name in an operand become one, its diagonal.
  for (size_t i = 0; i < count; ++i) {
    std::vector<Size> rest;
    std::vector<int> own;
    for (size_t k = 0; k < labels[i].size(); ++k) {
      const Size& size = operands[i]->type.shape[k];
      if (size.is(1) && !sizes.at(labels[i][k]).is(1)) continue;
      rest.push_back(size);
      own.push_back(labels[i][k]);
    }
    operands[i] = reshape_to(cx, std::move(operands[i]), rest, r.span);
    std::vector<int> once;
    for (int label : own)
      if (std::find(once.begin(), once.end(), label) == once.end()) once.push_back(label);
    labels[i] = once;
    if (count == 1)
      labels[i] = own;
    else if (once.size() < own.size())
      operands[i] = node_of(single(std::move(operands[i])), {own}, once, std::exchange(checks[i], {}));
  }
  if (count == 1) return node_of(single(std::move(operands[0])), labels, output, std::move(checks[0]));

  // Pairs from left to right; what is still needed is kept.
  ExprPtr result = std::move(operands[0]);
  std::vector<int> have = labels[0];
  for (size_t i = 1; i < count; ++i) {
    std::vector<int> kept = output;
    if (i + 1 < count) {
      kept.clear();
      for (int label : order) {
        auto in = [&](const std::vector<int>& where) {
          return std::find(where.begin(), where.end(), label) != where.end();
        };
        bool later = in(output);
        for (size_t k = i + 1; k < count; ++k)
          later = later || in(labels[k]);
        if (later && (in(have) || in(labels[i]))) kept.push_back(label);
      }
    }
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

} // namespace tl::checker
