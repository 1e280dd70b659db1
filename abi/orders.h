// The two orders of summation that the language fixes, as reference code. Every engine gives these bits.
//
// Sums (and every other reduction): the logical row-major index k of the reduced elements is cut into chunks of
// kSumChunk. In a chunk, lane l = k % kSumLanes folds its elements by ascending k, starting from the identity; the
// lanes combine by halving (lane l with lane l + 16, then + 8, 4, 2, 1). The chunk results are folded like elements, in
// chunks and lanes of their own, and the results of those, until one is left: no step of it has to wait for more than
// kSumChunk / kSumLanes others. They are of the *total* type: f64 for sum and prod of floats, else the accumulator's.
// Accumulators: f16 and bf16 in f32; otherwise the element type. (sum and prod of bools and narrow integers: i64,
// wrapping.) The identity of sum is -0.0, exact to add, so that masked tails never change a bit; an empty sum is +0.0.
//
// Scans (running sums and products along an axis): the axis is a tree of nodes of kScanRadix children, whose leaves are
// segments of kScanRadix elements. In a segment each element is folded into the one before it, in the accumulator; the
// children of a node are folded one after the other, in the total type, from the identity; the highest of kScanLevels
// has as many children as there are. An element is what comes before its segment (what comes before each node around it
// among its siblings, from the highest down, each folded into the one above) with its own running fold folded in,
// rounded once. So an axis of at most kScanRadix elements is folded from left to right, and of a longer one no step has
// to wait for more than kScanRadix others on each level.
//
// Contractions (a sum of products of two factors): k ascending in chunks of kContractChunk; each chunk is one chain
// acc = fma(a, b, acc) from +0.0; chunk sums add left to right starting from the first. f16 and bf16 accumulate in f32.
// Integers: wrapping multiply and add (no order needed).
#pragma once
#include <cstdint>
#include <type_traits>
#include <vector>

namespace tl {

constexpr int64_t kSumLanes = 32;
constexpr int64_t kSumChunk = 4096;
// Levels of chunk results: an axis has at most 2^47 elements, so 2^35 chunks, 2^23 of these, 2^11 of those.
constexpr int kSumLevels = 3;
constexpr int64_t kContractChunk = 512;
constexpr int64_t kScanRadix = 32;
constexpr int kScanLevels = 4; // of nodes: 32 segments, 32 of these, 32 of those, and all of those

// Folds load(begin) .. load(end - 1), at most a chunk.
template <class Acc, class Load, class Combine>
Acc reduce_chunk_in_order(int64_t begin, int64_t end, Acc identity, Load load, Combine combine) {
  Acc lanes[kSumLanes];
  for (auto& lane : lanes)
    lane = identity;
  for (int64_t k = begin; k < end; ++k) {
    Acc& lane = lanes[(k - begin) % kSumLanes];
    lane = combine(lane, load(k));
  }
  for (int64_t step = kSumLanes / 2; step > 0; step /= 2)
    for (int64_t l = 0; l < step; ++l)
      lanes[l] = combine(lanes[l], lanes[l + step]);
  return lanes[0];
}

// Folds load(0) .. load(n - 1) in the order of sums.
//   Acc      accumulator type; identity is neutral for combine
//   combine  (Acc, Acc) -> Acc      total: (Total, Total) -> Total      widen: Acc -> Total
// n = 0 gives widen(identity).
template <class Acc, class Load, class Combine, class Widen, class Total>
auto reduce_in_order(int64_t n, Acc identity, Load load, Combine combine, Widen widen, Total total) {
  using Wide = decltype(widen(identity));
  auto each_chunk = [](int64_t count, auto fold) {
    std::vector<Wide> results;
    for (int64_t begin = 0; begin < count; begin += kSumChunk)
      results.push_back(fold(begin, begin + kSumChunk < count ? begin + kSumChunk : count));
    return results;
  };
  std::vector<Wide> left = each_chunk(
      n, [&](int64_t begin, int64_t end) { return widen(reduce_chunk_in_order(begin, end, identity, load, combine)); });
  while (left.size() > 1)
    left = each_chunk(static_cast<int64_t>(left.size()), [&](int64_t begin, int64_t end) {
      auto at = [&](int64_t k) { return Wide(left[static_cast<size_t>(k)]); };
      return reduce_chunk_in_order(begin, end, widen(identity), at, total);
    });
  return left.empty() ? widen(identity) : Wide(left[0]);
}

// The running folds of elements that come one after the other, in the order of scans; types as in reduce_in_order.
// `narrow` rounds a Total to what is stored.
template <class Acc, class Combine, class Widen, class Total, class Narrow> class ScanInOrder {
public:
  ScanInOrder(Acc identity, Combine combine, Widen widen, Total total, Narrow narrow)
      : none_(widen(identity)), last_(identity), levels_(kScanLevels, none_), combine_(combine), widen_(widen),
        total_(total), narrow_(narrow) {}

  auto next(Acc x) {
    if (count_ % kScanRadix == 0 && count_ > 0) { // a segment has ended
      levels_[0] = total_(levels_[0], widen_(last_));
      int64_t size = kScanRadix * kScanRadix;
      for (size_t level = 0; level + 1 < levels_.size() && count_ % size == 0; ++level, size *= kScanRadix) {
        levels_[level + 1] = total_(levels_[level + 1], levels_[level]);
        levels_[level] = none_;
      }
    }
    last_ = count_++ % kScanRadix == 0 ? x : combine_(last_, x);
    auto offset = levels_.back();
    for (size_t level = levels_.size() - 1; level-- > 0;)
      offset = total_(offset, levels_[level]);
    return narrow_(total_(offset, widen_(last_)));
  }

private:
  using Wide = std::invoke_result_t<Widen, Acc>;
  Wide none_;
  Acc last_;
  std::vector<Wide> levels_;
  Combine combine_;
  Widen widen_;
  Total total_;
  Narrow narrow_;
  int64_t count_ = 0;
};

// Sum of a(k) * b(k) for k in [0, n) in the order of contractions. fma(x, y, z) and add(x, y) are the accumulator's.
template <class Acc, class A, class B, class Fma, class Add>
Acc contract_in_order(int64_t n, Acc zero, A a, B b, Fma fma, Add add) {
  Acc result = zero;
  for (int64_t begin = 0; begin < n; begin += kContractChunk) {
    int64_t end = begin + kContractChunk < n ? begin + kContractChunk : n;
    Acc acc = zero;
    for (int64_t k = begin; k < end; ++k)
      acc = fma(a(k), b(k), acc);
    result = begin == 0 ? acc : add(result, acc);
  }
  return result;
}

} // namespace tl
