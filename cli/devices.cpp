// tl devices: what a program can run on.
#include "vm/devices.h"
#include "abi/visible.h"
#include "commands.h"
#include "options.h"
#include "vm/gpu/libraries.h"
#include <fmt/format.h>
#include <memory>
#include <thread>

namespace tl::cli {
namespace {

struct Card {
  int major = 0, minor = 0; // compute capability
  std::string line;
};

std::string version_text(int major, int minor) { return fmt::format("{}.{}", major, minor); }

// Of a card that does not answer, the line says what it answers instead.
Card card(const cuda::Driver& driver, int index, int version) {
  Card card;
  char name[256] = "";
  size_t memory = 0;
  int multiprocessors = 0;
  cuda::Device device = 0;
  std::string failure;
  auto ask = [&](const char* function, cuda::Result result) {
    if (result != cuda::kSuccess && failure.empty()) failure = cuda::explain(driver, function, result);
  };
  auto attribute = [&](int& value, cuda::Attribute which) {
    ask("cuDeviceGetAttribute", driver.device_attribute(&value, which, device));
  };
  ask("cuDeviceGet", driver.device(&device, index));
  if (failure.empty()) {
    ask("cuDeviceGetName", driver.device_name(name, sizeof name, device));
    ask("cuDeviceTotalMem_v2", driver.device_memory(&memory, device));
    attribute(multiprocessors, cuda::kMultiprocessorCount);
    attribute(card.major, cuda::kMajor);
    attribute(card.minor, cuda::kMinor);
  }
  name[sizeof name - 1] = 0;
  card.line = device_name(kFirstGpu + index) + "  ";
  if (!failure.empty())
    card.line += "does not answer: " + failure;
  else
    card.line += fmt::format("{}, {} multiprocessors, {:.1f} GB, compute capability {}, driver for CUDA {}",
                             visible(name), multiprocessors, static_cast<double>(memory) * 1e-9,
                             version_text(card.major, card.minor), cuda::version_text(version));
  return card;
}

// What it is, and whether it fits the cards and their driver.
std::string nvrtc_text(const std::vector<Card>& cards, int driver_version) {
  const cuda::Loaded<cuda::Nvrtc>& nvrtc = cuda::nvrtc();
  if (!nvrtc.ok && cards.empty()) return "no NVRTC  without it nothing is compiled for GPUs\n";
  if (!nvrtc.ok) return fmt::format("no NVRTC  nothing can run on a GPU: {}; {}\n", nvrtc.reason, nvrtc.hint);
  int major = 0, minor = 0, count = 0;
  nvrtc.functions.version(&major, &minor);
  std::string text = fmt::format("NVRTC   {}, {}\n", version_text(major, minor), visible(nvrtc.path));
  if (!cards.empty() && major > driver_version / 1000)
    text += fmt::format("        newer than the driver: install a driver for CUDA {}, or NVRTC {}\n", major,
                        driver_version / 1000);
  std::vector<int> made; // 90: compute capability 9.0
  if (nvrtc.functions.architecture_count(&count) == 0 && count > 0) {
    made.resize(static_cast<size_t>(count));
    if (nvrtc.functions.architectures(made.data()) != 0) made.clear();
  }
  for (const Card& card : cards) {
    bool fits = made.empty() || card.major == 0, has_ptx = false;
    for (int architecture : made) { // code runs on later cards of the same major number, PTX on all later ones
      fits = fits || (architecture / 10 == card.major && architecture % 10 <= card.minor);
      has_ptx = has_ptx || architecture / 10 < card.major;
    }
    if (!fits)
      text += fmt::format("        makes no code for compute capability {}: {}\n", version_text(card.major, card.minor),
                          has_ptx ? "the driver compiles its PTX, slower than a newer NVRTC would"
                                  : "install an older NVRTC");
  }
  return text;
}

// Where there are cards: others need none.
std::string cublas_text(int driver_version) {
  const cuda::Loaded<cuda::Cublas>& cublas = cuda::cublas();
  if (!cublas.ok)
    return fmt::format("no cuBLASLt  matrix products run on a slow kernel of tl's own: {}; {}\n", cublas.reason,
                       cublas.hint);
  const size_t version = cublas.functions.version();
  std::string text = fmt::format("cuBLASLt  {}, {}\n", cuda::cublas_version_text(version), visible(cublas.path));
  const auto major = static_cast<int>(version / 10000);
  if (major > driver_version / 1000)
    text += fmt::format("        newer than the driver: install a driver for CUDA {}, or cuBLAS {}\n", major,
                        driver_version / 1000);
  return text;
}

std::string cards_text() {
  const cuda::Loaded<cuda::Driver>& driver = cuda::driver();
  std::vector<Card> cards;
  int count = 0, version = 0;
  std::string text;
  if (driver.ok) {
    driver.functions.device_count(&count);
    driver.functions.driver_version(&version);
    for (int i = 0; i < count; ++i) {
      cards.push_back(card(driver.functions, i, version));
      text += cards.back().line + "\n";
    }
  } else {
    text = fmt::format("no GPU  {}; {}\n", driver.reason, driver.hint);
  }
  return text + nvrtc_text(cards, version) + (cards.empty() ? "" : cublas_text(version));
}

} // namespace

std::string devices_text(int cpu_devices) {
  const Devices devices(cpu_devices, machine_memory() / static_cast<uint64_t>(cpu_devices), false);
  const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::string text;
  for (int d = 0; d < devices.count(); ++d) {
    int cores = devices.cores(d, threads);
    text += fmt::format("{}  {}, {} core{}, {:.1f} GB\n", device_name(d), processor_name(), cores,
                        cores == 1 ? "" : "s", static_cast<double>(devices.memory(d).limit()) * 1e-9);
  }
  return text + cards_text();
}

void add_devices(Command app, int& exit_code) {
  auto setup = std::make_shared<RunSetup>();
  Command command = app.add_command("devices", "what a program can run on: names, cores, memory");
  add_run_flag(command, *find_run_flag("cpu-devices"), *setup);
  command.on_chosen([setup, &exit_code] {
    std::fputs(devices_text(setup->run.cpu_devices).c_str(), stdout);
    exit_code = kFine;
  });
}

} // namespace tl::cli
