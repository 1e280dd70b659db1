// ONNX models in place of programs.
#include "compiler/model.h"
#include "compiler/compile.h"
#include "compiler/constants.h"
#include "driver/messages.h"
#include "lang/stdlib.h"
#include "vm/io/access.h"
#include "vm/io/io.h"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>

namespace tl::compiler {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModelEnding = ".onnx";

std::pair<std::string, std::string> name_and_value(const std::string& text, const char* flag) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError(fmt::format("--{} {}: write it as NAME=VALUE", flag, text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

bool is_number(const std::string& text) { // of an axis or a size
  return !text.empty() && text.size() < 16 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}
bool is_name(const std::string& text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

// Functions of the prelude and modules: a value of such a name would hide them.
std::vector<std::string> library_names() {
  std::vector<std::string> names = {
#define TL_ELEMENTWISE(Enum, name, ...) name,
#include "abi/ops.def"
  };
  for (const EmbeddedFile& file : embedded_stdlib()) {
    if (!file.name.ends_with(".tl")) continue;
    const std::string module = file.name.substr(0, file.name.size() - 3);
    names.push_back(module);
    if (module != "prelude") continue;
    constexpr std::string_view kStart = "\nfn ";
    for (size_t at = file.text.find(kStart); at != std::string::npos; at = file.text.find(kStart, at)) {
      at += kStart.size();
      size_t end = at;
      while (std::isalnum(static_cast<unsigned char>(file.text[end])) || file.text[end] == '_')
        ++end;
      names.push_back(file.text.substr(at, end - at));
    }
  }
  return names;
}

// Compiles and runs what is constant in a model.
std::vector<HostTensor> evaluate(const std::string& text, const std::vector<HostTensor>& values,
                                 const RunFlags& flags) {
  Frontend frontend;
  read_source(frontend, "<constants>", &text);
  const typed::Program typed = check_source(frontend);
  const RunFlags own = flags_of_constants(flags);
  std::optional<ir::Module> module;
  if (!frontend.diagnostics.has_errors()) module = lower_source(frontend, typed, own);
  if (!module) throw std::runtime_error(render(frontend.diagnostics, frontend.sources));
  ComputedConstant computed = compute(std::move(*module), own, {values.begin(), values.end()});
  if (computed.outcome.error) throw std::runtime_error(computed.outcome.error->message);
  if (computed.outcome.exit_code != kFine)
    throw std::runtime_error(
        fmt::format("they are not computed after {} seconds (--const-seconds)", flags.const_seconds));
  std::vector<HostTensor> results;
  for (Argument& result : computed.outcome.results)
    results.push_back(std::move(std::get<HostTensor>(result)));
  return results;
}

onnx::ImportOptions options_of(const std::string& path, const ImportFlags& flags, const RunFlags& compile) {
  onnx::ImportOptions options;
  options.name = fs::path(path).stem().string();
  options.reserved = library_names();
  for (const std::string& text : flags.dims) {
    const auto [name, value] = name_and_value(text, "dim");
    int64_t size = -1;
    const size_t dot = name.rfind('.');
    if (dot != std::string::npos && is_number(name.substr(dot + 1))) { // of an input's axis
      if (!is_number(value) && !is_name(value))
        throw UsageError(fmt::format("--dim {}: '{}' is neither a size nor a name", text, value));
      options.axes[name] = value;
      continue;
    }
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
    if (error != std::errc() || end != value.data() + value.size() || size < 0)
      throw UsageError(fmt::format("--dim {}: '{}' is no size", text, value));
    options.dims[name] = size;
  }
  for (const std::string& text : flags.inputs) {
    const auto [name, value] = name_and_value(text, "input");
    options.inputs[name] = value;
  }
  options.evaluate = [&compile](const std::string& text, const std::vector<HostTensor>& values) {
    return evaluate(text, values, compile);
  };
  return options;
}

} // namespace

bool is_model(const std::string& path) { return path.ends_with(kModelEnding); }

std::optional<onnx::Imported> import_model(const std::string& path, const std::string& weights_file,
                                           const ImportFlags& flags, const RunFlags& compile) {
  onnx::ImportOptions options = options_of(path, flags, compile);
  options.weights_file = weights_file;
  const NamedByUser by_user;
  auto say = [&](const std::string& kind, const std::string& message) {
    show(kind, fmt::format("{}: {}", path, message));
  };
  try {
    onnx::Imported model = onnx::import_model(path, options);
    if (model.refusals.empty()) return model;
    for (const onnx::Refusal& refusal : model.refusals) {
      const std::string domain = refusal.domain.empty() ? "" : fmt::format(" of the domain {}", refusal.domain);
      say("NotSupported",
          fmt::format("{}{}{}, opset {}: {}", refusal.op, domain,
                      refusal.node.empty() ? "" : fmt::format(" `{}`", refusal.node), refusal.opset, refusal.reason));
    }
  } catch (const onnx::ModelError& error) {
    if (error.kind == "WrongArguments") throw UsageError(error.what());
    say(error.kind, error.what());
  } catch (const IoError& error) {
    if (error.kind == "OutOfMemory") throw;
    throw UsageError(error.what());
  }
  return std::nullopt;
}

std::optional<std::string> program_of_model(const std::string& path, const ImportFlags& flags,
                                            const RunFlags& compile) {
  const fs::path weights = fs::path(path).replace_extension(".safetensors");
  const std::optional<onnx::Imported> model = import_model(path, weights.filename().string(), flags, compile);
  if (!model) return std::nullopt;
  // Under the name that a const of this program has for it.
  if (!model->weights.empty())
    hold_tensors(weights.has_parent_path() ? weights.lexically_normal().string() : weights.string(), model->weights);
  return model->source;
}

} // namespace tl::compiler
