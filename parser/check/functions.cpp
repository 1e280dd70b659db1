// Functions as values: lambdas and what they keep, function types, calls of values, functions that return functions,
// map and fold. Which function a value is, is known when compiling: it is in the value's type.
#include "parser/check/functions.h"
#include "parser/check/arguments.h"
#include "parser/check/calls.h"
#include "parser/check/expressions.h"
#include "parser/check/free_names.h"
#include "parser/check/instances.h"
#include "parser/check/leaves.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/statements.h"
#include "parser/check/types.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

namespace {
constexpr int kMaxExpansion = 64; // calls in each other that are checked in place
} // namespace

// ---- which function a value is --------------------------------------------------------------------------------------

Type function_type(Context& cx, const Static& function) {
  Type type = Type::make(TypeKind::Function);
  for (size_t i = 1; i < cx.functions.values.size(); ++i)
    if (cx.functions.values[i].callable == function.callable) type.function = static_cast<uint32_t>(i);
  if (type.function) return type;
  cx.functions.values.push_back(function);
  type.function = static_cast<uint32_t>(cx.functions.values.size() - 1);
  return type;
}

bool has_function(const Context& cx, const Type& type) {
  return type.is_function() || std::any_of(type.elements.begin(), type.elements.end(),
                                           [&](const Type& element) { return has_function(cx, element); });
}

bool has_range(const Context& cx, const Type& type) {
  return type.is_range() || std::any_of(type.elements.begin(), type.elements.end(),
                                        [&](const Type& element) { return has_range(cx, element); });
}

bool is_closure(const Static& function) {
  return std::any_of(function.callable.functions.begin(), function.callable.functions.end(),
                     [](const FunctionInfo* info) { return info->is_closure; });
}

bool has_closure(const Context& cx, const Type& type) {
  if (type.is_function()) return !(type.function & kWritten) && is_closure(function_of(cx, type));
  return std::any_of(type.elements.begin(), type.elements.end(),
                     [&](const Type& element) { return has_closure(cx, element); });
}

// Does a type as written hold functions? Then a parameter of it makes instances per function.
bool returns_function(Context& cx, const ast::TypeExpr* type) {
  auto inside = [&](auto& self, const ast::TypeExpr* t, int depth) -> bool {
    if (!t || depth > 20) return false;
    if (ast::as<ast::FunctionType>(t)) return true;
    if (auto* tuple = ast::as<ast::TupleType>(t))
      return std::any_of(tuple->elements.begin(), tuple->elements.end(),
                         [&](const ast::TypeExpr* element) { return self(self, element, depth + 1); });
    auto* named = ast::as<ast::NamedType>(t);
    const Entity* entity = named ? find_type(cx, named->name.text) : nullptr;
    if (!entity || entity->kind != Entity::Kind::Struct) return false;
    for (const ast::StructField& field : entity->structure->decl->fields)
      if (self(self, field.type, depth + 1)) return true;
    return false;
  };
  return inside(inside, type, 0);
}

// The conversion that an element type's name stands for where a function is wanted.
Static conversion_function(DType type) {
  Static function;
  function.kind = Static::Kind::Function;
  function.callable.conversion = type;
  function.name = name_of(type);
  return function;
}

// ---- lambdas --------------------------------------------------------------------------------------------------------

void keep_values(Context& cx, const std::set<std::string>& names, Span span, typed::Block& into) {
  for (const std::string& name : names) {
    const Entity* entity = nullptr;
    bool in_function = false;
    for (const Scope* s = cx.names.scope; s && !entity; s = s->parent) {
      in_function = in_function || s->is_function;
      const Entity* found = s->meaning(name, in_function);
      if (!found) continue;
      // Of a script: its `var`s are not captured, and a later `let` of the same name is another.
      if (s->is_file && (found->kind != Entity::Kind::Variable || !cx.program.variables[found->var.index].is_mutable))
        enter(cx, name, Entity(*found));
      if (s->is_file) break;
      entity = found;
    }
    if (!entity || entity->kind != Entity::Kind::Variable) continue;
    const VarId var = entity->var;
    if (!cx.program.variables[var.index].is_mutable || !cx.function->own.count(var.index)) continue;
    typed::Stmt let;
    let.kind = StmtKind::Let;
    let.span = span;
    let.value = variable_value(cx, var, span);
    Type type = let.value->type;
    if (type.is_error()) continue;
    VarId kept = new_variable(cx, name, type, false, entity->span);
    if (type.is_scalar() && type.dtype == DType::I64) bind_atom(cx, kept);
    let.pattern.var = kept;
    into.statements.push_back(std::move(let));
    Entity value = *entity;
    value.var = kept;
    enter(cx, name, std::move(value));
  }
}

void evaluate_function(ExprPtr function, Span span, typed::Block& before) {
  if (function->is<typed::UnitExpr, typed::VariableExpr>()) return;
  before.statements.push_back(let_variable({}, std::move(function), span));
}

ExprPtr in_block(typed::Block block, ExprPtr result, Span span) {
  if (block.statements.empty()) return result;
  Type type = result->type;
  block.result = std::move(result);
  return make_expr(typed::BlockExpr{std::move(block)}, span, std::move(type));
}

ExprPtr check_lambda(Context& cx, const ast::Expr& e, const ast::Lambda& l) {
  const ast::Function*& decl = cx.functions.of_lambdas[&l];
  if (!decl) {
    distinct_params(cx, {}, l.params);
    cx.functions.made->functions.emplace_back();
    ast::Function& made = cx.functions.made->functions.back();
    std::vector<std::string> names;
    for (const ast::Param& param : l.params)
      names.push_back(param.name.text);
    made.name = {fmt::format("|{}| …", fmt::join(names, ", ")), e.span};
    made.params = l.params;
    made.body = l.body;
    decl = &made;
  }
  SaveAndRestore scope(cx.names.scope);
  typed::Block kept;
  push_scope(cx);
  keep_values(cx, names_in(l.body), e.span, kept);
  cx.functions.declared.emplace_back();
  FunctionInfo& info = cx.functions.declared.back();
  info.decl = decl;
  info.made = cx.functions.made;
  info.env = cx.names.scope;
  info.parent = cx.function;
  info.id = static_cast<uint32_t>(cx.functions.declared.size());
  info.is_template = info.is_closure = true;
  info.facts = cx.function->facts;
  Static function;
  function.kind = Static::Kind::Function;
  function.callable.functions.push_back(&info);
  function.name = decl->name.text;
  return in_block(std::move(kept), make_expr(typed::UnitExpr{}, e.span, function_type(cx, function)), e.span);
}

// ---- function types -------------------------------------------------------------------------------------------------

Type written_function(Context& cx, const ast::FunctionType& type) {
  cx.functions.written.push_back({&type, cx.names.scope});
  Type result = Type::make(TypeKind::Function);
  result.function = kWritten | static_cast<uint32_t>(cx.functions.written.size() - 1);
  return result;
}

// The function, taking and giving what the type says: a function `fn(1: A, 2: B) -> C = function(1, 2)`. Sizes that are
// bound where the type is are those; the others are generic in each call, like those of any function.
Static under_type(Context& cx, const Static& function, uint32_t written, Span span, bool& ok) {
  const WrittenFunction type = cx.functions.written[written & ~kWritten];
  const auto& functions = function.callable.functions;
  if (functions.size() == 1 && functions[0]->wraps == type.type) return function;
  size_t count = type.type->parameters.size(), least = count, most = count;
  if (functions.size() == 1) {
    const auto& params = functions[0]->decl->params;
    most = params.size();
    least = static_cast<size_t>(
        std::count_if(params.begin(), params.end(), [](const ast::Param& p) { return !p.default_value; }));
  } else if (function.callable.scalar && !function.callable.builtin) {
    least = most = static_cast<size_t>(info(*function.callable.scalar).arity);
  } else if (function.callable.conversion) {
    least = most = 1;
  }
  if (count < least || count > most) {
    error(cx, "TypeMismatch", span,
          fmt::format("a function of {} argument{} is needed here, and `{}` takes {}", count, count == 1 ? "" : "s",
                      function.name, count < least ? least : most));
    ok = false;
    return function;
  }
  auto new_expr = [&](auto node) {
    cx.functions.made->exprs.push_back({span, false, 1, std::move(node)});
    return &cx.functions.made->exprs.back();
  };
  cx.functions.made->functions.emplace_back();
  ast::Function& decl = cx.functions.made->functions.back();
  decl.name = {function.name, span};
  ast::Call call;
  call.callee = new_expr(ast::Name{" function"});
  for (size_t i = 0; i < count; ++i) {
    std::string name = std::to_string(i + 1);
    decl.params.push_back({{name, span}, type.type->parameters[i], nullptr, {}, span});
    call.arguments.push_back({{}, new_expr(ast::Name{name})});
  }
  decl.result = type.type->result;
  if (!decl.result) {
    cx.functions.made->types.push_back({span, 1, ast::TupleType{}});
    decl.result = &cx.functions.made->types.back();
  }
  decl.body.expression = new_expr(std::move(call));
  SaveAndRestore scope(cx.names.scope, type.env);
  push_scope(cx);
  Entity inner;
  inner.kind = Entity::Kind::Static;
  inner.value = function;
  inner.span = span;
  enter(cx, " function", std::move(inner));
  cx.functions.declared.emplace_back();
  FunctionInfo& made = cx.functions.declared.back();
  made.decl = &decl;
  made.made = cx.functions.made;
  made.env = cx.names.scope;
  made.id = static_cast<uint32_t>(cx.functions.declared.size());
  made.is_template = true;
  made.is_closure = true;
  made.wraps = type.type;
  made.facts = cx.function->facts;
  Static result;
  result.kind = Static::Kind::Function;
  result.callable.functions.push_back(&made);
  result.name = function.name;
  return result;
}

bool fill_functions(Context& cx, Type& to, const Type& have, Span span) {
  if (to.is_function()) {
    if (!(to.function & kWritten) || !have.is_function() || (have.function & kWritten)) return true;
    bool ok = true;
    Static function = under_type(cx, Static(function_of(cx, have)), to.function, span, ok);
    if (ok) to = function_type(cx, function);
    return ok;
  }
  for (size_t i = 0; i < to.elements.size() && i < have.elements.size(); ++i)
    if (!fill_functions(cx, to.elements[i], have.elements[i], span)) return false;
  return true;
}

// ---- calls ----------------------------------------------------------------------------------------------------------

// A call of a function that returns a function, checked in place: what the result keeps are variables of the caller.
ExprPtr expand_call(Context& cx, FunctionInfo& info, const Bindings& bindings, std::vector<ExprPtr> args, Span span,
                    typed::Block& before) {
  const ast::Function& decl = *info.decl;
  if (cx.functions.expansions >= kMaxExpansion) {
    error(cx, "InstantiationDepth", span,
          fmt::format("`{}` returns a function and calls itself without end", decl.name.text));
    return broken(span);
  }
  Signature signature = make_signature(cx, info, bindings, span);
  std::vector<const Type*> param_types, arg_types;
  std::vector<VarId> vars;
  std::vector<std::string> names;
  std::vector<const ast::TypeExpr*> written;
  for (size_t i = 0; i < signature.params.size(); ++i)
    if (signature.params[i].var.valid()) {
      vars.push_back(signature.params[i].var);
      param_types.push_back(&signature.params[i].type);
      names.push_back(decl.params[i].name.text);
      written.push_back(decl.params[i].type);
    }
  if (vars.size() != args.size()) return broken(span);
  for (auto& arg : args)
    arg_types.push_back(&refresh(cx, *arg));
  std::set<AtomId> unknown(signature.size_params.begin(), signature.size_params.end());
  std::map<AtomId, Size> known;
  auto holder = make_expr(typed::RecastExpr{}, span, Type::unit());
  solve_sizes(cx, param_types, arg_types, unknown, decl.name.text, span, known, holder->checks);
  for (size_t i = 0; i < args.size(); ++i) {
    typed::Stmt let;
    let.kind = StmtKind::Let;
    let.span = args[i]->span;
    args[i] = coerce(cx, std::move(args[i]), substitute(cx, *param_types[i], known),
                     fmt::format("argument `{}` of `{}`", names[i], decl.name.text), written[i]);
    if (args[i]->type.is_error()) return broken(span);
    AtomId atom = cx.program.variables[vars[i].index].atom;
    if (auto size = number_of(cx, *args[i]); size && atom.valid()) cx.function->facts.equal.push_back({atom, *size});
    cx.function->own.insert(vars[i].index);
    cx.function->variables.push_back(vars[i]);
    let.pattern.var = vars[i];
    let.value = std::move(args[i]);
    if (i == 0)
      for (const auto& [a, size] : known) {
        let.size_defs.push_back({a, size});
        cx.function->facts.equal.push_back({a, size});
      }
    before.statements.push_back(std::move(let));
  }
  SaveAndRestore scope(cx.names.scope);
  SaveAndRestore expanding(cx.functions.expanding, true);
  SaveAndRestore expansions(cx.functions.expansions, cx.functions.expansions + 1);
  SaveAndRestore loops(cx.function->loops, {});
  size_t reports = cx.function->reports.size();
  cx.names.scope = signature.scope;
  push_scope(cx);
  const Type wanted = expected_result(cx, signature);
  const Type* expected = decl.result ? &wanted : nullptr;
  ExprPtr result;
  if (decl.body.expression) {
    result = check_expr(cx, decl.body.expression, expected, true);
  } else if (decl.body.block) {
    std::vector<ast::Stmt*> list = decl.body.block->statements;
    if (!list.empty())
      if (auto* last = ast::as<ast::Return>(list.back()); last && last->value) {
        cx.functions.made->stmts.push_back({list.back()->span, list.back()->depth, ast::ExprStmt{last->value}});
        list.back() = &cx.functions.made->stmts.back();
      }
    hoist_declarations(cx, list);
    check_statements(cx, list, before, true, expected);
    result = std::move(before.result);
  }
  if (!result) result = broken(span);
  if (expected && !result->type.is_error()) {
    // A `_` in the result is what the value has.
    std::set<AtomId> open;
    for (const auto& fresh : signature.result_atoms)
      open.insert(fresh.atom);
    std::map<AtomId, Size> found;
    Type have = refresh(cx, *result);
    solve_sizes(cx, {&signature.result}, {&have}, open, decl.name.text, span, found, holder->checks);
    result = coerce(cx, std::move(result), substitute(cx, signature.result, found),
                    fmt::format("the result of `{}`", decl.name.text));
  }
  for (size_t i = reports; i < cx.function->reports.size(); ++i)
    cx.function->reports[i].labels.push_back({span, fmt::format("in this call of `{}`", decl.name.text)});
  return in_block(std::move(before), std::move(result), span);
}

// A call with values that are there already: they are bound to names that no text has.
static ExprPtr call_value(Context& cx, const Static& function, std::vector<ExprPtr> args, Span span) {
  typed::Block before;
  SaveAndRestore scope(cx.names.scope);
  push_scope(cx);
  std::vector<Arg> list;
  for (size_t i = 0; i < args.size(); ++i) {
    Span at = args[i]->span;
    Entity entity;
    entity.kind = Entity::Kind::Variable;
    entity.span = at;
    const auto* variable = args[i]->get_if<typed::VariableExpr>();
    if (variable && !cx.program.variables[variable->var.index].is_mutable) {
      entity.var = variable->var;
    } else {
      Type type = refresh(cx, *args[i]);
      auto size = size_of(cx, *args[i]);
      entity.var = new_variable(cx, "", type, false, at);
      if (size && !type.open)
        cx.sizes.known[entity.var] = *size;
      else if (type.is_scalar() && type.dtype == DType::I64)
        bind_atom(cx, entity.var);
      before.statements.push_back(let_variable(entity.var, std::move(args[i]), at));
    }
    std::string name = fmt::format(" value{}", i);
    enter(cx, name, entity);
    cx.functions.made->exprs.push_back({at, false, 1, ast::Name{name}});
    list.push_back({"", &cx.functions.made->exprs.back(), at, {}, nullptr, std::nullopt});
  }
  ExprPtr result = call_named(cx, function.callable, function.name, span, std::move(list), span, false, nullptr);
  return in_block(std::move(before), std::move(result), span);
}

// ---- map and fold over leaves ---------------------------------------------------------------------------------------

namespace {

// The same tuples, structs and lists of leaves, whatever these are.
bool same_structure(const Type& a, const Type& b) {
  if (a.kind != b.kind || a.record != b.record || a.elements.size() != b.elements.size()) return false;
  for (size_t i = 0; i < a.elements.size(); ++i)
    if (!same_structure(a.elements[i], b.elements[i])) return false;
  return true;
}

// map(f, p, q…): f of every leaf of a struct, tuple or list, or of the leaves of several that match. fold(f, init, p):
// f(f(init, first leaf), second leaf) and so on. The value may come before the function, as in p.map(f). With
// `trained = true` only the leaves that are trained: the others are those of p, or are left out of the fold.
struct LeavesCall {
  Context& cx;
  const bool is_map;
  std::vector<Arg> args;
  const Span span;
  const std::string name = is_map ? "map" : "fold";
  const std::string form = is_map ? "it is map(f, p, …)" : "it is fold(f, init, p)";
  bool trained = false;
  std::optional<Static> function{};
  size_t position = 0; // of the function among the arguments
  typed::Block before{};
  ExprPtr init{};
  std::vector<ExprPtr> parts{};
  bool fine = true;
  bool is_first_leaf = true; // of a fold

  ExprPtr check();
  // These return false where something is wrong, which they have reported.
  bool take_trained();
  bool take_args(std::vector<ExprPtr>& values);
  bool have_one_structure();
  ExprPtr argument_value(Arg& arg);
  void evaluate(std::vector<ExprPtr> values);
  ExprPtr map();
  ExprPtr fold();
  ExprPtr fold_step(ExprPtr accumulator, bool in_state, ExprPtr leaf);
  ExprPtr apply(ExprPtr accumulator, ExprPtr leaf);
  void type_start(typed::Expr& start, const typed::Expr& leaf);
};

ExprPtr LeavesCall::check() {
  std::vector<ExprPtr> values;
  if (!take_trained() || !take_args(values)) return broken(span);
  evaluate(std::move(values));
  if (!have_one_structure()) return broken(span);
  ExprPtr result = is_map ? map() : fold();
  return fine ? in_block(std::move(before), std::move(result), span) : broken(span);
}

bool LeavesCall::take_trained() {
  if (args.empty() || args.back().name != "trained") return true;
  auto given = args.back().source ? static_of(cx, args.back().source) : std::nullopt;
  if (!given || given->kind != Static::Kind::Bool) {
    error(cx, "WrongArguments", args.back().span, fmt::format("`trained` of `{}` is true or false", name));
    return false;
  }
  trained = given->number != 0;
  args.pop_back();
  return true;
}

ExprPtr LeavesCall::argument_value(Arg& arg) {
  auto known = arg.value ? std::nullopt : static_of(cx, arg.source);
  if (known && known->kind == Static::Kind::Element)
    return make_expr(typed::UnitExpr{}, arg.span, function_type(cx, conversion_function(known->dtype)));
  return take(cx, arg);
}

bool LeavesCall::take_args(std::vector<ExprPtr>& values) {
  for (size_t i = 0; i < args.size(); ++i) {
    Arg& arg = args[i];
    if (!arg.name.empty() && !(arg.name == "init" && !is_map)) {
      error(cx, "WrongArguments", arg.name_span, fmt::format("`{}` has no parameter `{}`", name, arg.name), form);
      return false;
    }
    ExprPtr v = argument_value(arg);
    if (refresh(cx, *v).is_error()) return false;
    if (v->type.is_function() && !function && !(v->type.function & kWritten)) {
      function = function_of(cx, v->type);
      position = i;
    }
    values.push_back(std::move(v));
  }
  if (function && values.size() >= (is_map ? 2 : 3) && (is_map || values.size() <= 3)) return true;
  error(cx, "WrongArguments", span,
        function ? fmt::format("`{}` takes {}", name,
                               is_map ? "a function and one or more values" : "a function, a start, and a value")
                 : fmt::format("`{}` needs a function", name),
        form);
  return false;
}

// f, init, p or p, f, init: each is evaluated where it is.
void LeavesCall::evaluate(std::vector<ExprPtr> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    bool is_init = !is_map && i == (position == 0 ? 1u : 2u);
    if (i == position) {
      Span at = values[i]->span;
      evaluate_function(std::move(values[i]), at, before);
    } else if (is_init) {
      init = kept(cx, std::move(values[i]), before);
    } else {
      parts.push_back(kept(cx, std::move(values[i]), before));
    }
  }
}

bool LeavesCall::have_one_structure() {
  const Type& type = parts[0]->type;
  for (size_t i = 1; i < parts.size(); ++i)
    if (!same_structure(type, parts[i]->type)) {
      error(cx, "TypeMismatch", parts[i]->span,
            fmt::format("`{}` needs matching leaves, but these are {} and {}", name, show(cx, type),
                        show(cx, parts[i]->type)));
      return false;
    }
  return true;
}

ExprPtr LeavesCall::map() {
  auto apply_to = [&](const Type& leaf, bool in_state, std::vector<ExprPtr> leaves) -> ExprPtr {
    if (!fine) return broken(span);
    if (trained && (in_state || !is_trainable(cx.open.resolved(leaf)))) return std::move(leaves[0]);
    ExprPtr v = call_value(cx, *function, std::move(leaves), span);
    cx.open.settle(v->type);
    fine = fine && !v->type.is_error();
    return v;
  };
  return rebuild(cx, std::move(parts), span, apply_to);
}

ExprPtr LeavesCall::fold() {
  auto step = [&](ExprPtr accumulator, bool in_state, ExprPtr leaf) {
    return fold_step(std::move(accumulator), in_state, std::move(leaf));
  };
  return fold_leaves(cx, std::move(init), std::move(parts[0]), before, step, span);
}

ExprPtr LeavesCall::fold_step(ExprPtr accumulator, bool in_state, ExprPtr leaf) {
  if (!fine) return broken(span);
  if (trained && (in_state || !is_trainable(cx.open.resolved(leaf->type)))) return accumulator;
  if (is_first_leaf) type_start(*accumulator, *leaf);
  is_first_leaf = false;
  ExprPtr result = apply(std::move(accumulator), std::move(leaf));
  cx.open.settle(result->type);
  fine = fine && !result->type.is_error();
  return result;
}

ExprPtr LeavesCall::apply(ExprPtr accumulator, ExprPtr leaf) {
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(accumulator));
  operands.push_back(std::move(leaf));
  return call_value(cx, *function, std::move(operands), span);
}

// A start without a type of its own: what it is by itself, or else what the first leaf is.
void LeavesCall::type_start(typed::Expr& start, const typed::Expr& leaf) {
  Type type = refresh(cx, start);
  if (!type.open || !start.is<typed::LiteralExpr>() || !leaf.type.is_tensor()) return;
  Snapshot now = snapshot(cx);
  auto trial = copy_simple(start);
  trial->type = cx.open.new_open(cx.open.kind_of(type));
  bool works = !apply(std::move(trial), copy_part(cx, leaf))->type.is_error();
  rollback(cx, now);
  if (!works) (void)cx.open.unify(start.type, leaf.type);
}

} // namespace

ExprPtr call_leaves(Context& cx, bool is_map, std::vector<Arg> args, Span span) {
  return LeavesCall{cx, is_map, std::move(args), span}.check();
}

} // namespace tl::checker
