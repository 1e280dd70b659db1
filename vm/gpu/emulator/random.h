// Choices of schedules: the same for the same seed, on every machine (splitmix64).
#pragma once
#include <cstdint>

namespace tl::emulator {

class Random {
public:
  explicit Random(uint64_t seed = 0) : state_(seed) {}
  uint64_t operator()() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t bound) { return (*this)() % bound; } // bound > 0; its bias does not matter here
  bool one_in(uint64_t count) { return below(count) == 0; }

private:
  uint64_t state_;
};

} // namespace tl::emulator
