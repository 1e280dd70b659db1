#include "vm/io/input_lines.h"
#include <cerrno>
#include <poll.h>
#include <unistd.h>

namespace tl {
namespace {

std::string arrived;        // and not read yet
size_t taken = 0;           // of it
bool last_read_end = false; // was there no more to read, when it was tried last?

bool read_more() {
  char buffer[65536];
  ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
  last_read_end = count == 0;
  if (count <= 0) return false;
  arrived.erase(0, taken);
  taken = 0;
  arrived.append(buffer, static_cast<size_t>(count));
  return true;
}

bool can_read_more() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 0) > 0 && (input.revents & (POLLIN | POLLHUP)) != 0;
}

std::string without_return(std::string line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

} // namespace

std::optional<std::string> next_input_line() {
  size_t searched = 0;
  while (true) {
    size_t end = arrived.find('\n', taken + searched);
    if (end != std::string::npos) {
      std::string line = arrived.substr(taken, end - taken);
      taken = end + 1;
      return without_return(std::move(line));
    }
    searched = arrived.size() - taken;
    if (read_more()) continue;
    if (searched == 0) return std::nullopt;
    std::string line = arrived.substr(taken);
    taken = arrived.size();
    return without_return(std::move(line));
  }
}

std::string rest_of_input(uint64_t most) {
  while (arrived.size() - taken <= most && read_more()) {
  }
  std::string rest = arrived.substr(taken, most + 1);
  arrived.clear();
  taken = 0;
  return rest;
}

std::optional<std::string> arrived_input_line(size_t ahead) {
  while (true) {
    size_t from = taken;
    for (size_t k = 0; k < ahead && from != std::string::npos; ++k) {
      from = arrived.find('\n', from);
      if (from != std::string::npos) ++from;
    }
    const size_t end = from == std::string::npos ? from : arrived.find('\n', from);
    if (end != std::string::npos) return without_return(arrived.substr(from, end - from));
    if (can_read_more() && read_more()) continue;
    if (from == std::string::npos || from >= arrived.size() || !last_read_end) return std::nullopt;
    return without_return(arrived.substr(from));
  }
}

InputState wait_for_input(int milliseconds) {
  if (taken < arrived.size()) return InputState::Ready;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const int count = ::poll(&input, 1, milliseconds);
  if (count == 0) return InputState::Late;
  if (count > 0 && read_more()) return InputState::Ready;
  return errno == EINTR && !(count > 0 && last_read_end) ? InputState::Signal : InputState::End;
}

bool wait_for_input(const std::atomic<bool>* interrupt) {
  constexpr int kMilliseconds = 100;
  while (interrupt && taken >= arrived.size()) {
    if (interrupt->load(std::memory_order_relaxed)) return false;
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, kMilliseconds) > 0) break;
  }
  return true;
}

unsigned char next_input_byte() { return static_cast<unsigned char>(arrived[taken++]); }

} // namespace tl
