// Statements: bindings, assignments, return, assert. Loops: check_loops.cpp.
#include "parser/check_context.h"
#include <fmt/format.h>

namespace tl::checker {

void Checker::hoist(const std::vector<ast::Stmt*>& list) {
  for (const ast::Stmt* s : list) {
    if (auto* decl = ast::as<ast::Function>(s)) {
      functions_.emplace_back();
      FunctionInfo& info = functions_.back();
      info.decl = decl;
      info.env = scope_;
      info.parent = ctx_;
      info.is_prelude = scope_ == prelude_;
      info.id = static_cast<uint32_t>(functions_.size());
      info.is_template = !decl->type_params.empty();
      info.is_closure = scope_ != prelude_ && scope_ != file_;
      info.facts = ctx_->facts;
      distinct_params(decl->params);
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
      if (overloads && !decl->body.empty()) builtins_[scope_->prefix + decl->name.text].functions.push_back(&info);
      auto it = scope_->names.find(decl->name.text);
      if (it != scope_->names.end() && it->second.kind == Entity::Kind::Function && !overloads) {
        error("DuplicateName", decl->name.span, fmt::format("there are two functions `{}`", decl->name.text), "",
              {{it->second.function->decl->name.span, "the first"}});
        continue;
      }
      Entity entity;
      entity.kind = Entity::Kind::Function;
      entity.function = &info;
      entity.span = decl->name.span;
      enter(decl->name.text, entity);
    } else if (auto* structure = ast::as<ast::Struct>(s)) {
      structs_.push_back({structure, scope_, nullptr, false, false});
      if (auto it = scope_->names.find(structure->name.text); it != scope_->names.end()) {
        error("DuplicateName", structure->name.span, fmt::format("`{}` is declared twice", structure->name.text), "",
              {{it->second.span, "the first"}});
        continue;
      }
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
      if (auto it = scope_->names.find(constant->name.text); it != scope_->names.end())
        error("DuplicateName", constant->name.span, fmt::format("`{}` is declared twice", constant->name.text), "",
              {{it->second.span, "the first"}});
      enter(constant->name.text, entity);
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
    size_t statements, returned;
    std::vector<Loop> loops;
    std::map<VarId, Type> current;
  };
  std::optional<Dead> dead;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!ctx_->reachable && !dead) {
      dead = Dead{into.statements.size(), ctx_->returned.size(), ctx_->loops, ctx_->current};
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
    if (into.result) into.result = make(ExprKind::Unit, into.result->span, refresh(*into.result));
    ctx_->returned.resize(dead->returned);
    ctx_->returned_spans.resize(dead->returned);
    ctx_->loops = std::move(dead->loops);
    ctx_->current = std::move(dead->current);
    ctx_->reachable = false;
  }
  into.diverges = !ctx_->reachable;
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
          if (!node.value) return;
          ExprPtr v =
              const_value(*find(node.name.text)->constant, node.name.text, node.name.span); // reports what is wrong
        } else if constexpr (std::is_same_v<T, ast::Assign>)
          assign(node, s.span, into);
        else if constexpr (std::is_same_v<T, ast::For>)
          for_loop(node, 0, s.span, into);
        else if constexpr (std::is_same_v<T, ast::While>)
          while_loop(node, s.span, into);
        else if constexpr (std::is_same_v<T, ast::Break> || std::is_same_v<T, ast::Continue>) {
          constexpr bool is_break = std::is_same_v<T, ast::Break>;
          if (ctx_->loops.empty()) {
            error("NotInLoop", s.span, fmt::format("`{}` stands outside a loop", is_break ? "break" : "continue"));
            ctx_->reachable = false; // as it would be
            return;
          }
          Loop& loop = ctx_->loops.back();
          if (!is_break && loop.in_condition) {
            error("NotInLoop", s.span, "`continue` stands in the condition of its own loop, where no turn has begun");
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
          if (const Entity* entity = find(node.name.text);
              entity && entity->kind == Entity::Kind::Function && entity->function->decl == &node) {
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
          if (const Entity* entity = find(node.name.text); entity && entity->kind == Entity::Kind::Struct)
            (void)record_of(*entity->structure); // reports what is wrong
        } else if constexpr (std::is_same_v<T, ast::Import>)
          run_import(node);
        else if constexpr (std::is_same_v<T, ast::Test>)
          error("NotSupported", s.span, "a test stands at the top level of a file");
      },
      s.node);
}

// Binds the names of a pattern in the current scope.
void Checker::distinct_params(const std::vector<ast::Param>& params) {
  std::map<std::string, Span> seen;
  for (const ast::Param& param : params)
    if (auto [it, is_new] = seen.try_emplace(param.name.text, param.name.span); !is_new && param.name.text != "_")
      error("DuplicateName", param.name.span, fmt::format("there are two parameters `{}`", param.name.text), "",
            {{it->second, "the first"}});
}

namespace {
void each_name(const ast::Pattern& p, const std::function<void(const ast::Pattern&)>& visit) {
  if (p.kind == ast::Pattern::Kind::Name) visit(p);
  for (const ast::Pattern* element : p.elements)
    each_name(*element, visit);
}
} // namespace

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
  Entity entity;
  entity.span = p.span;
  if (type.is_error()) {
    enter(p.name, entity); // poisoned: no further messages about it
    return result;
  }
  if (type.is_range() && is_mutable)
    error("NotSupported", p.span, "a `var` cannot hold a range yet", "keep its two ends");
  VarId var = new_variable(p.name, type, is_mutable, p.span);
  if (ctx_->is_top_level) top_level_order_.try_emplace(var, top_level_order_.size());
  if (!is_mutable && type.is_scalar()) {
    auto size = value ? size_of(*value) : std::nullopt;
    if (size && !size->is_constant()) {
      // An open literal in it is an i64 from here on, as sizes are.
      if (resolved(type).dtype == DType::I64 && !resolved(type).open) known_sizes_[var] = *size;
    } else if (resolved(type).dtype == DType::I64) {
      bind_atom(var);
      if (size) ctx_->facts.equal.push_back({p_.variables[var.index].atom, *size});
    }
  }
  result.var = var;
  entity.kind = Entity::Kind::Variable;
  entity.var = var;
  enter(p.name, entity);
  return result;
}

// A value under the type that is written for it (perhaps null). New names in that type get their values from the
// value's sizes: `defs` of the statement that binds it. They are declared in the current scope, the value is checked in
// `outer`.
ExprPtr Checker::annotated_value(const ast::TypeExpr* type, const ast::Expr* value_expr, Scope* outer,
                                 const std::string& what, std::vector<std::pair<AtomId, Size>>& defs) {
  Scope* inner = scope_;
  Type annotated;
  std::vector<AtomId> bound;
  if (type) {
    DimContext context;
    context.mode = DimMode::Annotation;
    context.bound = &bound;
    bind_names(type, context);
    annotated = type_of(type, context);
  }
  scope_ = outer;
  ExprPtr v = value(value_expr, type && !annotated.is_error() ? &annotated : nullptr);
  scope_ = inner;
  refresh(*v);
  if (v->type.is_unit() && !v->type.is_error() && v->kind != ExprKind::Unit) {
    error("TypeMismatch", value_expr->span, "this has no value");
    v->type = Type::error();
  }
  if (!type) return v;
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
          fmt::format("the size `{}` cannot be told from the value", p_.atoms[bound[0]].name));
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
  out.value = std::move(v);
  into.statements.push_back(std::move(out));
}

// The variable, or part of a variable, that an assignment writes. Binds and checks of subscripts go to s.
std::optional<typed::Place> Checker::place(const ast::Expr* target, typed::Stmt& s) {
  typed::Place result;
  result.span = target->span;
  if (ast::as<ast::Wildcard>(target)) return result;
  std::vector<const ast::Expr*> steps; // fields and subscripts, the last first
  const ast::Expr* base = target;
  for (;;) {
    auto* sub = ast::as<ast::Subscript>(base);
    auto* field = ast::as<ast::Field>(base);
    if (!sub && !field) break;
    steps.push_back(base);
    base = sub ? sub->object : field->object;
  }
  std::reverse(steps.begin(), steps.end());
  auto* name = ast::as<ast::Name>(base);
  if (!name) {
    error("NotAssignable", target->span, "only a variable, or a part of one, can be assigned");
    return std::nullopt;
  }
  const Entity* entity = find(name->name);
  if (!entity) {
    if (std::string other = did_you_mean(name->name, false); !other.empty() || !steps.empty())
      unknown_name(name->name, base->span, false);
    else
      error("UnknownName", base->span, fmt::format("there is no name `{}` here", name->name),
            fmt::format("a variable is declared before it is assigned: `var {} = …`, or `let` if it never changes",
                        name->name));
    return std::nullopt;
  }
  if (entity->kind == Entity::Kind::Poisoned) return std::nullopt;
  if (entity->kind != Entity::Kind::Variable || !p_.variables[entity->var.index].is_mutable) {
    std::string what =
        entity->kind == Entity::Kind::Variable ? "is bound by `let`, a parameter or a loop" : "is not a variable";
    error("NotAssignable", base->span, fmt::format("`{}` {} and cannot be assigned", name->name, what),
          fmt::format("declare it by `var`, or copy it: `var y = {}`", name->name), {{entity->span, "declared here"}});
    return std::nullopt;
  }
  VarId var = entity->var;
  if (!ctx_->own.count(var.index)) {
    error("NotAssignable", base->span,
          fmt::format("`{}` belongs to the code around this function, which sees only values", name->name),
          "return the new value instead", {{entity->span, "declared here"}});
    return std::nullopt;
  }
  if (in_comprehension_ && var.index < comprehension_variables_) {
    error("NotAssignable", base->span,
          fmt::format("the element of a comprehension cannot assign `{}`, which stands outside it", name->name),
          "write a `for` loop", {{entity->span, "declared here"}});
    return std::nullopt;
  }
  result.var = var;
  Type type = current_type(var);
  if (type.is_error()) return std::nullopt;
  // Fields, and constant indices of tuples; then subscripts of a tensor.
  size_t step = 0;
  for (; step < steps.size() && type.is_aggregate(); ++step) {
    std::optional<uint32_t> index;
    if (auto* field = ast::as<ast::Field>(steps[step])) {
      if (type.is_struct()) index = type.record->find(field->name.text);
      if (!index) {
        if (type.is_struct())
          unknown_field(type, field->name);
        else
          error("NotAssignable", field->name.span, fmt::format("{} has no fields", show(type)), "write `t[0] = …`");
        return std::nullopt;
      }
    } else {
      auto* sub = ast::as<ast::Subscript>(steps[step]);
      auto constant = sub->items.size() == 1 && sub->items[0].index ? static_of(sub->items[0].index) : std::nullopt;
      auto count = static_cast<int64_t>(type.elements.size());
      if (!type.is_tuple() || !constant || constant->kind != Static::Kind::Int || constant->number >= count ||
          constant->number < -count) {
        error("NotAssignable", steps[step]->span,
              type.is_tuple() ? fmt::format("a tuple of {} takes one constant index", count)
                              : fmt::format("an element of {} cannot be assigned", show(type)),
              type.is_struct() ? "assign a field: `p.x = …`" : "");
        return std::nullopt;
      }
      index = static_cast<uint32_t>(constant->number < 0 ? constant->number + count : constant->number);
    }
    result.path.push_back(*index);
    Type inner = type.elements[*index];
    type = std::move(inner);
  }
  result.type = type;
  if (type.is_error()) return std::nullopt;
  if (step == steps.size()) return result;
  const ast::Expr* tensor = step ? steps[step - 1] : base;
  std::vector<ast::SubscriptItem> items;
  for (; step < steps.size(); ++step) {
    auto* sub = ast::as<ast::Subscript>(steps[step]);
    if (!sub) {
      error("NotAssignable", steps[step]->span, fmt::format("{} has no field that can be assigned", show(type)));
      return std::nullopt;
    }
    // x[i][j] = e is x[i, j] = e
    for (const auto& item : sub->items)
      if (step + 1 < steps.size() && item.kind != ast::SubscriptItem::Kind::Index) {
        error("NotSupported", item.span, "assigning through this subscript is not supported yet",
              "write one subscript: `x[i, j]`");
        return std::nullopt;
      }
    items.insert(items.end(), sub->items.begin(), sub->items.end());
  }
  if (!type.is_tensor()) {
    error("NotAssignable", target->span, fmt::format("an element of {} cannot be assigned", show(type)));
    return std::nullopt;
  }
  auto holder = make(ExprKind::Index, target->span, Type::error());
  auto shape = subscripts(type, text(tensor->span), items, target->span, *holder, result.subscripts);
  for (auto& bind : holder->binds)
    s.binds.push_back(std::move(bind));
  for (auto& check : holder->checks)
    s.checks.push_back(std::move(check));
  if (!shape) return std::nullopt;
  for (const auto& fresh : holder->fresh)
    mask_counts_.insert(fresh.atom);
  for (const auto& sub : result.subscripts)
    if (sub.kind == typed::Subscript::Kind::NewAxis) {
      error("NotAssignable", sub.span, "`new` has no place in a target");
      return std::nullopt;
    }
  result.type.shape = *shape;
  return result;
}

// The type that a value assigned to a variable or to a part of one must have: the fields of a struct keep their sizes,
// but for those declared as `_`; a variable and the elements of a tuple take those of the value.
Type Checker::wanted_by(const typed::Place& place, const Type& have) {
  const Type whole = current_type(place.var);
  Type parent = whole;
  bool in_struct = false;
  for (size_t i = 0; i + 1 < place.path.size(); ++i) {
    in_struct = in_struct || parent.is_struct();
    Type inner = parent.elements[place.path[i]];
    parent = std::move(inner);
  }
  in_struct = in_struct || (parent.is_struct() && !place.path.empty());
  if (!in_struct) return have;
  Type holder = Type::structure(parent.record, parent.elements), value = holder;
  if (parent.is_tuple()) holder = value = parent;
  value.elements[place.path.back()] = have;
  free_sizes(holder, value);
  return holder.elements[place.path.back()];
}

void Checker::set_current(const typed::Place& place, const Type& type) {
  Type whole = current_type(place.var);
  Type* part = &whole;
  for (uint32_t step : place.path)
    part = &part->elements[step];
  *part = type;
  ctx_->current[place.var] = std::move(whole);
}

bool Checker::broadcast_to_place(const typed::Place& place, typed::Expr& v, typed::Stmt& s) {
  const auto &to = place.type.shape, &from = v.type.shape;
  bool fits = v.type.is_tensor() && from.size() <= to.size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    const Size &a = to[to.size() - 1 - i], &b = from[from.size() - 1 - i];
    if (b.is(1)) continue;
    if (auto count = a.as_atom(); count && mask_counts_.count(*count)) continue;
    fits = require_equal(a, b, true,
                         fmt::format("`{}` has {{0}} along axis {} and `{}` has {{1}}", text(place.span),
                                     to.size() - 1 - i, text(v.span)),
                         v.span, s.checks);
    if (!fits) {
      std::vector<Label> labels{{place.span, show(place.type)}, label(v)};
      add_origins(a, b, labels);
      error("ShapeMismatch", v.span, fmt::format("the value does not fit its place: {}", different(a, b)),
            equality_hint(a, b), std::move(labels));
      return false;
    }
  }
  if (!fits)
    error("ShapeMismatch", v.span, "the value does not fit its place", "", {{place.span, show(place.type)}, label(v)});
  return fits;
}

void Checker::assign(const ast::Assign& s, Span span, typed::Block& into) {
  typed::Stmt out;
  out.kind = StmtKind::Assign;
  out.span = span;
  if (auto* tuple = ast::as<ast::Tuple>(s.target)) {
    std::vector<const ast::Expr*> targets;
    auto flatten = [&](auto& self, const ast::Tuple& t, std::vector<Type>& types) -> void {
      for (const ast::Expr* element : t.elements)
        if (auto* inner = ast::as<ast::Tuple>(element))
          self(self, *inner, types);
        else
          targets.push_back(element);
    };
    std::vector<Type> types;
    flatten(flatten, *tuple, types);
    ExprPtr v = value(s.value);
    refresh(*v);
    if (v->type.is_error()) return;
    if (!v->type.is_tuple() || v->type.elements.size() != tuple->elements.size() ||
        targets.size() != tuple->elements.size()) {
      error("TypeMismatch", s.value->span,
            fmt::format("{} targets take a tuple of {}, and this is {}", tuple->elements.size(), tuple->elements.size(),
                        show(v->type)));
      return;
    }
    for (size_t i = 0; i < targets.size(); ++i) {
      auto target = place(targets[i], out);
      if (!target) return;
      const Type& part = v->type.elements[i];
      if (target->var.valid()) {
        auto dummy = make(ExprKind::Unit, v->span, part);
        if (!target->subscripts.empty()) {
          if (!unify(target->type, part) || !broadcast_to_place(*target, *dummy, out)) {
            error("TypeMismatch", v->span,
                  fmt::format("`{}` is {}, not {}", text(targets[i]->span), show(target->type), show(part)));
            return;
          }
        } else {
          if (!same_form(target->type, part)) {
            error("TypeMismatch", v->span,
                  fmt::format("`{}` is {}, not {}", text(targets[i]->span), show(target->type), show(part)));
            return;
          }
          dummy = coerce(std::move(dummy), wanted_by(*target, part), fmt::format("`{}`", text(targets[i]->span)));
          if (dummy->type.is_error()) return;
          for (SizeCheck& check : dummy->checks)
            out.checks.push_back(std::move(check));
          set_current(*target, dummy->type);
        }
      }
      out.targets.push_back(std::move(*target));
    }
    out.value = std::move(v);
    into.statements.push_back(std::move(out));
    return;
  }
  if (assign_element(s, span, into)) return;
  size_t errors = ctx_->reports.size();
  // Left to right: subscripts before the value, but the variable's own type may change in the value's statement only
  // here.
  auto target = place(s.target, out);
  if (!target) {
    if (ctx_->reports.size() == errors) return;
    (void)value(s.value);
    return;
  }
  // The value is what can be converted.
  auto mixed_assignment = [&](const typed::Expr& to, const typed::Expr& from, const std::string& what) {
    Type x = resolved(to.type), y = resolved(from.type);
    error("MixedTypes", span, fmt::format("{} mixes {} and {}", what, name_of(x.dtype), name_of(y.dtype)),
          fmt::format("write `{}({})` to convert it", name_of(x.dtype), text(from.span)), {label(to), label(from)});
  };
  Type expected = target->type;
  if (target->subscripts.empty()) {
    if (!target->var.valid()) { // `_ = e`
      out.value = value(s.value);
      out.targets.push_back(std::move(*target));
      into.statements.push_back(std::move(out));
      return;
    }
    ExprPtr v;
    if (s.op) {
      ExprPtr left = part(*variable(target->var, s.target->span), target->path, s.target->span);
      if (expected.is_list() && !expected.elements.empty()) // of any sizes
        expected = list_of(expected.elements[0], [](const Size&) { return true; });
      if (*s.op == ast::BinaryOp::Power) {
        v = power(std::move(left), s.value, span, s.op_span);
      } else {
        ExprPtr right = value(s.value, expected.is_list() ? &expected : nullptr);
        Type x = refresh(*left), y = refresh(*right);
        if (x.is_tensor() && y.is_tensor() && is_num(x.dtype) && is_num(y.dtype) && !unify(x, y)) {
          mixed_assignment(*left, *right, fmt::format("`{}`", text(span)));
          return;
        }
        v = binary_op(*s.op, std::move(left), std::move(right), span, s.op_span);
      }
    } else
      v = value(s.value, &expected);
    refresh(*v);
    if (v->type.is_error()) return;
    if (!same_form(target->type, v->type)) {
      std::string hint;
      if (target->type.is_tensor() && v->type.is_tensor() && target->type.rank() == v->type.rank())
        hint = fmt::format("write `{}({})` to convert it", name_of(resolved(target->type).dtype), text(s.value->span));
      else if (target->type.is_tensor() && v->type.is_tensor())
        hint = "a `var` keeps its number of axes; `x[:] = e` writes all its elements";
      else if (has_function(target->type))
        hint = "which function a name stands for is known when compiling: choose inside one function";
      error("TypeMismatch", v->span,
            fmt::format("`{}` is {}, not {}", text(s.target->span), show(target->type), show(v->type)), hint,
            {{p_.variables[target->var.index].span,
              fmt::format("declared as {}", show(p_.variables[target->var.index].type))},
             label(*v)});
      return;
    }
    v = coerce(std::move(v), wanted_by(*target, refresh(*v)), fmt::format("`{}`", text(s.target->span)));
    if (v->type.is_error()) return;
    set_current(*target, v->type);
    target->type = v->type;
    out.value = std::move(v);
    out.targets.push_back(std::move(*target));
    into.statements.push_back(std::move(out));
    return;
  }
  ExprPtr v = value(s.value, &expected);
  refresh(*v);
  if (v->type.is_error()) return;
  bool by_tensor = false;
  for (const auto& sub : target->subscripts)
    by_tensor = by_tensor || sub.kind == typed::Subscript::Kind::Tensor;
  if (!v->type.is_tensor() || !unify(target->type, v->type)) {
    auto place_expr = make(ExprKind::Unit, s.target->span, target->type);
    if (v->type.is_tensor())
      mixed_assignment(*place_expr, *v, "this assignment");
    else
      error("TypeMismatch", v->span,
            fmt::format("`{}` is {}, not {}", text(s.target->span), show(target->type), show(v->type)));
    return;
  }
  if (s.op) {
    static const std::map<ast::BinaryOp, ScalarOp> ops = {{ast::BinaryOp::Add, ScalarOp::Add},
                                                          {ast::BinaryOp::Subtract, ScalarOp::Sub},
                                                          {ast::BinaryOp::Multiply, ScalarOp::Mul},
                                                          {ast::BinaryOp::Divide, ScalarOp::Div},
                                                          {ast::BinaryOp::FloorDivide, ScalarOp::FloorDiv},
                                                          {ast::BinaryOp::Remainder, ScalarOp::Mod},
                                                          {ast::BinaryOp::Power, ScalarOp::Pow}};
    auto op = ops.find(*s.op);
    if (op == ops.end()) {
      error("NotSupported", s.op_span, fmt::format("`{}=` does not write a part", ast::symbol(*s.op)),
            "write the right side out");
      return;
    }
    if (by_tensor && op->second != ScalarOp::Add && op->second != ScalarOp::Sub) {
      error("NotAssignable", s.op_span,
            fmt::format("`{}=` with an index tensor is not defined where indices repeat", ast::symbol(*s.op)),
            "only += and -= accumulate");
      return;
    }
    // The type rule of the operator.
    std::vector<ExprPtr> operands;
    operands.push_back(make(ExprKind::Unit, s.target->span, target->type));
    operands.push_back(std::move(v));
    SizeFacts facts = ctx_->facts;
    size_t reports = ctx_->reports.size();
    ExprPtr node = scalar_node(op->second, std::move(operands), span, fmt::format("`{}=`", ast::symbol(*s.op)));
    ctx_->facts = facts;
    if (ctx_->reports.size() != reports || node->type.is_error()) return;
    v = std::move(node->operands[1]);
    out.mode = typed::AssignMode::Combine;
    out.scalar_op = op->second;
    if (by_tensor) {
      out.mode = typed::AssignMode::Accumulate;
      if (op->second == ScalarOp::Sub) {
        std::vector<ExprPtr> one;
        Span value_span = v->span;
        one.push_back(std::move(v));
        v = scalar_node(ScalarOp::Neg, std::move(one), value_span, "`-=`");
      }
      out.scalar_op = ScalarOp::Add;
    }
  }
  if (!broadcast_to_place(*target, *v, out)) return;
  target->type = resolved(target->type);
  out.value = std::move(v);
  out.targets.push_back(std::move(*target));
  into.statements.push_back(std::move(out));
}

void Checker::return_statement(const ast::Return& s, Span span, typed::Block& into) {
  typed::Stmt out;
  out.kind = StmtKind::Return;
  out.span = span;
  if (!ctx_->signature || in_comprehension_ > 0) {
    error("NotInFunction", span,
          in_comprehension_ > 0 ? "a comprehension cannot return" : "`return` stands outside a function");
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
  if (s.message) {
    out.message = value(s.message);
    if (!out.message->type.is_str() && !out.message->type.is_error())
      error("TypeMismatch", s.message->span,
            fmt::format("the message of an assert is text, not {}", show(out.message->type)),
            fmt::format("write \"{{{}}}\"", text(s.message->span)));
  }
  if (!out.value->type.is_error()) learn(*out.value, true);
  into.statements.push_back(std::move(out));
}

} // namespace tl::checker
