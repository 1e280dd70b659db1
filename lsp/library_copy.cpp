#include "lsp/library_copy.h"
#include "compiler/programs.h"
#include "compiler/run_flags.h"
#include "lang/source.h"
#include "vm/io/io.h"
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace tl::lsp {

namespace fs = std::filesystem;

static fs::path folder() {
  const std::string cache = compiler::RunFlags().cache_folder();
  return cache.empty() ? fs::path() : fs::path(cache) / "library";
}

std::string library_copy(const std::string& name, std::string_view text) {
  const fs::path in = folder();
  if (in.empty()) return name;
  const fs::path path = in / (library_module(name) + ".tl");
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  try {
    if (!fs::exists(path, error) || compiler::read_program(path.string()) != text)
      write_file_atomically(path.string(), [&](int descriptor) {
        if (::write(descriptor, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
          throw std::system_error(errno, std::generic_category());
      });
  } catch (const std::exception&) {
    return name;
  }
  using fs::perms;
  fs::permissions(path, perms::owner_read | perms::group_read | perms::others_read, error);
  return path.string();
}

bool is_library_copy(const std::string& path) {
  const fs::path in = folder();
  if (in.empty() || !path.ends_with(".tl")) return false;
  return path.starts_with(in.lexically_normal().string() + "/") || path.starts_with(in.string() + "/");
}

} // namespace tl::lsp
