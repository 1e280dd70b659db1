// What every entry into LLVM holds.
#pragma once

namespace tl {

// While one lives, this thread is in LLVM, whose code can neither go on without memory nor be left by an exception (it
// is compiled without them: an unwinding std::bad_alloc runs into half-built objects). An allocation that fails on this
// thread ends the process with a message and exit code 3, as it ends elsewhere for want of memory; a fault that LLVM
// reports ends it with 70. Other threads' allocations throw as ever. They nest.
class LlvmGuard {
public:
  LlvmGuard();
  ~LlvmGuard();
  LlvmGuard(const LlvmGuard&) = delete;
  LlvmGuard& operator=(const LlvmGuard&) = delete;
};

} // namespace tl
