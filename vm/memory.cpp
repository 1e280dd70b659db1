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

constexpr uint64_t kSmallest = 64;
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

Block Pool::allocate(uint64_t bytes) {
  Block block = find(bytes, false);
  if (poison_ && block) {
    source_.fill(block.data, kPoison, block.bytes);
    block.moment = source_.moment(); // and behind that whoever uses it
  }
  if (MemoryWatch* watch = watch_; watch && block) watch->allocated(block);
  return block;
}

void Pool::reused(const Block& block) {
  {
    std::lock_guard lock(mutex_);
    ++allocations_;
  }
  if (MemoryWatch* watch = watch_) watch->reused(block);
}

Block Pool::allocate_later(uint64_t bytes, uint64_t counted) {
  const uint64_t size = class_bytes(bytes);
  std::unique_lock lock(mutex_);
  if (in_use_ + counted > limit_) return {};
  if (const uint64_t held = in_use_ + cached_ + counted; held > limit_) evict(held - limit_);
  make_room(counted);
  Block block{source_.map(size), size, this, 0};
  if (!block) return {};
  in_use_ += counted;
  peak_ = std::max(peak_, in_use_);
  ++allocations_;
  lock.unlock();
  if (MemoryWatch* watch = watch_) watch->allocated(block);
  return block;
}

void Pool::make_room_by(Block& old, uint64_t bytes) {
  if (MemoryWatch* watch = watch_) watch->freed(old);
  const Block block = std::exchange(old, {});
  std::lock_guard lock(mutex_);
  source_.unmap(block.data, block.bytes);
  in_use_ -= block.bytes - bytes;
}

Block Pool::find(uint64_t bytes, bool is_reserved) {
  if (bytes > uint64_t{1} << 47) return {}; // beyond any address space
  const uint64_t size = class_bytes(bytes), counted = is_reserved ? size : 0;
  std::lock_guard lock(mutex_);
  in_use_ -= counted;                     // while it is looked for
  if (in_use_ + size > limit_) return {}; // never where it is reserved
  const Free found = size > kLargestSmall ? take_large(size) : take_small(size);
  in_use_ += found.data ? size : counted;
  if (!found.data) return {};
  peak_ = std::max(peak_, in_use_);
  allocations_ += !is_reserved;
  return {found.data, size, this, found.moment};
}

Pool::Free Pool::take_small(uint64_t bytes) {
  const int index = class_index(bytes);
  auto& waiting = small_.at(static_cast<size_t>(index));
  Free found;
  if (!waiting.empty()) {
    found = waiting.back();
    waiting.pop_back();
  } else {
    make_room(kSlabBytes);
    found.data = carve(index, bytes);
    if (!found.data) return {};
  }
  Slab& slab = slab_of(found.data);
  if (slab.live++ == 0) --empty_slabs_;
  small_in_use_ += bytes;
  return found;
}

Pool::Free Pool::take_large(uint64_t bytes) {
  if (const Free found = cut(bytes); found.data) return found;
  const uint64_t held = in_use_ + cached_ + bytes;
  if (held > limit_) evict(held - limit_);
  make_room(bytes);
  return {source_.map(bytes), 0};
}

// From the smallest free range that is large enough.
Pool::Free Pool::cut(uint64_t bytes) {
  const auto smallest = by_size_.lower_bound({bytes, nullptr});
  if (smallest == by_size_.end() || (smallest->first != bytes && !source_.divisible())) return {};
  const auto at = ranges_.find(smallest->second);
  const auto [data, range] = *at;
  erase_range(at);
  if (range.bytes > bytes) add_range(data + bytes, {range.bytes - bytes, range.moment});
  return {data, range.moment};
}

void Pool::add_range(std::byte* data, Range range) {
  if (source_.divisible()) {
    auto next = ranges_.lower_bound(data);
    if (next != ranges_.end() && next->first == data + range.bytes) {
      range = {range.bytes + next->second.bytes, std::max(range.moment, next->second.moment)};
      erase_range(next++);
    }
    if (next != ranges_.begin())
      if (auto before = std::prev(next); before->first + before->second.bytes == data) {
        data = before->first;
        range = {range.bytes + before->second.bytes, std::max(range.moment, before->second.moment)};
        erase_range(before);
      }
  }
  ranges_.emplace(data, range);
  by_size_.emplace(range.bytes, data);
  cached_ += range.bytes;
}

void Pool::erase_range(Ranges::iterator range) {
  by_size_.erase({range->second.bytes, range->first});
  cached_ -= range->second.bytes;
  ranges_.erase(range);
}

// Gives free ranges back to the system, of the largest first, at least so many bytes, if there are.
void Pool::evict(uint64_t bytes) {
  constexpr uint64_t piece = kLargestSmall; // a multiple of any page
  for (uint64_t given = 0; given < bytes && !by_size_.empty();) {
    const auto at = ranges_.find(by_size_.rbegin()->second);
    const auto [data, range] = *at;
    erase_range(at);
    uint64_t part = range.bytes;
    if (source_.divisible()) part = std::min(part, (bytes - given + piece - 1) / piece * piece);
    source_.unmap(data + (range.bytes - part), part);
    if (part < range.bytes) add_range(data, {range.bytes - part, range.moment});
    given += part;
  }
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
  auto& waiting = small_[static_cast<size_t>(index)];
  for (uint64_t at = kSlabBytes / bytes - 1; at > 0; --at)
    waiting.push_back({data + at * bytes});
  return data;
}

void Pool::take_back(Block block) {
  if (MemoryWatch* watch = watch_) watch->freed(block);
  if (poison_) source_.fill(block.data, kPoison, block.bytes);
  block.moment = source_.moment();
  std::lock_guard lock(mutex_);
  put_back(block);
}

void Pool::put_reserved(Block& block) {
  if (!block) return;
  const Block given = std::exchange(block, {});
  std::lock_guard lock(given.pool->mutex_);
  given.pool->put_back(given);
  given.pool->in_use_ += given.bytes;
}

void Pool::put_back(const Block& block) {
  in_use_ -= block.bytes;
  if (block.bytes > kLargestSmall) {
    add_range(block.data, {block.bytes, block.moment});
  } else {
    small_[static_cast<size_t>(class_index(block.bytes))].push_back({block.data, block.moment});
    if (--slab_of(block.data).live == 0) ++empty_slabs_;
    small_in_use_ -= block.bytes;
  }
}

void Pool::trim() {
  std::lock_guard lock(mutex_);
  trim_locked();
}

void Pool::trim_locked() {
  for (const auto& [data, range] : ranges_)
    source_.unmap(data, range.bytes);
  ranges_.clear();
  by_size_.clear();
  cached_ = 0;
  trim_small();
}

void Pool::trim_small() {
  if (empty_slabs_ == 0) return;
  for (auto& waiting : small_)
    std::erase_if(waiting, [&](const Free& free) { return slab_of(free.data).live == 0; });
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

uint64_t Pool::allocations() const {
  std::lock_guard lock(mutex_);
  return allocations_;
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
