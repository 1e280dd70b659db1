// The flags that run, test and dump share, and exit codes.
#pragma once
#include "backend/cache/disk_cache.h"
#include "passes/pipeline.h"
#include "vm/vm.h"
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace tl::cli {

enum ExitCode { kFine = 0, kRejected = 1, kUsage = 2, kRuntimeError = 3, kInternal = 70 };

// A wrong command line or an unreadable file: printed as `tl: message`, exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct RunFlags {
  RunOptions run;
  bool interpreter = false;
  bool stats = false;
  bool profile = false;
  std::string trace; // a file, or empty
  bool explain_idle = false;
  bool time_passes = false;
  bool verify = false;
  bool no_cache = false;
  std::string cache_limit;
  std::string device = "cpu";
  std::string memory_limit;
  std::vector<std::string> disabled; // passes

  void add_to(CLI::App& app);
  void add_profiling_to(CLI::App& app); // --profile, --trace, --explain-idle
  void finish();                        // checks what CLI11 cannot, fills `run`
  PassOptions pass_options() const;
  std::shared_ptr<DiskCache> disk_cache() const; // null: --no-cache, or nowhere to put it
};

void add_cpu_devices(CLI::App& app, int& count); // --cpu-devices

// "64M", "1.5GiB", "1000000": bytes. Throws UsageError.
uint64_t parse_size(const std::string& text);

} // namespace tl::cli
