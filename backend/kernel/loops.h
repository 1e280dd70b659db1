// Phases and the loops in them: how an index space is cut into tiles, rows and vector loops, and how long a tile takes.
#pragma once
#include "backend/kernel/emit.h"

namespace tl::kir {

// Elements of one tile of an elementwise loop: of a GPU four for each thread of a block.
constexpr int64_t block_of(Target target) { return target == Target::Cpu ? 16384 : 1024; }

// How the loops of a kernel are laid out. Lowering tries one layout, looks at what came out, and may try the next.
struct Layout {
  size_t split = 0;                // axes before it are rows (decomposed once per row), the others are one linear loop
  bool vector = true;              // the linear loop is a Vector loop
  int64_t block = 0;               // elements of a tile; 0: block_of
  bool one_by_one = false;         // Map: Emitter::one_by_one
  bool flat = false;               // Columns: few of them as one stretch of memory; those of short stretches row by row
  std::optional<size_t> last = {}; // the axis that is the innermost, if it is not the last: the others keep their order
};

// What is wrong with the vector loops of a kernel.
struct Findings {
  bool divisions = false;  // an index is decomposed per element
  bool gathers = false;    // elements are read that do not lie side by side
  bool nonuniform = false; // the bounds of an inner loop differ from lane to lane: the loop must be serial
  bool folds = false;      // there is a loop in a vector loop
  double traffic = 0;      // what loads and stores of one lane take, in vectors of elements that lie side by side
};
Findings inspect(const Kernel& kernel);
bool is_nonuniform(const Block& block, ValueId index); // in lanes of `index`

// The axes in the order of the loops.
std::vector<ir::Dim> loop_order(std::span<const ir::Dim> dims, const Layout& layout);
// Tiles of a space: rows (axes before split) times blocks of the linear rest.
SizeFormula space_tiles(const Emitter& emitter, std::span<const ir::Dim> dims, const Layout& layout, int64_t block);
// The loop over one tile of it; `body` gets the index. Without axes the body runs once.
void loop_over_tile(Emitter& emitter, ValueId tile, std::span<const ir::Dim> dims, const Layout& layout, int64_t block,
                    const std::function<void(const Index&)>& body);

// A phase over a space, an index at a time. A GPU's threads share a tile, its row. `times`: 1 or 0, as a formula: is
// there anything to do?
void space_phase(Emitter& emitter, std::span<const ir::Dim> dims, const Layout& layout,
                 const std::function<void(const Index&)>& body, const SizeFormula& times = SizeFormula::constant(1));

// Builds one phase; `body` gets the tile.
void phase(Emitter& emitter, SizeFormula tiles, const std::function<void(ValueId)>& body,
           std::optional<SizeFormula> work_per_tile = {});

SizeFormula times(SizeFormula a, const SizeFormula& b);
SizeFormula minus(SizeFormula a, const SizeFormula& b);
SizeFormula at_least(SizeFormula a, const SizeFormula& b);
SizeFormula at_least_one(SizeFormula a);
SizeFormula at_most_one(SizeFormula a);
SizeFormula at_most(SizeFormula a, const SizeFormula& b);
SizeFormula is_at_most(SizeFormula a, int64_t bound); // 1 or 0; of what is not negative
SizeFormula ceil_div(SizeFormula a, const SizeFormula& b);
SizeFormula floor_div(SizeFormula a, const SizeFormula& b);

// Stores of outputs at one index: every value is computed before the first store. Axes beyond the index have size 1.
void store_outputs(Emitter& emitter, const std::vector<size_t>& results, const Index& index);

// The Guards of the kernel's own region, as phases of Checks over their conditions. Sets checked_apart. Those of which
// the condition has `sizes` are left to the loop over these.
void check_guards(Emitter& emitter, bool vector, const std::vector<ir::Dim>* sizes = nullptr);
// That loop's: the Checks at one index.
void check_guards_at(Emitter& emitter, const Index& index, const std::vector<ir::Dim>& sizes);

} // namespace tl::kir
