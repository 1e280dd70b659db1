// Kernel IR to machine code for this processor, by LLVM. No LLVM type appears here.
//
// make_jit gives the VM its kernels; to_llvm and to_asm show what became of one (tl dump --stage llvm, asm).
#pragma once
#include "backend/cache/disk_cache.h"
#include "backend/kernel/kernel_ir.h"
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tl {

struct JitOptions {
  // Processor as LLVM names it and its features ("+avx2,+fma,-avx512f"); empty: the one that TL_CPU names, else the
  // machine this runs on. Whatever is given, x86-64-v3 is the floor.
  std::string cpu, features;
  int level = 2;         // as in CodegenOptions
  int ahead_threads = 0; // compile in the background with so many threads as soon as the provider exists; 0: on demand
  bool check_input = true; // run kir::verify on every kernel first; what it finds is an internal error

  std::shared_ptr<DiskCache> cache; // machine code comes from here if it is there, and goes there; null: none

  // Called for every kernel compiled (with one of them set, nothing is taken from the cache), from the thread that
  // compiles it, with the optimised LLVM IR or the assembler text.
  std::function<void(const std::string& name, const std::string& text)> on_llvm, on_asm;
};

// Of a kernel's machine code, in the disk cache: everything that it depends on.
struct CpuCodeOrigin {
  std::string_view build; // of tl itself: build_id()
  std::string_view cpu, features;
  int level = 2;
  std::string_view kernel; // its text, under one name for all (kernel_key)
};
CacheKey cpu_cache_key(const CpuCodeOrigin& origin);

// Kernel `id` of the provider is kernels[id]. Each is compiled once, when first asked for or ahead of that in the
// background; kernels equal but for their names share their code. Thread-safe. Throws std::logic_error where a kernel
// is malformed or LLVM refuses it.
std::unique_ptr<KernelProvider> make_jit(std::vector<kir::Kernel> kernels, const JitOptions& options = {});

// The workspaces of a compiled kernel, without compiling it: formulas in its arguments (CompiledKernel::shared_bytes
// and local_bytes of what make_jit gives with the same options).
struct WorkspaceFormulas {
  SizeFormula shared_bytes, local_bytes;
};
std::vector<WorkspaceFormulas> workspaces_of(const std::vector<kir::Kernel>& kernels, const JitOptions& options = {});

// Optimised LLVM IR and assembler text of one kernel. Its phases are functions NAME_0, NAME_1, …
std::string to_llvm(const kir::Kernel& kernel, const JitOptions& options = {});
std::string to_asm(const kir::Kernel& kernel, const JitOptions& options = {});

// The processor and features that empty options stand for, as one line: part of every cache key.
std::string host_description();

} // namespace tl
