#include "programs.h"
#include "options.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sys/stat.h>

namespace tl::cli {

namespace fs = std::filesystem;

std::string read_program(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) throw UsageError(fmt::format("{}: {}", path, std::strerror(errno)));
  if (S_ISDIR(status.st_mode)) throw UsageError(fmt::format("{}: is a directory", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError(fmt::format("{}: {}", path, std::strerror(errno)));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file && !file.eof()) throw UsageError(fmt::format("{}: {}", path, std::strerror(errno)));
  return text;
}

std::vector<std::string> programs_under(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    auto entry = fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, error);
    if (error) throw UsageError(fmt::format("{}: {}", path, error.message()));
    for (; entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      if (error) throw UsageError(fmt::format("{}: {}", path, error.message()));
      if (entry->path().extension() == ".tl" && entry->is_regular_file(error)) found.push_back(entry->path().string());
    }
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

} // namespace tl::cli
