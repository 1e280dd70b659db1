// .safetensors files: the size of a header (8 bytes, little-endian), the header as JSON, the elements of all tensors.
#include "vm/io/formats.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tl {

namespace {

constexpr uint64_t kLongestHeader = 100'000'000; // as the format's own library has it

struct Row {
  const char* name;
  DType type;
};
constexpr Row kTypes[] = {{"BOOL", DType::Bool}, {"U8", DType::U8},   {"I8", DType::I8},     {"U16", DType::U16},
                          {"I16", DType::I16},   {"U32", DType::U32}, {"I32", DType::I32},   {"U64", DType::U64},
                          {"I64", DType::I64},   {"F16", DType::F16}, {"BF16", DType::BF16}, {"F32", DType::F32},
                          {"F64", DType::F64}};

struct Entry {
  std::string name;
  std::string type;
  std::vector<int64_t> dims;
  uint64_t begin = 0, end = 0;
};

[[noreturn]] void malformed(const Source& source, const std::string& what) {
  throw IoError(fmt::format("'{}' is not a sound .safetensors file: {}", source.path(), what));
}

uint64_t header_length(const Source& source) {
  unsigned char bytes[8];
  if (source.read_some(0, reinterpret_cast<std::byte*>(bytes), 8) != 8) return UINT64_MAX;
  uint64_t n = 0;
  for (int i = 7; i >= 0; --i)
    n = n << 8 | bytes[i];
  return n;
}

std::optional<uint64_t> whole_number(const nlohmann::json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  auto n = value.get<uint64_t>();
  return n <= uint64_t{INT64_MAX} ? std::optional(n) : std::nullopt;
}

Entry entry_of(const Source& source, const std::string& name, const nlohmann::json& value) {
  Entry entry;
  entry.name = name;
  if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") || !value.contains("data_offsets"))
    malformed(source, fmt::format("'{}' lacks 'dtype', 'shape' or 'data_offsets'", name));
  const auto &type = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
  if (!type.is_string() || !shape.is_array() || !offsets.is_array() || offsets.size() != 2)
    malformed(source, fmt::format("the header's entry '{}' is not of the right kind", name));
  entry.type = type.get<std::string>();
  for (const auto& size : shape) {
    auto n = whole_number(size);
    if (!n) malformed(source, fmt::format("a size of '{}' is not a whole number", name));
    entry.dims.push_back(static_cast<int64_t>(*n));
  }
  auto begin = whole_number(offsets[0]), end = whole_number(offsets[1]);
  if (!begin || !end || *begin > *end) malformed(source, fmt::format("the offsets of '{}' are wrong", name));
  entry.begin = *begin;
  entry.end = *end;
  return entry;
}

// The entries in the order of their elements, which follow each other without gaps to the end of the file.
std::vector<Entry> read_entries(const Source& source, uint64_t& data_offset) {
  uint64_t length = header_length(source);
  if (length > kLongestHeader) malformed(source, fmt::format("its header claims {} bytes", length));
  if (length > source.size() - 8)
    throw IoError(fmt::format("'{}' is truncated: it ends inside its header", source.path()));
  std::string text(length, '\0');
  source.read(8, reinterpret_cast<std::byte*>(text.data()), length);
  // A header nests two deep. One that nests a million deep must not become a tree.
  int depth = 0;
  bool string = false, too_deep = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        string = false;
    } else if (c == '"') {
      string = true;
    } else if (c == '{' || c == '[') {
      too_deep = too_deep || ++depth > 4;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  if (too_deep) malformed(source, "its header nests too deep");
  nlohmann::json header = nlohmann::json::parse(text, nullptr, false);
  if (!header.is_object()) malformed(source, "its header is not JSON");
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items())
    if (name != "__metadata__") entries.push_back(entry_of(source, name, value));
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  data_offset = 8 + length;
  uint64_t at = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != at)
      malformed(source, fmt::format("the elements of '{}' leave a gap or overlap others", entry.name));
    at = entry.end;
  }
  uint64_t there = source.size() - data_offset;
  if (at > there)
    throw IoError(
        fmt::format("'{}' is truncated: its tensors take {} bytes, but only {} are there", source.path(), at, there));
  return entries;
}

std::vector<std::string> names_of(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries)
    names.push_back(entry.name);
  return names;
}

const char* type_name(DType type) {
  for (const Row& row : kTypes)
    if (row.type == type) return row.name;
  return "U64"; // keys
}

} // namespace

bool is_safetensors(const Source& source) {
  std::byte brace{};
  uint64_t length = header_length(source);
  return length >= 2 && length < uint64_t{1} << 40 && source.read_some(8, &brace, 1) == 1 && brace == std::byte{'{'};
}

std::vector<std::string> safetensors_names(const Source& source) {
  uint64_t offset = 0;
  return names_of(read_entries(source, offset));
}

OpenTensor open_safetensors(const Source& source, const std::string& name) {
  uint64_t data_offset = 0;
  std::vector<Entry> entries = read_entries(source, data_offset);
  const Entry& entry = entries[choose_name(source.path(), names_of(entries), name)];
  OpenTensor result;
  const Row* type = nullptr;
  for (const Row& row : kTypes)
    if (entry.type == row.name) type = &row;
  if (!type)
    throw IoError(
        fmt::format("'{}' in '{}' has elements of type {}, which tl has not", entry.name, source.path(), entry.type));
  result.header = {type->type, entry.dims};
  uint64_t bytes = byte_count(result.header);
  if (bytes != entry.end - entry.begin)
    malformed(source, fmt::format("'{}' is {}, but has {} bytes", entry.name,
                                  type_text(result.header.dtype, result.header.dims), entry.end - entry.begin));
  uint64_t offset = data_offset + entry.begin;
  if (type->type != DType::Bool) {
    result.raw = &source;
    result.raw_offset = offset;
  }
  result.read = [&source, offset, bytes, is_bool = type->type == DType::Bool](std::byte* out) {
    source.read(offset, out, bytes);
    if (is_bool) make_bools(out, static_cast<int64_t>(bytes));
  };
  return result;
}

void write_safetensors(const Output& out, const std::string&, std::span<const NamedTensor> tensors) {
  // Wide elements first, so that all are aligned; then by name.
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& x : tensors)
    order.push_back(&x);
  auto name_of = [](const NamedTensor& x) { return x.name.empty() ? std::string("tensor") : x.name; };
  std::stable_sort(order.begin(), order.end(), [&](const NamedTensor* a, const NamedTensor* b) {
    int wide_a = size_of(a->tensor.dtype), wide_b = size_of(b->tensor.dtype);
    return wide_a != wide_b ? wide_a > wide_b : name_of(*a) < name_of(*b);
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  uint64_t at = 0;
  for (const NamedTensor* x : order) {
    auto bytes = static_cast<uint64_t>(x->tensor.byte_count());
    header[name_of(*x)] = {
        {"dtype", type_name(x->tensor.dtype)}, {"shape", x->tensor.dims}, {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string length;
  for (int i = 0; i < 8; ++i)
    length += static_cast<char>(text.size() >> (8 * i) & 255);
  out(length.data(), length.size());
  out(text.data(), text.size());
  for (const NamedTensor* x : order)
    out(x->tensor.data(), static_cast<size_t>(x->tensor.byte_count()));
}

} // namespace tl
