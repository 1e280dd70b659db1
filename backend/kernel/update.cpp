// Updates in place, and scatters.
#include "backend/kernel/forms.h"

namespace tl::kir {

// Only the slice is written: the output starts as a copy of the updated operand, or in its memory.
void lower_update(Emitter& e, const Layout& layout) {
  const ir::Node& n = e.producer(e.region().yields[0]);
  ir::ValueId value = n.operands[1];
  const ir::Type& type = e.type(n.results[0]);
  const std::vector<ir::Dim>& dims = e.type(value).dims;
  uint32_t out = e.output_param(0);
  phase(e, space_tiles(e, dims, layout, block_of(e.target)), [&](ValueId tile) {
    loop_over_tile(e, tile, dims, layout, block_of(e.target), [&](const Index& index) {
      Builder& b = e.b;
      Index at;
      for (size_t i = 0; i + 2 < n.operands.size(); ++i) {
        ValueId start = e.scalar(n.operands[i + 2]);
        at.push_back(index.empty() ? start : b.add(start, b.mul(index[i], b.i64(n.as<ir::UpdateAttrs>().steps[i]))));
      }
      ValueId v = e.pull(value, index);
      ValueId offset = e.linearise(at, type.dims);
      if (n.as<ir::UpdateAttrs>().mode == ir::UpdateMode::Add)
        v = expand(b, ScalarOp::Add, type.dtype, {b.load(out, offset, false), v});
      b.store(out, offset, v);
    });
  });
}

// Rows are taken in order (the last of repeats wins, sums add up in order), so tiles share the columns, not the rows.
void lower_scatter(Emitter& e, const Layout& layout) {
  constexpr int64_t kColumns = 1024;
  const ir::Node& n = e.producer(e.region().yields[0]);
  ir::ValueId idx = n.operands[1], value = n.operands[2];
  const ir::Type& type = e.type(n.results[0]);
  uint32_t out = e.output_param(0);
  std::vector<ir::Dim> columns(type.dims.begin() + 1, type.dims.end());
  Builder& b = e.b;
  phase(
      e, at_least_one(ceil_div(e.formula(columns), SizeFormula::constant(kColumns))),
      [&](ValueId tile) {
        ValueId width = e.product(columns), lo = b.mul(tile, b.i64(kColumns));
        ValueId hi = b.min(b.add(lo, b.i64(kColumns)), width);
        e.serial_loop(b.i64(0), e.size(e.type(idx).dims[0]), [&](ValueId j) {
          ValueId row = b.mul(e.pull(idx, {j}), width);
          auto element = [&](ValueId c) {
            Index full{j}, rest = e.decompose(c, columns);
            full.insert(full.end(), rest.begin(), rest.end());
            ValueId v = e.pull(value, full), offset = b.add(row, c);
            if (n.as<ir::ScatterAttrs>().mode == ir::UpdateMode::Add)
              v = expand(b, ScalarOp::Add, type.dtype, {b.load(out, offset, false), v});
            b.store(out, offset, v);
          };
          if (b.constant_of(width) == 1)
            element(b.i64(0));
          else
            e.loop(lo, hi, layout.vector, element);
        });
      },
      times(e.formula(e.type(idx).dims), SizeFormula::constant(64)));
}

} // namespace tl::kir
