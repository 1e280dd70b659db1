// An ONNX model as tl source text: what `tl import` writes.
//
//   Imported model = import_model("model.onnx", options);
//   if (model.refusals.empty()) … model.source, model.weights …
//
// Sizes that the model leaves open are names of sizes. Shape arithmetic becomes expressions of these; what depends on
// constants alone is computed when importing. The format is that of onnx.proto in the project onnx, the operators are
// those of its specification.
#pragma once
#include "abi/tensor.h"
#include "importers/onnx/model.h"
#include "vm/io/io.h"
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tl::onnx {

// Runs a program: `text` has a `main` whose parameters are these tensors; its results, in order. Throws
// std::runtime_error with the program's error.
using Evaluate = std::function<std::vector<HostTensor>(const std::string& text, const std::vector<HostTensor>& values)>;

struct ImportOptions {
  std::string name = "model";                // of the program, for its comments
  std::string weights_file;                  // as the program names it
  std::map<std::string, int64_t> dims;       // sizes that the model leaves open, by the model's names
  std::map<std::string, std::string> axes;   // of an input, "image.0": its size, or a name that leaves it open
  std::map<std::string, std::string> inputs; // scalars or small tensors that are fixed: "16000", "1,2,3"
  std::vector<std::string> reserved; // names that the program must not give to values of its own: functions, modules
  Evaluate evaluate;
};

// A node that cannot be expressed.
struct Refusal {
  std::string node, op, domain, reason;
  int64_t opset = 0;
};

struct Imported {
  std::string source;               // canonically formatted
  std::vector<NamedTensor> weights; // for the weights file
  std::vector<Refusal> refusals;    // not empty: there is no source
};

// Throws ModelError, IoError.
Imported import_model(const std::string& path, const ImportOptions& options);

} // namespace tl::onnx
