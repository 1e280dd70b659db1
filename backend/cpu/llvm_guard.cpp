#include "backend/cpu/llvm_guard.h"
#include <llvm/Support/ErrorHandling.h>
#include <mutex>
#include <new>
#include <string_view>
#include <unistd.h>

namespace tl {
namespace {

thread_local int guards = 0;
std::new_handler outer = nullptr; // that of other threads, and of this one outside LLVM

// Allocates nothing.
[[noreturn]] void end_without_memory() {
  constexpr std::string_view message = "tl: the system gives no more memory, and the compiler needs some\n";
  (void)!::write(STDERR_FILENO, message.data(), message.size());
  ::_exit(3);
}

void on_failed_new() {
  if (guards > 0) end_without_memory();
  if (!outer) throw std::bad_alloc();
  outer();
}

void on_failed_malloc(void*, const char*, bool) { end_without_memory(); }

// What LLVM gives up for: memory that it could not map, or a fault.
void on_fatal_error(void*, const char* reason, bool) {
  if (std::string_view(reason).find("allocate") != std::string_view::npos) end_without_memory();
  for (std::string_view part :
       {std::string_view("tl: internal error: LLVM: "), std::string_view(reason), std::string_view("\n")})
    (void)!::write(STDERR_FILENO, part.data(), part.size());
  ::_exit(70);
}

} // namespace

LlvmGuard::LlvmGuard() {
  static std::once_flag once;
  std::call_once(once, [] {
    outer = std::set_new_handler(on_failed_new);
    llvm::install_bad_alloc_error_handler(on_failed_malloc);
    llvm::install_fatal_error_handler(on_fatal_error);
  });
  ++guards;
}

LlvmGuard::~LlvmGuard() { --guards; }

} // namespace tl
