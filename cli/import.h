// ONNX models as programs: what `tl import` writes, and what the other commands take in place of a program.
#pragma once
#include "options.h"
#include <optional>
#include <string>
#include <vector>

namespace tl::cli {

struct ImportFlags {
  std::vector<std::string> dims, inputs; // NAME=VALUE each
  void add_to(Command app);
};

bool is_model(const std::string& path); // by its ending

// The model as tl source text; its weights are read from then on as a file beside it. Nothing, after saying why, where
// it cannot be expressed. Throws UsageError where it cannot be read.
std::optional<std::string> program_of_model(const std::string& path, const ImportFlags& flags, const RunFlags& compile);

} // namespace tl::cli
