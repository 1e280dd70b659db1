// Updates in place, scatters and running folds.
#include "backend/kernel/forms.h"

namespace tl::kir {

// Only the slice is written: the output starts as a copy of the updated operand, or in its memory.
void lower_update(Emitter& e, const Layout& layout) {
  const ir::Node& n = e.producer(e.region().yields[0]);
  ir::ValueId value = n.operands[1];
  const ir::Type& type = e.type(n.results[0]);
  const std::vector<ir::Dim>& dims = e.type(value).dims;
  uint32_t out = e.output_param(0);
  phase(e, space_tiles(e, dims, layout, kBlock), [&](ValueId tile) {
    loop_over_tile(e, tile, dims, layout, kBlock, [&](const Index& index) {
      Builder& b = e.b;
      Index at;
      for (size_t i = 0; i + 2 < n.operands.size(); ++i) {
        ValueId start = e.scalar(n.operands[i + 2]);
        at.push_back(index.empty() ? start : b.add(start, b.mul(index[i], b.i64(n.attrs.ints[i]))));
      }
      ValueId v = e.pull(value, index);
      ValueId offset = e.linearise(at, type.dims);
      if (n.attrs.update == ir::UpdateMode::Add)
        v = expand(b, ScalarOp::Add, type.dtype, {b.load(out, offset, false), v});
      b.store(out, offset, v);
    });
  });
}

// Rows are taken in order (the last of repeats wins, sums add up in order), so tiles share the columns, not the rows.
void lower_scatter(Emitter& e) {
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
            if (n.attrs.update == ir::UpdateMode::Add)
              v = expand(b, ScalarOp::Add, type.dtype, {b.load(out, offset, false), v});
            b.store(out, offset, v);
          };
          if (b.constant_of(width) == 1)
            element(b.i64(0));
          else
            e.vector_loop(lo, hi, element);
        });
      },
      times(e.formula(e.type(idx).dims), SizeFormula::constant(64)));
}

// A running fold along one axis: each element is the one before it, as stored, with the operand's element folded in.
// Along the last axis a tile is a row; else a block of columns, one row after the other.
void lower_scan(Emitter& e, const KernelShape&) {
  constexpr int64_t kColumns = 1024;
  const ir::Node& n = e.producer(e.region().yields[0]);
  const ir::Type& type = e.type(n.results[0]);
  size_t axis = static_cast<size_t>(n.attrs.ints[0]);
  std::vector<ir::Dim> before(type.dims.begin(), type.dims.begin() + static_cast<ptrdiff_t>(axis));
  std::vector<ir::Dim> after(type.dims.begin() + static_cast<ptrdiff_t>(axis) + 1, type.dims.end());
  ir::Dim length = type.dims[axis];
  uint32_t out = e.output_param(0);
  Builder& b = e.b;
  auto full_index = [&](const Index& prefix, ValueId k, const Index& rest) {
    Index full = prefix;
    full.push_back(k);
    full.insert(full.end(), rest.begin(), rest.end());
    return full;
  };
  SizeFormula blocks = ceil_div(e.formula(after), SizeFormula::constant(after.empty() ? 1 : kColumns));
  phase(
      e, times(e.formula(before), blocks),
      [&](ValueId tile) {
        ValueId n_k = e.size(length), zero = b.i64(0), one = b.i64(1);
        if (after.empty()) {
          Index prefix = e.decompose(tile, before);
          // Carried in a register, rounded as stored. The first element is the operand's own.
          ir::ValueId x = n.operands[0];
          ValueId identity = b.constant(value_type(type.dtype), Scalar{});
          Instr loop = make(KOp::For, {zero, n_k, one, identity});
          std::vector<ValueId> p = b.open({DType::I64, b.type(identity)});
          Index at = full_index(prefix, p[0], {});
          ValueId v = e.pull(x, at);
          ValueId folded = combine(b, n.attrs.reduce, type.dtype, p[1], v);
          ValueId result = b.select(b.eq(p[0], zero), v, folded);
          b.store(out, e.linearise(at, type.dims), result);
          loop.blocks.push_back(b.close({result}));
          b.append(std::move(loop), {b.type(identity)});
          return;
        }
        ValueId width = e.product(after);
        ValueId count = b.udiv(b.add(width, b.i64(kColumns - 1)), b.i64(kColumns));
        ValueId row = before.empty() ? zero : b.udiv(tile, count), block = before.empty() ? tile : b.urem(tile, count);
        Index prefix = e.decompose(row, before);
        ValueId lo = b.mul(block, b.i64(kColumns)), hi = b.min(b.add(lo, b.i64(kColumns)), width);
        auto rows = [&](ValueId from, ValueId to, bool first) {
          e.serial_loop(from, to, [&](ValueId k) {
            e.vector_loop(lo, hi, [&](ValueId j) {
              Index at = full_index(prefix, k, e.decompose(j, after));
              ValueId v = e.pull(n.operands[0], at), offset = e.linearise(at, type.dims);
              if (!first) v = combine(b, n.attrs.reduce, type.dtype, b.load(out, b.sub(offset, width), false), v);
              b.store(out, offset, v);
            });
          });
        };
        rows(zero, b.min(one, n_k), true);
        rows(one, n_k, false);
      },
      times(e.formula(std::vector{length}), SizeFormula::constant(after.empty() ? 1 : 64)));
}

} // namespace tl::kir
