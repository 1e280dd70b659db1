// Structs: their types, construction, fields and arithmetic.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

void unknown_field(Context& cx, const Type& type, const ast::Ident& name);
ExprPtr struct_op(Context& cx, ast::BinaryOp op, ExprPtr a, ExprPtr b, Span span, Span op_span);
ExprPtr construct(Context& cx, StructInfo& info, std::vector<Arg> args, Span span, const Type* expected);
ExprPtr with_call(Context& cx, const ast::Expr& e, const ast::MethodCall& c);
ExprPtr get_field(ExprPtr object, uint32_t index, Span span);
ExprPtr unary_struct(Context& cx, ast::UnaryOp op, ExprPtr operand, Span span);
ExprPtr part_of(const typed::Expr& held, const std::vector<uint32_t>& path, Span span);
// axes that fields declare as `_` take the sizes of `have`
void free_sizes(const Context& cx, Type& target, const Type& have);

} // namespace tl::checker
