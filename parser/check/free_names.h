// The names that a function mentions.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// All names that the body of a function mentions.
std::set<std::string> names_in(const ast::Body& body);

} // namespace tl::checker
