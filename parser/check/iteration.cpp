// What `for` and comprehensions go over: lists, rows of tensors, ranges, and enumerate, zip and batches of these. As a
// value, such a call is a list; in a loop no list is made.
#include "parser/check/iteration.h"
#include "lang/typed_walk.h"
#include "parser/check/builtins/devices.h"
#include "parser/check/builtins/rules.h"
#include "parser/check/calls.h"
#include "parser/check/comprehensions.h"
#include "parser/check/expressions.h"
#include "parser/check/lists.h"
#include "parser/check/modules.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/statements.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

static Iteration iterate_call(Context& cx, Builtin builtin, std::vector<Arg>& args, Span span, typed::Block& before,
                              bool numbers_together = false);

static Iteration iterate_batches(Context& cx, std::vector<Arg>& args, Span span, typed::Block& before);

// An i64 value as a size, held by a variable that `before` binds.
Size bound_size(Context& cx, ExprPtr value, const std::string& name, typed::Block& before) {
  if (auto known = size_of(cx, *value)) return *known;
  Span span = value->span;
  VarId var = new_variable(cx, name, Type::scalar(DType::I64), false, span);
  bind_atom(cx, var);
  typed::Stmt let;
  let.kind = StmtKind::Let;
  let.span = span;
  let.pattern.var = var;
  let.value = std::move(value);
  before.statements.push_back(std::move(let));
  return Size::of(cx.program.variables[var.index].atom);
}

Iteration iterate_value(Context& cx, ExprPtr value, typed::Block& before, bool numbers_together) {
  Type type = refresh(cx, *value);
  Span span = value->span;
  Iteration result;
  if (type.is_error()) return result;
  if (type.is_range()) {
    // ceil((hi - lo) / step)
    Size distance = type.shape[1] - type.shape[0], step = type.shape[2];
    if (distance.is_too_large()) {
      error(cx, "SizeOverflow", span, "the distance between the ends of this range is no i64");
      return result;
    }
    if (!step.is_constant()) {
      error(cx, "NotSupported", span, "this range needs a constant step here");
      return result;
    }
    int64_t by = step.constant();
    Size reach = cx.program.atoms.positive(by < 0 ? Size(0) - distance : distance, sure_facts(cx));
    result.count = steps_within(cx, reach, by);
    typed::Stmt evaluate; // for the atoms in its bounds
    evaluate.kind = StmtKind::Let;
    evaluate.span = span;
    evaluate.value = std::move(value);
    before.statements.push_back(std::move(evaluate));
    result.element = [&cx, lo = type.shape[0], step](const Size& position, Span at) {
      return size_expr(lo + position * step, at);
    };
    return result;
  }
  if (type.is_list() && numbers_together && !type.elements.empty() && type.elements[0].is_scalar() &&
      !is_device(type.elements[0])) {
    value = list_stacked(cx, std::move(value), span);
    type = value->type;
  }
  if (type.is_list()) {
    cx.open.settle(value->type);
    std::shared_ptr<typed::Expr> held = kept(cx, std::move(value), before);
    result.count = bound_size(cx, list_length(copy_simple(*held), span), "len", before);
    result.is_list = true;
    result.element = [&cx, held](const Size& position, Span at) {
      return list_get(cx, copy_simple(*held), size_expr(position, at), true, at);
    };
    return result;
  }
  if (type.is_tensor() && type.rank() > 0) {
    std::shared_ptr<typed::Expr> held = kept(cx, std::move(value), before);
    result.count = type.shape[0];
    result.element = [&cx, held](const Size& position, Span at) {
      auto node = make_expr(ExprKind::Index, at, refresh(cx, *held));
      node->type.shape.erase(node->type.shape.begin());
      typed::Subscript row;
      row.kind = typed::Subscript::Kind::At;
      row.value = size_expr(position, at);
      row.in_range = true;
      row.span = at;
      node->subscripts.push_back(std::move(row));
      for (size_t k = 1; k < held->type.rank(); ++k) {
        typed::Subscript full;
        full.span = at;
        node->subscripts.push_back(std::move(full));
      }
      node->operands.push_back(copy_simple(*held));
      return node;
    };
    return result;
  }
  error(cx, "TypeMismatch", span,
        fmt::format("a loop iterates over a range, a list or the rows of a tensor, not {}", show(cx, type)),
        type.is_scalar() ? fmt::format("write `0..{}`", source_text(cx, span))
        : type.is_str()  ? fmt::format("`lines({0})` and `{0}.split(\" \")` are lists", source_text(cx, span))
                         : "",
        {{span, show(cx, type)}});
  return result;
}

bool iterates(Context& cx, const ast::Expr* e) {
  const std::string* name = nullptr;
  if (auto* call = ast::as<ast::Call>(e)) {
    if (auto* callee = ast::as<ast::Name>(call->callee)) name = &callee->name;
  } else if (auto* method = ast::as<ast::MethodCall>(e)) {
    name = &method->name.text;
    // data.batches is the prelude's; a module may have functions of its own under these names.
    Scope* module = module_of(cx, method->receiver);
    if (module && (module->prefix.empty() || callable_in(cx, module, *name))) return false;
  }
  if (!name) return false;
  auto callable = find_callable(cx, *name, !ast::as<ast::Call>(e));
  return callable && (callable->builtin == Builtin::Enumerate || callable->builtin == Builtin::Zip ||
                      callable->builtin == Builtin::Batches);
}

Iteration iterate(Context& cx, const ast::Expr* e, typed::Block& before, bool numbers_together) {
  if (!iterates(cx, e)) return iterate_value(cx, check_value(cx, e), before, numbers_together);
  std::vector<Arg> args;
  std::string name;
  const std::vector<ast::Argument>* given = nullptr;
  if (auto* call = ast::as<ast::Call>(e)) {
    name = ast::as<ast::Name>(call->callee)->name;
    given = &call->arguments;
  } else {
    auto* method = ast::as<ast::MethodCall>(e);
    name = method->name.text;
    if (!module_of(cx, method->receiver))
      args.push_back({"", method->receiver, method->receiver->span, {}, nullptr, std::nullopt});
    given = &method->arguments;
  }
  for (const ast::Argument& a : *given)
    args.push_back({a.name.text, a.value, a.value->span, a.name.span, nullptr, std::nullopt});
  return iterate_call(cx, *find_callable(cx, name, true)->builtin, args, e->span, before, numbers_together);
}

static Iteration iterate_call(Context& cx, Builtin builtin, std::vector<Arg>& args, Span span, typed::Block& before,
                              bool numbers_together) {
  if (builtin == Builtin::Batches) return iterate_batches(cx, args, span, before);
  bool is_zip = builtin == Builtin::Zip;
  for (const Arg& arg : args)
    if (!arg.name.empty()) {
      error(cx, "WrongArguments", arg.name_span,
            fmt::format("`{}` has no parameter `{}`", info(builtin).name, arg.name));
      return {};
    }
  if (is_zip ? args.empty() : args.size() != 1) {
    error(cx, "WrongArguments", span,
          is_zip ? "`zip` iterates over several lists or tensors" : "`enumerate` iterates over one list or tensor",
          fmt::format("it is {}", signature_of(cx, builtin)));
    return {};
  }
  std::vector<Iteration> parts;
  for (Arg& arg : args) {
    parts.push_back(arg.value ? iterate_value(cx, std::move(arg.value), before, numbers_together)
                              : iterate(cx, arg.source, before, numbers_together));
    if (!parts.back().element) return {};
  }
  Iteration result;
  result.count = parts[0].count;
  for (const Iteration& part : parts) {
    result.count = cx.program.atoms.min(result.count, part.count, sure_facts(cx));
    result.is_list = result.is_list || part.is_list;
  }
  result.element = [&cx, parts, is_zip](const Size& position, Span at) {
    auto tuple = make_expr(ExprKind::Tuple, at, Type::tuple({}));
    if (!is_zip) tuple->operands.push_back(size_expr(position, at));
    for (const Iteration& part : parts)
      tuple->operands.push_back(part.element(position, at));
    for (const auto& operand : tuple->operands) {
      tuple->type.elements.push_back(operand->type);
      if (operand->type.is_error()) tuple->type = Type::error();
    }
    return tuple;
  };
  return result;
}

// batches(x…, size, key = none, start = 0): rows start * size and following, `size` at a time.
static Iteration iterate_batches(Context& cx, std::vector<Arg>& args, Span span, typed::Block& before) {
  auto fail = [&](Span at, const std::string& message, const std::string& hint = {}) -> Iteration {
    error(cx, "WrongArguments", at, message, hint);
    return {};
  };
  Arg *size_arg = nullptr, *key_arg = nullptr, *start_arg = nullptr;
  std::vector<Arg*> tensors;
  for (Arg& arg : args) {
    if (arg.name.empty())
      tensors.push_back(&arg);
    else if (arg.name == "size")
      size_arg = &arg;
    else if (arg.name == "key")
      key_arg = &arg;
    else if (arg.name == "start")
      start_arg = &arg;
    else
      return fail(arg.name_span, fmt::format("`batches` has no parameter `{}`", arg.name),
                  fmt::format("it is {}", signature_of(cx, Builtin::Batches)));
  }
  if (!size_arg && tensors.size() > 1) {
    size_arg = tensors.back();
    tensors.pop_back();
  }
  if (!size_arg || tensors.empty())
    return fail(span, "`batches` takes tensors and the size of a batch", "like `batches(x, y, 64)`");
  auto number = [&](Arg& arg, const std::string& name) -> std::optional<Size> {
    ExprPtr v = to_i64(cx, arg.value ? std::move(arg.value) : check_value(cx, arg.source), name);
    cx.open.settle(v->type);
    if (v->type.is_error()) return std::nullopt;
    return bound_size(cx, std::move(v), "", before);
  };
  std::vector<ExprPtr> values;
  for (Arg* arg : tensors) {
    ExprPtr v = arg->value ? std::move(arg->value) : check_value(cx, arg->source);
    if (refresh(cx, *v).is_error()) return {};
    cx.open.settle(v->type);
    if (!v->type.is_tensor() || v->type.rank() == 0) {
      error(cx, "TypeMismatch", arg->span,
            fmt::format("`batches` cuts tensors along their first axis, and this is {}", show(cx, v->type)), "",
            {label_of(cx, *v)});
      return {};
    }
    values.push_back(std::move(v));
  }
  std::optional<Size> size = number(*size_arg, "the size of a batch");
  std::optional<Size> start = start_arg ? number(*start_arg, "`start`") : Size(0);
  if (!size || !start) return {};
  // One number of rows, and a size of at least 1: checks stand where the first tensor is bound.
  std::vector<SizeCheck> checks;
  const Size rows = values[0]->type.shape[0];
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
    return {};
  }
  if (size->is_constant() && size->constant() < 1) return fail(size_arg->span, "a batch has at least one row");
  require_size(cx, *size, 1, "a batch has at least one row, and the size is {0}", size_arg->span, checks);
  require_size(cx, *start, 0, "`start` cannot be {0}", start_arg ? start_arg->span : span, checks);
  ExprPtr order;
  if (key_arg) {
    bool none = ast::as<ast::NoneLiteral>(key_arg->source) != nullptr;
    auto permutation = find_callable(cx, "permutation", true);
    if (!none && !permutation) {
      error(cx, "NotSupported", key_arg->name_span, "shuffled batches are not supported yet");
      return {};
    }
    if (!none) {
      std::vector<Arg> pair(2);
      pair[0].span = pair[1].span = key_arg->span;
      pair[0].source = key_arg->source;
      pair[0].value = std::move(key_arg->value);
      pair[1].value = size_expr(rows, key_arg->span);
      order =
          call_named(cx, *permutation, "permutation", key_arg->span, std::move(pair), key_arg->span, false, nullptr);
      if (refresh(cx, *order).is_error()) return {};
    }
  }
  const bool claimed = !checks.empty(); // what is cut depends on the first tensor alone
  if (claimed) {
    auto checked = make_expr(ExprKind::Recast, values[0]->span, values[0]->type);
    checked->checks = std::move(checks);
    checked->operands.push_back(std::move(values[0]));
    values[0] = std::move(checked);
  }
  std::vector<std::shared_ptr<typed::Expr>> held;
  for (ExprPtr& v : values)
    held.emplace_back(kept(cx, std::move(v), before));
  std::shared_ptr<typed::Expr> rows_in_order;
  if (order) rows_in_order = kept(cx, std::move(order), before);
  Iteration result;
  Size batches = cx.program.atoms.floor_div(rows + *size - Size(1), *size);
  result.count = cx.program.atoms.positive(batches - *start, sure_facts(cx));
  result.element = [&cx, held, rows_in_order, rows, claimed, by = *size, from = *start](const Size& position, Span at) {
    Size first = (from + position) * by, length = cx.program.atoms.min(by, rows - first, sure_facts(cx));
    auto part = [&](const typed::Expr& x) {
      auto node = make_expr(ExprKind::Index, at, x.type);
      node->type.shape[0] = length;
      typed::Subscript slice;
      slice.kind = typed::Subscript::Kind::Slice;
      slice.start = first;
      slice.length = length;
      slice.claimed = claimed;
      slice.span = at;
      node->subscripts.push_back(std::move(slice));
      for (size_t k = 1; k < x.type.rank(); ++k) {
        typed::Subscript full;
        full.span = at;
        node->subscripts.push_back(std::move(full));
      }
      node->operands.push_back(copy_simple(x));
      return node;
    };
    std::vector<ExprPtr> parts;
    for (const auto& x : held) {
      if (!rows_in_order) {
        parts.push_back(part(*x));
        continue;
      }
      auto take = make_expr(ExprKind::Builtin, at, x->type);
      take->builtin = Builtin::Take;
      take->ints = {0};
      take->type.shape[0] = length;
      take->operands.push_back(copy_simple(*x));
      take->operands.push_back(part(*rows_in_order));
      parts.push_back(std::move(take));
    }
    if (parts.size() == 1) return std::move(parts[0]);
    auto tuple = make_expr(ExprKind::Tuple, at, Type::tuple({}));
    for (ExprPtr& p : parts) {
      tuple->type.elements.push_back(p->type);
      tuple->operands.push_back(std::move(p));
    }
    return tuple;
  };
  return result;
}

// enumerate, zip and batches where a value is wanted.
ExprPtr iteration_call(Context& cx, Builtin builtin, Rule& r) {
  typed::Block before;
  size_t first_inner = cx.program.atoms.size();
  Iteration over = iterate_call(cx, builtin, r.args, r.span, before);
  if (!over.element) return nullptr;
  VarId probe = new_variable(cx, "", Type::scalar(DType::I64), false, r.span);
  bind_atom(cx, probe);
  AtomId position = cx.program.variables[probe.index].atom;
  first_inner = position.index;
  Type type = refresh(cx, *over.element(Size::of(position), r.span));
  if (type.is_error()) return nullptr;
  Type list = list_of(cx, type, [&](const Size& size) {
    std::vector<AtomId> atoms;
    cx.program.atoms.collect(size, atoms);
    return std::any_of(atoms.begin(), atoms.end(), [&](AtomId a) { return a.index >= first_inner; });
  });
  return build_list(
      cx, list, over.count, std::move(before), [&](ExprPtr at) { return over.element(*size_of(cx, *at), r.span); },
      r.span);
}

// list(e for p in xs, q in ys if c): loops that append.
ExprPtr list_comprehension(Context& cx, const ast::Comprehension& c, Span span, const Type* expected) {
  const Type* wanted =
      expected && expected->is_list() && !expected->elements.empty() ? &expected->elements[0] : nullptr;
  auto saved_current = cx.function->current;
  std::optional<InsideComprehension> inside(cx);

  VarId built = new_variable(cx, "", Type::make(TypeKind::List), true, span);
  typed::Block whole;
  // Each clause's block holds what is bound before its loop, then the loop; the next clause stands in its body.
  std::vector<typed::Block> blocks(1);
  std::vector<typed::Stmt> loops;
  size_t first_inner = cx.program.atoms.size();
  bool fine = true, all_bound = true;
  for (const auto& clause : c.clauses) {
    typed::Block& before = blocks.back();
    typed::Stmt loop;
    loop.kind = StmtKind::For;
    loop.span = clause.span;
    if (!clause.range) {
      error(cx, "UnboundIndex", clause.span, "an index of a list has its range written", "like `i in 0..n`");
      fine = all_bound = false;
      break;
    }
    Iteration over = iterate(cx, clause.range, before);
    push_scope(cx);
    if (!over.element) {
      fine = false;
      std::function<void(const ast::Pattern&)> poison = [&](const ast::Pattern& p) {
        Entity entity;
        entity.span = p.span;
        if (p.kind == ast::Pattern::Kind::Name) enter(cx, p.name, entity);
        for (const ast::Pattern* inner : p.elements)
          poison(*inner);
      };
      poison(*clause.pattern);
      loops.push_back(std::move(loop));
      blocks.emplace_back();
      continue;
    }
    loop.value = make_expr(ExprKind::Range, clause.range->span, Type::range(0, over.count, 1));
    VarId var = new_variable(cx, "", Type::scalar(DType::I64), false, clause.span);
    bind_atom(cx, var);
    loop.pattern.var = var;
    Size position = Size::of(cx.program.variables[var.index].atom);
    learn_index(cx, position, 0, over.count);
    loops.push_back(std::move(loop));
    blocks.emplace_back();
    typed::Stmt let;
    let.kind = StmtKind::Let;
    let.span = clause.range->span;
    let.value = over.element(position, clause.range->span);
    let.pattern = bind_pattern(cx, *clause.pattern, refresh(cx, *let.value), false, let.value.get());
    blocks.back().statements.push_back(std::move(let));
  }
  ExprPtr filter;
  if (fine && c.filter) {
    filter = check_condition(cx, c.filter);
    fine = !filter->type.is_error();
    if (fine) learn_condition(cx, *filter, true);
  }
  ExprPtr element;
  if (all_bound) element = check_value(cx, c.element, wanted);
  if (element && wanted && fine) element = coerce(cx, std::move(element), *wanted, "an element of the list");
  inside.reset();
  VarId keep = built;
  cx.function->current = saved_current;
  if (!element || refresh(cx, *element).is_error() || !fine) return broken(span);
  if (element->type.is_unit() || element->type.is_range()) {
    error(cx, "TypeMismatch", element->span, fmt::format("{} cannot be an element of a list", show(cx, element->type)));
    return broken(span);
  }
  cx.open.settle(element->type);
  Type list = wanted ? list_of(cx, *wanted) : list_of(cx, element->type, [&](const Size& size) {
    std::vector<AtomId> atoms;
    cx.program.atoms.collect(size, atoms);
    return std::any_of(atoms.begin(), atoms.end(), [&](AtomId a) { return a.index >= first_inner; });
  });
  cx.program.variables[built.index].type = list;
  cx.function->current[keep] = list;
  typed::Stmt append = append_to(cx, built, list, std::move(element), span);
  if (filter) {
    auto chosen = make_expr(ExprKind::If, filter->span, Type::unit());
    chosen->operands.push_back(std::move(filter));
    chosen->blocks.resize(2);
    chosen->blocks[0].statements.push_back(std::move(append));
    typed::Stmt choose;
    choose.span = span;
    choose.value = std::move(chosen);
    blocks.back().statements.push_back(std::move(choose));
  } else {
    blocks.back().statements.push_back(std::move(append));
  }
  for (size_t i = loops.size(); i-- > 0;) {
    loops[i].body = std::move(blocks[i + 1]);
    blocks[i].statements.push_back(std::move(loops[i]));
  }
  typed::Stmt start;
  start.kind = StmtKind::Let;
  start.span = span;
  start.pattern.var = built;
  start.value = list_node(typed::ListOp::Make, span, list);
  whole.statements.push_back(std::move(start));
  for (auto& statement : blocks[0].statements)
    whole.statements.push_back(std::move(statement));
  whole.result = variable_value(cx, built, span);
  auto node = make_expr(ExprKind::Block, span, list);
  node->blocks.push_back(std::move(whole));
  node->flag = true; // a comprehension: no effects in it
  return node;
}

// A comprehension over lists of other things than numbers: the list of its elements, as one tensor, reduced.
ExprPtr reduce_list(Context& cx, const ast::Comprehension& c, const std::string& reduction, Span span,
                    const Type* expected) {
  ExprPtr list = list_comprehension(cx, c, span, nullptr);
  if (refresh(cx, *list).is_error()) return list;
  if (reduction.empty() && is_device(list->type.elements[0])) return list;
  ExprPtr tensor = list_stacked(cx, std::move(list), span);
  if (refresh(cx, *tensor).is_error() || reduction.empty()) return tensor;
  auto callable = cx.names.builtins.find(reduction);
  std::vector<Arg> args(1);
  args[0].span = span;
  if (tensor->type.rank() > 1) {
    Arg axis;
    axis.name = "axis";
    axis.span = axis.name_span = span;
    axis.constant.emplace();
    axis.constant->kind = Static::Kind::Int;
    args.push_back(std::move(axis));
  }
  args[0].value = std::move(tensor);
  return builtin_call(cx, *callable->second.builtin, std::move(args), span, false, expected);
}

} // namespace tl::checker
