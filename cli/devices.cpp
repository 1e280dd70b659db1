// tl devices: what a program can run on.
#include "vm/devices.h"
#include "commands.h"
#include "options.h"
#include <fmt/format.h>
#include <memory>
#include <thread>

namespace tl::cli {

std::string devices_text(int cpu_devices) {
  const Devices devices(cpu_devices, machine_memory() / static_cast<uint64_t>(cpu_devices), false);
  const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::string text;
  for (int d = 0; d < devices.count(); ++d) {
    int cores = devices.cores(d, threads);
    text += fmt::format("{}  {}, {} core{}, {:.1f} GB\n", device_name(d), processor_name(), cores,
                        cores == 1 ? "" : "s", static_cast<double>(devices.memory(d).limit()) * 1e-9);
  }
  return text;
}

void add_devices(CLI::App& app, int& exit_code) {
  auto setup = std::make_shared<RunSetup>();
  CLI::App* command = app.add_subcommand("devices", "what a program can run on: names, cores, memory");
  add_run_flag(*command, *find_run_flag("cpu-devices"), *setup);
  command->callback([setup, &exit_code] {
    std::fputs(devices_text(setup->run.cpu_devices).c_str(), stdout);
    exit_code = kFine;
  });
}

} // namespace tl::cli
