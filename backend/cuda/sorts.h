// Sorting on cards (abi/sort_op.h): CUDA C++ of the kernel of one operation and element type, and how it is launched.
//
// Rows of at most 256 elements: a thread finds the place of one by counting what comes before it. Rows that fit the
// shared memory of a block: least significant digit first, there. Longer rows: for each digit of 8 bits, all rows
// together, three phases: each chunk counts its digits, then where they begin is known, then each chunk moves its
// elements there, a tile at a time by way of shared memory, so that neighbours are written together. Digits that are
// the same in a whole row are passed over on the card; the host waits for nothing.
#pragma once
#include "abi/gpu_kernel.h"
#include "abi/sort_op.h"
#include <string>

namespace tl {

// One translation unit. Its functions are those of gpu_sort's phases.
std::string sort_text(SortOp op, DType type);

// All but the image. Its arguments are those of sort_kernel in vm/sort/sort.h, which says what it gives, to the bit.
GpuKernel gpu_sort(SortOp op, DType type);

} // namespace tl
