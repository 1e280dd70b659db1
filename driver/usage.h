// Exit codes, and command lines that are wrong.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

namespace tl::driver {

enum ExitCode { kFine = 0, kRejected = 1, kUsage = 2, kRuntimeError = 3, kInternal = 70 };

// A wrong command line or an unreadable file: printed as `tl: message`, exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// "64M", "1.5GiB", "1000000": bytes. Throws UsageError.
uint64_t parse_size(const std::string& text);

} // namespace tl::driver
