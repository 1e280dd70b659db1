// Names that nothing reads, variables that never change, names that hide others.
#include "parser/check/modules.h"
#include "parser/lint/rules.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace tl::lint {
namespace {

// Does something happen when the file is run, beyond declarations and bindings?
bool acts(const ast::File& file) {
  return std::any_of(file.statements.begin(), file.statements.end(), [](const ast::Stmt* s) {
    return ast::as<ast::ExprStmt>(s) || ast::as<ast::Assign>(s) || ast::as<ast::For>(s) || ast::as<ast::While>(s) ||
           ast::as<ast::Assert>(s) || ast::as<ast::On>(s);
  });
}

// The names of a file that something reads, and the files that it takes something from.
class Uses {
public:
  explicit Uses(const Names& names) : names_(names) {
    for (const ast::Stmt* s : names.input.file.statements)
      if (ast::as<ast::Function>(s) || ast::as<ast::Test>(s)) functions_.push_back(s->span);
    for (const Mention& mention : names.index.mentions)
      if (mention.symbol.valid()) take(mention);
  }

  bool is_read(const Symbol& symbol) const {
    return read_.contains(symbol.span.begin) || (names_.is_at_top(symbol) && read_in_functions_.contains(symbol.name));
  }
  bool is_written(const Symbol& symbol) const { return written_.contains(symbol.span.begin); }
  bool is_file_used(FileId file) const { return files_.contains(file.index); }

private:
  void take(const Mention& mention) {
    if (mention.is_write) written_.insert(mention.symbol.begin);
    if (mention.is_declaration || mention.is_write) return;
    if (mention.symbol.file != names_.input.file.id) {
      files_.insert(mention.symbol.file.index);
      return;
    }
    read_.insert(mention.symbol.begin);
    // Which of several bindings at the top a function sees depends on where it is called.
    const Symbol* symbol = names_.declared(mention.symbol);
    if (symbol && names_.is_at_top(*symbol) && is_in_function(mention.span)) read_in_functions_.insert(symbol->name);
  }
  bool is_in_function(Span span) const {
    const auto next = std::upper_bound(functions_.begin(), functions_.end(), span.begin,
                                       [](uint32_t at, Span function) { return at < function.begin; });
    return next != functions_.begin() && span.begin < std::prev(next)->end;
  }

  const Names& names_;
  std::vector<Span> functions_; // at the top
  std::set<uint32_t> read_, written_, files_;
  std::set<std::string> read_in_functions_;
};

// `i` of `for i in 0..3 { … }`, by their places: what only counts turns needs a name, too.
std::set<uint32_t> counters_in(const ast::File& file) {
  std::set<uint32_t> counters;
  const auto add = [&](const std::vector<ast::IndexClause>& clauses) {
    for (const ast::IndexClause& clause : clauses)
      if (clause.pattern->kind == ast::Pattern::Kind::Name) counters.insert(clause.pattern->span.begin);
  };
  Visitor visitor;
  visitor.on_expr = [&](const ast::Expr& e) {
    if (const auto* comprehension = ast::as<ast::Comprehension>(e)) add(comprehension->clauses);
  };
  visitor.on_stmt = [&](const ast::Stmt& s) {
    if (const auto* loop = ast::as<ast::For>(s)) add(loop->clauses);
  };
  visitor.walk(file.statements);
  return counters;
}

const char* noun(SymbolKind kind) {
  switch (kind) {
  case SymbolKind::Parameter: return "parameter";
  case SymbolKind::Const: return "const";
  case SymbolKind::Function: return "function";
  case SymbolKind::Struct: return "struct";
  default: return "variable";
  }
}

// What others may use by its name, or call with it, is nobody's fault.
bool is_private(const Names& names, const Symbol& symbol, bool is_script) {
  if (symbol.kind == SymbolKind::Variable) return !names.is_at_top(symbol) || is_script;
  if (symbol.kind == SymbolKind::Parameter)
    return symbol.owner < 0 || !names.is_at_top(names.index.symbols[static_cast<size_t>(symbol.owner)]);
  return (symbol.kind == SymbolKind::Function || symbol.kind == SymbolKind::Struct ||
          symbol.kind == SymbolKind::Const) &&
         !names.is_at_top(symbol);
}

void unused_name(const Symbol& symbol, bool is_written, Diagnostics& diagnostics) {
  const std::string message = is_written ? fmt::format("`{}` is assigned, and nothing reads it", symbol.name)
                                         : fmt::format("the {} `{}` is not used", noun(symbol.kind), symbol.name);
  const bool is_declared = symbol.kind == SymbolKind::Function || symbol.kind == SymbolKind::Struct;
  diagnostics.warning("UnusedName", symbol.span, message,
                      is_declared || is_written ? "remove it"
                                                : fmt::format("remove it, or name it `_{}`", symbol.name));
}

void unused_import(const Names& names, const Uses& uses, const Symbol& module, Diagnostics& diagnostics) {
  const auto* import = ast::as<ast::Import>(module.statement);
  const auto target = import ? names.input.imports.targets.find(import) : names.input.imports.targets.end();
  if (target == names.input.imports.targets.end() || uses.is_read(module)) return;
  if (import->path == "table") return; // columns of text have its types, and `print` its way to show a table
  if (uses.is_file_used(target->second->id) || acts(*target->second)) return;
  diagnostics.warning("UnusedImport", module.statement->span, fmt::format("nothing of `{}` is used", module.name),
                      "remove the import");
}

// The pattern that binds a name, with what else it binds.
std::vector<const ast::Pattern*> names_of(const ast::Pattern& pattern) {
  if (pattern.kind == ast::Pattern::Kind::Name) return {&pattern};
  std::vector<const ast::Pattern*> all;
  for (const ast::Pattern* element : pattern.elements)
    for (const ast::Pattern* name : names_of(*element))
      all.push_back(name);
  return all;
}

// Does the value of a `let` that hides this name mention it, as in `let x = f(x)`?
bool is_made_from(const Names& names, const Symbol& hiding, const Symbol& hidden) {
  const auto* let = hiding.statement ? ast::as<ast::Let>(hiding.statement) : nullptr;
  if (!let) return false;
  bool found = false;
  Visitor visitor;
  visitor.on_expr = [&](const ast::Expr& e) {
    found = found || (ast::as<ast::Name>(e) && names.meaning(e.span) == &hidden);
  };
  visitor.walk(*let->value);
  return found;
}

bool is_value(const Symbol& symbol) {
  return symbol.kind == SymbolKind::Variable || symbol.kind == SymbolKind::Parameter;
}

// The innermost value of the same name that can be seen where `symbol` begins; at the top there are none.
const Symbol* hidden_by(const Names& names, const Symbol& symbol, const std::vector<const Symbol*>& same) {
  const Symbol* found = nullptr;
  for (const Symbol* other : same) {
    if (other == &symbol || !is_value(*other) || names.is_at_top(*other) || other->span.begin >= symbol.span.begin)
      continue;
    if (other->extent.begin > symbol.span.begin || other->extent.end < symbol.extent.end) continue;
    if (!found || found->extent.begin <= other->extent.begin) found = other;
  }
  return found;
}

// The places where functions of the prelude are called, by their names.
std::multimap<std::string_view, Span> library_calls(const Names& names) {
  std::multimap<std::string_view, Span> calls;
  Visitor visitor;
  visitor.on_expr = [&](const ast::Expr& e) {
    const auto* call = ast::as<ast::Call>(e);
    if (call && ast::as<ast::Name>(call->callee)) calls.emplace(names.library_function(call->callee), e.span);
  };
  visitor.walk(names.input.file.statements);
  return calls;
}

// Does the function around this variable call the one of the prelude that it hides? In its own value it may: `let mean
// = mean(x)`.
bool hides_called(const Names& names, const Symbol& symbol, const std::multimap<std::string_view, Span>& calls) {
  const auto [first, last] = calls.equal_range(symbol.name);
  if (first == last) return false;
  const auto& statements = names.input.file.statements;
  const auto around = std::find_if(statements.begin(), statements.end(),
                                   [&](const ast::Stmt* s) { return symbol.span.begin < s->span.end; });
  return around != statements.end() && std::any_of(first, last, [&](const auto& call) {
           const Span place = call.second;
           const bool is_in_value = symbol.whole.begin <= place.begin && place.end <= symbol.whole.end;
           return (*around)->span.begin <= place.begin && place.end <= (*around)->span.end && !is_in_value;
         });
}

} // namespace

void unused_names(const Names& names, Diagnostics& diagnostics) {
  const Uses uses(names);
  const std::set<uint32_t> counters = counters_in(names.input.file);
  const bool is_script = acts(names.input.file);
  for (const Symbol& symbol : names.index.symbols) {
    if (is_marked(symbol.name)) continue;
    if (symbol.kind == SymbolKind::Module)
      unused_import(names, uses, symbol, diagnostics);
    else if (is_private(names, symbol, is_script) && !uses.is_read(symbol) && !counters.contains(symbol.span.begin))
      unused_name(symbol, uses.is_written(symbol), diagnostics);
  }
}

void unchanged_variables(const Names& names, Diagnostics& diagnostics) {
  std::set<const Symbol*> changed;
  const std::function<void(const ast::Expr*)> target = [&](const ast::Expr* e) {
    if (const auto* tuple = ast::as<ast::Tuple>(e))
      std::for_each(tuple->elements.begin(), tuple->elements.end(), target);
    else if (const ast::Expr* root = root_of(e))
      changed.insert(names.meaning(root->span));
  };
  Visitor visitor;
  visitor.on_stmt = [&](const ast::Stmt& s) {
    if (const auto* assign = ast::as<ast::Assign>(s)) target(assign->target);
  };
  visitor.walk(names.input.file.statements);
  visitor.on_stmt = [&](const ast::Stmt& s) {
    const auto* let = ast::as<ast::Let>(s);
    if (!let || !let->is_var) return;
    const std::vector<const ast::Pattern*> bound = names_of(*let->pattern);
    if (bound.empty() || std::any_of(bound.begin(), bound.end(), [&](const ast::Pattern* name) {
          return changed.contains(names.declared(name->span)) || is_marked(name->name);
        }))
      return;
    diagnostics.warning("UnchangedVariable", let->pattern->span, fmt::format("`{}` never changes", bound.front()->name),
                        "write `let` in place of `var`");
  };
  visitor.walk(names.input.file.statements);
}

void hidden_names(const Names& names, Diagnostics& diagnostics) {
  const auto calls = library_calls(names);
  std::map<std::string_view, std::vector<const Symbol*>> by_name;
  for (const Symbol& symbol : names.index.symbols)
    if (symbol.kind != SymbolKind::Field && symbol.kind != SymbolKind::Size) by_name[symbol.name].push_back(&symbol);
  for (const auto& [name, same] : by_name)
    for (const Symbol* symbol : same) {
      // A parameter of the same name is how `grad(|w| f(w))(w)` is written.
      if (symbol->kind != SymbolKind::Variable || is_marked(name) || names.is_at_top(*symbol)) continue;
      if (hides_called(names, *symbol, calls)) {
        diagnostics.warning(
            "HiddenName", symbol->span,
            fmt::format("`{}` hides the library's function `{}`, which this function calls, too", name, name),
            "give it another name");
        continue;
      }
      const Symbol* hidden = hidden_by(names, *symbol, same);
      if (!hidden || is_made_from(names, *symbol, *hidden)) continue;
      diagnostics.warning("HiddenName", symbol->span, fmt::format("`{}` hides another `{}`", name, name),
                          "give one of them another name", {{hidden->span, "which is bound here"}});
    }
}

} // namespace tl::lint
