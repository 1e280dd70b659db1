// What can be said only when every instance has been checked: effects, captures, values that nobody uses.
#include "parser/check/finish.h"
#include "lang/typed_walk.h"
#include "parser/check/indexing.h"
#include "parser/check/modules.h"
#include "parser/check/names.h"
#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace tl::checker {

bool has_effects(Context& cx, const typed::Block& block) {
  bool found = false;
  typed::Walker walker;
  walker.on_expr = [&](const typed::Expr& e) { found = found || typed::is_effect(cx.program, e); };
  walker.on_stmt = [&](const typed::Stmt& s) { found = found || s.kind == StmtKind::Assert; };
  walker.walk(block);
  return found;
}

static bool has_effects(Context& cx, const typed::Expr& e) {
  bool found = false;
  typed::Walker walker;
  walker.on_expr = [&](const typed::Expr& x) { found = found || typed::is_effect(cx.program, x); };
  // A branch that assigns or leaves is used for that.
  walker.on_stmt = [&](const typed::Stmt& s) {
    found = found || s.kind == StmtKind::Assert || s.kind == StmtKind::Assign || s.kind == StmtKind::Return ||
            s.kind == StmtKind::Break || s.kind == StmtKind::Continue;
  };
  walker.walk(e);
  return found;
}

static bool is_word(std::string_view text) {
  auto fits = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

static bool is_var(const Context& cx, std::string_view name) {
  return std::any_of(cx.program.variables.begin(), cx.program.variables.end(),
                     [&](const typed::Variable& v) { return v.is_mutable && v.name == name; });
}

static void check_uses(Context& cx, const typed::Block& block) {
  typed::Walker walker;
  walker.on_stmt = [&](const typed::Stmt& s) {
    if (s.kind != StmtKind::Expr || !s.value) return;
    const Type& type = s.value->type;
    if (type.is_error() || type.is_unit() || has_effects(cx, *s.value)) return;
    std::string hint = "bind it by `let`, or remove it";
    if (s.value->is(ScalarOp::Eq)) hint = "`=` assigns, `==` compares";
    if (s.value->is<typed::StrExpr, typed::InterpExpr>()) hint = "`print(…)` writes it";
    const std::string text = source_text(cx, s.value->span);
    const size_t dot = text.find('.'), open = text.find('(');
    if (dot < open && text.ends_with(')') && text.find('\n') == text.npos && is_var(cx, text.substr(0, dot)) &&
        is_word(text.substr(dot + 1, open - dot - 1))) // z.sort()
      hint = fmt::format("nothing changes `{0}` but an assignment: `{0} = {1}`", text.substr(0, dot), text);
    error(cx, "UnusedValue", s.value->span, "the value of this expression is not used", hint, {label_of(cx, *s.value)});
  };
  walker.on_expr = [&](const typed::Expr& e) {
    const auto* block = e.get_if<typed::BlockExpr>();
    const auto* derived = e.get_if<typed::DeriveExpr>();
    const auto* comprehension = e.get_if<typed::ComprehensionExpr>();
    bool builds_list = block && block->builds_list;
    bool maps = derived && derived->transform == typed::Transform::Vmap;
    if (!comprehension && !builds_list && !maps) return;
    typed::Walker inner;
    const typed::Expr* culprit = nullptr;
    Span at;
    inner.on_expr = [&](const typed::Expr& x) {
      if (culprit) return;
      if (typed::is_effect(cx.program, x)) culprit = &x;
    };
    inner.on_stmt = [&](const typed::Stmt& s) {
      if (s.kind == StmtKind::Assert) at = s.span;
    };
    for (const auto& operand : e.operands)
      inner.walk(*operand);
    if (comprehension && comprehension->filter) inner.walk(*comprehension->filter);
    if (builds_list)
      for (const auto& s : block->block.statements) // what is gone through may have effects, the loops may not
        if (s.kind == StmtKind::For) inner.walk(s.body);
    if (maps) inner.walk(derived->body);
    if (culprit) at = culprit->span;
    if (at.valid() && maps)
      error(cx, "EffectInComprehension", e.span, "a function under `vmap` has no effects: its calls run in any order",
            "write a `for` loop, or leave out what is an effect: printing, files, clocks, `assert`");
    else if (at.valid())
      error(cx, "EffectInComprehension", at, "a comprehension's element has no effects: it is computed in any order",
            "write a `for` loop");
  };
  walker.walk(block);
}

// A function that calls itself has no derivative, where floats come out of it.
static void check_derivatives(Context& cx, const typed::Block& block, const std::vector<std::set<uint32_t>>& callees) {
  typed::Walker walker;
  walker.on_stmt = [](const typed::Stmt&) {};
  walker.on_expr = [&](const typed::Expr& e) {
    const auto* derived = e.get_if<typed::DeriveExpr>();
    if (!derived || derived->transform == typed::Transform::Vmap || derived->transform == typed::Transform::Checkpoint)
      return;
    std::vector<uint32_t> path;
    std::set<uint32_t> done;
    std::vector<uint32_t> cycle;
    std::function<void(uint32_t)> visit = [&](uint32_t i) {
      if (!cycle.empty()) return;
      if (auto at = std::find(path.begin(), path.end(), i); at != path.end()) {
        if (std::any_of(at, path.end(), [&](uint32_t k) { return has_trained_leaf(cx.program.instances[k].result); }))
          cycle.assign(at, path.end());
        return;
      }
      if (!done.insert(i).second) return;
      path.push_back(i);
      for (uint32_t callee : callees[i])
        visit(callee);
      path.pop_back();
    };
    typed::Walker inner;
    inner.on_stmt = [](const typed::Stmt&) {};
    inner.on_expr = [&](const typed::Expr& x) {
      const auto* call = x.get_if<typed::CallExpr>();
      if (call && call->instance.valid()) visit(call->instance.index);
    };
    inner.walk(derived->body);
    if (cycle.empty()) return;
    std::string names;
    std::vector<Label> labels;
    for (size_t k = 0; k < cycle.size(); ++k) {
      const std::string& next = cx.program.instances[cycle[(k + 1) % cycle.size()]].name;
      names += k == 0 ? fmt::format("`{}` calls `{}`", cx.program.instances[cycle[0]].name, next)
                      : fmt::format(", which calls `{}`", next);
      if (const FunctionInfo* info = cx.instances.states[cycle[k]].info)
        labels.push_back({info->decl->name.span, "declared here"});
    }
    error(cx, "NotDifferentiable", e.span,
          fmt::format("the derivative of a function that calls itself is not known: {}", names), "write a loop",
          std::move(labels));
  };
  walker.walk(block);
}

// Instances that the program needs: called from what is kept, or checked for their own sake.
std::vector<bool> reachable_instances(Context& cx) {
  std::vector<bool> reachable(cx.program.instances.size(), false);
  std::vector<uint32_t> work;
  auto visit = [&](const typed::Expr& e) {
    const auto* call = e.get_if<typed::CallExpr>();
    if (call && call->instance.valid() && !reachable[call->instance.index]) {
      reachable[call->instance.index] = true;
      work.push_back(call->instance.index);
    }
  };
  typed::Walker walker{visit, [](const typed::Stmt&) {}};
  walker.walk(cx.program.top_level);
  walker.walk(cx.program.main_call);
  for (uint32_t i = 0; i < cx.instances.states.size(); ++i)
    if (!reachable[i] && (!cx.instances.states[i].info || !cx.instances.states[i].info->is_template ||
                          !cx.instances.states[i].call.valid())) {
      reachable[i] = true;
      work.push_back(i);
    }
  // A call that went wrong leaves no node; its instance's errors count where the caller's do.
  auto failed = [&] {
    for (uint32_t i = 0; i < cx.instances.states.size(); ++i)
      if (!reachable[i] && !cx.instances.states[i].reports.empty() &&
          cx.instances.states[i].signature.result.is_error()) {
        reachable[i] = true;
        work.push_back(i);
      }
  };
  failed();
  while (!work.empty()) {
    uint32_t i = work.back();
    work.pop_back();
    walker.walk(cx.program.instances[i].body);
  }
  return reachable;
}

static void add_uses(Context& cx, const Size& size, Uses& uses) {
  std::vector<AtomId> atoms;
  cx.program.atoms.collect(size, atoms);
  for (AtomId atom : atoms)
    if (cx.program.atoms[atom].kind != AtomKind::Element && !cx.sizes.never_known.contains(atom))
      uses.used.insert(atom);
}

void add_uses(Context& cx, const Type& type, Uses& uses) {
  for (const Size& size : type.shape)
    add_uses(cx, size, uses);
  for (const Type& element : type.elements)
    add_uses(cx, element, uses);
}

void add_uses(Context& cx, const typed::Block& block, Uses& uses) {
  auto checks = [&](const SizeChecks& list) {
    for (const SizeCheck& check : list)
      add_uses(cx, check.a, uses), add_uses(cx, check.b, uses);
  };
  auto subscripts = [&](const std::vector<typed::Subscript>& list) {
    for (const auto& s : list)
      add_uses(cx, s.start, uses), add_uses(cx, s.length, uses);
  };
  auto joins = [&](const std::vector<typed::Join>& list) {
    for (const auto& join : list) {
      uses.variables.insert(join.var);
      add_uses(cx, join.type, uses);
      for (const auto& fresh : join.fresh)
        uses.defined.insert(fresh.atom);
    }
  };
  typed::Walker walker;
  walker.on_expr = [&](const typed::Expr& e) {
    if (const auto* call = e.get_if<typed::CallExpr>(); call && call->instance.valid())
      uses.callees.insert(call->instance.index);
    if (const auto* variable = e.get_if<typed::VariableExpr>()) uses.variables.insert(variable->var);
    typed::each_size(e, [&](const Size& size) { add_uses(cx, size, uses); });
    for (const auto& bind : e.binds)
      uses.defined.insert(bind.atom);
    for (const auto& fresh : e.fresh)
      uses.defined.insert(fresh.atom);
    if (const auto* branches = e.get_if<typed::IfExpr>()) joins(branches->joins);
    if (const auto* comprehension = e.get_if<typed::ComprehensionExpr>())
      for (const auto& index : comprehension->indices)
        for (const auto& bind : index.binds)
          uses.defined.insert(bind.atom);
  };
  walker.on_stmt = [&](const typed::Stmt& s) {
    for (const auto& [atom, size] : s.size_defs)
      uses.defined.insert(atom), add_uses(cx, size, uses);
    for (const auto& target : s.targets) {
      uses.variables.insert(target.var);
      add_uses(cx, target.type, uses), subscripts(target.subscripts);
    }
    checks(s.checks);
    joins(s.head);
    joins(s.after);
  };
  walker.walk(block);
}

// A const is computed once, and the same wherever the program runs: nothing in it may act, or depend on what does.
static void check_const(Context& cx, const ConstCall& call, const std::vector<Uses>& uses) {
  std::set<uint32_t> seen{call.instance.index};
  std::vector<uint32_t> work{call.instance.index};
  const typed::Expr* effect = nullptr;
  typed::Walker walker;
  walker.on_stmt = [](const typed::Stmt&) {};
  walker.on_expr = [&](const typed::Expr& e) {
    if (!effect && e.is<typed::BuiltinExpr>() && typed::is_effect(cx.program, e)) effect = &e;
  };
  while (!work.empty() && !effect) {
    const uint32_t instance = work.back();
    work.pop_back();
    walker.walk(cx.program.instances[instance].body);
    for (uint32_t callee : uses[instance].callees)
      if (seen.insert(callee).second) work.push_back(callee);
  }
  if (!effect) return;
  const std::string& name = cx.program.instances[call.instance.index].name;
  const std::string_view function = info(effect->as<typed::BuiltinExpr>().builtin).name;
  std::vector<Label> labels;
  if (!is_library(cx, effect->span.file)) labels.push_back({effect->span, "here"});
  error(cx, "NotConstant", call.span,
        fmt::format(
            "a const must be known when the program is compiled, and `{}` calls `{}`, which runs with the program",
            name, function),
        "a const reads a file itself: `const w = load(\"w.npy\")`; else write `let`", std::move(labels));
}

// What a function reads of the script has to be bound before it is called.
static void check_order(Context& cx, const TopLevelCall& call) {
  const typed::Instance& instance = cx.program.instances[call.instance.index];
  auto require = [&](const auto& order, auto what, const std::string& name, Span bound) {
    if (auto at = order.find(what); at != order.end() && at->second >= call.defined)
      error(cx, "UsedBeforeSet", call.span,
            fmt::format("`{}` reads `{}`, which is set only after this call", instance.name, name), "",
            {{bound, "set here"}});
  };
  for (VarId var : instance.captures)
    require(cx.instances.top_level_order, var, cx.program.variables[var.index].name,
            cx.program.variables[var.index].span);
  for (AtomId atom : instance.captured_atoms)
    require(cx.instances.top_level_sizes, atom, cx.program.atoms[atom].name, cx.program.atoms[atom].origin);
}

void finish_program(Context& cx) {
  std::vector<bool> reachable = reachable_instances(cx);
  // Effects, captures and outer atoms go from callees to callers until nothing changes.
  std::vector<Uses> uses(cx.program.instances.size());
  for (size_t i = 0; i < cx.program.instances.size(); ++i) {
    if (!reachable[i]) continue;
    typed::Instance& instance = cx.program.instances[i];
    Uses& u = uses[i];
    add_uses(cx, instance.body, u);
    add_uses(cx, instance.result, u);
    for (AtomId atom : instance.size_params)
      u.defined.insert(atom);
    for (const auto& fresh : instance.result_atoms)
      u.defined.insert(fresh.atom);
    if (cx.instances.states[i].context) {
      for (uint32_t var : cx.instances.states[i].context->own)
        if (cx.program.variables[var].atom.valid()) u.defined.insert(cx.program.variables[var].atom);
      for (VarId var : cx.instances.states[i].context->captures) {
        u.captures.insert(var);
        // A captured i64 brings its atom; the sizes in its type are read too.
        if (cx.program.variables[var.index].atom.valid()) u.defined.insert(cx.program.variables[var.index].atom);
        add_uses(cx, cx.program.variables[var.index].type, u);
      }
    }
    u.defined.insert(cx.sizes.mask_counts.begin(), cx.sizes.mask_counts.end());
    for (AtomId atom : u.defined)
      u.used.erase(atom);
    instance.has_effects = instance.has_effects || has_effects(cx, instance.body); // one may be settled
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < uses.size(); ++i) {
      if (!reachable[i]) continue;
      for (uint32_t callee : uses[i].callees) {
        if (cx.program.instances[callee].has_effects && !cx.program.instances[i].has_effects)
          cx.program.instances[i].has_effects = changed = true;
        for (VarId var : uses[callee].captures)
          if (!(cx.instances.states[i].context && cx.instances.states[i].context->own.count(var.index)) &&
              uses[i].captures.insert(var).second) {
            changed = true;
            if (cx.program.variables[var.index].atom.valid())
              uses[i].defined.insert(cx.program.variables[var.index].atom);
          }
        for (AtomId atom : uses[callee].used)
          if (!uses[i].defined.count(atom) && uses[i].used.insert(atom).second) changed = true;
      }
    }
  }
  for (size_t i = 0; i < uses.size(); ++i) {
    cx.program.instances[i].captures.assign(uses[i].captures.begin(), uses[i].captures.end());
    cx.program.instances[i].captured_atoms.assign(uses[i].used.begin(), uses[i].used.end());
  }
  cx.function = cx.top;
  for (const TopLevelCall& call : cx.instances.top_level_calls)
    check_order(cx, call);
  std::set<std::pair<uint32_t, uint32_t>> told; // a const is checked again at each use
  for (const ConstCall& call : cx.instances.const_calls)
    if (told.insert({call.span.file.index, call.span.begin}).second) check_const(cx, call, uses);
  std::vector<std::set<uint32_t>> callees;
  for (const Uses& u : uses)
    callees.push_back(u.callees);
  check_derivatives(cx, cx.program.top_level, callees);
  for (size_t i = 0; i < cx.program.instances.size(); ++i)
    if (reachable[i]) check_derivatives(cx, cx.program.instances[i].body, callees);
  // Where a value is missing, its unused last one has been talked about.
  auto lacks_value = [](const std::vector<Diagnostic>& reports) {
    return std::any_of(reports.begin(), reports.end(), [](const Diagnostic& d) { return d.kind == "MissingResult"; });
  };
  if (!lacks_value(cx.top->reports)) check_uses(cx, cx.program.top_level);
  for (size_t i = 0; i < cx.program.instances.size(); ++i)
    if (reachable[i] &&
        (!cx.instances.states[i].info || !is_library(cx, cx.instances.states[i].info->decl->name.span.file)) &&
        !lacks_value(cx.instances.states[i].reports))
      check_uses(cx, cx.program.instances[i].body);
}

} // namespace tl::checker
