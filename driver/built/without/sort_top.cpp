// Stands in for vm/sort/top.cpp in executables of programs that do not use it.
#include "vm/sort/sort.h"
#include <cstdlib>

namespace tl {

const CompiledKernel& sort_top_kernel(DType) { std::abort(); }

} // namespace tl
