// Quicksort of numbers, a vector at a time, in place (as in Blacher et al., Vectorized and performance-portable
// Quicksort, 2022): partitions write each vector's lesser numbers to one end of the room that reading has left and the
// others to the other end; few numbers are sorted by networks. Numbers that are partitioned badly again and again are
// heaped, so that time is n log n at worst.
#pragma once
#include "vm/sort/vectors.h"

namespace tl::sorting::TL_VECTORS {

// Bit i: is a[i] less than b[i]?
// split: writes the lanes of the mask from `begin` on, the others up to `end`; gives how many are in the mask. Between
// them are as many numbers as a vector has, or two vectors' and more; what is between the two is lost.
#ifdef __AVX512F__
inline uint32_t less_mask(Vector<int32_t> a, Vector<int32_t> b) {
  return _mm512_cmplt_epi32_mask((__m512i)a, (__m512i)b);
}
inline uint32_t less_mask(Vector<int64_t> a, Vector<int64_t> b) {
  return _mm512_cmplt_epi64_mask((__m512i)a, (__m512i)b);
}
// Compressing to memory takes hundreds of cycles on some processors; to a register it does not.
inline int split(Vector<int32_t> v, uint32_t mask, int32_t* begin, int32_t* end) {
  const int first = __builtin_popcount(mask), others = kLanes<int32_t> - first;
  _mm512_storeu_si512(begin, _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), (__m512i)v));
  _mm512_mask_storeu_epi32(end - others, static_cast<__mmask16>(_bzhi_u32(0xffff, static_cast<uint32_t>(others))),
                           _mm512_maskz_compress_epi32(static_cast<__mmask16>(~mask), (__m512i)v));
  return first;
}
inline int split(Vector<int64_t> v, uint32_t mask, int64_t* begin, int64_t* end) {
  const int first = __builtin_popcount(mask), others = kLanes<int64_t> - first;
  _mm512_storeu_si512(begin, _mm512_maskz_compress_epi64(static_cast<__mmask8>(mask), (__m512i)v));
  _mm512_mask_storeu_epi64(end - others, static_cast<__mmask8>(_bzhi_u32(0xff, static_cast<uint32_t>(others))),
                           _mm512_maskz_compress_epi64(static_cast<__mmask8>(~mask), (__m512i)v));
  return first;
}
#else
// For each mask the lanes in it, then the others, as numbers of 32 bits each.
template <class T> struct Places {
  static constexpr int kMasks = 1 << kLanes<T>;
  alignas(64) uint8_t of[kMasks][8];
  constexpr Places() : of{} {
    constexpr int parts = 8 / kLanes<T>;
    for (int mask = 0; mask < kMasks; ++mask)
      for (int others = 0, at = 0; others < 2; ++others)
        for (int i = 0; i < kLanes<T>; ++i)
          for (int part = 0; part < parts && (mask >> i & 1) != others; ++part)
            of[mask][at++] = static_cast<uint8_t>(i * parts + part);
  }
};
template <class T> inline constexpr Places<T> kPlaces;

inline uint32_t less_mask(Vector<int32_t> a, Vector<int32_t> b) {
  return static_cast<uint32_t>(_mm256_movemask_ps((__m256)(__m256i)(a < b)));
}
inline uint32_t less_mask(Vector<int64_t> a, Vector<int64_t> b) {
  return static_cast<uint32_t>(_mm256_movemask_pd((__m256d)(__m256i)(a < b)));
}
template <class V, class T> int split(V v, uint32_t mask, T* begin, T* end) {
  long long places;
  std::memcpy(&places, kPlaces<T>.of[mask], sizeof places);
  const __m256i moved = _mm256_permutevar8x32_epi32((__m256i)v, _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(places)));
  std::memcpy(begin, &moved, sizeof moved);
  std::memcpy(end - kLanes<T>, &moved, sizeof moved);
  return __builtin_popcount(mask);
}
#endif

constexpr int kTogether = 4; // vectors that are read together

// Where the next numbers go: the lesser ones at `begin`, the others before `end`.
template <class T> struct Room {
  T *begin, *end;
  T bound;

  void put(T x) {
    const bool first = x < bound;
    *begin = x;
    end[-1] = x;
    begin += first;
    end -= !first;
  }
  [[gnu::always_inline]] void put(Vector<T> v) {
    const int first = split(v, less_mask(v, broadcast<T>(bound)), begin, end);
    begin += first;
    end -= kLanes<T> - first;
  }
  [[gnu::always_inline]] void put(const Vector<T> (&v)[kTogether]) {
#pragma GCC unroll 4
    for (const Vector<T>& one : v)
      put(one);
  }
  // First what is no whole vector, so that whole ones are left.
  void put(const T* numbers, int count) {
    int i = 0;
    for (; i < count % kLanes<T>; ++i)
      put(numbers[i]);
    for (; i < count; i += kLanes<T>)
      put(load(numbers + i));
  }
};

template <class T> [[gnu::always_inline]] inline void load_block(Vector<T> (&v)[kTogether], const T* from) {
#pragma GCC unroll 4
  for (int k = 0; k < kTogether; ++k)
    v[k] = load(from + k * kLanes<T>);
}

template <class T> int64_t partition(T* a, int64_t n, T bound) {
  constexpr int block = kTogether * kLanes<T>;
  Room<T> room{a, a + n, bound};
  T rest[block];
  const int extra = static_cast<int>(n % block);
  std::memcpy(rest, a, static_cast<size_t>(extra) * sizeof(T));
  if (n < block) {
    room.put(rest, extra);
    return room.begin - a;
  }
  T *from = a + extra, *to = a + n - block;
  Vector<T> first[kTogether], last[kTogether];
  load_block(last, to);
  if (from != to) {
    load_block(first, from);
    from += block;
    while (from != to) {
      // From where there is less room, so that both sides have enough.
      const bool right = room.end - to < from - room.begin;
      const T* at = right ? to - block : from;
      to -= right ? block : 0;
      from += right ? 0 : block;
      Vector<T> v[kTogether];
      load_block(v, at);
      room.put(v);
    }
    room.put(rest, extra);
    room.put(first);
  } else {
    room.put(rest, extra);
  }
  room.put(last);
  return room.begin - a;
}

constexpr int kFew = 16; // vectors that networks sort

template <class T> void sort_few(T* a, int n) {
  if (n < 2) return;
  constexpr int lanes = kLanes<T>;
  alignas(kVectorBytes) T numbers[kFew * lanes];
  // A few vectors more are worth a power of two.
  int count = (n + lanes - 1) / lanes, whole = 1;
  while (whole < count)
    whole *= 2;
  if (4 * count > 3 * whole) count = whole;
  for (int k = n / lanes; k < count; ++k)
    store(numbers + k * lanes, broadcast<T>(kMost<T>));
  std::memcpy(numbers, a, static_cast<size_t>(n) * sizeof(T));
  sort_vectors(numbers, count);
  std::memcpy(a, numbers, static_cast<size_t>(n) * sizeof(T));
}

template <class T> void sift(T* heap, int64_t at, int64_t n) {
  const T x = heap[at];
  for (int64_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && heap[child] < heap[child + 1]) ++child;
    if (x >= heap[child]) break;
    heap[at] = heap[child];
  }
  heap[at] = x;
}
template <class T> void sort_heap(T* a, int64_t n) {
  for (int64_t i = n / 2; i-- > 0;)
    sift(a, i, n);
  for (int64_t i = n; i-- > 1;) {
    const T x = a[i];
    a[i] = a[0];
    a[0] = x;
    sift(a, 0, i);
  }
}

// The median of some that stand evenly in a.
template <class T> T pivot_of(const T* a, int64_t n) {
  constexpr int lanes = kLanes<T>;
  const int size = (n < 2048 ? 2 : 4) * lanes;
  alignas(kVectorBytes) T sample[4 * lanes];
  const int64_t step = n / size;
  for (int i = 0; i < size; ++i)
    sample[i] = a[i * step + step / 2];
  sort_vectors(sample, size / lanes);
  return sample[size / 2];
}

// `tries`: so many partitions deep, and no more.
template <class T> void quicksort(T* a, int64_t n, int tries) {
  while (n > kFew * kLanes<T>) {
    if (tries-- == 0) return sort_heap(a, n);
    const T pivot = pivot_of(a, n);
    const int64_t less = partition(a, n, pivot);
    if (less == 0) { // it is the least: those that equal it are in place then
      if (pivot == kMost<T>) return;
      const int64_t equal = partition(a, n, static_cast<T>(pivot + 1));
      a += equal;
      n -= equal;
    } else if (less < n - less) {
      quicksort(a, less, tries);
      a += less;
      n -= less;
    } else {
      quicksort(a + less, n - less, tries);
      n = less;
    }
  }
  sort_few(a, static_cast<int>(n));
}
template <class T> void sort(T* a, int64_t n) {
  const int log = 64 - __builtin_clzll(static_cast<unsigned long long>(n) | 1);
  quicksort(a, n, 2 * log + 4);
}

static_assert(kLanes<int32_t> <= kMostLanes);
template <class T> constexpr Methods<T> kMethods{sort<T>, partition<T>, sort_columns<T>, kLanes<T>};

} // namespace tl::sorting::TL_VECTORS
