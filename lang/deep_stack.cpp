#include "lang/deep_stack.h"
#include <atomic>
#include <exception>
#include <pthread.h>
#include <sys/mman.h>

namespace tl {
namespace {

constexpr size_t kStack = size_t{1} << 30;
constexpr size_t kGuard = size_t{1} << 16;

std::atomic<bool> refused{false};

struct Work {
  const std::function<void()>& f;
  std::exception_ptr failure;
};

void* work(void* argument) {
  Work& work = *static_cast<Work*>(argument);
  try {
    work.f();
  } catch (...) {
    work.failure = std::current_exception();
  }
  return nullptr;
}

bool on_stack(void* memory, Work& work) {
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return false;
  pthread_t thread{};
  bool started = ::pthread_attr_setstack(&attributes, static_cast<char*>(memory) + kGuard, kStack) == 0 &&
                 ::pthread_create(&thread, &attributes, tl::work, &work) == 0;
  ::pthread_attr_destroy(&attributes);
  if (started) ::pthread_join(thread, nullptr);
  return started;
}

// Where addresses run out, this thread's stack cannot grow any more, and that would end the program without a word. So
// half of what is left, up to this much, is the stack's from the beginning; what fails then is an allocation.
constexpr size_t kMostReserved = size_t{4} << 20, kLeastReserved = size_t{1} << 18, kPage = 4096;

[[gnu::noinline]] void touch_stack(size_t bytes) {
  auto* area = static_cast<volatile char*>(__builtin_alloca(bytes));
  for (size_t at = bytes; at >= kPage; at -= kPage)
    area[at - 1] = 0;
}

void reserve_stack() {
  for (size_t bytes = kMostReserved; bytes >= kLeastReserved; bytes /= 2) {
    void* probe =
        ::mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (probe == MAP_FAILED) continue;
    ::munmap(probe, 2 * bytes);
    return touch_stack(bytes);
  }
}

void on_this_stack(const std::function<void()>& f) {
  if (!refused.exchange(true)) reserve_stack();
  f();
}

} // namespace

void on_deep_stack(const std::function<void()>& f) {
  void* memory = ::mmap(nullptr, kGuard + kStack, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return on_this_stack(f);
  ::mprotect(memory, kGuard, PROT_NONE);
  ::madvise(memory, kGuard + kStack, MADV_NOHUGEPAGE); // or the first touch would clear 2 MiB
  Work work{f, nullptr};
  bool done = on_stack(memory, work);
  ::munmap(memory, kGuard + kStack);
  if (!done) return on_this_stack(f);
  if (work.failure) std::rethrow_exception(work.failure);
}

bool deep_stack_refused() { return refused; }

} // namespace tl
