// The checker's course: declarations, top-level statements, main, tests, and every instance that these need.
#include "parser/check/check.h"
#include "parser/check/context.h"
#include <fmt/format.h>

namespace tl {

typed::Program check(const ast::File& file, const ast::File& prelude, const SourceManager& sources,
                     Diagnostics& diagnostics, const CheckOptions& options) {
  return checker::Checker(sources, options).run(file, prelude, diagnostics);
}

} // namespace tl

namespace tl::checker {

namespace {
constexpr int kMaxWaiting = 64; // instances that wait for each other's result types
} // namespace

Checker::Checker(const SourceManager& sources, const CheckOptions& options) : sources_(sources), options_(options) {
  // Operations that are written as operators have no name to call them by.
  static const std::set<std::string_view> operators = {"add", "sub", "mul", "div", "floor_div", "mod", "not", "and",
                                                       "or",  "eq",  "ne",  "lt",  "le",        "gt",  "ge"};
  for (int i = 0; i < kScalarOpCount; ++i)
    if (!operators.count(kScalarOps[i].name))
      builtins_[std::string(kScalarOps[i].name)].scalar = static_cast<ScalarOp>(i);
  for (int i = 0; i < kBuiltinCount; ++i)
    if (auto b = static_cast<Builtin>(i); // fields, x.T and x.device; `rank` without arguments
        b != Builtin::TransposeAll && b != Builtin::DeviceOf && b != Builtin::ProcessRank)
      builtins_[std::string(kBuiltins[i].name)].builtin = static_cast<Builtin>(i);
  for (int i = 0; i < kDTypeCount; ++i)
    if (static_cast<DType>(i) < DType::Key)
      builtins_[std::string(name_of(static_cast<DType>(i)))].conversion = static_cast<DType>(i);
}

void Checker::begin(const ast::File& prelude) {
  contexts_.emplace_back();
  top_ = ctx_ = &contexts_.back();
  ctx_->is_top_level = true;
  prelude_file_ = prelude.id;
  prelude_ = push_scope();
  hoist(prelude.statements);
  file_ = push_scope();
  file_->is_file = true;
}

typed::Program Checker::run(const ast::File& file, const ast::File& prelude, Diagnostics& diagnostics) {
  begin(prelude);
  hoist(file.statements);
  for (StructInfo& info : structs_)
    (void)record_of(info);
  check_top_level(file);
  if (options_.exported.empty())
    check_main(file);
  else
    check_export(options_.exported);
  check_tests(file);
  check_uncalled();
  check_waiting();
  finish_program();
  if (!options_.exported.empty()) check_export_top_level(options_.exported);
  flush_reports(diagnostics);
  p_.ok = !diagnostics.has_errors() && !is_incomplete_;
  return std::move(p_);
}

void Checker::check_top_level(const ast::File& file) {
  for (const ast::Stmt* s : file.statements) {
    if (auto* function = ast::as<ast::Function>(s)) (void)declaration(function->name, Entity::Kind::Function);
    if (ast::as<ast::Function>(s) || ast::as<ast::Test>(s)) continue;
    size_t before = p_.top_level.statements.size(), first_variable = ctx_->variables.size();
    auto* alone = is_session_ && scope_ == file_ ? ast::as<ast::ExprStmt>(s) : nullptr;
    if (alone)
      show_value(*alone->value, p_.top_level);
    else
      statement(*s, p_.top_level);
    // Each statement closes its own literals.
    for (size_t i = before; i < p_.top_level.statements.size(); ++i)
      finalize(p_.top_level.statements[i]);
    for (size_t i = first_variable; i < ctx_->variables.size(); ++i) { // the earlier ones are closed
      const VarId var = ctx_->variables[i];
      settle(p_.variables[var.index].type);
      if (auto it = ctx_->current.find(var); it != ctx_->current.end()) settle(it->second);
      // An immutable i64 whose literal was open until now.
      typed::Variable& v = p_.variables[var.index];
      if (!v.is_mutable && v.type.is_scalar() && v.type.dtype == DType::I64 && !v.atom.valid() &&
          !known_sizes_.count(var))
        bind_atom(var);
    }
    ctx_->reachable = true;
  }
}

// Of the entry: what comes from outside has types that are written. `why`: "`main` is the command line".
bool Checker::has_known_types(const FunctionInfo& entry, const std::string& why) {
  const ast::Function& decl = *entry.decl;
  bool fine = true;
  for (const ast::Param& param : decl.params)
    if (!param.type) {
      error("TypeMismatch", param.name.span, fmt::format("{}, so `{}` needs a type", why, param.name.text),
            fmt::format("like `{}: i64` or `{}: f32[n, 3]`", param.name.text, param.name.text));
      fine = false;
    }
  if (!decl.type_params.empty() || (fine && entry.is_template)) {
    error("TypeMismatch", decl.name.span, why + ": its types and ranks must be known");
    fine = false;
  }
  return fine;
}

InstanceId Checker::entry_instance(FunctionInfo& entry, const Bindings& bindings) {
  InstanceId id = instance_for(entry, bindings, {});
  if (!states_[id.index].signature.has_result) check_instance(id);
  top_level_calls_.push_back({id, entry.decl->name.span, top_level_order_.size()});
  p_.has_main = true;
  p_.main = id;
  return id;
}

void Checker::check_main(const ast::File& file) {
  p_.interface.doc = file.doc;
  auto it = file_->names.find("main");
  if (it == file_->names.end() || it->second.kind != Entity::Kind::Function) return;
  main_ = it->second.function;
  const ast::Function& decl = *main_->decl;
  if (p_.interface.doc.empty()) p_.interface.doc = decl.doc;
  if (!has_known_types(*main_, "`main` is the command line")) return;
  bool fine = true;
  Scope* saved = scope_;
  scope_ = file_;
  push_scope();
  std::deque<Arg> args;
  std::vector<Arg*> by_param(decl.params.size(), nullptr);
  Bindings bindings;
  bindings.params.resize(decl.params.size());
  typed::Block& block = p_.main_call;
  std::vector<ExprPtr> values;
  std::set<std::string> sizes; // that a parameter has named
  for (size_t i = 0; i < decl.params.size(); ++i) {
    const ast::Param& param = decl.params[i];
    auto* named = ast::as<ast::NamedType>(param.type);
    const ast::TypeExpr* element = param.type; // of a list
    bool is_list = named && named->name.text == "List" && named->arguments.size() == 1;
    if (is_list) element = named->arguments[0], named = ast::as<ast::NamedType>(element);
    std::optional<DType> dtype = named ? dtype_from_name(named->name.text) : std::nullopt;
    bool is_str = named && named->name.text == "str";
    const bool by_flags = is_str || (dtype && dtype != DType::Key && named->dims.empty()); // the elements of a list are
    if (is_list ? !by_flags : named && !dtype && !is_str && returns_struct(*named)) {
      ExprPtr value = main_file(param, sizes);
      if (value->type.is_error()) {
        fine = false;
        continue;
      }
      values.push_back(nullptr);
      std::swap(values.back(), value);
      continue;
    }
    if ((!dtype && !is_str) || dtype == DType::Key) {
      error("TypeMismatch", param.type->span,
            fmt::format("a command line cannot give a value of type `{}`", text(param.type->span)),
            "it can give scalars, text, lists of those, tensors, and structs and lists of tensors");
      fine = false;
      continue;
    }
    ParamInfo info;
    info.name = param.name.text;
    info.doc = param.doc;
    info.type_text = text(param.type->span);
    info.rank = static_cast<uint32_t>(named->dims.size());
    info.kind = is_str ? ParamInfo::Kind::Str : info.rank ? ParamInfo::Kind::Tensor : ParamInfo::Kind::Scalar;
    if (dtype) info.dtype = *dtype;
    if (is_list) {
      info.is_list = true;
      info.is_text = is_str;
      info.kind = ParamInfo::Kind::Str;
    }
    info.has_default = param.default_value != nullptr;
    if (info.has_default) info.default_text = text(param.default_value->span);
    Type type = is_str || is_list ? Type::str() : Type::scalar(*dtype);
    for (uint32_t k = 0; k < info.rank; ++k) {
      auto* bare = ast::as<ast::Name>(named->dims[k]);
      std::string size =
          bare && sizes.insert(bare->name).second ? bare->name : fmt::format("axis {} of `{}`", k, info.name);
      type.shape.push_back(Size::of(size_atom(AtomKind::Fresh, size, named->dims[k]->span)));
    }
    if (info.has_default && info.rank) {
      error("NotSupported", param.default_value->span,
            "a default for a tensor of the command line is not supported yet");
      fine = false;
      continue;
    }
    typed::EntryParam entry;
    entry.var = new_variable(info.name, type, false, param.name.span);
    if (type.is_scalar() && type.dtype == DType::I64) bind_atom(entry.var);
    ExprPtr value = variable(entry.var, param.name.span);
    auto listed = [&](ExprPtr given, typed::Block& into) {
      return main_list(std::move(given), is_str ? std::nullopt : dtype, into);
    };
    if (is_list) type = Type::list(is_str ? Type::str() : Type::scalar(*dtype));
    if (is_list && !info.has_default) value = shared(listed(std::move(value), block), block);
    if (info.has_default) {
      entry.given = new_variable(info.name + "?", Type::scalar(DType::Bool), false, param.name.span);
      ExprPtr otherwise = default_value(*main_, i, by_param, bindings, block);
      otherwise = coerce(std::move(otherwise), type, fmt::format("the default of `{}`", info.name));
      auto choice = make(ExprKind::If, param.name.span, type);
      choice->operands.push_back(variable(entry.given, param.name.span));
      choice->blocks.resize(2);
      choice->blocks[0].result = is_list ? listed(std::move(value), choice->blocks[0]) : std::move(value);
      choice->blocks[1].result = std::move(otherwise);
      if (choice->blocks[1].result->type.is_error()) fine = false;
      // Held by a variable, so that sizes and later defaults can refer to it.
      VarId held = new_variable(info.name, type, false, param.name.span);
      if (type.is_scalar() && type.dtype == DType::I64) bind_atom(held);
      typed::Stmt let;
      let.kind = StmtKind::Let;
      let.span = param.name.span;
      let.pattern.var = held;
      let.value = std::move(choice);
      block.statements.push_back(std::move(let));
      value = variable(held, param.name.span);
    }
    p_.entry_params.push_back(entry);
    p_.interface.params.push_back(std::move(info));
    Arg arg;
    arg.name = param.name.text;
    arg.span = param.name.span;
    values.push_back(copy_simple(*value));
    arg.value = std::move(value);
    args.push_back(std::move(arg));
    by_param[i] = &args.back();
  }
  if (fine) {
    InstanceId id = entry_instance(*main_, bindings);
    if (has_function(states_[id.index].signature.result)) {
      error("TypeMismatch", decl.name.span,
            "`main` gives its result to the command line, and a function is no such value");
      scope_ = saved;
      return;
    }
    block.result = finish_call(*main_, states_[id.index].signature, std::move(values), decl.name.span, id);
    if (!block.result->type.is_error()) main_results(block);
    finalize(block);
  }
  scope_ = saved;
}

void Checker::check_tests(const ast::File& file) {
  for (const ast::Stmt* s : file.statements) {
    auto* test = ast::as<ast::Test>(s);
    if (!test) continue;
    InstanceId id{static_cast<uint32_t>(states_.size())};
    states_.emplace_back();
    p_.instances.emplace_back();
    states_.back().stage = InstanceState::Stage::Running;
    states_.back().signature.has_result = true;
    states_.back().signature.result = Type::unit();
    contexts_.emplace_back();
    FunctionContext& context = contexts_.back();
    context.parent = top_;
    context.instance = id;
    context.signature = &states_.back().signature;
    states_.back().context = &context;
    FunctionContext* saved_context = ctx_;
    Scope* saved_scope = scope_;
    ctx_ = &context;
    scope_ = file_;
    typed::Block body = block(test->body, false);
    finalize(body);
    ctx_ = saved_context;
    scope_ = saved_scope;
    typed::Instance& instance = p_.instances[id.index];
    instance.name = instance.key = fmt::format("test \"{}\"", test->name);
    instance.span = test->name_span;
    instance.result = Type::unit();
    instance.body = std::move(body);
    states_[id.index].stage = InstanceState::Stage::Done;
    states_[id.index].reports = std::move(context.reports);
    p_.tests.push_back({test->name, test->name_span, id});
  }
}

// Functions whose types are all written are checked even if nobody calls them.
void Checker::check_uncalled() {
  for (size_t i = first_function_; i < functions_.size(); ++i) {
    FunctionInfo& info = functions_[i];
    if (is_library(info.decl->name.span.file) || info.is_closure || !info.instances.empty()) continue;
    if (info.is_template) {
      if (auto bindings = plain_bindings(info)) instance_for(info, *bindings, {});
      continue;
    }
    scope_ = info.env;
    bool takes_function = std::any_of(info.decl->params.begin(), info.decl->params.end(),
                                      [&](const ast::Param& param) { return returns_function(param.type); });
    scope_ = file_;
    if (takes_function || (info.decl->result && returns_function(info.decl->result))) continue;
    Bindings bindings;
    bindings.params.resize(info.decl->params.size());
    instance_for(info, bindings, {});
  }
}

// Element types that the bounds allow, and one axis for each `..s`. Nothing where a call might bring what no bound
// tells: a parameter without a type, functions, structs.
std::optional<Bindings> Checker::plain_bindings(const FunctionInfo& info) {
  const ast::Function& decl = *info.decl;
  Bindings bindings;
  bindings.params.resize(decl.params.size());
  for (const ast::TypeParam& param : decl.type_params) {
    const std::string& bound = param.bound.text;
    if (param.default_type || (bound != "float" && bound != "int" && bound != "num")) return std::nullopt;
    bindings.types[param.name.text] = Type::scalar(bound == "int" ? DType::I64 : DType::F32);
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
  Scope* saved = scope_;
  scope_ = info.env;
  bool plain = !decl.result || !returns_function(decl.result);
  for (const ast::Param& param : decl.params)
    plain = plain && visit(visit, param.type) && !returns_function(param.type);
  scope_ = saved;
  if (!plain) return std::nullopt;
  return bindings;
}

void Checker::check_waiting() {
  while (!waiting_.empty()) {
    InstanceId id = waiting_.back();
    waiting_.pop_back();
    check_instance(id);
  }
}

void Checker::check_instance(InstanceId id) {
  InstanceState& state = states_[id.index];
  if (state.stage != InstanceState::Stage::Waiting) return;
  const ast::Function& decl = *state.info->decl;
  if (depth_ > kMaxWaiting) {
    error("InstantiationDepth", state.call.valid() ? state.call : decl.name.span,
          fmt::format("the result type of `{}` needs too many others to be found first", decl.name.text),
          "write its result type");
    state.stage = InstanceState::Stage::Done;
    state.signature.has_result = true;
    state.signature.result = Type::error();
    return;
  }
  state.stage = InstanceState::Stage::Running;
  ++depth_;
  FunctionContext* saved_context = ctx_;
  Scope* saved_scope = scope_;
  bool saved_const = in_const_, saved_expanding = expanding_;
  int saved_comprehension = in_comprehension_;
  in_const_ = expanding_ = false;
  in_comprehension_ = 0;
  contexts_.emplace_back();
  FunctionContext& context = contexts_.back();
  context.parent = state.info->parent;
  context.instance = id;
  context.signature = &state.signature;
  if (state.info->is_closure) context.facts = state.info->facts;
  state.context = &context;
  ctx_ = &context;
  scope_ = state.signature.scope;
  scope_->function = &context;
  typed::Instance made;
  for (const auto& param : state.signature.params) {
    if (!param.var.valid()) continue;
    context.own.insert(param.var.index);
    context.variables.push_back(param.var);
    made.params.push_back(param.var);
  }
  size_t first_local_atom = p_.atoms.size();
  Signature& signature = state.signature;
  bool declared = signature.has_result;
  const Type* expected = declared ? &signature.result : state.wanted.is_error() ? nullptr : &state.wanted;
  bool want = !(declared && signature.result.is_unit());
  typed::Block body;
  push_scope();
  if (!is_library(decl.name.span.file)) check_solvable(signature);
  if (decl.body.expression) {
    ExprPtr e = expr(decl.body.expression, expected, true);
    TypeKind kind = e->type.kind;
    if (kind == TypeKind::Element || kind == TypeKind::None) {
      error("TypeMismatch", e->span, fmt::format("`{}` is not a value here", text(e->span)));
      e->type = Type::error();
    }
    if (e->type.is_unit() && e->kind != ExprKind::Unit) {
      typed::Stmt s;
      s.span = e->span;
      s.value = std::move(e);
      body.statements.push_back(std::move(s));
    } else
      body.result = std::move(e);
    body.diverges = !ctx_->reachable;
  } else if (decl.body.block) {
    hoist(decl.body.block->statements);
    statements(decl.body.block->statements, body, want, expected);
  }
  if (declared) {
    if (body.result && !(signature.result.is_unit() && body.result->type.is_unit()))
      body.result = coerce(std::move(body.result), signature.result, fmt::format("the result of `{}`", decl.name.text));
    else if (!body.result && context.reachable && !signature.result.is_unit() && !signature.result.is_error())
      error("MissingResult", decl.name.span,
            fmt::format("`{}` returns {}, but its body ends without a value", decl.name.text, show(signature.result)),
            "the last line of a block is its value, and an `if` has one only with `else`",
            {{decl.result->span, "declared here"}});
  } else {
    infer_result(state, body, first_local_atom, made);
  }
  finalize(body);
  for (VarId var : context.variables) {
    settle(p_.variables[var.index].type);
  }
  settle(signature.result);
  ctx_ = saved_context;
  scope_ = saved_scope;
  in_const_ = saved_const;
  expanding_ = saved_expanding;
  in_comprehension_ = saved_comprehension;
  --depth_;
  typed::Instance& instance = p_.instances[id.index];
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
void Checker::infer_result(InstanceState& state, typed::Block& body, size_t first_local_atom, typed::Instance&) {
  std::vector<Type> types = ctx_->returned;
  Type own = body.result ? refresh(*body.result) : Type::unit();
  if (ctx_->reachable || types.empty()) types.push_back(own);
  Signature& signature = state.signature;
  signature.has_result = true;
  for (const Type& type : types)
    close_to(type, state.wanted);
  Type result = resolved(types[0]);
  for (const Type& type : types) {
    if (type.is_error()) {
      signature.result = Type::error();
      return;
    }
    if (has_range(type)) {
      error("NotSupported", state.info->decl->name.span, "a range cannot be a result yet", "give its two ends");
      signature.result = Type::error();
      return;
    }
    if (same_form(result, type)) continue;
    error("TypeMismatch", state.info->decl->name.span,
          fmt::format("`{}` returns {} in one place and {} in another", state.info->decl->name.text, show(result),
                      show(type)));
    signature.result = Type::error();
    return;
  }
  settle(result);
  auto outer = [&](auto& self, Type& into, const std::vector<const Type*>& all, std::vector<uint32_t> path) -> void {
    if (into.is_list()) { // sizes that the caller cannot know are each element's own
      for (const Type* type : all)
        into = either_element(into, *type);
      if (into.elements.empty()) return;
      into = list_of(into.elements[0], [&](const Size& size) {
        std::vector<AtomId> atoms;
        p_.atoms.collect(size, atoms);
        return std::any_of(atoms.begin(), atoms.end(), [&](AtomId a) { return a.index >= first_local_atom; });
      });
      return;
    }
    for (size_t k = 0; k < into.shape.size(); ++k) {
      bool same = true;
      for (const Type* type : all)
        same = same && type->shape[k] == into.shape[k];
      std::vector<AtomId> atoms;
      p_.atoms.collect(into.shape[k], atoms);
      for (AtomId atom : atoms)
        same = same && atom.index < first_local_atom;
      if (same) continue;
      AtomId id =
          size_atom(AtomKind::Fresh, fmt::format("axis {} of the result of `{}`", k, state.info->decl->name.text),
                    state.info->decl->name.span);
      into.shape[k] = Size::of(id);
      signature.result_atoms.push_back({id, path, static_cast<uint32_t>(k)});
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

void Checker::flush_reports(Diagnostics& diagnostics) {
  std::vector<bool> reachable = reachable_instances();
  for (Diagnostic& d : top_->reports)
    diagnostics.report(d);
  for (size_t i = 0; i < states_.size(); ++i)
    if (reachable[i])
      for (Diagnostic& d : states_[i].reports)
        diagnostics.report(d);
}

} // namespace tl::checker
