// A figure as shapes on a page, for outputs made of pixels and curves: one composition for SVG and PNG.
#pragma once
#include "vm/plot/figure.h"

namespace tl::plot {

struct Spot {
  double x = 0, y = 0; // from the top left corner, in units of the page
};
struct Frame {
  double left = 0, right = 0, top = 0, bottom = 0;
};

struct Shape {
  enum class Kind : uint8_t {
    Curve,    // through spots; size: its width
    Segments, // between each two spots; size: their width
    Marks,    // at each spot; size: the radius
    Bar,      // a filled rectangle from spots[0] to spots[1]
    Area,     // a filled polygon
    Text,     // its baseline at spots[0]; size: of the font
    Pixels    // from spots[0] to spots[1]
  } kind = Kind::Curve;
  enum class Anchor : uint8_t { Start, Middle, End } anchor = Anchor::Start; // of Text
  bool upwards = false;                                                      // of Text: turned to the left
  Colour colour;
  double size = 1, opacity = 1;
  Dash dash = Dash::Solid;
  Marker marker = Marker::Circle;
  std::vector<Spot> spots;
  std::string text;
  Pixels pixels;
  std::optional<Frame> clip; // what lies outside is not seen
};

struct Picture {
  double width = 640, height = 400;
  std::vector<Shape> shapes; // the later ones cover the earlier
};

Picture compose(const Figure& figure);

// The strokes and gaps of a line of this width, in turns; none: it is solid.
std::vector<double> dash_pattern(Dash dash, double width);

std::string to_svg(const Picture& picture);
// u8[height, width, 3], `scale` pixels to a unit.
HostTensor to_pixels(const Picture& picture, int scale);
std::string to_png(const HostTensor& image);
std::string to_text(const Figure& figure, const Terminal& terminal);

} // namespace tl::plot
