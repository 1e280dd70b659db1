#include "options.h"
#include "driver/messages.h"
#include "messages.h"
#include "vm/ranks.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::cli {

void add_run_flag(Command command, const RunFlag& flag, RunSetup& setup) {
  const std::string name = fmt::format("--{}", flag.name), help(flag.help);
  auto add = [&] {
    if (flag.value.empty())
      return command.add_switch(
          name, [&flag, &setup](const std::string& text) { set_switch(setup, flag, text); }, help);
    return command.add_option(
                      name, [&flag, &setup](const std::string& value) { flag.set(setup, value); }, help)
        .placeholder(std::string(flag.value));
  };
  Option option = add().environment(environment_name(flag));
  if (&flag == find_run_flag("message-format")) option.at_once(); // a wrong flag to its right is shown so too
}

void RunFlags::add_to(Command app) {
  for (const RunFlag& flag : run_flags())
    if (!flag.looks && &flag != find_run_flag("message-format")) add_run_flag(app, flag, *this);
  app.add_flag("--racecheck", racecheck, "look for races in kernels, with --device gpu-emu")
      .environment("TL_RACECHECK");
  app.add_flag("--interp", interpreter, "run on the reference interpreter").environment("TL_INTERP");
  add_compiling_to(app);
}

void RunFlags::add_compiling_to(Command app) {
  app.add_flag("--no-cache", no_cache, "neither take compiled kernels from the disk cache nor put them there")
      .environment("TL_NO_CACHE");
  app.add_option("--cache-limit", cache_limit, "bound on the disk cache (default: 256MiB)")
      .environment("TL_CACHE_LIMIT");
  add_const_seconds_to(app);
  app.add_option("--disable", disabled, "switch off a compiler pass (tl dump --passes lists them)").one_value_each();
  app.add_flag("--time-passes", time_passes, "print the time of each compiler pass to stderr");
  app.add_flag("--verify", verify, "check the graph as lowered and after every pass");
  add_message_format(app);
}

void RunFlags::add_const_seconds_to(Command app) {
  app.add_option("--const-seconds", const_seconds, "how long the computing of a const may take (default: 60)")
      .environment("TL_CONST_SECONDS");
}

void RunFlags::add_looking_to(Command app) {
  for (const RunFlag& flag : run_flags())
    if (flag.looks) add_run_flag(app, flag, *this);
  app.add_flag("--audit", audit,
               "check that no order of the operations would mix up their memory; the result to stderr")
      .environment("TL_AUDIT");
}

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
  if (run.check_nan) options.disabled.insert({"fuse", "outline"});
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

} // namespace tl::cli
