// A plot in the coordinates of its data: panels with axes, on which layers lie. Every output is drawn from this.
#pragma once
#include "vm/plot/axis.h"
#include "vm/plot/colour.h"
#include "vm/plot/plot.h"
#include <array>
#include <cstdint>

namespace tl::plot {

struct Point {
  double x = 0, y = 0; // NaN: a gap
};
struct Box {
  double left = 0, right = 0, bottom = 0, top = 0;
};
struct Pixels { // row-major from the top, opaque or not
  int64_t width = 0, height = 0;
  std::vector<std::array<uint8_t, 4>> rgba;
};

enum class Marker : uint8_t { None, Circle, Square, Triangle, Diamond, Plus, Cross };
enum class Dash : uint8_t { None, Solid, Dashed, Dotted, DashDot };

struct Contour {
  Colour colour;
  std::vector<std::array<Point, 2>> segments;
};

struct Layer {
  std::string name; // "": not in the legend
  Colour colour;
  Dash dash = Dash::None;        // of the line through the points; None: there is none
  Marker marker = Marker::None;  // at each point
  double size = 0;               // the line's width and the marker's radius follow from it; 0: as there is room
  double opacity = 1;            // of what is filled
  std::vector<Point> points;     // those of an area are its upper edge
  std::vector<double> low, high; // of error bars and areas, at each point
  bool is_area = false;          // between low and high; otherwise they are bars
  std::vector<Box> boxes;        // bars
  Pixels pixels;
  Box extent; // of the pixels
  std::vector<Contour> contours;
};

// The colours of a panel's numbers.
struct ColourBar {
  ColourMap map = ColourMap::Viridis;
  Axis axis;
};

struct Panel {
  std::string title, x_label, y_label;
  Axis x, y;
  std::vector<Layer> layers;
  bool grid = true, legend = true; // a legend is shown where something has a name
  bool square = false;             // a unit of x is as long as one of y
  std::optional<ColourBar> bar;
  bool has_legend() const;
};

struct Figure {
  std::string title; // above all panels
  std::vector<Panel> panels;
  int columns = 1;
  double width = 640, height = 400;
};

// Throws IoError where the request cannot be drawn: limits that are not numbers, a logarithmic axis without a positive
// number, an unknown style.
Figure make_figure(const PlotRequest& request);

} // namespace tl::plot
