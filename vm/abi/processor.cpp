#include "vm/abi/processor.h"

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
