#include "importers/onnx/model.h"
#include "abi/limits.h"
#include "vm/io/access.h"
#include "vm/io/source.h"
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>

namespace tl::onnx {
namespace {

constexpr int kDeepest = 32; // graphs inside graphs

constexpr std::array<const char*, 27> kTypeNames = {
    "UNDEFINED", "FLOAT",      "UINT8",      "INT8",         "UINT16",         "INT16",      "INT32",
    "INT64",     "STRING",     "BOOL",       "FLOAT16",      "DOUBLE",         "UINT32",     "UINT64",
    "COMPLEX64", "COMPLEX128", "BFLOAT16",   "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
    "UINT4",     "INT4",       "FLOAT4E2M1", "FLOAT8E8M0",   "UINT2",          "INT2"};

std::string string_of(const Field& field) { return std::string(field.text()); }

Bytes message_of(const Field& field) {
  if (field.type != WireType::Length) throw WireError("a field that is a message is a number");
  return field.bytes;
}

Graph read_graph(Bytes bytes, int depth);

TensorData read_tensor(Bytes bytes) {
  TensorData tensor;
  for (FieldReader reader(bytes); reader.next();) {
    const Field& field = reader.field();
    switch (field.number) {
    case 1: field.append_to(tensor.dims); break;
    case 2: tensor.data_type = static_cast<int32_t>(field.value); break;
    case 4: field.append_to(tensor.floats); break;
    case 5:
    case 7:
    case 11: field.append_to(tensor.integers); break;
    case 6: tensor.has_strings = true; break;
    case 8: tensor.name = string_of(field); break;
    case 9: tensor.raw = message_of(field); break;
    case 10: field.append_to(tensor.doubles); break;
    case 13: {
      std::string key, value;
      for (FieldReader entry(message_of(field)); entry.next();)
        (entry.field().number == 1 ? key : value) = string_of(entry.field());
      tensor.external[key] = value;
      break;
    }
    case 14: tensor.is_external = field.value == 1; break;
    default: break;
    }
  }
  return tensor;
}

Attribute read_attribute(Bytes bytes, int depth) {
  Attribute attribute;
  for (FieldReader reader(bytes); reader.next();) {
    const Field& field = reader.field();
    switch (field.number) {
    case 1: attribute.name = string_of(field); break;
    case 2: attribute.real = field.real(); break;
    case 3: attribute.integer = field.integer(); break;
    case 4: attribute.text = string_of(field); break;
    case 5: attribute.tensor = std::make_shared<TensorData>(read_tensor(message_of(field))); break;
    case 6: attribute.graph = std::make_shared<Graph>(read_graph(message_of(field), depth + 1)); break;
    case 7: field.append_to(attribute.reals); break;
    case 8: field.append_to(attribute.integers); break;
    case 9: attribute.texts.push_back(string_of(field)); break;
    case 20: attribute.type = static_cast<int32_t>(field.value); break;
    case 21: attribute.reference = string_of(field); break;
    case 22: attribute.is_sparse = true; break;
    default: break;
    }
  }
  return attribute;
}

Node read_node(Bytes bytes, int depth) {
  Node node;
  for (FieldReader reader(bytes); reader.next();) {
    const Field& field = reader.field();
    switch (field.number) {
    case 1: node.inputs.push_back(string_of(field)); break;
    case 2: node.outputs.push_back(string_of(field)); break;
    case 3: node.name = string_of(field); break;
    case 4: node.op = string_of(field); break;
    case 5: node.attributes.push_back(read_attribute(message_of(field), depth)); break;
    case 7: node.domain = string_of(field); break;
    case 8: node.overload = string_of(field); break;
    default: break;
    }
  }
  if (node.domain == "ai.onnx") node.domain.clear();
  return node;
}

std::vector<Dimension> read_shape(Bytes bytes) {
  std::vector<Dimension> dims;
  for (FieldReader reader(bytes); reader.next();) {
    if (reader.field().number != 1) continue;
    Dimension dimension;
    for (FieldReader of(message_of(reader.field())); of.next();) {
      if (of.field().number == 1) dimension.value = of.field().integer();
      if (of.field().number == 2) dimension.param = string_of(of.field());
    }
    dims.push_back(std::move(dimension));
  }
  return dims;
}

ValueInfo read_value(Bytes bytes) {
  ValueInfo info;
  auto read_type = [&](auto& self, Bytes type) -> void {
    for (FieldReader reader(type); reader.next();) {
      const Field& field = reader.field();
      if (field.number == 5) info.kind = "map";
      if (field.number == 8) info.kind = "sparse tensor";
      const bool inner = (field.number == 4 && !info.is_sequence) || (field.number == 9 && !info.is_optional);
      if (field.number == 4 || field.number == 9) info.kind = "value of values of values";
      if (inner) { // an optional value may be a sequence, which holds tensors
        (field.number == 4 ? info.is_sequence : info.is_optional) = true;
        for (FieldReader of(message_of(field)); of.next();)
          if (of.field().number == 1) self(self, message_of(of.field()));
      }
      if (field.number != 1) continue;
      info.is_tensor = true;
      for (FieldReader of(message_of(field)); of.next();) {
        if (of.field().number == 1) info.data_type = static_cast<int32_t>(of.field().value);
        if (of.field().number == 2) info.dims = read_shape(message_of(of.field()));
      }
    }
  };
  for (FieldReader reader(bytes); reader.next();) {
    if (reader.field().number == 1) info.name = string_of(reader.field());
    if (reader.field().number == 2) read_type(read_type, message_of(reader.field()));
  }
  return info;
}

Graph read_graph(Bytes bytes, int depth) {
  if (depth > kDeepest) throw ModelError(fmt::format("graphs are nested more than {} deep", kDeepest));
  Graph graph;
  for (FieldReader reader(bytes); reader.next();) {
    const Field& field = reader.field();
    switch (field.number) {
    case 1: graph.nodes.push_back(read_node(message_of(field), depth)); break;
    case 2: graph.name = string_of(field); break;
    case 5: graph.initializers.push_back(read_tensor(message_of(field))); break;
    case 11: graph.inputs.push_back(read_value(message_of(field))); break;
    case 12: graph.outputs.push_back(read_value(message_of(field))); break;
    case 13: graph.values.push_back(read_value(message_of(field))); break;
    case 15: graph.has_sparse = true; break;
    default: break;
    }
  }
  return graph;
}

void read_opset(Bytes bytes, std::map<std::string, int64_t>& into) {
  std::string domain;
  int64_t version = 1;
  for (FieldReader reader(bytes); reader.next();) {
    if (reader.field().number == 1) domain = string_of(reader.field());
    if (reader.field().number == 2) version = reader.field().integer();
  }
  into[domain == "ai.onnx" ? "" : domain] = version;
}

Function read_function(Bytes bytes) {
  Function function;
  for (FieldReader reader(bytes); reader.next();) {
    const Field& field = reader.field();
    switch (field.number) {
    case 1: function.name = string_of(field); break;
    case 4: function.inputs.push_back(string_of(field)); break;
    case 5: function.outputs.push_back(string_of(field)); break;
    case 6: function.attributes.push_back(string_of(field)); break;
    case 7: function.nodes.push_back(read_node(message_of(field), 1)); break;
    case 9: read_opset(message_of(field), function.opsets); break;
    case 10: function.domain = string_of(field); break;
    case 11: function.defaults.push_back(read_attribute(message_of(field), 1)); break;
    case 13: function.overload = string_of(field); break;
    default: break;
    }
  }
  if (function.domain == "ai.onnx") function.domain.clear();
  return function;
}

void read_whole(Bytes bytes, Model& model) {
  bool has_graph = false;
  for (FieldReader reader(bytes); reader.next();) {
    const Field& field = reader.field();
    switch (field.number) {
    case 2: model.producer = string_of(field); break;
    case 6: model.doc = string_of(field); break;
    case 7:
      model.graph = read_graph(message_of(field), 0);
      has_graph = true;
      break;
    case 8: read_opset(message_of(field), model.opsets); break;
    case 25: model.functions.push_back(read_function(message_of(field))); break;
    default: break;
    }
  }
  if (!has_graph) throw ModelError("it is no ONNX model: it has no graph", "FileMismatch");
}

std::shared_ptr<std::byte[]> whole_file(const std::string& path, uint64_t& size) {
  const std::unique_ptr<Source> source = open_source(path);
  size = source->size();
  require_readable(path, size);
  if (auto mapped = source->map(0, size)) return mapped;
  auto bytes = std::make_shared<std::byte[]>(std::max<uint64_t>(size, 1));
  size = source->read_some(0, bytes.get(), size);
  source->finish();
  return bytes;
}

// The bytes of external data: below the model's folder, never anywhere else.
void read_external(const Model& model, const TensorData& tensor, HostTensor& into) {
  namespace fs = std::filesystem;
  auto bad = [&](const std::string& what) {
    throw ModelError(fmt::format("the external data of `{}` {}", tensor.name, what));
  };
  auto found = [&](const char* key) {
    auto at = tensor.external.find(key);
    return at == tensor.external.end() ? std::string() : at->second;
  };
  auto number = [&](const char* key, uint64_t missing) {
    const std::string text = found(key);
    if (text.empty()) return missing;
    if (text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos)
      bad(fmt::format("has a {} that is no number", key));
    return static_cast<uint64_t>(std::stoull(text));
  };
  const fs::path location = found("location");
  if (location.empty()) bad("names no file");
  const bool leaves = location.is_absolute() ||
                      std::any_of(location.begin(), location.end(), [](const fs::path& part) { return part == ".."; });
  if (leaves) bad(fmt::format("is outside of the model's folder: {}", location.string()));
  const fs::path path = fs::path(model.path).parent_path() / location;
  const auto size = static_cast<uint64_t>(into.byte_count());
  const uint64_t offset = number("offset", 0), length = number("length", size);
  const std::unique_ptr<Source> source = open_source(path.string());
  if (length != size) bad(fmt::format("has {} bytes where {} are needed", length, size));
  if (offset > source->size() || size > source->size() - offset) bad(fmt::format("is longer than {}", path.string()));
  source->read(offset, into.data(), size);
}

template <class Stored, class Values> void convert(const Values& from, HostTensor& into) {
  for (size_t i = 0; i < from.size(); ++i)
    into.set(static_cast<int64_t>(i), Scalar::of(static_cast<Stored>(from[i])));
}

// What has no raw bytes is in one of the lists of numbers; f16 and bf16 as the integers of their bits.
void take_numbers(const TensorData& tensor, HostTensor& into) {
  switch (into.dtype) {
  case DType::F32: return convert<float>(tensor.floats, into);
  case DType::F64: return convert<double>(tensor.doubles, into);
  case DType::Bool:
  case DType::U8:
  case DType::I8: return convert<uint8_t>(tensor.integers, into);
  case DType::U16:
  case DType::I16:
  case DType::F16:
  case DType::BF16: return convert<uint16_t>(tensor.integers, into);
  case DType::U32:
  case DType::I32: return convert<uint32_t>(tensor.integers, into);
  default: return convert<int64_t>(tensor.integers, into);
  }
}

} // namespace

std::optional<DType> dtype_of(int32_t data_type) {
  switch (data_type) {
  case 1: return DType::F32;
  case 2: return DType::U8;
  case 3: return DType::I8;
  case 4: return DType::U16;
  case 5: return DType::I16;
  case 6: return DType::I32;
  case 7: return DType::I64;
  case 9: return DType::Bool;
  case 10: return DType::F16;
  case 11: return DType::F64;
  case 12: return DType::U32;
  case 13: return DType::U64;
  case 16: return DType::BF16;
  default: return std::nullopt;
  }
}

std::string data_type_name(int32_t data_type) {
  if (data_type < 0 || static_cast<size_t>(data_type) >= kTypeNames.size()) return fmt::format("type {}", data_type);
  return kTypeNames[static_cast<size_t>(data_type)];
}

int64_t TensorData::count() const {
  int64_t count = 1;
  bool empty = false;
  for (int64_t d : dims) {
    if (d < 0 || d > kLongestAxis) throw ModelError(fmt::format("the tensor `{}` has an axis of {} elements", name, d));
    empty |= d == 0;
    if (d > 0 && __builtin_mul_overflow(count, d, &count))
      throw ModelError(fmt::format("the tensor `{}` is larger than any memory", name));
  }
  return empty ? 0 : count;
}

Model read_model(const std::string& path) {
  Model model;
  model.path = path;
  uint64_t size = 0;
  model.file = whole_file(path, size);
  try {
    read_whole({model.file.get(), static_cast<size_t>(size)}, model);
  } catch (const WireError& error) {
    throw ModelError(fmt::format("it is damaged, or no ONNX model: {}", error.what()));
  }
  return model;
}

HostTensor load_tensor_data(const Model& model, const TensorData& tensor) {
  const std::optional<DType> dtype = dtype_of(tensor.data_type);
  if (!dtype)
    throw ModelError(fmt::format("the tensor `{}` has elements of {}, which tl does not have", tensor.name,
                                 data_type_name(tensor.data_type)),
                     "NotSupported");
  const int64_t count = tensor.count();
  int64_t bytes = 0;
  if (__builtin_mul_overflow(count, size_of(*dtype), &bytes))
    throw ModelError(fmt::format("the tensor `{}` is larger than any memory", tensor.name));
  const size_t numbers = *dtype == DType::F32   ? tensor.floats.size()
                         : *dtype == DType::F64 ? tensor.doubles.size()
                                                : tensor.integers.size();
  const bool by_numbers = !tensor.is_external && tensor.raw.empty();
  if (by_numbers && numbers != static_cast<size_t>(count))
    throw ModelError(
        fmt::format("the tensor `{}` has {} elements where its sizes ask for {}", tensor.name, numbers, count));
  if (!tensor.is_external && !by_numbers && tensor.raw.size() != static_cast<size_t>(bytes))
    throw ModelError(
        fmt::format("the tensor `{}` has {} bytes where its sizes ask for {}", tensor.name, tensor.raw.size(), bytes));
  require_readable(model.path, static_cast<uint64_t>(bytes));
  HostTensor result = HostTensor::make(*dtype, tensor.dims);
  if (tensor.is_external)
    read_external(model, tensor, result);
  else if (by_numbers)
    take_numbers(tensor, result);
  else if (bytes > 0)
    std::memcpy(result.data(), tensor.raw.data(), tensor.raw.size());
  if (*dtype == DType::Bool)
    for (int64_t i = 0; i < count; ++i)
      result.data()[i] = std::byte{result.data()[i] != std::byte{0}};
  return result;
}

} // namespace tl::onnx
