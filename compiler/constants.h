// The consts of a program that are computed when it is compiled: by the compiler's own kernels and VM, on the CPU.
#pragma once
#include "abi/outcome.h"
#include "compiler/run_flags.h"
#include "ir/lower/constants.h"
#include "lang/diagnostics.h"
#include <atomic>
#include <optional>

namespace tl::compiler {

// As the program around it is compiled, but on the CPU and not looked at.
RunFlags flags_of_constants(const RunFlags& flags);

struct ComputedConstant {
  Outcome outcome;                 // that of an exit without an error: it was ended
  std::vector<Location> locations; // that its error speaks of
};
// Compiles and runs a module; what it prints goes nowhere. It is ended after flags.const_seconds, or when `interrupt`
// becomes true.
ComputedConstant compute(ir::Module module, const RunFlags& flags, const std::vector<Argument>& arguments,
                         const std::atomic<bool>* interrupt = nullptr);

// Nothing after reporting why one of them has no value: where its computing fails, or takes longer than
// flags.const_seconds. It stops when `interrupt` becomes true.
std::optional<ir::Constants> compute_constants(const typed::Program& program, const SourceManager& sources, FileId main,
                                               Diagnostics& diagnostics, const RunFlags& flags,
                                               const std::atomic<bool>* interrupt = nullptr);

} // namespace tl::compiler
