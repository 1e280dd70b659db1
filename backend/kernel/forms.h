// The forms of kernels (docs/kernels.md): each function fills in the phases of a kernel whose parameters are made.
#pragma once
#include "backend/kernel/loops.h"
#include "passes/fuse/kernel_shape.h"

namespace tl::kir {

// `times`: 1 or 0: is there anything to do?
void lower_map(Emitter& emitter, const Layout& layout, const SizeFormula& times = SizeFormula::constant(1));
// The whole kernel, with its Guards: those over the result's own sizes are checked in the loop that computes it.
void lower_checked_map(Emitter& emitter, const Layout& layout);
// A map in blocks of its last axis and another one, in so many ways. False: nothing is read across; the kernel is of no
// use.
size_t transposed_ways(const Emitter& emitter);
bool lower_transposed(Emitter& emitter, size_t way);
// layout.split: of the inner axes. `times` as above.
void lower_rows(Emitter& emitter, const KernelShape& shape, const Layout& layout,
                const SizeFormula& times = SizeFormula::constant(1));
// Rows of at most so many elements, side by side in vectors; with `others` longer ones, too, as lower_rows has them.
void lower_short_rows(Emitter& emitter, const KernelShape& shape, const Layout& layout, int64_t most, bool others);
void lower_chunked(Emitter& emitter, const KernelShape& shape, const Layout& layout); // Columns, and full reductions
bool may_be_flat(const Emitter& emitter, const KernelShape& shape, const Layout& layout); // Layout::flat
void lower_scan(Emitter& emitter, const Layout& layout); // of which only `vector` counts; so for lower_scatter
// False: not a matrix product with strides, or one for which a loop nest does as well, unless `all`; nothing was made.
bool lower_gemm(Emitter& emitter);
void lower_update(Emitter& emitter, const Layout& layout);
void lower_scatter(Emitter& emitter, const Layout& layout);
void lower_loop(Emitter& emitter, const Layout& layout); // of which only `vector` counts

} // namespace tl::kir
