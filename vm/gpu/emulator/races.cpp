#include "vm/gpu/emulator/races.h"
#include <algorithm>
#include <iterator>

namespace tl::emulator {

void Races::begin_launch(std::string kernel, Range card) {
  kernel_ = std::move(kernel);
  card_ = card;
  places_.clear();
}

void Races::begin_block(Range shared, Range dynamic) {
  // Shared memory is another one for each block.
  for (const Range& range : {shared_, dynamic_})
    for (uint64_t at = range.begin; at < range.end; ++at)
      places_.erase(at);
  shared_ = shared;
  dynamic_ = dynamic;
  ++epoch_;
  std::fill(std::begin(warp_epochs_), std::end(warp_epochs_), 0);
}

void Races::warp_barrier(unsigned thread) { ++warp_epochs_[thread]; }

bool Races::unordered(const Access& before, const Access& now, bool shared) const {
  if (before.block != now.block) return !shared;
  if (before.thread == now.thread || before.epoch != now.epoch) return false;
  return before.thread / 32 != now.thread / 32 || before.warp_epoch == now.warp_epoch;
}

bool Races::touch(Place& place, const Access& now, bool write, bool shared, Access& other, bool& other_writes) const {
  bool race = false;
  auto with = [&](const Access& before, bool wrote) {
    if (race) return;
    race = true;
    other = before;
    other_writes = wrote;
  };
  if (place.written && unordered(place.write, now, shared)) with(place.write, true);
  const bool same = place.was_read && place.read.block == now.block && place.read.epoch == now.epoch;
  if (write && place.was_read) {
    if (unordered(place.read, now, shared)) with(place.read, false);
    if (same && place.many_read && unordered(place.also_read, now, shared)) with(place.also_read, false);
    if (place.blocks_read && unordered(place.read_in_block, now, shared)) with(place.read_in_block, false);
  }
  if (write) {
    place.write = now;
    place.written = true;
    return race;
  }
  if (place.was_read && place.read.block != now.block) {
    place.read_in_block = place.read;
    place.blocks_read = true;
  }
  if (!same) place.many_read = false;
  if (same && unordered(place.read, now, shared)) {
    place.also_read = place.read;
    place.many_read = true;
  }
  place.read = now;
  place.was_read = true;
  return race;
}

bool Races::access(uint64_t at, unsigned bytes, bool write, unsigned block, unsigned thread, Found& found) {
  const bool shared = shared_.covers(at) || dynamic_.covers(at);
  if (!shared && !card_.covers(at)) return false; // of the host, or the thread's own
  const Access now{block, thread, epoch_, warp_epochs_[thread]};
  for (uint64_t part = at; part < at + bytes; part += 4) {
    Access other;
    bool other_writes = false;
    if (!touch(places_[part], now, write, shared, other, other_writes)) continue;
    if (!racing_.insert(kernel_).second) return false;
    found = {part, shared, block, other.block, thread, other.thread, write, other_writes};
    return true;
  }
  return false;
}

} // namespace tl::emulator
