// Pictures of data for the module plot: laid out once (figure.h), drawn as text for a terminal, as SVG or as PNG.
#pragma once
#include "abi/outcome.h"
#include "abi/plot_op.h"
#include "abi/tensor.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tl {

struct PlotRequest {
  PlotKind kind = PlotKind::Line;
  std::string description;         // as abi/plot_op.h says
  std::optional<std::string> path; // .svg or .png; nothing: the terminal
  std::string labels;              // of the lines, for the legend: one a line
  bool has_x = false;              // of Line: the first tensor is x
  std::vector<HostTensor> tensors; // as PlotKind says
};

// What text is drawn for. The default is what a pipe or file gets: always the same.
struct Terminal {
  int columns = 80;
  bool colours = false; // 24-bit ANSI colours
};

// The terminal on standard output, or the default where it is none.
Terminal terminal();

// The text for a terminal, or nothing once the file has been written (atomically). Points that are NaN or infinite are
// left out. Throws IoError: no such kind of file, or it cannot be written. Thread-safe.
std::string draw_plot(const PlotRequest& request, const Terminal& terminal);

// An OutputSink that takes plots without a file as pictures: a page's, as notebooks have.
struct PageOutput {
  OutputSink text;
  std::function<void(const std::string& svg)> picture;
  void operator()(std::string_view piece) const { text(piece); }
};
// Draws it there. False, and nothing has been done: it is for a file, or the output is no page.
bool draw_on_page(const PlotRequest& request, const OutputSink& out);

} // namespace tl
