#include "vm/memory.h"
#include "abi/system_file.h"
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace tl {

namespace {

constexpr uint64_t kSmallest = 64, kLargestSmall = 64 << 10;
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

class HostMemory : public MemorySource {
public:
  std::byte* map(uint64_t bytes) override;
  void unmap(std::byte* data, uint64_t bytes) override { ::munmap(data, bytes); }
  void fill(std::byte* data, int value, uint64_t bytes) override { std::memset(data, value, bytes); }
  bool divisible() const override { return true; }
};

std::byte* HostMemory::map(uint64_t bytes) {
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

} // namespace

MemorySource& host_memory() {
  static HostMemory memory;
  return memory;
}

uint64_t Pool::class_bytes(uint64_t bytes) { return bytes_of_class(class_index(bytes)); }

Pool::~Pool() {
  trim_locked();
  for (const Slab& slab : slabs_)
    source_.unmap(slab.data, kSlabBytes); // those with blocks that nobody gave back
}

Pool::Slab& Pool::slab_of(const std::byte* block) {
  return *(std::upper_bound(slabs_.begin(), slabs_.end(), block,
                            [](const std::byte* p, const Slab& s) { return p < s.data; }) -
           1);
}

Block Pool::allocate(uint64_t bytes, uint64_t held_at_most) {
  Block block = find(bytes, held_at_most);
  if (poison_ && block) {
    source_.fill(block.data, kPoison, block.bytes);
    block.moment = source_.moment(); // and behind that whoever uses it
  }
  if (MemoryWatch* watch = watch_; watch && block) watch->allocated(block);
  return block;
}

Block Pool::find(uint64_t bytes, uint64_t held_at_most) {
  if (bytes > uint64_t{1} << 47) return {}; // beyond any address space
  int index = class_index(bytes);
  uint64_t size = bytes_of_class(index);
  std::lock_guard lock(mutex_);
  auto& waiting = free_[static_cast<size_t>(index)];
  bool large = size > kLargestSmall;
  if (in_use_ + size > limit_) return {};
  Free found;
  std::byte*& data = found.data;
  if (!waiting.empty()) {
    found = waiting.back();
    waiting.pop_back();
    if (large) cached_ -= size;
  } else if (large) {
    const uint64_t held = in_use_ + cached_ + size;
    if (held > held_at_most) return {};
    if (held > limit_ && !(found = split(index, size)).data) evict(held - limit_);
    if (!data) {
      make_room(size);
      data = source_.map(size);
    }
  } else {
    make_room(kSlabBytes);
    data = carve(index, size);
  }
  if (!data) return {};
  if (!large) {
    Slab& slab = slab_of(data);
    if (slab.live++ == 0) --empty_slabs_;
    small_in_use_ += size;
  }
  in_use_ += size;
  peak_ = std::max(peak_, in_use_);
  return {data, size, this, found.moment};
}

// Memory that is warm in place of new: a part of a larger block that waits. The rest waits in its class, if there is
// one of its size.
Pool::Free Pool::split(int index, uint64_t bytes) {
  if (!source_.divisible()) return {};
  for (int larger = index + 1; larger < kClasses; ++larger) {
    auto& waiting = free_[static_cast<size_t>(larger)];
    if (waiting.empty()) continue;
    const Free found = waiting.back();
    std::byte* rest_of = found.data + bytes;
    waiting.pop_back();
    uint64_t rest = bytes_of_class(larger) - bytes;
    cached_ -= bytes_of_class(larger);
    if (rest > kLargestSmall && class_bytes(rest) == rest) {
      free_[static_cast<size_t>(class_index(rest))].push_back({rest_of, found.moment});
      cached_ += rest;
    } else {
      source_.unmap(rest_of, rest);
    }
    return found;
  }
  return {};
}

// Gives blocks that wait back to the system, the largest first, at least so many bytes of them, if there are.
void Pool::evict(uint64_t bytes) {
  uint64_t given = 0;
  for (int index = kClasses - 1; index > class_index(kLargestSmall) && given < bytes; --index) {
    auto& waiting = free_[static_cast<size_t>(index)];
    for (; !waiting.empty() && given < bytes; waiting.pop_back()) {
      source_.unmap(waiting.back().data, bytes_of_class(index));
      given += bytes_of_class(index);
    }
  }
  cached_ -= given;
}

// Gives empty slabs back where the mapping would otherwise take resident memory past the limit.
void Pool::make_room(uint64_t bytes) {
  if (empty_slabs_ == 0 || idle_small() <= kIdleSmall) return;
  if (in_use_ + cached_ + idle_small() - kIdleSmall + bytes > limit_) trim_small();
}

// A new slab of this class; its blocks but the first wait.
std::byte* Pool::carve(int index, uint64_t bytes) {
  std::byte* data = source_.map(kSlabBytes);
  if (!data) return nullptr;
  Slab slab{data, bytes, 0};
  ++empty_slabs_;
  slabs_.insert(std::upper_bound(slabs_.begin(), slabs_.end(), data,
                                 [](const std::byte* p, const Slab& s) { return p < s.data; }),
                slab);
  auto& waiting = free_[static_cast<size_t>(index)];
  for (uint64_t at = kSlabBytes / bytes - 1; at > 0; --at)
    waiting.push_back({data + at * bytes});
  return data;
}

void Pool::take_back(Block block) {
  if (MemoryWatch* watch = watch_) watch->freed(block);
  if (poison_) source_.fill(block.data, kPoison, block.bytes);
  const Free free{block.data, source_.moment()};
  std::lock_guard lock(mutex_);
  in_use_ -= block.bytes;
  free_[static_cast<size_t>(class_index(block.bytes))].push_back(free);
  if (block.bytes > kLargestSmall) {
    cached_ += block.bytes;
  } else {
    if (--slab_of(block.data).live == 0) ++empty_slabs_;
    small_in_use_ -= block.bytes;
  }
}

void Pool::trim() {
  std::lock_guard lock(mutex_);
  trim_locked();
}

void Pool::trim_locked() {
  for (int index = class_index(kLargestSmall) + 1; index < kClasses; ++index) {
    auto& waiting = free_[static_cast<size_t>(index)];
    for (const Free& free : waiting)
      source_.unmap(free.data, bytes_of_class(index));
    waiting.clear();
  }
  cached_ = 0;
  trim_small();
}

void Pool::trim_small() {
  if (empty_slabs_ == 0) return;
  for (int index = 0; index <= class_index(kLargestSmall); ++index)
    std::erase_if(free_[static_cast<size_t>(index)], [&](const Free& free) { return slab_of(free.data).live == 0; });
  std::erase_if(slabs_, [&](const Slab& slab) {
    if (slab.live == 0) source_.unmap(slab.data, kSlabBytes);
    return slab.live == 0;
  });
  empty_slabs_ = 0;
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

uint64_t Pool::cached() const {
  std::lock_guard lock(mutex_);
  return cached_ + idle_small();
}

uint64_t Pool::peak() const {
  std::lock_guard lock(mutex_);
  return peak_;
}

// The number in a file of a control group; nothing: none, or "max".
static std::optional<uint64_t> limit_in(const std::string& path) {
  uint64_t limit = 0;
  const std::string text = system_file(path);
  std::from_chars(text.data(), text.data() + text.size(), limit);
  return limit > 0 ? std::optional(limit) : std::nullopt;
}

uint64_t machine_memory() {
  uint64_t bytes = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  auto take = [&](const std::string& path) { bytes = std::min(bytes, limit_in(path).value_or(bytes)); };
  take("/sys/fs/cgroup/memory/memory.limit_in_bytes"); // version 1
  const std::string groups = "\n" + system_file("/proc/self/cgroup");
  if (size_t line = groups.find("\n0::"); line != groups.npos) // version 2: this group and those around it
    for (std::string group = groups.substr(line + 4, groups.find('\n', line + 1) - line - 4); !group.empty();
         group.resize(group.rfind('/')))
      take("/sys/fs/cgroup" + group + "/memory.max");
  take("/sys/fs/cgroup/memory.max");
  return bytes;
}

} // namespace tl
