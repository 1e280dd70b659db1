// The devices of a run: cpu(0) … cpu(count - 1), each with a memory of its own and a share of the workers:
// what is in one memory gets into another by a copy alone, as with devices that are apart.
#pragma once
#include "vm/abi/device.h"
#include "vm/memory.h"
#include <algorithm>
#include <vector>

namespace tl {

class Devices {
public:
  Devices(int count, uint64_t limit_of_each, bool poison) {
    for (int d = 0; d < count; ++d)
      memories_.push_back(std::make_shared<Pool>(limit_of_each, poison));
  }
  int count() const { return static_cast<int>(memories_.size()); }
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
  // How many of `threads` compute for a device at a time: as evenly as possible, at least one.
  int cores(int device, int threads) const { return std::max(1, threads / count() + (device < threads % count())); }

private:
  std::vector<std::shared_ptr<Pool>> memories_;
};

} // namespace tl
