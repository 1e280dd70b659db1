// Kernels for cards, beside those of a provider for CPUs.
#pragma once
#include "abi/gpu_kernel.h"
#include "backend/cache/disk_cache.h"
#include "backend/cuda/nvrtc.h"
#include "backend/kernel/kernel_ir.h"
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tl {

struct GpuCompileOptions {
  std::string architecture;         // "sm_90"
  std::shared_ptr<DiskCache> cache; // of machine code, by text, architecture and compiler; null: none
  int threads = 1;                  // that compile at a time
  bool library = false;             // cuBLASLt, which is there, computes matrix products,
  bool tf32 = false;                // those of f32 in TF32
};

// Of the machine code of a text, in the disk cache: everything that it depends on.
CacheKey gpu_cache_key(std::string_view text, std::string_view architecture, const NvrtcIdentity& nvrtc);

// Kernel `id` is kernels[id], for cards from NVRTC, in batches: compiling one takes as long as compiling ten. The first
// that is asked for starts all. Thread-safe.
std::unique_ptr<KernelProvider> with_gpu_kernels(std::unique_ptr<KernelProvider> cpu, std::vector<kir::Kernel> kernels,
                                                 const GpuCompileOptions& options);

} // namespace tl
