// Kernel IR as readable CUDA C++ that needs no header, in the bits of the CPU's kernels.
#pragma once
#include "ir/kernel_ir.h"

namespace tl {

// One translation unit: a prelude (element types, rounding, the two orders of summation), then one __global__ function
// per phase, named NAME_phase0, NAME_phase1, … (a matrix product: NAME_phase0 alone). Their parameters are
//   (void* const* args, long long tile_begin, long long tile_end, void* shared, void* local, long long local_bytes,
//   tl_errors* errors)
// as the CPU's PhaseFunction has them, with `local` cut into one piece of local_bytes for each block. A block takes the
// tiles tile_begin + blockIdx.x, + gridDim.x, …; Vector loops run over its threads.
// Blocks have 256 threads. A matrix product has one tile for each 16 by 16 elements: batch * ceil(m / 16) * ceil(n /
// 16). Compile with -fmad=false.
std::string to_cuda(const kir::Kernel& kernel);

} // namespace tl
