// --device: which cards a run has, real or emulated.
#include "compiler/run_flags.h"
#include "driver/messages.h"
#include "vm/gpu/card/card.h"
#include "vm/gpu/emulator/emulator.h"
#include "vm/gpu/libraries.h"
#include "vm/io/io.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace tl::compiler {
namespace fs = std::filesystem;

static std::vector<std::shared_ptr<Card>> cards_of(const std::string& device) {
  try {
    return open_cards();
  } catch (const RuntimeError& error) { // one that is another's alone, or is broken
    throw UsageError(fmt::format("--device {}: {}", device, error.message));
  }
}

static std::string folder_of(const std::string& file) { return fs::path(file).parent_path().string(); }

// Where libraries and programs of the system are, to be read and run.
static std::vector<AllowedFiles> files_of_system() {
  std::vector<AllowedFiles> files;
  for (const char* folder : {"/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/ld.so.preload"})
    files.push_back({.path = folder, .runs = true});
  for (const char* device : {"/dev/null", "/dev/zero", "/dev/urandom"})
    files.push_back({.path = device, .writes = true});
  return files;
}

// A compiler, whose parts are beside its folder or the system's.
static std::vector<AllowedFiles> files_of_emulator() {
  std::vector<AllowedFiles> files = files_of_system();
  std::error_code error;
  if (const std::string compiler = emulator::compiler_path(); !compiler.empty())
    for (const std::string& file : {compiler, fs::canonical(compiler, error).string()})
      if (const fs::path root = fs::path(file).parent_path().parent_path(); root.has_relative_path())
        files.push_back({.path = root.string(), .runs = true});
  if (const std::string folder = emulator::temporary_folder(); !folder.empty()) {
    files.push_back({.path = folder, .writes = true});
    files.push_back({.path = folder_of(folder), .tidies = true});
  }
  return files;
}

// What libcuda, NVRTC and cuBLASLt open when contexts, modules and libraries are loaded: the driver's devices, what it
// asks of the kernel, libraries that they find by name, and the driver's own cache of compiled PTX.
static std::vector<AllowedFiles> files_of_cards() {
  std::vector<AllowedFiles> files = files_of_system();
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/dev", error))
    if (entry.path().filename().string().starts_with("nvidia"))
      files.push_back({.path = entry.path().string(), .writes = true, .controls = true});
  for (const char* folder : {"/proc/driver/nvidia", "/proc/self", "/proc/devices", "/proc/modules", "/proc/cpuinfo",
                             "/proc/meminfo", "/proc/sys/vm", "/sys/devices", "/sys/bus/pci", "/sys/module"})
    files.push_back({.path = folder});
  for (const std::string& file : {cuda::driver().path, cuda::nvrtc().path, cuda::cublas().path})
    for (const fs::path& at : {fs::path(file), fs::canonical(file, error)})
      if (at.has_parent_path()) files.push_back({.path = at.parent_path().string()});
  const char *named = std::getenv("CUDA_CACHE_PATH"), *home = std::getenv("HOME");
  if (named && *named)
    files.push_back({.path = named, .writes = true});
  else if (home && *home)
    files.push_back({.path = std::string(home) + "/.nv/ComputeCache", .writes = true});
  return files;
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
    try {
      emulator::configure(options);
    } catch (const RuntimeError& error) {
      throw IoError(fmt::format("--device {}: {}; {}", device, error.message, error.hint), error.kind);
    }
    of_cards = files_of_emulator();
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
  of_cards = files_of_cards();
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

} // namespace tl::compiler
