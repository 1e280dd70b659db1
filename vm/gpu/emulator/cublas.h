// The stand-ins of cuBLASLt's functions.
#pragma once

namespace tl::emulator {

void* cublas_symbol(const char* name);

} // namespace tl::emulator
