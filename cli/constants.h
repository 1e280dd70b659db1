// The consts of a program that are computed when it is compiled: by the compiler's own kernels and VM, on the CPU.
#pragma once
#include "ir/lower/constants.h"
#include "lang/diagnostics.h"
#include "options.h"
#include <atomic>
#include <optional>

namespace tl::cli {

// Nothing after reporting why one of them has no value: where its computing fails, or takes longer than
// flags.const_seconds. It stops when `interrupt` becomes true.
std::optional<ir::Constants> compute_constants(const typed::Program& program, const SourceManager& sources, FileId main,
                                               Diagnostics& diagnostics, const RunFlags& flags,
                                               const std::atomic<bool>* interrupt = nullptr);

} // namespace tl::cli
