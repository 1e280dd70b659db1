// What is documented, for `tl doc` on the terminal, and for `:help`.
#pragma once
#include "compiler/session.h"
#include "parser/doc/library.h"
#include <optional>
#include <string>

namespace tl::cli {

// Signatures, text and examples, as lines for a terminal.
std::string documentation_of(const Documented& entry);
// Of a function, struct or module of the library by its name, or with an empty name of all; what tl has in place of a
// name of another library. Empty: there is none of this name.
std::string documentation_of(const std::string& name);
// The same of what pieces have declared and of the library, or the type of a value that is bound. Nothing: there is no
// such name.
std::optional<std::string> help_on(compiler::Session& session, const std::string& name);

} // namespace tl::cli
