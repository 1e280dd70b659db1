// NVRTC (found by vm/gpu/libraries.h when first needed): turns CUDA C++ into machine code for a card. Works without a
// GPU.
#pragma once
#include <string>
#include <vector>

namespace tl {

struct NvrtcResult {
  bool ok = false;
  std::vector<char> code; // cubin for sm_XX, PTX for compute_XX
  std::string log;        // warnings and errors of the compiler
};

// Is a usable NVRTC installed? If not, `why` (if given) says what is missing and what to do about it.
bool nvrtc_available(std::string* why = nullptr);

// What compiles, for keys of caches: its version, which file it is, and the options that all get. Empty where there is
// none.
std::string nvrtc_description();

// Compiles `source` for `architecture` ("sm_90": cubin, "compute_90": PTX) with -fmad=false. Thread-safe.
NvrtcResult nvrtc_compile(const std::string& source, const std::string& name, const std::string& architecture);

} // namespace tl
