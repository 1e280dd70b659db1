// Stands in for vm/plot in executables of programs that draw nothing.
#include "vm/plot/plot.h"
#include <cstdlib>

namespace tl {

Terminal terminal() { std::abort(); }
std::string draw_plot(const PlotRequest&, const Terminal&) { std::abort(); }
bool draw_on_page(const PlotRequest&, const OutputSink&) { std::abort(); }

} // namespace tl
