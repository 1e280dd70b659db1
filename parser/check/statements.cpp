// Statements: bindings, return, assert. Assignments: assignments.cpp, loops: loops.cpp.
#include "parser/check/context.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::checker {

void Checker::hoist(const std::vector<ast::Stmt*>& list) {
  for (const ast::Stmt* s : list) {
    if (auto* decl = ast::as<ast::Function>(s); decl && decl->body.empty()) { // built in
      declared_builtins_[scope_->prefix + decl->name.text].push_back(s);
    } else if (decl) {
      functions_.emplace_back();
      FunctionInfo& info = functions_.back();
      info.decl = decl;
      info.env = scope_;
      info.parent = ctx_;
      info.is_prelude = scope_ == prelude_;
      info.id = static_cast<uint32_t>(functions_.size());
      info.is_template = !decl->type_params.empty();
      info.is_closure = scope_ != prelude_ && scope_ != file_;
      if (info.is_closure) info.facts = ctx_->facts;
      distinct_params(decl->type_params, decl->params);
      for (const ast::Param& param : decl->params) {
        auto has_spread = [](auto& self, const ast::TypeExpr* type) -> bool {
          if (auto* tuple = ast::as<ast::TupleType>(type))
            for (const ast::TypeExpr* element : tuple->elements)
              if (self(self, element)) return true;
          if (ast::as<ast::FunctionType>(type)) return true;
          if (auto* named = ast::as<ast::NamedType>(type))
            for (const ast::Expr* dim : named->dims)
              if (ast::as<ast::Spread>(dim)) return true;
          return false;
        };
        info.is_template = info.is_template || !param.type || has_spread(has_spread, param.type);
      }
      bool overloads = scope_ == prelude_ || !scope_->prefix.empty(); // of the library
      if (overloads) builtins_[scope_->prefix + decl->name.text].functions.push_back(&info);
      if (!overloads && !may_declare(decl->name, "function")) continue;
      Entity entity;
      entity.kind = Entity::Kind::Function;
      entity.function = &info;
      entity.span = decl->name.span;
      enter(decl->name.text, entity);
    } else if (auto* structure = ast::as<ast::Struct>(s)) {
      structs_.push_back({structure, scope_, nullptr, false, false});
      if (!may_declare(structure->name, "struct") || !may_be_type(structure->name)) continue;
      Entity entity;
      entity.kind = Entity::Kind::Struct;
      entity.structure = &structs_.back();
      entity.span = structure->name.span;
      enter(structure->name.text, entity);
    } else if (auto* import = ast::as<ast::Import>(s)) {
      import_names(*import);
    } else if (auto* constant = ast::as<ast::Const>(s)) {
      constants_.push_back({constant, scope_, false});
      Entity entity;
      entity.kind = Entity::Kind::Const;
      entity.constant = &constants_.back();
      entity.span = constant->name.span;
      if (may_declare(constant->name, "const")) enter(constant->name.text, entity);
    }
  }
}

typed::Block Checker::block(const ast::Block& b, bool want, const Type* expected) {
  Scope* saved = scope_;
  SizeFacts::Mark mark = ctx_->facts.mark();
  // An expression alone declares nothing: so a long chain of `else if` is no deep nest of scopes.
  bool declares = b.statements.size() != 1 || !ast::as<ast::ExprStmt>(b.statements[0]);
  if (declares || scope_ == file_) push_scope();
  typed::Block result;
  hoist(b.statements);
  statements(b.statements, result, want, expected);
  scope_ = saved;
  ctx_->facts.restore(mark);
  return result;
}

// What stands behind a jump is checked as if it were reached, and then left out: it changes neither the result's type
// nor what is known behind loops.
void Checker::statements(const std::vector<ast::Stmt*>& list, typed::Block& into, bool want, const Type* expected) {
  struct Dead {
    size_t statements, returned, atoms;
    std::vector<Loop> loops;
    std::map<VarId, Type> current;
  };
  std::optional<Dead> dead;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!ctx_->reachable && !dead) {
      dead = Dead{into.statements.size(), ctx_->returned.size(), p_.atoms.size(), ctx_->loops, ctx_->current};
      ctx_->reachable = true;
    }
    auto* last = ast::as<ast::ExprStmt>(list[i]);
    if (want && last && i + 1 == list.size()) {
      into.result = expr(last->value, expected, true);
      TypeKind kind = into.result->type.kind;
      if (kind == TypeKind::Element || kind == TypeKind::None) {
        error("TypeMismatch", last->value->span, fmt::format("`{}` is not a value here", text(last->value->span)));
        into.result->type = Type::error();
      }
      if (into.result->type.is_unit() && into.result->kind != ExprKind::Unit) {
        typed::Stmt s;
        s.span = list[i]->span;
        s.value = std::move(into.result);
        into.statements.push_back(std::move(s));
      }
      continue;
    }
    statement(*list[i], into);
  }
  if (dead) {
    into.statements.erase(into.statements.begin() + static_cast<long>(dead->statements), into.statements.end());
    // Its value has a type, for what it stands in, but is none.
    if (into.result) {
      Type type = refresh(*into.result);
      auto is_inside = [&](AtomId atom) { return atom.index >= dead->atoms; };
      into.result = make(ExprKind::Unit, into.result->span, behind_jump(std::move(type), is_inside));
    }
    ctx_->returned.resize(dead->returned);
    ctx_->returned_spans.resize(dead->returned);
    ctx_->loops = std::move(dead->loops);
    ctx_->current = std::move(dead->current);
    ctx_->reachable = false;
  }
  into.diverges = !ctx_->reachable;
}

// The type with new sizes for those that only what is left out would have told: in which there are such atoms.
Type Checker::behind_jump(Type type, const std::function<bool(AtomId)>& is_untold) {
  for (Size& size : type.shape) {
    std::vector<AtomId> atoms;
    p_.atoms.collect(size, atoms);
    if (std::none_of(atoms.begin(), atoms.end(), is_untold)) continue;
    AtomId id = size_atom(AtomKind::Fresh, "a size behind a jump", {});
    never_known_.insert(id);
    size = Size::of(id);
  }
  for (Type& element : type.elements)
    if (!type.is_list()) element = behind_jump(std::move(element), is_untold);
  return type;
}

void Checker::statement(const ast::Stmt& s, typed::Block& into) {
  std::visit(
      [&](const auto& node) {
        using T = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<T, ast::ExprStmt>) {
          typed::Stmt out;
          out.kind = StmtKind::Expr;
          out.span = s.span;
          out.value = expr(node.value, nullptr, false);
          TypeKind kind = out.value->type.kind;
          if (kind == TypeKind::Element || kind == TypeKind::None || kind == TypeKind::Function) {
            error("UnusedValue", s.span, "this has no effect");
            return;
          }
          into.statements.push_back(std::move(out));
        } else if constexpr (std::is_same_v<T, ast::Let>)
          let(node, s.span, into);
        else if constexpr (std::is_same_v<T, ast::Const>) {
          const Entity* entity = declaration(node.name, Entity::Kind::Const);
          if (node.value && entity && entity->constant->decl == &node)
            (void)const_value(*entity->constant, node.name.text, node.name.span); // reports what is wrong
        } else if constexpr (std::is_same_v<T, ast::Assign>)
          assign(node, s.span, into);
        else if constexpr (std::is_same_v<T, ast::For>)
          for_loop(node, 0, s.span, into);
        else if constexpr (std::is_same_v<T, ast::While>)
          while_loop(node, s.span, into);
        else if constexpr (std::is_same_v<T, ast::Break> || std::is_same_v<T, ast::Continue>) {
          constexpr bool is_break = std::is_same_v<T, ast::Break>;
          if (ctx_->loops.empty()) {
            error("NotInLoop", s.span, fmt::format("`{}` is outside a loop", is_break ? "break" : "continue"));
            ctx_->reachable = false; // as it would be
            return;
          }
          Loop& loop = ctx_->loops.back();
          if (!is_break && loop.in_condition) {
            error("NotInLoop", s.span,
                  "`continue` is in the condition of its own loop, before any iteration has begun");
            ctx_->reachable = false;
            return;
          }
          if (ctx_->reachable) (is_break ? loop.exits : loop.continues).push_back(ctx_->current);
          ctx_->reachable = false;
          typed::Stmt out;
          out.kind = is_break ? StmtKind::Break : StmtKind::Continue;
          out.span = s.span;
          into.statements.push_back(std::move(out));
        } else if constexpr (std::is_same_v<T, ast::Return>)
          return_statement(node, s.span, into);
        else if constexpr (std::is_same_v<T, ast::Assert>)
          assert_statement(node, s.span, into);
        else if constexpr (std::is_same_v<T, ast::Function>) {
          if (const Entity* entity = declaration(node.name, Entity::Kind::Function);
              entity && entity->function->decl == &node) {
            // From here on it sees what was bound before it, and the values that `var`s have now.
            FunctionInfo* function = entity->function;
            if (function->is_closure) {
              Scope* saved = scope_;
              push_scope();
              keep_values(names_in(node.body), node.name.span, into);
              function->env = scope_;
              function->facts = ctx_->facts;
              scope_ = saved;
            } else
              function->env = scope_;
          }
        } else if constexpr (std::is_same_v<T, ast::On>)
          on_device(node, s.span, into);
        else if constexpr (std::is_same_v<T, ast::Struct>) {
          if (const Entity* entity = declaration(node.name, Entity::Kind::Struct))
            (void)record_of(*entity->structure); // reports what is wrong
        } else if constexpr (std::is_same_v<T, ast::Import>)
          run_import(node);
        else if constexpr (std::is_same_v<T, ast::Test>)
          error("NotSupported", s.span, "a test belongs at the top level of a file");
      },
      s.node);
}

void Checker::distinct(const std::vector<const ast::Ident*>& names, const std::string& what) {
  std::map<std::string, Span> seen;
  for (const ast::Ident* name : names)
    if (auto [it, is_new] = seen.try_emplace(name->text, name->span); !is_new && name->text != "_")
      error("DuplicateName", name->span, fmt::format("there are two {} `{}`", what, name->text), "",
            {{it->second, "the first"}});
}

void Checker::distinct_params(const std::vector<ast::TypeParam>& types, const std::vector<ast::Param>& params) {
  std::vector<const ast::Ident*> names;
  for (const ast::TypeParam& type : types) {
    names.push_back(&type.name);
    (void)may_be_type(type.name);
  }
  distinct(names, "type parameters");
  names.clear();
  for (const ast::Param& param : params)
    names.push_back(&param.name);
  distinct(names, "parameters");
}

namespace {
void each_name(const ast::Pattern& p, const std::function<void(const ast::Pattern&)>& visit) {
  if (p.kind == ast::Pattern::Kind::Name) visit(p);
  for (const ast::Pattern* element : p.elements)
    each_name(*element, visit);
}
} // namespace

// Binds the names of a pattern in the current scope.
typed::Pattern Checker::pattern(const ast::Pattern& p, const Type& type, bool is_mutable, const typed::Expr* value) {
  typed::Pattern result;
  if (p.kind == ast::Pattern::Kind::Wildcard) return result;
  if (p.kind == ast::Pattern::Kind::Tuple) {
    result.is_tuple = true;
    bool fits = type.is_tuple() && type.elements.size() == p.elements.size();
    if (!fits && !type.is_error())
      error("TypeMismatch", p.span,
            fmt::format("this pattern takes {} values, and the value is {}", p.elements.size(), show(type)));
    std::map<std::string, Span> seen;
    for (const ast::Pattern* element : p.elements) {
      std::map<std::string, Span> own;
      each_name(*element, [&](const ast::Pattern& name) {
        own.try_emplace(name.name, name.span);
        if (auto it = seen.find(name.name); it != seen.end())
          error("DuplicateName", name.span, fmt::format("this pattern binds `{}` twice", name.name), "",
                {{it->second, "the first"}});
      });
      seen.merge(own);
    }
    for (size_t i = 0; i < p.elements.size(); ++i)
      result.elements.push_back(
          pattern(*p.elements[i], fits ? type.elements[i] : Type::error(), is_mutable,
                  fits && value && value->kind == ExprKind::Tuple ? value->operands[i].get() : nullptr));
    return result;
  }
  result.var = bind_name(p.name, p.name, type, is_mutable, value, p.span);
  return result;
}

// `key` is what the scope knows it by; invalid, and poisoned, where the value is wrong.
VarId Checker::bind_name(const std::string& key, const std::string& name, const Type& type, bool is_mutable,
                         const typed::Expr* value, Span span) {
  Entity entity;
  entity.span = span;
  if (type.is_error()) {
    enter(key, entity); // poisoned: no further messages about it
    return {};
  }
  if (has_range(type) && is_mutable)
    error("NotSupported", span, "a `var` cannot hold a range yet", "keep its two ends");
  VarId var = new_variable(name, type, is_mutable, span);
  if (ctx_->is_top_level) top_level_order_.try_emplace(var, top_level_order_.size());
  if (!is_mutable && type.is_scalar()) {
    auto size = value ? number_of(*value) : std::nullopt;
    if (size && !size->is_constant() && p_.atoms.computes(*size)) {
      // An open literal in it is an i64 from here on, as sizes are.
      if (resolved(type).dtype == DType::I64 && !resolved(type).open) known_sizes_[var] = *size;
    } else if (resolved(type).dtype == DType::I64) {
      bind_atom(var);
      if (size) ctx_->facts.equal.push_back({p_.variables[var.index].atom, *size});
    }
  }
  entity.kind = Entity::Kind::Variable;
  entity.var = var;
  enter(key, entity);
  return var;
}

// A value under the type that is written for it (perhaps null). New names in that type get their values from the
// value's sizes: `defs` of the statement that binds it. They are declared in the current scope, the value is checked in
// `outer`.
ExprPtr Checker::annotated_value(const ast::TypeExpr* type, const ast::Expr* value_expr, Scope* outer,
                                 const std::string& what, std::vector<std::pair<AtomId, Size>>& defs) {
  Scope* inner = scope_;
  Type annotated;
  std::vector<AtomId> bound;
  if (inner == outer) push_scope(); // the value does not see these names
  if (type) {
    DimContext context;
    context.mode = DimMode::Annotation;
    context.bound = &bound;
    bind_names(type, context);
    annotated = type_of(type, context);
    if (has_range(annotated) && !annotated.is_range()) {
      error("NotSupported", type->span, "a type with a range in it cannot be written yet", "leave it out");
      annotated = Type::error();
    }
  }
  const Scope* binds = scope_;
  scope_ = outer;
  ExprPtr v = value(value_expr, type && !annotated.is_error() ? &annotated : nullptr);
  scope_ = inner;
  if (binds != inner)
    for (const auto& [name, entity] : binds->names)
      enter(name, entity);
  refresh(*v);
  if (v->type.is_unit() && !v->type.is_error() && v->kind != ExprKind::Unit) {
    error("TypeMismatch", value_expr->span, "this has no value");
    v->type = Type::error();
  }
  if (!type || (annotated.is_range() && v->type.is_range())) return v; // its ends are the value's
  // A value may be of the very sizes that it is to tell, as list() is under List<f32[n]>; one that is never there tells
  // nothing, and needs not.
  const std::vector<AtomId> named = bound;
  auto mentions_bound = [&](const Size& size) {
    if (!ctx_->reachable) return false;
    std::vector<AtomId> atoms;
    p_.atoms.collect(size, atoms);
    return std::any_of(atoms.begin(), atoms.end(),
                       [&](AtomId atom) { return std::find(named.begin(), named.end(), atom) != named.end(); });
  };
  auto solve = [&](auto& self, const Type& to, const Type& from) -> void {
    if (to.shape.size() != from.shape.size()) return;
    for (size_t k = 0; k < to.shape.size(); ++k) {
      std::vector<AtomId> atoms;
      p_.atoms.collect(to.shape[k], atoms);
      for (AtomId atom : atoms) {
        if (std::find(bound.begin(), bound.end(), atom) == bound.end()) continue;
        for (const auto& term : to.shape[k].terms) {
          if (term.atoms != std::vector<AtomId>{atom}) continue;
          Size rest = to.shape[k] - Size(term.coefficient) * Size::of(atom);
          Size solved = p_.atoms.floor_div(p_.atoms.under(from.shape[k] - rest, ctx_->facts), term.coefficient);
          if (mentions_bound(solved)) break;
          defs.push_back({atom, solved});
          ctx_->facts.equal.push_back({atom, solved});
          bound.erase(std::find(bound.begin(), bound.end(), atom));
          break;
        }
        break;
      }
    }
    for (size_t i = 0; i < to.elements.size() && i < from.elements.size(); ++i)
      self(self, to.elements[i], from.elements[i]);
  };
  if (!v->type.is_error() && !annotated.is_error()) solve(solve, annotated, v->type);
  v = coerce(std::move(v), annotated, what);
  if (!v->type.is_error() && !annotated.is_error() && !bound.empty())
    error("UnboundSize", type->span,
          fmt::format("the size `{}` cannot be inferred from the value", p_.atoms[bound[0]].name));
  return v;
}

void Checker::let(const ast::Let& s, Span span, typed::Block& into) {
  typed::Stmt out;
  out.kind = StmtKind::Let;
  out.span = span;
  Scope* outer = scope_;
  if (scope_ != file_) push_scope();
  std::string what = s.pattern->kind == ast::Pattern::Kind::Name ? fmt::format("`{}`", s.pattern->name) : "this";
  ExprPtr v = annotated_value(s.type, s.value, outer, what, out.size_defs);
  if (s.pattern->kind == ast::Pattern::Kind::Tuple && refresh(*v).is_list() && !v->type.is_error())
    v = unpacked(std::move(v), s.pattern->elements.size(), s.value->span);
  out.pattern = pattern(*s.pattern, refresh(*v), s.is_var, v.get());
  if (out.pattern.var.valid() && v->kind == ExprKind::Literal && v->type.open)
    open_at_first_[out.pattern.var] = text(s.value->span);
  out.value = std::move(v);
  into.statements.push_back(std::move(out));
}

void Checker::return_statement(const ast::Return& s, Span span, typed::Block& into) {
  typed::Stmt out;
  out.kind = StmtKind::Return;
  out.span = span;
  if (!ctx_->signature || in_comprehension_ > 0) {
    error("NotInFunction", span,
          in_comprehension_ > 0 ? "a comprehension cannot return" : "`return` is outside a function");
    ctx_->reachable = false; // as it would be
    return;
  }
  if (expanding_) {
    error("NotSupported", span, "a function that returns a function ends with its one result",
          "choose inside the function that is returned");
    return;
  }
  const Signature& signature = *ctx_->signature;
  bool declared = states_[ctx_->instance.index].info && signature.has_result;
  if (s.value) {
    out.value = value(s.value, declared ? &signature.result : nullptr);
    if (declared)
      out.value = coerce(std::move(out.value), signature.result,
                         fmt::format("the result of `{}`", states_[ctx_->instance.index].info->decl->name.text));
  }
  Type type = s.value ? refresh(*out.value) : Type::unit();
  if (declared && !s.value && !signature.result.is_unit() && !signature.result.is_error())
    error("TypeMismatch", span, fmt::format("the result is {}, so `return` needs a value", show(signature.result)));
  if (ctx_->reachable && !declared) {
    ctx_->returned.push_back(type);
    ctx_->returned_spans.push_back(span);
  }
  ctx_->reachable = false;
  into.statements.push_back(std::move(out));
}

void Checker::assert_statement(const ast::Assert& s, Span span, typed::Block& into) {
  typed::Stmt out;
  out.kind = StmtKind::Assert;
  out.span = span;
  out.text = text(s.condition->span);
  out.value = condition(s.condition);
  if (s.message) { // evaluated only where the assert fails, and then nothing comes behind it
    auto passes = ctx_->current;
    bool was_reachable = ctx_->reachable;
    SizeFacts facts = ctx_->facts;
    out.message = value(s.message);
    ctx_->current = std::move(passes);
    ctx_->reachable = was_reachable;
    ctx_->facts = std::move(facts);
    if (!out.message->type.is_str() && !out.message->type.is_error())
      error("TypeMismatch", s.message->span,
            fmt::format("the message of an assert is text, not {}", show(out.message->type)),
            fmt::format("write \"{{{}}}\"", text(s.message->span)));
  }
  const SizeFacts::Mark mark = ctx_->facts.mark();
  if (!out.value->type.is_error()) learn(*out.value, true);
  ctx_->facts.claim(mark);
  into.statements.push_back(std::move(out));
}

} // namespace tl::checker
