#include "backend/cpu/bounded.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <exception>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace tl::cpu {
namespace {

struct Task {
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::string result;
  std::exception_ptr failure;
};

std::atomic<int> left{0};

// Of the processor, for a thread that has not been joined.
double seconds_of(pthread_t thread) {
  clockid_t clock{};
  timespec time{};
  if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

} // namespace

std::optional<std::string> run_bounded(std::function<std::string()> work, double seconds) {
  auto task = std::make_shared<Task>();
  auto body = [task, own = std::make_shared<std::function<std::string()>>(std::move(work))]() mutable {
    std::string result;
    std::exception_ptr failure;
    try {
      result = (*own)();
    } catch (...) {
      failure = std::current_exception();
    }
    own.reset(); // before anybody goes on
    std::lock_guard lock(task->mutex);
    task->result = std::move(result);
    task->failure = failure;
    task->done = true;
    task->ended.notify_all();
  };
  std::thread thread;
  try {
    thread = std::thread(body);
  } catch (const std::system_error&) { // the system grants no more threads: here, however long it takes
    body();
  }
  std::unique_lock lock(task->mutex);
  while (!task->done) {
    const double rest = seconds - seconds_of(thread.native_handle());
    if (rest <= 0) break;
    // A busy machine gives it less than the time that passes.
    task->ended.wait_for(lock, std::chrono::duration<double>(std::max(rest, 0.001)), [&] { return task->done; });
  }
  if (!task->done) {
    lock.unlock();
    const sched_param none{};
    pthread_setschedparam(thread.native_handle(), SCHED_IDLE, &none); // if that fails, it takes more of the machine
    thread.detach();
    ++left;
    return std::nullopt;
  }
  lock.unlock();
  if (thread.joinable()) thread.join();
  if (task->failure) std::rethrow_exception(task->failure);
  return std::move(task->result);
}

int left_behind() { return left; }

int end_of_left_behind(int code) {
  if (left > 0) {
    std::fflush(nullptr);
    ::_exit(code);
  }
  return code;
}

} // namespace tl::cpu
