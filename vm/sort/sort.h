// Sorting along the last axis, as kernels of the VM. Stable, NaN last, -0 and 0 equal: there is one right result, so
// the bits do not depend on threads or machines. Tensors are dense and row-major.
//
// Values become numbers in their order (sorter.h), which are sorted in place, in the result: by networks, and by a
// quicksort of vectors (quick.h). Positions are the lower half of a number whose upper half is an element's, so that no
// two are equal. Long rows are shared by workers: chunks are partitioned by splitters that samples tell, then the parts
// of each bucket are gathered and sorted. Where there are many long rows, each is sorted by one worker.
// Rows that are in order, or in the reverse one, are copied, and bytes are counted.
// The k greatest of a row are found in one pass over it, with memory for some 2 k of its elements; of bools by counting
// (bools.h).
#pragma once
#include "abi/dtype.h"
#include "abi/kernel.h"
#include "abi/sort_op.h"

namespace tl {

// Arguments of the kernel, in order: i64 slots rows, n, k (the length of a row of the result: n but for Top, where
// k <= n) and the element type; then x[rows, n] of `type`, which is not Key; then the result[rows, k]: of `type` for
// Values, else i64.
// Rows have at most kLongestSortedRow elements, but for Top of bools. It never fails.
constexpr size_t kSortNumbers = 4; // so many arguments come before x
constexpr int64_t kLongestSortedRow = 0xffffffff;
const CompiledKernel& sort_kernel(SortOp op, DType type);
// The same for one operation: an executable has the functions of the operations that its program uses.
const CompiledKernel& sort_values_kernel(DType type);
const CompiledKernel& sort_order_kernel(DType type);
const CompiledKernel& sort_top_kernel(DType type);

} // namespace tl
