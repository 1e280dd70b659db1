// Random keys that are used twice: the same numbers come again, which looks random and is not.
#include "parser/check/modules.h"
#include "parser/lint/rules.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <unordered_map>

namespace tl::lint {
namespace {

struct Argument {
  std::string_view name; // empty: positional
  const ast::Expr* value;
};

// A call as it is written: `normal(k, [3])`, `k.normal([3])`, `nn.dropout(k, x, 0.5)`.
struct Call {
  const ast::File* file = nullptr; // that declares what is called, null: unknown
  ast::Ident name;
  std::vector<Argument> arguments;
};

std::vector<Argument> arguments_of(const std::vector<ast::Argument>& written, const ast::Expr* receiver) {
  std::vector<Argument> all;
  if (receiver) all.push_back({{}, receiver});
  for (const ast::Argument& argument : written)
    all.push_back({argument.name.text, argument.value});
  return all;
}

bool is_key(const ast::Param& param) {
  const auto* type = param.type ? ast::as<ast::NamedType>(param.type) : nullptr;
  if (!param.type) return param.name.text == "key";
  return type && type->name.text == "key" && !type->has_dims;
}

std::optional<size_t> position_of(const ast::Function& function, const Argument& argument, size_t at) {
  if (argument.name.empty()) return at < function.params.size() ? std::optional(at) : std::nullopt;
  for (size_t i = 0; i < function.params.size(); ++i)
    if (function.params[i].name.text == argument.name) return i;
  return std::nullopt;
}

// Give something of their own for each number that comes with a key.
bool is_numbered(std::string_view function) { return function == "fold_in" || function == "key_bits"; }

// Which functions draw from a key that they are given, so that a second call draws the same.
class Drawing {
public:
  explicit Drawing(const Input& input) : input_(input) {}

  // What a call in `file` calls, by the names that are declared at the top of files.
  std::optional<Call> call_of(const ast::Expr& e, const ast::File& file) const {
    if (const auto* call = ast::as<ast::Call>(e)) {
      if (!ast::as<ast::Name>(call->callee)) return std::nullopt;
      const ast::Ident name{ast::as<ast::Name>(call->callee)->name, call->callee->span};
      return Call{declaring(name.text, file), name, arguments_of(call->arguments, nullptr)};
    }
    const auto* call = ast::as<ast::MethodCall>(e);
    if (!call) return std::nullopt;
    if (const ast::File* module = module_of(call->receiver, file))
      return Call{module, call->name, arguments_of(call->arguments, nullptr)};
    return Call{declaring(call->name.text, file), call->name, arguments_of(call->arguments, call->receiver)};
  }

  bool draws(const Call& call, size_t argument) {
    if (!call.file) return false;
    const auto& overloads = functions_of(*call.file, call.name.text);
    return std::any_of(overloads.begin(), overloads.end(), [&](const ast::Function* function) {
      const auto at = position_of(*function, call.arguments[argument], argument);
      return at && is_key(function->params[*at]) && draws(*call.file, *function, *at);
    });
  }

private:
  bool draws(const ast::File& file, const ast::Function& function, size_t param) {
    if (function.body.empty()) return !is_numbered(function.name.text);
    const auto [known, is_new] = known_.try_emplace({&function, param}, false);
    if (!is_new) return known->second;
    const std::string& name = function.params[param].name.text;
    bool found = false;
    Visitor visitor;
    visitor.on_expr = [&](const ast::Expr& e) {
      const auto call = found ? std::nullopt : call_of(e, file);
      for (size_t i = 0; call && i < call->arguments.size(); ++i) {
        const auto* argument = ast::as<ast::Name>(call->arguments[i].value);
        if (!argument || argument->name != name) continue;
        found =
            found || draws(*call, i) || (is_numbered(call->name.text) && !depends_on_caller(*call, function, param));
      }
    };
    if (function.body.expression) visitor.walk(*function.body.expression);
    if (function.body.block) visitor.walk(function.body.block->statements);
    return known_[{&function, param}] = found;
  }

  // Is the number of a derived key, `i` of `fold_in(k, i)`, the caller's choice?
  static bool depends_on_caller(const Call& call, const ast::Function& function, size_t key) {
    bool found = false;
    Visitor visitor;
    visitor.on_expr = [&](const ast::Expr& e) {
      const auto* name = ast::as<ast::Name>(e);
      for (size_t i = 0; name && i < function.params.size(); ++i)
        found = found || (i != key && function.params[i].name.text == name->name);
    };
    for (const Argument& argument : call.arguments)
      visitor.walk(*argument.value);
    return found;
  }

  using Functions = std::unordered_map<std::string_view, std::vector<const ast::Function*>>; // at the top of a file
  const std::vector<const ast::Function*>& functions_of(const ast::File& file, std::string_view name) const {
    static const std::vector<const ast::Function*> kNone;
    const auto [all, is_new] = functions_.try_emplace(&file);
    if (is_new)
      for (const ast::Stmt* s : file.statements)
        if (const auto* function = ast::as<ast::Function>(s)) all->second[function->name.text].push_back(function);
    const auto found = all->second.find(name);
    return found == all->second.end() ? kNone : found->second;
  }

  const ast::File* declaring(std::string_view name, const ast::File& file) const {
    if (!functions_of(file, name).empty()) return &file;
    return functions_of(input_.prelude, name).empty() ? nullptr : &input_.prelude;
  }

  const ast::File* module_of(const ast::Expr* receiver, const ast::File& file) const {
    const auto* name = ast::as<ast::Name>(receiver);
    for (size_t i = 0; name && i < file.statements.size(); ++i) {
      const auto* import = ast::as<ast::Import>(file.statements[i]);
      if (!import || checker::name_of_module(*import) != name->name) continue;
      const auto target = input_.imports.targets.find(import);
      return target == input_.imports.targets.end() ? nullptr : target->second;
    }
    return nullptr;
  }

  const Input& input_;
  mutable std::map<const ast::File*, Functions> functions_;
  std::map<std::pair<const ast::Function*, size_t>, bool> known_;
};

// Follows a program's ways. A way that ends (`return`, `break`, `continue`) has used nothing afterwards.
class Keys {
public:
  Keys(const Names& names, Diagnostics& diagnostics)
      : names_(names), diagnostics_(diagnostics), drawing_(names.input) {}

  void statements(const std::vector<ast::Stmt*>& all) {
    for (const ast::Stmt* s : all)
      statement(*s);
  }

private:
  using Used = std::map<const Symbol*, Span>;

  void statement(const ast::Stmt& s) {
    if (const auto* let = ast::as<ast::Let>(s)) {
      expr(*let->value);
      return renew(*let->pattern);
    }
    if (const auto* assign = ast::as<ast::Assign>(s)) {
      expr(*assign->value);
      return renew(*assign->target);
    }
    if (const auto* loop = ast::as<ast::For>(s)) {
      for (const ast::IndexClause& clause : loop->clauses)
        expr(*clause.range);
      return repeat([&] {
        for (const ast::IndexClause& clause : loop->clauses)
          renew(*clause.pattern);
        statements(loop->body.statements);
      });
    }
    if (const auto* loop = ast::as<ast::While>(s))
      return repeat([&] {
        expr(*loop->condition);
        statements(loop->body.statements);
      });
    if (ast::as<ast::Function>(s) || ast::as<ast::Test>(s)) return apart([&] { parts(s); });
    parts(s);
    if (ast::as<ast::Return>(s) || ast::as<ast::Break>(s) || ast::as<ast::Continue>(s)) used_.clear();
  }

  void expr(const ast::Expr& e) {
    if (const auto* branches = ast::as<ast::If>(e)) return branch(*branches);
    if (const auto* comprehension = ast::as<ast::Comprehension>(e)) return this->comprehension(*comprehension);
    if (ast::as<ast::Lambda>(e)) return apart([&] { parts(e); }); // who knows when it is called, and how often
    parts(e);
    if (!ast::as<ast::Call>(e) && !ast::as<ast::MethodCall>(e)) return;
    const auto call = drawing_.call_of(e, names_.input.file);
    for (size_t i = 0; call && i < call->arguments.size(); ++i)
      if (const Symbol* key = key_of(*call->arguments[i].value); key && drawing_.draws(*call, i))
        use(*key, call->arguments[i].value->span);
  }

  void branch(const ast::If& branches) {
    expr(*branches.condition);
    const Used before = used_;
    statements(branches.then_block.statements);
    Used after = std::exchange(used_, before);
    if (branches.else_block) statements(branches.else_block->statements);
    used_.merge(after);
  }

  void comprehension(const ast::Comprehension& comprehension) {
    for (const ast::IndexClause& clause : comprehension.clauses)
      if (clause.range) expr(*clause.range);
    repeat([&] {
      for (const ast::IndexClause& clause : comprehension.clauses)
        renew(*clause.pattern);
      if (comprehension.filter) expr(*comprehension.filter);
      expr(*comprehension.element);
    });
  }

  // The second time, what the first turn has used is used. The loops inside have been repeated by then.
  template <class Turn> void repeat(const Turn& turn) {
    turn();
    if (is_again_) return;
    is_again_ = true;
    turn();
    is_again_ = false;
  }
  template <class Walk> void apart(const Walk& walk) {
    const Used outside = std::exchange(used_, {});
    const bool was_again = std::exchange(is_again_, false);
    if (!was_again) walk(); // else it has been walked
    is_again_ = was_again;
    used_ = outside;
  }
  template <class Node> void parts(const Node& node) {
    ast::each_part(
        node, [&](const ast::Expr* part) { expr(*part); },
        [&](const ast::Block& inner) { statements(inner.statements); });
  }

  void renew(const ast::Pattern& pattern) {
    if (pattern.kind == ast::Pattern::Kind::Name) used_.erase(names_.declared(pattern.span));
    for (const ast::Pattern* element : pattern.elements)
      renew(*element);
  }
  void renew(const ast::Expr& target) {
    if (const auto* tuple = ast::as<ast::Tuple>(target))
      for (const ast::Expr* element : tuple->elements)
        renew(*element);
    else if (ast::as<ast::Name>(target))
      used_.erase(names_.meaning(target.span));
  }

  const Symbol* key_of(const ast::Expr& e) const {
    if (!ast::as<ast::Name>(e)) return nullptr;
    const auto type = names_.input.types.find(&e);
    const bool is_key = type != names_.input.types.end() && type->second.kind == TypeKind::Tensor &&
                        type->second.dtype == DType::Key && type->second.shape.empty();
    const Symbol* symbol = is_key ? names_.meaning(e.span) : nullptr;
    return symbol && !is_marked(symbol->name) ? symbol : nullptr;
  }

  void use(const Symbol& key, Span span) {
    const auto [before, is_first] = used_.try_emplace(&key, span);
    if (is_first) return;
    const bool is_same = before->second == span;
    diagnostics_.warning("ReusedKey", span,
                         is_same ? fmt::format("each turn of the loop draws the same numbers from `{}`", key.name)
                                 : fmt::format("`{}` has been used, and gives the same numbers again", key.name),
                         is_same ? fmt::format("take a key for each turn: `fold_in({}, i)`", key.name)
                                 : fmt::format("take a key for each use: `let (a, b) = split({})`", key.name),
                         is_same ? std::vector<Label>{} : std::vector<Label>{{before->second, "used here"}});
  }

  const Names& names_;
  Diagnostics& diagnostics_;
  Drawing drawing_;
  Used used_; // and where
  bool is_again_ = false;
};

} // namespace

void reused_keys(const Names& names, Diagnostics& diagnostics) {
  Keys(names, diagnostics).statements(names.input.file.statements);
}

} // namespace tl::lint
