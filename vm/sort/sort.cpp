#include "vm/sort/sort.h"
#include "vm/sort/bools.h"
#include <cstdlib>
#include <string>
#include <vector>

namespace tl {

const CompiledKernel& sort_kernel(SortOp op, DType type) {
  switch (op) {
  case SortOp::Values: return sort_values_kernel(type);
  case SortOp::Order: return sort_order_kernel(type);
  case SortOp::Top: return sort_top_kernel(type);
  }
  std::abort();
}

namespace sorting {
namespace {

// A part of a formula, which is in reverse Polish notation: a step, a constant or another formula.
struct Part {
  SizeFormula::Step step;
  const SizeFormula* formula = nullptr;
  constexpr Part(SizeFormula::Step step) : step(step) {}
  constexpr Part(int64_t value) : step{SizeFormula::Op::Const, value} {}
  constexpr Part(const SizeFormula& formula) : step{}, formula(&formula) {}
};

SizeFormula formula(std::initializer_list<Part> parts) {
  SizeFormula f;
  for (const Part& part : parts)
    if (part.formula)
      f.steps.insert(f.steps.end(), part.formula->steps.begin(), part.formula->steps.end());
    else
      f.steps.push_back(part.step);
  return f;
}

using Op = SizeFormula::Op;
constexpr SizeFormula::Step rows{Op::Arg, 0}, n{Op::Arg, 1}, k{Op::Arg, 2}; // the kernel's numbers
constexpr SizeFormula::Step plus{Op::Add}, minus{Op::Sub}, times{Op::Mul}, over{Op::FloorDiv}, over_up{Op::CeilDiv},
    least{Op::Min}, greatest{Op::Max};

// A short row takes about 3 ns an element; 100 us are worth a task.
constexpr int64_t kTask = 33000;
SizeFormula rows_of_task() { return formula({kTask, n, 1, plus, over_up}); }

CompiledKernel named(SortOp op) {
  CompiledKernel kernel;
  kernel.name = "sort " + std::string(kSortOps[static_cast<int>(op)]);
  return kernel;
}

} // namespace

CompiledKernel make_top_kernel(int64_t item_bytes, PhaseFunction top_row) {
  CompiledKernel kernel = named(SortOp::Top);
  kernel.phases.push_back({top_row, formula({rows}), rows_of_task()});
  kernel.local_bytes = formula({n, k, 2, times, kSpare, plus, least, item_bytes, times});
  return kernel;
}

CompiledKernel make_bools_kernel(PhaseFunction count, PhaseFunction place) {
  CompiledKernel kernel = named(SortOp::Top);
  const SizeFormula chunks = formula({rows, n, kBoolChunk, over_up, kMostChunks, least, times});
  // An element takes at most a nanosecond.
  const SizeFormula grain = formula({3 * kTask, n, kBoolChunk, least, 1, plus, over_up});
  kernel.phases = {{count, chunks, grain}, {place, chunks, grain}};
  kernel.shared_bytes = formula({chunks, int64_t{sizeof(int64_t)}, times});
  return kernel;
}

CompiledKernel make_kernel(SortOp op, const Layout& layout, const Phases& phases) {
  CompiledKernel kernel = named(op);
  // 1 where workers share a row, else 0.
  const SizeFormula is_long = formula({n, kShortRow + 1, over, 1, least});
  const SizeFormula are_few = formula({kFewRows + 1, rows, minus, 0, greatest, 1, least});
  const SizeFormula shared = formula({is_long, are_few, times});
  const SizeFormula shared_rows = formula({rows, shared, times});
  const SizeFormula all_chunks = formula({shared_rows, n, kChunk, over_up, kMostChunks, least, times});
  auto add = [&](PhaseFunction function, SizeFormula tiles, SizeFormula grain) {
    if (function) kernel.phases.push_back({function, std::move(tiles), std::move(grain)});
  };
  add(phases.whole_row, formula({rows, shared_rows, minus}), rows_of_task());
  add(phases.look, all_chunks, SizeFormula::constant(1));
  add(phases.sample, shared_rows, SizeFormula::constant(1));
  add(phases.partition, all_chunks, SizeFormula::constant(1));
  add(phases.bucket, formula({shared_rows, kBuckets, times}), formula({kBuckets * kTask, n, 1, plus, over_up}));
  add(phases.restore, shared_rows, SizeFormula::constant(1));
  if (layout.local > 0) kernel.local_bytes = formula({1, shared, minus, n, times, layout.local, times});
  kernel.shared_bytes = formula({shared_rows, n, layout.shared, times, layout.row, plus, times});
  return kernel;
}

} // namespace sorting
} // namespace tl
