#include "abi/interrupted.h"
#include <atomic>
#include <csignal>

namespace tl {
namespace {

std::atomic<bool> noted{false};

void note(int) {
  noted = true;
  std::signal(SIGINT, SIG_DFL);
}

} // namespace

bool interrupted() {
  static const bool listening = [] {
    struct sigaction now{};
    // Where somebody listens already (a REPL), it stays so.
    if (::sigaction(SIGINT, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) std::signal(SIGINT, note);
    return true;
  }();
  return listening && noted;
}

} // namespace tl
