// ONNX models as programs: what `tl import` writes, and what the other commands take in place of a program.
#pragma once
#include "compiler/run_flags.h"
#include "importers/onnx/import.h"
#include <optional>
#include <string>
#include <vector>

namespace tl::compiler {

struct ImportFlags {
  std::vector<std::string> dims, inputs; // NAME=VALUE each
};

bool is_model(const std::string& path); // by its ending

// The model as a program whose weights are in `weights_file`, a file beside it. Nothing, after saying why, where it
// cannot be expressed. Throws UsageError where it cannot be read.
std::optional<onnx::Imported> import_model(const std::string& path, const std::string& weights_file,
                                           const ImportFlags& flags, const RunFlags& compile);
// Its source text alone; its weights are read from then on as a file beside the model.
std::optional<std::string> program_of_model(const std::string& path, const ImportFlags& flags, const RunFlags& compile);

} // namespace tl::compiler
