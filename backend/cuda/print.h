// Kernel IR as readable CUDA C++ that needs no header, in the bits of the CPU's kernels.
#pragma once
#include "backend/kernel/kernel_ir.h"

namespace tl {

// One translation unit: a prelude (element types, rounding, the orders of summation), then for each kernel the struct
// NAME_arguments and one __global__ function per phase, named NAME_phase0, NAME_phase1, … (a matrix product:
// NAME_phase0 does all of it, and where there is a NAME_phase1 it does the epilogue alone). Each takes the struct by
// value, all of whose members have 8 bytes:
//   tile_begin, tile_end        the tiles to run; a block takes tile_begin + blockIdx.x, + gridDim.x, …, or each thread
//                               one, where runs_by_thread; where takes_short_rows, there is also a function
//                               NAME_phaseK_rows, in which each thread takes one, for tiles that are rows of few
//                               elements; where longest_by_warp, NAME_phaseK_warps, in which each warp takes one
//   shared, local, local_bytes  workspaces; `local` is cut into one piece of local_bytes for each block,
//                               or each warp
//   errors                      one record for each of check_sites, zeros where nothing failed yet
//   failed                      a 32-bit word that is set with the first failure of a site
//   then, by argument of the kernel, its address; for one of rank 0 its address or null, and its bits
// Blocks have 256 threads. A matrix product has batch * ceil(m / kGemmRows) * ceil(n / kGemmColumns) tiles. Compile
// with -fmad=false. Where TL_EMULATED is defined the text expects from whoever defines it what needs a card
// (vm/gpu/emulator).
std::string to_cuda(const kir::Kernel& kernel);

std::string cuda_prelude();
std::string cuda_kernel(const kir::Kernel& kernel); // what comes after the prelude

constexpr int kCudaThreads = 256; // of a block
constexpr int kGemmRows = 64, kGemmColumns = 128;

// How a library may take part in a matrix product: it writes the sums to where `sums` says, and NAME_phase1, a thread
// for each element of C, makes C of them.
enum class Sums {
  Result,    // in C: the epilogue does no more than round to C's type, as storing there does; no NAME_phase1
  InPlace,   // in C, whose type is that of the sums
  Workspace, // in the shared workspace, in value_type(gemm.type)
};
Sums sums_of(const kir::Kernel& kernel);

// The sites at which a kernel may fail, in ascending order.
std::vector<int32_t> check_sites(const kir::Kernel& kernel);
// Whether threads side by side share a tile in this phase, or each thread takes one of its own.
bool runs_by_group(const kir::Kernel& kernel, size_t phase);
bool runs_by_thread(const kir::Kernel& kernel, size_t phase);
bool takes_short_rows(const kir::Kernel& kernel, size_t phase);
constexpr const char* kShortRows = "_rows";
// The longest row for which warps pay, where there are many rows; 0: there is no function by warps. Those of several
// passes are to stay in the cache, with as many at once as warps.
int64_t longest_by_warp(const kir::Kernel& kernel, size_t phase);
constexpr const char* kWarps = "_warps";

} // namespace tl
