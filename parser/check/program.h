// The program as a whole: declarations, top-level statements, main, tests, and every instance that these need.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

void begin_session(Context& cx, const ast::File& prelude);
void declare(Context& cx, const std::vector<ast::Stmt*>& statements, bool is_prelude);
void check_top_level(Context& cx, const ast::File& file);
bool has_known_types(Context& cx, const FunctionInfo& entry, const std::string& why);
InstanceId entry_instance(Context& cx, FunctionInfo& entry, const Bindings& bindings);
void check_uncalled(Context& cx);
void check_waiting(Context& cx);
void flush_reports(Context& cx, Diagnostics& diagnostics);
void check_instance(Context& cx, InstanceId id);

} // namespace tl::checker
