#include "vm/io/mapping.h"
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace tl {

namespace {

// What is mapped now, where the signal handler can look it up without a lock. A mapping beyond the table's size still
// works; only the message for a file that is cut short is the system's then.
struct Entry {
  std::atomic<const std::byte*> begin{nullptr};
  std::atomic<uint64_t> bytes{0};
};
std::array<Entry, 4096> table;

std::atomic<bool> foreign{false};

extern "C" void on_bus_error(int signal, siginfo_t* info, void*) {
  auto* at = static_cast<const std::byte*>(info->si_addr);
  for (const Entry& entry : table) {
    const std::byte* begin = entry.begin.load();
    if (!begin || at < begin || at >= begin + entry.bytes.load()) continue;
    constexpr char message[] = "tl: a file was cut short by somebody else while the program was reading it\n";
    (void)!::write(STDERR_FILENO, message, sizeof message - 1);
    ::_exit(3);
  }
  ::signal(signal, SIG_DFL); // not ours: it happens again, and ends the process
}

void watch() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action{};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGBUS, &action, nullptr);
  });
}

Entry* enter(const std::byte* begin, uint64_t bytes) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  for (Entry& entry : table)
    if (!entry.begin.load()) {
      entry.bytes = bytes;
      entry.begin = begin;
      return &entry;
    }
  return nullptr;
}

} // namespace

void leave_signals_alone() { foreign = true; }
bool signals_are_others() { return foreign; }

std::shared_ptr<std::byte[]> map_file(int descriptor, uint64_t offset, uint64_t count) {
  static const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  if (count == 0 || foreign) return nullptr;
  uint64_t before = offset % page, bytes = count + before;
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor,
                   static_cast<off_t>(offset - before));
  if (p == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(p);
  watch();
  Entry* entry = enter(begin, bytes);
  std::shared_ptr<void> owner(p, [bytes, entry](void* q) {
    if (entry) entry->begin = nullptr;
    ::munmap(q, bytes);
  });
  return std::shared_ptr<std::byte[]>(owner, begin + before);
}

} // namespace tl
