// A small bitmap font for pictures made of pixels: printable ASCII in cells of 6 by 9, glyphs of 5 by 7 and a row for
// what hangs below the line.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tl::plot {

constexpr int kGlyphWidth = 5, kGlyphHeight = 8, kGlyphAdvance = 6, kGlyphBaseline = 7;

using Glyph = std::array<uint8_t, kGlyphHeight>; // rows from the top; the leftmost pixel is bit 4
const Glyph& glyph(uint32_t code);               // a box for what the font lacks

std::vector<uint32_t> code_points(std::string_view utf8);

} // namespace tl::plot
