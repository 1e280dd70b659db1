// The programs of a library's Python package: each does a call that the package can make.
#pragma once
#include "backend/aot/build.h"
#include "compiler/compile.h"

namespace tl::cli {

using namespace compiler;

// One function of a file as a program; nothing where it is rejected, which is shown.
std::optional<BuildProgram> exported_program(Frontend& frontend, const std::string& function, const RunFlags& flags);

// Of a library of these functions. Nothing where one is rejected, which is shown. `whole`: the file, without errors.
std::optional<PackagePrograms> package_of(const Frontend& whole, const std::vector<const ast::Function*>& exported,
                                          const RunFlags& flags);

} // namespace tl::cli
