// Statements: bindings, return, assert. Assignments: assignments.cpp, loops: loops.cpp.
#include "parser/check/statements.h"
#include "parser/check/assignments.h"
#include "parser/check/builtins/devices.h"
#include "parser/check/expressions.h"
#include "parser/check/free_names.h"
#include "parser/check/functions.h"
#include "parser/check/lists.h"
#include "parser/check/loops.h"
#include "parser/check/modules.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/struct_types.h"
#include "parser/check/types.h"
#include "parser/check/values.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::checker {

static void check_let(Context& cx, const ast::Let& s, Span span, typed::Block& into);
static void check_return(Context& cx, const ast::Return& s, Span span, typed::Block& into);
static void check_assert(Context& cx, const ast::Assert& s, Span span, typed::Block& into);

void hoist_declarations(Context& cx, const std::vector<ast::Stmt*>& list) {
  for (const ast::Stmt* s : list) {
    if (auto* decl = ast::as<ast::Function>(s); decl && decl->body.empty()) { // built in
      cx.names.declared_builtins[cx.names.scope->prefix + decl->name.text].push_back(s);
    } else if (decl) {
      cx.functions.declared.emplace_back();
      FunctionInfo& info = cx.functions.declared.back();
      info.decl = decl;
      info.env = cx.names.scope;
      info.parent = cx.function;
      info.is_prelude = cx.names.scope == cx.names.prelude;
      info.id = static_cast<uint32_t>(cx.functions.declared.size());
      info.is_template = !decl->type_params.empty();
      info.is_closure = cx.names.scope != cx.names.prelude && cx.names.scope != cx.names.file;
      if (info.is_closure) info.facts = cx.function->facts;
      distinct_params(cx, decl->type_params, decl->params);
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
      bool overloads = cx.names.scope == cx.names.prelude || !cx.names.scope->prefix.empty(); // of the library
      if (overloads) cx.names.builtins[cx.names.scope->prefix + decl->name.text].functions.push_back(&info);
      if (!overloads && !may_declare(cx, decl->name, "function")) continue;
      Entity entity;
      entity.kind = Entity::Kind::Function;
      entity.function = &info;
      entity.span = decl->name.span;
      enter(cx, decl->name.text, entity);
    } else if (auto* structure = ast::as<ast::Struct>(s)) {
      cx.names.structs.push_back({structure, cx.names.scope, nullptr, false, false});
      if (!may_declare(cx, structure->name, "struct") || !may_be_type(cx, structure->name)) continue;
      Entity entity;
      entity.kind = Entity::Kind::Struct;
      entity.structure = &cx.names.structs.back();
      entity.span = structure->name.span;
      enter(cx, structure->name.text, entity);
    } else if (auto* import = ast::as<ast::Import>(s)) {
      import_names(cx, *import);
    } else if (auto* constant = ast::as<ast::Const>(s)) {
      cx.names.constants.push_back({constant, cx.names.scope, false});
      Entity entity;
      entity.kind = Entity::Kind::Const;
      entity.constant = &cx.names.constants.back();
      entity.span = constant->name.span;
      if (may_declare(cx, constant->name, "const")) enter(cx, constant->name.text, entity);
    }
  }
}

typed::Block check_block(Context& cx, const ast::Block& b, bool want, const Type* expected) {
  SaveAndRestore scope(cx.names.scope);
  SizeFacts::Mark mark = cx.function->facts.mark();
  // An expression alone declares nothing: so a long chain of `else if` is no deep nest of scopes.
  bool declares = b.statements.size() != 1 || !ast::as<ast::ExprStmt>(b.statements[0]);
  if (declares || cx.names.scope == cx.names.file) push_scope(cx);
  typed::Block result;
  hoist_declarations(cx, b.statements);
  check_statements(cx, b.statements, result, want, expected);
  cx.function->facts.restore(mark);
  return result;
}

// What follows a jump is checked as if it were reached, and then left out: it changes neither the result's type
// nor what is known behind loops.
void check_statements(Context& cx, const std::vector<ast::Stmt*>& list, typed::Block& into, bool want,
                      const Type* expected) {
  struct Dead {
    size_t statements, returned, atoms;
    std::vector<Loop> loops;
    std::map<VarId, Type> current;
  };
  std::optional<Dead> dead;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!cx.function->reachable && !dead) {
      dead = Dead{into.statements.size(), cx.function->returned.size(), cx.program.atoms.size(), cx.function->loops,
                  cx.function->current};
      cx.function->reachable = true;
    }
    auto* last = ast::as<ast::ExprStmt>(list[i]);
    if (want && last && i + 1 == list.size()) {
      into.result = check_expr(cx, last->value, expected, true);
      TypeKind kind = into.result->type.kind;
      if (kind == TypeKind::Element || kind == TypeKind::None) {
        error(cx, "TypeMismatch", last->value->span,
              fmt::format("`{}` is not a value here", source_text(cx, last->value->span)));
        into.result->type = Type::error();
      }
      if (into.result->type.is_unit() && !into.result->is<typed::UnitExpr>()) {
        typed::Stmt s;
        s.span = list[i]->span;
        s.value = std::move(into.result);
        into.statements.push_back(std::move(s));
      }
      continue;
    }
    check_statement(cx, *list[i], into);
  }
  if (dead) {
    into.statements.erase(into.statements.begin() + static_cast<long>(dead->statements), into.statements.end());
    // Its value has a type, for what it is in, but is none.
    if (into.result) {
      Type type = refresh(cx, *into.result);
      auto is_inside = [&](AtomId atom) { return atom.index >= dead->atoms; };
      into.result = make_expr(typed::UnitExpr{}, into.result->span, behind_jump(cx, std::move(type), is_inside));
    }
    cx.function->returned.resize(dead->returned);
    cx.function->returned_spans.resize(dead->returned);
    cx.function->loops = std::move(dead->loops);
    cx.function->current = std::move(dead->current);
    cx.function->reachable = false;
  }
  into.diverges = !cx.function->reachable;
}

// The type with new sizes for those that only what is left out would have told: in which there are such atoms.
Type behind_jump(Context& cx, Type type, const std::function<bool(AtomId)>& is_untold) {
  for (Size& size : type.shape) {
    std::vector<AtomId> atoms;
    cx.program.atoms.collect(size, atoms);
    if (std::none_of(atoms.begin(), atoms.end(), is_untold)) continue;
    AtomId id = size_atom(cx, AtomKind::Fresh, "a size behind a jump", {});
    cx.sizes.never_known.insert(id);
    size = Size::of(id);
  }
  for (Type& element : type.elements)
    if (!type.is_list()) element = behind_jump(cx, std::move(element), is_untold);
  return type;
}

void check_statement(Context& cx, const ast::Stmt& s, typed::Block& into) {
  std::visit(
      [&](const auto& node) {
        using T = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<T, ast::ExprStmt>) {
          typed::Stmt out;
          out.kind = StmtKind::Expr;
          out.span = s.span;
          out.value = check_expr(cx, node.value, nullptr, false);
          TypeKind kind = out.value->type.kind;
          if (kind == TypeKind::Element || kind == TypeKind::None || kind == TypeKind::Function) {
            error(cx, "UnusedValue", s.span, "this has no effect");
            return;
          }
          into.statements.push_back(std::move(out));
        } else if constexpr (std::is_same_v<T, ast::Let>)
          check_let(cx, node, s.span, into);
        else if constexpr (std::is_same_v<T, ast::Const>) {
          const Entity* entity = declaration(cx, node.name, Entity::Kind::Const);
          if (node.value && entity && entity->constant->decl == &node)
            (void)const_value(cx, *entity->constant, node.name.text, node.name.span); // reports what is wrong
        } else if constexpr (std::is_same_v<T, ast::Assign>)
          check_assign(cx, node, s.span, into);
        else if constexpr (std::is_same_v<T, ast::For>)
          check_for(cx, node, 0, s.span, into);
        else if constexpr (std::is_same_v<T, ast::While>)
          check_while(cx, node, s.span, into);
        else if constexpr (std::is_same_v<T, ast::Break> || std::is_same_v<T, ast::Continue>) {
          constexpr bool is_break = std::is_same_v<T, ast::Break>;
          if (cx.function->loops.empty()) {
            error(cx, "NotInLoop", s.span, fmt::format("`{}` is outside a loop", is_break ? "break" : "continue"));
            cx.function->reachable = false; // as it would be
            return;
          }
          Loop& loop = cx.function->loops.back();
          if (!is_break && loop.in_condition) {
            error(cx, "NotInLoop", s.span,
                  "`continue` is in the condition of its own loop, before any iteration has begun");
            cx.function->reachable = false;
            return;
          }
          if (cx.function->reachable) (is_break ? loop.exits : loop.continues).push_back(cx.function->current);
          cx.function->reachable = false;
          typed::Stmt out;
          out.kind = is_break ? StmtKind::Break : StmtKind::Continue;
          out.span = s.span;
          into.statements.push_back(std::move(out));
        } else if constexpr (std::is_same_v<T, ast::Return>)
          check_return(cx, node, s.span, into);
        else if constexpr (std::is_same_v<T, ast::Assert>)
          check_assert(cx, node, s.span, into);
        else if constexpr (std::is_same_v<T, ast::Function>) {
          if (const Entity* entity = declaration(cx, node.name, Entity::Kind::Function);
              entity && entity->function->decl == &node) {
            // From here on it sees what was bound before it, and the values that `var`s have now.
            FunctionInfo* function = entity->function;
            if (function->is_closure) {
              SaveAndRestore scope(cx.names.scope);
              push_scope(cx);
              keep_values(cx, names_in(node.body), node.name.span, into);
              function->env = cx.names.scope;
              function->facts = cx.function->facts;
            } else
              function->env = cx.names.scope;
          }
        } else if constexpr (std::is_same_v<T, ast::On>)
          on_device(cx, node, s.span, into);
        else if constexpr (std::is_same_v<T, ast::Struct>) {
          if (const Entity* entity = declaration(cx, node.name, Entity::Kind::Struct))
            (void)record_of(cx, *entity->structure); // reports what is wrong
        } else if constexpr (std::is_same_v<T, ast::Import>)
          run_import(cx, node);
        else if constexpr (std::is_same_v<T, ast::Test>)
          error(cx, "NotSupported", s.span, "a test belongs at the top level of a file");
      },
      s.node);
}

void distinct(Context& cx, const std::vector<const ast::Ident*>& names, const std::string& what) {
  std::map<std::string, Span> seen;
  for (const ast::Ident* name : names)
    if (auto [it, is_new] = seen.try_emplace(name->text, name->span); !is_new && name->text != "_")
      error(cx, "DuplicateName", name->span, fmt::format("there are two {} `{}`", what, name->text), "",
            {{it->second, "the first"}});
}

void distinct_params(Context& cx, const std::vector<ast::TypeParam>& types, const std::vector<ast::Param>& params) {
  std::vector<const ast::Ident*> names;
  for (const ast::TypeParam& type : types) {
    names.push_back(&type.name);
    (void)may_be_type(cx, type.name);
  }
  distinct(cx, names, "type parameters");
  names.clear();
  for (const ast::Param& param : params)
    names.push_back(&param.name);
  distinct(cx, names, "parameters");
}

namespace {
void each_name(const ast::Pattern& p, const std::function<void(const ast::Pattern&)>& visit) {
  if (p.kind == ast::Pattern::Kind::Name) visit(p);
  for (const ast::Pattern* element : p.elements)
    each_name(*element, visit);
}
} // namespace

// Binds the names of a pattern in the current scope.
typed::Pattern bind_pattern(Context& cx, const ast::Pattern& p, const Type& type, bool is_mutable,
                            const typed::Expr* value) {
  typed::Pattern result;
  if (p.kind == ast::Pattern::Kind::Wildcard) return result;
  if (p.kind == ast::Pattern::Kind::Tuple) {
    result.is_tuple = true;
    bool fits = type.is_tuple() && type.elements.size() == p.elements.size();
    if (!fits && !type.is_error())
      error(cx, "TypeMismatch", p.span,
            fmt::format("this pattern takes {} values, and the value is {}", p.elements.size(), show(cx, type)),
            type.is_tensor() ? "it is one value: `let x = …`" : "");
    std::map<std::string, Span> seen;
    for (const ast::Pattern* element : p.elements) {
      std::map<std::string, Span> own;
      each_name(*element, [&](const ast::Pattern& name) {
        own.try_emplace(name.name, name.span);
        if (auto it = seen.find(name.name); it != seen.end())
          error(cx, "DuplicateName", name.span, fmt::format("this pattern binds `{}` twice", name.name), "",
                {{it->second, "the first"}});
      });
      seen.merge(own);
    }
    for (size_t i = 0; i < p.elements.size(); ++i)
      result.elements.push_back(
          bind_pattern(cx, *p.elements[i], fits ? type.elements[i] : Type::error(), is_mutable,
                       fits && value && value->is<typed::TupleExpr>() ? value->operands[i].get() : nullptr));
    return result;
  }
  result.var = bind_name(cx, p.name, p.name, type, is_mutable, value, p.span);
  return result;
}

// `key` is what the scope knows it by; invalid, and poisoned, where the value is wrong.
VarId bind_name(Context& cx, const std::string& key, const std::string& name, const Type& type, bool is_mutable,
                const typed::Expr* value, Span span) {
  Entity entity;
  entity.span = span;
  if (type.is_error()) {
    enter(cx, key, entity); // poisoned: no further messages about it
    return {};
  }
  if (has_range(cx, type) && is_mutable)
    error(cx, "NotSupported", span, "a `var` cannot hold a range yet", "keep its two ends");
  VarId var = new_variable(cx, name, type, is_mutable, span);
  if (cx.function->is_top_level) cx.instances.top_level_order.try_emplace(var, cx.instances.bound_at_top_level());
  if (!is_mutable && type.is_scalar()) {
    auto size = value ? number_of(cx, *value) : std::nullopt;
    if (size && !size->is_constant() && cx.program.atoms.computes(*size)) {
      // An open literal in it is an i64 from here on, as sizes are.
      if (cx.open.resolved(type).dtype == DType::I64 && !cx.open.resolved(type).open) cx.sizes.known[var] = *size;
    } else if (cx.open.resolved(type).dtype == DType::I64) {
      bind_atom(cx, var);
      if (size) cx.function->facts.equal.push_back({cx.program.variables[var.index].atom, *size});
    }
  }
  entity.kind = Entity::Kind::Variable;
  entity.var = var;
  enter(cx, key, entity);
  return var;
}

// A value under the type that is written for it (perhaps null). New names in that type get their values from the
// value's sizes: `defs` of the statement that binds it. They are declared in the current scope, the value is checked in
// `outer`.
ExprPtr annotated_value(Context& cx, const ast::TypeExpr* type, const ast::Expr* value_expr, Scope* outer,
                        const std::string& what, std::vector<std::pair<AtomId, Size>>& defs) {
  Scope* inner = cx.names.scope;
  Type annotated;
  std::vector<AtomId> bound;
  if (inner == outer) push_scope(cx); // the value does not see these names
  if (type) {
    DimContext context;
    context.mode = DimMode::Annotation;
    context.bound = &bound;
    bind_names(cx, type, context);
    annotated = type_of(cx, type, context);
    if (has_range(cx, annotated) && !annotated.is_range()) {
      error(cx, "NotSupported", type->span, "a type with a range in it cannot be written yet", "leave it out");
      annotated = Type::error();
    }
  }
  const Scope* binds = cx.names.scope;
  cx.names.scope = outer;
  SaveAndRestore element(cx.annotated, type && annotated.is_tensor() ? std::optional(annotated.dtype) : std::nullopt);
  ExprPtr v = check_value(cx, value_expr, type && !annotated.is_error() ? &annotated : nullptr);
  cx.names.scope = inner;
  if (binds != inner)
    for (const auto& [name, entity] : binds->names)
      enter(cx, name, entity);
  refresh(cx, *v);
  if (v->type.is_unit() && !v->type.is_error() && !v->is<typed::UnitExpr>()) {
    auto* choice = ast::as<ast::If>(value_expr);
    error(cx, "TypeMismatch", value_expr->span, "this has no value",
          choice && !choice->else_block ? "an `if` has one where it has an `else`" : "");
    v->type = Type::error();
  }
  if (!type || (annotated.is_range() && v->type.is_range())) return v; // its ends are the value's
  // A value may be of the very sizes that it is to tell, as list() is under List<f32[n]>; one that is never there tells
  // nothing, and needs not.
  const std::vector<AtomId> named = bound;
  auto mentions_bound = [&](const Size& size) {
    if (!cx.function->reachable) return false;
    std::vector<AtomId> atoms;
    cx.program.atoms.collect(size, atoms);
    return std::any_of(atoms.begin(), atoms.end(),
                       [&](AtomId atom) { return std::find(named.begin(), named.end(), atom) != named.end(); });
  };
  auto solve = [&](auto& self, const Type& to, const Type& from) -> void {
    if (to.shape.size() != from.shape.size()) return;
    for (size_t k = 0; k < to.shape.size(); ++k) {
      std::vector<AtomId> atoms;
      cx.program.atoms.collect(to.shape[k], atoms);
      for (AtomId atom : atoms) {
        if (std::find(bound.begin(), bound.end(), atom) == bound.end()) continue;
        for (const auto& term : to.shape[k].terms) {
          if (term.atoms != std::vector<AtomId>{atom}) continue;
          Size rest = to.shape[k] - Size(term.coefficient) * Size::of(atom);
          Size solved = cx.program.atoms.floor_div(cx.program.atoms.under(from.shape[k] - rest, cx.function->facts),
                                                   term.coefficient);
          if (mentions_bound(solved)) break;
          defs.push_back({atom, solved});
          cx.function->facts.equal.push_back({atom, solved});
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
  v = coerce(cx, std::move(v), annotated, what);
  if (!v->type.is_error() && !annotated.is_error() && !bound.empty())
    error(cx, "UnboundSize", type->span,
          fmt::format("the size `{}` cannot be inferred from the value", cx.program.atoms[bound[0]].name));
  return v;
}

// for a hint
static std::string brief_text(const Context& cx, Span span) {
  std::string text = source_text(cx, span);
  return text.size() > 40 || text.find('\n') != std::string::npos ? "…" : text;
}

static void check_let(Context& cx, const ast::Let& s, Span span, typed::Block& into) {
  typed::Stmt out;
  out.kind = StmtKind::Let;
  out.span = span;
  Scope* outer = cx.names.scope;
  if (cx.names.scope != cx.names.file) push_scope(cx);
  std::string what = s.pattern->kind == ast::Pattern::Kind::Name ? fmt::format("`{}`", s.pattern->name) : "this";
  ExprPtr v = annotated_value(cx, s.type, s.value, outer, what, out.size_defs);
  v = taken_apart(cx, std::move(v), *s.pattern, s.value->span);
  if (cx.function->is_top_level)
    for (const auto& [atom, size] : out.size_defs)
      cx.instances.top_level_sizes.try_emplace(atom, cx.instances.bound_at_top_level());
  out.pattern = bind_pattern(cx, *s.pattern, refresh(cx, *v), s.is_var, v.get());
  if (out.pattern.var.valid() && v->type.is_tensor() && v->type.open)
    cx.open_at_first[out.pattern.var] = brief_text(cx, s.value->span);
  out.value = std::move(v);
  into.statements.push_back(std::move(out));
}

static void check_return(Context& cx, const ast::Return& s, Span span, typed::Block& into) {
  typed::Stmt out;
  out.kind = StmtKind::Return;
  out.span = span;
  if (!cx.function->signature || cx.in_comprehension > 0) {
    error(cx, "NotInFunction", span,
          cx.in_comprehension > 0 ? "a comprehension cannot return" : "`return` is outside a function");
    cx.function->reachable = false; // as it would be
    return;
  }
  if (cx.functions.expanding) {
    error(cx, "NotSupported", span, "a function that returns a function ends with its one result",
          "choose inside the function that is returned");
    return;
  }
  const Signature& signature = *cx.function->signature;
  const FunctionInfo* info = cx.instances.states[cx.function->instance.index].info;
  bool declared = info && info->decl->result;
  if (s.value) {
    const Type wanted = declared ? expected_result(cx, signature) : Type::error();
    out.value = check_value(cx, s.value, declared ? &wanted : nullptr);
    if (declared)
      out.value =
          coerce(cx, std::move(out.value), signature.result, fmt::format("the result of `{}`", info->decl->name.text));
  }
  Type type = s.value ? refresh(cx, *out.value) : Type::unit();
  if (declared && !s.value && !signature.result.is_unit() && !signature.result.is_error())
    error(cx, "TypeMismatch", span,
          fmt::format("the result is {}, so `return` needs a value", show(cx, signature.result)));
  if (cx.function->reachable && !signature.has_result) {
    cx.function->returned.push_back(type);
    cx.function->returned_spans.push_back(span);
  }
  cx.function->reachable = false;
  into.statements.push_back(std::move(out));
}

static void check_assert(Context& cx, const ast::Assert& s, Span span, typed::Block& into) {
  typed::Stmt out;
  out.kind = StmtKind::Assert;
  out.span = span;
  out.text = source_text(cx, s.condition->span);
  out.value = check_condition(cx, s.condition);
  if (s.message) { // evaluated only where the assert fails, and then nothing comes behind it
    auto passes = cx.function->current;
    bool was_reachable = cx.function->reachable;
    SizeFacts facts = cx.function->facts;
    out.message = check_value(cx, s.message);
    cx.function->current = std::move(passes);
    cx.function->reachable = was_reachable;
    cx.function->facts = std::move(facts);
    if (!out.message->type.is_str() && !out.message->type.is_error())
      error(cx, "TypeMismatch", s.message->span,
            fmt::format("the message of an assert is text, not {}", show(cx, out.message->type)),
            fmt::format("write \"{{{}}}\"", source_text(cx, s.message->span)));
  }
  const SizeFacts::Mark mark = cx.function->facts.mark();
  if (!out.value->type.is_error()) learn_condition(cx, *out.value, true);
  cx.function->facts.claim(mark);
  into.statements.push_back(std::move(out));
}

} // namespace tl::checker
