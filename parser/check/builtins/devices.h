// Devices, and what moves values between them.
#pragma once
#include "parser/check/builtins/rules.h"
#include "parser/check/context.h"

namespace tl::checker {

void on_device(Context& cx, const ast::On& s, Span span, typed::Block& into);
ExprPtr device_rule(Context& cx, Rule& r);
// cpu(number)
ExprPtr device_number(Context& cx, Builtin kind, ExprPtr number, Span span);
// x.device
ExprPtr device_of(Context& cx, ExprPtr x, Span span);
ExprPtr prelude_call(Context& cx, const std::string& name, std::vector<Arg> args, Span span);
ExprPtr data_parallel(Context& cx, std::vector<Arg> args, Span span);
inline bool is_device(const Type& type) { return type.is_scalar() && !type.open && type.dtype == DType::Device; }

} // namespace tl::checker
