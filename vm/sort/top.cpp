#include "vm/sort/bools.h"

namespace tl {

const CompiledKernel& sort_top_kernel(DType type) {
  using sorting::TopOfBools;
  if (type != DType::Bool) return sorting::kernel_of<SortOp::Top>(type);
  static const CompiledKernel kernel =
      sorting::make_bools_kernel(sorting::bool_phase<&TopOfBools::count>, sorting::bool_phase<&TopOfBools::place>);
  return kernel;
}

} // namespace tl
