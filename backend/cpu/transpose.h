// Blocks of a matrix transposed in registers. Internal to backend/cpu.
#pragma once
#include "backend/cpu/emit.h"

namespace tl::cpu {

// x: as many vectors as each has lanes, of elements of `bytes` bytes, as a matrix; its columns. First within 16 bytes,
// which processors do fastest, for as many vectors as these hold elements; then the 16 bytes as elements. Each is
// log2(count) times interleaving vector i with vector i + count / 2.
Values transposed(llvm::IRBuilder<>& b, Values x, int bytes);

} // namespace tl::cpu
