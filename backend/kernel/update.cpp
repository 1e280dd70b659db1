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
  space_phase(e, dims, layout, [&](const Index& index) {
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
}

namespace {

// Makes a Scatter of one stage, but for what it is of.
Instr scatter_stage(Emitter& e, ScatterStage stage, uint32_t workspaces) {
  const ir::Node& n = e.producer(e.region().yields[0]);
  const ir::ValueId idx = n.operands[1], value = n.operands[2];
  const ir::Type& type = e.type(n.results[0]);
  Builder& b = e.b;
  Instr scatter = make(KOp::Scatter, {e.size(e.type(idx).dims[0])});
  scatter.stage = stage;
  scatter.param = e.output_param(0);
  scatter.source = workspaces;
  const ValueId j = b.open({DType::I64})[0];
  scatter.blocks.push_back(b.close({e.pull(idx, {j})}));
  const std::vector<ValueId> at = b.open({DType::I64, DType::I64});
  Index full{at[0]}, rest = e.decompose(at[1], std::span(type.dims).subspan(1));
  full.insert(full.end(), rest.begin(), rest.end());
  scatter.blocks.push_back(b.close({e.pull(value, full)}));
  if (n.as<ir::ScatterAttrs>().mode == ir::UpdateMode::Add) {
    const std::vector<ValueId> both = b.open({value_type(type.dtype), value_type(type.dtype)});
    scatter.blocks.push_back(b.close({expand(b, ScalarOp::Add, type.dtype, both)}));
  }
  return scatter;
}

// A tile of the last phase is a part of the rows that are written: no two tiles have to keep an order. Which positions
// are of its bucket of parts, the phases before found out, in the way of a radix sort of one digit; of few positions
// each tile looks at all.
void scatter_on_gpu(Emitter& e) {
  constexpr int64_t kParts = kScatterBuckets * kScatterParts;
  const ir::Node& n = e.producer(e.region().yields[0]);
  const ir::Type& type = e.type(n.results[0]);
  Builder& b = e.b;
  const SizeFormula count = e.formula(e.type(n.operands[1]).dims), rows = e.formula(std::span(type.dims).first(1));
  const auto number = [](int64_t value) { return SizeFormula::constant(value); };
  const SizeFormula chunks = ceil_div(count, number(kSumChunk)), part = at_least_one(ceil_div(rows, number(kParts)));
  const uint32_t workspaces = e.add_workspace(ParamKind::Shared, DType::I64, count, "lists");
  e.add_workspace(ParamKind::Shared, DType::I64, times(chunks, number(kScatterBuckets)), "counts");
  e.add_workspace(ParamKind::Shared, DType::I64, number(kScatterBuckets), "totals");
  const SizeFormula many = minus(number(1), is_at_most(count, kScatterFew));
  auto stage = [&](ScatterStage of, const SizeFormula& tiles) {
    phase(e, of == ScatterStage::Write ? tiles : times(tiles, many), [&](ValueId tile) {
      const ValueId all = e.size(e.type(n.operands[1]).dims[0]), height = e.size(type.dims[0]);
      const auto ceil = [&](ValueId x, int64_t by) { return b.udiv(b.add(x, b.i64(by - 1)), b.i64(by)); };
      const ValueId of_part = b.max(ceil(height, kParts), b.i64(1)), first = b.mul(tile, of_part);
      Instr scatter = scatter_stage(e, of, workspaces);
      if (of == ScatterStage::Write)
        scatter.operands.insert(scatter.operands.end(), {first, b.min(b.add(first, of_part), height),
                                                         e.product(std::span(type.dims).subspan(1)), of_part});
      else
        scatter.operands.insert(scatter.operands.end(), {tile, ceil(all, kSumChunk), b.i64(1), of_part});
      b.append(std::move(scatter), {});
    });
  };
  stage(ScatterStage::Count, chunks);
  stage(ScatterStage::Add, number(kScatterBuckets));
  stage(ScatterStage::Move, chunks);
  stage(ScatterStage::Write, ceil_div(rows, part));
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
