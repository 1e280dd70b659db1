#include "backend/aot/package.h"
#include "backend/aot/link.h"
#include <fmt/format.h>

#ifdef TL_PYTHON
// In tl: the extension module's object file, and files of python/ (cmake/built.cmake).
// clang-format off
#define TL_PYTHON_FILES(X) X(__init__) X(_errors) X(_program) X(_support) X(_tensor)
// clang-format on
extern "C" {
extern const char tl_packaged[], tl_packaged_end[];
#define X(name) extern const char tl_python##name[], tl_python##name##_end[];
TL_PYTHON_FILES(X)
#undef X
}
#endif

namespace tl {
namespace {

// As Python writes it between three quotes.
std::string docstring(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out.substr(0, out.find_last_not_of(" \n") + 1);
}

} // namespace

#ifdef TL_PYTHON
std::vector<std::pair<std::string, std::string>> package_files(const Library& library) {
  std::vector<std::pair<std::string, std::string>> files;
#define X(name) files.emplace_back(#name ".py", std::string(tl_python##name, tl_python##name##_end));
  TL_PYTHON_FILES(X)
#undef X
  const std::string doc = library.doc.empty() ? "" : "\n\n" + docstring(library.doc);
  files[0].second =
      fmt::format("\"\"\"{}: made by `tl build --lib --python`.{}\n\"\"\"\n{}", library.name, doc, files[0].second);
  return files;
}

std::string_view extension_object() { return {tl_packaged, static_cast<size_t>(tl_packaged_end - tl_packaged)}; }
#else
[[noreturn]] static void missing() {
  throw BuildError("this tl makes no Python packages: it was built without Python's headers (python3-dev)");
}
std::vector<std::pair<std::string, std::string>> package_files(const Library&) { missing(); }
std::string_view extension_object() { missing(); }
#endif

} // namespace tl
