// The bytes of a file being read, at any position. Internal to vm/io.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tl {

class Source {
public:
  virtual ~Source() = default;
  const std::string& path() const { return path_; }
  // How many bytes there are, or at most can be where only reading them would tell (compressed ones).
  uint64_t size() const { return size_; }
  // Reads up to `count` bytes at `offset`; returns how many there were. Compressed bytes are best read forwards.
  virtual size_t read_some(uint64_t offset, std::byte* out, size_t count) const = 0;
  // Reads exactly `count` bytes, or throws that the file ends early.
  void read(uint64_t offset, std::byte* out, size_t count) const;
  // After the last read: throws if what is packed turns out to be broken at its end (a checksum).
  virtual void finish() const {}
  // The file's pages as memory, private to us; nothing if they cannot be had so.
  virtual std::shared_ptr<std::byte[]> map(uint64_t offset, uint64_t count) const;

protected:
  explicit Source(std::string path) : path_(std::move(path)) {}
  std::string path_;
  uint64_t size_ = 0;
};

// A regular file is read in place; anything else (a pipe, /dev/stdin) is taken in whole. Gzipped files give what is in
// them. Throws IoError.
std::unique_ptr<Source> open_source(const std::string& path);

// `count` bytes at `offset` of another source, which must live as long.
std::unique_ptr<Source> part_of(const Source& whole, uint64_t offset, uint64_t count);

// What `count` deflated bytes at `offset` become: `inflated` bytes with this CRC-32 (a member of a zip file).
std::unique_ptr<Source> inflated_part_of(const Source& whole, uint64_t offset, uint64_t count, uint64_t inflated,
                                         uint32_t crc);

std::string system_error_text(int error); // "no such file or directory"

} // namespace tl
