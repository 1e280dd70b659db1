#include "vm/io/source.h"
#include "abi/descriptor.h"
#include "vm/io/access.h"
#include "vm/io/io.h"
#include "vm/io/mapping.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

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

void Source::read(uint64_t offset, std::byte* out, size_t count) const {
  size_t got = read_some(offset, out, count);
  if (got != count) throw IoError(fmt::format("'{}' is truncated: it ends {} bytes early", path_, count - got));
}

std::shared_ptr<std::byte[]> Source::map(uint64_t, uint64_t) const { return nullptr; }

namespace {

class FileSource : public Source {
public:
  explicit FileSource(const std::string& path) : Source(path) {
    descriptor_ = open_file(path, O_RDONLY);
    if (!descriptor_) throw IoError(fmt::format("cannot open '{}': {}", path, system_error_text(errno)));
    struct stat info{};
    if (::fstat(descriptor_.get(), &info) != 0 || S_ISDIR(info.st_mode))
      throw IoError(fmt::format("cannot read '{}': it is a directory", path));
    if (S_ISREG(info.st_mode))
      size_ = static_cast<uint64_t>(info.st_size);
    else
      take_in();
  }

  size_t read_some(uint64_t offset, std::byte* out, size_t count) const override {
    if (!descriptor_) {
      if (offset >= content_.size()) return 0;
      size_t n = std::min<size_t>(count, content_.size() - offset);
      std::memcpy(out, content_.data() + offset, n);
      return n;
    }
    size_t done = 0;
    while (done < count) {
      size_t piece = std::min<size_t>(count - done, size_t{1} << 30); // the system's own limit is about 2 GiB
      ssize_t got = ::pread(descriptor_.get(), out + done, piece, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw IoError(fmt::format("cannot read '{}': {}", path_, system_error_text(errno)));
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

  std::shared_ptr<std::byte[]> map(uint64_t offset, uint64_t count) const override {
    if (!descriptor_ || offset > size_ || count > size_ - offset) return nullptr;
    return map_file(descriptor_.get(), offset, count);
  }

private:
  // What is no regular file may never end: a pipe, /dev/zero.
  void take_in() {
    std::byte buffer[65536];
    while (true) {
      ssize_t got = ::read(descriptor_.get(), buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw IoError(fmt::format("cannot read '{}': {}", path_, system_error_text(errno)));
      if (got == 0) break;
      const size_t size = content_.size() + static_cast<size_t>(got);
      require_readable(path_, size);
      if (size > content_.capacity()) content_.reserve(std::min(2 * size, reading_limit()));
      content_.insert(content_.end(), buffer, buffer + got);
    }
    descriptor_.close();
    size_ = content_.size();
  }

  Descriptor descriptor_;
  std::vector<std::byte> content_; // of what is not a regular file
};

class PartSource : public Source {
public:
  PartSource(const Source& whole, uint64_t offset, uint64_t count)
      : Source(whole.path()), whole_(whole), offset_(offset) {
    size_ = count;
  }
  size_t read_some(uint64_t offset, std::byte* out, size_t count) const override {
    if (offset >= size_) return 0;
    return whole_.read_some(offset_ + offset, out, std::min<uint64_t>(count, size_ - offset));
  }
  std::shared_ptr<std::byte[]> map(uint64_t offset, uint64_t count) const override {
    if (offset > size_ || count > size_ - offset) return nullptr;
    return whole_.map(offset_ + offset, count);
  }

private:
  const Source& whole_;
  uint64_t offset_;
};

// Inflates forwards; to read at an earlier place it starts again.
class InflatedSource : public Source {
public:
  // A whole gzip file, of one member or several.
  explicit InflatedSource(std::unique_ptr<Source> file)
      : Source(file->path()), owned_(std::move(file)), from_(*owned_), begin_(0), count_(from_.size()), gzip_(true) {
    // Deflate makes at most about 1032 bytes of one.
    if (__builtin_mul_overflow(count_, uint64_t{1032}, &size_)) size_ = UINT64_MAX;
    start();
  }
  InflatedSource(const Source& whole, uint64_t offset, uint64_t count, uint64_t inflated, uint32_t crc)
      : Source(whole.path()), from_(whole), begin_(offset), count_(count), gzip_(false), expected_(crc) {
    size_ = inflated;
    start();
  }
  ~InflatedSource() override { ::inflateEnd(&stream_); }
  InflatedSource(const InflatedSource&) = delete;
  InflatedSource& operator=(const InflatedSource&) = delete;

  size_t read_some(uint64_t offset, std::byte* out, size_t count) const override {
    if (offset < at_) {
      ::inflateEnd(&stream_);
      start();
    }
    std::byte skipped[16384];
    while (at_ < offset && !ended_)
      produce(skipped, std::min<uint64_t>(sizeof skipped, offset - at_));
    if (at_ < offset) return 0;
    size_t done = 0;
    while (done < count && !ended_)
      done += produce(out + done, count - done);
    return done;
  }

  void finish() const override {
    std::byte rest[16384];
    while (!ended_)
      produce(rest, sizeof rest);
  }

private:
  [[noreturn]] void broken(const char* what) const {
    throw IoError(fmt::format("'{}' cannot be unpacked: {}", path_, what));
  }

  void start() const {
    stream_ = {};
    if (::inflateInit2(&stream_, gzip_ ? 15 + 16 : -15) != Z_OK) throw std::bad_alloc();
    at_ = taken_ = 0;
    crc_ = 0;
    ended_ = false;
  }

  bool refill() const {
    if (stream_.avail_in > 0) return true;
    uint64_t left = count_ - taken_;
    size_t got = from_.read_some(begin_ + taken_, input_, std::min<uint64_t>(left, sizeof input_));
    taken_ += got;
    stream_.next_in = reinterpret_cast<Bytef*>(input_);
    stream_.avail_in = static_cast<uInt>(got);
    return got > 0;
  }

  size_t produce(std::byte* out, size_t count) const {
    count = std::min<size_t>(count, 1 << 30);
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(count);
    while (stream_.avail_out == count && !ended_) {
      if (!refill()) broken("it is truncated");
      int code = ::inflate(&stream_, Z_NO_FLUSH);
      if (code == Z_STREAM_END)
        ended_ = !next_member();
      else if (code == Z_MEM_ERROR)
        throw std::bad_alloc();
      else if (code != Z_OK && code != Z_BUF_ERROR)
        broken(stream_.msg ? stream_.msg : "its compressed bytes are broken");
    }
    size_t made = count - stream_.avail_out;
    at_ += made;
    if (!gzip_) {
      crc_ = static_cast<uint32_t>(::crc32_z(crc_, reinterpret_cast<const Bytef*>(out), made));
      if (at_ > size_ || (ended_ && at_ < size_)) broken("its size is not what the directory of the file says");
      if (ended_ && crc_ != expected_) broken("its checksum is wrong");
    }
    return made;
  }

  // After the end of one gzip member: is there another?
  bool next_member() const {
    if (!gzip_ || !refill() || *stream_.next_in != 0x1f) return false; // zeros or other padding may follow
    return ::inflateReset(&stream_) == Z_OK;
  }

  std::unique_ptr<Source> owned_;
  const Source& from_;
  uint64_t begin_, count_;
  bool gzip_;
  uint32_t expected_ = 0;
  mutable z_stream stream_{};
  mutable std::byte input_[65536];
  mutable uint64_t at_ = 0, taken_ = 0; // bytes given, bytes of input fetched
  mutable uint32_t crc_ = 0;
  mutable bool ended_ = false;
};

} // namespace

std::unique_ptr<Source> open_source(const std::string& path) {
  auto file = std::make_unique<FileSource>(path);
  std::byte magic[3];
  if (file->read_some(0, magic, 3) == 3 && magic[0] == std::byte{0x1f} && magic[1] == std::byte{0x8b} &&
      magic[2] == std::byte{8})
    return std::make_unique<InflatedSource>(std::move(file));
  return file;
}

std::unique_ptr<Source> part_of(const Source& whole, uint64_t offset, uint64_t count) {
  return std::make_unique<PartSource>(whole, offset, count);
}

std::unique_ptr<Source> inflated_part_of(const Source& whole, uint64_t offset, uint64_t count, uint64_t inflated,
                                         uint32_t crc) {
  return std::make_unique<InflatedSource>(whole, offset, count, inflated, crc);
}

} // namespace tl
