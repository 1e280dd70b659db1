// The tensor pool: memory for tensors and workspaces under a hard limit.
//
// Blocks come in size classes (four for each power of two), 64-byte aligned. Small ones are carved from slabs, large
// ones are mapped on their own, with huge pages. A freed block waits in its class for the next of that size; `trim`
// gives what waits back to the system. The limit counts blocks in use and large blocks that wait.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace tl {

struct Block {
  std::byte* data = nullptr;
  uint64_t bytes = 0; // the class's size: at least what was asked for
  explicit operator bool() const { return data != nullptr; }
};

class Pool {
public:
  explicit Pool(uint64_t limit) : limit_(limit) {}
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Thread-safe. Nothing when the limit stands against it, or the system has no memory, or a large block would have to
  // be mapped that takes what is held beyond `held_at_most`.
  Block allocate(uint64_t bytes, uint64_t held_at_most = UINT64_MAX);
  void free(Block block);
  void trim(); // gives cached memory back to the system

  // Memory that others hold and that counts towards the limit (arguments, workers' scratch). False: no room.
  bool reserve(uint64_t bytes);
  void release(uint64_t bytes);

  uint64_t limit() const { return limit_; }
  uint64_t in_use() const;
  uint64_t held() const; // in use, and large blocks that wait
  uint64_t peak() const;
  static uint64_t class_bytes(uint64_t bytes); // what a block for so many bytes takes

private:
  static constexpr int kClasses = 4 * 64;
  struct Slab {
    std::byte* data;
    uint64_t block_bytes;
    uint64_t live;
  };

  Block carve(int index, uint64_t bytes);
  void trim_locked();

  const uint64_t limit_;
  mutable std::mutex mutex_;
  uint64_t in_use_ = 0, cached_ = 0, peak_ = 0; // cached_: large blocks only
  std::array<std::vector<std::byte*>, kClasses> free_;
  std::vector<Slab> slabs_; // by address
};

// Memory of the machine, or of the control group that this process is in.
uint64_t machine_memory();

} // namespace tl
