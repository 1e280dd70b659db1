// The devices of a run: cpu(0), cpu(1) …, each with a memory of its own and a share of the workers, then gpu(0), gpu(1)
// …: what is in one memory gets into another by a copy alone. Inside the engine a device is its index among them all;
// programs know it by its number (abi/device.h).
#pragma once
#include "abi/device.h"
#include "vm/card.h"
#include <algorithm>
#include <vector>

namespace tl {

class Devices {
public:
  Devices(int cpus, uint64_t limit_of_each, bool poison) : cpus_(cpus) {
    for (int d = 0; d < cpus; ++d)
      memories_.push_back(std::make_shared<Pool>(limit_of_each, poison));
  }
  void add(std::shared_ptr<Card> card, uint64_t limit, bool poison) {
    memories_.push_back(std::make_shared<Pool>(limit, poison, card->memory()));
    cards_.push_back(std::move(card));
  }
  int count() const { return static_cast<int>(memories_.size()); }
  int cpus() const { return cpus_; }
  int cards() const { return static_cast<int>(cards_.size()); }
  Card* card(int device) const { // null: a CPU
    return device < cpus_ ? nullptr : cards_[static_cast<size_t>(device - cpus_)].get();
  }
  int64_t number(int device) const { return device < cpus_ ? device : kFirstGpu + device - cpus_; }
  int index(int64_t number) const { // negative: there is no such device
    if (number >= kFirstGpu) return number - kFirstGpu < cards() ? static_cast<int>(number - kFirstGpu) + cpus_ : -1;
    return number >= 0 && number < cpus_ ? static_cast<int>(number) : -1;
  }
  Pool& memory(int device) const { return *memories_[static_cast<size_t>(device)]; }
  int device_of(const Pool* memory) const { // null, which is memory of the host: the first
    for (size_t d = 0; d < memories_.size(); ++d)
      if (memories_[d].get() == memory) return static_cast<int>(d);
    return 0;
  }
  uint64_t peak() const { // of all, each at its own moment
    uint64_t sum = 0;
    for (const auto& memory : memories_)
      sum += memory->peak();
    return sum;
  }
  uint64_t allocations() const {
    uint64_t sum = 0;
    for (const auto& memory : memories_)
      sum += memory->allocations();
    return sum;
  }
  // How many of `threads` compute for a device at a time: as evenly as possible, at least one.
  int cores(int device, int threads) const { return std::max(1, threads / cpus_ + (device < threads % cpus_)); }

private:
  int cpus_;
  std::vector<std::shared_ptr<Card>> cards_; // which outlive their memories
  std::vector<std::shared_ptr<Pool>> memories_;
};

} // namespace tl
