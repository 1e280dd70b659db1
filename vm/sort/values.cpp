#include "vm/sort/sorter.h"

namespace tl {

const CompiledKernel& sort_values_kernel(DType type) { return sorting::kernel_of<SortOp::Values>(type); }

} // namespace tl
