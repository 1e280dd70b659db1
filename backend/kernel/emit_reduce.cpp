// Reductions inside a kernel, whole or one chunk at a time.
#include "backend/kernel/loops.h"

namespace tl::kir {
namespace {

bool is_arg(ReduceOp op) { return op == ReduceOp::ArgMin || op == ReduceOp::ArgMax; }

} // namespace

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
  if (!lanes || !is_nonuniform(block, k)) return block;
  if (!chunk) return std::nullopt;

  std::vector<uint32_t> staged;
  for (ir::ValueId operand : n.operands)
    staged.push_back(take_staging(value_type(type(operand).dtype)));
  serial_loop(begin, end, [&](ValueId i) {
    std::vector<ValueId> values = elements(i);
    for (size_t v = 0; v < values.size(); ++v)
      b.store(staged[v], b.sub(i, begin), values[v]);
  });
  k = b.open({DType::I64})[0];
  b.run_in_lanes();
  yields.clear();
  for (uint32_t param : staged)
    yields.push_back(b.load(param, b.sub(k, begin), false));
  return b.close(std::move(yields));
}

ValueId Emitter::reduce(const ir::Node& n, const Index& index) {
  return at_level_of(n.results[0], index, [&] {
    DType from = value_type(type(n.operands[0]).dtype);
    ValueId count = product(folded_dims(n));
    std::optional<Block> block = folded_block(n, index, b.i64(0), count, false);
    if (!block) return reduce_by_chunks(n, index);
    Instr instr = make(KOp::Reduce, {count});
    instr.reduce = n.attrs.reduce;
    instr.dtype = from;
    instr.blocks.push_back(std::move(*block));
    if (is_arg(n.attrs.reduce)) return position(b, b.append(std::move(instr), {from, DType::I64})[1]);
    ValueId result = unmasked_zero(n, index, b.append(std::move(instr), {from})[0]);
    return round_to(b, type(n.results[0]).dtype, result);
  });
}

ValueId Emitter::reduce_by_chunks(const ir::Node& n, const Index& index) {
  ReduceOp op = n.attrs.reduce;
  DType acc = value_type(type(n.operands[0]).dtype), total = total_type(op, acc);
  ValueId count = product(folded_dims(n)), zero = b.i64(0), one = b.i64(1);
  // At least one chunk: an empty one gives the identity.
  ValueId chunks = b.max(b.udiv(b.add(count, b.i64(kSumChunk - 1)), b.i64(kSumChunk)), one);
  std::vector<DType> types{total};
  if (is_arg(op)) types.push_back(DType::I64);
  Instr loop = make(KOp::For, {zero, chunks, one});
  for (DType dtype : types)
    loop.operands.push_back(b.constant(dtype, Scalar{}));
  std::vector<DType> params = types;
  params.insert(params.begin(), DType::I64);
  std::vector<ValueId> p = b.open(params);
  ValueId begin = b.mul(p[0], b.i64(kSumChunk)), end = b.min(b.add(begin, b.i64(kSumChunk)), count);
  Instr part = make(KOp::ReduceChunk, {begin, end});
  part.reduce = op;
  part.dtype = acc;
  part.blocks.push_back(*folded_block(n, index, begin, end, true));
  std::vector<ValueId> next = b.append(std::move(part), types);
  ValueId first = b.eq(p[0], zero);
  loop.blocks.push_back(b.close(fold_totals(n, first, {p.begin() + 1, p.end()}, next)));
  std::vector<ValueId> results = b.append(std::move(loop), types);
  return is_arg(op) ? position(b, results[1]) : finish_total(n, index, results[0]);
}

std::vector<ValueId> Emitter::fold_totals(const ir::Node& n, ValueId first, const std::vector<ValueId>& totals,
                                          const std::vector<ValueId>& next) {
  ReduceOp op = n.attrs.reduce;
  DType acc = value_type(type(n.operands[0]).dtype);
  if (!is_arg(op)) return {b.select(first, next[0], combine(b, op, total_type(op, acc), totals[0], next[0]))};
  ValueId better = b.either(first, replaces(b, op, acc, totals[0], next[0]));
  return {b.select(better, next[0], totals[0]), b.select(better, next[1], totals[1])};
}

ValueId Emitter::finish_total(const ir::Node& n, const Index& index, ValueId total) {
  DType acc = value_type(type(n.operands[0]).dtype);
  ValueId value = b.type(total) == acc ? total : b.pure(KOp::Convert, acc, {total});
  if (n.attrs.reduce == ReduceOp::Sum && is_float(acc)) {
    // A sum of nothing is +0.0; the chunks' identity is -0.0.
    ValueId empty = b.eq(product(folded_dims(n)), b.i64(0));
    value = b.select(empty, b.constant(acc, Scalar{}), value);
    value = unmasked_zero(n, index, value);
  }
  return round_to(b, type(n.results[0]).dtype, value);
}

} // namespace tl::kir
