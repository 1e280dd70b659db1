// The tensor pool: memory for tensors and workspaces under a hard limit.
//
// Blocks come in size classes (four for each power of two), 64-byte aligned. Small ones are carved from slabs, and wait
// in their class when they are freed. Large ones are cut from free ranges, of which the smallest that is large enough
// is taken; neighbours that are free become one range. Only where no range is large enough new memory is mapped, with
// huge pages. `trim` gives what waits back to the system. The limit counts blocks in use and free ranges; where these
// are in the way, they are given back. Slabs that hold no block in use are given back before new memory would take what
// is mapped beyond the limit, so resident memory passes it only by slabs that are partly used (and kIdleSmall).
#pragma once
#include "vm/watch.h"
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace tl {

class Pool;

// Where a pool's memory comes from: this machine, or a card (vm/card.h), whose addresses mean nothing here.
class MemorySource {
public:
  virtual ~MemorySource() = default;
  virtual std::byte* map(uint64_t bytes) = 0; // at a multiple of 64 at least; null: there is none
  virtual void unmap(std::byte* data, uint64_t bytes) = 0;
  virtual void fill(std::byte* data, int value, uint64_t bytes) = 0; // before whoever gets the memory uses it
  // Parts of what was mapped may be unmapped, and neighbours at once. Else blocks keep the size that was mapped.
  virtual bool divisible() const = 0;
  virtual uint64_t moment() const { return 0; } // after all that uses a block which comes back now
};
MemorySource& host_memory();

struct Block {
  std::byte* data = nullptr;
  uint64_t bytes = 0;   // the class's size: at least what was asked for
  Pool* pool = nullptr; // where it came from
  uint64_t moment = 0;  // of the source: what used it before may run until then
  explicit operator bool() const { return data != nullptr; }
};

// The memory of one device. Blocks that outlive a run keep it by shared_from_this.
class Pool : public std::enable_shared_from_this<Pool> {
public:
  static constexpr int kPoison = 0xfb;             // floats of these bytes are large and negative, or NaN
  static constexpr uint64_t kIdleSmall = 32 << 20; // bytes of slabs that may wait unused

  // poison: fills blocks with kPoison before they are given out and when they come back, so that a program that reads
  // what nobody wrote, or what is somebody else's by now, shows it.
  explicit Pool(uint64_t limit, bool poison = false, MemorySource& source = host_memory())
      : limit_(limit), poison_(poison), source_(source) {}
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Thread-safe. Nothing when the limit does not allow it, or the system has no memory.
  Block allocate(uint64_t bytes);
  // A block, or a part of one, has got another user, who comes after those before.
  void reused(const Block& block);
  // Address space for a block of a divisible source, more than kLargestSmall, which nobody may touch before blocks in
  // use have made room for it (`make_room_by`): for all but `counted` bytes, which count as in use from now on.
  Block allocate_later(uint64_t bytes, uint64_t counted);
  // Gives `old` to the system; `bytes` of it remain in use, as a part of a block of allocate_later.
  void make_room_by(Block& old, uint64_t bytes);
  void fill_later(const Block& block) { // once it has all its room
    if (poison_) source_.fill(block.data, kPoison, block.bytes);
  }
  // Of whichever pool; leaves `block` empty.
  static void free(Block& block) {
    if (block) block.pool->take_back(std::exchange(block, {}));
  }
  void trim();                                      // gives cached memory back to the system
  void tell(MemoryWatch* watch) { watch_ = watch; } // of the run that begins; null: nobody any more

  // Memory that others hold and that counts towards the limit (arguments, workers' scratch). False: no room.
  bool reserve(uint64_t bytes);
  void release(uint64_t bytes);
  // Memory for what is reserved: class_bytes(bytes) of it. Nothing when the system has none. Thread-safe.
  Block take_reserved(uint64_t bytes) { return find(bytes, true); }
  static void put_reserved(Block& block); // which stays reserved; leaves `block` empty

  uint64_t limit() const { return limit_; }
  uint64_t in_use() const;
  uint64_t held() const;   // in use, and free ranges
  uint64_t cached() const; // what waits: free ranges, and in slabs
  uint64_t peak() const;
  uint64_t allocations() const;                // so far
  static uint64_t class_bytes(uint64_t bytes); // what a block for so many bytes takes

  static constexpr uint64_t kLargestSmall = 64 << 10; // a block of more may be given back in parts of more than that

private:
  static constexpr int kSmallClasses = 4 * 16 + 1; // up to kLargestSmall
  static constexpr uint64_t kSlabBytes = 1 << 20;
  struct Free {
    std::byte* data = nullptr;
    uint64_t moment = 0;
  };
  struct Slab {
    std::byte* data;
    uint64_t block_bytes;
    uint64_t live;
  };

  struct Range {
    uint64_t bytes;
    uint64_t moment;
  };
  using Ranges = std::map<std::byte*, Range>; // by address

  Block find(uint64_t bytes, bool is_reserved);
  void take_back(Block block);
  void put_back(const Block& block); // under mutex_
  Slab& slab_of(const std::byte* block);
  uint64_t idle_small() const { return slabs_.size() * kSlabBytes - small_in_use_; }
  Free take_small(uint64_t bytes);
  Free take_large(uint64_t bytes);
  Free cut(uint64_t bytes);
  void add_range(std::byte* data, Range range);
  void erase_range(Ranges::iterator range);
  void evict(uint64_t bytes);
  void make_room(uint64_t bytes); // for a new mapping
  std::byte* carve(int index, uint64_t bytes);
  void trim_locked();
  void trim_small(); // slabs

  const uint64_t limit_;
  const bool poison_;
  MemorySource& source_;
  std::atomic<MemoryWatch*> watch_{nullptr};
  mutable std::mutex mutex_;
  uint64_t in_use_ = 0, cached_ = 0, peak_ = 0, allocations_ = 0; // cached_: free ranges only
  uint64_t small_in_use_ = 0, empty_slabs_ = 0;                   // blocks of slabs; slabs without a block in use
  std::array<std::vector<Free>, kSmallClasses> small_;            // that wait
  std::vector<Slab> slabs_;                                       // by address
  Ranges ranges_;                                                 // that are free
  std::set<std::pair<uint64_t, std::byte*>> by_size_;             // the same
};

// Memory of the machine, or of the control groups that this process is in.
uint64_t machine_memory();

} // namespace tl
