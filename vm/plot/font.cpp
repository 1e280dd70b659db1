#include "vm/plot/font.h"
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <zlib.h>

namespace tl::plot {
namespace {

constexpr double kUnits = 256; // of an em
constexpr uint32_t kBox = 0x25A1;

using Glyphs = std::unordered_map<uint32_t, Glyph>;

std::string outlines() {
  std::string text(kOutlinesTextSize, ' ');
  uLongf size = text.size();
  if (::uncompress(reinterpret_cast<Bytef*>(text.data()), &size, kOutlines, kOutlinesSize) != Z_OK) std::abort();
  return text;
}

// Reads the text that outlines.py writes.
class Reader {
public:
  explicit Reader(const std::string& text) : at_(text.c_str()) {}
  Glyphs run() {
    Glyphs glyphs;
    uint32_t code = 0;
    while (*at_ == ' ') {
      ++at_;
      code += static_cast<uint32_t>(number());
      glyphs.emplace(code, glyph());
    }
    return glyphs;
  }

private:
  int number() {
    const char c = *at_++;
    if (c < '}') return c - 80;
    const int digits = c == '}' ? 2 : 3;
    int value = 0, all = 1;
    for (int i = 0; i < digits; ++i) {
      value = value * 89 + (*at_++ - 36);
      all *= 89;
    }
    return value - all / 2;
  }

  Glyph glyph() {
    Glyph result;
    result.advance = number() / kUnits;
    int x = 0, y = 0;
    while (*at_ && *at_ != ' ') {
      if (*at_ == '#') {
        ++at_;
        result.contours.emplace_back();
        continue;
      }
      const bool on = *at_ != '!';
      if (!on) ++at_;
      x += number();
      y += number();
      result.contours.back().push_back({x / kUnits, y / kUnits, on});
    }
    return result;
  }

  const char* at_;
};

} // namespace

const Glyph& glyph(uint32_t code) {
  static const Glyphs glyphs = Reader(outlines()).run();
  auto found = glyphs.find(code);
  return found == glyphs.end() ? glyphs.at(kBox) : found->second;
}

double text_width(std::string_view utf8) {
  double width = 0;
  for (uint32_t code : code_points(utf8))
    width += glyph(code).advance;
  return width;
}

std::vector<uint32_t> code_points(std::string_view utf8) {
  std::vector<uint32_t> result;
  for (char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) == 0x80) {
      if (!result.empty()) result.back() = result.back() << 6 | (byte & 0x3Fu);
    } else {
      result.push_back(byte < 0x80 ? byte : byte < 0xE0 ? byte & 0x1Fu : byte < 0xF0 ? byte & 0x0Fu : byte & 0x07u);
    }
  }
  return result;
}

} // namespace tl::plot
