// The flags of compiling and running, and what follows from them.
#pragma once
#include "backend/cache/disk_cache.h"
#include "driver/flags.h"
#include "driver/usage.h"
#include "passes/pipeline.h"
#include <memory>
#include <string>
#include <vector>

namespace tl::compiler {

using namespace driver; // exit codes, messages, results: what a built executable has too

struct RunFlags : RunSetup {
  bool interpreter = false;
  bool time_passes = false;
  bool verify = false;
  bool audit = false;
  bool no_cache = false;
  bool racecheck = false;
  std::string cache_limit;
  double const_seconds = 60;         // that computing one const may take
  std::vector<std::string> disabled; // passes

  void finish() const; // checks what is between flags, and prepares the process
  PassOptions pass_options() const;
  std::string cache_folder() const;              // empty: --no-cache, or nowhere to put it
  std::shared_ptr<DiskCache> disk_cache() const; // null: --no-cache, or nowhere to put it
  void open_devices();                           // what --device asks for; throws UsageError
  int64_t device_number() const;                 // of the one where new tensors go, then

  mutable PassTimes times; // of the compilation that is going on, for --time-passes

private:
  void open_cards_of_flags();
};

// When a command has ended with this exit code: what is left on an emulated card, and races that were found there, are
// said on stderr and change it.
int end_of_cards(int code);

} // namespace tl::compiler
