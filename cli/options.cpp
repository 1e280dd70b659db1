#include "options.h"
#include "driver/messages.h"
#include "messages.h"
#include "vm/ranks.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::cli {

void RunFlags::add_to(CLI::App& app) {
  app.add_option("--threads", run.threads, "worker threads (default: all cores)")
      ->envname("TL_THREADS")
      ->check(CLI::Range(1, 1024));
  app.add_flag("--sync", run.sync, "finish each operation before the next is issued")->envname("TL_SYNC");
  app.add_option("--memory-limit", memory_limit, "bound on the memory of tensors, such as 512M or 2GiB")
      ->envname("TL_MEMORY_LIMIT");
  app.add_flag("--stats", stats, "print operations, kernels, bytes, waits and peak memory to stderr at the end")
      ->envname("TL_STATS");
  app.add_flag("--check-nan", run.check_nan, "stop at the line that computes the first NaN")->envname("TL_CHECK_NAN");
  app.add_option("--schedule-seed", run.schedule_seed, "permute ready work by this seed; results never change")
      ->envname("TL_SCHEDULE_SEED");
  app.add_flag("--no-cache", no_cache, "neither take compiled kernels from the disk cache nor put them there")
      ->envname("TL_NO_CACHE");
  app.add_option("--cache-limit", cache_limit, "bound on the disk cache (default: 256MiB)")->envname("TL_CACHE_LIMIT");
  add_cpu_devices(app, run.cpu_devices);
  app.add_option("--device", device, "where to run: cpu")->envname("TL_DEVICE");
  app.add_flag("--interp", interpreter, "run on the reference interpreter")->envname("TL_INTERP");
  app.add_option("--disable", disabled, "switch off a compiler pass (tl dump --passes lists them)")
      ->allow_extra_args(false);
  app.add_flag("--time-passes", time_passes, "print the time of each compiler pass to stderr");
  add_message_format(app);
  app.add_flag("--verify", verify, "check the graph after every pass");
}

void add_cpu_devices(CLI::App& app, int& count) {
  app.add_option("--cpu-devices", count, "CPU devices, each with a memory of its own (default: 1)")
      ->envname("TL_CPU_DEVICES")
      ->check(CLI::Range(1, 64));
}

void RunFlags::add_profiling_to(CLI::App& app) {
  app.add_flag("--profile", profile, "print time and bytes by source line to stderr at the end")->envname("TL_PROFILE");
  app.add_option("--trace", trace, "write a timeline (JSON for Perfetto or chrome://tracing) to this file")
      ->envname("TL_TRACE");
  app.add_flag("--explain-idle", explain_idle, "print why threads stood idle, by line, to stderr at the end")
      ->envname("TL_EXPLAIN_IDLE");
}

void RunFlags::finish() {
  if (device != "cpu" && device != "auto")
    throw UsageError(fmt::format("--device {}: only cpu is supported in this version", device));
  if (interpreter && Ranks::promised())
    throw UsageError("the reference interpreter is one process: leave out --interp, or mpirun");
  if (interpreter && (profile || explain_idle || !trace.empty() || run.check_nan))
    throw UsageError("--profile, --trace, --explain-idle and --check-nan look at the compiled program: leave out "
                     "--interp");
  if (!memory_limit.empty()) run.memory_limit = parse_size(memory_limit);
  if (!cache_limit.empty()) parse_size(cache_limit);
  for (const std::string& name : disabled) {
    auto known = std::any_of(passes().begin(), passes().end(), [&](const PassInfo& pass) { return pass.name == name; });
    if (!known) throw UsageError(fmt::format("--disable {}: there is no such pass; tl dump --passes lists them", name));
  }
}

PassOptions RunFlags::pass_options() const {
  PassOptions options;
  options.disabled.insert(disabled.begin(), disabled.end());
  options.verify = verify;
  return options;
}

std::shared_ptr<DiskCache> RunFlags::disk_cache() const {
  CacheOptions options;
  options.folder = default_cache_folder();
  if (no_cache || options.folder.empty()) return nullptr;
  if (!cache_limit.empty()) options.limit = parse_size(cache_limit);
  return std::make_shared<DiskCache>(std::move(options));
}

} // namespace tl::cli
