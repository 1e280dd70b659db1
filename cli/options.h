// The flags that run, test and dump share.
#pragma once
#include "backend/cache/disk_cache.h"
#include "driver/usage.h"
#include "passes/pipeline.h"
#include "vm/vm.h"
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace tl::cli {

using namespace driver; // exit codes, messages, results: what a built executable has too

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

} // namespace tl::cli
