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

namespace {

// A tile is a part of the rows that are written: it looks at all that are to be written, and so no two tiles have to
// keep an order. More tiles look more often: together at no more than kLooks, and no more tiles than blocks run at once
// on a large card (132 multiprocessors of 8).
void scatter_on_gpu(Emitter& e) {
  constexpr int64_t kMost = 1056, kLooks = int64_t{1} << 28;
  const ir::Node& n = e.producer(e.region().yields[0]);
  const ir::ValueId idx = n.operands[1], value = n.operands[2];
  const ir::Type& type = e.type(n.results[0]);
  const std::vector<ir::Dim> columns(type.dims.begin() + 1, type.dims.end());
  Builder& b = e.b;
  const SizeFormula count = e.formula(e.type(idx).dims);
  const SizeFormula looks = floor_div(SizeFormula::constant(kLooks), minus(count, SizeFormula::constant(-1)));
  const SizeFormula tiles =
      at_least_one(at_most(at_most(e.formula(std::vector{type.dims[0]}), looks), SizeFormula::constant(kMost)));
  phase(e, tiles, [&](ValueId tile) {
    const ValueId rows = e.size(type.dims[0]), all = e.size(e.type(idx).dims[0]), width = e.product(columns);
    const ValueId seen = b.udiv(b.i64(kLooks), b.add(all, b.i64(1)));
    const ValueId parts = b.max(b.min(b.min(rows, seen), b.i64(kMost)), b.i64(1));
    const ValueId lo = b.udiv(b.mul(tile, rows), parts), hi = b.udiv(b.mul(b.add(tile, b.i64(1)), rows), parts);
    Instr scatter = make(KOp::Scatter, {all, lo, hi, width});
    scatter.param = e.output_param(0);
    const ValueId j = b.open({DType::I64})[0];
    scatter.blocks.push_back(b.close({e.pull(idx, {j})}));
    const std::vector<ValueId> at = b.open({DType::I64, DType::I64});
    Index full{at[0]}, rest = e.decompose(at[1], columns);
    full.insert(full.end(), rest.begin(), rest.end());
    scatter.blocks.push_back(b.close({e.pull(value, full)}));
    if (n.as<ir::ScatterAttrs>().mode == ir::UpdateMode::Add) {
      const std::vector<ValueId> both = b.open({value_type(type.dtype), value_type(type.dtype)});
      scatter.blocks.push_back(b.close({expand(b, ScalarOp::Add, type.dtype, both)}));
    }
    b.append(std::move(scatter), {});
  });
}

} // namespace

// Rows are taken in order (the last of repeats wins, sums add up in order), so tiles share the columns, not the rows.
void lower_scatter(Emitter& e, const Layout& layout) {
  if (e.target != Target::Cpu) return scatter_on_gpu(e);
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
