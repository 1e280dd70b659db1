// Stands in for vm/linalg in executables of programs that use none of it, so that no LAPACK is linked.
#include "vm/linalg/linalg.h"
#include <cstdlib>

namespace tl {

const CompiledKernel& linalg_kernel(LinalgOp, DType) { std::abort(); }
std::optional<int64_t> linalg_workspace(LinalgOp, DType, const LinalgSizes&) { std::abort(); }
std::string linalg_too_large(LinalgOp, const LinalgSizes&) { std::abort(); }

} // namespace tl
