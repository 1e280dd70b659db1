// main() of the executables that `tl build` makes: the program and its kernels stand in them as data and machine code.
#include "driver/run.h"
#include "driver/usage.h"
#include "vm/abi/processor.h"
#include "vm/abi/program_file.h"
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

int main_of(int argc, char** argv) {
  ProgramFile file = read_program({tl_program, static_cast<size_t>(tl_program_end - tl_program)});
  SourceManager sources;
  FileId main;
  for (ProgramSource& source : file.sources) {
    FileId id = sources.add(std::move(source.name), std::move(source.text));
    if (!main.valid()) main = id;
  }
  RunSetup setup;
  take_environment(setup);
  ProgramArguments arguments = parse_arguments(file.program.interface, {argv + 1, argv + argc}, &setup);
  if (arguments.help) {
    std::fputs(help_text(file.program.interface, argv[0], true).c_str(), stdout);
    return kFine;
  }
  const uint32_t has = processor_features();
  const KernelVariant* chosen = nullptr;
  for (const KernelVariant& variant : file.variants)
    if ((variant.features & ~has) == 0) chosen = &variant;
  if (!chosen)
    throw UsageError(fmt::format("this program was built for another processor: this one lacks {}",
                                 feature_names(file.variants.front().features & ~has)));
  BuiltKernels kernels(*chosen);
  return run_program(file.program, kernels, arguments, setup, sources, main);
}

} // namespace
} // namespace tl::driver

int main(int argc, char** argv) {
  return tl::driver::guarded([&] { return tl::driver::main_of(argc, argv); });
}
