// Elementwise kernels and maps: every output at one index, in one loop nest.
#include "backend/kernel/forms.h"
#include "lang/save_and_restore.h"
#include <algorithm>

namespace tl::kir {

namespace {

// `checks`: also the Guards over the output's own sizes.
void loops(Emitter& e, const Layout& layout, const SizeFormula& times, bool checks) {
  const SaveAndRestore one_by_one(e.one_by_one, layout.one_by_one);
  const ir::Region& region = e.region();
  std::vector<size_t> all;
  for (size_t i = 0; i < region.yields.size(); ++i)
    all.push_back(i);
  const std::vector<ir::Dim>& dims = e.type(region.yields[0]).dims;

  auto store = [&](const Index& index) {
    if (checks) check_guards_at(e, index, dims);
    store_outputs(e, all, index);
  };

  // A Concat on the way from the output's own index: one loop per piece instead of a choice per element.
  if (region.yields.size() == 1) {
    ir::ValueId v = region.yields[0];
    std::vector<size_t> axis_of; // of each axis of the output, that of v
    for (size_t i = 0; i < dims.size(); ++i)
      axis_of.push_back(i);
    for (; e.inside(v) && e.function[v].producer.valid(); v = e.producer(v).operands[0]) {
      const ir::Node& n = e.producer(v);
      if (n.op == ir::Op::Transpose) {
        for (size_t& axis : axis_of)
          axis = static_cast<size_t>(n.as<ir::AxesAttrs>().axes[axis]);
      } else if (n.op != ir::Op::Convert && (n.op != ir::Op::Elementwise || n.operands.size() != 1)) {
        break;
      }
    }
    if (e.inside(v) && e.function[v].producer.valid() && e.producer(v).op == ir::Op::Concat) {
      const ir::Node& concat = e.producer(v);
      const auto found = std::find(axis_of.begin(), axis_of.end(), concat.as<ir::AxisAttrs>().axis);
      const auto axis = static_cast<size_t>(found - axis_of.begin());
      uint32_t id = e.function[v].producer.index;
      std::vector<ir::Dim> before;
      for (size_t i = 0; i < concat.operands.size(); ++i) {
        std::vector<ir::Dim> piece;
        for (size_t of : axis_of)
          piece.push_back(e.type(concat.operands[i]).dims[of]);
        e.concat_piece[id] = i;
        auto store_piece = [&](Index index) {
          ValueId start = e.b.i64(0);
          for (const ir::Dim& dim : before)
            start = e.b.add(start, e.size(dim));
          index[axis] = e.b.add(index[axis], start);
          store(index);
        };
        space_phase(e, piece, layout, store_piece, times);
        before.push_back(piece[axis]);
      }
      e.concat_piece.clear();
      return;
    }
  }
  space_phase(e, dims, layout, store, times);
}

} // namespace

void lower_map(Emitter& e, const Layout& layout, const SizeFormula& times) { loops(e, layout, times, false); }

void lower_checked_map(Emitter& e, const Layout& layout) {
  const bool together = e.target == Target::Cpu; // on GPUs a failure in a loop would hold up its threads
  check_guards(e, layout.vector, together ? &e.type(e.region().yields[0]).dims : nullptr);
  loops(e, layout, SizeFormula::constant(1), together);
}

} // namespace tl::kir
