#include "lsp/text.h"
#include <algorithm>

namespace tl::lsp {
namespace {

std::vector<uint32_t> lines_of(std::string_view text) {
  std::vector<uint32_t> lines{0};
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    if (text[i] == '\n' || text[i] == '\r') lines.push_back(static_cast<uint32_t>(i + 1));
  }
  return lines;
}

// The character that begins at `at`: its bytes, and what it counts. A byte that begins none is one of its own.
struct Character {
  uint32_t bytes = 1, units = 1;
};
Character character_at(std::string_view text, size_t at, Encoding encoding) {
  const auto first = static_cast<unsigned char>(text[at]);
  uint32_t bytes = first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 1;
  for (uint32_t i = 1; i < bytes; ++i)
    if (at + i >= text.size() || (static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) bytes = 1;
  if (encoding == Encoding::Utf8) return {bytes, bytes};
  return {bytes, encoding == Encoding::Utf16 && bytes == 4 ? 2u : 1u};
}

} // namespace

Text::Text(std::string bytes) : bytes_(std::move(bytes)), lines_(lines_of(bytes_)) {}

uint32_t Text::line_end(uint32_t line) const {
  auto end = line + 1 < lines_.size() ? lines_[line + 1] : static_cast<uint32_t>(bytes_.size());
  if (line + 1 == lines_.size()) return end;
  --end;
  return end > lines_[line] && bytes_[end] == '\n' && bytes_[end - 1] == '\r' ? end - 1 : end;
}

uint32_t Text::offset(Position position, Encoding encoding) const {
  if (position.line >= lines_.size()) return static_cast<uint32_t>(bytes_.size());
  const uint32_t end = line_end(position.line);
  uint32_t at = lines_[position.line];
  for (uint32_t left = position.character; at < end;) {
    const Character c = character_at(bytes_, at, encoding);
    if (left < c.units) break;
    left -= c.units;
    at += c.bytes;
  }
  return std::min(at, end);
}

Position Text::position(uint32_t offset, Encoding encoding) const {
  const auto next = std::upper_bound(lines_.begin(), lines_.end(), offset);
  Position position{static_cast<uint32_t>(next - lines_.begin() - 1), 0};
  const uint32_t end = std::min(offset, line_end(position.line));
  for (uint32_t at = lines_[position.line]; at < end;) {
    const Character c = character_at(bytes_, at, encoding);
    if (at + c.bytes > end) break;
    position.character += c.units;
    at += c.bytes;
  }
  return position;
}

void Text::replace(uint32_t begin, uint32_t end, std::string_view with) {
  bytes_.replace(begin, std::max(begin, end) - begin, with);
  lines_ = lines_of(bytes_);
}

} // namespace tl::lsp
