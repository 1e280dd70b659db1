// Programs from source text, with the whole library, as graphs that both engines run.
#pragma once
#include "ir/graph/graph.h"
#include <optional>
#include <string>

namespace tl::generated {

// The text of a module of the library; nothing where there is none of that name.
std::optional<std::string> library_text(const std::string& module);

// Checked, lowered, transforms expanded. Nothing where it is refused, and then what was said.
std::optional<ir::Module> module_of_source(const std::string& source, std::string& said);

} // namespace tl::generated
