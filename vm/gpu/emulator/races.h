// Finds races in a kernel: two threads touch the same memory, one of them writes, and nothing orders them.
//
// What orders threads of a block is a barrier of the block; lanes of a warp also __syncwarp. Nothing orders blocks of
// one launch. A launch comes after all that came before it (what streams leave unordered shows by late streams, not
// here). Atomic operations race with nothing. Looked at: memory of the card and shared memory; not pinned memory of the
// host, nor what functions marked TL_UNSEEN do, which take a lock or look at what others have under it.
//
// For each place the last write and the last read are known, and whether other threads had read it since the last
// barrier: no race of two accesses is missed because a third came between, unless that one races too. A place is where
// an access begins, and every fourth byte of longer ones: accesses of mixed sizes that overlap elsewhere are not seen.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>

namespace tl::emulator {

class Races {
public:
  struct Range {
    uint64_t begin = 0, end = 0;
    bool covers(uint64_t at) const { return at >= begin && at < end; }
  };
  struct Found { // a race, the first of its kernel
    uint64_t at = 0;
    bool shared = false; // in shared memory
    unsigned block = 0, other_block = 0, thread = 0, other_thread = 0;
    bool writes = false, other_writes = false; // `other` came first
  };

  void begin_launch(std::string kernel, Range card); // addresses of the card's memory as kernels use them
  void begin_block(Range shared, Range dynamic);
  void barrier() { ++epoch_; }        // all threads of the block have passed one
  void warp_barrier(unsigned thread); // this thread has
  // True: it is a race, the first that was seen in this kernel; `found` says which.
  bool access(uint64_t at, unsigned bytes, bool write, unsigned block, unsigned thread, Found& found);
  size_t kernels() const { return racing_.size(); } // in which races were found

private:
  struct Access {
    uint32_t block = 0, thread = 0, epoch = 0, warp_epoch = 0;
  };
  struct Place {
    Access write, read;
    Access also_read, read_in_block; // by another thread since the last barrier, and in another block
    bool written = false, was_read = false, many_read = false, blocks_read = false; // which of these there are
  };
  bool unordered(const Access& before, const Access& now, bool shared) const;
  bool touch(Place& place, const Access& now, bool write, bool shared, Access& other, bool& other_writes) const;

  std::string kernel_;
  Range card_, shared_, dynamic_;
  uint32_t epoch_ = 0;
  uint32_t warp_epochs_[1024] = {};
  std::unordered_map<uint64_t, Place> places_;
  std::set<std::string> racing_;
};

} // namespace tl::emulator
