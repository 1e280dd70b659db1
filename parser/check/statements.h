// Statements and blocks.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// no two of one name
void distinct(Context& cx, const std::vector<const ast::Ident*>& names, const std::string& what);
void distinct_params(Context& cx, const std::vector<ast::TypeParam>& types, const std::vector<ast::Param>& params);
typed::Block check_block(Context& cx, const ast::Block& block, bool want, const Type* expected = nullptr);
void check_statements(Context& cx, const std::vector<ast::Stmt*>& list, typed::Block& into, bool want,
                      const Type* expected);
Type behind_jump(Context& cx, Type type, const std::function<bool(AtomId)>& is_untold);
void check_statement(Context& cx, const ast::Stmt& s, typed::Block& into);
ExprPtr annotated_value(Context& cx, const ast::TypeExpr* type, const ast::Expr* value_expr, Scope* outer,
                        const std::string& what, std::vector<std::pair<AtomId, Size>>& defs);
typed::Pattern bind_pattern(Context& cx, const ast::Pattern& p, const Type& type, bool is_mutable,
                            const typed::Expr* value);
VarId bind_name(Context& cx, const std::string& key, const std::string& name, const Type& type, bool is_mutable,
                const typed::Expr* value, Span span);
void hoist_declarations(Context& cx, const std::vector<ast::Stmt*>& list);

} // namespace tl::checker
