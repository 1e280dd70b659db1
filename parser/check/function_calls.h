// A call of a function that is written in tl: its sizes and its result.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

ExprPtr call_function(Context& cx, FunctionInfo& info, std::vector<Arg> args, Span span, const Type* expected);
ExprPtr finish_call(Context& cx, FunctionInfo& info, const Signature& signature, std::vector<ExprPtr> args, Span span,
                    InstanceId instance);

} // namespace tl::checker
