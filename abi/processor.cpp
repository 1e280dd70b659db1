// This file alone is compiled for any x86-64 (CMakeLists.txt): it runs first, wherever it is linked.
#include "abi/processor.h"
#include <unistd.h>

// Before other constructors, which may hold instructions that the processor does not have.
extern "C" [[gnu::constructor(101)]] void tl_refuse_old_processors() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v3")) return;
  constexpr char message[] = "tl: this processor is older than x86-64-v3: AVX2, FMA, BMI2 and F16C are needed\n";
  (void)!::write(STDERR_FILENO, message, sizeof message - 1);
  ::_exit(2);
}

namespace tl {

uint32_t processor_features() {
  uint32_t bits = 0, bit = 1;
#define X(name)                                                                                                        \
  if (__builtin_cpu_supports(#name)) bits |= bit;                                                                      \
  bit <<= 1;
  TL_PROCESSOR_FEATURES(X)
#undef X
  return bits;
}

std::string feature_names(uint32_t bits) {
  std::string names;
  for (size_t i = 0; i < std::size(kProcessorFeatures); ++i)
    if (bits >> i & 1) names += (names.empty() ? "" : " ") + std::string(kProcessorFeatures[i]);
  return names;
}

} // namespace tl
