// The font of pictures made of pixels: outlines of DejaVu Sans for Latin, Greek and Cyrillic text and common signs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tl::plot {

// The text that outlines.py says, compressed by zlib.
extern const uint8_t kOutlines[];
extern const size_t kOutlinesSize, kOutlinesTextSize; // in bytes

struct OutlinePoint {
  double x = 0, y = 0; // in ems, y upwards from the baseline
  bool on = true;      // the curve goes through it; otherwise it is the control point of a quadratic one
};
struct Glyph {
  double advance = 0; // in ems
  std::vector<std::vector<OutlinePoint>> contours;
};
const Glyph& glyph(uint32_t code); // a box for what the font lacks

std::vector<uint32_t> code_points(std::string_view utf8);
double text_width(std::string_view utf8); // in ems

} // namespace tl::plot
