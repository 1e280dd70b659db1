#include "vm/io/source.h"
#include "vm/io/io.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tl {

std::string system_error_text(int error) {
  switch (error) {
  case ENOENT: return "no such file or directory";
  case EACCES:
  case EPERM: return "no permission";
  case EISDIR: return "it is a directory";
  case ENOSPC: return "no space left on the disk";
  case EROFS: return "the file system is read-only";
  case ENOTDIR: return "a part of the path is not a directory";
  case ENAMETOOLONG: return "the name is too long";
  case EPIPE: return "the reader has gone";
  default: {
    std::string text = std::strerror(error);
    if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
    return text;
  }
  }
}

Source::Source(const std::string& path) : path_(path) {
  do
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) throw IoError(fmt::format("cannot open '{}': {}", path, system_error_text(errno)));
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0 || S_ISDIR(info.st_mode)) {
    ::close(descriptor_);
    throw IoError(fmt::format("cannot read '{}': it is a directory", path));
  }
  if (S_ISREG(info.st_mode)) {
    size_ = static_cast<uint64_t>(info.st_size);
    return;
  }
  std::byte buffer[65536];
  while (true) {
    ssize_t got = ::read(descriptor_, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      int error = errno;
      ::close(descriptor_);
      throw IoError(fmt::format("cannot read '{}': {}", path, system_error_text(error)));
    }
    if (got == 0) break;
    content_.insert(content_.end(), buffer, buffer + got);
  }
  ::close(descriptor_);
  descriptor_ = -1;
  size_ = content_.size();
}

Source::~Source() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

size_t Source::read_some(uint64_t offset, std::byte* out, size_t count) const {
  if (descriptor_ < 0) {
    if (offset >= content_.size()) return 0;
    size_t n = std::min<size_t>(count, content_.size() - offset);
    std::memcpy(out, content_.data() + offset, n);
    return n;
  }
  size_t done = 0;
  while (done < count) {
    size_t piece = std::min<size_t>(count - done, size_t{1} << 30); // the system's own limit is about 2 GiB
    ssize_t got = ::pread(descriptor_, out + done, piece, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw IoError(fmt::format("cannot read '{}': {}", path_, system_error_text(errno)));
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

void Source::read(uint64_t offset, std::byte* out, size_t count) const {
  size_t got = read_some(offset, out, count);
  if (got != count) throw IoError(fmt::format("'{}' is truncated: it ends {} bytes early", path_, count - got));
}

} // namespace tl
