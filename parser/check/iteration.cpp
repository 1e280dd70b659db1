// What `for` and comprehensions go over: lists, rows of tensors, ranges, and enumerate, zip and batches of these. As a
// value, such a call is a list; in a loop no list is made.
#include "lang/typed_walk.h"
#include "parser/check/builtins/rules.h"
#include <fmt/format.h>

namespace tl::checker {

// An i64 value as a size, held by a variable that `before` binds.
Size Checker::bound_size(ExprPtr value, const std::string& name, typed::Block& before) {
  if (auto known = size_of(*value)) return *known;
  Span span = value->span;
  VarId var = new_variable(name, Type::scalar(DType::I64), false, span);
  bind_atom(var);
  typed::Stmt let;
  let.kind = StmtKind::Let;
  let.span = span;
  let.pattern.var = var;
  let.value = std::move(value);
  before.statements.push_back(std::move(let));
  return Size::of(p_.variables[var.index].atom);
}

Checker::Iteration Checker::iterate_value(ExprPtr value, typed::Block& before, bool numbers_together) {
  Type type = refresh(*value);
  Span span = value->span;
  Iteration result;
  if (type.is_error()) return result;
  if (type.is_range()) {
    // ceil((hi - lo) / step)
    Size distance = type.shape[1] - type.shape[0], step = type.shape[2];
    if (distance.is_too_large()) {
      error("SizeOverflow", span, "the distance between the ends of this range is no i64");
      return result;
    }
    if (!step.is_constant()) {
      error("NotSupported", span, "this range needs a constant step here");
      return result;
    }
    int64_t by = step.constant();
    Size reach = p_.atoms.positive(by < 0 ? Size(0) - distance : distance, sure_facts());
    result.count = steps(reach, by);
    typed::Stmt evaluate; // for the atoms in its bounds
    evaluate.kind = StmtKind::Let;
    evaluate.span = span;
    evaluate.value = std::move(value);
    before.statements.push_back(std::move(evaluate));
    result.element = [this, lo = type.shape[0], step](const Size& position, Span at) {
      return size_value(lo + position * step, at);
    };
    return result;
  }
  if (type.is_list() && numbers_together && !type.elements.empty() && type.elements[0].is_scalar() &&
      !is_device(type.elements[0])) {
    value = list_stacked(std::move(value), span);
    type = value->type;
  }
  if (type.is_list()) {
    settle(*value);
    std::shared_ptr<typed::Expr> held = kept(std::move(value), before);
    result.count = bound_size(list_length(copy_simple(*held), span), "len", before);
    result.is_list = true;
    result.element = [this, held](const Size& position, Span at) {
      return list_get(copy_simple(*held), size_value(position, at), true, at);
    };
    return result;
  }
  if (type.is_tensor() && type.rank() > 0) {
    std::shared_ptr<typed::Expr> held = kept(std::move(value), before);
    result.count = type.shape[0];
    result.element = [this, held](const Size& position, Span at) {
      auto node = make(ExprKind::Index, at, refresh(*held));
      node->type.shape.erase(node->type.shape.begin());
      typed::Subscript row;
      row.kind = typed::Subscript::Kind::At;
      row.value = size_value(position, at);
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
  error("TypeMismatch", span,
        fmt::format("a loop iterates over a range, a list or the rows of a tensor, not {}", show(type)),
        type.is_scalar() ? fmt::format("write `0..{}`", text(span))
        : type.is_str()  ? fmt::format("`lines({0})` and `{0}.split(\" \")` are lists", text(span))
                         : "",
        {{span, show(type)}});
  return result;
}

bool Checker::iterates(const ast::Expr* e) {
  const std::string* name = nullptr;
  if (auto* call = ast::as<ast::Call>(e)) {
    if (auto* callee = ast::as<ast::Name>(call->callee)) name = &callee->name;
  } else if (auto* method = ast::as<ast::MethodCall>(e)) {
    name = &method->name.text;
    // data.batches is the prelude's; a module may have functions of its own under these names.
    Scope* module = module_of(method->receiver);
    if (module && (module->prefix.empty() || callable_in(module, *name))) return false;
  }
  if (!name) return false;
  auto callable = find_callable(*name, !ast::as<ast::Call>(e));
  return callable && (callable->builtin == Builtin::Enumerate || callable->builtin == Builtin::Zip ||
                      callable->builtin == Builtin::Batches);
}

Checker::Iteration Checker::iterate(const ast::Expr* e, typed::Block& before, bool numbers_together) {
  if (!iterates(e)) return iterate_value(value(e), before, numbers_together);
  std::vector<Arg> args;
  std::string name;
  const std::vector<ast::Argument>* given = nullptr;
  if (auto* call = ast::as<ast::Call>(e)) {
    name = ast::as<ast::Name>(call->callee)->name;
    given = &call->arguments;
  } else {
    auto* method = ast::as<ast::MethodCall>(e);
    name = method->name.text;
    if (!module_of(method->receiver))
      args.push_back({"", method->receiver, method->receiver->span, {}, nullptr, std::nullopt});
    given = &method->arguments;
  }
  for (const ast::Argument& a : *given)
    args.push_back({a.name.text, a.value, a.value->span, a.name.span, nullptr, std::nullopt});
  return iterate_call(*find_callable(name, true)->builtin, args, e->span, before, numbers_together);
}

Checker::Iteration Checker::iterate_call(Builtin builtin, std::vector<Arg>& args, Span span, typed::Block& before,
                                         bool numbers_together) {
  if (builtin == Builtin::Batches) return iterate_batches(args, span, before);
  bool is_zip = builtin == Builtin::Zip;
  for (const Arg& arg : args)
    if (!arg.name.empty()) {
      error("WrongArguments", arg.name_span, fmt::format("`{}` has no parameter `{}`", info(builtin).name, arg.name));
      return {};
    }
  if (is_zip ? args.empty() : args.size() != 1) {
    error("WrongArguments", span,
          is_zip ? "`zip` iterates over several lists or tensors" : "`enumerate` iterates over one list or tensor",
          fmt::format("it is {}", signature_of(builtin)));
    return {};
  }
  std::vector<Iteration> parts;
  for (Arg& arg : args) {
    parts.push_back(arg.value ? iterate_value(std::move(arg.value), before, numbers_together)
                              : iterate(arg.source, before, numbers_together));
    if (!parts.back().element) return {};
  }
  Iteration result;
  result.count = parts[0].count;
  for (const Iteration& part : parts) {
    result.count = p_.atoms.min(result.count, part.count, sure_facts());
    result.is_list = result.is_list || part.is_list;
  }
  result.element = [this, parts, is_zip](const Size& position, Span at) {
    auto tuple = make(ExprKind::Tuple, at, Type::tuple({}));
    if (!is_zip) tuple->operands.push_back(size_value(position, at));
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
Checker::Iteration Checker::iterate_batches(std::vector<Arg>& args, Span span, typed::Block& before) {
  auto fail = [&](Span at, const std::string& message, const std::string& hint = {}) -> Iteration {
    error("WrongArguments", at, message, hint);
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
                  fmt::format("it is {}", signature_of(Builtin::Batches)));
  }
  if (!size_arg && tensors.size() > 1) {
    size_arg = tensors.back();
    tensors.pop_back();
  }
  if (!size_arg || tensors.empty())
    return fail(span, "`batches` takes tensors and the size of a batch", "like `batches(x, y, 64)`");
  auto number = [&](Arg& arg, const std::string& name) -> std::optional<Size> {
    ExprPtr v = to_i64(arg.value ? std::move(arg.value) : value(arg.source), name);
    settle(*v);
    if (v->type.is_error()) return std::nullopt;
    return bound_size(std::move(v), "", before);
  };
  std::vector<ExprPtr> values;
  for (Arg* arg : tensors) {
    ExprPtr v = arg->value ? std::move(arg->value) : value(arg->source);
    if (refresh(*v).is_error()) return {};
    settle(*v);
    if (!v->type.is_tensor() || v->type.rank() == 0) {
      error("TypeMismatch", arg->span,
            fmt::format("`batches` cuts tensors along their first axis, and this is {}", show(v->type)), "",
            {label(*v)});
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
                    text(tensors[0]->span), text(tensors[i]->span));
    if (require_equal(rows, other, false, message, tensors[i]->span, checks, true)) continue;
    std::vector<Label> labels{label(*values[0]), label(*values[i])};
    add_origins(rows, other, labels);
    error("ShapeMismatch", tensors[i]->span,
          fmt::format("`batches` needs tensors of equally many rows, but has {}", different(rows, other)), "",
          std::move(labels));
    return {};
  }
  if (size->is_constant() && size->constant() < 1) return fail(size_arg->span, "a batch has at least one row");
  require_size(*size, 1, "a batch has at least one row, and the size is {0}", size_arg->span, checks);
  require_size(*start, 0, "`start` cannot be {0}", start_arg ? start_arg->span : span, checks);
  ExprPtr order;
  if (key_arg) {
    bool none = ast::as<ast::NoneLiteral>(key_arg->source) != nullptr;
    auto permutation = find_callable("permutation", true);
    if (!none && !permutation) {
      error("NotSupported", key_arg->name_span, "shuffled batches are not supported yet");
      return {};
    }
    if (!none) {
      std::vector<Arg> pair(2);
      pair[0].span = pair[1].span = key_arg->span;
      pair[0].source = key_arg->source;
      pair[0].value = std::move(key_arg->value);
      pair[1].value = size_value(rows, key_arg->span);
      order = call_named(*permutation, "permutation", key_arg->span, std::move(pair), key_arg->span, false, nullptr);
      if (refresh(*order).is_error()) return {};
    }
  }
  const bool claimed = !checks.empty(); // what is cut depends on the first tensor alone
  if (claimed) {
    auto checked = make(ExprKind::Recast, values[0]->span, values[0]->type);
    checked->checks = std::move(checks);
    checked->operands.push_back(std::move(values[0]));
    values[0] = std::move(checked);
  }
  std::vector<std::shared_ptr<typed::Expr>> held;
  for (ExprPtr& v : values)
    held.emplace_back(kept(std::move(v), before));
  std::shared_ptr<typed::Expr> rows_in_order;
  if (order) rows_in_order = kept(std::move(order), before);
  Iteration result;
  Size batches = p_.atoms.floor_div(rows + *size - Size(1), *size);
  result.count = p_.atoms.positive(batches - *start, sure_facts());
  result.element = [this, held, rows_in_order, rows, claimed, by = *size, from = *start](const Size& position,
                                                                                         Span at) {
    Size first = (from + position) * by, length = p_.atoms.min(by, rows - first, sure_facts());
    auto part = [&](const typed::Expr& x) {
      auto node = make(ExprKind::Index, at, x.type);
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
      auto take = make(ExprKind::Builtin, at, x->type);
      take->builtin = Builtin::Take;
      take->ints = {0};
      take->type.shape[0] = length;
      take->operands.push_back(copy_simple(*x));
      take->operands.push_back(part(*rows_in_order));
      parts.push_back(std::move(take));
    }
    if (parts.size() == 1) return std::move(parts[0]);
    auto tuple = make(ExprKind::Tuple, at, Type::tuple({}));
    for (ExprPtr& p : parts) {
      tuple->type.elements.push_back(p->type);
      tuple->operands.push_back(std::move(p));
    }
    return tuple;
  };
  return result;
}

// enumerate, zip and batches where a value is wanted.
ExprPtr Checker::iteration_call(Builtin builtin, Rule& r) {
  typed::Block before;
  size_t first_inner = p_.atoms.size();
  Iteration over = iterate_call(builtin, r.args, r.span, before);
  if (!over.element) return nullptr;
  VarId probe = new_variable("", Type::scalar(DType::I64), false, r.span);
  bind_atom(probe);
  AtomId position = p_.variables[probe.index].atom;
  first_inner = position.index;
  Type type = refresh(*over.element(Size::of(position), r.span));
  if (type.is_error()) return nullptr;
  Type list = list_of(type, [&](const Size& size) {
    std::vector<AtomId> atoms;
    p_.atoms.collect(size, atoms);
    return std::any_of(atoms.begin(), atoms.end(), [&](AtomId a) { return a.index >= first_inner; });
  });
  return build_list(
      list, over.count, std::move(before), [&](ExprPtr at) { return over.element(*size_of(*at), r.span); }, r.span);
}

// for pattern in a list, enumerate(…) … : a loop over positions that binds the pattern first.
const ast::Expr* Checker::progress_of(const ast::Expr* e, Progress& bar) {
  const std::vector<ast::Argument>* given = nullptr;
  const ast::Expr* xs = nullptr;
  std::string name;
  if (auto* call = ast::as<ast::Call>(e)) {
    if (auto* callee = ast::as<ast::Name>(call->callee)) name = callee->name;
    given = &call->arguments;
  } else if (auto* method = ast::as<ast::MethodCall>(e)) {
    if (module_of(method->receiver)) return e;
    name = method->name.text;
    given = &method->arguments;
    xs = method->receiver;
  }
  if (name != "progress") return e;
  auto callable = find_callable(name, xs != nullptr);
  if (!callable || callable->builtin != Builtin::Progress) return e;
  bar.is_shown = true;
  for (const ast::Argument& argument : *given) {
    bool is_show = argument.name.text == "show" || (argument.name.empty() && xs);
    if ((is_show && bar.show) || (!is_show && !argument.name.empty())) {
      error("WrongArguments", argument.value->span, "`progress` takes what to go over, and `show`",
            fmt::format("it is {}", signature_of(Builtin::Progress)));
      continue;
    }
    (is_show ? bar.show : xs) = argument.value;
  }
  if (bar.show && ast::as<ast::NoneLiteral>(bar.show)) bar.show = nullptr;
  if (!xs)
    error("WrongArguments", e->span, "`progress` needs something to go over", "like `for x in progress(xs) { … }`");
  return xs;
}

typed::Stmt Checker::progress_tick(const Progress& bar, const Size& done, const Size& total,
                                   std::vector<ExprPtr> computed, Span span) {
  auto beside = new_interp(span);
  if (bar.show)
    append_value(*beside, value(bar.show), "", bar.show->span);
  else
    append_text(*beside, "");
  auto node = make(ExprKind::Builtin, span, Type::unit());
  node->builtin = Builtin::Progress;
  node->operands.push_back(size_value(done, span));
  node->operands.push_back(size_value(total, span));
  node->operands.push_back(finish_interp(std::move(beside)));
  for (ExprPtr& value : computed)
    node->operands.push_back(std::move(value));
  typed::Stmt tick;
  tick.span = span;
  tick.value = std::move(node);
  return tick;
}

namespace {

// The variables that a loop assigns and that stand outside it: those before `first_inner`.
void assigned_in(const typed::Block& block, uint32_t first_inner, std::set<VarId>& into) {
  typed::Walker walker;
  walker.on_expr = [](const typed::Expr&) {};
  walker.on_stmt = [&](const typed::Stmt& s) {
    for (const typed::Place& place : s.targets)
      if (place.var.valid() && place.var.index < first_inner) into.insert(place.var);
  };
  walker.walk(block);
}

} // namespace

void Checker::for_each(const ast::For& s, size_t clause, Span span, Iteration over, const Progress& bar,
                       typed::Block& into) {
  // A bar tells at the start of an iteration that those before it are done: what they assigned is computed.
  uint32_t first_inner = static_cast<uint32_t>(p_.variables.size());
  std::set<VarId> assigned;
  auto computed = [&](const std::map<VarId, Type>& types) {
    std::vector<ExprPtr> values;
    for (VarId var : assigned)
      if (auto type = types.find(var); type != types.end()) {
        auto value = variable(var, span);
        value->type = type->second;
        values.push_back(std::move(value));
      }
    return values;
  };
  typed::Stmt loop;
  loop.kind = StmtKind::For;
  loop.span = span;
  loop.value = make(ExprKind::Range, s.clauses[clause].range->span, Type::range(0, over.count, 1));
  Span at = s.clauses[clause].range->span;
  check_loop(span, loop, [&](typed::Stmt& l) {
    Scope* saved = scope_;
    push_scope();
    VarId var = new_variable("", Type::scalar(DType::I64), false, at);
    bind_atom(var);
    l.pattern = {};
    l.pattern.var = var;
    Size position = Size::of(p_.variables[var.index].atom);
    learn_index(position, 0, over.count);
    std::map<VarId, Type> at_start = ctx_->current;
    std::optional<typed::Stmt> tick;
    if (bar.is_shown) tick = progress_tick(bar, position, over.count, {}, at);
    typed::Stmt let;
    let.kind = StmtKind::Let;
    let.span = at;
    let.value = over.element(position, at);
    const ast::Pattern& names = *s.clauses[clause].pattern;
    let.pattern = pattern(names, refresh(*let.value), false, let.value.get());
    if (clause + 1 < s.clauses.size()) {
      l.body = {};
      for_loop(s, clause + 1, span, l.body);
    } else {
      l.body = block(s.body, false);
    }
    l.body.statements.insert(l.body.statements.begin(), std::move(let));
    if (tick) {
      assigned_in(l.body, first_inner, assigned);
      for (ExprPtr& value : computed(at_start))
        tick->value->operands.push_back(std::move(value));
      l.body.statements.insert(l.body.statements.begin(), std::move(*tick));
    }
    scope_ = saved;
    return true;
  });
  into.statements.push_back(std::move(loop));
  if (bar.is_shown) {
    typed::Stmt last = progress_tick(bar, over.count, over.count, computed(ctx_->current), at);
    last.value->flag = true;
    into.statements.push_back(std::move(last));
  }
}

// list(e for p in xs, q in ys if c): loops that append.
ExprPtr Checker::list_comprehension(const ast::Comprehension& c, Span span, const Type* expected) {
  const Type* wanted =
      expected && expected->is_list() && !expected->elements.empty() ? &expected->elements[0] : nullptr;
  Scope* saved_scope = scope_;
  SizeFacts saved_facts = ctx_->facts;
  auto saved_loops = std::move(ctx_->loops);
  ctx_->loops.clear();
  bool saved_reachable = ctx_->reachable;
  auto saved_current = ctx_->current;
  ++in_comprehension_;
  uint32_t saved_variables = comprehension_variables_;
  comprehension_variables_ = static_cast<uint32_t>(p_.variables.size());

  VarId built = new_variable("", Type::make(TypeKind::List), true, span);
  typed::Block whole;
  // Each clause's block holds what is bound before its loop, then the loop; the next clause stands in its body.
  std::vector<typed::Block> blocks(1);
  std::vector<typed::Stmt> loops;
  size_t first_inner = p_.atoms.size();
  bool fine = true, all_bound = true;
  for (const auto& clause : c.clauses) {
    typed::Block& before = blocks.back();
    typed::Stmt loop;
    loop.kind = StmtKind::For;
    loop.span = clause.span;
    if (!clause.range) {
      error("UnboundIndex", clause.span, "an index of a list has its range written", "like `i in 0..n`");
      fine = all_bound = false;
      break;
    }
    Iteration over = iterate(clause.range, before);
    push_scope();
    if (!over.element) {
      fine = false;
      std::function<void(const ast::Pattern&)> poison = [&](const ast::Pattern& p) {
        Entity entity;
        entity.span = p.span;
        if (p.kind == ast::Pattern::Kind::Name) enter(p.name, entity);
        for (const ast::Pattern* inner : p.elements)
          poison(*inner);
      };
      poison(*clause.pattern);
      loops.push_back(std::move(loop));
      blocks.emplace_back();
      continue;
    }
    loop.value = make(ExprKind::Range, clause.range->span, Type::range(0, over.count, 1));
    VarId var = new_variable("", Type::scalar(DType::I64), false, clause.span);
    bind_atom(var);
    loop.pattern.var = var;
    Size position = Size::of(p_.variables[var.index].atom);
    learn_index(position, 0, over.count);
    loops.push_back(std::move(loop));
    blocks.emplace_back();
    typed::Stmt let;
    let.kind = StmtKind::Let;
    let.span = clause.range->span;
    let.value = over.element(position, clause.range->span);
    let.pattern = pattern(*clause.pattern, refresh(*let.value), false, let.value.get());
    blocks.back().statements.push_back(std::move(let));
  }
  ExprPtr filter;
  if (fine && c.filter) {
    filter = condition(c.filter);
    fine = !filter->type.is_error();
    if (fine) learn(*filter, true);
  }
  ExprPtr element;
  if (all_bound) element = value(c.element, wanted);
  if (element && wanted && fine) element = coerce(std::move(element), *wanted, "an element of the list");
  --in_comprehension_;
  comprehension_variables_ = saved_variables;
  scope_ = saved_scope;
  ctx_->facts = saved_facts;
  ctx_->loops = std::move(saved_loops);
  ctx_->reachable = saved_reachable;
  VarId keep = built;
  ctx_->current = saved_current;
  if (!element || refresh(*element).is_error() || !fine) return broken(span);
  if (element->type.is_unit() || element->type.is_range()) {
    error("TypeMismatch", element->span, fmt::format("{} cannot be an element of a list", show(element->type)));
    return broken(span);
  }
  settle(*element);
  Type list = wanted ? list_of(*wanted) : list_of(element->type, [&](const Size& size) {
    std::vector<AtomId> atoms;
    p_.atoms.collect(size, atoms);
    return std::any_of(atoms.begin(), atoms.end(), [&](AtomId a) { return a.index >= first_inner; });
  });
  p_.variables[built.index].type = list;
  ctx_->current[keep] = list;
  typed::Stmt append = append_to(built, list, std::move(element), span);
  if (filter) {
    auto chosen = make(ExprKind::If, filter->span, Type::unit());
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
  whole.result = variable(built, span);
  auto node = make(ExprKind::Block, span, list);
  node->blocks.push_back(std::move(whole));
  node->flag = true; // a comprehension: no effects in it
  return node;
}

// A comprehension over lists of other things than numbers: the list of its elements, as one tensor, reduced.
ExprPtr Checker::reduce_list(const ast::Comprehension& c, const std::string& reduction, Span span,
                             const Type* expected) {
  ExprPtr list = list_comprehension(c, span, nullptr);
  if (refresh(*list).is_error()) return list;
  if (reduction.empty() && is_device(list->type.elements[0])) return list;
  ExprPtr tensor = list_stacked(std::move(list), span);
  if (refresh(*tensor).is_error() || reduction.empty()) return tensor;
  auto callable = builtins_.find(reduction);
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
  return builtin_call(*callable->second.builtin, std::move(args), span, false, expected);
}

} // namespace tl::checker
