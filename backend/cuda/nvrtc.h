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

// What compiles: `path` leads to its file, `options` is what every program gets beside its architecture.
struct NvrtcIdentity {
  int major = 0, minor = 0;
  std::string path;
  std::vector<std::string> options;
};
NvrtcIdentity nvrtc_identity(); // of the one that is installed; as it is made where there is none
// As text, for keys of caches. It does not tell its patch level, but the file that the path leads to does, or another
// size or time of it.
std::string description_of(const NvrtcIdentity& nvrtc);

// Compiles `source` for `architecture` ("sm_90": cubin, "compute_90": PTX) with -fmad=false. Thread-safe.
NvrtcResult nvrtc_compile(const std::string& source, const std::string& name, const std::string& architecture);

} // namespace tl
