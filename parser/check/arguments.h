// Arguments of calls.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

void check_arg(Context& cx, Arg& arg, const Type* expected = nullptr);
// its value
ExprPtr take(Context& cx, Arg& arg, const Type* expected = nullptr);
void evaluate_as_written(Context& cx, const std::vector<std::string>& names, std::vector<Arg>& args,
                         typed::Block& before);
// Reports that none of these functions has a parameter of the argument's name.
void no_parameter(Context& cx, const std::string& name, const Arg& arg, const std::vector<FunctionInfo*>& functions);
std::vector<Arg*> arrange(Context& cx, FunctionInfo& info, std::vector<Arg>& args, Span span, bool& ok);
bool infer_type(Context& cx, const ast::TypeExpr* type, const Type& actual, FunctionInfo& info, Bindings& bindings,
                const Arg& arg, const std::string& param);
std::optional<Type> list_type(Context& cx, const ast::TypeExpr* written, Scope* scope);
// What the defaults of one call's parameters see of the parameters before them.
struct DefaultNames {
  Scope* scope = nullptr;
  size_t params = 0; // that are in it
};
ExprPtr default_value(Context& cx, FunctionInfo& info, size_t param, std::vector<Arg*>& args, const Bindings& bindings,
                      DefaultNames& known, typed::Block& before);

} // namespace tl::checker
