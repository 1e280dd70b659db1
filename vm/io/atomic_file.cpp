// Replacing a file so that readers see the old one or the new one.
#include "vm/io/formats.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace tl {

namespace {

// Closes a descriptor and removes a temporary file unless it was renamed.
struct Temporary {
  int descriptor = -1;
  std::string path;
  ~Temporary() {
    if (descriptor >= 0) ::close(descriptor);
    if (!path.empty()) ::unlink(path.c_str());
  }
};

[[noreturn]] void cannot_write(const std::string& path, int error) {
  throw IoError(fmt::format("cannot write '{}': {}", path, system_error_text(error)));
}

} // namespace

void write_bytes(int descriptor, const void* data, size_t count) {
  for (auto* at = static_cast<const std::byte*>(data); count > 0;) {
    ssize_t done = ::write(descriptor, at, std::min<size_t>(count, size_t{1} << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw std::system_error(errno, std::generic_category());
    at += done;
    count -= static_cast<size_t>(done);
  }
}

void write_file_atomically(const std::string& path, const std::function<void(int descriptor)>& write) {
  std::string target = path;
  char real[PATH_MAX];
  if (::realpath(path.c_str(), real)) target = real; // through a link, to the file it names
  struct stat info {};
  bool exists = ::stat(target.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) cannot_write(path, EISDIR);
  if (exists && ::access(target.c_str(), W_OK) != 0) cannot_write(path, errno);
  try {
    if (exists && !S_ISREG(info.st_mode)) { // a pipe or a device: nothing to replace
      Temporary direct;
      direct.descriptor = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
      if (direct.descriptor < 0) cannot_write(path, errno);
      write(direct.descriptor);
      return;
    }
    static std::atomic<unsigned> counter{0};
    Temporary file;
    for (int attempt = 0; attempt < 100 && file.descriptor < 0; ++attempt) {
      std::string name = fmt::format("{}.{}-{}.tmp", target, ::getpid(), counter++);
      file.descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file.descriptor >= 0)
        file.path = name;
      else if (errno != EEXIST)
        break;
    }
    if (file.descriptor < 0) cannot_write(path, errno);
    if (exists) (void)!::fchmod(file.descriptor, info.st_mode & 07777);
    write(file.descriptor);
    // On the disk before the name is: else a crash of the machine might leave an empty file in place of the old one.
    // Some file systems cannot do that, and it is no failure of ours.
    if (::fsync(file.descriptor) != 0 && errno != EINVAL && errno != ENOTSUP) cannot_write(path, errno);
    int closed = ::close(file.descriptor); // where some file systems tell of a full disk
    file.descriptor = -1;
    if (closed != 0 || ::rename(file.path.c_str(), target.c_str()) != 0) cannot_write(path, errno);
    file.path.clear();
  } catch (const std::system_error& error) {
    cannot_write(path, error.code().value());
  }
}

} // namespace tl
