// What tl puts into executables and libraries beside their machine code, and the kernels that this processor can run.
#pragma once
#include "abi/kernel.h"
#include "abi/program/program_file.h"
#include "lang/source.h"
#include <vector>

namespace tl::driver {

class Built : public KernelProvider {
public:
  // Throws UsageError where the processor lacks what the kernels need.
  Built();
  const CompiledKernel& kernel(uint32_t id) override { return kernels_.at(id); }

  std::vector<Program> programs;
  std::vector<Declaration> declarations; // of a Python package
  std::vector<ProgramCall> calls;
  SourceManager sources;
  FileId main; // the program's own file

private:
  std::vector<CompiledKernel> kernels_;
};

} // namespace tl::driver
