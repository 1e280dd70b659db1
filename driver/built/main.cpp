// main() of the executables that `tl build` makes: the program and its kernels stand in them as data and machine code.
#include "driver/run.h"
#include "vm/abi/program_file.h"
#include <csignal>
#include <fmt/format.h>

extern "C" {
extern const std::byte tl_program[], tl_program_end[];
extern const tl::PhaseFunction tl_kernels[];
}

namespace tl::driver {
namespace {

class BuiltKernels : public KernelProvider {
public:
  explicit BuiltKernels(KernelVariant variant) : kernels_(std::move(variant.kernels)) {
    for (size_t k = 0; k < kernels_.size(); ++k)
      for (size_t i = 0; i < kernels_[k].phases.size(); ++i)
        kernels_[k].phases[i].function = tl_kernels[variant.first_function[k] + i];
  }
  const CompiledKernel& kernel(uint32_t id) override { return kernels_.at(id); }

private:
  std::vector<CompiledKernel> kernels_;
};

bool can_run(const KernelVariant& variant) {
  bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
            __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  return v3 && (v4 || !variant.avx512);
}

int main_of(int argc, char** argv) {
  ProgramFile file = read_program({tl_program, static_cast<size_t>(tl_program_end - tl_program)});
  SourceManager sources;
  FileId main;
  for (ProgramSource& source : file.sources) {
    FileId id = sources.add(std::move(source.name), std::move(source.text));
    if (!main.valid()) main = id;
  }
  RunSetup setup;
  std::vector<std::string> words = take_built_flags(setup, {argv + 1, argv + argc});
  ProgramArguments arguments = parse_arguments(file.program.interface, words);
  if (arguments.help) {
    std::fputs((help_text(file.program.interface, argv[0]) + built_flags_help()).c_str(), stdout);
    return kFine;
  }
  const KernelVariant* chosen = nullptr;
  for (const KernelVariant& variant : file.variants)
    if (can_run(variant)) chosen = &variant;
  if (!chosen)
    throw UsageError("this program needs a newer processor: x86-64-v3 (AVX2, FMA), or what it was built for");
  BuiltKernels kernels(*chosen);
  return run_program(file.program, kernels, std::move(arguments), setup, sources, main);
}

} // namespace
} // namespace tl::driver

int main(int argc, char** argv) {
  return tl::driver::guarded([&] { return tl::driver::main_of(argc, argv); });
}
