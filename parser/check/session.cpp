// A session: the checker takes one piece after the other. Names live in one file scope; a piece that declares a name
// again replaces it. Instances are made anew for each piece, so that functions see what names mean now.
//
// A piece costs what it is itself, whatever came before: what names meant before it is noted as they change, and it is
// given the variables and sizes that it uses. What it leaves behind goes with the next renewal (renewal.cpp).
#include "parser/check/context.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::checker {

void Checker::note_name(Scope& scope, const std::string& name) {
  auto it = scope.names.find(name);
  before_->names.push_back({&scope, name, it == scope.names.end() ? std::nullopt : std::optional(it->second)});
}

// Declarations of earlier pieces that this one declares again.
void Checker::forget_declared(const ast::File& file) {
  auto forget = [&](const std::string& name) {
    note_name(*file_, name);
    file_->names.erase(name);
  };
  for (const ast::Stmt* s : file.statements) {
    if (auto* function = ast::as<ast::Function>(s)) forget(function->name.text);
    if (auto* structure = ast::as<ast::Struct>(s)) forget(structure->name.text);
    if (auto* constant = ast::as<ast::Const>(s)) forget(constant->name.text);
    if (auto* import = ast::as<ast::Import>(s)) forget(name_of_module(*import));
  }
}

const typed::Program& Checker::piece(const ast::File& file, Diagnostics& diagnostics) {
  is_session_ = true;
  ++pieces_;
  for (FunctionInfo* info : with_instances_)
    info->instances.clear();
  with_instances_.clear();
  states_.clear();
  p_.instances.clear();
  before_ = Before{{}, top_->current, top_->facts.mark(), p_.variables.size(), p_.uses_devices};
  new_modules_.clear();
  run_modules_.clear();
  first_function_ = functions_.size();
  first_struct_ = structs_.size();
  made_ = std::make_shared<MadeSyntax>();
  lambda_functions_.clear();
  mask_counts_.clear();
  open_results_.clear();
  p_.top_level = {};
  p_.main_call = {};
  p_.session = {};
  p_.session.is_piece = true;
  p_.session.first_atom = p_.atoms.size();
  shown_type_.clear();
  suggestions_ = 0;
  top_level_calls_.clear();
  top_->reports.clear();
  top_->variables.clear();
  top_->captures.clear();
  top_->calls.clear();
  top_->reachable = true;
  ctx_ = top_;
  scope_ = file_;
  file_->declared.clear();

  forget_declared(file);
  hoist(file.statements);
  for (size_t i = first_struct_; i < structs_.size(); ++i)
    (void)record_of(structs_[i]);
  check_top_level(file);
  check_uncalled();
  check_waiting();
  finish_program();
  flush_reports(diagnostics);
  p_.ok = !diagnostics.has_errors();
  if (!p_.ok) {
    undo();
    return p_;
  }
  find_state();
  return p_;
}

void Checker::undo() {
  if (!before_) return;
  for (auto it = before_->names.rbegin(); it != before_->names.rend(); ++it)
    if (it->before)
      it->scope->names[it->name] = std::move(*it->before);
    else
      it->scope->names.erase(it->name);
  for (const ast::File* module : run_modules_)
    modules_.at(module).has_run = false;
  for (const ast::File* module : new_modules_)
    modules_.erase(module);
  file_->declared.clear();
  top_->current = std::move(before_->current);
  top_->facts.restore(before_->facts);
  p_.uses_devices = before_->uses_devices;
  top_->own.erase(top_->own.lower_bound(static_cast<uint32_t>(before_->variables)), top_->own.end());
  before_.reset();
}

// The piece has run: what it binds has a value from here on, and what it has replaced is gone.
void Checker::accept(const std::vector<AtomId>& sizes) {
  known_atoms_.insert(sizes.begin(), sizes.end());
  for (VarId var : p_.session.kept)
    if (auto it = top_->current.find(var); it != top_->current.end())
      p_.variables[var.index].type = it->second; // as it is now
  given_.merge(new_given_);
  for (VarId var : p_.session.dropped) {
    given_.erase(var);
    top_->own.erase(var.index);
    top_->current.erase(var);
    known_sizes_.erase(var);
    open_at_first_.erase(var);
  }
  before_.reset();
}

// Of closures: what they see around them, except a script's own variables, which they have taken in by name.
void Checker::held_variables(const Type& type, std::set<VarId>& into) {
  std::set<const void*> seen;
  auto of_type = [&](auto& self, const Type& t) -> void {
    auto of_callable = [&](auto& again, const Callable& callable) -> void {
      if (const Transformed* transformed = callable.transformed; transformed && seen.insert(transformed).second) {
        again(again, transformed->function.callable);
        again(again, transformed->rule.callable);
      }
      for (const FunctionInfo* info : callable.functions)
        for (const Scope* s = info->env; s && s != prelude_ && !s->is_file && seen.insert(s).second; s = s->parent)
          for (const auto& [name, entity] : s->names) {
            again(again, entity.value.callable);
            if (entity.kind == Entity::Kind::Function && entity.function->is_closure)
              again(again, Callable{{entity.function}, {}, {}, {}, nullptr, nullptr});
            if (entity.kind != Entity::Kind::Variable) continue;
            into.insert(entity.var);
            self(self, p_.variables[entity.var.index].type);
          }
    };
    if (t.is_function() && t.function && !(t.function & kWritten)) of_callable(of_callable, function_of(t).callable);
    for (const Type& element : t.elements)
      self(self, element);
  };
  of_type(of_type, type);
}

// What this piece takes from earlier ones, what it gives to later ones, and what they cannot refer to any more: neither
// by a name, nor inside a function that is a value.
void Checker::find_state() {
  typed::SessionState& session = p_.session;
  Uses uses;
  add_uses(p_.top_level, uses);
  for (uint32_t callee : uses.callees) {
    const typed::Instance& instance = p_.instances[callee];
    uses.variables.insert(instance.captures.begin(), instance.captures.end());
    uses.used.insert(instance.captured_atoms.begin(), instance.captured_atoms.end());
  }
  for (VarId var : uses.variables)
    if (given_.count(var)) {
      session.given.push_back(var);
      add_uses(p_.variables[var.index].type, uses);
      if (p_.variables[var.index].is_mutable) session.kept.push_back(var);
    }
  for (AtomId atom : uses.used)
    if (known_atoms_.count(atom)) session.sizes.push_back(atom);

  std::set<VarId> bound;
  auto pattern = [&](auto& self, const typed::Pattern& p) -> void {
    if (p.var.valid()) bound.insert(p.var);
    for (const typed::Pattern& element : p.elements)
      self(self, element);
  };
  auto block = [&](auto& self, const typed::Block& b) -> void {
    auto inside = [&](auto& visit, const typed::Expr& e) -> void { // what blocks that are expressions bind
      if (e.kind == ExprKind::If || e.kind == ExprKind::Comprehension) return;
      for (const auto& operand : e.operands)
        visit(visit, *operand);
      if (e.kind == ExprKind::Block) self(self, e.blocks[0]);
    };
    for (const typed::Stmt& s : b.statements) {
      if (s.kind == StmtKind::Let) pattern(pattern, s.pattern);
      if (s.value && s.kind != StmtKind::For && s.kind != StmtKind::While) inside(inside, *s.value);
    }
    if (b.result) inside(inside, *b.result);
  };
  block(block, p_.top_level);

  std::set<VarId> named;
  for (const NameBefore& change : before_->names) {
    auto it = change.scope->names.find(change.name);
    if (it == change.scope->names.end() || it->second.kind != Entity::Kind::Variable) continue;
    named.insert(it->second.var);
    held_variables(p_.variables[it->second.var.index].type, hidden_);
  }
  new_given_.clear();
  for (VarId var : bound)
    if (named.count(var) || hidden_.count(var)) {
      new_given_.insert(var);
      session.kept.push_back(var);
    }
  for (const NameBefore& change : before_->names) {
    if (!change.before || change.before->kind != Entity::Kind::Variable) continue;
    const VarId var = change.before->var;
    if (!named.count(var) && !hidden_.count(var) && given_.count(var)) session.dropped.push_back(var);
  }
}

std::vector<std::string> Checker::names() const {
  std::vector<std::string> result;
  for (const Scope* scope : {prelude_, file_})
    for (const auto& [name, entity] : scope->names)
      result.push_back(name);
  return result;
}

// ---- showing values
// ----------------------------------------------------------------------------------------------------

// "f32[2, 3]": sizes as they are when it runs.
void Checker::append_type(typed::Expr& interp, const Type& type, Span span) {
  if (type.is_tensor() && type.rank() > 0) {
    append_text(interp, name_of(type.dtype));
    for (size_t k = 0; k < type.rank(); ++k) {
      append_text(interp, k ? ", " : "[");
      append_value(interp, size_value(type.shape[k], span), "", span);
    }
    return append_text(interp, "]");
  }
  if (!type.is_tuple()) return append_text(interp, type.is_struct() ? type.record->name : show(type));
  append_text(interp, "(");
  for (size_t k = 0; k < type.elements.size(); ++k) {
    if (k) append_text(interp, ", ");
    append_type(interp, type.elements[k], span);
  }
  append_text(interp, type.elements.size() == 1 ? ",)" : ")");
}

// As it is declared: "double(x: f32[n]) -> f32[n]".
std::string Checker::function_text(const Static& function) {
  const Callable& callable = function.callable;
  if (callable.builtin) return signature_of(*callable.builtin);
  if (callable.functions.empty()) return function.name;
  const ast::Function& decl = *callable.functions[0]->decl;
  Span span = decl.name.span;
  uint32_t body = decl.body.block        ? decl.body.block->span.begin
                  : decl.body.expression ? decl.body.expression->span.begin
                                         : span.end;
  if (body <= span.begin) return function.name; // a lambda
  std::string all = text({span.file, span.begin, body});
  size_t end = all.find_last_not_of(" \t\r\n={");
  return all.substr(0, end + 1);
}

void Checker::show_value(const ast::Expr& e, typed::Block& into) {
  typed::Stmt statement;
  statement.span = e.span;
  ExprPtr value = expr(&e, nullptr, false);
  settle(*value);
  Type type = resolved(value->type);
  ExprPtr line = new_interp(e.span);
  typed::Block before;
  switch (type.kind) {
  case TypeKind::Error: return;
  case TypeKind::Unit:
    statement.value = std::move(value);
    into.statements.push_back(std::move(statement));
    return;
  case TypeKind::Function: shown_type_ = function_text(function_of(type)); break;
  case TypeKind::Range:
  case TypeKind::None:
  case TypeKind::Element: shown_type_ = show(type); break;
  default: {
    shown_type_ = show(type);
    std::shared_ptr<typed::Expr> held = shared(std::move(value), before);
    append_value(*line, copy_simple(*held), "", e.span);
    append_text(*line, type.is_tensor() && type.rank() > 1 ? "\n: " : " : ");
    append_type(*line, type, e.span);
  }
  }
  if (line->operands.empty()) append_text(*line, shown_type_);
  append_text(*line, "\n");
  auto print = make(ExprKind::Builtin, e.span, Type::unit());
  print->builtin = Builtin::Print;
  print->operands.push_back(finish_interp(std::move(line)));
  statement.value = in_block(std::move(before), std::move(print), e.span);
  into.statements.push_back(std::move(statement));
}

} // namespace tl::checker

namespace tl {

CheckSession::CheckSession(const ast::File& prelude, const SourceManager& sources, const CheckOptions& options)
    : prelude_(prelude), sources_(sources), options_(options),
      checker_(std::make_unique<checker::Checker>(sources, options)) {
  checker_->begin(prelude);
}
CheckSession::~CheckSession() = default;
const typed::Program& CheckSession::add(const ast::File& piece, Diagnostics& diagnostics) {
  return checker_->piece(piece, diagnostics);
}
void CheckSession::undo() { checker_->undo(); }
void CheckSession::accept(const std::vector<AtomId>& sizes) { checker_->accept(sizes); }
SizeAtoms& CheckSession::atoms() { return checker_->atoms(); }
bool CheckSession::is_worn() const { return checker_->is_worn(); }
CheckSession::Renewal CheckSession::renew() {
  auto fresh = std::make_unique<checker::Checker>(sources_, options_);
  fresh->begin(prelude_);
  Renewal renewal = checker::renew(*checker_, *fresh);
  checker_ = std::move(fresh);
  return renewal;
}
std::string CheckSession::shown_type() const { return checker_->shown_type(); }
std::vector<std::string> CheckSession::names() const { return checker_->names(); }

} // namespace tl
