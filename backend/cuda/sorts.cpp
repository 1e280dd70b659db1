#include "backend/cuda/sorts.h"
#include "backend/cpu/workspace.h"
#include "backend/cuda/print.h"
#include <fmt/format.h>

namespace tl {
namespace {

constexpr std::string_view kText = R"CUDA(
// What a launch passes: sizes, then x[rows, n] and the result[rows, k].
struct Arguments {
  i64 tile_begin, tile_end; char* shared; char* local; i64 local_bytes; tl_errors* errors; u32* failed;
  i64 group;
  i64* rows_at; i64 rows; i64* n_at; i64 n; i64* k_at; i64 k; i64* type_at; i64 type;
  const Element* x; Result* result;
};

enum { kThreads = 256, kWarps = kThreads / 32, kTile = kThreads * kItems, kDigits = 256, kMostChunks = 1024 };

// An unsigned number in the order of the elements: equals have one, NaN the greatest.
inline Element key(Element bits) {
  Element magnitude = Element(bits & ~kSign);
  Element key = Element(bits ^ (bits & kSign ? kNegative : kPositive));
  if (kFloats) key = magnitude > kInfinity ? Element(~Element(0)) : magnitude == 0 ? kSign : key;
  return kDescending ? Element(~key) : key;
}
inline u32 digit(Element bits, int pass) { return u32(key(bits) >> 8 * pass) & 255u; }

// Of the threads of a block with lesser numbers, the values together.
struct Sums { u32 of_warp[kWarps]; };
inline u32 sum_before(Sums& s, u32 value) {
  u32 sum = value, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int step = 1; step < 32; step *= 2) {
    u32 other = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == 31) s.of_warp[warp] = sum;
  __syncthreads();
  for (u32 w = 0; w < warp; ++w) sum += s.of_warp[w];
  __syncthreads();
  return sum - value;
}

// ---- a tile in shared memory ----------------------------------------------------------------------------------------

struct Tile {
  Element keys[kTile];               // the elements, and
  u32 places[kValues ? 1 : kTile];   // where in the row they come from
  u32 lanes[kWarps][kDigits];        // of a warp that have this digit; zeros between uses
  u16 counts[kWarps][kDigits];       // of elements so far, then in all warps before
  u32 starts[kDigits];
  Sums sums;
};

// Of item j of a thread, where each warp has a part of the tile and neighbours are read together.
inline u32 index(int items, int j) { return (threadIdx.x / 32 * items + j) * 32 + threadIdx.x % 32; }

inline void clear(Tile& t) {
  for (u32 i = threadIdx.x % 32; i < kDigits; i += 32) t.lanes[threadIdx.x / 32][i] = 0;
  __syncwarp();
}

// Puts `count` elements that threads hold into shared memory in the order of a digit, stably. Gives thread d how many
// have the digit d; starts[d] is where they begin. What is beyond `count` goes behind all.
inline u32 order(Tile& t, const Element* keys, const u32* places, int items, u32 count, int pass) {
  u32 lane = threadIdx.x % 32;
  u32* lanes = t.lanes[threadIdx.x / 32];
  u16* counts = t.counts[threadIdx.x / 32];
  for (u32 i = lane; i < kDigits; i += 32) counts[i] = 0;
  __syncwarp();
  u32 ranks[kItems];
#pragma unroll
  for (int j = 0; j < kItems; ++j) {
    if (j >= items) break;
    u32 d = index(items, j) < count ? digit(keys[j], pass) : 255u;
    atomicOr(&lanes[d], 1u << lane);
    __syncwarp();
    u32 same = lanes[d], before = counts[d];
    __syncwarp();
    ranks[j] = before + __popc(same & ((1u << lane) - 1u)) | d << 16;
    if (same >> lane == 1u) {
      counts[d] = u16(before + __popc(same));
      lanes[d] = 0;
    }
    __syncwarp();
  }
  __syncthreads();
  u32 sum = 0;
  for (int w = 0; w < kWarps; ++w) {
    u32 more = t.counts[w][threadIdx.x];
    t.counts[w][threadIdx.x] = u16(sum);
    sum += more;
  }
  t.starts[threadIdx.x] = sum_before(t.sums, sum);
  __syncthreads();
#pragma unroll
  for (int j = 0; j < kItems; ++j) {
    if (j >= items) break;
    u32 d = ranks[j] >> 16, at = t.starts[d] + counts[d] + (ranks[j] & 0xffffu);
    t.keys[at] = keys[j];
    if (!kValues) t.places[at] = places[j];
  }
  __syncthreads();
  return sum;
}

// ---- short rows -----------------------------------------------------------------------------------------------------

// Several rows of at most 256 elements.
TL_KERNEL(sort_few, Arguments) {
  __shared__ Element keys[kThreads];
  u32 n = u32(a.n), rows = kThreads / n, i = threadIdx.x % n, first = threadIdx.x - i;
  const Element* x = tl_at(a.x);
  Result* result = tl_at(a.result);
  for (i64 tile = a.tile_begin + blockIdx.x; tile < a.tile_end; tile += gridDim.x) {
    i64 row = tile * rows + threadIdx.x / n;
    bool there = threadIdx.x < rows * n && row < a.rows;
    Element bits = there ? x[row * n + i] : Element(0), mine = key(bits);
    keys[threadIdx.x] = mine;
    __syncthreads();
    if (there) {
      u32 rank = 0;
      for (u32 j = 0; j < n; ++j) {
        Element other = keys[first + j];
        rank += other < mine || (other == mine && j < i);
      }
      if (rank < a.k) result[row * a.k + rank] = kValues ? Result(bits) : Result(i);
    }
    __syncthreads();
  }
}

// A row that is a tile.
TL_KERNEL(sort_row, Arguments) {
  __shared__ Tile t;
  u32 n = u32(a.n);
  int items = int((n + kThreads - 1) / kThreads);
  clear(t);
  for (i64 row = a.tile_begin + blockIdx.x; row < a.tile_end; row += gridDim.x) {
    const Element* x = tl_at(a.x) + row * n;
    Element keys[kItems], first = key(x[0]), differing = 0;
    u32 places[kItems];
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      if (j >= items) break;
      u32 i = index(items, j);
      keys[j] = i < n ? x[i] : Element(0);
      places[j] = i;
      if (i < n) differing |= key(keys[j]) ^ first;
    }
    for (int pass = 0; pass < kPasses; ++pass) {
      // The first comes in any case, since it puts them into shared memory.
      if (pass > 0 && !__syncthreads_or((differing >> 8 * pass & 255u) != 0)) continue;
      if (pass > 0) {
#pragma unroll
        for (int j = 0; j < kItems; ++j) {
          if (j >= items) break;
          keys[j] = t.keys[index(items, j)];
          if (!kValues) places[j] = t.places[index(items, j)];
        }
        __syncthreads();
      }
      order(t, keys, places, items, n, pass);
    }
    Result* result = tl_at(a.result) + row * a.k;
    for (u32 i = threadIdx.x; i < a.k; i += kThreads) result[i] = kValues ? Result(t.keys[i]) : Result(t.places[i]);
    __syncthreads();
  }
}

// ---- long rows ------------------------------------------------------------------------------------------------------

// The workspace: of each row a table of u32, then the other places of elements.
struct Table {
  u32 chunk_tiles, chunks, pitch; // of a row; pitch: a multiple of 4
  u32 row_words;
  Table(const Arguments& a) {
    u32 tiles = u32((a.n + kTile - 1) / kTile);
    chunk_tiles = (tiles + kMostChunks - 1) / kMostChunks;
    chunks = (tiles + chunk_tiles - 1) / chunk_tiles;
    pitch = (chunks + 3) / 4 * 4;
    row_words = (kDigits + 1) * pitch + kDigits + 4;
  }
};
struct Items { Element* keys; u32* places; };

// One row of x.
struct Row {
  const Element* x;
  Result* result;
  u32 *counts;        // [digit][pitch]: of each chunk; then where they begin among those of the digit
  u32 *totals;        // of each digit
  u32 *varying_parts; // of each chunk: its digits (a bit each) that differ somewhere from the row's first element
  u32 *varying;       // the same of the row; and the lowest, so that there is one
  Items even, odd;    // where passes put elements, by how many passes are left

  Row(const Arguments& a, const Table& table, i64 row) {
    x = tl_at(a.x) + row * a.n;
    result = tl_at(a.result) + row * a.k;
    u32* words = (u32*)tl_at(a.shared);
    counts = words + row * table.row_words;
    totals = counts + kDigits * table.pitch;
    varying_parts = totals + kDigits;
    varying = varying_parts + table.pitch;
    // Values go back and forth between the result and one other place; positions, with their elements, between two,
    // where the second has its elements in the result's row if that is as long.
    i64 all = (a.rows * a.n + 15) / 16 * 16;
    Element* keys = (Element*)(words + a.rows * table.row_words);
    even.keys = (Element*)result;
    odd.keys = keys + row * a.n;
    if (kTop) even.keys = keys + all + row * a.n;
    u32* places = (u32*)(keys + (kTop ? 2 * all : all));
    even.places = places + row * a.n;
    odd.places = places + all + row * a.n;
  }
  bool moves(int pass) const { return pass == 0 || *varying >> pass & 1u; }
  // Passes that move after this one: none for the last, whose elements go to the result.
  int left(int pass) const { return __popc(*varying >> pass) - 1; }
  // Where a pass finds the elements (the first no places, which are as they come), and where it puts them.
  Items from(int pass) const { return pass == 0 ? Items{(Element*)x, 0} : left(pass) % 2 ? even : odd; }
  Items to(int pass) const { return left(pass) % 2 ? odd : even; }
};

// Tiles are numbered on from pass to pass.
inline int pass_of(const Arguments& a) { return int(a.tile_begin / (a.tile_end - a.tile_begin)); }

// Phase 1: how often each chunk has each digit.
TL_KERNEL(sort_count, Arguments) {
  __shared__ u32 counts[kDigits];
  const Table table(a);
  const int pass = pass_of(a);
  for (i64 tile = blockIdx.x; tile < a.rows * table.chunks; tile += gridDim.x) {
    const Row row(a, table, tile / table.chunks);
    u32 chunk = u32(tile % table.chunks);
    if (!row.moves(pass)) continue;
    const Element* keys = row.from(pass).keys;
    i64 begin = i64(chunk) * table.chunk_tiles * kTile, end = min(a.n, begin + i64(table.chunk_tiles) * kTile);
    Element first = key(row.x[0]), differing = 0;
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (i64 at = begin + threadIdx.x; at < end; at += kTile) {
      Element some[kItems];
#pragma unroll
      for (int j = 0; j < kItems; ++j) some[j] = at + j * kThreads < end ? keys[at + j * kThreads] : Element(0);
#pragma unroll
      for (int j = 0; j < kItems; ++j) {
        if (at + j * kThreads >= end) break;
        differing |= key(some[j]) ^ first;
        atomicAdd(&counts[digit(some[j], pass)], 1u);
      }
    }
    __syncthreads();
    row.counts[threadIdx.x * table.pitch + chunk] = counts[threadIdx.x];
    if (pass == 0) {
      u32 varying = 1;
      for (int p = 1; p < kPasses; ++p) varying |= u32(__syncthreads_or((differing >> 8 * p & 255u) != 0) != 0) << p;
      if (threadIdx.x == 0) row.varying_parts[chunk] = varying;
    }
    __syncthreads();
  }
}

// Phase 2, a warp for each digit of a row: where the digit's elements of each chunk begin among them.
TL_KERNEL(sort_scan, Arguments) {
  constexpr int kSteps = kMostChunks / 128;
  const Table table(a);
  const int pass = pass_of(a);
  u32 lane = threadIdx.x % 32;
  for (i64 tile = blockIdx.x; tile < a.rows * (kDigits / kWarps); tile += gridDim.x) {
    const Row row(a, table, tile / (kDigits / kWarps));
    u32 d = u32(tile % (kDigits / kWarps)) * kWarps + threadIdx.x / 32;
    if (!row.moves(pass)) continue;
    u32* counts = row.counts + d * table.pitch;
    uint4 some[kSteps];
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      u32 at = s * 128 + lane * 4;
      some[s] = at < table.chunks ? *(const uint4*)(counts + at) : make_uint4(0, 0, 0, 0);
      if (at + 1 >= table.chunks) some[s].y = 0; // nobody has written what is beyond
      if (at + 2 >= table.chunks) some[s].z = 0;
      if (at + 3 >= table.chunks) some[s].w = 0;
    }
    u32 total = 0;
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      if (s * 128 >= table.chunks) break;
      u32 mine = some[s].x + some[s].y + some[s].z + some[s].w, sum = mine;
      for (int step = 1; step < 32; step *= 2) {
        u32 other = __shfl_up_sync(0xffffffffu, sum, step);
        if (lane >= step) sum += other;
      }
      u32 x = total + sum - mine, y = x + some[s].x, z = y + some[s].y, w = z + some[s].z;
      if (s * 128 + lane * 4 < table.chunks) *(uint4*)(counts + s * 128 + lane * 4) = make_uint4(x, y, z, w);
      total += __shfl_sync(0xffffffffu, sum, 31);
    }
    if (lane == 0) row.totals[d] = total;
    if (pass > 0 || d > 0) continue;
    u32 varying = 1;
    for (u32 c = lane; c < table.chunks; c += 32) varying |= row.varying_parts[c];
    for (int step = 16; step > 0; step /= 2) varying |= __shfl_xor_sync(0xffffffffu, varying, step);
    if (lane == 0) *row.varying = varying;
  }
}

// Phase 3: each chunk moves its elements.
TL_KERNEL(sort_move, Arguments) {
  __shared__ Tile t;
  __shared__ u32 to_digit[kDigits]; // what is added to an element's index in the tile
  const Table table(a);
  const int pass = pass_of(a);
  clear(t);
  for (i64 tile = blockIdx.x; tile < a.rows * table.chunks; tile += gridDim.x) {
    const Row row(a, table, tile / table.chunks);
    u32 chunk = u32(tile % table.chunks);
    if (!row.moves(pass)) continue;
    const Items from = row.from(pass), to = row.to(pass);
    const bool last = row.left(pass) == 0;
    i64 begin = i64(chunk) * table.chunk_tiles * kTile, end = min(a.n, begin + i64(table.chunk_tiles) * kTile);
    u32 next = sum_before(t.sums, row.totals[threadIdx.x]) + row.counts[threadIdx.x * table.pitch + chunk];
    for (; begin < end; begin += kTile) {
      u32 count = u32(min(end - begin, i64(kTile)));
      int items = int((count + kThreads - 1) / kThreads);
      Element keys[kItems];
      u32 places[kItems];
#pragma unroll
      for (int j = 0; j < kItems; ++j) {
        if (j >= items) break;
        u32 i = index(items, j);
        keys[j] = i < count ? from.keys[begin + i] : Element(0);
        if (!kValues) places[j] = pass == 0 ? u32(begin) + i : i < count ? from.places[begin + i] : 0u;
      }
      u32 of_digit = order(t, keys, places, items, count, pass);
      to_digit[threadIdx.x] = next - t.starts[threadIdx.x];
      next += of_digit;
      __syncthreads();
      for (u32 i = threadIdx.x; i < count; i += kThreads) {
        Element moved = t.keys[i];
        u32 at = to_digit[digit(moved, pass)] + i;
        if (!last) {
          to.keys[at] = moved;
          if (!kValues) to.places[at] = t.places[i];
        } else if (at < a.k) {
          row.result[at] = kValues ? Result(moved) : Result(t.places[i]);
        }
      }
      __syncthreads();
    }
  }
}
)CUDA";

using cpu::operator+, cpu::operator-, cpu::operator*;
using cpu::ceil_div, cpu::floor_div, cpu::max, cpu::min, cpu::number;

constexpr int64_t kMostFew = 256, kDigits = 256, kMostChunks = 1024; // as in the text

int passes_of(DType type) { return size_of(type); }
// Of one thread in a tile: so many that a tile with its places fits static shared memory (48 KB).
int64_t items_of(SortOp op, DType type) { return op != SortOp::Values && size_of(type) == 8 ? 8 : 16; }
int64_t tile_of(SortOp op, DType type) { return kCudaThreads * items_of(op, type); }

std::string_view bits_name(DType type) {
  switch (size_of(type)) {
  case 1: return "u8";
  case 2: return "u16";
  case 4: return "u32";
  default: return "u64";
  }
}

// What the text leaves open.
std::string constants(SortOp op, DType type) {
  const int bits = 8 * size_of(type);
  const uint64_t all = ~uint64_t{0} >> (64 - bits), sign = uint64_t{1} << (bits - 1);
  const bool floats = is_float(type), is_signed = !floats && !is_unsigned(type) && type != DType::Bool;
  const int mantissa = type == DType::F64 ? 52 : type == DType::F32 ? 23 : type == DType::BF16 ? 7 : 10;
  const uint64_t infinity = (all ^ sign) >> mantissa << mantissa;
  return fmt::format(R"(
typedef {} Element; // its bits
typedef {} Result;
enum {{ kItems = {}, kPasses = {}, kValues = {:d}, kTop = {:d}, kDescending = kTop, kFloats = {:d} }};
// What is flipped where the sign is clear, and where it is set; of floats the greatest that is no NaN.
const Element kSign = {:#x}ull, kPositive = {:#x}ull, kNegative = {:#x}ull, kInfinity = {:#x}ull;
)",
                     bits_name(type), op == SortOp::Values ? "Element" : "i64", items_of(op, type), passes_of(type),
                     op == SortOp::Values, op == SortOp::Top, floats, sign, floats || is_signed ? sign : 0,
                     floats      ? all
                     : is_signed ? sign
                                 : 0,
                     infinity);
}

// 1 where a row has at least (at most) so many elements, else 0.
SizeFormula at_least(const SizeFormula& n, int64_t bound) { return min(number(1), floor_div(n, number(bound))); }
SizeFormula at_most(const SizeFormula& n, int64_t bound) { return number(1) - at_least(n, bound + 1); }

} // namespace

std::string sort_text(SortOp op, DType type) { return cuda_prelude() + constants(op, type) + std::string(kText); }

GpuKernel gpu_sort(SortOp op, DType type) {
  GpuKernel kernel;
  kernel.name = fmt::format("sort {}", kSortOps[static_cast<int>(op)]);
  kernel.rank_0 = {1, 1, 1, 1, 0, 0}; // rows, n, k, element type, x, result
  kernel.sizes = {1, 1, 0, 0, 0, 0};
  const SizeFormula rows{{{SizeFormula::Op::Arg, 0}}}, n{{{SizeFormula::Op::Arg, 1}}};
  const int64_t tile = tile_of(op, type);
  auto add = [&](std::string function, SizeFormula tiles, int pass = 0) {
    GpuPhase& phase = kernel.phases.emplace_back();
    phase.function = std::move(function);
    phase.first = tiles * number(pass);
    phase.tiles = std::move(tiles);
  };
  const SizeFormula together = max(number(1), floor_div(number(kMostFew), max(number(1), n)));
  add("sort_few", ceil_div(rows, together) * at_least(n, 1) * at_most(n, kMostFew));
  add("sort_row", rows * at_least(n, kMostFew + 1) * at_most(n, tile));

  const SizeFormula long_rows = rows * at_least(n, tile + 1), tiles = ceil_div(n, number(tile));
  const SizeFormula chunks = ceil_div(tiles, ceil_div(tiles, number(kMostChunks)));
  for (int pass = 0; pass < passes_of(type); ++pass) {
    add("sort_count", long_rows * chunks, pass);
    add("sort_scan", long_rows * number(kDigits * 32 / kCudaThreads), pass);
    add("sort_move", long_rows * chunks, pass);
  }
  const SizeFormula pitch = ceil_div(chunks, number(4)) * number(4);
  const SizeFormula table = (number(kDigits + 1) * pitch + number(kDigits + 4)) * number(4);
  kernel.shared_bytes = long_rows * table;
  if (passes_of(type) == 1) return kernel; // from x to the result
  const int64_t places = 2 * 4, keys = size_of(type);
  const int64_t item = op == SortOp::Values ? keys : op == SortOp::Order ? keys + places : 2 * keys + places;
  const SizeFormula items = ceil_div(rows * n, number(16)) * number(16);
  kernel.shared_bytes = kernel.shared_bytes + at_least(n, tile + 1) * items * number(item);
  return kernel;
}

} // namespace tl
