#include "compiler/programs.h"
#include "compiler/run_flags.h"
#include "vm/io/access.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

namespace tl::compiler {

namespace fs = std::filesystem;

static constexpr size_t kLongestProgram = size_t{64} << 20; // /dev/zero has no end

std::string read_program(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  auto refuse = [&](const std::string& why) { throw UsageError(fmt::format("{}: {}", path, why)); };
  const Descriptor file = open_file(path, O_RDONLY);
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) refuse(std::strerror(errno));
  if (S_ISDIR(status.st_mode)) refuse("is a directory");
  std::string text;
  char buffer[65536];
  for (ssize_t count; (count = ::read(file.get(), buffer, sizeof buffer)) != 0;) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(std::strerror(errno));
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() > kLongestProgram) refuse("is longer than 64 MiB, which no program is");
  }
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

std::vector<std::string> files_beginning(std::string_view typed, bool only_programs, const std::string& base) {
  const size_t slash = typed.rfind('/');
  const std::string folder(slash == std::string_view::npos ? "" : typed.substr(0, slash + 1));
  const std::string_view begin = typed.substr(folder.size());
  const fs::path place = folder.starts_with('/') || base.empty() ? fs::path(folder) : fs::path(base) / folder;
  std::vector<std::string> names;
  std::error_code error;
  for (auto entry = fs::directory_iterator(place.empty() ? "." : place, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(begin) || (name[0] == '.' && !begin.starts_with('.'))) continue;
    std::error_code gone;
    const bool is_folder = entry->is_directory(gone);
    if (is_folder || !only_programs || name.ends_with(".tl")) names.push_back(folder + name + (is_folder ? "/" : ""));
  }
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace tl::compiler
