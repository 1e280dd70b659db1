// batches(x…, size): parts of tensors along their first axis, one after the other or shuffled.
#include "parser/check/batches.h"
#include "parser/check/builtins/rules.h"
#include "parser/check/calls.h"
#include "parser/check/expressions.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

namespace {

// batches(x…, size, key = none, start = 0), as it is called.
struct BatchArguments {
  std::vector<Arg*> tensors;
  Arg *size = nullptr, *key = nullptr, *start = nullptr;
};

// What it cuts, once it is checked: `by` rows at a time, beginning with batch `from`.
struct Batches {
  std::vector<std::shared_ptr<typed::Expr>> held;
  std::shared_ptr<typed::Expr> order; // of the rows; null: as they are
  Size rows, by, from;
  bool claimed = false; // what is cut depends on checks
};

// Reports a wrong call.
std::nullopt_t wrong_batches(Context& cx, Span at, const std::string& message, const std::string& hint = {}) {
  error(cx, "WrongArguments", at, message, hint);
  return std::nullopt;
}

std::optional<BatchArguments> batch_arguments(Context& cx, std::vector<Arg>& args, Span span) {
  BatchArguments given;
  for (Arg& arg : args) {
    if (arg.name.empty())
      given.tensors.push_back(&arg);
    else if (arg.name == "size")
      given.size = &arg;
    else if (arg.name == "key")
      given.key = &arg;
    else if (arg.name == "start")
      given.start = &arg;
    else
      return wrong_batches(cx, arg.name_span, fmt::format("`batches` has no parameter `{}`", arg.name),
                           fmt::format("it is {}", signature_of(cx, Builtin::Batches)));
  }
  if (!given.size && given.tensors.size() > 1) {
    given.size = given.tensors.back();
    given.tensors.pop_back();
  }
  if (!given.size || given.tensors.empty())
    return wrong_batches(cx, span, "`batches` takes tensors and the size of a batch", "like `batches(x, y, 64)`");
  return given;
}

ExprPtr argument_value(Context& cx, Arg& arg) { return arg.value ? std::move(arg.value) : check_value(cx, arg.source); }

// A number that is an argument, as a size.
std::optional<Size> size_of_argument(Context& cx, Arg& arg, const std::string& what, typed::Block& before) {
  ExprPtr v = to_i64(cx, argument_value(cx, arg), what);
  cx.open.settle(v->type);
  if (v->type.is_error()) return std::nullopt;
  return bound_size(cx, std::move(v), "", before);
}

// The tensors that batches are cut from; empty where one is wrong.
std::vector<ExprPtr> batch_tensors(Context& cx, const std::vector<Arg*>& tensors) {
  std::vector<ExprPtr> values;
  for (Arg* arg : tensors) {
    ExprPtr v = argument_value(cx, *arg);
    if (refresh(cx, *v).is_error()) return {};
    cx.open.settle(v->type);
    if (!v->type.is_tensor() || v->type.rank() == 0) {
      error(cx, "TypeMismatch", arg->span,
            fmt::format("`batches` cuts tensors along their first axis, and this is {}", show(cx, v->type)),
            v->type.is_tuple() ? "several tensors are several arguments: `batches(x, y, 32)`" : "", {label_of(cx, *v)});
      return {};
    }
    values.push_back(std::move(v));
  }
  return values;
}

// All tensors have as many rows as the first.
bool have_equal_rows(Context& cx, const std::vector<ExprPtr>& values, const std::vector<Arg*>& tensors,
                     SizeChecks& checks) {
  const Size& rows = values[0]->type.shape[0];
  for (size_t i = 1; i < values.size(); ++i) {
    const Size& other = values[i]->type.shape[0];
    std::string message =
        fmt::format("`batches` needs tensors of equally many rows, but `{}` has {{0}} and `{}` has {{1}}",
                    source_text(cx, tensors[0]->span), source_text(cx, tensors[i]->span));
    if (require_equal(cx, rows, other, false, message, tensors[i]->span, checks, true)) continue;
    std::vector<Label> labels{label_of(cx, *values[0]), label_of(cx, *values[i])};
    add_origins(cx, rows, other, labels);
    error(cx, "ShapeMismatch", tensors[i]->span,
          fmt::format("`batches` needs tensors of equally many rows, but has {}", different(cx, rows, other)), "",
          std::move(labels));
    return false;
  }
  return true;
}

// permutation(key, rows), for shuffled batches; null where the key is `none`, an error where something is wrong.
ExprPtr row_order(Context& cx, Arg& key, const Size& rows) {
  if (ast::as<ast::NoneLiteral>(key.source)) return nullptr;
  auto permutation = find_callable(cx, "permutation", true);
  if (!permutation) {
    error(cx, "NotSupported", key.name_span, "shuffled batches are not supported yet");
    return broken(key.span);
  }
  std::vector<Arg> pair(2);
  pair[0].span = pair[1].span = key.span;
  pair[0].source = key.source;
  pair[0].value = std::move(key.value);
  pair[1].value = size_expr(rows, key.span);
  return call_named(cx, *permutation, "permutation", key.span, std::move(pair), key.span, false, nullptr);
}

// Rows first and following, so many of them.
ExprPtr rows_of(const typed::Expr& x, const Size& first, const Size& length, bool claimed, Span at) {
  auto node = make_expr(typed::IndexExpr{}, at, x.type);
  node->type.shape[0] = length;
  typed::Subscript slice;
  slice.kind = typed::Subscript::Kind::Slice;
  slice.start = first;
  slice.length = length;
  slice.claimed = claimed;
  slice.span = at;
  node->as<typed::IndexExpr>().subscripts.push_back(std::move(slice));
  add_full_axes(*node, x.type.rank() - 1, at);
  node->operands.push_back(copy_simple(x));
  return node;
}

// The batch at a position: of one tensor, or the tuple of them.
ExprPtr batch_at(Context& cx, const Batches& batches, const Size& position, Span at) {
  Size first = (batches.from + position) * batches.by;
  Size length = cx.program.atoms.min(batches.by, batches.rows - first, sure_facts(cx));
  std::vector<ExprPtr> parts;
  for (const auto& x : batches.held) {
    if (!batches.order) {
      parts.push_back(rows_of(*x, first, length, batches.claimed, at));
      continue;
    }
    auto take = make_expr(typed::BuiltinExpr{Builtin::Take, typed::AxisAttrs{0}}, at, x->type);
    take->type.shape[0] = length;
    take->operands.push_back(copy_simple(*x));
    take->operands.push_back(rows_of(*batches.order, first, length, batches.claimed, at));
    parts.push_back(std::move(take));
  }
  if (parts.size() == 1) return std::move(parts[0]);
  auto tuple = make_expr(typed::TupleExpr{}, at, Type::tuple({}));
  for (ExprPtr& p : parts) {
    tuple->type.elements.push_back(p->type);
    tuple->operands.push_back(std::move(p));
  }
  return tuple;
}

// batches(x…, size, key = none, start = 0): rows start * size and following, `size` at a time.
std::optional<Batches> check_batches(Context& cx, std::vector<Arg>& args, Span span, typed::Block& before) {
  auto given = batch_arguments(cx, args, span);
  if (!given) return std::nullopt;
  std::vector<ExprPtr> values = batch_tensors(cx, given->tensors);
  if (values.empty()) return std::nullopt;
  std::optional<Size> size = size_of_argument(cx, *given->size, "the size of a batch", before);
  std::optional<Size> start = given->start ? size_of_argument(cx, *given->start, "`start`", before) : Size(0);
  if (!size || !start) return std::nullopt;
  // One number of rows, and a size of at least 1: checks stand where the first tensor is bound.
  SizeChecks checks;
  if (!have_equal_rows(cx, values, given->tensors, checks)) return std::nullopt;
  if (size->is_constant() && size->constant() < 1)
    return wrong_batches(cx, given->size->span, "a batch has at least one row");
  require_size(cx, *size, 1, "a batch has at least one row, and the size is {0}", given->size->span, checks);
  require_size(cx, *start, 0, "`start` cannot be {0}", given->start ? given->start->span : span, checks);
  Batches batches;
  batches.rows = values[0]->type.shape[0];
  batches.by = *size;
  batches.from = *start;
  ExprPtr order = given->key ? row_order(cx, *given->key, batches.rows) : nullptr;
  if (order && refresh(cx, *order).is_error()) return std::nullopt;
  batches.claimed = !checks.empty(); // what is cut depends on the first tensor alone
  if (batches.claimed) {
    auto checked = make_expr(typed::RecastExpr{}, values[0]->span, values[0]->type);
    checked->checks = std::move(checks);
    checked->operands.push_back(std::move(values[0]));
    values[0] = std::move(checked);
  }
  for (ExprPtr& v : values)
    batches.held.emplace_back(kept(cx, std::move(v), before));
  if (order) batches.order = kept(cx, std::move(order), before);
  return batches;
}

} // namespace

Iteration iterate_batches(Context& cx, std::vector<Arg>& args, Span span, typed::Block& before) {
  auto batches = check_batches(cx, args, span, before);
  if (!batches) return {};
  Iteration result;
  Size all = cx.program.atoms.floor_div(batches->rows + batches->by - Size(1), batches->by);
  result.count = cx.program.atoms.positive(all - batches->from, sure_facts(cx));
  result.element = [&cx, batches = *std::move(batches)](const Size& position, Span at) {
    return batch_at(cx, batches, position, at);
  };
  return result;
}

} // namespace tl::checker
