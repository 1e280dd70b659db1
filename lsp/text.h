// Places in a text, as the protocol counts them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tl::lsp {

enum class Encoding { Utf8, Utf16, Utf32 }; // what `character` counts

// Both count from 0. A line ends at "\n", "\r\n" or "\r".
struct Position {
  uint32_t line = 0, character = 0;
  bool operator==(const Position&) const = default;
};

// A text with its lines. Offsets are bytes.
class Text {
public:
  explicit Text(std::string bytes = {});
  const std::string& bytes() const { return bytes_; }
  // What is behind the end of a line is its end, of the text the text's; inside of a character it is its begin.
  uint32_t offset(Position position, Encoding encoding) const;
  Position position(uint32_t offset, Encoding encoding) const;
  // Replaces bytes [begin, end).
  void replace(uint32_t begin, uint32_t end, std::string_view with);
  uint32_t line_count() const { return static_cast<uint32_t>(lines_.size()); }
  uint32_t line_begin(uint32_t line) const { return lines_[line]; }
  uint32_t line_end(uint32_t line) const; // before what ends it

private:
  std::string bytes_;
  std::vector<uint32_t> lines_; // where each begins
};

} // namespace tl::lsp
