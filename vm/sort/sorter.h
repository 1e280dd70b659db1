// The kernels of one operation, as templates over it and over the width of keys: each operation has a source file of
// its own (values.cpp, order.cpp, top.cpp), so that executables carry those that they use.
#pragma once
#include "vm/sort/sort.h"
#include "vm/sort/vectors.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace tl::sorting {

// ---- keys: unsigned integers in the order of the values; what is equal has one key, NaN the greatest ----------------

// The elements of one type, in a row after the other, and their keys. An element has 1, 2, 4 or 8 bytes; its bits, and
// its key, are in the low ones of a Key, which is of 64 bits where elements are.
template <class Key> struct Elements {
  int64_t bytes;
  bool of_floats;
  Key sign, all;
  Key positive = 0, negative = 0; // what is flipped where the sign is clear, and where it is set
  Key magnitude = 0;              // all but the sign of floats: its bits are 0 for zeros, more than `infinity` for NaN
  Key zero = 1, infinity;         // of integers: no magnitude is so

  explicit Elements(DType type)
      : bytes(size_of(type)), of_floats(is_float(type)), sign(Key{1} << (8 * bytes - 1)), all(sign | (sign - 1)),
        infinity(all) {
    if (of_floats) {
      positive = sign;
      negative = all;
      magnitude = all ^ sign;
      zero = 0;
      const int mantissa = type == DType::F64 ? 52 : type == DType::F32 ? 23 : type == DType::BF16 ? 7 : 10;
      infinity = magnitude >> mantissa << mantissa;
    } else if (!is_unsigned(type) && type != DType::Bool) {
      positive = negative = sign;
    }
  }

  Key key_of_zero() const { return sign; } // of floats
  Key key_of_nan() const { return all; }
  Key key(Key bits) const {
    const Key m = bits & magnitude;
    const Key key = bits ^ (bits & sign ? negative : positive);
    return m > infinity ? all : m == zero ? sign : key;
  }
  // The bits of a key, but for NaN and for which of the two zeros it is.
  Key bits(Key key) const { return key ^ (key & sign ? positive : negative); }

  // Calls f with `from` as an array of unsigned integers, as wide as the elements are.
  template <class Byte, class F> void typed(Byte* from, F f) const {
    constexpr bool is_const = std::is_const_v<Byte>;
    auto as = [&]<class T>(T) { f(reinterpret_cast<std::conditional_t<is_const, const T, T>*>(from)); };
    if constexpr (sizeof(Key) == 8)
      as(uint64_t{});
    else if (bytes == 4)
      as(uint32_t{});
    else if (bytes == 2)
      as(uint16_t{});
    else
      as(uint8_t{});
  }

  [[gnu::noinline]] void read(const std::byte* from, int64_t count, Key* keys) const {
    const Elements e = *this; // the compiler cannot know that writing keys does not change them
    typed(from, [&](const auto* values) {
      for (int64_t i = 0; i < count; ++i)
        keys[i] = e.key(values[i]);
    });
  }
  Key read(const std::byte* at) const {
    Key key;
    read(at, 1, &key);
    return key;
  }

  static constexpr int64_t kRead = 256;
  // Calls f(i, key) for elements [begin, end) of x.
  template <class F> void each(const std::byte* x, int64_t begin, int64_t end, F f) const {
    Key keys[kRead];
    for (int64_t at = begin; at < end; at += kRead) {
      const int64_t count = std::min(kRead, end - at);
      read(x + at * bytes, count, keys);
      for (int64_t i = 0; i < count; ++i)
        f(at + i, keys[i]);
    }
  }
};

// ---- what is moved: keys alone, or keys and the positions of their values -------------------------------------------

template <class K> struct KeyItem {
  using Key = K;
  K bits;
  static KeyItem make(K key, uint64_t) { return {key}; }
  K key() const { return bits; }
};

// One number: stable also where a sort that is not compares it as a whole. Positions below 2^32.
struct ShortItem {
  using Key = uint32_t;
  uint64_t bits;
  static ShortItem make(uint32_t key, uint64_t position) { return {uint64_t{key} << 32 | position}; }
  uint32_t key() const { return static_cast<uint32_t>(bits >> 32); }
  friend bool operator<(const ShortItem& a, const ShortItem& b) { return a.bits < b.bits; }
  uint64_t position() const { return static_cast<uint32_t>(bits); }
};

struct LongItem {
  using Key = uint64_t;
  uint64_t bits, at;
  friend bool operator<(const LongItem& a, const LongItem& b) {
    return a.bits < b.bits || (a.bits == b.bits && a.at < b.at);
  }
  static LongItem make(uint64_t key, uint64_t position) { return {key, position}; }
  uint64_t key() const { return bits; }
  uint64_t position() const { return at; }
};

// ---- one row, or one bucket -----------------------------------------------------------------------------------------

constexpr int64_t kBlock = 32;     // sorted by counting ranks
constexpr int64_t kMerged = 128;   // up to so many elements, sorted blocks are merged
constexpr int64_t kTogether = 128; // rows of up to so many numbers without positions are sorted side by side
constexpr int64_t kVectors = 2048; // up to so many numbers without positions are sorted as vectors

// The numbers of keys, which vectors compare as signed ones.
template <class Key> void sort_keys(const KeyItem<Key>* from, KeyItem<Key>* to, int64_t n) {
  using Signed = std::make_signed_t<Key>;
  constexpr Key sign = Key{1} << (8 * sizeof(Key) - 1);
  constexpr auto square = static_cast<int64_t>(sort_vectors::kLanes<Signed> * sort_vectors::kLanes<Signed>);
  alignas(32) Signed a[kVectors], b[kVectors];
  for (int64_t i = 0; i < n; ++i)
    a[i] = static_cast<Signed>(from[i].key() ^ sign);
  const int64_t whole = (n + square - 1) / square * square;
  std::fill(a + n, a + whole, std::numeric_limits<Signed>::max());
  const Signed* sorted = sort_vectors::sort(a, b, whole);
  for (int64_t i = 0; i < n; ++i)
    to[i] = KeyItem<Key>{static_cast<Key>(sorted[i]) ^ sign};
}
template <class Item> inline constexpr bool kIsKey = false;
template <class Key> inline constexpr bool kIsKey<KeyItem<Key>> = true;

// The rank of an element is how many come before it: no branch, and the compiler makes vectors of it.
template <class Item> void sort_block(const Item* from, Item* to, int64_t n) {
  using Signed = std::make_signed_t<typename Item::Key>;
  Signed keys[kBlock];
  for (int64_t i = 0; i < n; ++i)
    keys[i] = static_cast<Signed>(from[i].key() ^ static_cast<typename Item::Key>(std::numeric_limits<Signed>::min()));
  for (int64_t i = 0; i < n; ++i) {
    Signed rank = 0;
    for (int64_t j = 0; j < i; ++j)
      rank += keys[j] <= keys[i];
    for (int64_t j = i + 1; j < n; ++j)
      rank += keys[j] < keys[i];
    to[rank] = from[i];
  }
}

// Two neighbouring runs of equal length from both ends at once, without a branch: half as long a chain of dependent
// operations.
template <class Item> void merge_equal(const Item* from, int64_t width, Item* to) {
  const Item *a = from, *b = from + width, *a_last = b - 1, *b_last = b + width - 1;
  Item* last = to + 2 * width - 1;
  for (int64_t i = 0; i < width; ++i) {
    const bool second = b->key() < a->key();
    *to++ = second ? *b : *a;
    b += second;
    a += !second;
    const bool first = b_last->key() < a_last->key();
    *last-- = first ? *a_last : *b_last;
    a_last -= first;
    b_last -= !first;
  }
}

template <class Item> void merge(const Item* a, const Item* a_end, const Item* b, const Item* b_end, Item* to) {
  while (a != a_end && b != b_end) {
    const bool second = b->key() < a->key();
    *to++ = second ? *b : *a;
    b += second;
    a += !second;
  }
  to = std::copy(a, a_end, to);
  std::copy(b, b_end, to);
}

template <class Item> Item* sort_merging(Item* a, Item* b, int64_t n) {
  for (int64_t i = 0; i < n; i += kBlock)
    sort_block(a + i, b + i, std::min(kBlock, n - i));
  for (int64_t width = kBlock; width < n; width *= 2, std::swap(a, b))
    for (int64_t lo = 0; lo < n; lo += 2 * width) {
      const int64_t middle = std::min(lo + width, n), hi = std::min(lo + 2 * width, n);
      if (hi - lo == 2 * width)
        merge_equal(b + lo, width, a + lo);
      else
        merge(b + lo, b + middle, b + middle, b + hi, a + lo);
    }
  return b;
}

template <class Item> void insert(Item* a, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    const Item item = a[i];
    int64_t k = i;
    for (; k > 0 && item.key() < a[k - 1].key(); --k)
      a[k] = a[k - 1];
    a[k] = item;
  }
}

// Most significant digit first: as many buckets as are worth it by the range that the keys take; then each of them.
// The result is in b if `moves`, else in a.
template <class Item> void sort_by_range(Item* a, Item* b, int64_t n, bool moves) {
  using Key = typename Item::Key;
  if constexpr (kIsKey<Item>)
    if (n > 12 && n <= kVectors) return sort_keys(a, moves ? b : a, n);
  if (n <= 12) {
    if (moves) std::copy_n(a, n, b);
    return insert(moves ? b : a, n);
  }
  if (n <= kBlock) {
    if (moves) return sort_block(a, b, n);
    Item block[kBlock];
    sort_block(a, block, n);
    std::copy_n(block, n, a);
    return;
  }
  Key least = a[0].key(), greatest = least;
  for (int64_t i = 1; i < n; ++i) {
    least = std::min(least, a[i].key());
    greatest = std::max(greatest, a[i].key());
  }
  const Key range = greatest - least;
  constexpr int kMostBits = 11;
  const int bits = std::min(kMostBits, static_cast<int>(std::bit_width(static_cast<uint64_t>(n))) - 2);
  const int shift = std::max(0, static_cast<int>(std::bit_width(range)) - bits);
  const auto buckets = static_cast<int64_t>(range >> shift) + 1;
  uint32_t starts[(1 << kMostBits) + 1];
  std::fill_n(starts, buckets + 1, 0u);
  for (int64_t i = 0; i < n; ++i)
    ++starts[((a[i].key() - least) >> shift) + 1];
  for (int64_t k = 1; k <= buckets; ++k)
    starts[k] += starts[k - 1];
  for (int64_t i = 0; i < n; ++i) {
    const Item item = a[i];
    b[starts[(item.key() - least) >> shift]++] = item;
  }
  if (shift == 0) {
    if (!moves) std::copy_n(b, n, a);
    return;
  }
  for (int64_t k = 0, begin = 0; k < buckets; ++k) { // starts[k] is where bucket k ends now
    const int64_t end = starts[k];
    if (end - begin == 1) {
      if (!moves) a[begin] = b[begin];
    } else if (end > begin) {
      sort_by_range(b + begin, a + begin, end - begin, !moves);
    }
    begin = end;
  }
}

// LSD radix, by digits of so many bits. Digits that are the same everywhere are passed over.
template <int passes, int digit, class Item> Item* sort_by_digits(Item* a, Item* b, int64_t n) {
  using Key = typename Item::Key;
  constexpr Key mask = (Key{1} << digit) - 1;
  uint32_t counts[passes][mask + 1] = {};
  const Key first = a[0].key();
  Key varying = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Key key = a[i].key();
    varying |= key ^ first;
    for (int p = 0; p < passes; ++p)
      ++counts[p][key >> (p * digit) & mask];
  }
  for (int p = 0; p < passes; ++p) {
    if ((varying >> (p * digit) & mask) == 0) continue;
    uint32_t sum = 0;
    for (uint32_t& count : counts[p])
      sum += std::exchange(count, sum);
    for (int64_t i = 0; i < n; ++i) {
      const Item item = a[i];
      b[counts[p][item.key() >> (p * digit) & mask]++] = item;
    }
    std::swap(a, b);
  }
  return a;
}

// Sorts a[0, n) by keys of so many bytes, with b as another place for as many. Gives where the result is: a or b.
template <class Item> Item* sort_items(Item* a, Item* b, int64_t n, int64_t bytes) {
  if constexpr (kIsKey<Item>)
    if (n <= kVectors) {
      sort_keys(a, b, n);
      return b;
    }
  if (n <= kMerged) return sort_merging(a, b, n);
  if constexpr (sizeof(typename Item::Key) == 8) {
    sort_by_range(a, b, n, true);
    return b;
  } else {
    const bool is_long = n > 4096;
    if (bytes == 1) return sort_by_digits<1, 8>(a, b, n);
    if (bytes == 2) return is_long ? sort_by_digits<2, 11>(a, b, n) : sort_by_digits<2, 8>(a, b, n);
    return is_long ? sort_by_digits<3, 11>(a, b, n) : sort_by_digits<4, 8>(a, b, n);
  }
}

// ---- the phases -----------------------------------------------------------------------------------------------------

constexpr int64_t kShortRow = 1 << 15; // longer rows are shared by workers,
constexpr int64_t kFewRows = 4;        // if there are so few of them
constexpr int64_t kChunk = 1 << 16;    // of a long row: so many elements, or a 64th
constexpr int64_t kMostChunks = 64;
constexpr int64_t kSpare = 128; // the k greatest are chosen among 2 k and so many elements
constexpr int kBucketBits = 11;
constexpr int64_t kBuckets = 1 << kBucketBits;

inline int64_t chunks_of(int64_t n) { return std::min(kMostChunks, (n + kChunk - 1) / kChunk); }

// What a long row has in shared memory. `Extremes` and the counts are per chunk.
template <class Key> struct Extremes {
  Key least, greatest;
};

template <SortOp op, class Key> struct Sorter {
  using OrderItem = std::conditional_t<sizeof(Key) == 4, ShortItem, LongItem>;
  using Item = std::conditional_t<op == SortOp::Values, KeyItem<Key>, OrderItem>;

  int64_t rows, n, k; // k results a row
  Elements<Key> elements;
  const std::byte* x;
  std::byte* result; // of elements, or of i64
  std::byte *shared, *local;

  Sorter(KernelArgs args, const KernelWorkspace* workspace)
      : rows(number(args, 0)), n(number(args, 1)), k(number(args, 2)), elements(static_cast<DType>(number(args, 3))),
        x(static_cast<const std::byte*>(args[kSortNumbers])), result(static_cast<std::byte*>(args[kSortNumbers + 1])),
        shared(workspace->shared), local(workspace->local) {}

  const std::byte* row_of_x(int64_t row) const { return x + row * n * elements.bytes; }

  static int64_t number(KernelArgs args, size_t i) {
    int64_t value;
    std::memcpy(&value, args[i], sizeof value);
    return value;
  }

  // Writes sorted items as results, from number `first` of all; keys are less by `least`.
  template <class I> void write(const I* items, int64_t count, int64_t first, Key least = 0) const {
    if constexpr (op == SortOp::Values) {
      const Elements<Key> e = elements;
      e.typed(result + first * e.bytes, [&](auto* to) {
        for (int64_t i = 0; i < count; ++i)
          to[i] = static_cast<std::remove_reference_t<decltype(*to)>>(e.bits(static_cast<Key>(items[i].key() + least)));
      });
    } else {
      auto* to = reinterpret_cast<int64_t*>(result) + first;
      for (int64_t i = 0; i < count; ++i)
        to[i] = static_cast<int64_t>(items[i].position());
    }
  }

  // What keys do not tell: which NaN, and which of the zeros. They come in the order of the row.
  void restore(int64_t row) const {
    if constexpr (op == SortOp::Values) {
      if (!elements.of_floats) return;
      const std::byte* from = row_of_x(row);
      std::byte* to = result + row * n * elements.bytes;
      auto copy = [&](Key wanted) {
        int64_t at = 0;
        for (int64_t step = std::bit_floor(static_cast<uint64_t>(n)); step > 0; step /= 2)
          if (at + step <= n && elements.read(to + (at + step - 1) * elements.bytes) < wanted) at += step;
        if (at == n || elements.read(to + at * elements.bytes) != wanted) return;
        elements.each(from, 0, n, [&](int64_t i, Key key) {
          if (key == wanted) std::memcpy(to + at++ * elements.bytes, from + i * elements.bytes, elements.bytes);
        });
      };
      copy(elements.key_of_zero());
      copy(elements.key_of_nan());
    }
  }

  void whole_row(int64_t row) const {
    Item* a = reinterpret_cast<Item*>(local);
    elements.each(row_of_x(row), 0, n, [&](int64_t i, Key key) { a[i] = Item::make(key, static_cast<uint64_t>(i)); });
    Item* sorted = a + n;
    if (n > kShortRow)
      sort_by_range(a, sorted, n, true);
    else
      sorted = sort_items(a, sorted, n, elements.bytes);
    write(sorted, n, row * n);
    restore(row);
  }

  // Rows [first, end), of at most kTogether elements: as many at a time as a vector has lanes.
  void short_rows(int64_t first, int64_t end) const {
    using Signed = std::make_signed_t<Key>;
    constexpr auto lanes = static_cast<int64_t>(sort_vectors::kLanes<Signed>);
    constexpr Key flip = Key{1} << (8 * sizeof(Key) - 1);
    alignas(32) Signed numbers[lanes * kTogether], columns[lanes * kTogether];
    Key keys[kTogether];
    bool ambiguous[lanes]; // does the row have a zero or a NaN?
    KeyItem<Key> items[kTogether];
    for (; first < end; first += lanes) {
      const int64_t count = std::min(lanes, end - first);
      for (int64_t lane = 0; lane < lanes; ++lane) { // those beyond the last row are as that
        elements.read(row_of_x(first + std::min(lane, count - 1)), n, keys);
        for (int64_t i = 0; i < n; ++i)
          numbers[lane * kTogether + i] = static_cast<Signed>(keys[i] ^ flip);
        bool any = false;
        for (int64_t i = 0; elements.of_floats && i < n; ++i)
          any |= (keys[i] == elements.key_of_zero()) | (keys[i] == elements.key_of_nan());
        ambiguous[lane] = any;
      }
      sort_vectors::sort_rows(numbers, kTogether, n, columns);
      for (int64_t lane = 0; lane < count; ++lane) {
        for (int64_t i = 0; i < n; ++i)
          items[i] = {static_cast<Key>(numbers[lane * kTogether + i]) ^ flip};
        write(items, n, (first + lane) * n);
        if (ambiguous[lane]) restore(first + lane);
      }
    }
  }

  static int64_t kept_of(int64_t n, int64_t k) { return std::min(n, 2 * k + kSpare); }

  // Keeps the least elements so far: what is not less than the k-th of them is passed over, in blocks. Equals that come
  // later are not less.
  void top_row(int64_t row) const {
    if (k == 0) return;
    const int64_t room = kept_of(n, k);
    Item* kept = reinterpret_cast<Item*>(local);
    const std::byte* from = row_of_x(row);
    // Descending is ascending by what is left to the greatest key.
    auto item = [&](int64_t i, Key key) { return Item::make(elements.all - key, static_cast<uint64_t>(i)); };
    elements.each(from, 0, room, [&](int64_t i, Key key) { kept[i] = item(i, key); });
    if (room == n) return write(sort_items(kept, kept + n, n, elements.bytes), k, row * k);
    int64_t count = room;
    auto keep_least = [&] {
      std::nth_element(kept, kept + k - 1, kept + count);
      count = k;
      return elements.all - kept[k - 1].key();
    };
    Key bound = keep_least();
    Key keys[kBlock];
    for (int64_t begin = room; begin < n; begin += kBlock) {
      const int64_t size = std::min(kBlock, n - begin);
      elements.read(from + begin * elements.bytes, size, keys);
      bool any = false;
      for (int64_t i = 0; i < size; ++i)
        any |= keys[i] > bound;
      if (!any) continue;
      for (int64_t i = 0; i < size; ++i) {
        if (keys[i] <= bound) continue;
        kept[count++] = item(begin + i, keys[i]);
        if (count == room) bound = keep_least();
      }
    }
    keep_least();
    std::sort(kept, kept + k);
    write(kept, k, row * k);
  }

  // The digits by which a row is partitioned: (key - least) >> shift.
  struct Partition {
    Key least;
    int shift;
    uint64_t bucket(Key key) const { return (key - least) >> shift; }
    bool tells_all() const { return shift == 0; } // the elements of a bucket are equal
  };

  // The shared memory of a long row: counts of each chunk, where buckets begin, extremes of each chunk, items twice.
  struct Row {
    int64_t *counts, *starts;
    Extremes<Key>* extremes;
    Partition* partition;
    Item *a, *b;
  };
  static constexpr int64_t kChunkBytes = kBuckets * 8 + 64, kRowBytes = (kBuckets + 8) * 8 + 64;
  Row row_at(int64_t row) const {
    const int64_t chunks = chunks_of(n), tables = kRowBytes - 64 + chunks * kChunkBytes;
    const int64_t bytes = (tables + 2 * n * static_cast<int64_t>(sizeof(Item)) + 63) / 64 * 64;
    std::byte* at = shared + row * bytes;
    Row r;
    r.counts = reinterpret_cast<int64_t*>(at);
    r.starts = r.counts + chunks * kBuckets;
    r.extremes = reinterpret_cast<Extremes<Key>*>(r.starts + kBuckets + 8);
    r.partition = reinterpret_cast<Partition*>(r.starts + kBuckets + 1);
    r.a = reinterpret_cast<Item*>(at + tables);
    r.b = r.a + n;
    return r;
  }
  struct Chunk {
    int64_t row, number, begin, end;
  };
  Chunk chunk_at(int64_t tile) const {
    const int64_t chunks = chunks_of(n), number = tile % chunks;
    const int64_t size = (n + chunks - 1) / chunks;
    return {tile / chunks, number, std::min(n, number * size), std::min(n, (number + 1) * size)};
  }

  void find_extremes(int64_t tile) const {
    const Chunk c = chunk_at(tile);
    Extremes<Key> found{static_cast<Key>(~Key{0}), 0};
    elements.each(row_of_x(c.row), c.begin, c.end, [&](int64_t, Key key) {
      found.least = std::min(found.least, key);
      found.greatest = std::max(found.greatest, key);
    });
    row_at(c.row).extremes[c.number] = found;
  }

  Partition partition_of(const Row& r) const {
    Extremes<Key> all = r.extremes[0];
    for (int64_t c = 1; c < chunks_of(n); ++c) {
      all.least = std::min(all.least, r.extremes[c].least);
      all.greatest = std::max(all.greatest, r.extremes[c].greatest);
    }
    Partition p{all.least, 0};
    while (p.bucket(all.greatest) >= uint64_t{kBuckets})
      ++p.shift;
    return p;
  }

  void count(int64_t tile) const {
    const Chunk c = chunk_at(tile);
    const Row r = row_at(c.row);
    const Partition p = partition_of(r);
    int64_t* counts = r.counts + c.number * kBuckets;
    std::fill_n(counts, kBuckets, 0);
    elements.each(row_of_x(c.row), c.begin, c.end, [&](int64_t, Key key) { ++counts[p.bucket(key)]; });
  }

  void scatter(int64_t tile) const {
    const Chunk c = chunk_at(tile);
    const Row r = row_at(c.row);
    const Partition p = partition_of(r);
    // Before an element are the buckets before its own, and the chunks before its own of that.
    int64_t next[kBuckets], sum = 0;
    for (int64_t b = 0; b < kBuckets; ++b) {
      next[b] = sum;
      if (c.number == 0) r.starts[b] = sum;
      for (int64_t k = 0; k < chunks_of(n); ++k) {
        if (k == c.number) next[b] = sum;
        sum += r.counts[k * kBuckets + b];
      }
    }
    if (c.number == 0) {
      r.starts[kBuckets] = sum;
      *r.partition = p;
    }
    if (op == SortOp::Values && p.tells_all()) return;
    elements.each(row_of_x(c.row), c.begin, c.end, [&](int64_t i, Key key) {
      r.a[next[p.bucket(key)]++] = Item::make(key - p.least, static_cast<uint64_t>(i));
    });
  }

  void bucket(int64_t tile) const {
    const int64_t row = tile / kBuckets, b = tile % kBuckets;
    const Row r = row_at(row);
    const int64_t begin = r.starts[b], count = r.starts[b + 1] - begin, first = row * n + begin;
    if (count == 0) return;
    const Partition p = *r.partition;
    if (p.tells_all()) {
      if constexpr (op == SortOp::Values)
        fill(p.least + static_cast<Key>(b), count, first);
      else
        write(r.a + begin, count, first);
      return;
    }
    if constexpr (sizeof(Key) == 8)
      if (p.shift <= 32 && n <= int64_t{UINT32_MAX})
        return sort_narrow(r, begin, count, static_cast<Key>(b) << p.shift, first, p.least);
    write(sort_items(r.a + begin, r.b + begin, count, elements.bytes), count, first, p.least);
  }

  // `count` results of this key, from number `first` of all.
  void fill(Key key, int64_t count, int64_t first) const {
    elements.typed(result + first * elements.bytes, [&](auto* to) {
      std::fill_n(to, count, static_cast<std::remove_reference_t<decltype(*to)>>(elements.bits(key)));
    });
  }

  // A bucket whose keys differ in 32 bits only: as keys of so many, which begin at `base`.
  void sort_narrow(const Row& r, int64_t begin, int64_t count, Key base, int64_t first, Key least) const {
    using Narrow = std::conditional_t<op == SortOp::Values, KeyItem<uint32_t>, ShortItem>;
    static_assert(sizeof(Key) == 4 || 2 * sizeof(Narrow) <= sizeof(Item)); // both places are in r.b
    auto* a = reinterpret_cast<Narrow*>(r.b + begin);
    for (int64_t i = 0; i < count; ++i) {
      const Item item = r.a[begin + i];
      uint64_t position = 0;
      if constexpr (op != SortOp::Values) position = item.position();
      a[i] = Narrow::make(static_cast<uint32_t>(item.key() - base), position);
    }
    write(sort_items(a, a + count, count, 4), count, first, least + base);
  }
};

template <SortOp op, class Key>
void whole_rows(KernelArgs args, int64_t begin, int64_t end, const KernelWorkspace* workspace, KernelErrors*) {
  const Sorter<op, Key> sorter(args, workspace);
  if constexpr (op == SortOp::Values)
    if (sorter.n <= kTogether && sorter.n > 1 && end - begin > 1) return sorter.short_rows(begin, end);
  for (int64_t row = begin; row < end; ++row)
    sorter.whole_row(row);
}

template <SortOp op, class Key, void (Sorter<op, Key>::*step)(int64_t) const>
void phase(KernelArgs args, int64_t begin, int64_t end, const KernelWorkspace* workspace, KernelErrors*) {
  const Sorter<op, Key> sorter(args, workspace);
  for (int64_t tile = begin; tile < end; ++tile)
    (sorter.*step)(tile);
}

// ---- the kernels ----------------------------------------------------------------------------------------------------

// What is needed to know how much memory the phases take, and in how many tiles they run.
struct Layout {
  int64_t item_bytes, chunk_bytes, row_bytes;
};
// For the kernels of Values and Order; `restore` may be null.
struct Phases {
  PhaseFunction whole_row, find_extremes, count, scatter, bucket, restore;
};
CompiledKernel make_kernel(SortOp op, const Layout& layout, const Phases& phases);
CompiledKernel make_top_kernel(int64_t item_bytes, PhaseFunction top_row);

template <SortOp op, class Key> CompiledKernel make_kernel() {
  using S = Sorter<op, Key>;
  constexpr int64_t item_bytes = sizeof(typename S::Item);
  if constexpr (op == SortOp::Top) {
    return make_top_kernel(item_bytes, phase<op, Key, &S::top_row>);
  } else {
    Phases phases{whole_rows<op, Key>,         phase<op, Key, &S::find_extremes>, phase<op, Key, &S::count>,
                  phase<op, Key, &S::scatter>, phase<op, Key, &S::bucket>,        nullptr};
    if constexpr (op == SortOp::Values) phases.restore = phase<op, Key, &S::restore>;
    return make_kernel(op, {item_bytes, S::kChunkBytes, S::kRowBytes}, phases);
  }
}

template <SortOp op> const CompiledKernel& kernel_of(DType type) {
  static const CompiledKernel narrow = make_kernel<op, uint32_t>(), wide = make_kernel<op, uint64_t>();
  return size_of(type) == 8 ? wide : narrow;
}

} // namespace tl::sorting
