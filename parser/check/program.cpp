// The checker's course: declarations, top-level statements, main, tests, and every instance that these need.
#include "parser/check/program.h"
#include "lang/typed_walk.h"
#include "parser/check/check.h"
#include "parser/check/export.h"
#include "parser/check/expressions.h"
#include "parser/check/finalize.h"
#include "parser/check/finish.h"
#include "parser/check/functions.h"
#include "parser/check/instances.h"
#include "parser/check/lists.h"
#include "parser/check/main_call.h"
#include "parser/check/modules.h"
#include "parser/check/names.h"
#include "parser/check/session.h"
#include "parser/check/sizes.h"
#include "parser/check/statements.h"
#include "parser/check/struct_types.h"
#include <fmt/format.h>

namespace tl::checker {

static typed::Program check_program(Context& cx, const ast::File& file, const ast::File& prelude,
                                    Diagnostics& diagnostics);
static void check_tests(Context& cx, const ast::File& file);
static void close_types(Context& cx);
// of a generic function that nobody calls
static std::optional<Bindings> plain_bindings(Context& cx, const FunctionInfo& info);
static void infer_result(Context& cx, InstanceState& state, const typed::Block& body, size_t first_local_atom);
static void infer_open_sizes(Context& cx, InstanceState& state, const typed::Block& body, size_t first_local_atom);

namespace {
constexpr int kMaxWaiting = 64; // instances that wait for each other's result types
} // namespace

static bool is_settled(const Context& cx, const ast::Function* function) {
  return cx.options.settled && cx.options.settled->functions.contains(function);
}

void begin_session(Context& cx, const ast::File& prelude) {
  cx.contexts.emplace_back();
  cx.top = cx.function = &cx.contexts.back();
  cx.function->is_top_level = true;
  cx.names.prelude_file = prelude.id;
  cx.names.prelude = push_scope(cx);
  hoist_declarations(cx, prelude.statements);
  cx.names.file = push_scope(cx);
  cx.names.file->is_file = true;
}

static typed::Program check_program(Context& cx, const ast::File& file, const ast::File& prelude,
                                    Diagnostics& diagnostics) {
  begin_session(cx, prelude);
  hoist_declarations(cx, file.statements);
  for (StructInfo& info : cx.names.structs)
    (void)record_of(cx, info);
  check_top_level(cx, file);
  if (!cx.options.exported.empty())
    check_export(cx, cx.options.exported);
  else if (const FunctionInfo* main = main_function(cx); !main || !is_settled(cx, main->decl))
    check_main(cx, file);
  check_tests(cx, file);
  check_uncalled(cx);
  check_waiting(cx);
  finish_program(cx);
  if (!cx.options.exported.empty()) check_export_top_level(cx, cx.options.exported);
  flush_reports(cx, diagnostics);
  if (cx.options.types) close_types(cx);
  cx.program.ok = !diagnostics.has_errors() && !cx.is_incomplete;
  return std::move(cx.program);
}

// Also where an error has ended the function around it before its literals had types.
static void close_types(Context& cx) {
  for (auto& [node, type] : *cx.options.types)
    cx.open.settle(type);
  for (typed::Variable& variable : cx.program.variables)
    cx.open.settle(variable.type);
}

void check_top_level(Context& cx, const ast::File& file) {
  for (const ast::Stmt* s : file.statements) {
    if (auto* function = ast::as<ast::Function>(s)) (void)declaration(cx, function->name, Entity::Kind::Function);
    if (ast::as<ast::Function>(s) || ast::as<ast::Test>(s)) continue;
    size_t before = cx.program.top_level.statements.size(), first_variable = cx.function->variables.size();
    auto* alone = cx.session.is_active && cx.names.scope == cx.names.file ? ast::as<ast::ExprStmt>(s) : nullptr;
    if (alone)
      show_value(cx, *alone->value, cx.program.top_level);
    else
      check_statement(cx, *s, cx.program.top_level);
    // Each statement closes its own literals.
    for (size_t i = before; i < cx.program.top_level.statements.size(); ++i)
      finalize(cx, cx.program.top_level.statements[i]);
    for (size_t i = first_variable; i < cx.function->variables.size(); ++i) { // the earlier ones are closed
      const VarId var = cx.function->variables[i];
      cx.open.settle(cx.program.variables[var.index].type);
      if (auto it = cx.function->current.find(var); it != cx.function->current.end()) cx.open.settle(it->second);
      // An immutable i64 whose literal was open until now.
      typed::Variable& v = cx.program.variables[var.index];
      if (!v.is_mutable && v.type.is_scalar() && v.type.dtype == DType::I64 && !v.atom.valid() &&
          !cx.sizes.known.count(var))
        bind_atom(cx, var);
    }
    cx.function->reachable = true;
  }
}

// Of the entry: what comes from outside has types that are written. `why`: "`main` is the command line".
bool has_known_types(Context& cx, const FunctionInfo& entry, const std::string& why) {
  const ast::Function& decl = *entry.decl;
  bool fine = true;
  for (const ast::Param& param : decl.params)
    if (!param.type) {
      error(cx, "TypeMismatch", param.name.span, fmt::format("{}, so `{}` needs a type", why, param.name.text),
            fmt::format("like `{}: i64` or `{}: f32[n, 3]`", param.name.text, param.name.text));
      fine = false;
    }
  if (!decl.type_params.empty() || (fine && entry.is_template)) {
    error(cx, "TypeMismatch", decl.name.span, why + ": its types and ranks must be known");
    fine = false;
  }
  return fine;
}

InstanceId entry_instance(Context& cx, FunctionInfo& entry, const Bindings& bindings) {
  InstanceId id = instance_for(cx, entry, bindings, {});
  if (!cx.instances.states[id.index].signature.has_result) check_instance(cx, id);
  cx.instances.top_level_calls.push_back({id, entry.decl->name.span, cx.instances.bound_at_top_level()});
  cx.program.has_main = true;
  cx.program.main = id;
  return id;
}

static void check_tests(Context& cx, const ast::File& file) {
  for (const ast::Stmt* s : file.statements) {
    auto* test = ast::as<ast::Test>(s);
    if (!test || (cx.options.settled && cx.options.settled->tests.contains(test))) continue;
    InstanceId id{static_cast<uint32_t>(cx.instances.states.size())};
    cx.instances.states.emplace_back();
    cx.program.instances.emplace_back();
    cx.instances.states.back().stage = InstanceState::Stage::Running;
    cx.instances.states.back().signature.has_result = true;
    cx.instances.states.back().signature.result = Type::unit();
    cx.contexts.emplace_back();
    FunctionContext& context = cx.contexts.back();
    context.parent = cx.top;
    context.instance = id;
    context.signature = &cx.instances.states.back().signature;
    cx.instances.states.back().context = &context;
    SaveAndRestore function(cx.function, &context);
    SaveAndRestore scope(cx.names.scope, cx.names.file);
    typed::Block body = check_block(cx, test->body, false);
    finalize(cx, body);
    typed::Instance& instance = cx.program.instances[id.index];
    instance.name = instance.key = fmt::format("test \"{}\"", test->name);
    instance.span = test->name_span;
    instance.result = Type::unit();
    instance.body = std::move(body);
    cx.instances.states[id.index].stage = InstanceState::Stage::Done;
    cx.instances.states[id.index].reports = std::move(context.reports);
    cx.program.tests.push_back({test->name, test->name_span, id});
  }
}

// Functions whose types are all written are checked even if nobody calls them.
void check_uncalled(Context& cx) {
  for (size_t i = cx.session.first_function; i < cx.functions.declared.size(); ++i) {
    FunctionInfo& info = cx.functions.declared[i];
    if (is_library(cx, info.decl->name.span.file) || info.is_closure || !info.instances.empty()) continue;
    if (is_settled(cx, info.decl)) continue;
    if (info.is_template) {
      if (auto bindings = plain_bindings(cx, info)) instance_for(cx, info, *bindings, {});
      continue;
    }
    cx.names.scope = info.env;
    bool takes_function = std::any_of(info.decl->params.begin(), info.decl->params.end(),
                                      [&](const ast::Param& param) { return returns_function(cx, param.type); });
    cx.names.scope = cx.names.file;
    if (takes_function || (info.decl->result && returns_function(cx, info.decl->result))) continue;
    Bindings bindings;
    bindings.params.resize(info.decl->params.size());
    instance_for(cx, info, bindings, {});
  }
}

// Element types that the bounds allow, and one axis for each `..s`. Nothing where a call might bring what no bound
// tells: a parameter without a type, functions, structs.
static std::optional<Bindings> plain_bindings(Context& cx, const FunctionInfo& info) {
  const ast::Function& decl = *info.decl;
  Bindings bindings;
  bindings.params.resize(decl.params.size());
  for (const ast::TypeParam& param : decl.type_params) {
    const std::string& bound = param.bound.text;
    if (param.default_type || (bound != "float" && bound != "int" && bound != "num" && bound != "complex"))
      return std::nullopt;
    const DType type = bound == "int" ? DType::I64 : bound == "complex" ? DType::C64 : DType::F32;
    bindings.types[param.name.text] = Type::scalar(type);
  }
  auto visit = [&](auto& self, const ast::TypeExpr* type) -> bool {
    if (!type || ast::as<ast::FunctionType>(type)) return false;
    if (auto* tuple = ast::as<ast::TupleType>(type))
      return std::all_of(tuple->elements.begin(), tuple->elements.end(), [&](auto* t) { return self(self, t); });
    auto* named = ast::as<ast::NamedType>(type);
    if (!named) return false;
    for (const ast::Expr* dim : named->dims)
      if (auto* spread = ast::as<ast::Spread>(dim)) bindings.ranks[spread->name.text] = 1;
    return std::all_of(named->arguments.begin(), named->arguments.end(), [&](auto* t) { return self(self, t); });
  };
  SaveAndRestore scope(cx.names.scope, info.env);
  bool plain = !decl.result || !returns_function(cx, decl.result);
  for (const ast::Param& param : decl.params)
    plain = plain && visit(visit, param.type) && !returns_function(cx, param.type);
  if (!plain) return std::nullopt;
  return bindings;
}

void check_waiting(Context& cx) {
  while (!cx.instances.waiting.empty()) {
    InstanceId id = cx.instances.waiting.back();
    cx.instances.waiting.pop_back();
    check_instance(cx, id);
  }
}

void check_instance(Context& cx, InstanceId id) {
  InstanceState& state = cx.instances.states[id.index];
  if (state.stage != InstanceState::Stage::Waiting) return;
  const ast::Function& decl = *state.info->decl;
  if (cx.depth > kMaxWaiting) {
    error(cx, "InstantiationDepth", state.call.valid() ? state.call : decl.name.span,
          fmt::format("the result type of `{}` needs too many others to be found first", decl.name.text),
          "write its result type");
    state.stage = InstanceState::Stage::Done;
    state.signature.has_result = true;
    state.signature.result = Type::error();
    return;
  }
  if (cx.options.interrupt && *cx.options.interrupt) throw CheckInterrupted();
  if (decl.result && state.signature.has_result && is_settled(cx, &decl)) {
    state.stage = InstanceState::Stage::Done;
    cx.program.instances[id.index].result = state.signature.result;
    cx.program.instances[id.index].has_effects = cx.options.settled->functions.at(&decl);
    return;
  }
  state.stage = InstanceState::Stage::Running;
  SaveAndRestore depth(cx.depth, cx.depth + 1), in_comprehension(cx.in_comprehension, 0);
  SaveAndRestore in_const(cx.in_const, false), expanding(cx.functions.expanding, false);
  SaveAndRestore function(cx.function);
  SaveAndRestore scope(cx.names.scope);
  cx.contexts.emplace_back();
  FunctionContext& context = cx.contexts.back();
  context.parent = state.info->parent;
  context.instance = id;
  context.signature = &state.signature;
  if (state.info->is_closure) context.facts = state.info->facts;
  state.context = &context;
  cx.function = &context;
  cx.names.scope = state.signature.scope;
  cx.names.scope->function = &context;
  typed::Instance made;
  for (const auto& param : state.signature.params) {
    if (!param.var.valid()) continue;
    context.own.insert(param.var.index);
    context.variables.push_back(param.var);
    made.params.push_back(param.var);
  }
  size_t first_local_atom = cx.program.atoms.size();
  Signature& signature = state.signature;
  const bool declared = decl.result != nullptr;
  const Type wanted = declared ? expected_result(cx, signature) : state.wanted;
  const Type* expected = !declared && wanted.is_error() ? nullptr : &wanted;
  bool want = !(declared && signature.result.is_unit());
  typed::Block body;
  push_scope(cx);
  if (!is_library(cx, decl.name.span.file)) check_solvable(cx, signature);
  if (decl.body.expression) {
    ExprPtr e = check_expr(cx, decl.body.expression, expected, true);
    TypeKind kind = e->type.kind;
    if (kind == TypeKind::Element || kind == TypeKind::None) {
      error(cx, "TypeMismatch", e->span, fmt::format("`{}` is not a value here", source_text(cx, e->span)));
      e->type = Type::error();
    }
    if (e->type.is_unit() && !e->is<typed::UnitExpr>()) {
      typed::Stmt s;
      s.span = e->span;
      s.value = std::move(e);
      body.statements.push_back(std::move(s));
    } else
      body.result = std::move(e);
    body.diverges = !cx.function->reachable;
  } else if (decl.body.block) {
    hoist_declarations(cx, decl.body.block->statements);
    check_statements(cx, decl.body.block->statements, body, want, expected);
  }
  if (declared) {
    if (body.result && !(signature.result.is_unit() && body.result->type.is_unit()))
      body.result =
          coerce(cx, std::move(body.result), signature.result, fmt::format("the result of `{}`", decl.name.text));
    else if (!body.result && context.reachable && !signature.result.is_unit() && !signature.result.is_error())
      error(
          cx, "MissingResult", decl.name.span,
          fmt::format("`{}` returns {}, but its body ends without a value", decl.name.text, show(cx, signature.result)),
          "the last line of a block is its value, and an `if` has one only with `else`",
          {{decl.result->span, "declared here"}});
  }
  if (!declared)
    infer_result(cx, state, body, first_local_atom);
  else if (!signature.has_result)
    infer_open_sizes(cx, state, body, first_local_atom);
  signature.elements = context.elements;
  std::vector<typed::Stmt> elements = element_variables(cx);
  body.statements.insert(body.statements.begin(), std::make_move_iterator(elements.begin()),
                         std::make_move_iterator(elements.end()));
  finalize(cx, body);
  for (VarId var : context.variables) {
    cx.open.settle(cx.program.variables[var.index].type);
  }
  cx.open.settle(signature.result);
  typed::Instance& instance = cx.program.instances[id.index];
  instance.params = std::move(made.params);
  instance.size_params = signature.size_params;
  instance.result = signature.result;
  instance.result_atoms = signature.result_atoms;
  instance.body = std::move(body);
  state.stage = InstanceState::Stage::Done;
  state.reports = std::move(context.reports);
}

// The result type of a function that doesn't write it. Its sizes are those of the parameters where they are; the others
// only the result's value tells.
static void infer_result(Context& cx, InstanceState& state, const typed::Block& body, size_t first_local_atom) {
  std::vector<Type> types = cx.function->returned;
  Type own = body.result ? refresh(cx, *body.result) : Type::unit();
  if (cx.function->reachable || types.empty()) types.push_back(own);
  Signature& signature = state.signature;
  signature.has_result = true;
  for (const Type& type : types)
    cx.open.close_to(type, state.wanted);
  Type result = cx.open.resolved(types[0]);
  for (const Type& type : types) {
    if (type.is_error()) {
      signature.result = Type::error();
      return;
    }
    if (has_range(cx, type)) {
      error(cx, "NotSupported", state.info->decl->name.span, "a range cannot be a result yet", "give its two ends");
      signature.result = Type::error();
      return;
    }
    if (same_form(cx, result, type)) continue;
    error(cx, "TypeMismatch", state.info->decl->name.span,
          fmt::format("`{}` returns {} in one place and {} in another", state.info->decl->name.text, show(cx, result),
                      show(cx, type)));
    signature.result = Type::error();
    return;
  }
  cx.open.settle(result);
  auto outer = [&](auto& self, Type& into, const std::vector<const Type*>& all, std::vector<uint32_t> path) -> void {
    if (into.is_list()) { // sizes that the caller cannot know are each element's own
      for (const Type* type : all)
        into = either_element(cx, into, *type);
      if (into.elements.empty()) return;
      into = list_of(cx, into.elements[0], [&](const Size& size) {
        std::vector<AtomId> atoms;
        cx.program.atoms.collect(size, atoms);
        return std::any_of(atoms.begin(), atoms.end(), [&](AtomId a) { return a.index >= first_local_atom; });
      });
      return;
    }
    for (size_t k = 0; k < into.shape.size(); ++k) {
      bool same = true;
      for (const Type* type : all)
        same = same && type->shape[k] == into.shape[k];
      std::vector<AtomId> atoms;
      cx.program.atoms.collect(into.shape[k], atoms);
      bool told = same; // by what the caller knows of elements of parameters
      for (AtomId atom : atoms) {
        const bool is_element = std::any_of(
            cx.function->elements.begin(), cx.function->elements.end(),
            [&](const ParameterElement& element) { return cx.program.variables[element.variable.index].atom == atom; });
        same = same && atom.index < first_local_atom;
        told = told && (atom.index < first_local_atom || is_element);
      }
      if (same) continue;
      const Size own = into.shape[k];
      AtomId id =
          size_atom(cx, AtomKind::Fresh, fmt::format("axis {} of the result of `{}`", k, state.info->decl->name.text),
                    state.info->decl->name.span);
      into.shape[k] = Size::of(id);
      signature.result_atoms.push_back({id, path, static_cast<uint32_t>(k)});
      if (told) signature.told_by_elements[id] = own;
    }
    for (size_t i = 0; i < into.elements.size(); ++i) {
      std::vector<const Type*> inner;
      for (const Type* type : all)
        inner.push_back(&type->elements[i]);
      auto inner_path = path;
      inner_path.push_back(static_cast<uint32_t>(i));
      self(self, into.elements[i], inner, inner_path);
    }
  };
  std::vector<const Type*> all;
  for (const Type& type : types)
    all.push_back(&type);
  outer(outer, result, all, {});
  signature.result = result;
}

// The sizes in lists of a result whose type is written without them, as in `-> Net`.
static void infer_open_sizes(Context& cx, InstanceState& state, const typed::Block& body, size_t first_local_atom) {
  Signature& signature = state.signature;
  std::vector<AtomId> open;
  for (const typed::FreshAtom& fresh : std::exchange(signature.result_atoms, {}))
    open.push_back(fresh.atom);
  const bool has_value = body.result || !cx.function->returned.empty();
  if (has_value) infer_result(cx, state, body, first_local_atom);
  signature.has_result = true;
  if (!has_atom(cx, signature.result, open)) return;
  if (has_value)
    error(cx, "UnboundSize", state.info->decl->result->span,
          fmt::format("the value of `{}` does not tell the sizes of its result", state.info->decl->name.text),
          write_sizes_hint(cx, signature.result));
  signature.result = Type::error();
}

// The first expression without a type.
static const typed::Expr* find_broken(const typed::Block& block) {
  const typed::Expr* found = nullptr;
  const auto in_block = [&](const typed::Block& inner) { found = found ? found : find_broken(inner); };
  const auto in_expr = [&](auto& self, const typed::Expr& e) -> void {
    if (found) return;
    typed::each_part(e, [&](const typed::Expr& part) { self(self, part); }, in_block);
    if (!found && e.type.is_error()) found = &e;
  };
  const auto look = [&](const typed::Expr& e) { in_expr(in_expr, e); };
  for (const typed::Stmt& s : block.statements)
    typed::each_part_of_statement(s, look, in_block);
  if (block.result) look(*block.result);
  return found;
}

void flush_reports(Context& cx, Diagnostics& diagnostics) {
  std::vector<bool> reachable = reachable_instances(cx);
  for (Diagnostic& d : cx.top->reports)
    diagnostics.report(d);
  for (size_t i = 0; i < cx.instances.states.size(); ++i)
    if (reachable[i])
      for (Diagnostic& d : cx.instances.states[i].reports)
        diagnostics.report(d);
  if (diagnostics.has_errors() || cx.is_incomplete) return;
  // What has no type has been refused. Where nothing was said of it, a rule of the checker lacks its message: better a
  // poor one than a program that leaves it out.
  const auto refuse = [&](const typed::Block& block) {
    if (const typed::Expr* e = find_broken(block))
      diagnostics.error("NotSupported", e->span, "this is refused, and the checker has no message that says why",
                        "look at the types of what is in it");
  };
  refuse(cx.program.top_level);
  refuse(cx.program.main_call);
  for (size_t i = 0; i < cx.program.instances.size() && i < reachable.size(); ++i)
    if (reachable[i]) refuse(cx.program.instances[i].body);
}

} // namespace tl::checker

namespace tl {

typed::Program check(const ast::File& file, const ast::File& prelude, const SourceManager& sources,
                     Diagnostics& diagnostics, const CheckOptions& options) {
  checker::Context cx(sources, options);
  return checker::check_program(cx, file, prelude, diagnostics);
}

} // namespace tl
