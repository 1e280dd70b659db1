// Stands in for vm/sort/values.cpp in executables of programs that do not use it.
#include "vm/sort/sort.h"
#include <cstdlib>

namespace tl {

const CompiledKernel& sort_values_kernel(DType) { std::abort(); }

} // namespace tl
