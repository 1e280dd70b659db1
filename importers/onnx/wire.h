// Protocol Buffers' wire format, as far as a reader needs it (protobuf.dev/programming-guides/encoding): fields as
// numbers with a value each. Bounds are checked everywhere; nothing is copied.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace tl::onnx {

using Bytes = std::span<const std::byte>;

// A file that is no well-formed message.
struct WireError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

enum class WireType : uint8_t { Varint = 0, Fixed64 = 1, Length = 2, Fixed32 = 5 };

struct Field {
  uint32_t number = 0;
  WireType type = WireType::Varint;
  uint64_t value = 0; // of a varint, or the bits of a fixed one
  Bytes bytes;        // of Length

  int64_t integer() const { return static_cast<int64_t>(value); }
  float real() const;
  std::string_view text() const { return text_of(bytes); }
  // Appends the values of a repeated field of numbers: one, or many that are packed. Throws WireError.
  void append_to(std::vector<int64_t>& into) const; // varints
  void append_to(std::vector<float>& into) const;   // fixed 32 bits
  void append_to(std::vector<double>& into) const;  // fixed 64 bits
};

// The fields of one message, in order:
//   for (FieldReader reader(bytes); reader.next();) switch (reader.field().number) …
class FieldReader {
public:
  explicit FieldReader(Bytes message) : rest_(message) {}
  bool next(); // false at the end. Throws WireError
  const Field& field() const { return field_; }

private:
  Bytes rest_;
  Field field_;
};

} // namespace tl::onnx
