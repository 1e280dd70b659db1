// tl import MODEL.onnx: an ONNX model as tl source text and its weights.
#include "import.h"
#include "commands.h"
#include "compile.h"
#include "constants.h"
#include "importers/onnx/import.h"
#include "lang/stdlib.h"
#include "messages.h"
#include "vm/io/access.h"
#include "vm/io/io.h"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>

namespace tl::cli {
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

std::optional<onnx::Imported> import_or_say(const std::string& path, const onnx::ImportOptions& options) {
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

int import(const std::string& path, std::string output, const ImportFlags& flags, const RunFlags& compile) {
  if (output.empty()) output = fs::path(path).stem().string() + ".tl";
  if (!output.ends_with(".tl")) throw UsageError(fmt::format("-o {}: a program's name ends in .tl", output));
  onnx::ImportOptions options = options_of(path, flags, compile);
  const fs::path weights = fs::path(output).replace_extension(".safetensors");
  options.weights_file = weights.filename().string();
  const std::optional<onnx::Imported> model = import_or_say(path, options);
  if (!model) return kRejected;
  if (!model->weights.empty()) save_tensors(weights.string(), model->weights);
  write_text(output, model->source);
  return kFine;
}

} // namespace

void ImportFlags::add_to(Command app) {
  app.add_option("--dim", dims,
                 "of an ONNX model: a size that it leaves open, as NAME=SIZE; "
                 "or of an input's axis, as INPUT.AXIS=SIZE, or =NAME to leave it open")
      .one_value_each();
  app.add_option("--input", inputs, "of an ONNX model: the value of an input, as NAME=VALUE or NAME=VALUE,VALUE")
      .one_value_each();
}

bool is_model(const std::string& path) { return path.ends_with(kModelEnding); }

std::optional<std::string> program_of_model(const std::string& path, const ImportFlags& flags,
                                            const RunFlags& compile) {
  onnx::ImportOptions options = options_of(path, flags, compile);
  const fs::path weights = fs::path(path).replace_extension(".safetensors");
  options.weights_file = weights.filename().string();
  const std::optional<onnx::Imported> model = import_or_say(path, options);
  if (!model) return std::nullopt;
  // Under the name that a const of this program has for it.
  if (!model->weights.empty())
    hold_tensors(weights.has_parent_path() ? weights.lexically_normal().string() : weights.string(), model->weights);
  return model->source;
}

void add_import(Command app, int& exit_code) {
  struct State {
    std::string model, output;
    ImportFlags flags;
    RunFlags compile;
  };
  auto state = std::make_shared<State>();
  Command command = app.add_command("import", "an ONNX model as a tl program and its weights");
  command.add_option("MODEL", state->model, "the model, an .onnx file").required();
  command.add_option(
      "-o", state->output,
      "the program to write (default: the model's name with .tl); its weights go beside it, into .safetensors");
  state->flags.add_to(command);
  state->compile.add_const_seconds_to(command);
  add_message_format(command);
  command.on_chosen([state, &exit_code] {
    try {
      exit_code = import(state->model, state->output, state->flags, state->compile);
    } catch (const IoError& error) {
      show(error.kind, error.what());
      exit_code = kRuntimeError;
    }
  });
}

} // namespace tl::cli
