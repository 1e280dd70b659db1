// Kernel IR to object files, assembler or LLVM IR, for one processor. No LLVM type appears here.
#pragma once
#include "abi/kernel.h"
#include "backend/kernel/kernel_ir.h"
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tl::cpu {

struct CodegenOptions {
  // Processor as LLVM names it and its features ("+avx2,+fma,-avx512f"); empty: the machine this runs on. Whatever is
  // given, x86-64-v3 is the floor of x86-64.
  std::string cpu, features;
  // 2: all optimisations; 0: no passes and the fastest code generation; kNoVectors: and no vectors. Results are equal.
  int level = 2;
  bool check_input = true; // run kir::verify on every kernel first; what it finds is an internal error
  // By LocId: gives the code debug information, with these lines. Not owned; null: without.
  const std::vector<Location>* lines = nullptr;
  // As LLVM writes it; empty: this machine's. Code for another is for files alone, and needs a `cpu`.
  std::string triple = {};
};

constexpr int kNoVectors = -1;

struct UnknownProcessor : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a kernel's code is: its phases are functions SYMBOL_0, SYMBOL_1, …
enum class CodeForm : uint8_t { Object, Assembler, Llvm };

// Thread-safe. Throws std::logic_error where a kernel is malformed or LLVM refuses it, UnknownProcessor where
// LLVM does not know it or it is older than x86-64-v3.
//
// LLVM has so many seconds of the processor for a kernel (TL_COMPILE_SECONDS, else 15); what takes longer is given up
// (backend/cpu/bounded.h) and compiled at the next lower level.
class Codegen {
public:
  explicit Codegen(CodegenOptions options);
  ~Codegen();

  const std::string& cpu() const;
  const std::string& features() const;
  bool has_avx512() const;          // and uses it
  uint32_t needed_features() const; // bits of abi/processor.h; 0 for other machines than x86-64
  const std::string& triple() const;

  std::string compile(const kir::Kernel& kernel, const std::string& symbol, CodeForm form = CodeForm::Object);
  std::string assemble(const std::string& ir); // LLVM IR as text, which is not optimised, to an object file
  CompiledKernel describe(const kir::Kernel& kernel) const; // what the engine needs, but for the functions

private:
  struct State;
  std::shared_ptr<State> state_; // work that was given up has it, too
};

// How many kernels of this process are compiled at a lower level, as LLVM took too long for them.
int given_up();

// Equal kernels have equal texts and symbols, whatever they are called.
std::string kernel_key(const kir::Kernel& kernel);
std::string symbol_of(const std::string& key);

} // namespace tl::cpu
