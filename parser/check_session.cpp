// A session: the checker takes one piece after the other. Names live in one file scope; a piece that declares a name
// again replaces it. Instances are made anew for each piece, so that functions see what names mean now.
#include "parser/check.h"
#include "parser/check_context.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::checker {

// Declarations of earlier pieces that this one declares again.
void Checker::forget_declared(const ast::File& file) {
  for (const ast::Stmt* s : file.statements) {
    if (auto* function = ast::as<ast::Function>(s)) file_->names.erase(function->name.text);
    if (auto* structure = ast::as<ast::Struct>(s)) file_->names.erase(structure->name.text);
    if (auto* constant = ast::as<ast::Const>(s)) file_->names.erase(constant->name.text);
    if (auto* import = ast::as<ast::Import>(s)) file_->names.erase(name_of_module(*import));
  }
}

const typed::Program& Checker::piece(const ast::File& file, Diagnostics& diagnostics) {
  is_session_ = true;
  before_ = Before{file_->names, *top_, modules_, known_atoms_};
  first_function_ = functions_.size();
  first_struct_ = structs_.size();
  first_state_ = states_.size();
  first_function_value_ = function_values_.size();
  for (FunctionInfo& info : functions_)
    info.instances.clear();
  p_.top_level = {};
  p_.main_call = {};
  p_.session = {};
  p_.session.is_piece = true;
  p_.session.first_atom = p_.atoms.size();
  shown_type_.clear();
  suggestions_ = 0;
  top_level_calls_.clear();
  top_->reports.clear();
  top_->reachable = true;
  ctx_ = top_;
  scope_ = file_;

  for (const auto& [var, type] : top_->current)
    p_.variables[var.index].type = type; // as it is now
  p_.session.given = given_;
  p_.session.sizes.assign(known_atoms_.begin(), known_atoms_.end());

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
  file_->names = std::move(before_->names);
  *top_ = std::move(before_->top);
  modules_ = std::move(before_->modules);
  known_atoms_ = std::move(before_->known_atoms);
  given_ = p_.session.given;
  before_.reset();
}

// Which variables later pieces can refer to: by a name, or inside a function that is a value (then they are kept as
// long as the session).
void Checker::find_state() {
  std::set<VarId> named;
  auto take = [&](const Scope& scope) {
    for (const auto& [name, entity] : scope.names)
      if (entity.kind == Entity::Kind::Variable) named.insert(entity.var);
  };
  take(*file_);
  for (const auto& [file, module] : modules_)
    take(*module.scope);
  bool made_functions = function_values_.size() > first_function_value_;
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
  if (made_functions) // they may read whatever there is now
    for (const auto* vars : {&named, &bound})
      hidden_.insert(vars->begin(), vars->end());
  for (VarId var : p_.session.given)
    if (named.count(var) || hidden_.count(var)) {
      p_.session.live.push_back(var);
      if (p_.variables[var.index].is_mutable) p_.session.kept.push_back(var);
    }
  for (VarId var : bound)
    if (named.count(var) || hidden_.count(var)) {
      p_.session.live.push_back(var);
      p_.session.kept.push_back(var);
    }
  given_ = p_.session.live;
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
  if (callable.builtin) return std::string(info(*callable.builtin).signature);
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
    : checker_(std::make_unique<checker::Checker>(sources, options)) {
  checker_->begin(prelude);
}
CheckSession::~CheckSession() = default;
const typed::Program& CheckSession::add(const ast::File& piece, Diagnostics& diagnostics) {
  return checker_->piece(piece, diagnostics);
}
void CheckSession::undo() { checker_->undo(); }
void CheckSession::know(const std::vector<AtomId>& sizes) { checker_->know(sizes); }
std::string CheckSession::shown_type() const { return checker_->shown_type(); }
std::vector<std::string> CheckSession::names() const { return checker_->names(); }

} // namespace tl
