// Tables whose columns the file tells: `read_table("trips.csv")` where no type is asked for.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// The value of the call `read_table(path)` under a struct that is made for it: a field for each column, and one size.
// Null: why not has been reported.
ExprPtr table_as_found(Context& cx, const std::string& path, const ast::Expr& path_expr, Span span);

} // namespace tl::checker
