// Tables whose columns the file tells: `read_table("trips.csv")` where no type is asked for.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// The value of the call `read_table(path)` under a struct that is made for it: a field for each column, and one size.
// Null: why not has been reported.
ExprPtr table_as_found(Context& cx, const std::string& path, const ast::Expr& path_expr, Span span);

// A table, a struct of columns of one length, or a column of it that is a struct of the library, as text by the
// library's `table.shown`. Null: `value`, which stays as it is, is neither, or the program does not import the module.
ExprPtr table_as_text(Context& cx, ExprPtr& value, Span span);

bool is_text_column(Context& cx, const Type& type); // table.Texts
bool is_time_column(Context& cx, const Type& type); // table.Times

// What to write where a table, or a column of texts or times, stands for a tensor; empty for other types.
std::string column_hint(const Context& cx, const Type& type, Span span);
// The same for arguments of a function of the library that takes columns: `table.sort_by(t, "amount")`.
std::string column_hint(const Context& cx, const std::vector<Arg>& args);
// For a field that tables or their columns have elsewhere: `t.shape`, `t.when.year`. Empty if nothing is known.
std::string column_field_hint(const Type& type, std::string_view field);
// `t["amount"]`: is a field read by a text? It has been reported, then.
bool is_field_by_text(Context& cx, const Type& type, const ast::Expr* index, const std::string& base);

// What the library alone calls: each_column(t, f) is list(f("a", "f64", t.a), …) for the columns of the table t, by
// name and type ("text" and "time" are those of the module's structs).
ExprPtr each_column(Context& cx, const ast::Expr& e, const ast::Call& call, const Type* expected);
// The same: pair_columns(t, u, f) is the table of f(t.a, u.a), … for two tables of one struct.
ExprPtr pair_columns(Context& cx, const ast::Expr& e, const ast::Call& call);

} // namespace tl::checker
