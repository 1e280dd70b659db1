// tl import MODEL.onnx: an ONNX model as tl source text and its weights.
#include "commands.h"
#include "compiler/model.h"
#include "driver/messages.h"
#include "options.h"
#include "vm/io/io.h"
#include <filesystem>
#include <fmt/format.h>

namespace tl::cli {
namespace {

namespace fs = std::filesystem;

int import(const std::string& path, std::string output, const ImportFlags& flags, const RunFlags& compile) {
  if (output.empty()) output = fs::path(path).stem().string() + ".tl";
  if (!output.ends_with(".tl")) throw UsageError(fmt::format("-o {}: a program's name ends in .tl", output));
  const fs::path weights = fs::path(output).replace_extension(".safetensors");
  const std::optional<onnx::Imported> model = import_model(path, weights.filename().string(), flags, compile);
  if (!model) return kRejected;
  if (!model->weights.empty()) save_tensors(weights.string(), model->weights);
  write_text(output, model->source);
  return kFine;
}

} // namespace

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
  add_model_options(command, state->flags);
  add_const_seconds(command, state->compile);
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
