// The kernels of one operation, as templates over it and over the width of elements: each operation has a source file
// of its own (values.cpp, order.cpp, top.cpp), so that executables carry those that they use.
#pragma once
#include "vm/sort/methods.h"
#include "vm/sort/sort.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

namespace tl::sorting {

// ---- numbers: signed integers in the order of the values; what is equal has one number, NaN the greatest -----------

// The elements of one type, as signed integers of their width, and their numbers, which have 32 bits at least.
template <class Bits> struct Elements {
  using Number = std::conditional_t<sizeof(Bits) == 8, int64_t, int32_t>;
  static constexpr Bits kMost = std::numeric_limits<Bits>::max();
  bool of_floats;
  Bits flipped = 0;                               // of unsigned integers: the sign
  Bits negative = 0;                              // what is flipped in negative floats
  Bits magnitude = 0, zero = 1, infinity = kMost; // of floats: all but the sign is 0 for zeros, more for NaN

  explicit Elements(DType type) : of_floats(is_float(type)) {
    if (of_floats) {
      negative = magnitude = kMost;
      zero = 0;
      const int mantissa = type == DType::F64 ? 52 : type == DType::F32 ? 23 : type == DType::BF16 ? 7 : 10;
      infinity = static_cast<Bits>(kMost >> mantissa << mantissa);
    } else if (is_unsigned(type) || type == DType::Bool) {
      flipped = std::numeric_limits<Bits>::min();
    }
  }

  static constexpr Number kZero = 0, kNan = kMost; // of floats
  // The number of bits, and the bits of a number, but for NaN and for which of the two zeros it is.
  Bits turned(Bits bits) const {
    constexpr int sign = 8 * sizeof(Bits) - 1;
    return static_cast<Bits>(bits ^ flipped ^ (negative & static_cast<Bits>(bits >> sign)));
  }
  Number number(Bits bits) const {
    const Bits m = bits & magnitude;
    Number number = turned(bits);
    number = m == zero ? kZero : number;
    number = m > infinity ? kNan : number;
    return number;
  }
  // Gives whether values may be equal and not have the same bits. The two arrays do not overlap.
  bool read(const Bits* __restrict from, int64_t count, Number* __restrict numbers) const {
    const Elements e = *this; // the compiler cannot know that writing numbers does not change them
    Number any = 0;
    for (int64_t i = 0; i < count; ++i) {
      const Number number = e.number(from[i]);
      numbers[i] = number;
      any |= static_cast<Number>(number == kZero) | static_cast<Number>(number == kNan);
    }
    return any != 0 && of_floats;
  }
  void write(const Number* __restrict numbers, int64_t count, Bits* __restrict to) const {
    const Elements e = *this;
    for (int64_t i = 0; i < count; ++i)
      to[i] = e.turned(static_cast<Bits>(numbers[i]));
  }
  void turn(Number* numbers, int64_t count) const { // into the bits of elements as wide
    const Elements e = *this;
    for (int64_t i = 0; i < count; ++i)
      numbers[i] = e.turned(static_cast<Bits>(numbers[i]));
  }

  static constexpr int64_t kRead = 256;
  // Calls f(i, number) for elements [begin, end) of x.
  template <class F> void each(const Bits* x, int64_t begin, int64_t end, F f) const {
    Number numbers[kRead];
    for (int64_t at = begin; at < end; at += kRead) {
      const int64_t count = std::min(kRead, end - at);
      read(x + at, count, numbers);
      for (int64_t i = 0; i < count; ++i)
        f(at + i, numbers[i]);
    }
  }
};

template <class Number> struct Extremes {
  Number least = std::numeric_limits<Number>::max(), greatest = std::numeric_limits<Number>::min();
  void add(Number number) {
    least = std::min(least, number);
    greatest = std::max(greatest, number);
  }
  void add(const Extremes& other) {
    least = std::min(least, other.least);
    greatest = std::max(greatest, other.greatest);
  }
};

// ---- positions: one number of an element's upper 32 bits and its position, so that a sort of numbers is stable -----

// Which bits those are: of the range that the numbers of a row take, the highest. `shift` lower ones are left.
struct Upper {
  uint64_t least = 0;
  int shift = 0;

  Upper() = default;
  explicit Upper(const Extremes<int64_t>& all)
      : least(static_cast<uint64_t>(all.least)),
        shift(std::max(0, static_cast<int>(std::bit_width(static_cast<uint64_t>(all.greatest) - least)) - 32)) {}

  static int64_t item(uint32_t bits, uint64_t position) {
    return static_cast<int64_t>(uint64_t{bits ^ 1u << 31} << 32 | position);
  }
  static uint64_t position(int64_t item) { return static_cast<uint32_t>(item); }
  int64_t operator()(int32_t number, int64_t position) const {
    return item(static_cast<uint32_t>(number) ^ 1u << 31, static_cast<uint64_t>(position));
  }
  int64_t operator()(int64_t number, int64_t position) const {
    return item(static_cast<uint32_t>((static_cast<uint64_t>(number) - least) >> shift),
                static_cast<uint64_t>(position));
  }
  // The same of the bits that are left.
  int64_t lower(int64_t number, uint64_t position) const {
    const uint64_t mask = (uint64_t{1} << shift) - 1;
    return item(static_cast<uint32_t>((static_cast<uint64_t>(number) - least) & mask), position);
  }
};

// ---- the phases -----------------------------------------------------------------------------------------------------

constexpr int64_t kShortRow = 1 << 15; // longer rows are shared by workers,
constexpr int64_t kFewRows = 4;        // if there are so few of them
constexpr int64_t kChunk = 1 << 16;    // of a long row: so many elements, or a 64th
constexpr int64_t kMostChunks = 64;
constexpr int64_t kFewTop = 16;   // so many of the greatest are kept in order,
constexpr int64_t kSpare = 128;   // more are chosen among 2 k and so many elements
constexpr int64_t kBuckets = 32;  // of a long row
constexpr int64_t kSamples = 512; // tell where buckets begin

inline int64_t chunks_of(int64_t n) { return std::min(kMostChunks, (n + kChunk - 1) / kChunk); }

// What a row is from the start: then nothing is sorted.
enum class Run : uint8_t { None, Ascending, Descending }; // the latter without equals

// What a long row has in shared memory, before its items.
template <class Item> struct Table {
  Upper upper;
  Run run;
  Item splitters[kBuckets - 1];
  struct Chunk {
    Extremes<int64_t> extremes;
    bool ascends, descends;
    int64_t starts[kBuckets + 1]; // of the buckets' items in the chunk
  } chunks[kMostChunks];
};

template <SortOp op, class Bits> struct Sorter {
  using E = Elements<Bits>;
  using Number = typename E::Number;
  // What is sorted, in place: in the result where it is as wide.
  using Item = std::conditional_t<op == SortOp::Values, Number, int64_t>;
  static constexpr bool kInResult = op != SortOp::Values || sizeof(Bits) == sizeof(Number);
  static constexpr bool kCounts = sizeof(Bits) == 1 && op != SortOp::Top;
  static constexpr bool kHasUpper = op != SortOp::Values && sizeof(Bits) == 8;

  int64_t rows, n, k; // k results a row
  E elements;
  const Bits* x;
  std::byte* result; // of elements, or of i64
  std::byte *shared, *local;

  Sorter(KernelArgs args, const KernelWorkspace* workspace)
      : rows(number(args, 0)), n(number(args, 1)), k(number(args, 2)), elements(static_cast<DType>(number(args, 3))),
        x(static_cast<const Bits*>(args[kSortNumbers])), result(static_cast<std::byte*>(args[kSortNumbers + 1])),
        shared(workspace->shared), local(workspace->local) {}

  static int64_t number(KernelArgs args, size_t i) {
    int64_t value;
    std::memcpy(&value, args[i], sizeof value);
    return value;
  }

  const Bits* row_of_x(int64_t row) const { return x + row * n; }
  Bits* values_of(int64_t row) const { return reinterpret_cast<Bits*>(result) + row * n; }
  int64_t* positions_of(int64_t row) const { return reinterpret_cast<int64_t*>(result) + row * k; }
  Item* items_of_result(int64_t row) const { return reinterpret_cast<Item*>(result) + row * n; }

  // What numbers do not tell: which NaN, and which of the zeros. They come in the order of the row.
  void restore(int64_t row) const {
    if constexpr (op == SortOp::Values) {
      if (!elements.of_floats) return;
      const Bits* from = row_of_x(row);
      Bits* to = values_of(row);
      auto copy = [&](Number wanted) {
        Bits* at = std::partition_point(to, to + n, [&](Bits bits) { return elements.number(bits) < wanted; });
        if (at == to + n || elements.number(*at) != wanted) return;
        elements.each(from, 0, n, [&](int64_t i, Number number) {
          if (number == wanted) *at++ = from[i];
        });
      };
      copy(E::kZero);
      copy(E::kNan);
    }
  }

  void make_items(const Bits* row, int64_t begin, int64_t end, const Upper& upper, Item* items) const {
    if constexpr (op == SortOp::Values)
      elements.read(row + begin, end - begin, items);
    else
      elements.each(row, begin, end, [&](int64_t i, Number number) { *items++ = upper(number, i); });
  }

  // Sorted items of a row become its results, from number `first` on.
  void finish(Item* items, int64_t count, int64_t row, int64_t first, const Upper& upper) const {
    if constexpr (op == SortOp::Values && kInResult) {
      elements.turn(items, count);
    } else if constexpr (op == SortOp::Values) {
      elements.write(items, count, values_of(row) + first);
    } else {
      if constexpr (kHasUpper)
        if (upper.shift > 0) sort_lower(items, count, row, upper);
      int64_t* to = positions_of(row) + first;
      for (int64_t i = 0; i < count; ++i)
        to[i] = static_cast<int64_t>(Upper::position(items[i]));
    }
  }

  // Items whose upper bits are equal, by the lower ones.
  void sort_lower(int64_t* items, int64_t count, int64_t row, const Upper& upper) const {
    const Bits* from = row_of_x(row);
    for (int64_t begin = 0, end; begin < count; begin = end) {
      const int64_t bits = items[begin] >> 32;
      for (end = begin + 1; end < count && items[end] >> 32 == bits;)
        ++end;
      if (end - begin == 1) continue;
      for (int64_t i = begin; i < end; ++i) {
        const uint64_t position = Upper::position(items[i]);
        items[i] = upper.lower(elements.number(from[position]), position);
      }
      methods<int64_t>().sort(items + begin, end - begin);
    }
  }

  Extremes<int64_t> extremes_of(const Bits* row, int64_t begin, int64_t end) const {
    Extremes<int64_t> all;
    elements.each(row, begin, end, [&](int64_t, Number number) { all.add({number, number}); });
    return all;
  }

  struct Runs {
    bool ascends, descends;
    Run run() const { return ascends ? Run::Ascending : descends ? Run::Descending : Run::None; }
  };
  // Of elements [begin, end) and the one before them.
  Runs runs_of(const Bits* row, int64_t begin, int64_t end) const {
    Number numbers[1 + E::kRead];
    Runs runs{true, true};
    if (begin > 0) --begin;
    int64_t step = 8; // most rows show soon that they are none
    for (int64_t at = begin; at + 1 < end && (runs.ascends || runs.descends); at += std::exchange(step, E::kRead)) {
      const int64_t count = std::min(step + 1, end - at); // the last is the first of the next ones
      elements.read(row + at, count, numbers);
      Number falls = 0, rises = 0;
      for (int64_t i = 1; i < count; ++i) {
        falls |= static_cast<Number>(numbers[i] < numbers[i - 1]);
        rises |= static_cast<Number>(numbers[i] >= numbers[i - 1]);
      }
      runs.ascends &= falls == 0;
      runs.descends &= rises == 0;
    }
    return runs;
  }

  // Results [begin, end) of a row that is a run.
  void copy_run(Run run, int64_t row, int64_t begin, int64_t end) const {
    const bool reverse = run == Run::Descending;
    if constexpr (op == SortOp::Values) {
      const Bits* from = row_of_x(row);
      if (reverse)
        std::reverse_copy(from + n - end, from + n - begin, values_of(row) + begin);
      else
        std::copy(from + begin, from + end, values_of(row) + begin);
    } else {
      int64_t* to = positions_of(row);
      for (int64_t i = begin; i < end; ++i)
        to[i] = reverse ? n - 1 - i : i;
    }
  }

  // ---- bytes: how often each occurs tells where it goes ----
  static constexpr int64_t kBytes = 256;
  uint8_t flip() const { return static_cast<uint8_t>(elements.flipped ^ kBytes / 2); } // of bits, so that they count up
  void count_bytes(const Bits* row, int64_t begin, int64_t end, int64_t* counts) const {
    constexpr int64_t chains = 4; // a count does not wait for the one before it
    uint32_t all[chains][kBytes] = {};
    const uint8_t flipped = flip();
    int64_t i = begin;
    for (; i + chains <= end; i += chains)
      for (int64_t c = 0; c < chains; ++c)
        ++all[c][static_cast<uint8_t>(row[i + c]) ^ flipped];
    for (; i < end; ++i)
      ++all[0][static_cast<uint8_t>(row[i]) ^ flipped];
    for (int64_t b = 0; b < kBytes; ++b)
      counts[b] = int64_t{all[0][b]} + all[1][b] + all[2][b] + all[3][b];
  }
  // Where the elements of each byte begin in the row of the result becomes where those behind them do.
  void place_bytes(int64_t row, int64_t begin, int64_t end, int64_t* starts) const {
    const Bits* from = row_of_x(row);
    int64_t* to = positions_of(row);
    const uint8_t flipped = flip();
    for (int64_t i = begin; i < end; ++i)
      to[starts[static_cast<uint8_t>(from[i]) ^ flipped]++] = i;
  }
  // Results [begin, end).
  void fill_bytes(int64_t row, int64_t begin, int64_t end, const int64_t* starts) const {
    for (int64_t b = 0; b < kBytes; ++b) {
      const int64_t first = std::max(begin, starts[b]), last = std::min(end, b + 1 < kBytes ? starts[b + 1] : n);
      if (first < last) std::fill(values_of(row) + first, values_of(row) + last, static_cast<Bits>(b ^ flip()));
    }
  }
  void count_row(int64_t row) const {
    int64_t counts[kBytes];
    count_bytes(row_of_x(row), 0, n, counts);
    std::exclusive_scan(counts, counts + kBytes, counts, int64_t{0});
    if constexpr (op == SortOp::Values)
      fill_bytes(row, 0, n, counts);
    else
      place_bytes(row, 0, n, counts);
  }
  // The phases of long rows of bytes.
  void count_chunk(int64_t tile) const {
    const Chunk c = chunk_at(tile);
    count_bytes(row_of_x(c.row), c.begin, c.end, bytes_of(c.row) + c.number * kBytes);
  }
  void sum_counts(int64_t row) const {
    int64_t* counts = bytes_of(row);
    int64_t before = 0;
    for (int64_t b = 0; b < kBytes; ++b)
      for (int64_t c = 0; c < chunks_of(n); ++c)
        before += std::exchange(counts[c * kBytes + b], before);
  }
  void place_chunk(int64_t tile) const {
    const Chunk c = chunk_at(tile);
    int64_t* starts = bytes_of(c.row) + c.number * kBytes;
    if constexpr (op == SortOp::Values)
      fill_bytes(c.row, c.begin, c.end, bytes_of(c.row));
    else
      place_bytes(c.row, c.begin, c.end, starts);
  }
  static constexpr int64_t kCountBytes = kMostChunks * kBytes * static_cast<int64_t>(sizeof(int64_t)); // of a row
  int64_t* bytes_of(int64_t row) const { return reinterpret_cast<int64_t*>(shared + row * kCountBytes); }

  void whole_row(int64_t row) const {
    if (n == 0) return;
    if constexpr (kCounts)
      if (n >= kBytes) return count_row(row);
    const Bits* from = row_of_x(row);
    if (const Run run = runs_of(from, 0, n).run(); run != Run::None) return copy_run(run, row, 0, n);
    Upper upper;
    if constexpr (kHasUpper) upper = Upper(extremes_of(from, 0, n));
    Item* items = kInResult ? items_of_result(row) : reinterpret_cast<Item*>(local);
    bool ambiguous = false;
    if constexpr (op == SortOp::Values)
      ambiguous = elements.read(from, n, items);
    else
      make_items(from, 0, n, upper, items);
    methods<Item>().sort(items, n);
    finish(items, n, row, 0, upper);
    if (ambiguous) restore(row);
  }

  // Rows [first, end), of at most kLongestColumn elements: as many at a time as a vector has lanes.
  void short_rows(int64_t first, int64_t end) const {
    const Methods<Number>& m = methods<Number>();
    alignas(64) Number numbers[kMostLanes * kLongestColumn];
    bool ambiguous[kMostLanes];
    for (; first < end; first += m.lanes) {
      const int64_t count = std::min<int64_t>(m.lanes, end - first);
      for (int64_t lane = 0; lane < m.lanes; ++lane) // those beyond the last row are as that
        ambiguous[lane] =
            elements.read(row_of_x(first + std::min(lane, count - 1)), n, numbers + lane * kLongestColumn);
      m.sort_columns(numbers, kLongestColumn, static_cast<int>(n));
      for (int64_t lane = 0; lane < count; ++lane) {
        elements.write(numbers + lane * kLongestColumn, n, values_of(first + lane));
        if (ambiguous[lane]) restore(first + lane);
      }
    }
  }

  static int64_t kept_of(int64_t n, int64_t k) { return std::min(n, 2 * k + kSpare); }

  // The greatest numbers come first: an item is less where its number is greater.
  struct LongItem {
    int64_t descending, at;
    LongItem(int64_t number, int64_t position) : descending(~number), at(position) {}
    friend bool operator<(const LongItem& a, const LongItem& b) {
      return a.descending < b.descending || (a.descending == b.descending && a.at < b.at);
    }
    int64_t number() const { return ~descending; }
    int64_t position() const { return at; }
  };
  struct ShortItem {
    int64_t item;
    ShortItem(int32_t number, int64_t position) : item(Upper()(~number, position)) {}
    friend bool operator<(const ShortItem& a, const ShortItem& b) { return a.item < b.item; }
    int32_t number() const { return ~static_cast<int32_t>(item >> 32); }
    int64_t position() const { return static_cast<int64_t>(Upper::position(item)); }
  };
  using TopItem = std::conditional_t<sizeof(Number) == 8, LongItem, ShortItem>;

  // Few of the greatest, in order: most elements are not among them.
  void few_top(int64_t row) const {
    Number greatest[kFewTop];
    int64_t positions[kFewTop];
    int64_t count = 0;
    const Bits* from = row_of_x(row);
    constexpr int64_t block = 32;
    Number numbers[block];
    for (int64_t begin = 0; begin < n; begin += block) {
      const int64_t size = std::min(block, n - begin);
      elements.read(from + begin, size, numbers);
      if (count == k) {
        bool any = false;
        for (int64_t i = 0; i < size; ++i)
          any |= numbers[i] > greatest[k - 1];
        if (!any) continue;
      }
      for (int64_t i = 0; i < size; ++i) {
        if (count == k && numbers[i] <= greatest[k - 1]) continue;
        int64_t at = count < k ? count++ : k - 1;
        for (; at > 0 && greatest[at - 1] < numbers[i]; --at) {
          greatest[at] = greatest[at - 1];
          positions[at] = positions[at - 1];
        }
        greatest[at] = numbers[i];
        positions[at] = begin + i;
      }
    }
    std::copy(positions, positions + k, positions_of(row));
  }

  // Keeps the greatest elements so far: what is not greater than the k-th of them is passed over, in blocks. Equals
  // that come later are not greater.
  void top_row(int64_t row) const {
    if (k == 0) return;
    if (k <= kFewTop) return few_top(row);
    const int64_t room = kept_of(n, k);
    auto* kept = reinterpret_cast<TopItem*>(local);
    const Bits* from = row_of_x(row);
    elements.each(from, 0, room, [&](int64_t i, Number number) { kept[i] = TopItem(number, i); });
    int64_t count = room;
    auto keep_greatest = [&] {
      if (k < count) std::nth_element(kept, kept + k - 1, kept + count);
      count = k;
      return kept[k - 1].number();
    };
    Number bound = keep_greatest();
    constexpr int64_t block = 32;
    Number numbers[block];
    for (int64_t begin = room; begin < n; begin += block) {
      const int64_t size = std::min(block, n - begin);
      elements.read(from + begin, size, numbers);
      bool any = false;
      for (int64_t i = 0; i < size; ++i)
        any |= numbers[i] > bound;
      if (!any) continue;
      for (int64_t i = 0; i < size; ++i) {
        if (numbers[i] <= bound) continue;
        kept[count++] = TopItem(numbers[i], begin + i);
        if (count == room) bound = keep_greatest();
      }
    }
    keep_greatest();
    if constexpr (sizeof(Number) == 8)
      std::sort(kept, kept + k);
    else
      methods<int64_t>().sort(reinterpret_cast<int64_t*>(kept), k);
    for (int64_t i = 0; i < k; ++i)
      positions_of(row)[i] = kept[i].position();
  }

  // The shared memory of a long row: a table, its items, and room for as many where results are narrower.
  static constexpr int64_t kTableBytes = sizeof(Table<Item>);
  static constexpr int64_t kItemBytes = (kInResult ? 1 : 2) * sizeof(Item);
  struct Row {
    Table<Item>* table;
    Item *items, *gathered;
  };
  Row row_at(int64_t row) const {
    const int64_t bytes = (kTableBytes + n * kItemBytes + 63) / 64 * 64;
    std::byte* at = shared + row * bytes;
    auto* items = reinterpret_cast<Item*>(at + kTableBytes);
    return {reinterpret_cast<Table<Item>*>(at), items, kInResult ? items_of_result(row) : items + n};
  }
  void restore_shared(int64_t row) const {
    if (row_at(row).table->run == Run::None) restore(row);
  }

  struct Chunk {
    int64_t row, number, begin, end;
  };
  Chunk chunk_at(int64_t tile) const {
    const int64_t chunks = chunks_of(n), number = tile % chunks;
    const int64_t size = (n + chunks - 1) / chunks;
    return {tile / chunks, number, std::min(n, number * size), std::min(n, (number + 1) * size)};
  }

  void look(int64_t tile) const {
    const Chunk c = chunk_at(tile);
    const Bits* from = row_of_x(c.row);
    auto& chunk = row_at(c.row).table->chunks[c.number];
    const Runs runs = runs_of(from, c.begin, c.end);
    chunk.ascends = runs.ascends;
    chunk.descends = runs.descends;
    if constexpr (kHasUpper) {
      if (runs.ascends || runs.descends) {
        chunk.extremes = extremes_of(from, c.begin, std::min(c.begin + 1, c.end));
        chunk.extremes.add(extremes_of(from, std::max(c.begin, c.end - 1), c.end));
      } else {
        chunk.extremes = extremes_of(from, c.begin, c.end);
      }
    }
  }

  // Elements that stand evenly in the row tell where buckets begin.
  void sample(int64_t row) const {
    Table<Item>& table = *row_at(row).table;
    Runs runs{true, true};
    for (int64_t c = 0; c < chunks_of(n); ++c) {
      runs.ascends &= table.chunks[c].ascends;
      runs.descends &= table.chunks[c].descends;
    }
    table.run = runs.run();
    if (table.run != Run::None) return;
    table.upper = Upper();
    if constexpr (kHasUpper) {
      Extremes<int64_t> all;
      for (int64_t c = 0; c < chunks_of(n); ++c)
        all.add(table.chunks[c].extremes);
      table.upper = Upper(all);
    }
    Item samples[kSamples];
    const int64_t step = n / kSamples;
    for (int64_t i = 0; i < kSamples; ++i) {
      const int64_t at = i * step + step / 2;
      make_items(row_of_x(row), at, at + 1, table.upper, samples + i);
    }
    methods<Item>().sort(samples, kSamples);
    for (int64_t b = 1; b < kBuckets; ++b) {
      Item splitter = samples[b * kSamples / kBuckets];
      if constexpr (kHasUpper) // one bucket has all whose upper bits are equal
        if (table.upper.shift > 0) splitter -= static_cast<int64_t>(Upper::position(splitter));
      table.splitters[b - 1] = splitter;
    }
  }

  void partition(int64_t tile) const {
    const Chunk c = chunk_at(tile);
    const Row r = row_at(c.row);
    if (r.table->run != Run::None) return copy_run(r.table->run, c.row, c.begin, c.end);
    Item* items = r.items + c.begin;
    make_items(row_of_x(c.row), c.begin, c.end, r.table->upper, items);
    int64_t* starts = r.table->chunks[c.number].starts;
    starts[0] = 0;
    starts[kBuckets] = c.end - c.begin;
    for (int64_t width = kBuckets; width > 1; width /= 2)
      for (int64_t b = 0; b < kBuckets; b += width) {
        const int64_t begin = starts[b], middle = b + width / 2;
        starts[middle] =
            begin + methods<Item>().partition(items + begin, starts[b + width] - begin, r.table->splitters[middle - 1]);
      }
  }

  void bucket(int64_t tile) const {
    const int64_t row = tile / kBuckets, b = tile % kBuckets, chunks = chunks_of(n);
    const Row r = row_at(row);
    if (r.table->run != Run::None) return;
    int64_t first = 0;
    for (int64_t c = 0; c < chunks; ++c)
      first += r.table->chunks[c].starts[b];
    Item *items = r.gathered + first, *end = items;
    for (int64_t c = 0; c < chunks; ++c) {
      const int64_t* starts = r.table->chunks[c].starts;
      const Item* chunk = r.items + chunk_at(row * chunks + c).begin;
      end = std::copy(chunk + starts[b], chunk + starts[b + 1], end);
    }
    methods<Item>().sort(items, end - items);
    finish(items, end - items, row, first, r.table->upper);
  }
};

template <SortOp op, class Bits>
void whole_rows(KernelArgs args, int64_t begin, int64_t end, const KernelWorkspace* workspace, KernelErrors*) {
  const Sorter<op, Bits> sorter(args, workspace);
  if constexpr (op == SortOp::Values)
    if (sorter.n <= kLongestColumn && sorter.n > 1 && end - begin > 1) return sorter.short_rows(begin, end);
  for (int64_t row = begin; row < end; ++row)
    sorter.whole_row(row);
}

template <SortOp op, class Bits, void (Sorter<op, Bits>::*step)(int64_t) const>
void phase(KernelArgs args, int64_t begin, int64_t end, const KernelWorkspace* workspace, KernelErrors*) {
  const Sorter<op, Bits> sorter(args, workspace);
  for (int64_t tile = begin; tile < end; ++tile)
    (sorter.*step)(tile);
}

// ---- the kernels ----------------------------------------------------------------------------------------------------

// What is needed to know how much memory the phases take: bytes of a row, of an element in shared memory of long rows,
// and of an element in a worker's memory.
struct Layout {
  int64_t row, shared, local;
};
// For the kernels of Values and Order; `bucket` and `restore` may be null.
struct Phases {
  PhaseFunction whole_row, look, sample, partition, bucket, restore;
};
CompiledKernel make_kernel(SortOp op, const Layout& layout, const Phases& phases);
CompiledKernel make_top_kernel(int64_t item_bytes, PhaseFunction top_row);

template <SortOp op, class Bits> const CompiledKernel& kernel_of() {
  using S = Sorter<op, Bits>;
  static const CompiledKernel kernel = [] {
    if constexpr (op == SortOp::Top) {
      return make_top_kernel(sizeof(typename S::TopItem), phase<op, Bits, &S::top_row>);
    } else if constexpr (S::kCounts) {
      const Phases phases{whole_rows<op, Bits>,
                          phase<op, Bits, &S::count_chunk>,
                          phase<op, Bits, &S::sum_counts>,
                          phase<op, Bits, &S::place_chunk>,
                          nullptr,
                          nullptr};
      const int64_t local = S::kInResult ? 0 : sizeof(typename S::Item);
      return make_kernel(op, {S::kCountBytes, 0, local}, phases);
    } else {
      Phases phases{whole_rows<op, Bits>,           phase<op, Bits, &S::look>,   phase<op, Bits, &S::sample>,
                    phase<op, Bits, &S::partition>, phase<op, Bits, &S::bucket>, nullptr};
      if constexpr (op == SortOp::Values) phases.restore = phase<op, Bits, &S::restore_shared>;
      const int64_t local = S::kInResult ? 0 : sizeof(typename S::Item);
      return make_kernel(op, {S::kTableBytes + 64, S::kItemBytes, local}, phases);
    }
  }();
  return kernel;
}

template <SortOp op> const CompiledKernel& kernel_of(DType type) {
  switch (size_of(type)) {
  case 1: return kernel_of<op, int8_t>();
  case 2: return kernel_of<op, int16_t>();
  case 4: return kernel_of<op, int32_t>();
  default: return kernel_of<op, int64_t>();
  }
}

} // namespace tl::sorting
