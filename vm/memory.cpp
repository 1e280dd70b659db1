#include "vm/memory.h"
#include <algorithm>
#include <bit>
#include <cstdio>
#include <sys/mman.h>
#include <unistd.h>

namespace tl {

namespace {

constexpr uint64_t kSmallest = 64, kLargestSmall = 64 << 10, kSlab = 1 << 20;
constexpr uint64_t kHuge = 2 << 20; // a huge page

// Class 4 e + q holds blocks of (4 + q) 2^(e - 2) bytes, q from 0 to 3. Requests are multiples of the alignment first,
// so that of the smallest classes only 64, 128, 192, 256, 320 … occur.
int class_index(uint64_t bytes) {
  bytes = (std::max(bytes, kSmallest) + 63) / 64 * 64;
  int e = 63 - std::countl_zero(bytes);
  uint64_t step = uint64_t{1} << (e - 2);
  uint64_t q = (bytes - (uint64_t{1} << e) + step - 1) / step; // 4: the first class of the next power
  return 4 * e + static_cast<int>(q);
}

uint64_t bytes_of_class(int index) {
  int e = index / 4;
  return (uint64_t{4} + static_cast<uint64_t>(index % 4)) << (e - 2);
}

std::byte* map(uint64_t bytes) {
  uint64_t extra = bytes >= kHuge ? kHuge : 0; // room to start at a huge page
  void* p = ::mmap(nullptr, bytes + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(p);
  if (extra) {
    auto address = reinterpret_cast<uintptr_t>(begin);
    uint64_t before = (kHuge - address % kHuge) % kHuge;
    if (before) ::munmap(begin, before);
    if (before < extra) ::munmap(begin + before + bytes, extra - before);
    begin += before;
    ::madvise(begin, bytes, MADV_HUGEPAGE);
  }
  return begin;
}

uint64_t page_rounded(uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

} // namespace

uint64_t Pool::class_bytes(uint64_t bytes) { return bytes_of_class(class_index(bytes)); }

Pool::~Pool() {
  trim_locked();
  for (const Slab& slab : slabs_)
    ::munmap(slab.data, kSlab); // those with blocks that nobody gave back
}

Block Pool::allocate(uint64_t bytes, uint64_t held_at_most) {
  if (bytes > uint64_t{1} << 47) return {}; // beyond any address space
  int index = class_index(bytes);
  uint64_t size = bytes_of_class(index);
  std::lock_guard lock(mutex_);
  auto& waiting = free_[static_cast<size_t>(index)];
  bool large = size > kLargestSmall;
  if (in_use_ + size > limit_) return {};
  if (waiting.empty() && large && in_use_ + cached_ + size > std::min(limit_, held_at_most)) return {};
  Block block;
  if (!waiting.empty()) {
    block = {waiting.back(), size};
    waiting.pop_back();
    if (large) cached_ -= size;
  } else if (large) {
    block = {map(page_rounded(size)), size};
  } else {
    block = carve(index, size);
  }
  if (!block) return {};
  if (!large) {
    auto slab = std::upper_bound(slabs_.begin(), slabs_.end(), block.data,
                                 [](const std::byte* p, const Slab& s) { return p < s.data; }) -
                1;
    ++slab->live;
  }
  in_use_ += size;
  peak_ = std::max(peak_, in_use_);
  return block;
}

// A new slab of this class; its blocks but the first wait.
Block Pool::carve(int index, uint64_t bytes) {
  std::byte* data = map(kSlab);
  if (!data) return {};
  Slab slab{data, bytes, 0};
  slabs_.insert(std::upper_bound(slabs_.begin(), slabs_.end(), data,
                                 [](const std::byte* p, const Slab& s) { return p < s.data; }),
                slab);
  auto& waiting = free_[static_cast<size_t>(index)];
  for (uint64_t at = kSlab / bytes - 1; at > 0; --at)
    waiting.push_back(data + at * bytes);
  return {data, bytes};
}

void Pool::free(Block block) {
  if (!block) return;
  std::lock_guard lock(mutex_);
  in_use_ -= block.bytes;
  free_[static_cast<size_t>(class_index(block.bytes))].push_back(block.data);
  if (block.bytes > kLargestSmall) {
    cached_ += block.bytes;
  } else {
    auto slab = std::upper_bound(slabs_.begin(), slabs_.end(), block.data,
                                 [](const std::byte* p, const Slab& s) { return p < s.data; }) -
                1;
    --slab->live;
  }
}

void Pool::trim() {
  std::lock_guard lock(mutex_);
  trim_locked();
}

void Pool::trim_locked() {
  auto slab_of = [&](std::byte* p) {
    return std::upper_bound(slabs_.begin(), slabs_.end(), p,
                            [](const std::byte* q, const Slab& s) { return q < s.data; }) -
           1;
  };
  for (int index = 0; index < kClasses; ++index) {
    auto& waiting = free_[static_cast<size_t>(index)];
    if (waiting.empty()) continue;
    if (bytes_of_class(index) > kLargestSmall) {
      for (std::byte* data : waiting)
        ::munmap(data, page_rounded(bytes_of_class(index)));
      waiting.clear();
    } else {
      std::erase_if(waiting, [&](std::byte* data) { return slab_of(data)->live == 0; });
    }
  }
  std::erase_if(slabs_, [](const Slab& slab) {
    if (slab.live == 0) ::munmap(slab.data, kSlab);
    return slab.live == 0;
  });
  cached_ = 0;
}

bool Pool::reserve(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > limit_ || in_use_ + cached_ > limit_ - bytes) return false;
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  return true;
}

void Pool::release(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  in_use_ -= bytes;
}

uint64_t Pool::in_use() const {
  std::lock_guard lock(mutex_);
  return in_use_;
}

uint64_t Pool::held() const {
  std::lock_guard lock(mutex_);
  return in_use_ + cached_;
}

uint64_t Pool::peak() const {
  std::lock_guard lock(mutex_);
  return peak_;
}

uint64_t machine_memory() {
  uint64_t bytes = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    if (std::FILE* file = std::fopen(path, "r")) {
      unsigned long long limit = 0;
      if (std::fscanf(file, "%llu", &limit) == 1 && limit > 0) bytes = std::min<uint64_t>(bytes, limit);
      std::fclose(file);
    }
  }
  return bytes;
}

} // namespace tl
