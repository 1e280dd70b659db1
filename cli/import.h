// ONNX models as programs: what `tl import` writes, and what the other commands take in place of a program.
#pragma once
#include "options.h"
#include <map>
#include <string>
#include <vector>

namespace tl::cli {

struct ImportFlags {
  std::vector<std::string> dims, inputs; // NAME=VALUE each
  void add_to(Command app);
};

bool is_model(const std::string& path); // by its ending

// The model as tl source text; its weights are read from then on as a file beside it. Throws UsageError where it cannot
// be read, and ModelRejected after saying why where it cannot be expressed.
std::string program_of_model(const std::string& path, const ImportFlags& flags, const RunFlags& compile);

struct ModelRejected {};

} // namespace tl::cli
