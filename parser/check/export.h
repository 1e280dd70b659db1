// What a library gives to its callers.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

void check_export(Context& cx, const std::string& name);
void check_export_top_level(Context& cx, const std::string& name);

} // namespace tl::checker
