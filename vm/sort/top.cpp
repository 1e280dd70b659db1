#include "vm/sort/sorter.h"

namespace tl {

const CompiledKernel& sort_top_kernel(DType type) { return sorting::kernel_of<SortOp::Top>(type); }

} // namespace tl
