// What a program declares, for those who call its functions by name.
#pragma once
#include "abi/declaration.h"
#include "compiler/compile.h"
#include <optional>
#include <vector>

namespace tl::compiler {

Declaration declaration_of(const SourceManager& sources, const ast::Function& function);
Declaration declaration_of(const SourceManager& sources, const ast::Struct& record);
// Of an expression that is a lambda; nothing of any other text.
std::optional<Declaration> declaration_of_lambda(const std::string& expression);
// Those of the modules that a program imports, as it names them, and of the prelude.
std::vector<Declaration> imported_structs(const Frontend& frontend);

} // namespace tl::compiler
