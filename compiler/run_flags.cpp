#include "compiler/run_flags.h"
#include "vm/ranks.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::compiler {

void RunFlags::finish() const {
  if (interpreter && Ranks::promised())
    throw UsageError("the reference interpreter is one process: leave out --interp, or mpirun");
  if (interpreter && (looks() || audit || run.check_nan))
    throw UsageError("--profile, --trace, --explain-idle, --audit and --check-nan look at the compiled program: leave "
                     "out --interp");
  if (racecheck && device != "gpu-emu") throw UsageError("--racecheck looks at an emulated card: add --device gpu-emu");
  if (interpreter && device != "cpu" && device != "auto")
    throw UsageError("the reference interpreter runs on the CPU: leave out --interp, or --device");
  if (!cache_limit.empty()) parse_size(cache_limit);
  for (const std::string& name : disabled) {
    auto known = std::any_of(passes().begin(), passes().end(), [&](const PassInfo& pass) { return pass.name == name; });
    if (!known) throw UsageError(fmt::format("--disable {}: there is no such pass; tl dump --passes lists them", name));
  }
  prepare(*this);
}

PassOptions RunFlags::pass_options() const {
  PassOptions options;
  options.disabled.insert(disabled.begin(), disabled.end());
  // The line that makes the first NaN is to be found: each operation is a step of its own, with a line of its own.
  if (run.check_nan) options.disabled.insert({"fuse", "outline", "turns"});
  if (!run.cards.empty()) options.disabled.insert("turns"); // one thread of a card is slow
  options.verify = verify;
  if (time_passes) options.times = &times;
  return options;
}

std::string RunFlags::cache_folder() const { return no_cache ? "" : default_cache_folder(); }

std::shared_ptr<DiskCache> RunFlags::disk_cache() const {
  CacheOptions options;
  options.folder = cache_folder();
  if (options.folder.empty()) return nullptr;
  if (!cache_limit.empty()) options.limit = parse_size(cache_limit);
  return std::make_shared<DiskCache>(std::move(options));
}

} // namespace tl::compiler
