#include "vm/plot/plot.h"
#include "vm/io/formats.h"
#include "vm/plot/picture.h"
#include <cstdlib>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tl {

constexpr int kPixelsOfUnit = 2; // of a PNG's page

Terminal terminal() {
  Terminal result;
  if (!::isatty(STDOUT_FILENO)) return result;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) result.columns = size.ws_col;
  const char* none = std::getenv("NO_COLOR");
  result.colours = !none || !*none;
  return result;
}

std::string draw_plot(const PlotRequest& request, const Terminal& terminal) {
  if (!request.path) return plot::to_text(plot::make_figure(request), terminal);
  const std::string& path = *request.path;
  const bool svg = path.ends_with(".svg"), png = path.ends_with(".png");
  if (!svg && !png)
    throw IoError(fmt::format("cannot draw to '{}': the name of a picture's file ends in .svg or .png", path));
  const plot::Picture picture = plot::compose(plot::make_figure(request));
  const std::string bytes = svg ? plot::to_svg(picture) : plot::to_png(plot::to_pixels(picture, kPixelsOfUnit));
  write_file_atomically(path, [&](int file) { write_bytes(file, bytes.data(), bytes.size()); });
  return "";
}

bool draw_on_page(const PlotRequest& request, const OutputSink& out) {
  const auto* page = out.target<PageOutput>();
  if (!page || request.path) return false;
  page->picture(plot::to_svg(plot::compose(plot::make_figure(request))));
  return true;
}

} // namespace tl
