// Stands in for the readers of PNG and JPEG images in executables of programs that read no tensor which may be one.
#include "vm/io/formats.h"
#include <fmt/format.h>

namespace tl {

namespace {

[[noreturn]] void refuse(const Source& source, const char* kind) {
  throw IoError(fmt::format("'{}' is a {} image, u8[_, _, _], and this program reads none", source.path(), kind),
                "FileMismatch");
}

} // namespace

OpenTensor open_png(const Source& source) { refuse(source, "PNG"); }
OpenTensor open_jpeg(const Source& source) { refuse(source, "JPEG"); }

} // namespace tl
