// [e for i in 0..m, j] and sum(e for k if c): ranges, inferred or written; the element; the reduction.
#include "parser/check/comprehensions.h"
#include "parser/check/arguments.h"
#include "parser/check/axes.h"
#include "parser/check/builtins/rules.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/iteration.h"
#include "parser/check/lists.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/sizes.h"
#include "parser/check/statements.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

namespace {

const std::map<std::string, ReduceOp> kReductions = {
    {"sum", ReduceOp::Sum}, {"mean", ReduceOp::Sum},      {"prod", ReduceOp::Prod},
    {"min", ReduceOp::Min}, {"max", ReduceOp::Max},       {"any", ReduceOp::Any},
    {"all", ReduceOp::All}, {"argmin", ReduceOp::ArgMin}, {"argmax", ReduceOp::ArgMax}};
const std::map<std::string, Builtin> kLeafReductions = {
    {"sum", Builtin::Sum},       {"mean", Builtin::Mean}, {"prod", Builtin::Prod}, {"min", Builtin::ReduceMin},
    {"max", Builtin::ReduceMax}, {"any", Builtin::Any},   {"all", Builtin::All}};

// Is it a tensor, or made of nothing but tensors? Adds their sizes.
bool tensor_leaves(const Type& type, std::vector<Size>& sizes) {
  if (!type.is_aggregate()) {
    sizes.insert(sizes.end(), type.shape.begin(), type.shape.end());
    return type.is_tensor();
  }
  return std::all_of(type.elements.begin(), type.elements.end(),
                     [&](const Type& element) { return tensor_leaves(element, sizes); });
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

// What is no range is gone through by position. Lists of other things than numbers are taken element by element.
struct Sources {
  bool by_position = false, by_element = false;
};

Sources sources_of(Context& cx, const ast::Comprehension& c) {
  Sources sources;
  for (size_t i = 0; i < c.clauses.size(); ++i) {
    const auto& clause = c.clauses[i];
    if (!clause.range || ast::as<ast::Range>(clause.range)) continue;
    if (i > 0 && mentions(clause.range, clause_names(c, i))) { // goes over a part of an earlier element
      sources.by_element = true;
      break;
    }
    Snapshot before = snapshot(cx);
    typed::Block aside;
    Iteration probe;
    if (iterates(cx, clause.range)) {
      probe = iterate(cx, clause.range, aside, true);
    } else {
      ExprPtr range = check_value(cx, clause.range);
      Type type = refresh(cx, *range);
      if (!in_steps_of_1(type) && !type.is_error() && (!type.is_scalar() || !type.is_tensor()))
        probe = iterate_value(cx, std::move(range), aside, true);
    }
    rollback(cx, before);
    sources.by_element = sources.by_element || probe.is_list;
    sources.by_position = sources.by_position || probe.element;
  }
  return sources;
}

// The variables that a pattern binds.
void pattern_variables(const typed::Pattern& p, std::vector<VarId>& into) {
  for (const typed::Pattern& element : p.elements)
    pattern_variables(element, into);
  if (!p.is_tuple && p.var.valid()) into.push_back(p.var);
}

void take_binds(typed::Expr& e, std::vector<typed::SizeBind>& into) {
  for (auto& bind : e.binds)
    into.push_back(std::move(bind));
  for (auto& operand : e.operands)
    take_binds(*operand, into);
}

// The axes 0 to rank - 1.
Static all_axes(size_t rank) {
  Static axes;
  axes.kind = Static::Kind::Tuple;
  for (size_t k = 0; k < rank; ++k) {
    axes.elements.emplace_back();
    axes.elements.back().kind = Static::Kind::Int;
    axes.elements.back().number = static_cast<int64_t>(k);
  }
  return axes;
}

// A comprehension over ranges and what is gone through by position: one node. Methods that make an expression return
// null where something is wrong, which they have reported.
struct ComprehensionChecker {
  Context& cx;
  const ast::Comprehension& c;
  const std::string& reduction; // empty: it is a tensor
  const Span span;
  const bool by_position;
  ExprPtr node = make_expr(typed::ComprehensionExpr{}, span, Type::error());
  typed::ComprehensionExpr& comprehension = node->as<typed::ComprehensionExpr>();
  bool fine = true;
  std::set<std::string> names{};                        // of all indices
  std::vector<Size> extents{};                          // of the indices
  typed::Block around{};                                // what is gone through by position, evaluated once
  std::vector<std::function<typed::Stmt()>> bindings{}; // of what is at a position
  std::vector<const ast::Expr*> held{};
  std::optional<InsideComprehension> inside{};

  ExprPtr check();
  bool reduces() const { return !reduction.empty(); }
  // each part of the element is a tensor first, and is then reduced
  bool reduces_parts(const typed::Expr& element) const { return reduces() && element.type.is_aggregate(); }

  // The clauses.
  void check_clause(const ast::IndexClause& clause);
  Iteration positions_of(const ast::IndexClause& clause);
  void check_positions(const ast::IndexClause& clause, const Iteration& over);
  void check_range(const ast::IndexClause& clause, typed::ComprehensionIndex& index);
  void infer_range(const ast::IndexClause& clause, typed::ComprehensionIndex& index);
  bool have_one_size(const std::string& name, const Axis& first, const Axis& other, const Size& size);
  void bind_index(const ast::IndexClause& clause, typed::ComprehensionIndex& index);
  VarId index_variable(const std::string& name, Span at);
  Size position_of(const typed::ComprehensionIndex& index) const;
  void add_index(typed::ComprehensionIndex index, const Size& distance);

  // What is at positions.
  void bind_elements(typed::ComprehensionIndex& index);
  ExprPtr with_bindings(ExprPtr e) const;

  // The filter, the element, and what is made of it.
  void check_filter();
  bool check_element(typed::Expr& element, size_t first_inner_atom);
  bool have_one_shape(const typed::Expr& element, const std::vector<Size>& sizes, size_t first_inner_atom);
  bool ranges_are_independent();
  ExprPtr make_tensor(ExprPtr element);
  ExprPtr reduce_parts(ExprPtr parts);
  ExprPtr reduce_part(const typed::Expr& whole, const Type& type, std::vector<uint32_t>& path, bool in_struct);
  ExprPtr reduce_leaf(const typed::Expr& whole, const std::vector<uint32_t>& path);
  ExprPtr reduce(ExprPtr element);
  ExprPtr reduction_operand(ExprPtr element);
  bool is_index(AtomId atom) const;
};

ExprPtr ComprehensionChecker::check() {
  inside.emplace(cx);
  for (const auto& clause : c.clauses)
    pattern_names(*clause.pattern, names);
  for (const auto& clause : c.clauses)
    check_clause(clause);
  // Of no element anything is read where a range's check fails.
  cx.function->facts.trust(inside->facts_outside().mark());
  size_t first_inner_atom = cx.program.atoms.size();
  if (c.filter) check_filter();
  ExprPtr element = check_value(cx, c.element);
  if (comprehension.filter) comprehension.filter = with_bindings(std::move(comprehension.filter));
  for (const ast::Expr* e : held)
    cx.held.erase(e);
  inside.reset();

  refresh(cx, *element);
  if (element->type.is_error() || !fine || !check_element(*element, first_inner_atom)) return broken(span);
  ExprPtr made;
  if (reduces_parts(*element)) {
    made = make_tensor(std::move(element));
    if (made) made = reduce_parts(std::move(made));
  } else {
    made = reduces() ? reduce(std::move(element)) : make_tensor(std::move(element));
  }
  return made ? in_block(std::move(around), std::move(made), span) : broken(span);
}

void ComprehensionChecker::check_clause(const ast::IndexClause& clause) {
  Iteration over = positions_of(clause);
  if (over.element) {
    check_positions(clause, over);
    return;
  }
  if (clause.pattern->kind == ast::Pattern::Kind::Tuple) {
    if (fine)
      error(cx, "TypeMismatch", clause.span, "this pattern takes the parts of tuples, and an index is a number",
            "like `for (a, b) in zip(xs, ys)`");
    fine = false;
    return;
  }
  typed::ComprehensionIndex index;
  index.span = clause.span;
  if (clause.range)
    check_range(clause, index);
  else
    infer_range(clause, index);
  bind_index(clause, index);
  const Size distance = index.hi - index.lo;
  if (distance.is_too_large())
    error(cx, "SizeOverflow", clause.span, "the distance between the ends of this range is no i64");
  add_index(std::move(index), distance);
}

// What a clause goes through by position; without `element` where it does not, or something is wrong.
Iteration ComprehensionChecker::positions_of(const ast::IndexClause& clause) {
  if (!clause.range || !by_position || ast::as<ast::Range>(clause.range)) return {};
  if (!iterates(cx, clause.range)) {
    Snapshot before = snapshot(cx);
    bool is_range = in_steps_of_1(check_expr(cx, clause.range)->type);
    rollback(cx, before);
    if (is_range) return {};
  }
  Iteration over = iterate(cx, clause.range, around, true);
  fine = fine && over.element;
  return over;
}

void ComprehensionChecker::check_positions(const ast::IndexClause& clause, const Iteration& over) {
  typed::ComprehensionIndex index;
  index.span = clause.span;
  index.hi = over.count;
  push_scope(cx);
  index.var = index_variable("", clause.span);
  Size i = position_of(index);
  learn_index(cx, i, 0, index.hi);
  Span at = clause.range->span;
  auto element = [this, over, at, pattern = clause.pattern](const Size& position) {
    return taken_apart(cx, over.element(position, at), *pattern, at);
  };
  ExprPtr first = element(i);
  auto bound = bind_pattern(cx, *clause.pattern, refresh(cx, *first), false, first.get());
  bindings.push_back([element, i, at, bound] {
    typed::Stmt let;
    let.kind = StmtKind::Let;
    let.span = at;
    let.pattern = bound;
    let.value = element(i);
    return let;
  });
  add_index(std::move(index), over.count);
}

void ComprehensionChecker::check_range(const ast::IndexClause& clause, typed::ComprehensionIndex& index) {
  ExprPtr range = check_value(cx, clause.range);
  Type type = refresh(cx, *range);
  if (type.is_error()) {
    fine = false;
  } else if (!type.is_range()) {
    error(cx, "TypeMismatch", clause.range->span, fmt::format("an index iterates over a range, not {}", show(cx, type)),
          type.is_scalar() ? fmt::format("write `0..{}`", source_text(cx, clause.range->span))
                           : fmt::format("write `{0} in 0..len({1})` and subscript `{1}[{0}]`", clause.pattern->name,
                                         source_text(cx, clause.range->span)));
    fine = false;
  } else if (!in_steps_of_1(type)) {
    error(cx, "NotSupported", clause.range->span, "an index of a comprehension goes by constant steps",
          "multiply it in the element");
    fine = false;
  } else {
    index.lo = type.shape[0];
    index.hi = type.shape[1];
    take_binds(*range, index.binds);
    bind_elements(index);
  }
}

// The range of an index without one: that of the axes it subscripts.
void ComprehensionChecker::infer_range(const ast::IndexClause& clause, typed::ComprehensionIndex& index) {
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
    return;
  }
  index.hi = axes[0].size;
  for (size_t i = 1; i < axes.size(); ++i) {
    if (index.hi == axes[i].size) continue;
    if (!have_one_size(name, axes[0], axes[i], index.hi)) {
      fine = false;
      break;
    }
    if (axes[i].size.is_constant()) index.hi = axes[i].size;
  }
}

// Another axis that an index subscripts has the size that is known of the first.
bool ComprehensionChecker::have_one_size(const std::string& name, const Axis& first, const Axis& other,
                                         const Size& size) {
  std::string message = fmt::format("`{}` indexes an axis of `{}` with size {{0}} and one of `{}` with size {{1}}",
                                    name, first.base, other.base);
  if (require_equal(cx, size, other.size, true, message, other.span, node->checks, true)) return true;
  std::vector<Label> labels{{first.span, fmt::format("size {}", show(cx, first.size))},
                            {other.span, fmt::format("size {}", show(cx, other.size))}};
  add_origins(cx, size, other.size, labels);
  std::string hint = equality_hint(cx, size, other.size);
  error(cx, "ShapeMismatch", other.span,
        fmt::format("`{}` indexes axes of different sizes, {}", name, different(cx, size, other.size)),
        hint.empty() ? fmt::format("write the range: `{} in 0..n`", name) : hint, std::move(labels));
  return false;
}

void ComprehensionChecker::bind_index(const ast::IndexClause& clause, typed::ComprehensionIndex& index) {
  push_scope(cx);
  if (clause.pattern->kind == ast::Pattern::Kind::Name) {
    Entity entity;
    entity.span = clause.pattern->span;
    if (fine) {
      index.var = index_variable(clause.pattern->name, clause.pattern->span);
      learn_index(cx, position_of(index), index.lo, index.hi);
      entity.kind = Entity::Kind::Variable;
      entity.var = index.var;
    }
    enter(cx, clause.pattern->name, entity);
  } else if (fine) {
    index.var = index_variable("_", clause.pattern->span);
  }
}

VarId ComprehensionChecker::index_variable(const std::string& name, Span at) {
  VarId var = new_variable(cx, name, Type::scalar(DType::I64), false, at);
  bind_atom(cx, var);
  return var;
}

Size ComprehensionChecker::position_of(const typed::ComprehensionIndex& index) const {
  return Size::of(cx.program.variables[index.var.index].atom);
}

void ComprehensionChecker::add_index(typed::ComprehensionIndex index, const Size& distance) {
  extents.push_back(cx.program.atoms.positive(distance, inside->facts_outside().sure()));
  comprehension.indices.push_back(std::move(index));
}

// A range that uses what is at the positions before it: those are bound where it is evaluated, too.
void ComprehensionChecker::bind_elements(typed::ComprehensionIndex& index) {
  if (bindings.empty()) return;
  std::vector<AtomId> atoms;
  cx.program.atoms.collect(index.lo, atoms);
  cx.program.atoms.collect(index.hi, atoms);
  std::vector<typed::SizeBind> binds;
  for (const auto& binding : bindings) {
    std::vector<VarId> variables;
    pattern_variables(binding().pattern, variables);
    for (VarId var : variables) {
      AtomId atom = cx.program.variables[var.index].atom;
      if (atom.valid() && std::find(atoms.begin(), atoms.end(), atom) != atoms.end())
        binds.push_back({atom, with_bindings(variable_value(cx, var, index.span))});
    }
  }
  for (typed::SizeBind& bind : index.binds)
    binds.push_back({bind.atom, with_bindings(std::move(bind.value))});
  index.binds = std::move(binds);
}

ExprPtr ComprehensionChecker::with_bindings(ExprPtr e) const {
  if (bindings.empty() || e->type.is_error()) return e;
  typed::Block block;
  for (const auto& binding : bindings)
    block.statements.push_back(binding());
  Span at = e->span;
  return in_block(std::move(block), std::move(e), at);
}

void ComprehensionChecker::check_filter() {
  if (!reduces()) {
    error(cx, "WrongArguments", c.filter->span, "a trailing `if` filters reductions, not tensors",
          "choose elements by a mask: `x[mask]`, or write `if c { a } else { b }` in the element");
    fine = false;
  }
  comprehension.filter = check_condition(cx, c.filter);
  fine = fine && !comprehension.filter->type.is_error();
  if (fine) learn_condition(cx, *comprehension.filter, true);
}

// May elements like this one be put together?
bool ComprehensionChecker::check_element(typed::Expr& element, size_t first_inner_atom) {
  std::vector<Size> sizes;
  if (!tensor_leaves(element.type, sizes)) {
    error(cx, "TypeMismatch", element.span,
          fmt::format("the element of a comprehension is a number or a tensor, or a tuple or struct of them, not {}",
                      show(cx, element.type)),
          element.type.is_unit() ? "" : "`list(… for …)` makes a list");
    return false;
  }
  if (element.type.is_aggregate()) cx.open.settle(element.type);
  if (reduces_parts(element) && (comprehension.filter || reduction.starts_with("arg"))) {
    error(cx, "TypeMismatch", element.span,
          fmt::format("{}, not {}",
                      comprehension.filter ? "with a filter, the element of a reduction is a number or a tensor"
                                           : fmt::format("`{}` takes numbers", reduction),
                      show(cx, element.type)),
          "", {label_of(cx, element)});
    return false;
  }
  return have_one_shape(element, sizes, first_inner_atom);
}

// Sizes of the element must not depend on the indices, nor be known only inside.
bool ComprehensionChecker::have_one_shape(const typed::Expr& element, const std::vector<Size>& sizes,
                                          size_t first_inner_atom) {
  for (const Size& size : sizes) {
    std::vector<AtomId> atoms;
    cx.program.atoms.collect(size, atoms);
    for (AtomId atom : atoms) {
      if (atom.index < first_inner_atom && !is_index(atom)) continue;
      error(cx, "ShapeMismatch", element.span,
            fmt::format("the elements of a comprehension need one shape, and the size {} may differ between them",
                        show(cx, size)),
            "", {label_of(cx, element)});
      return false;
    }
  }
  return true;
}

// Ranges must not depend on earlier indices: rows would have different lengths.
bool ComprehensionChecker::ranges_are_independent() {
  for (size_t i = 0; i < extents.size(); ++i) {
    std::vector<AtomId> atoms;
    cx.program.atoms.collect(extents[i], atoms);
    if (std::none_of(atoms.begin(), atoms.end(), [&](AtomId atom) { return is_index(atom); })) continue;
    error(cx, "ShapeMismatch", comprehension.indices[i].span,
          "the range of an index of a tensor cannot depend on another index");
    return false;
  }
  return true;
}

// The tensor of the elements, or the tuple of tensors.
ExprPtr ComprehensionChecker::make_tensor(ExprPtr element) {
  if (!ranges_are_independent()) return nullptr;
  node->type = element->type;
  add_leading(node->type, extents);
  node->operands.push_back(with_bindings(std::move(element)));
  return std::move(node);
}

// Reduces each tensor of a tuple or struct of them.
ExprPtr ComprehensionChecker::reduce_parts(ExprPtr parts) {
  typed::Block block;
  ExprPtr whole = shared(cx, std::move(parts), block);
  std::vector<uint32_t> path;
  ExprPtr result = reduce_part(*whole, whole->type, path, false);
  if (!fine) return nullptr;
  Type type = result->type;
  block.result = std::move(result);
  return make_expr(typed::BlockExpr{std::move(block)}, span, std::move(type));
}

// The part that the steps of a path lead to, of this type.
ExprPtr ComprehensionChecker::reduce_part(const typed::Expr& whole, const Type& type, std::vector<uint32_t>& path,
                                          bool in_struct) {
  if (type.is_aggregate()) {
    auto made = make_expr(typed::TupleExpr{}, span, type);
    for (uint32_t i = 0; i < type.elements.size(); ++i) {
      path.push_back(i);
      made->operands.push_back(reduce_part(whole, type.elements[i], path, type.is_struct()));
      made->type.elements[i] = made->operands.back()->type;
      path.pop_back();
      fine = fine && !made->type.elements[i].is_error();
    }
    return made;
  }
  ExprPtr made = reduce_leaf(whole, path);
  return in_struct && !made->type.is_error() ? convert(cx, std::move(made), type.dtype, span) : std::move(made);
}

ExprPtr ComprehensionChecker::reduce_leaf(const typed::Expr& whole, const std::vector<uint32_t>& path) {
  ExprPtr leaf = copy_simple(whole);
  for (uint32_t step : path) {
    auto part = make_expr(typed::TupleGetExpr{step}, span, leaf->type.elements[step]);
    part->operands.push_back(std::move(leaf));
    leaf = std::move(part);
  }
  std::vector<Arg> args(2);
  args[0].span = args[1].span = span;
  args[0].value = std::move(leaf);
  args[1].name = "axis";
  args[1].constant = all_axes(extents.size());
  return builtin_call(cx, kLeafReductions.at(reduction), std::move(args), span, false, nullptr);
}

ExprPtr ComprehensionChecker::reduce(ExprPtr element) {
  comprehension.is_reduction = true;
  comprehension.reduce = kReductions.at(reduction);
  comprehension.is_mean = reduction == "mean";
  element = reduction_operand(std::move(element));
  if (!element) return nullptr;
  node->type = refresh(cx, *element);
  if (comprehension.reduce == ReduceOp::ArgMin || comprehension.reduce == ReduceOp::ArgMax) {
    cx.open.settle(element->type);
    node->type = Type::tensor(DType::I64, element->type.shape);
  }
  node->operands.push_back(with_bindings(std::move(element)));
  return std::move(node);
}

// The element as the reduction takes it: of a type that it has, small integers as i64.
ExprPtr ComprehensionChecker::reduction_operand(ExprPtr element) {
  auto wrong = [&](const std::string& message, const std::string& hint) {
    error(cx, "TypeMismatch", element->span, fmt::format("{}, and this is {}", message, show(cx, element->type)), hint,
          {label_of(cx, *element)});
    return nullptr;
  };
  Type& type = element->type;
  const ReduceOp op = comprehension.reduce;
  if (op == ReduceOp::Any || op == ReduceOp::All) {
    cx.open.settle(type);
    if (type.dtype != DType::Bool)
      return wrong(fmt::format("`{}` takes bools", reduction),
                   fmt::format("write `{} != 0`", source_text(cx, element->span)));
  } else if (comprehension.is_mean) {
    if (!cx.open.is_complex(type) && !cx.open.constrain_float(type))
      return wrong("`mean` takes floats",
                   fmt::format("write `{}({})`", usual_float(cx), source_text(cx, element->span)));
  } else if ((op == ReduceOp::Sum || op == ReduceOp::Prod) && !type.open && !is_float(part_of(type.dtype)) &&
             type.dtype != DType::I64) {
    if (type.dtype == DType::Key) {
      error(cx, "TypeMismatch", element->span, fmt::format("`{}` takes numbers, not keys", reduction));
      return nullptr;
    }
    if (type.dtype != DType::U64) return convert(cx, std::move(element), DType::I64);
  } else if (!type.open && !is_num(part_of(type.dtype))) {
    return wrong(fmt::format("`{}` takes numbers", reduction), "");
  }
  return element;
}

bool ComprehensionChecker::is_index(AtomId atom) const {
  return std::any_of(comprehension.indices.begin(), comprehension.indices.end(),
                     [&](const typed::ComprehensionIndex& index) {
                       return index.var.valid() && cx.program.variables[index.var.index].atom == atom;
                     });
}

} // namespace

ExprPtr check_comprehension(Context& cx, const ast::Expr&, const ast::Comprehension& c, const std::string& reduction,
                            Span span, const Type* expected) {
  if (reduction == "list") return list_comprehension(cx, c, span, expected);
  bool reduces = !reduction.empty();
  if (reduces && !kReductions.count(reduction)) {
    error(cx, "NotCallable", span, fmt::format("`{}` does not reduce a comprehension", reduction),
          "sum, prod, mean, min, max, any, all, argmin, argmax and list do; a tensor is written in brackets");
    return broken(span);
  }
  Sources sources = sources_of(cx, c);
  if (!sources.by_element) return ComprehensionChecker{cx, c, reduction, span, sources.by_position}.check();
  if (!reduces && (c.clauses.size() > 1 || c.filter)) {
    error(cx, "NotSupported", span, "a tensor over several lists, or parts of one, is not supported yet",
          "`list(… for … in …)` makes a list, and `stack` a tensor of it");
    return broken(span);
  }
  return reduce_list(cx, c, reduction, span, expected);
}

} // namespace tl::checker
