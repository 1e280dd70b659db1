// Complex numbers: what makes them of real ones and takes them apart, their transforms, and what does not take them.
#pragma once
#include "parser/check/builtins/rules.h"

namespace tl::checker {

ExprPtr complex_rule(Context& cx, Rule& r);
ExprPtr fourier_rule(Context& cx, Rule& r);
bool takes_complex(Builtin builtin);
bool holds_complex(const Type& type); // is it, or a part of it, complex?
// What is wrong where a built-in function of real numbers got complex ones, when all types are known; empty: nothing.
std::string refuses_complex(const typed::Expr& e);

} // namespace tl::checker
