#include "driver/flags.h"
#include "abi/device.h"
#include "driver/messages.h"
#include "driver/usage.h"
#include "vm/io/io.h"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>

namespace tl::driver {
namespace {

template <class T> T number(std::string_view name, const std::string& text, T least, T most) {
  T value{};
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < least || value > most)
    throw UsageError(fmt::format("--{} {}: not a number from {} to {}", name, text, least, most));
  return value;
}

void set_message_format(RunSetup&, const std::string& format) {
  if (format != "text" && format != "json")
    throw UsageError(fmt::format("--message-format {}: neither text nor json", format));
  show_as_json(format == "json");
}

void set_device(RunSetup& setup, const std::string& device) {
  const auto known = device_from_text(device);
  if (device != "cpu" && device != "auto" && device != "gpu-emu" && (!known || *known < kFirstGpu))
    throw UsageError(fmt::format("--device {}: not cpu, gpu, gpu:N, gpu-emu or auto", device));
  setup.device = device;
}

constexpr RunFlag kFlags[] = {
    {"message-format", "FORMAT", "how messages are shown: text, or json (one object a line)", false,
     set_message_format},
    {"threads", "N", "worker threads (default: all cores)", false,
     [](RunSetup& s, const std::string& text) { s.run.threads = number("threads", text, 1, 1024); }},
    {"sync", "", "finish each operation before the next is issued", false,
     [](RunSetup& s, const std::string& text) { s.run.sync = text == "true"; }},
    {"memory-limit", "SIZE", "bound on the memory of tensors, such as 512M or 2GiB", false,
     [](RunSetup& s, const std::string& text) { s.run.memory_limit = parse_size(text); }},
    {"stats", "", "print operations, kernels, bytes, waits and peak memory to stderr at the end", false,
     [](RunSetup& s, const std::string& text) { s.stats = text == "true"; }},
    {"check-nan", "", "stop at the line that computes the first NaN", false,
     [](RunSetup& s, const std::string& text) { s.run.check_nan = text == "true"; }},
    {"schedule-seed", "SEED", "permute ready work by this seed; results never change", false,
     [](RunSetup& s, const std::string& text) {
       s.run.schedule_seed = number<uint64_t>("schedule-seed", text, 0, UINT64_MAX);
     }},
    {"cpu-devices", "N", "CPU devices, each with a memory of its own (default: 1)", false,
     [](RunSetup& s, const std::string& text) { s.run.cpu_devices = number("cpu-devices", text, 1, 64); }},
    {"device", "NAME", "where to run: cpu, gpu, gpu:N, auto (a GPU if there is one), gpu-emu (one made of the CPU)",
     false, set_device},
    {"gpu-emu-devices", "N", "GPUs of --device gpu-emu (default: 1)", false,
     [](RunSetup& s, const std::string& text) { s.emulated_cards = number("gpu-emu-devices", text, 1, 16); }},
    {"tf32", "", "f32 matrix products on a GPU in TF32: faster, with 10 bits of each factor's fraction", false,
     [](RunSetup& s, const std::string& text) { s.tf32 = text == "true"; }},
    {"exact-products", "", "matrix products on a GPU in the CPU's bits, by tl's own kernel: slower than cuBLASLt",
     false, [](RunSetup& s, const std::string& text) { s.exact_products = text == "true"; }},
    {"root", "FOLDER", "keep the program to files below this folder; those on the command line are yours", false,
     [](RunSetup& s, const std::string& folder) {
       if (folder.empty()) throw UsageError("--root needs the name of a folder");
       if (s.files.reach == FileRules::Reach::All) s.files = {FileRules::Reach::Folder, folder};
     }},
    {"no-files", "", "keep the program from all files but those on the command line", false,
     [](RunSetup& s, const std::string& text) {
       if (text == "true") s.files = {FileRules::Reach::None, ""};
     }},
    {"profile", "", "print time and bytes by source line to stderr at the end", true,
     [](RunSetup& s, const std::string& text) { s.profile = text == "true"; }},
    {"trace", "FILE", "write a timeline (JSON for Perfetto or chrome://tracing) to this file", true,
     [](RunSetup& s, const std::string& text) {
       if (text.empty()) throw UsageError("--trace needs the name of a file");
       s.trace = text;
     }},
    {"explain-idle", "", "print why threads stood idle, by line, to stderr at the end", true,
     [](RunSetup& s, const std::string& text) { s.explain_idle = text == "true"; }},
};

} // namespace

std::span<const RunFlag> run_flags() { return kFlags; }

const RunFlag* find_run_flag(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kFlags), std::end(kFlags), [&](const RunFlag& f) { return f.name == name; });
  return found == std::end(kFlags) ? nullptr : found;
}

std::string environment_name(const RunFlag& flag) {
  std::string name = "TL_";
  for (char c : flag.name)
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

void set_switch(RunSetup& setup, const RunFlag& flag, const std::string& text) {
  auto is_one_of = [&](std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), text) != words.end();
  };
  const bool on = is_one_of({"1", "true", "on", "yes"});
  if (!on && !is_one_of({"0", "false", "off", "no"}))
    throw UsageError(fmt::format("--{}: '{}' is neither true nor false", flag.name, text));
  flag.set(setup, on ? "true" : "false");
}

void set_flag(RunSetup& setup, const RunFlag& flag, const std::string& text) {
  if (flag.value.empty())
    set_switch(setup, flag, text);
  else
    flag.set(setup, text);
}

void set_for_library(RunSetup& setup, const char* name, const char* value) {
  const RunFlag* flag = name ? find_run_flag(name) : nullptr;
  if (!flag || flag->looks || flag->name == "stats" || flag->name == "message-format" || flag->name == "root" ||
      flag->name == "no-files")
    throw UsageError(
        fmt::format("there is no setting '{}'; settings are flags of `tl run`, such as threads", name ? name : ""));
  RunSetup changed = setup;
  set_flag(changed, *flag, value ? value : "true");
  setup = std::move(changed);
}

void take_environment(RunSetup& setup) {
  for (const RunFlag& flag : kFlags) {
    const char* text = std::getenv(environment_name(flag).c_str());
    if (!text || !*text) continue;
    set_flag(setup, flag, text);
  }
}

void check_devices(const RunSetup& setup) {
  const bool has_one = !setup.run.cards.empty();
  if (setup.device != "cpu" && setup.device != "auto" && !has_one)
    throw UsageError(fmt::format("--device {}: this program runs on the CPU alone", setup.device));
  for (auto [name, is_set] : {std::pair{"tf32", setup.tf32}, std::pair{"exact-products", setup.exact_products}})
    if (is_set && !has_one && setup.device != "auto")
      throw UsageError(fmt::format("--{} is about products on a GPU: give --device, too", name));
  if (setup.tf32 && setup.exact_products) throw UsageError("--tf32 and --exact-products exclude each other");
}

void prepare(const RunSetup& setup) {
  limit_reading(memory_of_each_device(setup.run));
  try {
    restrict_files(setup.files);
  } catch (const IoError& error) {
    throw UsageError(fmt::format("--root {}: {}", setup.files.folder, error.what()));
  }
}

} // namespace tl::driver
