// Names of other libraries and words of other languages, and what tl writes for them (foreign_names.def).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tl {

// What tl writes for a name that NumPy, PyTorch, Python or Julia has. Nothing of a name that the table lacks.
std::optional<std::string> foreign_hint(std::string_view name);

// What stands before a dot in other libraries and means one of them: `np`, `torch`, `F`.
bool is_foreign_module(std::string_view name);

// The module of tl's library that declares a function or struct of this name, perhaps "prelude". Empty if none does.
std::string module_with(std::string_view name);

// What to write for a member of a foreign module: tl's own function of that name, or what the table says of it.
std::optional<std::string> member_hint(std::string_view member);

// Which of these names of parameters tl uses where another library says `given`; empty if none. `dim` is `axis`.
std::string own_parameter(std::string_view given, const std::vector<std::string>& names);

// What tl writes where a call of its own function has a parameter, or a form, that another library's of that name has:
// `unique(x, axis = 0)`. Without a parameter: of arguments that the function does not take. Empty if nothing is known.
std::string foreign_form(std::string_view function, std::string_view parameter = {});

} // namespace tl
