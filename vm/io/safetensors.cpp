// .safetensors files: the size of a header (8 bytes, little-endian), the header as JSON, the elements of all tensors.
#include "abi/json.h"
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
                          {"F64", DType::F64},   {"C64", DType::C64}};

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

// Takes the header's JSON piece by piece: as a tree it would be many times as large as its text, and deep where that
// is.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
public:
  std::vector<Entry> entries;
  std::string problem; // the first

  bool null() override { return scalar(); }
  bool boolean(bool) override { return scalar(); }
  bool number_integer(int64_t) override { return scalar(); }
  bool number_float(double, const std::string&) override { return scalar(); }
  bool binary(binary_t&) override { return scalar(); }
  bool number_unsigned(uint64_t value) override {
    if (depth_ != kInList || field_ == Field::Other || value > uint64_t{INT64_MAX}) return scalar();
    if (field_ == Field::Shape) {
      if (entry_.dims.size() == kMostAxes)
        return fail(fmt::format("'{}' has more than {} axes", entry_.name, kMostAxes));
      entry_.dims.push_back(static_cast<int64_t>(value));
    } else {
      if (offsets_ == 2) return wrong_kind();
      (offsets_++ ? entry_.end : entry_.begin) = value;
    }
    return true;
  }
  bool string(std::string& value) override {
    if (depth_ != kInEntry || field_ != Field::Type) return scalar();
    entry_.type = value;
    has_type_ = true;
    return true;
  }

  bool start_object(size_t) override {
    if (depth_ == kInHeader) {
      entry_ = {};
      entry_.name = key_;
      field_ = Field::Other;
      has_type_ = has_shape_ = false;
      offsets_ = 0;
    } else if (!open()) {
      return false;
    }
    ++depth_;
    return true;
  }
  bool end_object() override { return --depth_ != kInHeader || is_metadata() || finish(); }
  bool start_array(size_t) override {
    if (depth_ == 0) return false;
    if (depth_ == kInEntry && (field_ == Field::Shape || field_ == Field::Offsets))
      has_shape_ = has_shape_ || field_ == Field::Shape;
    else if (!open())
      return false;
    ++depth_;
    return true;
  }
  bool end_array() override { return --depth_ > 0; }
  bool key(std::string& name) override {
    if (depth_ == kInHeader) key_ = name;
    if (depth_ == kInEntry && !is_metadata())
      field_ = name == "dtype"          ? Field::Type
               : name == "shape"        ? Field::Shape
               : name == "data_offsets" ? Field::Offsets
                                        : Field::Other;
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

private:
  enum class Field : uint8_t { Other, Type, Shape, Offsets };
  static constexpr size_t kInHeader = 1, kInEntry = 2, kInList = 3;

  bool is_metadata() const { return key_ == "__metadata__"; }
  bool fail(std::string what) {
    problem = std::move(what);
    return false;
  }
  bool wrong_kind() { return fail(fmt::format("the header's entry '{}' is not of the right kind", entry_.name)); }
  bool incomplete() { return fail(fmt::format("'{}' lacks 'dtype', 'shape' or 'data_offsets'", key_)); }
  // A value that is none of those which an entry must have.
  bool scalar() {
    if (depth_ == kInHeader && !is_metadata()) return incomplete();
    if (depth_ == kInList && field_ == Field::Shape)
      return fail(fmt::format("a size of '{}' is not a whole number", entry_.name));
    if (depth_ == kInList && field_ == Field::Offsets)
      return fail(fmt::format("the offsets of '{}' are wrong", entry_.name));
    return depth_ > 0 && open();
  }
  // Something that only entries' other fields may hold.
  bool open() {
    if (depth_ == 0) return true;
    if (depth_ == kInHeader) return is_metadata() || incomplete();
    return is_metadata() || field_ == Field::Other || wrong_kind();
  }
  bool finish() {
    if (!has_type_ || !has_shape_ || offsets_ == 0) return incomplete();
    if (offsets_ != 2) return wrong_kind();
    if (entry_.begin > entry_.end) return fail(fmt::format("the offsets of '{}' are wrong", entry_.name));
    entries.push_back(std::move(entry_));
    return true;
  }

  size_t depth_ = 0;
  std::string key_;
  Entry entry_;
  Field field_ = Field::Other;
  bool has_type_ = false, has_shape_ = false;
  int offsets_ = 0;
};

// The entries in the order of their elements, which follow each other without gaps to the end of the file.
std::vector<Entry> read_entries(const Source& source, uint64_t& data_offset) {
  uint64_t length = header_length(source);
  if (length > kLongestHeader) malformed(source, fmt::format("its header claims {} bytes", length));
  if (length > source.size() - 8)
    throw IoError(fmt::format("'{}' is truncated: it ends inside its header", source.path()));
  std::string text(length, '\0');
  source.read(8, reinterpret_cast<std::byte*>(text.data()), length);
  HeaderReader header;
  if (!nlohmann::json::sax_parse(text, &header))
    malformed(source, header.problem.empty() ? "its header is not JSON" : header.problem);
  std::vector<Entry>& entries = header.entries;
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
  return std::move(entries);
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
  std::string text = "{";
  uint64_t at = 0;
  for (const NamedTensor* x : order) {
    const auto bytes = static_cast<uint64_t>(x->tensor.byte_count());
    std::string dims;
    for (int64_t n : x->tensor.dims)
      dims += fmt::format("{}{}", dims.empty() ? "" : ",", n);
    text += fmt::format(R"({}{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", text.size() == 1 ? "" : ",",
                        json_string(name_of(*x)), type_name(x->tensor.dtype), dims, at, at + bytes);
    at += bytes;
  }
  text += '}';
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
