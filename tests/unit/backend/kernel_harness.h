// Runs one Kernel node of a graph in text form through kernel lowering and the Kernel IR evaluator, and compares it to
// the bit with the graph's interpreter. The text holds a function without parameters but the token; what comes before
// the kernel makes its operands.
#pragma once
#include "backend/kernel/lower.h"
#include "ir/graph/text.h"
#include "ir/graph/verify.h"
#include "ir/interpret/interpret.h"
#include "kir_eval.h"

namespace tl::test {

struct Lowered {
  ir::Module module;
  kir::Kernel kernel;
  std::string text; // of the kernel
};

Lowered lower_text(const std::string& text, Target target = Target::Cpu);

// `initial`: for each result the operand whose elements it starts from, or -1.
// Checks bits for two orders of tiles; returns the failure that the kernel recorded.
std::optional<KirFailure> compare(const Lowered& lowered, const std::vector<int>& initial = {});

int count(const std::string& text, const std::string& part); // occurrences

} // namespace tl::test
