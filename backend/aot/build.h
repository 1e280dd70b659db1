// Compiled programs to files that run by themselves: kernels as machine code for several processors, programs as data,
// and the run-time part that tl carries, linked by lld in this process.
#pragma once
#include "abi/program/program_file.h"
#include "backend/aot/library.h"
#include "backend/aot/link.h"
#include "backend/cache/disk_cache.h"
#include "backend/kernel/kernel_ir.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tl {

// A program with the kernels that its Launch instructions number.
struct BuildProgram {
  Program program;
  std::vector<kir::Kernel> kernels;
};

// What a library's Python package can call, for the same functions.
struct PackagePrograms {
  std::vector<BuildProgram> programs;
  std::vector<Declaration> declarations;
  std::vector<ProgramCall> calls;
};

struct BuildOptions {
  std::string output;               // path; replaced in one step, and only where all went well
  std::string target = "baseline";  // see compile_objects
  bool symbols = false;             // keep symbols and debug information
  std::string wheel_version;        // of a library: a wheel of its Python package beside it; empty: none
  std::shared_ptr<DiskCache> cache; // of kernels' object files; may be null
};

// The first of `sources` is the program's own file. All throw BuildError, and IoError where the output cannot be
// written.
void build_executable(BuildProgram program, std::vector<ProgramSource> sources, const BuildOptions& options);

// One relocatable object file with the program and its kernels, without the run-time part.
void build_object(BuildProgram program, std::vector<ProgramSource> sources, const BuildOptions& options);

// OUTPUT.so, OUTPUT.a and OUTPUT.h, and with `package` the folder OUTPUT, or a wheel: `programs` are the functions of
// the library, in their order.
void build_library(const Library& library, std::vector<BuildProgram> programs, std::optional<PackagePrograms> package,
                   std::vector<ProgramSource> sources, const BuildOptions& options);

} // namespace tl
