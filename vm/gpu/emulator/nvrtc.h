// The stand-ins of NVRTC's functions.
#pragma once
#include "vm/gpu/emulator/emulator.h"

namespace tl::emulator {

void configure_nvrtc(const Options& options);
void* nvrtc_symbol(const char* name);

} // namespace tl::emulator
