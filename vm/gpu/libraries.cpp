#include "vm/gpu/libraries.h"
#include "abi/visible.h"
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <link.h>

namespace fs = std::filesystem;

namespace tl::cuda {
namespace {

const char* const kInstallNvrtc = "install CUDA's toolkit or `pip install nvidia-cuda-nvrtc`, or set TL_CUDA_PATH to "
                                  "the folder that holds it";
const char* const kInstallCublas = "install CUDA's toolkit or `pip install nvidia-cublas`, or set TL_CUDA_PATH to the "
                                   "folder that holds it";
const char* const kNoLibrary = "remove it, or set TL_CUDA_PATH to another folder";

struct Replacement {
  Symbols symbols;
  std::string name;
};
Replacement& replacement() {
  static Replacement made;
  return made;
}

std::string last_error() {
  const char* message = dlerror();
  return message ? visible(message) : "it cannot be loaded";
}

std::string path_of(void* handle, const std::string& name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map || !map->l_name || !*map->l_name) return name;
  return map->l_name;
}

// A user who has set it wants to know that it was looked at.
std::string of_own_path() {
  const char* path = std::getenv("TL_CUDA_PATH");
  return path && *path ? ", neither in TL_CUDA_PATH (" + visible(path) + ") nor elsewhere" : "";
}

// The first file that will do, or what is wrong with the first that is there. `start` fills `loaded`; false: this file
// is of no use, another may be.
template <class Table>
Loaded<Table> open(const std::string& stem, const std::vector<std::string>& versions,
                   bool (*start)(Loaded<Table>& loaded, const Symbols& symbols), const char* missing,
                   const char* install) {
  Loaded<Table> result;
  if (replacement().symbols) {
    result.path = replacement().name;
    start(result, replacement().symbols);
    return result;
  }
  for (const std::string& file : candidates(stem, versions)) {
    Loaded<Table> loaded;
    loaded.path = file;
    if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      loaded.path = path_of(handle, file);
      if (start(loaded, [handle](const char* name) { return dlsym(handle, name); })) return loaded;
      loaded.functions = {};
      dlclose(handle);
    } else {
      const std::string message = last_error();
      if (message.rfind(file + ": cannot open shared object file: No such file", 0) == 0) continue;
      loaded.reason = message;
      loaded.hint = kNoLibrary;
    }
    if (result.reason.empty()) result = loaded;
  }
  if (result.reason.empty()) {
    result.reason = missing + of_own_path();
    result.hint = install;
  }
  return result;
}

std::string name_of(const Driver& driver, Result result) {
  const char* name = nullptr;
  if (driver.error_name && driver.error_name(result, &name) == kSuccess && name) return visible(name);
  return fmt::format("error {}", result);
}

// What to do where cuInit fails.
std::string hint_for(Result result) {
  const char* hidden = std::getenv("CUDA_VISIBLE_DEVICES");
  switch (result) {
  case kNoDevice:
    if (hidden) return fmt::format("CUDA_VISIBLE_DEVICES is '{}': unset it, or name cards by it", visible(hidden));
    return "see that `nvidia-smi` lists a card; a container must be started with its cards (--gpus all)";
  case kDeviceUnavailable: return "another process has the card for itself: end it, or change the card's mode";
  case kOperatingSystem:
  case kUnknown: return "load the driver's modules into the kernel (`nvidia-modprobe -u`), or start the machine anew";
  case kSystemNotReady: return "start the service of the driver that the machine needs (nvidia-fabricmanager)";
  case kDriverMismatch: return "start the machine anew, so that the kernel's module and the library are of one version";
  case kCompatNotSupported: return "take the folder `compat` of CUDA's toolkit out of LD_LIBRARY_PATH";
  default: return "see that `nvidia-smi` works";
  }
}

bool start_driver(Loaded<Driver>& loaded, const Symbols& symbols) {
  Driver& functions = loaded.functions;
  if (const std::string missing = fill(functions, symbols); !missing.empty()) {
    int version = 0;
    if (!symbols("cuInit")) {
      loaded.reason = visible(loaded.path) + " is no driver: it has no cuInit";
      loaded.hint = kNoLibrary;
    } else {
      const bool known = functions.driver_version && functions.driver_version(&version) == kSuccess && version > 0;
      loaded.reason =
          fmt::format("the driver {}({}) is too old: it has no {}",
                      known ? "for CUDA " + version_text(version) + " " : "", visible(loaded.path), missing);
      loaded.hint = "install a newer driver of NVIDIA";
    }
    return false;
  }
  Result result = functions.init(0);
  int cards = 0;
  if (result == kSuccess) result = functions.device_count(&cards);
  if (result == kSuccess && cards <= 0) result = kNoDevice;
  if (result == kStubLibrary) {
    loaded.reason = visible(loaded.path) + " is the stub of CUDA's toolkit, no driver";
    loaded.hint = "install NVIDIA's driver; take the folder `stubs` out of LD_LIBRARY_PATH";
    return false;
  }
  loaded.ok = result == kSuccess;
  if (loaded.ok) return true;
  loaded.reason = fmt::format("the driver ({}) {}", visible(loaded.path),
                              result == kNoDevice ? "finds no card" : "fails: " + explain(functions, "cuInit", result));
  loaded.hint = hint_for(result);
  return true;
}

bool start_nvrtc(Loaded<Nvrtc>& loaded, const Symbols& symbols) {
  const std::string missing = fill(loaded.functions, symbols);
  int major = 0, minor = 0;
  if (!missing.empty() || loaded.functions.version(&major, &minor) != 0) {
    loaded.reason = fmt::format("{} is too old, or no NVRTC: {}", visible(loaded.path),
                                missing.empty() ? "nvrtcVersion fails" : "it has no " + missing);
    loaded.hint = kInstallNvrtc;
    return false;
  }
  loaded.ok = true;
  if (replacement().symbols) return true;
  // NVRTC opens this one by its bare name when it first compiles, and does not look in its own folder: it finds what is
  // open already.
  const std::string builtins = fmt::format("libnvrtc-builtins.so.{}.{}", major, minor);
  std::error_code error;
  std::string message;
  for (const fs::path& file : {fs::path(loaded.path), fs::canonical(loaded.path, error)}) {
    const fs::path beside = file.parent_path() / builtins;
    if (!fs::exists(beside, error)) continue;
    if (dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL)) return true;
    message = last_error();
  }
  if (dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL)) return true;
  loaded.ok = false;
  loaded.reason = message.empty() ? visible(loaded.path) + " has no " + builtins + " beside it" : message;
  loaded.hint = kInstallNvrtc;
  return false;
}

bool start_cublas(Loaded<Cublas>& loaded, const Symbols& symbols) {
  const std::string missing = fill(loaded.functions, symbols);
  loaded.ok = missing.empty();
  if (loaded.ok) return true;
  loaded.reason = fmt::format("{} is too old, or no cuBLASLt: it has no {}", visible(loaded.path), missing);
  loaded.hint = kInstallCublas;
  return false;
}

// Of the toolkit, the newest first: but a driver runs machine code and libraries of its own major version and of
// earlier ones, so what is later than the driver comes last.
std::vector<std::string> versions_for_driver() {
  int version = 0;
  const bool asked = !replacement().symbols && driver().ok && driver().functions.driver_version(&version) == kSuccess;
  if (asked && version < 13000) return {"12", "13", ""};
  return {"13", "12", ""};
}

} // namespace

const Loaded<Driver>& driver() {
  static const Loaded<Driver> loaded =
      open<Driver>("libcuda.so", {"1"}, start_driver, "there is no libcuda.so.1, which comes with NVIDIA's driver",
                   "install the driver; a container must be started with its cards (--gpus all)");
  return loaded;
}

const Loaded<Nvrtc>& nvrtc() {
  static const Loaded<Nvrtc> loaded =
      open<Nvrtc>("libnvrtc.so", versions_for_driver(), start_nvrtc, "there is no libnvrtc.so", kInstallNvrtc);
  return loaded;
}

const Loaded<Cublas>& cublas() {
  static const Loaded<Cublas> loaded =
      open<Cublas>("libcublasLt.so", versions_for_driver(), start_cublas, "there is no libcublasLt.so", kInstallCublas);
  return loaded;
}

void replace(Symbols symbols, std::string name) { replacement() = {std::move(symbols), std::move(name)}; }

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string cublas_version_text(size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string explain(const Driver& driver, const char* function, Result result) {
  const char* text = nullptr;
  const std::string name = name_of(driver, result);
  if (!driver.error_text || driver.error_text(result, &text) != kSuccess || !text)
    return fmt::format("{}: {}", function, name);
  return fmt::format("{}: {} ({})", function, visible(text), name);
}

} // namespace tl::cuda
