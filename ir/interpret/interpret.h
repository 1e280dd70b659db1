// The reference interpreter: what every op means, written for obviousness. It runs a graph as lowered or after any
// pass, and is the oracle for kernels and the VM: its results are the bits that they must give.
#pragma once
#include "abi/outcome.h"
#include "ir/graph/graph.h"
#include <atomic>

namespace tl::ir {

// Runs module.entry. One argument per module.interface.params (nothing: use the default). What the program prints goes
// to `out` at once, what `debug` prints to `err` (stderr if empty). Failures of the program are in the outcome; only
// faults of tl itself are thrown. It stops, as an interrupted run of the VM does, when `interrupt` becomes true.
Outcome interpret(const Module& module, const std::vector<Argument>& arguments, const OutputSink& out,
                  const OutputSink& err = {}, const std::atomic<bool>* interrupt = nullptr, int cpu_devices = 1);

} // namespace tl::ir
