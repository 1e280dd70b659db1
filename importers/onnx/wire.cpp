#include "importers/onnx/wire.h"
#include <cstring>

namespace tl::onnx {
namespace {

uint64_t take_varint(Bytes& rest) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (rest.empty()) throw WireError("it ends in the middle of a number");
    const auto byte = static_cast<uint8_t>(rest.front());
    rest = rest.subspan(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  throw WireError("a number has more than 64 bits");
}

Bytes take(Bytes& rest, uint64_t count) {
  if (count > rest.size()) throw WireError("it ends in the middle of a field");
  Bytes taken = rest.first(static_cast<size_t>(count));
  rest = rest.subspan(static_cast<size_t>(count));
  return taken;
}

uint64_t fixed(Bytes bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

template <class T> void append_fixed(const Field& field, WireType single, std::vector<T>& into) {
  if (field.type == single) {
    T value;
    std::memcpy(&value, &field.value, sizeof value);
    into.push_back(value);
    return;
  }
  if (field.type != WireType::Length || field.bytes.size() % sizeof(T) != 0)
    throw WireError("a list of numbers has no whole number of them");
  const size_t before = into.size();
  into.resize(before + field.bytes.size() / sizeof(T));
  if (!field.bytes.empty()) std::memcpy(into.data() + before, field.bytes.data(), field.bytes.size());
}

} // namespace

float Field::real() const {
  const auto bits = static_cast<uint32_t>(value);
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

void Field::append_to(std::vector<int64_t>& into) const {
  if (type == WireType::Varint) return into.push_back(integer());
  if (type != WireType::Length) throw WireError("a list of integers is none");
  for (Bytes rest = bytes; !rest.empty();)
    into.push_back(static_cast<int64_t>(take_varint(rest)));
}

void Field::append_to(std::vector<float>& into) const { append_fixed(*this, WireType::Fixed32, into); }
void Field::append_to(std::vector<double>& into) const { append_fixed(*this, WireType::Fixed64, into); }

bool FieldReader::next() {
  if (rest_.empty()) return false;
  const uint64_t key = take_varint(rest_);
  field_ = {};
  field_.number = static_cast<uint32_t>(key >> 3);
  if (key >> 3 == 0 || key >> 32 != 0) throw WireError("it is no Protocol Buffers message");
  field_.type = static_cast<WireType>(key & 7);
  switch (field_.type) {
  case WireType::Varint: field_.value = take_varint(rest_); return true;
  case WireType::Fixed64: field_.value = fixed(take(rest_, 8)); return true;
  case WireType::Fixed32: field_.value = fixed(take(rest_, 4)); return true;
  case WireType::Length: {
    const uint64_t count = take_varint(rest_);
    field_.bytes = take(rest_, count);
    return true;
  }
  }
  throw WireError("it is no Protocol Buffers message");
}

} // namespace tl::onnx
