#include "backend/cpu/gemm_plan.h"
#include "abi/factors.h"

namespace tl::cpu {

namespace {

constexpr int64_t kMostInner = 4; // times inner_columns that a tile has

GemmPlan plan_dots(GemmPlan plan, bool sums_one_axis) {
  const SizeFormula one = number(1), lanes = number(plan.lanes), chunks = ceil_div(plan.k, number(kContractChunk));
  const int64_t bytes = size_of(plan.acc);
  plan.few_dots = sums_one_axis ? one - min(one, floor_div(plan.n, lanes)) : number(0);
  plan.pack_tiles = ceil_div(sums_one_axis ? plan.n : max(plan.n, plan.k), number(GemmPlan::kTableBlock));
  const SizeFormula blocks = plan.few_dots * plan.n + (one - plan.few_dots) * ceil_div(plan.n, lanes);
  plan.tiles = blocks * ceil_div(chunks, number(GemmPlan::kDotChunks));
  const SizeFormula length = min(plan.k, number(GemmPlan::kDotChunks * kContractChunk));
  plan.grain = max(one, floor_div(number(4000000 / bytes), max(one, min(plan.n, lanes) * length)));
  plan.combine_tiles = ceil_div(plan.n, number(GemmPlan::kCombinedDots));
  plan.combine_grain = max(one, floor_div(number(100), max(one, chunks)));
  const SizeFormula entries = number(2) * (plan.n + lanes) + number(2) * (sums_one_axis ? number(0) : plan.k);
  plan.table_bytes = ceil_div(entries * number(size_of(DType::I64)), number(64)) * number(64);
  plan.shared_bytes = plan.table_bytes + (plan.n * chunks + lanes) * number(bytes);
  plan.local_bytes = number(0);
  return plan;
}

// Wide tiles use packed A more often; with few rows to share out there are more and narrower ones.
SizeFormula columns_of_tile(const GemmPlan& plan, const SizeFormula& row_blocks) {
  const SizeFormula one = number(1), panels = ceil_div(plan.n, number(plan.nr));
  const int64_t inner = plan.inner_columns / plan.nr;
  const bool by_rows = plan.a == GemmPlan::ReadA::Rows;
  const int64_t least = by_rows ? (kLeastColumns + plan.nr - 1) / plan.nr : inner;
  const SizeFormula work = max(one, min(plan.m, number(plan.block_rows)) * plan.k); // of one column
  const SizeFormula worth = max(number(least), floor_div(number(kTileWork / plan.nr), work));
  SizeFormula most = number(inner);
  if (!by_rows) most = most + number((kMostInner - 1) * inner) * min(one, floor_div(row_blocks, number(4)));
  return min(most, max(worth, floor_div(row_blocks * panels, number(kTiles)))) * number(plan.nr);
}

} // namespace

GemmPlan plan_gemm(const kir::Kernel& kernel, bool avx512) {
  const kir::Gemm& gemm = kernel.gemm;
  enum { Batch, M, N, K, ABatch, ARow, ACol, BBatch, BRow, BCol };
  auto header = [&](int i) { return formula_of(kernel, gemm.header, gemm.header.yields[static_cast<size_t>(i)]); };
  // Strides are only asked whether they are known to be 0 or 1; they need not be formulas.
  auto known = [&](int i, int64_t value) {
    kir::ValueId id = gemm.header.yields[static_cast<size_t>(i)];
    for (const kir::Instr& instr : gemm.header.instrs)
      if (!instr.results.empty() && instr.results[0] == id)
        return instr.op == kir::KOp::Const && instr.imm.as<int64_t>() == value;
    return false;
  };

  GemmPlan plan{};
  plan.acc = gemm.type == DType::F16 || gemm.type == DType::BF16 ? DType::F32 : gemm.type;
  plan.a_type = kernel.params[gemm.a].dtype, plan.b_type = kernel.params[gemm.b].dtype;
  const bool narrow = plan.a_type != plan.acc || plan.b_type != plan.acc;
  plan.group = are_paired(plan.a_type, plan.b_type, plan.acc) ? 2 : 1;
  int64_t bytes = size_of(plan.acc);
  plan.lanes = (avx512 ? 64 : 32) / bytes;
  plan.mr = avx512 ? 8 : 6;
  plan.nr = plan.lanes * (avx512 ? 3 : 2);
  plan.block_rows = avx512 ? 128 : 120;
  // A chunk of the tile's part of B is about half a megabyte, half of a level-2 cache.
  plan.inner_columns = 960 / bytes / plan.nr * plan.nr;
  plan.joined_columns = avx512 ? plan.lanes : 0;
  using ReadA = GemmPlan::ReadA;
  plan.a = narrow ? ReadA::Packed : known(ACol, 1) ? ReadA::Rows : known(ARow, 1) ? ReadA::Columns : ReadA::Packed;
  const bool sums_one_axis = gemm.sum_axes <= 1;
  plan.a_contiguous = sums_one_axis && known(ACol, 1);
  if (!gemm.a_sums_evenly || gemm.row_axes > 0) plan.a = ReadA::Packed;
  plan.tables = gemm.column_axes > 0 || !sums_one_axis;
  plan.scattered = gemm.row_axes > 0;
  plan.dots = gemm.dots;
  plan.by_tables = plan.tables && !gemm.b_columns_evenly;
  plan.b_contiguous = !plan.by_tables && known(BCol, 1);
  plan.b_transposed = !plan.by_tables && !plan.b_contiguous && sums_one_axis && known(BRow, 1);
  const kir::Block& epilogue = gemm.epilogue;
  plan.in_c = gemm.row_axes == 0 && epilogue.yields[0] == epilogue.params[3] && kernel.params[gemm.c].dtype == plan.acc;

  plan.batch = header(Batch), plan.m = header(M), plan.n = header(N), plan.k = header(K);
  // A tile packs its part of B for itself: the more rows, the fewer times. But of few columns the tiles are few.
  const std::optional<int64_t> rows = constant_of(plan.m), columns = constant_of(plan.n);
  if (rows && columns) {
    auto blocks = [](int64_t x, int64_t size) { return (x + size - 1) / size; };
    const bool is_worth = plan.a == ReadA::Rows && (plan.tables || *rows <= 2 * plan.block_rows);
    if (is_worth && blocks(*rows, 2 * plan.block_rows) * blocks(*columns, plan.nr) >= kSplitTiles)
      plan.block_rows *= 2;
    else if (*columns <= 2 * plan.nr && *rows > plan.block_rows / 2 && *rows < 4 * plan.block_rows)
      plan.block_rows /= 2;
  }
  SizeFormula one = number(1);
  plan.b_batches = min(plan.batch, one);
  for (uint32_t axis = 0; axis < (gemm.is_plain ? 1 : gemm.batch_axes); ++axis) {
    const int count = gemm.is_plain ? Batch : 13 + 4 * static_cast<int>(axis);
    plan.b_moves.push_back(!known(gemm.is_plain ? BBatch : count + 2, 0));
    if (plan.b_moves.back()) plan.b_batches = gemm.is_plain ? plan.batch : plan.b_batches * header(count);
  }
  const bool may_stream = !narrow && !plan.dots && (plan.b_contiguous || plan.b_transposed);
  plan.streams = may_stream && is_number(plan.m, 1);
  plan.may_stream = may_stream && !constant_of(plan.m) && !plan.tables;
  const SizeFormula row_blocks = plan.batch * ceil_div(plan.m, number(plan.block_rows));
  plan.block_columns = columns_of_tile(plan, row_blocks);
  const auto column_blocks = [&](int64_t joined) {
    return ceil_div(max(plan.n - number(joined), min(plan.n, one)), plan.block_columns);
  };
  plan.column_blocks = column_blocks(plan.joined_columns);
  auto below = [&](const SizeFormula& x, int64_t bound) { return one - min(one, floor_div(x, number(bound))); };
  plan.split = plan.streams ? number(0)
                            : min(one, floor_div(plan.k, number(kSplitLength))) * below(plan.m, kSplitRows + 1) *
                                  below(row_blocks * plan.column_blocks, kSplitTiles);
  plan.in_place = plan.b_contiguous && !plan.tables && sums_one_axis && !narrow;
  plan.may_split = !is_number(plan.split, 0);
  if (plan.streams) {
    plan.block_rows = 1;
    plan.inner_columns = plan.b_contiguous ? 1024 / bytes : plan.lanes;
    plan.a = ReadA::Rows;
    plan.pack = number(0);
  } else if (plan.tables) {
    plan.pack = number(0);
  } else { // what a tile packs for itself is packed once for each block of rows
    plan.pack = min(floor_div(plan.m, number(kPackBlocks * plan.block_rows)), one);
  }
  plan.pack = plan.pack * (one - plan.split);
  // Of a B that is read where it lies packing pays for itself if it is read often and does not stay in cache by itself.
  plan.pack_here = one - plan.pack;
  if (plan.in_place)
    plan.pack_here = plan.pack_here * min(floor_div(plan.m, number(kPackRows)), one) *
                     min(floor_div(plan.k * plan.n * number(bytes), number(kPackBytes)), one);
  plan.has_pack_phase = !is_number(plan.pack, 0);
  SizeFormula panels = ceil_div(plan.n, number(plan.nr));
  plan.pack_tiles = plan.pack * plan.b_batches * panels * ceil_div(plan.k, number(kContractChunk));
  plan.pack_grain = number(4);
  if (plan.tables) {
    plan.has_pack_phase = true;
    plan.pack_tiles = ceil_div(max(max(plan.n, plan.scattered ? plan.m : one), plan.k), number(GemmPlan::kTableBlock));
  }
  if (plan.streams) {
    plan.block_columns = number(plan.inner_columns);
    if (!plan.b_contiguous) // short columns: a few vectors of them, as a tile costs something by itself
      plan.block_columns = plan.block_columns * min(number(8), max(one, floor_div(number(4096), max(plan.k, one))));
    plan.column_blocks = column_blocks(0);
  }
  const SizeFormula chunks = ceil_div(plan.k, number(kContractChunk));
  const SizeFormula blocks = (plan.streams ? plan.batch : row_blocks) * plan.column_blocks;
  plan.tiles = blocks * (one + plan.split * (chunks - one));
  plan.combine_tiles = plan.split * plan.batch * ceil_div(plan.m, number(kCombinedRows));
  plan.combine_grain = number(1);
  // About 100 us: of multiply-adds, 40 a nanosecond; of reading what is in no near cache, 20 bytes a nanosecond.
  SizeFormula work = max(one, min(plan.m, number(plan.block_rows)) * min(plan.n, plan.block_columns));
  const SizeFormula depth = plan.k - plan.split * (plan.k - number(kContractChunk));
  work = max(one, work * depth);
  plan.grain = max(one, floor_div(number((plan.streams ? 500000 : 4000000) * 4 / bytes), work));

  plan.has_combine_phase = plan.may_split || plan.dots;
  plan.table_bytes = number(0);
  if (plan.tables) {
    SizeFormula entries = plan.n + number(plan.nr) + plan.k * number(2);
    if (plan.scattered) entries = entries + plan.n + number(plan.lanes) + number(2) * plan.m;
    plan.table_bytes = ceil_div(entries * number(size_of(DType::I64)), number(64)) * number(64);
  }
  // Of a product that is split, C is less than kSplitTiles tiles.
  const int64_t most_columns = kMostInner * plan.inner_columns + plan.joined_columns + plan.nr;
  const SizeFormula sums_of_chunk =
      min(panels * number(plan.nr) * plan.batch * plan.m, number(kSplitTiles * plan.block_rows * most_columns));
  plan.shared_bytes = plan.table_bytes + panels * number(plan.nr * bytes) * plan.pack * plan.b_batches * plan.k +
                      number(bytes) * plan.split * sums_of_chunk * chunks;
  plan.a_bytes = number(plan.a == ReadA::Rows ? 0 : plan.block_rows * kContractChunk * bytes);
  plan.sums_row = min(plan.block_columns + number(plan.joined_columns), panels * number(plan.nr));
  plan.panel_bytes = number(!plan.streams       ? plan.nr * kContractChunk * bytes
                            : plan.b_contiguous ? plan.inner_columns * bytes
                                                : 2 * 16 * (kContractChunk + plan.lanes));
  plan.local_bytes = plan.a_bytes + plan.panel_bytes;
  if (plan.dots) return plan_dots(plan, sums_one_axis);
  const std::optional<int64_t> length = constant_of(plan.k);
  const int64_t sums = length && *length <= kContractChunk ? plan.mr : plan.block_rows; // rows
  if (!plan.in_c) plan.local_bytes = plan.local_bytes + number(sums * bytes) * plan.sums_row;
  return plan;
}

} // namespace tl::cpu
