#include "vm/gpu/emulator/memory.h"
#include "abi/error.h"
#include "vm/gpu/emulator/report.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>

namespace tl::emulator {
namespace {

constexpr uint64_t kPage = 4096, kAlign = 256;
constexpr uint64_t kMargin = 16 << 20; // never used: before the first allocation
constexpr int kReserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

uint64_t rounded(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }
uint64_t page_of(uint64_t address) { return address / kPage * kPage; }
void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

} // namespace

DeviceMemory::DeviceMemory(uint64_t begin, uint64_t span, uint64_t offset, uint64_t limit)
    : begin_(begin), span_(span), offset_(offset), limit_(limit), next_(begin + kMargin) {}

uint64_t DeviceMemory::find(uint64_t bytes) const {
  // From next_ to the end, then from the beginning; a page stays free after each.
  for (uint64_t at : {next_, begin_ + kMargin}) {
    auto after = live_.lower_bound(at);
    if (after != live_.begin()) {
      auto before = std::prev(after);
      at = std::max(at, rounded(before->first + before->second, kPage) + kPage);
    }
    for (;; ++after) {
      uint64_t end = after == live_.end() ? begin_ + span_ : page_of(after->first);
      if (at + bytes + kPage <= end) return at;
      if (after == live_.end()) break;
      at = rounded(after->first + after->second, kPage) + kPage;
    }
  }
  return 0;
}

uint64_t DeviceMemory::allocate(uint64_t bytes) {
  if (bytes > limit_ || live_bytes_ + bytes > limit_) return 0;
  uint64_t held = rounded(bytes, kAlign), pages = rounded(held, kPage);
  uint64_t first = find(pages);
  if (!first) return 0;
  if (mprotect(pointer(first + offset_), pages, PROT_READ | PROT_WRITE) != 0) return 0;
  std::memset(pointer(first + offset_), kPoison, pages);
  uint64_t address = first + pages - held; // what lies behind its end faults
  live_.emplace(address, bytes);
  live_bytes_ += bytes;
  next_ = first + pages + kPage;
  return address;
}

bool DeviceMemory::free(uint64_t address) {
  auto found = live_.find(address);
  if (found == live_.end()) return false;
  uint64_t first = page_of(address), end = rounded(address + found->second, kPage);
  // A new mapping: the pages are gone, and nothing is readable.
  if (mmap(pointer(first + offset_), end - first, PROT_NONE, kReserve | MAP_FIXED, -1, 0) == MAP_FAILED)
    stop("memory of a card cannot be given back");
  live_bytes_ -= found->second;
  live_.erase(found);
  return true;
}

bool DeviceMemory::holds(uint64_t address, uint64_t bytes) const {
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) return false;
  auto found = std::prev(after);
  uint64_t at = address - found->first;
  return at <= found->second && bytes <= found->second - at;
}

void DeviceMemory::describe(Line& line, uint64_t address) const {
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) return line.add("in no allocation");
  auto [begin, bytes] = *std::prev(after);
  uint64_t at = address - begin;
  if (at < bytes) return line.add("byte {} of the {} at {:#x}", at, bytes, begin);
  line.add("{} bytes past the end of the {} bytes at {:#x}", at - bytes, bytes, begin);
}

Window::Window(int devices, uint64_t memory) {
  // Twice the memory: addresses of what was freed are not used again soon. And room for the pages between.
  span_ = rounded(2 * memory, uint64_t{1} << 30) + (uint64_t{1} << 30);
  offset_ = static_cast<uint64_t>(devices) * span_;
  void* memory_of_all = mmap(nullptr, 2 * offset_, PROT_NONE, kReserve, -1, 0);
  if (memory_of_all == MAP_FAILED)
    throw RuntimeError{"OutOfMemory",
                       fmt::format("the system gives no address space for the memory of the emulated cards ({:.1f} GB)",
                                   static_cast<double>(2 * offset_) * 1e-9),
                       "--memory-limit makes it smaller",
                       {},
                       3,
                       {}};
  madvise(memory_of_all, 2 * offset_, MADV_DONTDUMP);
  begin_ = reinterpret_cast<uint64_t>(memory_of_all);
}

Window::~Window() { munmap(pointer(begin_), 2 * offset_); }

} // namespace tl::emulator
