// Compiled texts: what the stand-in of NVRTC hands out as a cubin, and what a module is made of.
//
// An image is a header (kind, length and checksum of what follows) and a shared object of the host, whole: a program
// may keep it in a cache of its own and load it in another process.
#pragma once
#include "vm/gpu/emulator/runtime.h"
#include <cstddef>
#include <map>
#include <memory>
#include <string>

namespace tl::emulator {

std::string image_of(const std::string& shared_object);
bool is_image(const void* image, size_t bytes); // whole and undamaged

// A loaded image. Each is a private copy: it has its own static shared memory.
class Code {
public:
  // Nothing, and why: damaged, or not for this machine. Reads as many bytes as the header says.
  static std::unique_ptr<Code> load(const void* image, std::string* why);
  ~Code();
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  const tl_kernel* kernel(const std::string& name) const; // null: it has none of that name
  char* shared_begin() const { return shared_begin_; }
  char* shared_end() const { return shared_end_; }

private:
  Code(int file, void* library) : file_(file), library_(library) {}
  const int file_; // open as long as the library: libraries are told apart by the names of their files
  void* const library_;
  char *shared_begin_ = nullptr, *shared_end_ = nullptr;
};

} // namespace tl::emulator
