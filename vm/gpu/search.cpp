// Where files of CUDA's libraries may lie: candidates() of libraries.h. Reads the environment and folders, starts
// nothing.
#include "vm/gpu/libraries.h"
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

namespace fs = std::filesystem;

namespace tl::cuda {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The program that the shell would start, not resolved; empty: there is none.
fs::path program(const std::string& name) {
  const std::string path = environment("PATH");
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find(':', at), path.size());
    const fs::path file = fs::path(path.substr(at, end - at)) / name;
    std::error_code error;
    if (file.is_absolute() && fs::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0) return file;
    at = end + 1;
  }
  return {};
}

fs::path resolved(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  return error ? path : real;
}

// The numbers in a name: python3.11 is newer than python3.9.
std::vector<long> numbers(const std::string& name) {
  std::vector<long> found;
  for (size_t at = 0; at < name.size(); ++at) {
    if (!std::isdigit(static_cast<unsigned char>(name[at]))) continue;
    size_t end = at;
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])))
      ++end;
    found.push_back(std::strtol(name.substr(at, end - at).c_str(), nullptr, 10));
    at = end;
  }
  return found;
}

// The folders in `folder` whose names begin so: newest first, where they have numbers, else by name.
std::vector<fs::path> folders_in(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().filename().string().rfind(prefix, 0) == 0 && entry->is_directory(ignored))
      found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    const std::string x = a.filename().string(), y = b.filename().string();
    const std::vector<long> newer = numbers(x), older = numbers(y);
    return newer != older ? newer > older : x < y;
  });
  return found;
}

// Where a python3 has its packages: lib/python3.11/site-packages in each of these.
std::vector<fs::path> python_roots() {
  std::vector<fs::path> roots;
  const fs::path python = program("python3");
  if (!python.empty()) {
    const fs::path folder = python.parent_path();
    if (folder.filename() == "shims") { // a script of pyenv, which starts the python3 of a version
      std::string version = environment("PYENV_VERSION");
      if (version.empty()) std::getline(std::ifstream(folder.parent_path() / "version"), version);
      version = version.substr(0, version.find(':'));
      if (!version.empty() && version != "system") roots.push_back(folder.parent_path() / "versions" / version);
    }
    roots.push_back(folder.parent_path()); // of a virtual environment, whose python3 is a link to another one
    roots.push_back(resolved(python).parent_path().parent_path());
  }
  if (const std::string active = environment("VIRTUAL_ENV"); !active.empty()) roots.push_back(active);
  if (const std::string home = environment("HOME"); !home.empty()) roots.push_back(fs::path(home) / ".local");
  roots.push_back("/usr/local");
  return roots;
}

// Collects the files of a library, each folder once.
class Files {
public:
  Files(const std::string& stem, const std::vector<std::string>& versions) {
    for (const std::string& version : versions)
      names_.push_back(version.empty() ? stem : stem + "." + version);
  }
  void folder(const fs::path& folder) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (error || !seen_.insert(real.string()).second) return;
    for (const std::string& name : names_)
      if (fs::exists(real / name, error)) found.push_back((fs::absolute(folder, error) / name).string());
  }
  void toolkit(const fs::path& root) {
    for (const char* inner : {"lib64", "lib", "targets/x86_64-linux/lib"})
      folder(root / inner);
  }
  void variable(const char* name) {
    const std::string root = environment(name);
    if (root.empty()) return;
    toolkit(root);
    folder(root);
  }
  void loader() { found.insert(found.end(), names_.begin(), names_.end()); }

  std::vector<std::string> found;

private:
  std::vector<std::string> names_;
  std::set<std::string> seen_;
};

} // namespace

std::vector<std::string> candidates(const std::string& stem, const std::vector<std::string>& versions) {
  Files files(stem, versions);
  files.variable("TL_CUDA_PATH");
  if (!files.found.empty()) return files.found;
  files.variable("CUDA_HOME");
  files.variable("CUDA_PATH");
  files.loader();
  if (stem == "libcuda.so") // where containers and the Linux inside Windows have the driver
    for (const char* folder : {"/usr/local/nvidia/lib64", "/usr/lib/wsl/lib"})
      files.folder(folder);
  if (const fs::path nvcc = program("nvcc"); !nvcc.empty()) files.toolkit(resolved(nvcc).parent_path().parent_path());
  files.toolkit("/usr/local/cuda");
  for (const fs::path& toolkit : folders_in("/usr/local", "cuda-"))
    files.toolkit(toolkit);
  for (const fs::path& root : python_roots())
    for (const char* library : {"lib", "lib64"})
      for (const fs::path& python : folders_in(root / library, "python3"))
        for (const char* packages : {"site-packages", "dist-packages"})
          for (const fs::path& wheel : folders_in(python / packages / "nvidia", ""))
            files.folder(wheel / "lib");
  return files.found;
}

} // namespace tl::cuda
