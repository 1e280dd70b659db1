// The memory of the emulated cards: address space that the host cannot touch, and behind it memory that kernels use.
//
// One window of addresses holds all cards, side by side. Its first half is what the program holds: never mapped, so
// that any touch by the host faults at once. The second half is the memory itself: address + Window::offset. Only the
// pages of live allocations can be read or written there. Allocations end near the end of a page and at least a page
// of nothing follows, so most accesses beyond one fault too. What is freed goes back to the system, and its addresses
// come back last.
#pragma once
#include "vm/gpu/emulator/report.h"
#include <cstddef>
#include <cstdint>
#include <map>

namespace tl::emulator {

constexpr int kPoison = 0xfb; // as in vm/memory.h: floats of these bytes are large and negative

class DeviceMemory {
public:
  // Addresses begin … begin + span, of which `limit` bytes may be live; the host's are `offset` further.
  DeviceMemory(uint64_t begin, uint64_t span, uint64_t offset, uint64_t limit);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  uint64_t allocate(uint64_t bytes); // aligned to 256, poisoned; 0: the limit or the system is against it
  bool free(uint64_t address);       // false: no allocation begins there
  bool holds(uint64_t address, uint64_t bytes) const; // all in one live allocation
  bool covers(uint64_t address) const { return address - begin_ < span_; }
  void describe(Line& line, uint64_t address) const; // "12 bytes past the end of the 4096 bytes at 0x…"

  uint64_t begin() const { return begin_; }
  uint64_t span() const { return span_; }
  uint64_t limit() const { return limit_; }
  uint64_t live_bytes() const { return live_bytes_; }
  uint64_t allocations() const { return live_.size(); }

private:
  uint64_t find(uint64_t bytes) const; // the first page of a gap; 0: none

  const uint64_t begin_, span_, offset_, limit_;
  uint64_t next_; // where the search for a gap begins
  uint64_t live_bytes_ = 0;
  std::map<uint64_t, uint64_t> live_; // address → bytes
};

// Address space for `devices` cards. Gone with the object.
class Window {
public:
  Window(int devices, uint64_t memory);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  uint64_t begin(int device) const { return begin_ + static_cast<uint64_t>(device) * span_; }
  uint64_t span() const { return span_; }     // of one card
  uint64_t offset() const { return offset_; } // from an address to the memory
  bool covers(uint64_t address) const { return address - begin_ < offset_; }

private:
  uint64_t begin_ = 0, span_ = 0, offset_ = 0;
};

} // namespace tl::emulator
