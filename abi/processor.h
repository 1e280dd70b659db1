// What compiled kernels may ask of a processor: a bit each, under the names that LLVM and GCC share.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace tl {

// clang-format off
#define TL_PROCESSOR_FEATURES(X) \
  X(popcnt) X(lzcnt) X(bmi) X(bmi2) X(movbe) X(avx2) X(fma) X(f16c) \
  X(avx512f) X(avx512vl) X(avx512bw) X(avx512dq) X(avx512cd) \
  X(avx512vbmi) X(avx512vbmi2) X(avx512vnni) X(avx512bitalg) X(avx512vpopcntdq) X(avx512bf16) X(avx512fp16) \
  X(avxvnni) X(gfni) X(vaes) X(vpclmulqdq)
// clang-format on

constexpr const char* kProcessorFeatures[] = {
#define X(name) #name,
    TL_PROCESSOR_FEATURES(X)
#undef X
};

// The bits of this processor.
uint32_t processor_features();

// The names of these bits, as "avx2 fma".
std::string feature_names(uint32_t bits);

} // namespace tl
