// Clocks that are read while the work that they measure still runs: results are computed behind the program's back.
#include "parser/lint/rules.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace tl::lint {
namespace {

const std::set<std::string_view> kWaiting = {"wait", "wait_all", "print", "save", "exit", "read_line", "load"};

class Timings {
public:
  Timings(const Names& names, Diagnostics& diagnostics) : names_(names), diagnostics_(diagnostics) {}

  void block(const std::vector<ast::Stmt*>& statements) {
    for (size_t i = 0; i < statements.size(); ++i)
      if (const Symbol* start = start_of(*statements[i])) follow(*start, statements, i + 1);
  }

private:
  bool reads_clock(const ast::Expr* e) const {
    const auto* call = ast::as<ast::Call>(e);
    return call && call->arguments.empty() && names_.library_function(call->callee) == "time";
  }

  // The variable of `let start = time()`.
  const Symbol* start_of(const ast::Stmt& s) const {
    const auto* let = ast::as<ast::Let>(s);
    const bool is_start = let && let->pattern->kind == ast::Pattern::Kind::Name && reads_clock(let->value);
    return is_start ? names_.declared(let->pattern->span) : nullptr;
  }

  void follow(const Symbol& start, const std::vector<ast::Stmt*>& statements, size_t first) {
    const std::map<const ast::Expr*, size_t> ends = ends_of(start, statements, first);
    if (ends.size() != 1) return; // two readings compare the time of issue with that of the result
    const auto [clock, end] = *ends.begin();
    bool works = false;
    for (size_t i = first; i < end; ++i) {
      if (may_wait(*statements[i])) return;
      works = works || does_work(*statements[i]);
    }
    if (works) report(*clock, start, *statements[end - 1]);
  }

  // Where the clock is read once more, for `time() - start` or `end - start` behind `let end = time()`: the readings,
  // and which statements they are in.
  std::map<const ast::Expr*, size_t> ends_of(const Symbol& start, const std::vector<ast::Stmt*>& statements,
                                             size_t first) const {
    std::map<const ast::Expr*, size_t> ends;
    std::map<const Symbol*, std::pair<const ast::Expr*, size_t>> clocks;
    for (size_t i = first; i < statements.size(); ++i) {
      bool waits = false;
      std::map<const ast::Expr*, size_t> here;
      Visitor visitor;
      visitor.on_expr = [&](const ast::Expr& e) {
        waits = waits || called(e) == "wait" || called(e) == "wait_all";
        const auto* binary = ast::as<ast::Binary>(e);
        if (!binary || binary->op != ast::BinaryOp::Subtract || names_.meaning(binary->right->span) != &start) return;
        if (reads_clock(binary->left)) here.emplace(binary->left, i);
        if (const auto clock = clocks.find(names_.meaning(binary->left->span)); clock != clocks.end())
          ends.insert(clock->second);
      };
      visitor.walk(*statements[i]);
      if (!waits) ends.merge(here);
      if (const Symbol* clock = start_of(*statements[i])) clocks[clock] = {ast::as<ast::Let>(*statements[i])->value, i};
    }
    return ends;
  }

  std::string_view called(const ast::Expr& e) const {
    if (const auto* call = ast::as<ast::Call>(e)) return names_.library_function(call->callee);
    const auto* call = ast::as<ast::MethodCall>(e);
    return call ? std::string_view(call->name.text) : std::string_view();
  }

  // Whatever looks at a value waits for it; of functions of other files nobody knows.
  bool may_wait(const ast::Stmt& s) {
    bool waits = false;
    Visitor visitor;
    visitor.on_expr = [&](const ast::Expr& e) { waits = waits || may_wait(e); };
    visitor.on_stmt = [&](const ast::Stmt& inner) {
      waits = waits || ast::as<ast::While>(inner) || ast::as<ast::Assert>(inner);
    };
    visitor.walk(s);
    return waits;
  }
  bool may_wait(const ast::Expr& e) {
    if (ast::as<ast::If>(e) || ast::as<ast::StringLiteral>(e)) return true;
    const auto* call = ast::as<ast::Call>(e);
    if (call && !names_.library_function(call->callee).empty())
      return kWaiting.contains(names_.library_function(call->callee));
    if (const auto* method = ast::as<ast::MethodCall>(e)) {
      const Symbol* own = names_.meaning(method->name.span);
      return own ? function_may_wait(*own) : kWaiting.contains(method->name.text) || is_module(method->receiver);
    }
    if (!call) return false;
    const Symbol* own = names_.meaning(call->callee->span);
    return !own || function_may_wait(*own);
  }
  bool is_module(const ast::Expr* receiver) const {
    const Symbol* symbol = ast::as<ast::Name>(receiver) ? names_.meaning(receiver->span) : nullptr;
    return symbol && symbol->kind == SymbolKind::Module;
  }
  bool function_may_wait(const Symbol& symbol) {
    const auto* function = symbol.statement ? ast::as<ast::Function>(symbol.statement) : nullptr;
    if (!function) return true;
    if (!seen_.insert(function).second) return false;
    const bool waits = may_wait(*symbol.statement);
    seen_.erase(function);
    return waits;
  }

  // Does it compute with tensors?
  bool does_work(const ast::Stmt& s) const {
    bool has_tensor = false, computes = false;
    Visitor visitor;
    visitor.on_expr = [&](const ast::Expr& e) {
      const auto type = names_.input.types.find(&e);
      has_tensor = has_tensor || (type != names_.input.types.end() && type->second.kind == TypeKind::Tensor &&
                                  !type->second.shape.empty());
      computes = computes || ast::as<ast::Call>(e) || ast::as<ast::MethodCall>(e) || ast::as<ast::Binary>(e) ||
                 ast::as<ast::Comprehension>(e);
    };
    visitor.walk(s);
    return has_tensor && computes;
  }

  void report(const ast::Expr& end, const Symbol& start, const ast::Stmt& last) {
    const auto* let = ast::as<ast::Let>(last);
    const bool is_named = let && let->pattern->kind == ast::Pattern::Kind::Name;
    const std::string result = is_named ? let->pattern->name : "result";
    diagnostics_.warning("UnfinishedWork", end.span,
                         fmt::format("the clock is read before the work since `{}` is done", start.name),
                         is_named ? fmt::format("write `time(after = {})`", result) : "call `wait` before it",
                         {{start.span, "from here on"}});
  }

  const Names& names_;
  Diagnostics& diagnostics_;
  std::set<const ast::Function*> seen_;
};

} // namespace

void unfinished_timings(const Names& names, Diagnostics& diagnostics) {
  each_block(names.input.file,
             [&](const std::vector<ast::Stmt*>& statements) { Timings(names, diagnostics).block(statements); });
}

} // namespace tl::lint
