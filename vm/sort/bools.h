// The k greatest of a row of bools: where it is true, then where it is false. What masks choose are the first so many.
// Chunks of a row are counted, then each puts its positions where the counts of those before it end.
#pragma once
#include "vm/sort/sorter.h"
#include <array>

namespace tl::sorting {

constexpr int64_t kBoolChunk = 1 << 14; // so many elements, or a 64th of a row

inline int64_t bool_chunks_of(int64_t n) { return std::min(kMostChunks, (n + kBoolChunk - 1) / kBoolChunk); }

struct TopOfBools {
  static constexpr int64_t kWord = sizeof(uint64_t), kBlock = 8 * kWord; // elements: a byte each, 0 or 1

  int64_t n, k;
  const uint8_t* x;
  int64_t *result, *counts;

  TopOfBools(KernelArgs args, const KernelWorkspace* workspace)
      : n(number(args, 1)), k(number(args, 2)), x(static_cast<const uint8_t*>(args[kSortNumbers])),
        result(static_cast<int64_t*>(args[kSortNumbers + 1])), counts(reinterpret_cast<int64_t*>(workspace->shared)) {}

  static int64_t number(KernelArgs args, size_t i) {
    int64_t value;
    std::memcpy(&value, args[i], sizeof value);
    return value;
  }
  static uint64_t word_at(const uint8_t* from) {
    uint64_t word;
    std::memcpy(&word, from, sizeof word);
    return word;
  }

  struct Chunk {
    int64_t row, first, begin, end; // first: of the row's chunks, as a tile
  };
  Chunk chunk_at(int64_t tile) const {
    const int64_t chunks = bool_chunks_of(n), number = tile % chunks, size = (n + chunks - 1) / chunks;
    return {tile / chunks, tile - number, std::min(n, number * size), std::min(n, (number + 1) * size)};
  }

  void count(int64_t tile) const {
    const Chunk c = chunk_at(tile);
    const uint8_t *from = x + c.row * n + c.begin, *end = x + c.row * n + c.end;
    int64_t all = 0;
    constexpr int64_t most = 255; // so many are added in a byte
    while (end - from >= kBlock) {
      std::array<uint64_t, kBlock / kWord> sums{};
      for (int64_t left = std::min(most, (end - from) / kBlock); left > 0; --left, from += kBlock)
        for (size_t i = 0; i < sums.size(); ++i)
          sums[i] += word_at(from + static_cast<int64_t>(i) * kWord);
      std::array<uint8_t, kBlock> bytes;
      std::memcpy(bytes.data(), sums.data(), sizeof bytes);
      for (uint8_t byte : bytes)
        all += byte;
    }
    for (; from < end; ++from)
      all += *from;
    counts[tile] = all;
  }

  void place(int64_t tile) const {
    const Chunk c = chunk_at(tile);
    int64_t before = 0, all = 0;
    for (int64_t other = c.first; other < c.first + bool_chunks_of(n); ++other) {
      if (other < tile) before += counts[other];
      all += counts[other];
    }
    const uint8_t* row = x + c.row * n;
    int64_t* to = result + c.row * k;
    if (before < k) place_true(row, c.begin, c.end, to + before, to + std::min(k, before + counts[tile]));
    for (int64_t i = c.begin, at = all + c.begin - before; i < c.end && at < k; ++i)
      if (!row[i]) to[at++] = i;
  }

  // The positions of true among [begin, end), as far as there is room: what is behind `last` is another's.
  static void place_true(const uint8_t* row, int64_t begin, int64_t end, int64_t* to, int64_t* last) {
    const auto one_by_one = [&](int64_t i, int64_t stop) {
      for (; i < stop && to < last; ++i)
        if (row[i]) *to++ = i;
    };
    const auto word = [&](int64_t i) {
      if (last - to < kWord) return one_by_one(i, i + kWord);
      const uint64_t bits = word_at(row + i) * 0x0102040810204080 >> 56; // the lowest bit of each byte
      const std::array<uint8_t, kWord>& places = kPlaces[bits];
      for (size_t j = 0; j < places.size(); ++j)
        to[j] = i + places[j];
      to += std::popcount(bits);
    };
    int64_t i = begin;
    for (; end - i >= kBlock; i += kBlock) {
      uint64_t any = 0;
      for (int64_t j = 0; j < kBlock; j += kWord)
        any |= word_at(row + i + j);
      if (!any) continue;
      for (int64_t j = 0; j < kBlock; j += kWord)
        word(i + j);
    }
    for (; end - i >= kWord; i += kWord)
      word(i);
    one_by_one(i, end);
  }

  // Which of eight bits are set, the lowest first; behind them anything.
  static constexpr std::array<std::array<uint8_t, kWord>, 256> kPlaces = [] {
    std::array<std::array<uint8_t, kWord>, 256> places{};
    for (size_t bits = 0; bits < places.size(); ++bits)
      for (size_t bit = 0, at = 0; bit < 8; ++bit)
        if (bits >> bit & 1) places[bits][at++] = static_cast<uint8_t>(bit);
    return places;
  }();
};

template <void (TopOfBools::*step)(int64_t) const>
void bool_phase(KernelArgs args, int64_t begin, int64_t end, const KernelWorkspace* workspace, KernelErrors*) {
  const TopOfBools top(args, workspace);
  for (int64_t tile = begin; tile < end; ++tile)
    (top.*step)(tile);
}

CompiledKernel make_bools_kernel(PhaseFunction count, PhaseFunction place);

} // namespace tl::sorting
