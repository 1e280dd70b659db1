// The kernels of a program as object files, for the processors that an executable shall run on.
#pragma once
#include "abi/program/program_file.h"
#include "backend/cache/disk_cache.h"
#include "backend/cpu/codegen.h"
#include "backend/kernel/kernel_ir.h"
#include <string>
#include <vector>

namespace tl {

struct KernelObjects {
  std::vector<std::string> objects;    // ELF files
  std::vector<std::string> functions;  // the table of functions that variants number
  std::vector<KernelVariant> variants; // see ProgramFile
};

// The (first) processor of a target. Throws cpu::UnknownProcessor for one that this build of tl has not.
cpu::CodegenOptions processor_of(const std::string& target);

// target: "baseline" (x86-64-v3, and AVX-512 beside it), "native" (this machine), "aarch64" (files alone: only in
// builds with TL_AARCH64), or a processor's name as LLVM knows it. Throws std::runtime_error for one that it does not
// know or that is older than x86-64-v3. `cache`: object files come from there if they are there, and go there; may be
// null. `lines`: by LocId, or null. With them the code has debug information, its functions are called after their
// kernels, kernels share code only where their lines are the same too, and the cache is left alone.
KernelObjects compile_objects(const std::vector<kir::Kernel>& kernels, const std::string& target, DiskCache* cache,
                              const std::vector<Location>* lines = nullptr);

} // namespace tl
