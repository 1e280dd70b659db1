// Stands in for vm/sort in executables of programs that do not sort.
#include "vm/sort/sort.h"
#include <cstdlib>

namespace tl {

const CompiledKernel& sort_kernel(SortOp, DType) { std::abort(); }

} // namespace tl
