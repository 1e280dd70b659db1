#include "backend/aot/workshop.h"
#include "backend/aot/link.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace tl {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw BuildError(fmt::format("{} '{}': {}", what, path, std::strerror(errno)));
}

const char* interrupted_folder = nullptr; // to be gone when a signal ends the process

// Only what a handler may call: no allocation, no locks.
void remove_folder_and_end(int signal) {
  if (const int folder = ::open(interrupted_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    alignas(dirent64) char entries[4096];
    for (ssize_t count; (count = ::getdents64(folder, entries, sizeof entries)) > 0;)
      for (ssize_t at = 0; at < count;) {
        const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
        ::unlinkat(folder, entry->d_name, 0); // the folder's own names, . and .., are refused
        at += entry->d_reclen;
      }
    ::rmdir(interrupted_folder);
  }
  std::signal(signal, SIG_DFL);
  ::raise(signal); // comes when this handler returns: the exit code tells of it
}

} // namespace

Workshop::Workshop() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) {
    const char* named = std::getenv("TMPDIR");
    throw BuildError(fmt::format("cannot use the folder for temporary files '{}' (TMPDIR): {}", named ? named : "/tmp",
                                 error.message()));
  }
  path_ = (parent / "tl-build-XXXXXX").string();
  if (!::mkdtemp(path_.data())) fail("cannot make the folder", path_);
  interrupted_folder = path_.c_str();
  struct sigaction action{};
  action.sa_handler = remove_folder_and_end;
  for (size_t i = 0; i < kEndingSignals.size(); ++i) {
    ::sigaction(kEndingSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_DFL) ::sigaction(kEndingSignals[i], &action, nullptr); // else ignored, as by nohup
  }
}

Workshop::~Workshop() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  for (size_t i = 0; i < kEndingSignals.size(); ++i)
    ::sigaction(kEndingSignals[i], &before_[i], nullptr);
  interrupted_folder = nullptr;
}

std::string Workshop::put(const std::string& name, std::string_view bytes) const {
  std::string path = this->path(name);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  bool fine = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (file && std::fclose(file) != 0) fine = false;
  if (!fine) fail("cannot write", path);
  return path;
}

Undisturbed::Undisturbed(const std::string& path) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  sigset_t ending;
  sigemptyset(&ending);
  if (kind == std::filesystem::file_type::regular || kind == std::filesystem::file_type::not_found)
    for (int signal : kEndingSignals)
      sigaddset(&ending, signal);
  ::pthread_sigmask(SIG_BLOCK, &ending, &before_);
}

} // namespace tl
