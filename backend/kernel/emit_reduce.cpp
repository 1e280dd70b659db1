// Reductions inside a kernel, whole or one chunk at a time.
#include "backend/kernel/loops.h"

namespace tl::kir {

static bool has_fold(const Block& block) {
  return std::ranges::any_of(block.instrs, [](const Instr& instr) {
    return instr.op == KOp::Reduce || instr.op == KOp::ReduceChunk || std::ranges::any_of(instr.blocks, has_fold);
  });
}

// One workspace of a chunk per reduction that is open at a time would do; they are few, so each gets its own.
uint32_t Emitter::take_staging(DType dtype) {
  return add_workspace(ParamKind::Local, dtype, SizeFormula::constant(kSumChunk), "chunk");
}

std::optional<Block> Emitter::folded_block(const ir::Node& n, const Index& kept, ValueId begin, ValueId end,
                                           bool chunk) {
  auto elements = [&](ValueId k) {
    Index full = folded_index(n, kept, k);
    std::vector<ValueId> values;
    for (ir::ValueId operand : n.operands)
      values.push_back(pull(operand, full));
    if (in_reduce && element_.empty()) in_reduce(n, full);
    return values;
  };
  bool lanes = !b.in_lanes(); // else the lanes are those of the loop around, and k is the same for all
  ValueId k = b.open({DType::I64})[0];
  if (lanes) b.run_in_lanes();
  std::vector<ValueId> yields = elements(k);
  Block block = b.close(std::move(yields));
  if (!lanes) return block;
  const bool serial = is_nonuniform(block, k) || (one_by_one && has_fold(block));
  if (!serial && !(stages_stretches && folds_stretches(n))) return block;
  if (!chunk) return std::nullopt;

  std::vector<uint32_t> staged;
  for (ir::ValueId operand : n.operands)
    staged.push_back(take_staging(value_type(type(operand).dtype)));
  auto stage = [&](ValueId i, const std::vector<ValueId>& values) {
    for (size_t v = 0; v < values.size(); ++v)
      b.store(staged[v], b.sub(i, begin), values[v]);
  };
  if (serial) {
    serial_loop(begin, end, [&](ValueId i) { stage(i, elements(i)); });
  } else {
    const std::vector<ir::Dim> folded = folded_dims(n);
    const size_t last = folded.size() - last_stretch(n);
    const std::span<const ir::Dim> dims = folded;
    ValueId length = b.max(product(dims.subspan(last)), b.i64(1));
    ValueId stretches = b.udiv(b.add(end, b.sub(length, b.i64(1))), length);
    serial_loop(b.udiv(begin, length), stretches, [&](ValueId stretch) {
      ValueId start = b.mul(stretch, length);
      const Index outer = decompose(stretch, dims.first(last));
      vector_loop(b.max(start, begin), b.min(b.add(start, length), end), [&](ValueId i) {
        Index parts = outer;
        const Index inner = decompose(b.sub(i, start), dims.subspan(last));
        parts.insert(parts.end(), inner.begin(), inner.end());
        const Index full = with_folded(n, kept, parts);
        std::vector<ValueId> values;
        for (ir::ValueId operand : n.operands)
          values.push_back(pull(operand, full));
        stage(i, values);
      });
    });
  }
  k = b.open({DType::I64})[0];
  b.run_in_lanes();
  yields.clear();
  for (uint32_t param : staged)
    yields.push_back(b.load(param, b.sub(k, begin), false));
  return b.close(std::move(yields));
}

// How many folded axes, up to the last one, lie beside each other.
size_t Emitter::last_stretch(const ir::Node& n) const {
  const std::vector<int64_t>& axes = n.as<ir::ReduceAttrs>().axes;
  int64_t axis = static_cast<int64_t>(type(n.operands[0]).dims.size()) - 1;
  size_t count = 0;
  while (count < axes.size() && axes[axes.size() - 1 - count] == axis)
    ++count, --axis;
  return count;
}

// Is what is folded several stretches of memory, long enough to go through one after the other? To find an element by
// its number takes a division.
bool Emitter::folds_stretches(const ir::Node& n) const {
  constexpr int64_t few = 64, brief = 8;
  if (target != Target::Cpu) return false;
  const std::vector<ir::Dim> dims = folded_dims(n);
  const size_t last = dims.size() - last_stretch(n);
  if (last == 0 || last == dims.size()) return false;
  auto at_most = [](std::span<const ir::Dim> some, int64_t most) {
    int64_t count = 1;
    for (const ir::Dim& dim : some) {
      if (!dim.is_constant()) return false;
      count *= std::min(dim.constant, most + 1);
      if (count > most) return false;
    }
    return true;
  };
  return !at_most(dims, few) && !at_most(std::span(dims).subspan(last), brief - 1);
}

ValueId Emitter::reduce(const ir::Node& n, const Index& index) {
  return at_level_of(n.results[0], index, [&] {
    DType from = value_type(type(n.operands[0]).dtype);
    ValueId count = product(folded_dims(n));
    std::optional<Block> block = folded_block(n, index, b.i64(0), count, false);
    if (!block) return reduce_by_chunks(n, index);
    Instr instr = make(KOp::Reduce, {count});
    instr.reduce = n.as<ir::ReduceAttrs>().op;
    instr.dtype = from;
    if (short_rows && folded_dims(n) == short_rows->inner) instr.at_most = short_rows->most;
    instr.blocks.push_back(std::move(*block));
    if (gives_position(n.as<ir::ReduceAttrs>().op))
      return position(b, b.append(std::move(instr), {from, DType::I64})[1]);
    ValueId result = unmasked_zero(n, index, b.append(std::move(instr), {from})[0]);
    return round_to(b, type(n.results[0]).dtype, result);
  });
}

// Chunk after chunk, into workspace; as many of them as a chunk has elements are folded like elements, and so on.
ValueId Emitter::reduce_by_chunks(const ir::Node& n, const Index& index) {
  ReduceOp op = n.as<ir::ReduceAttrs>().op;
  DType acc = value_type(type(n.operands[0]).dtype), total = total_type(op, acc);
  std::vector<DType> types{total};
  if (gives_position(op)) types.push_back(DType::I64);
  ValueId count = product(folded_dims(n)), width = b.i64(kSumChunk);
  std::vector<ValueId> counts{chunk_count(count)}; // of the results of each level
  while (counts.size() < static_cast<size_t>(kSumLevels))
    counts.push_back(chunk_count(counts.back()));
  std::function<std::vector<ValueId>(size_t, ValueId)> group = [&](size_t level, ValueId first) {
    auto workspace = [&](DType dtype, const char* name) {
      return add_workspace(ParamKind::Local, dtype, SizeFormula::constant(kSumChunk), name);
    };
    ChunkAt at{workspace(total, "parts"), gives_position(op) ? workspace(DType::I64, "positions") : 0, {}};
    ValueId members = b.min(b.sub(counts[level], first), width);
    serial_loop(b.i64(0), members, [&](ValueId k) {
      ValueId number = b.add(first, k), begin = b.mul(number, width);
      std::vector<ValueId> results;
      if (level > 0) {
        results = group(level - 1, begin);
      } else {
        ValueId end = b.min(b.add(begin, width), count);
        Instr part = make(KOp::ReduceChunk, {begin, end});
        part.reduce = op;
        part.dtype = acc;
        part.blocks.push_back(*folded_block(n, index, begin, end, true));
        results = b.append(std::move(part), types);
      }
      b.store(at.parts, k, results[0]);
      if (gives_position(op)) b.store(at.positions, k, results[1]);
    });
    return fold_results(n, members, [&](ValueId k) { return ChunkAt{at.parts, at.positions, k}; });
  };
  return finish(n, index, group(counts.size() - 1, b.i64(0)));
}

// At least one: that of an empty reduction is the identity.
ValueId Emitter::chunk_count(ValueId elements) {
  return b.max(b.udiv(b.add(elements, b.i64(kSumChunk - 1)), b.i64(kSumChunk)), b.i64(1));
}

std::vector<ValueId> Emitter::fold_results(const ir::Node& n, ValueId count,
                                           const std::function<ChunkAt(ValueId number)>& at) {
  Instr fold = make(KOp::Reduce, {count});
  fold.reduce = n.as<ir::ReduceAttrs>().op;
  fold.dtype = total_type(fold.reduce, value_type(type(n.operands[0]).dtype));
  std::vector<DType> types{fold.dtype};
  if (gives_position(fold.reduce)) types.push_back(DType::I64);
  bool lanes = !b.in_lanes();
  ValueId k = b.open({DType::I64})[0];
  if (lanes) b.run_in_lanes();
  ChunkAt part = at(k);
  fold.blocks.push_back(b.close({b.load(part.parts, part.offset, false)}));
  std::vector<ValueId> results = b.append(std::move(fold), types);
  if (!gives_position(n.as<ir::ReduceAttrs>().op)) return results;
  ChunkAt best = at(results[1]);
  return {results[0], b.load(best.positions, best.offset, false)};
}

ValueId Emitter::finish(const ir::Node& n, const Index& index, const std::vector<ValueId>& folded) {
  return gives_position(n.as<ir::ReduceAttrs>().op) ? position(b, folded[1]) : finish_total(n, index, folded[0]);
}

ValueId Emitter::finish_total(const ir::Node& n, const Index& index, ValueId total) {
  DType acc = value_type(type(n.operands[0]).dtype);
  ValueId value = b.type(total) == acc ? total : b.pure(KOp::Convert, acc, {total});
  if (n.as<ir::ReduceAttrs>().op == ReduceOp::Sum && is_float(acc)) {
    // A sum of nothing is +0.0; the chunks' identity is -0.0.
    ValueId empty = b.eq(product(folded_dims(n)), b.i64(0));
    value = b.select(empty, b.constant(acc, Scalar{}), value);
    value = unmasked_zero(n, index, value);
  }
  return round_to(b, type(n.results[0]).dtype, value);
}

} // namespace tl::kir
