// Colours of lines, and scales of colours for numbers.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace tl::plot {

struct Colour {
  uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const Colour&) const = default;
};
Colour line_colour(size_t i); // of the i-th line; they repeat
// A name ("red") or #rrggbb.
std::optional<Colour> colour_named(std::string_view name);

enum class ColourMap : uint8_t { Viridis, Grey, Blues, Diverging };
constexpr int kColourMapCount = 4;
constexpr std::string_view name_of(ColourMap map) {
  constexpr std::string_view names[kColourMapCount] = {"viridis", "grey", "blues", "diverging"};
  return names[static_cast<int>(map)];
}
// Of a part from 0 to 1. All but Diverging become lighter all the way (Blues darker).
Colour colour_at(ColourMap map, double part);

} // namespace tl::plot
