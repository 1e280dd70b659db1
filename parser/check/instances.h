// Instances of functions.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

InstanceId instance_for(Context& cx, FunctionInfo& info, const Bindings& bindings, Span call);
// Solves sizes that parameters' types name for those of the arguments; what is found goes to `known`.
void solve_sizes(Context& cx, const std::vector<const Type*>& params, const std::vector<const Type*>& args,
                 const std::set<AtomId>& unknown, const std::string& of, Span span, std::map<AtomId, Size>& known,
                 SizeChecks& checks);
// Reports sizes of a signature that no argument can tell.
void check_solvable(Context& cx, const Signature& signature);
void exact_sizes(Context& cx, FunctionInfo& info, Bindings& bindings, const std::vector<ExprPtr>& values, Span span);
bool is_called_deeply(const Context& cx, const FunctionInfo& info);
Type substitute(Context& cx, const Type& type, const std::map<AtomId, Size>& by);

} // namespace tl::checker
