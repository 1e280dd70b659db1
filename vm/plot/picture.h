// A figure as shapes on a page, for outputs made of pixels and curves: one composition for SVG and PNG.
#pragma once
#include "vm/plot/figure.h"

namespace tl::plot {

struct Spot {
  double x = 0, y = 0; // from the top left corner, in units of the page
};

struct Shape {
  enum class Kind : uint8_t {
    Curve, // through spots; size: its width
    Dots,  // at each spot; size: the radius
    Bar,   // a filled rectangle from spots[0] to spots[1]
    Text,  // its baseline at spots[0]; size: of the font
    Pixels // the figure's, from spots[0] to spots[1]
  } kind = Kind::Curve;
  enum class Anchor : uint8_t { Start, Middle, End } anchor = Anchor::Start; // of Text
  Colour colour;
  double size = 1;
  std::vector<Spot> spots;
  std::string text;
};

struct Picture {
  double width = 640, height = 400;
  std::vector<Shape> shapes; // the later ones cover the earlier
};

Picture compose(const Figure& figure);

std::string to_svg(const Picture& picture, const Pixels& pixels);
// u8[height, width, 3], `scale` pixels to a unit.
HostTensor to_pixels(const Picture& picture, const Pixels& pixels, int scale);
std::string to_png(const HostTensor& image);
std::string to_text(const Figure& figure, const Terminal& terminal);

} // namespace tl::plot
