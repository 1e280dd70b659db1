// Maps that read something across: out[…, i, …, j] from in[…, j, …, i]. Read row by row of the output, every element
// is in another line of the cache. Here a tile is a block of both axes: what is read across goes through workspace,
// transposed, and the loops read that along j.
//
// Neighbouring axes that are neighbours in all that is read are one axis here. Where the last one is short, and the
// other right before it, a tile is as many whole rows of it as are one stretch of the output: a loop over short rows
// would be mostly its own beginning and end.
#include "backend/kernel/forms.h"

namespace tl::kir {
namespace {

constexpr int64_t kRows = 64, kColumns = 64; // of a tile: along the axis, and along the last one
constexpr int64_t kShort = 48;               // columns, at most, of whole rows

struct Range { // of axes
  size_t first, count;
};

// Neighbouring axes of the output that nothing keeps apart.
std::vector<Range> merged_axes(const Emitter& e) {
  const ir::Region& region = e.region();
  const std::vector<ir::Dim>& dims = e.type(region.yields[0]).dims;
  std::vector<bool> with_next(dims.size(), true);
  Emitter::AxisMap own;
  for (size_t i = 0; i < dims.size(); ++i)
    own.push_back(i);
  bool all = true;
  auto learn = [&](ir::ValueId v, const Emitter::AxisMap& map) {
    std::vector<std::optional<size_t>> at(dims.size()); // of each axis of the output, that of v
    for (size_t i = 0; i < map.size(); ++i)
      if (map[i]) at[*map[i]] = i;
    for (size_t i = 0; i + 1 < dims.size(); ++i) {
      if (!at[i] && !at[i + 1]) continue;
      if (!at[i] || !at[i + 1] || *at[i] + 1 != *at[i + 1] || e.type(v).dims[*at[i + 1]] != dims[i + 1])
        with_next[i] = false;
    }
  };
  std::set<std::pair<uint32_t, Emitter::AxisMap>> seen;
  for (ir::ValueId yield : region.yields)
    all &= e.each_access(yield, own, learn, seen);
  std::vector<Range> merged;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0 && all && with_next[i - 1])
      ++merged.back().count;
    else
      merged.push_back({i, 1});
  }
  return merged;
}

class Transposed {
public:
  Transposed(Emitter& e, Range rows, Range columns)
      : e_(e), b_(e.b), rows_(rows), columns_(columns), dims_(e.type(e.region().yields[0]).dims) {
    for (size_t i = 0; i < e.region().yields.size(); ++i)
      results_.push_back(i);
  }

  // Was anything read across?
  bool run() {
    const bool may_be_short = rows_.first + rows_.count == columns_.first;
    SizeFormula tiles = times(e_.formula(others()), times(blocks(row_dims(), kRows), blocks(column_dims(), kColumns)));
    if (may_be_short) {
      // Each way has its phase, and one of them no tiles.
      const SizeFormula length = e_.formula(column_dims()), is_short = is_at_most(length, kShort);
      const SizeFormula height = floor_div(SizeFormula::constant(kRows * kColumns), at_least_one(length));
      const SizeFormula whole = ceil_div(e_.formula(row_dims()), at_least_one(height));
      phase(e_, times(times(e_.formula(others()), whole), is_short), [&](ValueId tile) { whole_rows(tile); });
      workspaces_.clear();
      tiles = times(tiles, minus(SizeFormula::constant(1), is_short));
    }
    phase(e_, tiles, [&](ValueId tile) { block(tile); });
    return !workspaces_.empty();
  }

private:
  std::span<const ir::Dim> row_dims() const { return std::span(dims_).subspan(rows_.first, rows_.count); }
  std::span<const ir::Dim> column_dims() const { return std::span(dims_).subspan(columns_.first, columns_.count); }
  std::vector<ir::Dim> others() const {
    std::vector<ir::Dim> others;
    for (size_t i = 0; i < columns_.first; ++i)
      if (i < rows_.first || i >= rows_.first + rows_.count) others.push_back(dims_[i]);
    return others;
  }
  SizeFormula blocks(std::span<const ir::Dim> dims, int64_t of) const {
    return ceil_div(e_.formula(dims), SizeFormula::constant(of));
  }

  // The index of an element, its row's and column's parts being `row` and `column`.
  Index index_of(const Index& other, const Index& row, const Index& column) const {
    Index index(other.begin(), other.begin() + static_cast<ptrdiff_t>(rows_.first));
    index.insert(index.end(), row.begin(), row.end());
    index.insert(index.end(), other.begin() + static_cast<ptrdiff_t>(rows_.first), other.end());
    index.insert(index.end(), column.begin(), column.end());
    return index;
  }
  ValueId cut(ValueId& number, ValueId size, ValueId of) { // which block of so many; leaves the number of the rest
    const ValueId count = b_.udiv(b_.add(size, b_.sub(of, b_.i64(1))), of), begin = b_.mul(b_.urem(number, count), of);
    number = b_.udiv(number, count);
    return begin;
  }

  void block(ValueId tile) {
    const ValueId height = e_.product(row_dims()), width = e_.product(column_dims());
    ValueId rest = tile;
    first_column_ = cut(rest, width, b_.i64(kColumns));
    end_column_ = b_.min(b_.add(first_column_, b_.i64(kColumns)), width);
    first_row_ = cut(rest, height, b_.i64(kRows));
    end_row_ = b_.min(b_.add(first_row_, b_.i64(kRows)), height);
    pitch_ = b_.i64(kColumns);
    const Index other = e_.decompose(rest, others());
    inside([&] {
      e_.serial_loop(first_row_, end_row_, [&](ValueId row) {
        row_ = e_.decompose(row, row_dims());
        e_.vector_loop(first_column_, end_column_, [&](ValueId column) {
          column_ = e_.decompose(column, column_dims());
          place_ = b_.add(b_.mul(b_.sub(row, first_row_), pitch_), b_.sub(column, first_column_));
          store_outputs(e_, results_, index_of(other, row_, column_));
        });
      });
    });
  }

  // A tile of whole short rows.
  void whole_rows(ValueId tile) {
    const ValueId height = e_.product(row_dims()), width = e_.product(column_dims());
    const ValueId at_once = b_.max(b_.udiv(b_.i64(kRows * kColumns), b_.max(width, b_.i64(1))), b_.i64(1));
    ValueId rest = tile;
    first_column_ = b_.i64(0), end_column_ = width;
    first_row_ = cut(rest, height, at_once);
    end_row_ = b_.min(b_.add(first_row_, at_once), height);
    pitch_ = width;
    const Index other = e_.decompose(rest, others());
    std::vector<ir::Dim> both(row_dims().begin(), row_dims().end());
    both.insert(both.end(), column_dims().begin(), column_dims().end());
    const ValueId first = b_.mul(first_row_, width);
    inside([&] {
      e_.vector_loop(first, b_.mul(end_row_, width), [&](ValueId at) {
        const Index parts = e_.decompose(at, both);
        row_.assign(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(rows_.count));
        column_.assign(parts.begin() + static_cast<ptrdiff_t>(rows_.count), parts.end());
        place_ = b_.sub(at, first);
        store_outputs(e_, results_, index_of(other, row_, column_));
      });
    });
  }

  void inside(const std::function<void()>& loops) {
    level_ = b_.current();
    e_.load_from = [&](ir::ValueId v, const Index& index) { return staged(v, index); };
    loops();
    e_.load_from = nullptr;
  }

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

  // Where the parts of a row's or column's number are in an index, and what is added to it there.
  struct Found {
    size_t axis;
    ValueId more;
  };
  std::optional<Found> find(const Index& index, const Index& parts) {
    for (size_t i = 0; i + parts.size() <= index.size(); ++i) {
      if (parts.size() == 1) {
        if (auto more = beyond(index[i], parts[0])) return Found{i, *more};
      } else if (std::equal(parts.begin(), parts.end(), index.begin() + static_cast<ptrdiff_t>(i))) {
        return Found{i, b_.i64(0)};
      }
    }
    return std::nullopt;
  }

  // An element of an input that is read across, from workspace.
  std::optional<ValueId> staged(ir::ValueId v, const Index& index) {
    const std::vector<ir::Dim>& dims = e_.type(v).dims;
    if (b_.barrier() > level_ || index.size() < rows_.count + columns_.count) return std::nullopt;
    const auto along_row = find(index, row_), along_column = find(index, column_);
    if (!along_row || !along_column || along_row->axis < along_column->axis) return std::nullopt;
    auto is_in = [](size_t axis, const Found& found, size_t count) {
      return axis >= found.axis && axis < found.axis + count;
    };
    for (size_t i = 0; i < index.size(); ++i)
      if (!is_in(i, *along_row, rows_.count) && !is_in(i, *along_column, columns_.count) && !of_tile(index[i]))
        return std::nullopt;
    for (size_t i = along_row->axis + rows_.count; i < dims.size(); ++i)
      if (!dims[i].is_constant() || dims[i].constant != 1) return std::nullopt; // not side by side in memory
    auto [found, is_new] = workspaces_.try_emplace({v, index});
    if (is_new) {
      const uint32_t param = found->second = e_.add_workspace(
          ParamKind::Local, e_.type(v).dtype, SizeFormula::constant(kRows * kColumns + kTransposeSlack), "across");
      std::vector<Builder::Scope> loops = b_.suspend(level_);
      Index start = index;
      auto begin = [&](const Found& at, ValueId first, Range range) {
        const Index parts = e_.decompose(b_.add(first, at.more), std::span(dims).subspan(at.axis, range.count));
        std::copy(parts.begin(), parts.end(), start.begin() + static_cast<ptrdiff_t>(at.axis));
      };
      begin(*along_row, first_row_, rows_);
      begin(*along_column, first_column_, columns_);
      Instr copy =
          make(KOp::CopyTransposed,
               {e_.linearise(start, dims), e_.product(std::span(dims).subspan(along_column->axis + columns_.count)),
                b_.sub(end_column_, first_column_), b_.sub(end_row_, first_row_), pitch_});
      copy.param = param;
      copy.source = e_.param_of(v);
      b_.append(std::move(copy), {});
      b_.resume(std::move(loops));
    }
    return b_.load(found->second, place_, false);
  }

  Emitter& e_;
  Builder& b_;
  const Range rows_, columns_; // axes of the output
  const std::vector<ir::Dim>& dims_;
  std::vector<size_t> results_;
  int level_ = 0; // of the tile
  ValueId first_row_, end_row_, first_column_, end_column_, pitch_;
  Index row_, column_;                                           // the parts of their numbers
  ValueId place_;                                                // of the element in workspace
  std::map<std::pair<ir::ValueId, Index>, uint32_t> workspaces_; // of elements of an input
};

} // namespace

size_t transposed_ways(const Emitter& e) { return merged_axes(e).size() - 1; }

bool lower_transposed(Emitter& e, size_t way) {
  const std::vector<Range> axes = merged_axes(e);
  const Range rows = axes[axes.size() - 2 - way];
  const std::span<const ir::Dim> dims = std::span(e.type(e.region().yields[0]).dims).subspan(rows.first, rows.count);
  // Where what lies side by side is a few elements, known at compile time, vectors are read from where they are.
  if (rows.count == 1 && dims[0].is_constant() && dims[0].constant < 8) return false;
  return Transposed(e, rows, axes.back()).run();
}

} // namespace tl::kir
