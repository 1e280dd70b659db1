// What a program declares, for those who call its functions by name.
#pragma once
#include "abi/declaration.h"
#include "compiler/compile.h"
#include <vector>

namespace tl::compiler {

Declaration declaration_of(const SourceManager& sources, const ast::Function& function);
Declaration declaration_of(const SourceManager& sources, const ast::Struct& record);
// Those of the modules that a program imports, as it names them, and of the prelude.
std::vector<Declaration> imported_structs(const Frontend& frontend);

} // namespace tl::compiler
