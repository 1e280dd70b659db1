// Maps that read something across: out[…, i, …, j] from in[…, j, …, i]. Read row by row of the output, every element
// is in another line of the cache. Here a tile is a block of both axes: what is read across goes through workspace,
// transposed, and the loops read that along j.
#include "backend/kernel/forms.h"

namespace tl::kir {
namespace {

constexpr int64_t kRows = 64, kColumns = 64; // of a tile: along the axis, and along the last one

class Transposed {
public:
  Transposed(Emitter& e, size_t axis) : e_(e), b_(e.b), axis_(axis), dims_(e.type(e.region().yields[0]).dims) {}

  // Was anything read across?
  bool run() {
    const ir::Dim &rows = dims_[axis_], &columns = dims_.back();
    std::vector<ir::Dim> others;
    for (size_t i = 0; i + 1 < dims_.size(); ++i)
      if (i != axis_) others.push_back(dims_[i]);
    auto blocks = [&](const ir::Dim& dim, int64_t of) {
      return ceil_div(e_.formula(std::span(&dim, 1)), SizeFormula::constant(of));
    };
    std::vector<size_t> results(e_.region().yields.size());
    for (size_t i = 0; i < results.size(); ++i)
      results[i] = i;
    phase(e_, times(e_.formula(others), times(blocks(rows, kRows), blocks(columns, kColumns))), [&](ValueId tile) {
      auto block = [&](ValueId& number, const ir::Dim& dim, int64_t of, ValueId& begin, ValueId& end) {
        ValueId size = e_.size(dim), count = b_.udiv(b_.add(size, b_.i64(of - 1)), b_.i64(of));
        begin = b_.mul(b_.urem(number, count), b_.i64(of));
        end = b_.min(b_.add(begin, b_.i64(of)), size);
        number = b_.udiv(number, count);
      };
      ValueId rest = tile;
      block(rest, columns, kColumns, first_column_, end_column_);
      block(rest, rows, kRows, first_row_, end_row_);
      Index other = e_.decompose(rest, others);
      level_ = b_.current();
      e_.load_from = [&](ir::ValueId v, const Index& index) { return staged(v, index); };
      e_.serial_loop(first_row_, end_row_, [&](ValueId row) {
        row_ = row;
        e_.vector_loop(first_column_, end_column_, [&](ValueId column) {
          column_ = column;
          Index index;
          for (size_t i = 0, next = 0; i + 1 < dims_.size(); ++i)
            index.push_back(i == axis_ ? row : other[next++]);
          index.push_back(column);
          store_outputs(e_, results, index);
        });
      });
      e_.load_from = nullptr;
    });
    return !workspaces_.empty();
  }

private:
  bool of_tile(ValueId v) const { return b_.level(v) <= level_; }

  // x as loop variable + something of the whole tile: that, else nothing.
  std::optional<ValueId> beyond(ValueId x, ValueId variable) {
    if (x == variable) return b_.i64(0);
    const Instr* sum = b_.definition(x);
    if (!sum || sum->op != KOp::Add) return std::nullopt;
    for (size_t side = 0; side < 2; ++side)
      if (sum->operands[side] == variable && of_tile(sum->operands[1 - side])) return sum->operands[1 - side];
    return std::nullopt;
  }

  // An element of an input that is read across, from workspace.
  std::optional<ValueId> staged(ir::ValueId v, const Index& index) {
    const std::vector<ir::Dim>& dims = e_.type(v).dims;
    if (b_.barrier() > level_ || index.size() < 2) return std::nullopt;
    std::optional<size_t> along_row, along_column;
    Index start = index;
    for (size_t i = 0; i < index.size(); ++i) {
      if (of_tile(index[i])) continue;
      if (auto more = beyond(index[i], row_); more && !along_row) {
        along_row = i;
        start[i] = b_.add(first_row_, *more);
      } else if (more = beyond(index[i], column_); more && !along_column) {
        along_column = i;
        start[i] = b_.add(first_column_, *more);
      } else {
        return std::nullopt;
      }
    }
    if (!along_row || !along_column || *along_row < *along_column) return std::nullopt;
    for (size_t i = *along_row + 1; i < dims.size(); ++i)
      if (!dims[i].is_constant() || dims[i].constant != 1) return std::nullopt; // not side by side in memory
    auto [found, is_new] = workspaces_.try_emplace({v, index});
    if (is_new) {
      uint32_t param = found->second =
          e_.add_workspace(ParamKind::Local, e_.type(v).dtype, SizeFormula::constant(kRows * kColumns), "across");
      std::vector<Builder::Scope> loops = b_.suspend(level_);
      Instr copy = make(KOp::CopyTransposed,
                        {e_.linearise(start, dims), e_.product(std::span(dims).subspan(*along_column + 1)),
                         b_.sub(end_column_, first_column_), b_.sub(end_row_, first_row_), b_.i64(kColumns)});
      copy.param = param;
      copy.source = e_.param_of(v);
      b_.append(std::move(copy), {});
      b_.resume(std::move(loops));
    }
    ValueId row = b_.mul(b_.sub(row_, first_row_), b_.i64(kColumns));
    return b_.load(found->second, b_.add(row, b_.sub(column_, first_column_)), false);
  }

  Emitter& e_;
  Builder& b_;
  const size_t axis_;
  const std::vector<ir::Dim>& dims_;
  int level_ = 0; // of the tile
  ValueId first_row_, end_row_, first_column_, end_column_, row_, column_;
  std::map<std::pair<ir::ValueId, Index>, uint32_t> workspaces_; // of elements of an input
};

} // namespace

bool lower_transposed(Emitter& e, size_t axis) { return Transposed(e, axis).run(); }

} // namespace tl::kir
