// Runs a case (a graph in text form and some inputs) on the reference interpreter and through the whole compiler, and
// compares what comes out, bit for bit (but any NaN equals any NaN).
//
// Every case runs compiled with all passes, with one worker, with two, and synchronously; and with passes switched off:
// all of them in turn with --full, else one, which changes from case to case. Those compile without LLVM's
// optimisation.
#pragma once
#include "abi/outcome.h"
#include "backend/kernel/kernel_ir.h"
#include "ir/graph/graph.h"
#include "values.h"
#include <map>
#include <string>
#include <vector>

namespace tl::generated {

struct Operand {
  std::string name;
  DType dtype;
  std::vector<std::string> dims; // names of sizes, or numbers; none: a scalar
};

// func @main with these parameters, the nodes of `body`, and these values as results. A name of a size that is in
// several operands is one value, %name. `tables`: sites and locations; `token`: the last one, where the body has
// effects.
std::string program(const std::vector<Operand>& operands, const std::string& body,
                    const std::vector<std::string>& results, const std::string& tables = {},
                    const std::string& token = "t");

std::string type_text(DType dtype, const std::vector<std::string>& dims);

struct Case {
  std::string name;
  std::string text; // made by program()
  std::vector<std::vector<Argument>> inputs;
};

struct Options {
  bool full = false, verbose = false, stop = false;
  std::string only;
  uint64_t seed = 1;
};

class Tester {
public:
  explicit Tester(Options options) : options(std::move(options)) {}

  Options options;

  bool wants(const std::string& name) const {
    return options.only.empty() || name.find(options.only) != std::string::npos;
  }
  void run(const Case& test);
  // The same for a module from elsewhere.
  void run(const std::string& name, const ir::Module& module, const std::vector<std::vector<Argument>>& inputs);

  void begin(const std::string& section); // prints the last section's numbers
  void pass() { ++passed_; }
  void fail(const std::string& name, const std::string& what, const std::string& detail = {});
  int finish(); // prints `N passed, N failed`; the exit code

  // Every distinct kernel that was compiled, as it is for a card, by its text without the name.
  const std::map<std::string, kir::Kernel>& kernels() const { return kernels_; }

private:
  struct Expected;
  void compiled(const std::string& name, const ir::Module& module, const std::vector<std::vector<Argument>>& inputs,
                const std::vector<Expected>& expected, const std::string& disabled);

  int passed_ = 0, failed_ = 0, cases_ = 0;
  int section_passed_ = 0, section_failed_ = 0, section_cases_ = 0;
  double section_start_ = 0;
  std::string section_;
  std::map<std::string, kir::Kernel> kernels_;
};

} // namespace tl::generated
