// [e for i in 0..m, j] and sum(e for k if c): ranges, inferred or written; the element; the reduction.
#include "parser/check/comprehensions.h"
#include "parser/check/arguments.h"
#include "parser/check/axes.h"
#include "parser/check/builtins/rules.h"
#include "parser/check/expressions.h"
#include "parser/check/iteration.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/statements.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

namespace {

// Is it a tensor, or made of nothing but tensors?
bool tensor_leaves(const Type& type, std::vector<const Type*>& into) {
  if (!type.is_aggregate()) {
    into.push_back(&type);
    return type.is_tensor();
  }
  return std::all_of(type.elements.begin(), type.elements.end(),
                     [&](const Type& element) { return tensor_leaves(element, into); });
}

// The ranges that an index goes over itself; others are gone through by position.
bool in_steps_of_1(const Type& type) { return type.is_range() && type.shape[2].is(1); }

void add_leading(Type& type, const std::vector<Size>& extents) {
  if (!type.is_aggregate()) type.shape.insert(type.shape.begin(), extents.begin(), extents.end());
  for (Type& element : type.elements)
    add_leading(element, extents);
}

// The names that the clauses before this one bind.
std::set<std::string> clause_names(const ast::Comprehension& c, size_t before) {
  std::set<std::string> names;
  for (size_t i = 0; i < before; ++i)
    pattern_names(*c.clauses[i].pattern, names);
  return names;
}

} // namespace

ExprPtr check_comprehension(Context& cx, const ast::Expr& e, const ast::Comprehension& c, const std::string& reduction,
                            Span span, const Type* expected) {
  static const std::map<std::string, ReduceOp> reductions = {
      {"sum", ReduceOp::Sum}, {"mean", ReduceOp::Sum},      {"prod", ReduceOp::Prod},
      {"min", ReduceOp::Min}, {"max", ReduceOp::Max},       {"any", ReduceOp::Any},
      {"all", ReduceOp::All}, {"argmin", ReduceOp::ArgMin}, {"argmax", ReduceOp::ArgMax}};
  static const std::map<std::string, Builtin> leaf_reductions = {
      {"sum", Builtin::Sum},       {"mean", Builtin::Mean}, {"prod", Builtin::Prod}, {"min", Builtin::ReduceMin},
      {"max", Builtin::ReduceMax}, {"any", Builtin::Any},   {"all", Builtin::All}};
  bool reduces = !reduction.empty();
  if (reduction == "list") return list_comprehension(cx, c, span, expected);
  if (reduces && !reductions.count(reduction)) {
    error(cx, "NotCallable", span, fmt::format("`{}` does not reduce a comprehension", reduction),
          "sum, prod, mean, min, max, any, all, argmin, argmax and list do; a tensor is written in brackets");
    return broken(span);
  }
  // What is no range is gone through by position. Lists of other things than numbers are taken element by element.
  bool by_position = false, by_element = false;
  for (size_t i = 0; i < c.clauses.size(); ++i) {
    const auto& clause = c.clauses[i];
    if (!clause.range || ast::as<ast::Range>(clause.range)) continue;
    if (i > 0 && mentions(clause.range, clause_names(c, i))) { // goes over a part of an earlier element
      by_element = true;
      break;
    }
    Snapshot before = snapshot(cx);
    typed::Block aside;
    bool is_call = iterates(cx, clause.range);
    Iteration probe;
    Type type;
    if (is_call) {
      probe = iterate(cx, clause.range, aside, true);
    } else {
      ExprPtr range = check_value(cx, clause.range);
      type = refresh(cx, *range);
      if (!in_steps_of_1(type) && !type.is_error() && (!type.is_scalar() || !type.is_tensor()))
        probe = iterate_value(cx, std::move(range), aside, true);
    }
    rollback(cx, before);
    by_element = by_element || probe.is_list;
    by_position = by_position || probe.element;
  }
  if (by_element) {
    if (!reduces && (c.clauses.size() > 1 || c.filter)) {
      error(cx, "NotSupported", span, "a tensor over several lists, or parts of one, is not supported yet",
            "`list(… for … in …)` makes a list, and `stack` a tensor of it");
      return broken(span);
    }
    return reduce_list(cx, c, reduction, span, expected);
  }
  auto node = make_expr(ExprKind::Comprehension, span, Type::error());
  typed::Block around;                                // what is gone through by position, evaluated once
  std::vector<std::function<typed::Stmt()>> bindings; // of what stands at a position
  std::optional<InsideComprehension> inside(cx);
  bool fine = true;
  std::set<std::string> names; // of all indices
  for (const auto& clause : c.clauses)
    pattern_names(*clause.pattern, names);
  std::vector<Size> extents;
  std::vector<const ast::Expr*> held;
  auto with_bindings = [&](ExprPtr e) {
    if (bindings.empty() || e->type.is_error()) return e;
    auto block = make_expr(ExprKind::Block, e->span, e->type);
    block->blocks.emplace_back();
    for (const auto& binding : bindings)
      block->blocks[0].statements.push_back(binding());
    block->blocks[0].result = std::move(e);
    return block;
  };
  // A range that uses what stands at the positions before it: those are bound where it is evaluated, too.
  auto bind_elements = [&](typed::ComprehensionIndex& index) {
    if (bindings.empty()) return;
    std::vector<AtomId> atoms;
    cx.program.atoms.collect(index.lo, atoms);
    cx.program.atoms.collect(index.hi, atoms);
    std::vector<typed::SizeBind> binds;
    for (const auto& binding : bindings) {
      auto each = [&](auto& self, const typed::Pattern& p) -> void {
        for (const typed::Pattern& element : p.elements)
          self(self, element);
        if (p.is_tuple || !p.var.valid()) return;
        AtomId atom = cx.program.variables[p.var.index].atom;
        if (atom.valid() && std::find(atoms.begin(), atoms.end(), atom) != atoms.end())
          binds.push_back({atom, with_bindings(variable_value(cx, p.var, index.span))});
      };
      each(each, binding().pattern);
    }
    for (typed::SizeBind& bind : index.binds)
      binds.push_back({bind.atom, with_bindings(std::move(bind.value))});
    index.binds = std::move(binds);
  };
  for (const auto& clause : c.clauses) {
    typed::ComprehensionIndex index;
    index.span = clause.span;
    bool is_name = clause.pattern->kind != ast::Pattern::Kind::Tuple;
    Iteration over;
    if (clause.range && by_position && !ast::as<ast::Range>(clause.range)) {
      bool is_range = false;
      if (!iterates(cx, clause.range)) {
        Snapshot before = snapshot(cx);
        is_range = in_steps_of_1(check_expr(cx, clause.range)->type);
        rollback(cx, before);
      }
      if (!is_range) {
        over = iterate(cx, clause.range, around, true);
        fine = fine && over.element;
      }
    }
    if (over.element) {
      index.hi = over.count;
      push_scope(cx);
      index.var = new_variable(cx, "", Type::scalar(DType::I64), false, clause.span);
      bind_atom(cx, index.var);
      Size i = Size::of(cx.program.variables[index.var.index].atom);
      learn_index(cx, i, 0, index.hi);
      Span at = clause.range->span;
      ExprPtr first = over.element(i, at);
      auto bound = bind_pattern(cx, *clause.pattern, refresh(cx, *first), false, first.get());
      bindings.push_back([over, i, at, bound] {
        typed::Stmt let;
        let.kind = StmtKind::Let;
        let.span = at;
        let.pattern = bound;
        let.value = over.element(i, at);
        return let;
      });
      extents.push_back(cx.program.atoms.positive(index.hi, inside->facts_outside().sure()));
      node->indices.push_back(std::move(index));
      continue;
    }
    if (!is_name) {
      if (fine)
        error(cx, "TypeMismatch", clause.span, "this pattern takes the parts of tuples, and an index is a number",
              "like `for (a, b) in zip(xs, ys)`");
      fine = false;
      continue;
    }
    if (clause.range) {
      ExprPtr range = check_value(cx, clause.range);
      Type type = refresh(cx, *range);
      if (type.is_error()) {
        fine = false;
      } else if (!type.is_range()) {
        error(cx, "TypeMismatch", clause.range->span,
              fmt::format("an index iterates over a range, not {}", show(cx, type)),
              type.is_scalar() ? fmt::format("write `0..{}`", source_text(cx, clause.range->span))
                               : fmt::format("write `{0} in 0..len({1})` and subscript `{1}[{0}]`",
                                             clause.pattern->name, source_text(cx, clause.range->span)));
        fine = false;
      } else if (!in_steps_of_1(type)) {
        error(cx, "NotSupported", clause.range->span, "an index of a comprehension goes by constant steps",
              "multiply it in the element");
        fine = false;
      } else {
        index.lo = type.shape[0];
        index.hi = type.shape[1];
        auto take = [&](auto& self, typed::Expr& r) -> void {
          for (auto& bind : r.binds)
            index.binds.push_back(std::move(bind));
          for (auto& operand : r.operands)
            self(self, *operand);
        };
        take(take, *range);
        bind_elements(index);
      }
    } else {
      Axes told{around};
      std::set<std::string> bound = names;
      const std::string& name = clause.pattern->name;
      find_axes(cx, c.element, name, bound, told);
      if (c.filter) find_axes(cx, c.filter, name, bound, told);
      for (const auto& other : c.clauses)
        if (other.range) find_axes(cx, other.range, name, bound, told);
      held.insert(held.end(), told.held.begin(), told.held.end());
      const std::vector<Axis>& axes = told.found;
      if (axes.empty()) {
        if (!told.wrong)
          error(cx, "UnboundIndex", clause.span, fmt::format("nothing tells the range of `{}`", name),
                fmt::format("write `{} in 0..n`, or subscript an axis by `{}` alone", name, name));
        fine = false;
      } else {
        index.hi = axes[0].size;
        for (size_t i = 1; i < axes.size(); ++i) {
          if (index.hi == axes[i].size) continue;
          std::string message =
              fmt::format("`{}` indexes an axis of `{}` with size {{0}} and one of `{}` with size {{1}}", name,
                          axes[0].base, axes[i].base);
          if (!require_equal(cx, index.hi, axes[i].size, true, message, axes[i].span, node->checks, true)) {
            std::vector<Label> labels{{axes[0].span, fmt::format("size {}", show(cx, axes[0].size))},
                                      {axes[i].span, fmt::format("size {}", show(cx, axes[i].size))}};
            add_origins(cx, index.hi, axes[i].size, labels);
            std::string hint = equality_hint(cx, index.hi, axes[i].size);
            error(cx, "ShapeMismatch", axes[i].span,
                  fmt::format("`{}` indexes axes of different sizes, {}", name, different(cx, index.hi, axes[i].size)),
                  hint.empty() ? fmt::format("write the range: `{} in 0..n`", name) : hint, std::move(labels));
            fine = false;
            break;
          }
          if (axes[i].size.is_constant()) index.hi = axes[i].size;
        }
      }
    }
    push_scope(cx);
    if (clause.pattern->kind == ast::Pattern::Kind::Name) {
      Entity entity;
      entity.span = clause.pattern->span;
      if (fine) {
        index.var = new_variable(cx, clause.pattern->name, Type::scalar(DType::I64), false, clause.pattern->span);
        bind_atom(cx, index.var);
        Size i = Size::of(cx.program.variables[index.var.index].atom);
        learn_index(cx, i, index.lo, index.hi);
        entity.kind = Entity::Kind::Variable;
        entity.var = index.var;
      }
      enter(cx, clause.pattern->name, entity);
    } else if (fine) {
      index.var = new_variable(cx, "_", Type::scalar(DType::I64), false, clause.pattern->span);
      bind_atom(cx, index.var);
    }
    const Size distance = index.hi - index.lo;
    if (distance.is_too_large())
      error(cx, "SizeOverflow", clause.span, "the distance between the ends of this range is no i64");
    extents.push_back(cx.program.atoms.positive(distance, inside->facts_outside().sure()));
    node->indices.push_back(std::move(index));
  }
  cx.function->facts.trust(
      inside->facts_outside().mark()); // of no element anything is read where a range's check fails
  size_t first_inner_atom = cx.program.atoms.size();
  if (c.filter) {
    if (!reduces) {
      error(cx, "WrongArguments", c.filter->span, "a trailing `if` filters reductions, not tensors",
            "choose elements by a mask: `x[mask]`, or write `if c { a } else { b }` in the element");
      fine = false;
    }
    node->filter = check_condition(cx, c.filter);
    fine = fine && !node->filter->type.is_error();
    if (fine) learn_condition(cx, *node->filter, true);
  }
  Type element_expected;
  if (expected && expected->is_tensor()) element_expected = cx.open.element_of(*expected);
  ExprPtr body = check_value(cx, c.element);
  if (node->filter) node->filter = with_bindings(std::move(node->filter));
  for (const ast::Expr* e : held)
    cx.held.erase(e);
  inside.reset();
  refresh(cx, *body);
  if (body->type.is_error() || !fine) return broken(span);
  std::vector<const Type*> leaves;
  if (!tensor_leaves(body->type, leaves)) {
    error(cx, "TypeMismatch", body->span,
          fmt::format("the element of a comprehension is a number or a tensor, or a tuple or struct of them, not {}",
                      show(cx, body->type)),
          body->type.is_unit() ? "" : "`list(… for …)` makes a list");
    return broken(span);
  }
  std::vector<Size> sizes;
  for (const Type* leaf : leaves)
    sizes.insert(sizes.end(), leaf->shape.begin(), leaf->shape.end());
  if (body->type.is_aggregate()) cx.open.settle(body->type); // the leaves that were looked at are gone
  bool by_leaf = reduces && body->type.is_aggregate();       // each part is a tensor first, and is then reduced
  if (by_leaf && (node->filter || reduction.starts_with("arg"))) {
    error(cx, "TypeMismatch", body->span,
          fmt::format("{}, not {}",
                      node->filter ? "with a filter, the element of a reduction is a number or a tensor"
                                   : fmt::format("`{}` takes numbers", reduction),
                      show(cx, body->type)),
          "", {label_of(cx, *body)});
    return broken(span);
  }
  // Sizes of the element must not depend on the indices, nor be known only inside.
  for (const Size& size : sizes) {
    std::vector<AtomId> atoms;
    cx.program.atoms.collect(size, atoms);
    for (AtomId atom : atoms) {
      bool inner = atom.index >= first_inner_atom;
      for (const auto& index : node->indices)
        inner = inner || (index.var.valid() && cx.program.variables[index.var.index].atom == atom);
      if (!inner) continue;
      error(cx, "ShapeMismatch", body->span,
            fmt::format("the elements of a comprehension need one shape, and the size {} may differ between them",
                        show(cx, size)),
            "", {label_of(cx, *body)});
      return broken(span);
    }
  }
  auto finish = [&](ExprPtr made) {
    if (around.statements.empty()) return made;
    auto block = make_expr(ExprKind::Block, span, made->type);
    around.result = std::move(made);
    block->blocks.push_back(std::move(around));
    return block;
  };
  if (!reduces || by_leaf) {
    // Ranges must not depend on earlier indices: rows would have different lengths.
    for (size_t i = 0; i < extents.size(); ++i) {
      std::vector<AtomId> atoms;
      cx.program.atoms.collect(extents[i], atoms);
      for (const auto& index : node->indices)
        for (AtomId atom : atoms)
          if (index.var.valid() && cx.program.variables[index.var.index].atom == atom) {
            error(cx, "ShapeMismatch", node->indices[i].span,
                  "the range of an index of a tensor cannot depend on another index");
            return broken(span);
          }
    }
    node->type = body->type;
    add_leading(node->type, extents);
    node->operands.push_back(with_bindings(std::move(body)));
    if (!by_leaf) return finish(std::move(node));
    auto whole = make_expr(ExprKind::Block, span, Type::unit());
    whole->blocks.emplace_back();
    ExprPtr all = shared(cx, std::move(node), whole->blocks[0]);
    Static axes;
    axes.kind = Static::Kind::Tuple;
    for (size_t k = 0; k < extents.size(); ++k) {
      axes.elements.emplace_back();
      axes.elements.back().kind = Static::Kind::Int;
      axes.elements.back().number = static_cast<int64_t>(k);
    }
    auto reduced = [&](auto& self, const Type& type, std::vector<uint32_t>& path, bool in_struct) -> ExprPtr {
      if (type.is_aggregate()) {
        auto made = make_expr(ExprKind::Tuple, span, type);
        for (uint32_t i = 0; i < type.elements.size(); ++i) {
          path.push_back(i);
          made->operands.push_back(self(self, type.elements[i], path, type.is_struct()));
          made->type.elements[i] = made->operands.back()->type;
          path.pop_back();
          fine = fine && !made->type.elements[i].is_error();
        }
        return made;
      }
      ExprPtr leaf = copy_simple(*all);
      for (uint32_t step : path) {
        auto part = make_expr(ExprKind::TupleGet, span, leaf->type.elements[step]);
        part->index = step;
        part->operands.push_back(std::move(leaf));
        leaf = std::move(part);
      }
      std::vector<Arg> args(2);
      args[0].span = args[1].span = span;
      args[0].value = std::move(leaf);
      args[1].name = "axis";
      args[1].constant = axes;
      ExprPtr made = builtin_call(cx, leaf_reductions.at(reduction), std::move(args), span, false, nullptr);
      return in_struct && !made->type.is_error() ? convert(cx, std::move(made), type.dtype, span) : std::move(made);
    };
    std::vector<uint32_t> path;
    ExprPtr result = reduced(reduced, all->type, path, false);
    if (!fine) return broken(span);
    whole->type = result->type;
    whole->blocks[0].result = std::move(result);
    return finish(std::move(whole));
  }
  node->is_reduction = true;
  node->reduce = reductions.at(reduction);
  node->is_mean = reduction == "mean";
  ReduceOp op = node->reduce;
  if (op == ReduceOp::Any || op == ReduceOp::All) {
    cx.open.settle(body->type);
    if (body->type.dtype != DType::Bool) {
      error(cx, "TypeMismatch", body->span,
            fmt::format("`{}` takes bools, and this is {}", reduction, show(cx, body->type)),
            fmt::format("write `{} != 0`", source_text(cx, body->span)), {label_of(cx, *body)});
      return broken(span);
    }
  } else if (node->is_mean) {
    if (!cx.open.constrain_float(body->type)) {
      error(cx, "TypeMismatch", body->span, fmt::format("`mean` takes floats, and this is {}", show(cx, body->type)),
            fmt::format("write `f32({})`", source_text(cx, body->span)), {label_of(cx, *body)});
      return broken(span);
    }
  } else if ((op == ReduceOp::Sum || op == ReduceOp::Prod) && !body->type.open && !is_float(body->type.dtype) &&
             body->type.dtype != DType::I64) {
    if (body->type.dtype == DType::Key) {
      error(cx, "TypeMismatch", body->span, fmt::format("`{}` takes numbers, not keys", reduction));
      return broken(span);
    }
    if (body->type.dtype != DType::U64) body = convert(cx, std::move(body), DType::I64);
  } else if (!body->type.open && !is_num(body->type.dtype)) {
    error(cx, "TypeMismatch", body->span,
          fmt::format("`{}` takes numbers, and this is {}", reduction, show(cx, body->type)), "",
          {label_of(cx, *body)});
    return broken(span);
  }
  node->type = refresh(cx, *body);
  if (op == ReduceOp::ArgMin || op == ReduceOp::ArgMax) {
    cx.open.settle(body->type);
    node->type = Type::tensor(DType::I64, body->type.shape);
  }
  node->operands.push_back(with_bindings(std::move(body)));
  (void)e;
  return finish(std::move(node));
}

} // namespace tl::checker
