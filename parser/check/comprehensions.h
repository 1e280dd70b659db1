// Comprehensions over indices.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// While the clauses and the element of a comprehension are checked: names and facts of its own, and no loop around it
// that it could leave.
class InsideComprehension {
public:
  explicit InsideComprehension(Context& cx)
      : scope_(cx.names.scope), facts_(cx.function->facts), loops_(cx.function->loops, {}),
        reachable_(cx.function->reachable), depth_(cx.in_comprehension, cx.in_comprehension + 1),
        variables_(cx.comprehension_variables, static_cast<uint32_t>(cx.program.variables.size())) {}

  const SizeFacts& facts_outside() const { return facts_.saved(); }

private:
  SaveAndRestore<Scope*> scope_;
  SaveAndRestore<SizeFacts> facts_;
  SaveAndRestore<std::vector<Loop>> loops_;
  SaveAndRestore<bool> reachable_;
  SaveAndRestore<int> depth_;
  SaveAndRestore<uint32_t> variables_;
};

ExprPtr check_comprehension(Context& cx, const ast::Expr& e, const ast::Comprehension& c, const std::string& reduction,
                            Span span, const Type* expected);

} // namespace tl::checker
