// A session: the checker takes one piece after the other. Names live in one file scope; a piece that declares a name
// again replaces it. Instances are made anew for each piece, so that functions see what names mean now.
//
// A piece costs what it is itself, whatever came before: what names meant before it is noted as they change, and it is
// given the variables and sizes that it uses. What it leaves behind goes with the next renewal (renewal.cpp).
#include "parser/check/session.h"
#include "abi/repr.h"
#include "parser/check/builtins/complex.h"
#include "parser/check/export.h"
#include "parser/check/expressions.h"
#include "parser/check/finish.h"
#include "parser/check/functions.h"
#include "parser/check/modules.h"
#include "parser/check/names.h"
#include "parser/check/program.h"
#include "parser/check/statements.h"
#include "parser/check/strings.h"
#include "parser/check/struct_types.h"
#include "parser/check/values.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::checker {

namespace {
constexpr size_t kLeastPieces = 256; // between renewals

// Has so much been left behind that a renewal pays off?
bool is_worn(const Context& cx) {
  return cx.session.pieces >= kLeastPieces &&
         cx.session.pieces >= 2 * (cx.names.file->names.size() + cx.session.given.size());
}
} // namespace

static void undo_piece(Context& cx);
static void find_state(Context& cx);

void note_name(Context& cx, Scope& scope, const std::string& name) {
  auto it = scope.names.find(name);
  cx.session.before->names.push_back(
      {&scope, name, it == scope.names.end() ? std::nullopt : std::optional(it->second)});
}

// Declarations of earlier pieces that this one declares again.
static void forget_declared(Context& cx, const ast::File& file) {
  auto forget = [&](const std::string& name) {
    note_name(cx, *cx.names.file, name);
    cx.names.file->names.erase(name);
  };
  for (const ast::Stmt* s : file.statements) {
    if (auto* function = ast::as<ast::Function>(s)) forget(function->name.text);
    if (auto* structure = ast::as<ast::Struct>(s)) forget(structure->name.text);
    if (auto* constant = ast::as<ast::Const>(s)) forget(constant->name.text);
    if (auto* import = ast::as<ast::Import>(s)) forget(name_of_module(*import));
  }
}

static const typed::Program& check_piece(Context& cx, const ast::File& file, Diagnostics& diagnostics) {
  cx.session.is_active = true;
  ++cx.session.pieces;
  for (FunctionInfo* info : cx.session.with_instances)
    info->instances.clear();
  cx.session.with_instances.clear();
  cx.instances.states.clear();
  cx.program.instances.clear();
  cx.session.before =
      Session::Before{{}, cx.top->current, cx.top->facts.mark(), cx.program.variables.size(), cx.program.uses_devices};
  cx.session.new_modules.clear();
  cx.session.run_modules.clear();
  cx.session.first_function = cx.functions.declared.size();
  cx.session.first_struct = cx.names.structs.size();
  cx.functions.made = std::make_shared<MadeSyntax>();
  cx.functions.of_lambdas.clear();
  cx.sizes.mask_counts.clear();
  cx.sizes.open_results.clear();
  cx.program.top_level = {};
  cx.program.main_call = {};
  cx.program.session = {};
  cx.program.session.is_piece = true;
  cx.program.session.first_atom = cx.program.atoms.size();
  cx.session.shown_type.clear();
  cx.session.shown_ifs.clear();
  cx.names.suggestions = 0;
  cx.instances.top_level_calls.clear();
  cx.instances.const_calls.clear();
  cx.top->reports.clear();
  cx.top->variables.clear();
  cx.top->captures.clear();
  cx.top->calls.clear();
  cx.top->reachable = true;
  cx.function = cx.top;
  cx.names.scope = cx.names.file;
  cx.names.file->declared.clear();

  forget_declared(cx, file);
  hoist_declarations(cx, file.statements);
  for (size_t i = cx.session.first_struct; i < cx.names.structs.size(); ++i)
    (void)record_of(cx, cx.names.structs[i]);
  check_top_level(cx, file);
  check_uncalled(cx);
  check_waiting(cx);
  finish_program(cx);
  flush_reports(cx, diagnostics);
  cx.program.ok = !diagnostics.has_errors();
  if (!cx.program.ok) {
    undo_piece(cx);
    return cx.program;
  }
  find_state(cx);
  return cx.program;
}

static void undo_piece(Context& cx) {
  if (!cx.session.before) return;
  for (auto it = cx.session.before->names.rbegin(); it != cx.session.before->names.rend(); ++it)
    if (it->before)
      it->scope->names[it->name] = std::move(*it->before);
    else
      it->scope->names.erase(it->name);
  for (const ast::File* module : cx.session.run_modules)
    cx.names.modules.at(module).has_run = false;
  for (const ast::File* module : cx.session.new_modules)
    cx.names.modules.erase(module);
  cx.names.file->declared.clear();
  cx.top->current = std::move(cx.session.before->current);
  cx.top->facts.restore(cx.session.before->facts);
  cx.program.uses_devices = cx.session.before->uses_devices;
  cx.top->own.erase(cx.top->own.lower_bound(static_cast<uint32_t>(cx.session.before->variables)), cx.top->own.end());
  cx.session.before.reset();
}

// The piece has run: what it binds has a value from here on, and what it has replaced is gone.
static void accept_piece(Context& cx, const std::vector<AtomId>& sizes) {
  cx.session.known_atoms.insert(sizes.begin(), sizes.end());
  for (VarId var : cx.program.session.kept)
    if (auto it = cx.top->current.find(var); it != cx.top->current.end())
      cx.program.variables[var.index].type = it->second; // as it is now
  cx.session.given.merge(cx.session.new_given);
  for (VarId var : cx.program.session.dropped) {
    cx.session.given.erase(var);
    cx.top->own.erase(var.index);
    cx.top->current.erase(var);
    cx.sizes.known.erase(var);
    cx.open_at_first.erase(var);
  }
  cx.session.before.reset();
}

// Of closures: what they see around them, except a script's own variables, which they have taken in by name.
// that functions in a value of this type may read
static void held_variables(Context& cx, const Type& type, std::set<VarId>& into) {
  std::set<const void*> seen;
  auto of_type = [&](auto& self, const Type& t) -> void {
    auto of_callable = [&](auto& again, const Callable& callable) -> void {
      if (const Transformed* transformed = callable.transformed; transformed && seen.insert(transformed).second) {
        again(again, transformed->function.callable);
        again(again, transformed->rule.callable);
      }
      for (const FunctionInfo* info : callable.functions)
        for (const Scope* s = info->env; s && s != cx.names.prelude && !s->is_file && seen.insert(s).second;
             s = s->parent)
          for (const auto& [name, entity] : s->names) {
            again(again, entity.value.callable);
            if (entity.kind == Entity::Kind::Function && entity.function->is_closure)
              again(again, Callable{{entity.function}, {}, {}, {}, nullptr, nullptr});
            if (entity.kind != Entity::Kind::Variable) continue;
            into.insert(entity.var);
            self(self, cx.program.variables[entity.var.index].type);
          }
    };
    if (t.is_function() && t.function && !(t.function & kWritten))
      of_callable(of_callable, function_of(cx, t).callable);
    for (const Type& element : t.elements)
      self(self, element);
  };
  of_type(of_type, type);
}

// What this piece takes from earlier ones, what it gives to later ones, and what they cannot refer to any more: neither
// by a name, nor inside a function that is a value.
static void find_state(Context& cx) {
  typed::SessionState& session = cx.program.session;
  Uses uses;
  add_uses(cx, cx.program.top_level, uses);
  for (uint32_t callee : uses.callees) {
    const typed::Instance& instance = cx.program.instances[callee];
    uses.variables.insert(instance.captures.begin(), instance.captures.end());
    uses.used.insert(instance.captured_atoms.begin(), instance.captured_atoms.end());
  }
  for (VarId var : uses.variables)
    if (cx.session.given.count(var)) {
      session.given.push_back(var);
      add_uses(cx, cx.program.variables[var.index].type, uses);
      if (cx.program.variables[var.index].is_mutable) session.kept.push_back(var);
    }
  for (AtomId atom : uses.used)
    if (cx.session.known_atoms.count(atom)) session.sizes.push_back(atom);

  std::set<VarId> bound;
  auto pattern = [&](auto& self, const typed::Pattern& p) -> void {
    if (p.var.valid()) bound.insert(p.var);
    for (const typed::Pattern& element : p.elements)
      self(self, element);
  };
  auto block = [&](auto& self, const typed::Block& b) -> void {
    auto inside = [&](auto& visit, const typed::Expr& e) -> void { // what blocks that are expressions bind
      if (e.is<typed::IfExpr, typed::ComprehensionExpr>()) return;
      for (const auto& operand : e.operands)
        visit(visit, *operand);
      if (const auto* block = e.get_if<typed::BlockExpr>()) self(self, block->block);
    };
    for (const typed::Stmt& s : b.statements) {
      if (s.kind == StmtKind::Let) pattern(pattern, s.pattern);
      if (s.value && s.kind != StmtKind::For && s.kind != StmtKind::While) inside(inside, *s.value);
    }
    if (b.result) inside(inside, *b.result);
  };
  block(block, cx.program.top_level);

  std::set<VarId> named;
  for (const Session::NameBefore& change : cx.session.before->names) {
    auto it = change.scope->names.find(change.name);
    if (it == change.scope->names.end() || it->second.kind != Entity::Kind::Variable) continue;
    named.insert(it->second.var);
    held_variables(cx, cx.program.variables[it->second.var.index].type, cx.session.hidden);
  }
  cx.session.new_given.clear();
  for (VarId var : bound)
    if (named.count(var) || cx.session.hidden.count(var)) {
      cx.session.new_given.insert(var);
      session.kept.push_back(var);
    }
  for (const Session::NameBefore& change : cx.session.before->names) {
    if (!change.before || change.before->kind != Entity::Kind::Variable) continue;
    const VarId var = change.before->var;
    if (!named.count(var) && !cx.session.hidden.count(var) && cx.session.given.count(var))
      session.dropped.push_back(var);
  }
}

static std::vector<std::string> visible_names(const Context& cx) {
  std::vector<std::string> result;
  for (const Scope* scope : {cx.names.prelude, cx.names.file})
    for (const auto& [name, entity] : scope->names)
      result.push_back(name);
  return result;
}

// ---- showing values

// "f32[2, 3]": sizes as they are when it runs.
static void append_type(Context& cx, typed::Expr& interp, const Type& type, Span span) {
  if (type.is_tensor() && type.rank() > 0) {
    append_text(interp, name_of(type.dtype));
    for (size_t k = 0; k < type.rank(); ++k) {
      append_text(interp, k ? ", " : "[");
      append_value(cx, interp, size_expr(type.shape[k], span), "", span);
    }
    return append_text(interp, "]");
  }
  if (!type.is_tuple()) return append_text(interp, type.is_struct() ? type.record->name : show(cx, type));
  append_text(interp, "(");
  for (size_t k = 0; k < type.elements.size(); ++k) {
    if (k) append_text(interp, ", ");
    append_type(cx, interp, type.elements[k], span);
  }
  append_text(interp, type.elements.size() == 1 ? ",)" : ")");
}

// As it is declared: "double(x: f32[n]) -> f32[n]".
static std::string function_text(Context& cx, const Static& function) {
  const Callable& callable = function.callable;
  if (callable.builtin) return signature_of(cx, *callable.builtin);
  if (callable.functions.empty()) return function.name;
  const ast::Function& decl = *callable.functions[0]->decl;
  Span span = decl.name.span;
  uint32_t body = decl.body.block        ? decl.body.block->span.begin
                  : decl.body.expression ? decl.body.expression->span.begin
                                         : span.end;
  if (body <= span.begin) return function.name; // a lambda
  std::string all = source_text(cx, {span.file, span.begin, body});
  size_t end = all.find_last_not_of(" \t\r\n={");
  return all.substr(0, end + 1);
}

// Is the value of a block that of its last expression? Then an `if` there is one that gives a value, too.
static bool gives_value(Context& cx, const ast::Block& block);
static bool gives_value(Context& cx, const ast::Expr& e) {
  const auto* node = ast::as<ast::If>(&e);
  if (!node) return true;
  if (!node->else_block || !gives_value(cx, node->then_block) || !gives_value(cx, *node->else_block)) return false;
  cx.session.shown_ifs.insert(&e);
  return true;
}
static bool gives_value(Context& cx, const ast::Block& block) {
  const auto* last = block.statements.empty() ? nullptr : ast::as<ast::ExprStmt>(block.statements.back());
  return last && gives_value(cx, *last->value);
}

// `x;` at the end of a line shows nothing.
static bool is_silenced(const Context& cx, const ast::Expr& e) {
  std::string_view behind = cx.sources.text(e.span.file).substr(e.span.end);
  behind = behind.substr(0, behind.find('\n'));
  auto skip = [&](std::string_view what) {
    behind.remove_prefix(std::min(behind.find_first_not_of(what), behind.size()));
  };
  skip(" \t)"); // brackets around it are no part of it
  if (!behind.starts_with(';')) return false;
  skip("; \t\r");
  return behind.empty() || behind.starts_with('#');
}

// let _ = value
static ExprPtr keep_as_last(Context& cx, ExprPtr value, typed::Block& into) {
  typed::Stmt let;
  let.kind = StmtKind::Let;
  let.span = value->span;
  const VarId var = new_variable(cx, kLastValue, value->type, false, value->span);
  Entity entity;
  entity.kind = Entity::Kind::Variable;
  entity.span = value->span;
  entity.var = var;
  note_name(cx, *cx.names.file, kLastValue);
  cx.names.file->names[kLastValue] = entity;
  cx.instances.top_level_order.try_emplace(var, cx.instances.bound_at_top_level());
  let.pattern.var = var;
  let.value = std::move(value);
  const Span span = let.span;
  into.statements.push_back(std::move(let));
  return variable_value(cx, var, span);
}

static void print_line(Context& cx, ExprPtr line, typed::Block before, Span span, typed::Block& into) {
  append_text(*line, cx.options.is_prompt ? kShownEnd : "\n");
  auto print = make_expr(typed::BuiltinExpr{Builtin::Print, typed::PrintAttrs{}}, span, Type::unit());
  print->operands.push_back(finish_interp(std::move(line)));
  typed::Stmt statement;
  statement.span = span;
  statement.value = in_block(std::move(before), std::move(print), span);
  into.statements.push_back(std::move(statement));
}

// Of what is no value: a function, a range, a type.
static void show_type(Context& cx, std::string type, Span span, typed::Block& into) {
  cx.session.shown_type = std::move(type);
  ExprPtr line = new_interp(span);
  if (cx.options.is_prompt) append_text(*line, std::string(kShownValue) + std::string(kShownType));
  append_text(*line, cx.session.shown_type);
  print_line(cx, std::move(line), {}, span, into);
}

void show_value(Context& cx, const ast::Expr& e, typed::Block& into) {
  const bool is_prompt = cx.options.is_prompt;
  ExprPtr value = check_expr(cx, &e, nullptr, ast::as<ast::If>(&e) && gives_value(cx, e));
  cx.open.settle(value->type);
  Type type = cx.open.resolved(value->type);
  switch (type.kind) {
  case TypeKind::Error: return;
  case TypeKind::Unit: {
    typed::Stmt statement;
    statement.span = e.span;
    statement.value = std::move(value);
    into.statements.push_back(std::move(statement));
    return;
  }
  case TypeKind::Function: return show_type(cx, function_text(cx, function_of(cx, type)), e.span, into);
  case TypeKind::Range:
  case TypeKind::None:
  case TypeKind::Element: return show_type(cx, show(cx, type), e.span, into);
  default: break;
  }
  cx.session.shown_type = show(cx, type);
  if (is_prompt && !has_function(cx, type) && !has_range(cx, type)) value = keep_as_last(cx, std::move(value), into);
  typed::Block before;
  std::shared_ptr<typed::Expr> held = shared(cx, std::move(value), before);
  if (is_silenced(cx, e)) {
    std::move(before.statements.begin(), before.statements.end(), std::back_inserter(into.statements));
    return;
  }
  ExprPtr line = new_interp(e.span);
  const bool is_compound = type.is_aggregate() || type.is_list();
  if (is_prompt) append_text(*line, kShownValue);
  append_value(cx, *line, copy_simple(*held), is_prompt && is_compound ? std::string(kBrief) : "", e.span);
  append_text(*line, is_prompt ? kShownType : type.is_tensor() && type.rank() > 1 ? "\n: " : " : ");
  append_type(cx, *line, type, e.span);
  print_line(cx, std::move(line), std::move(before), e.span, into);
}

} // namespace tl::checker

namespace tl {

CheckSession::CheckSession(const ast::File& prelude, const SourceManager& sources, const CheckOptions& options)
    : prelude_(prelude), sources_(sources), options_(options),
      context_(std::make_unique<checker::Context>(sources, options)) {
  checker::begin_session(*context_, prelude);
}
CheckSession::~CheckSession() = default;
const typed::Program& CheckSession::add(const ast::File& piece, Diagnostics& diagnostics) {
  return checker::check_piece(*context_, piece, diagnostics);
}
void CheckSession::undo() { checker::undo_piece(*context_); }
void CheckSession::accept(const std::vector<AtomId>& sizes) { checker::accept_piece(*context_, sizes); }
SizeAtoms& CheckSession::atoms() { return context_->program.atoms; }
bool CheckSession::is_worn() const { return checker::is_worn(*context_); }
CheckSession::Renewal CheckSession::renew() {
  auto fresh = std::make_unique<checker::Context>(sources_, options_);
  checker::begin_session(*fresh, prelude_);
  Renewal renewal = checker::renew(*context_, *fresh);
  context_ = std::move(fresh);
  return renewal;
}
std::string CheckSession::shown_type() const { return context_->session.shown_type; }
std::vector<std::string> CheckSession::names() const { return checker::visible_names(*context_); }

// Has it lists of what is two tensors when the program runs?
static bool lists_complex(const Type& type) {
  if (type.is_list()) return checker::holds_complex(type);
  return std::any_of(type.elements.begin(), type.elements.end(), lists_complex);
}

std::optional<CheckSession::Bound> CheckSession::bound(const std::string& name) const {
  checker::Context& cx = *context_;
  auto it = cx.names.file->names.find(name);
  if (it == cx.names.file->names.end() || it->second.kind != checker::Entity::Kind::Variable) return std::nullopt;
  const typed::VarId var = it->second.var;
  const Type type = cx.open.resolved(cx.program.variables[var.index].type);
  const bool is_value = type.is_tensor() || type.is_str() || type.is_struct() || type.is_list() ||
                        (type.is_tuple() && checker::can_cross(cx, type));
  if (!is_value || lists_complex(type)) return std::nullopt;
  return Bound{var, checker::value_info(cx, type)};
}

std::vector<std::string> CheckSession::bound_names() const {
  std::vector<std::string> result;
  for (const auto& [name, entity] : context_->names.file->names)
    if (bound(name)) result.push_back(name);
  return result;
}

} // namespace tl
