// Runs a program and collects what it prints.
#pragma once
#include <string>
#include <vector>

namespace tl::golden {

struct Ran {
  std::string out, err; // each cut after `most_output` bytes
  int exit_code = 0;    // 128 + signal when one ended it
  bool timed_out = false;
  bool cut = false; // it printed more than that
};

inline constexpr size_t most_output = 16 << 20;

// Runs `command` (its first word is a path) in `folder`, with standard input empty, and ends it after `seconds`.
// Thread-safe. Throws std::system_error if it cannot be started.
Ran run_process(const std::vector<std::string>& command, const std::string& folder, double seconds);

} // namespace tl::golden
