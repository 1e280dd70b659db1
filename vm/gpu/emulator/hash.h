// A hash of bytes, for names of files and to see damage; not against an enemy.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tl::emulator {

inline uint64_t hash(std::string_view bytes, uint64_t seed = 0) {
  uint64_t h = seed ^ (bytes.size() * 0x9e3779b97f4a7c15u);
  for (size_t at = 0; at < bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, bytes.size() - at < 8 ? bytes.size() - at : 8);
    h = (h ^ word) * 0xbf58476d1ce4e5b9u;
    h ^= h >> 29;
  }
  h *= 0x94d049bb133111ebu;
  return h ^ (h >> 32);
}

} // namespace tl::emulator
