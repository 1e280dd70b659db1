// The bytes of a file being read, at any position. Internal to vm/io.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tl {

// A regular file is read in place; anything else (a pipe, /dev/stdin) is taken in whole. Throws IoError.
class Source {
public:
  explicit Source(const std::string& path);
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  // Reads up to `count` bytes at `offset`; returns how many there were.
  size_t read_some(uint64_t offset, std::byte* out, size_t count) const;
  // Reads exactly `count` bytes, or throws that the file ends early.
  void read(uint64_t offset, std::byte* out, size_t count) const;

private:
  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
  std::vector<std::byte> content_; // of what is not a regular file
};

std::string system_error_text(int error); // "no such file or directory"

} // namespace tl
