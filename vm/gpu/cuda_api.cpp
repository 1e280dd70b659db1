#include "vm/gpu/cuda_api.h"

namespace tl::cuda {

template <class F> static bool take(F& function, const Symbols& symbols, const char* name) {
  function = reinterpret_cast<F>(symbols(name));
  return function != nullptr;
}

std::string fill(Driver& table, const Symbols& symbols) {
#define TL_TAKE(member, symbol, parameters)                                                                            \
  if (!take(table.member, symbols, symbol)) return symbol;
  TL_CUDA_FUNCTIONS(TL_TAKE)
  return "";
}

std::string fill(Nvrtc& table, const Symbols& symbols) {
  TL_NVRTC_FUNCTIONS(TL_TAKE)
  TL_TAKE(error_text, "nvrtcGetErrorString", ())
  return "";
}

std::string fill(Cublas& table, const Symbols& symbols) {
  TL_CUBLAS_FUNCTIONS(TL_TAKE)
  TL_TAKE(version, "cublasLtGetVersion", ())
  TL_TAKE(error_text, "cublasLtGetStatusString", ())
#undef TL_TAKE
  return "";
}

} // namespace tl::cuda
