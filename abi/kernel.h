// What a compiled kernel looks like to the engine: function pointers, formulas in the sizes, and the error record it
// fills. Shared by the JIT, built executables and the VM; knows none of them.
#pragma once
#include "abi/dtype.h"
#include "abi/sort_op.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tl {

// Kernel arguments are addresses: of a tensor's first element (dense, row-major), or of an 8-byte slot (a scalar or a
// size, i64). The order is the kernel's parameter list: inputs, scalars and sizes as they come, then outputs.
using KernelArgs = void* const*;

// First failure of a kernel. A kernel never leaves early: it records the failing site and goes on with a total value.
// record() keeps the least (element, site), so that the error does not depend on the order of tiles; it is thread-safe.
struct KernelErrors {
  void (*record)(KernelErrors* self, int32_t site, int64_t element, int64_t a, int64_t b);
};

struct KernelWorkspace {
  std::byte* shared; // one for all tiles and phases of a launch, 64-byte aligned, not cleared
  std::byte* local;  // one per worker that runs a tile, 64-byte aligned, not cleared
};

using PhaseFunction = void (*)(KernelArgs args, int64_t tile_begin, int64_t tile_end, const KernelWorkspace* workspace,
                               KernelErrors* errors);

// An integer formula over a kernel's arguments (its scalars and sizes), in postfix order.
struct SizeFormula {
  enum class Op : uint8_t { Const, Arg, Add, Sub, Mul, CeilDiv, FloorDiv, Min, Max };
  struct Step {
    Op op;
    int64_t value = 0; // Const: the number; Arg: index of the kernel argument (an i64 slot)
  };
  std::vector<Step> steps; // empty: 0

  static SizeFormula constant(int64_t value) { return {{{Op::Const, value}}}; }
  int64_t evaluate(KernelArgs args) const;
};

struct KernelPhase {
  PhaseFunction function = nullptr;
  SizeFormula tiles; // the phase runs over tiles [0, tiles); any split in any order gives the same bits
  SizeFormula grain; // the least number of tiles worth a task of their own (about 100 us of work)
};

struct CompiledKernel {
  std::string name;
  std::vector<KernelPhase> phases; // one after the other, a barrier between
  SizeFormula shared_bytes, local_bytes;
};

struct GpuKernel; // abi/gpu_kernel.h

// Where the VM gets kernels from: the JIT, or the static table of a built executable. Thread-safe.
class KernelProvider {
public:
  virtual ~KernelProvider() = default;
  // Compiles the kernel if need be. The result lives as long as the provider.
  virtual const CompiledKernel& kernel(uint32_t id) = 0;
  // The same for cards; null: it only runs on CPUs. Throws RuntimeError where it does not compile.
  virtual const GpuKernel* gpu_kernel(uint32_t) { return nullptr; }
  // The same of a sort, whose arguments are those of the CPU's (vm/sort/sort.h).
  virtual const GpuKernel* gpu_sort(SortOp, DType) { return nullptr; }
};

} // namespace tl
