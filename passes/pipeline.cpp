#include "passes/pipeline.h"
#include "ir/graph/verify.h"
#include "passes/derive/derive.h"
#include "passes/devices.h"
#include "passes/passes.h"
#include <chrono>
#include <fmt/format.h>
#include <stdexcept>

namespace tl {
namespace {

constexpr PassInfo kPasses[] = {
    {"inline", "function bodies in place of their calls", "a graph as lowered",
     "no calls but recursive ones; only functions that the entry reaches", false, inline_calls},
    {"derive", "grad, vjp, jvp and vmap as ordinary graph", "inline", "no transforms of functions", true, derive},
    {"devices", "Guards where tensors of two devices may meet", "no transforms of functions",
     "operands that are not poisoned are on one device", true, check_devices},
    {"claims", "Asserts of the sizes that effects could show", "no transforms of functions",
     "no effect comes before a failed check of sizes that stands before it", true, claims},
    {"vectors", "decompositions without the vectors that nothing needs", "no transforms of functions",
     "values alone, where only they are needed", true, leave_vectors},
    {"fold", "arithmetic on constants, evaluated", "", "no scalar operation on constants alone", false, fold},
    {"simplify", "x * 1 -> x and similar rules; views in one form", "", "no rule applies", false, simplify},
    {"cse", "equal pure nodes, merged", "", "equal sizes are one value", false, cse},
    {"sizes", "sizes that were checked to be equal, as one", "cse", "one of them is not used behind the check", false,
     sizes},
    {"dce", "unused nodes, removed", "", "only effects, Guards and what they or results need", false, dce},
    {"hoist", "loop-invariant computations, moved out of loops", "", "the same values", false, hoist},
    {"products", "products of matrices, taken out of comprehensions", "cse", "the same values", false, products},
    {"windows", "windows that products read, as views", "cse", "the same values", false, windows},
    {"turns", "loops whose turns are small tensors, as native code", "", "Kernel nodes of kind Loop", false,
     outline_tensors},
    {"outline", "loops over scalars and subscripts as native code", "", "Kernel nodes of kind Loop", false, outline},
    {"batches", "loops of independent turns, many turns at a time", "", "For over batches", false, batches},
    {"place", "Await where the host must know a value", "", "conditions, bounds and sizes are host scalars", true,
     place},
    {"fuse", "tensor work, grouped into few kernels", "place", "Kernel nodes as docs/kernels.md says", false, fuse},
    {"kernels", "a kernel for each remaining operation", "place", "no tensor work outside of kernels", true,
     make_kernels},
    {"order", "reads of a tensor, moved before updates of it", "kernels", "updates copy less", false, order},
};

// What a module goes through before its transforms of functions are expanded: sizes that are equal become one value,
// and what does not change in a loop comes before it. Derivatives need that, so none of these can be left out there.
constexpr std::string_view kBeforeDerive[] = {"inline", "fold", "simplify", "cse", "fold", "simplify", "cse", "hoist"};

// Folding makes work for simplify and the other way round: twice is enough for what programs hold, and once for views.
// Whether windows are views shows once more when the sizes that groups of channels have are numbers.
constexpr std::string_view kOrder[] = {"inline", "fold",     "simplify", "cse",  "sizes",    "fold",  "simplify",
                                       "cse",    "products", "windows",  "fold", "simplify", "cse",   "windows",
                                       "fold",   "simplify", "cse",      "dce",  "hoist",    "cse",   "dce",
                                       "turns",  "outline",  "batches",  "fold", "simplify", "cse",   "dce",
                                       "place",  "cse",      "dce",      "fuse", "kernels",  "order", "dce"};

const PassInfo& find(std::string_view name) {
  for (const PassInfo& pass : kPasses)
    if (pass.name == name) return pass;
  throw std::logic_error(fmt::format("there is no pass {}", name));
}

ir::Module run(std::string_view name, ir::Module module, const PassOptions& options) {
  auto start = std::chrono::steady_clock::now();
  module = find(name).run(std::move(module));
  if (options.times) {
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    options.times->emplace_back(std::string(name), seconds);
  }
  if (options.verify) require_valid(name, module);
  if (options.hook) options.hook(name, module);
  return module;
}

} // namespace

std::span<const PassInfo> passes() { return kPasses; }

void require_valid(std::string_view after, const ir::Module& module) {
  const std::vector<std::string> faults = ir::verify(module);
  if (!faults.empty()) throw std::logic_error(fmt::format("after {}: {}", after, faults[0]));
}

ir::Module expand_transforms(ir::Module module, const PassOptions& options) {
  if (options.verify) require_valid("lower", module);
  if (options.hook) options.hook("lower", module);
  if (has_transforms(module)) {
    for (std::string_view name : kBeforeDerive)
      module = run(name, std::move(module), options);
    module = run("derive", std::move(module), options);
  } else {
    module = run("inline", std::move(module), options);
  }
  for (std::string_view name : {"devices", "claims", "vectors"})
    module = run(name, std::move(module), options);
  return module;
}

ir::Module run_passes(ir::Module module, const PassOptions& options, std::string_view last) {
  for (std::string_view name : kOrder) {
    if (find(name).required || !options.disabled.contains(std::string(name)))
      module = run(name, std::move(module), options);
    if (name == last) break;
  }
  return module;
}

} // namespace tl
