// What the tests of files share: a folder of their own, and bytes in and out of files.
#pragma once
#include "vm/io/io.h"
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

namespace tl::test {

struct Folder {
  std::filesystem::path path;
  Folder() {
    // In memory where there is such a place: every save waits for the disk.
    std::string name = std::filesystem::exists("/dev/shm") ? "/dev/shm/tl-io-test-XXXXXX" : "/tmp/tl-io-test-XXXXXX";
    path = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path / name).string(); }
};

inline std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

inline void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline HostTensor load_bytes(const Folder& folder, const std::string& bytes, const ReadOptions& options = {}) {
  write(folder / "x", bytes);
  return load_tensor(folder / "x", options);
}

// Why these bytes cannot be read; "none" if they can.
inline std::string failure(const Folder& folder, const std::string& bytes, const ReadOptions& options = {}) {
  try {
    load_bytes(folder, bytes, options);
  } catch (const IoError& error) {
    return error.what();
  }
  return "none";
}

inline bool contains(const std::string& text, std::string_view part) {
  bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE(text);
  return found;
}

} // namespace tl::test
