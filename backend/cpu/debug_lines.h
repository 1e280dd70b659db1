// DWARF for a kernel's code: which line of the program an instruction comes from, and through which calls. Internal to
// backend/cpu; includes LLVM's headers.
//
// A kernel's functions are called as the kernel; functions of the program whose code is in it appear as inlined ones.
// The standard library's own lines are left out: its code is at the line that calls it.
#pragma once
#include "backend/kernel/kernel_ir.h"
#include <llvm/IR/DIBuilder.h>
#include <map>
#include <vector>

namespace tl::cpu {

class DebugLines {
public:
  // `locations` by LocId. Files whose names are relative are so to the working directory.
  DebugLines(llvm::Module& module, const kir::Kernel& kernel, const std::vector<Location>& locations);

  // Says that `function` is code of the kernel; once for each, before its places are asked for.
  void describe(llvm::Function& function);
  llvm::DebugLoc at(LocId loc, const llvm::Function& function);
  void finish(); // when all functions are whole

private:
  LocId caller(const Location& place) const; // that is shown
  llvm::DIFile* file(const std::string& name);
  llvm::DISubprogram* subprogram(const std::string& name, const std::string& file, unsigned line);
  llvm::DILocation* location(LocId loc, llvm::DISubprogram* kernel, bool is_call);

  llvm::DIBuilder builder_;
  llvm::LLVMContext& context_;
  const kir::Kernel& kernel_;
  const std::vector<Location>& locations_;
  std::string folder_;                                                          // the working directory
  Location start_;                                                              // where the kernel is
  std::map<std::pair<std::string, std::string>, llvm::DISubprogram*> inlined_;  // by name and file
  std::map<std::pair<uint32_t, llvm::DISubprogram*>, llvm::DILocation*> calls_; // by place of the call
};

} // namespace tl::cpu
