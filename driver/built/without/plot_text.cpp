// Stands in for plots as text in executables of programs that draw only into files.
#include "vm/plot/picture.h"
#include <cstdlib>

namespace tl::plot {

std::string to_text(const Figure&, const Terminal&) { std::abort(); }

} // namespace tl::plot
