// Names before a dot that mean nothing here: `np` in `np.cov(x)`.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// The name that `e` begins with (`np` in `np.linalg`), if it means nothing; else null.
const ast::Name* unknown_root(const Context& cx, const ast::Expr* e);

// Reports it; the hint is about the member, where that of another library is known.
void unknown_module(Context& cx, const std::string& name, const std::string& member, Span span);

} // namespace tl::checker
