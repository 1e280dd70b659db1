// The graph as text, and back. What is printed parses to an equal module (ids apart), and printing that gives the same
// text.
//
// A value is printed as %name where the user's name is unique in its function, as %name.7 where it is not, and as %7
// otherwise; numbers count definitions in order of appearance. A node is one line,
//   %results: types = op operands {attributes} regions @location
// and a region is `(%params: types) {`, its nodes, `yield %values`, `}`.
#pragma once
#include "ir/graph/graph.h"
#include <string>
#include <string_view>

namespace tl::ir {

std::string to_text(const Module& module);
std::string to_text(const Module& module, const Function& function);
std::string to_text(const Type& type, const Function& function); // sizes by their values' names, for messages

// Throws std::runtime_error with the line of the first mistake. The result is structurally sound (ids in range);
// whether it is a meaningful graph is for verify to say.
Module parse_text(std::string_view text);

} // namespace tl::ir
