// An ONNX file as it is written: the messages of onnx.proto that an importer needs, without any meaning.
#pragma once
#include "abi/tensor.h"
#include "importers/onnx/wire.h"
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tl::onnx {

// A file that is damaged or not an ONNX model; `kind` names the diagnostic.
struct ModelError : std::runtime_error {
  explicit ModelError(const std::string& message, std::string kind = "FileMismatch")
      : std::runtime_error(message), kind(std::move(kind)) {}
  std::string kind;
};

// onnx.proto's TensorProto.DataType.
enum class DataType : int32_t { Undefined = 0, String = 8, Complex64 = 14, Complex128 = 15 };
// Its element type in tl, if it has one.
std::optional<DType> dtype_of(int32_t data_type);
std::string data_type_name(int32_t data_type); // "FLOAT8E4M3FN"

// A tensor as the file holds it; the elements are taken when they are wanted. Lives no longer than its Model.
struct TensorData {
  std::string name;
  int32_t data_type = 0;
  std::vector<int64_t> dims;
  Bytes raw;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<int64_t> integers; // of int32_data, int64_data or uint64_data
  bool has_strings = false, is_external = false;
  std::map<std::string, std::string> external; // location, offset, length

  int64_t count() const; // of elements. Throws ModelError for sizes that no tensor has
};

struct Dimension {
  std::optional<int64_t> value;
  std::string param; // or its name
};
struct ValueInfo {
  std::string name;
  bool is_tensor = false;
  bool is_sequence = false, is_optional = false; // of tensors; one that may not be there
  std::string kind = "value without a type";     // in words, where it is neither
  int32_t data_type = 0;
  std::optional<std::vector<Dimension>> dims; // nothing: the rank is not known
};

struct Graph;
struct Attribute {
  std::string name, reference; // reference: of a function, the attribute of its call that this stands for
  int32_t type = 0;
  std::optional<float> real;
  std::optional<int64_t> integer;
  std::optional<std::string> text;
  std::vector<float> reals;
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
  std::shared_ptr<TensorData> tensor;
  std::shared_ptr<Graph> graph;
  bool is_sparse = false;
};

struct Node {
  std::string name, op, domain, overload;
  std::vector<std::string> inputs, outputs; // "": left out
  std::vector<Attribute> attributes;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<TensorData> initializers;
  std::vector<ValueInfo> inputs, outputs, values;
  bool has_sparse = false;
};

struct Function {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs, attributes;
  std::vector<Attribute> defaults;
  std::vector<Node> nodes;
  std::map<std::string, int64_t> opsets;
};

struct Model {
  std::string path, producer, doc;
  std::shared_ptr<std::byte[]> file;     // what the tensors point into
  std::map<std::string, int64_t> opsets; // by domain; "" is ONNX's own
  Graph graph;
  std::vector<Function> functions;
};

// Throws ModelError, and IoError for a file that cannot be read.
Model read_model(const std::string& path);

// The elements in memory; external ones come from a file in the model's folder. Throws ModelError, IoError.
HostTensor load_tensor_data(const Model& model, const TensorData& tensor);

} // namespace tl::onnx
