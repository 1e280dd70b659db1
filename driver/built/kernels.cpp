#include "kernels.h"
#include "abi/processor.h"
#include "driver/usage.h"
#include <fmt/format.h>

extern "C" {
extern const std::byte tl_program[], tl_program_end[];
extern const tl::PhaseFunction tl_kernels[];
}

namespace tl::driver {

Built::Built() {
  ProgramFile file = read_program({tl_program, static_cast<size_t>(tl_program_end - tl_program)});
  programs = std::move(file.programs);
  declarations = std::move(file.declarations);
  calls = std::move(file.calls);
  for (ProgramSource& source : file.sources) {
    FileId id = sources.add(std::move(source.name), std::move(source.text));
    if (!main.valid()) main = id;
  }
  const uint32_t has = processor_features();
  KernelVariant* chosen = nullptr;
  for (KernelVariant& variant : file.variants)
    if ((variant.features & ~has) == 0) chosen = &variant;
  if (!chosen)
    throw UsageError(fmt::format("this program was built for another processor: this one lacks {}",
                                 feature_names(file.variants.front().features & ~has)));
  kernels_ = std::move(chosen->kernels);
  for (size_t k = 0; k < kernels_.size(); ++k)
    for (size_t i = 0; i < kernels_[k].phases.size(); ++i)
      kernels_[k].phases[i].function = tl_kernels[chosen->first_function[k] + i];
}

} // namespace tl::driver
