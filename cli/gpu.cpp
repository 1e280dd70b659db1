// --device: which cards a run has, real or emulated.
#include "driver/messages.h"
#include "options.h"
#include "vm/gpu/card/card.h"
#include "vm/gpu/emulator/emulator.h"
#include "vm/gpu/libraries.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::cli {

static std::vector<std::shared_ptr<Card>> cards_of(const std::string& device) {
  try {
    return open_cards();
  } catch (const RuntimeError& error) { // one that is another's alone, or is broken
    throw UsageError(fmt::format("--device {}: {}", device, error.message));
  }
}

void RunFlags::open_devices() {
  if (device != "cpu" && run.cards.empty()) open_cards_of_flags();
  check_devices(*this);
}

void RunFlags::open_cards_of_flags() {
  const int first = std::max(1, run.cpu_devices); // the index of gpu(0)
  if (device == "gpu-emu") {
    emulator::Options options;
    options.devices = emulated_cards;
    options.memory =
        run.memory_limit ? run.memory_limit + (run.memory_limit >> 2) + (uint64_t{64} << 20) : options.memory;
    options.seed = run.schedule_seed.value_or(0);
    options.racecheck = racecheck;
    emulator::configure(options);
    cuda::replace(emulator::symbol, "emulated " + emulator::description());
    run.cards = cards_of(device);
    run.device = first;
    return;
  }
  const bool usable = cuda::driver().ok && cuda::nvrtc().ok;
  if (device == "auto" && !usable) return;
  if (!cuda::driver().ok)
    throw UsageError(fmt::format("--device {}: {}; {}", device, cuda::driver().reason, cuda::driver().hint));
  if (!cuda::nvrtc().ok)
    throw UsageError(fmt::format("--device {}: {}; {}", device, cuda::nvrtc().reason, cuda::nvrtc().hint));
  run.cards = cards_of(device);
  const auto wanted = device == "auto" ? 0 : static_cast<size_t>(*device_from_text(device) - kFirstGpu);
  if (wanted >= run.cards.size())
    throw UsageError(fmt::format("--device {}: the last GPU here is gpu:{}", device, run.cards.size() - 1));
  run.device = first + static_cast<int>(wanted);
}

int end_of_cards(int code) {
  const emulator::Live live = emulator::live();
  std::string left;
  for (auto [count, what] : {std::pair{live.allocations, "allocations"},
                             {live.host_allocations, "pinned allocations"},
                             {live.modules, "modules"},
                             {live.streams, "streams"},
                             {live.events, "events"},
                             {live.contexts, "contexts"},
                             {live.cublas, "objects of cuBLASLt"}})
    if (count) left += fmt::format("{}{} {}", left.empty() ? "" : ", ", count, what);
  if (!left.empty()) {
    show("InternalError", "not given back to the emulated card: " + left);
    code = kInternal;
  }
  if (const size_t racing = emulator::racing_kernels()) {
    show("DataRace", fmt::format("{} kernel{} with races", racing, racing == 1 ? "" : "s"));
    if (code == kFine) code = kRuntimeError;
  }
  return code;
}

int64_t RunFlags::device_number() const {
  const int cpus = std::max(1, run.cpu_devices);
  return run.device < cpus ? run.device : kFirstGpu + run.device - cpus;
}

} // namespace tl::cli
