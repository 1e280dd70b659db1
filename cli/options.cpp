#include "options.h"
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

void add_run_options(Command app, RunFlags& flags) {
  for (const RunFlag& flag : run_flags())
    if (!flag.looks && &flag != find_run_flag("message-format")) add_run_flag(app, flag, flags);
  app.add_flag("--racecheck", flags.racecheck, "look for races in kernels, with --device gpu-emu")
      .environment("TL_RACECHECK");
  app.add_flag("--interp", flags.interpreter, "run on the reference interpreter").environment("TL_INTERP");
  add_compiling_options(app, flags);
}

void add_compiling_options(Command app, RunFlags& flags) {
  app.add_flag("--no-cache", flags.no_cache, "neither take compiled kernels from the disk cache nor put them there")
      .environment("TL_NO_CACHE");
  app.add_option("--cache-limit", flags.cache_limit, "bound on the disk cache (default: 256MiB)")
      .environment("TL_CACHE_LIMIT");
  add_const_seconds(app, flags);
  app.add_option("--disable", flags.disabled, "switch off a compiler pass (tl dump --passes lists them)")
      .one_value_each();
  app.add_flag("--time-passes", flags.time_passes, "print the time of each compiler pass to stderr");
  app.add_flag("--verify", flags.verify, "check the graph as lowered and after every pass");
  add_message_format(app);
}

void add_const_seconds(Command app, RunFlags& flags) {
  app.add_option("--const-seconds", flags.const_seconds, "how long the computing of a const may take (default: 60)")
      .environment("TL_CONST_SECONDS");
}

void add_looking_options(Command app, RunFlags& flags) {
  for (const RunFlag& flag : run_flags())
    if (flag.looks) add_run_flag(app, flag, flags);
  app.add_flag("--audit", flags.audit,
               "check that no order of the operations would mix up their memory; the result to stderr")
      .environment("TL_AUDIT");
}

void add_model_options(Command app, ImportFlags& flags) {
  app.add_option("--dim", flags.dims,
                 "of an ONNX model: a size that it leaves open, as NAME=SIZE; "
                 "or of an input's axis, as INPUT.AXIS=SIZE, or =NAME to leave it open")
      .one_value_each();
  app.add_option("--input", flags.inputs, "of an ONNX model: the value of an input, as NAME=VALUE or NAME=VALUE,VALUE")
      .one_value_each();
}

void add_message_format(Command app) {
  static RunSetup none; // it is about the whole process
  add_run_flag(app, *find_run_flag("message-format"), none);
}

} // namespace tl::cli
