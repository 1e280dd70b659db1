#include "vm/sort/sorter.h"

namespace tl {

const CompiledKernel& sort_order_kernel(DType type) { return sorting::kernel_of<SortOp::Order>(type); }

} // namespace tl
