// Object files to an executable, a shared library or one object file, by lld in this process: no compiler or linker is
// needed where tl runs.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

namespace tl {

// What went wrong, in words for the user: no such processor, no room on the disk, no C library to link with.
struct BuildError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct LinkJob {
  enum class Kind : uint8_t { Executable, SharedLibrary, Relocatable } kind = Kind::Executable;
  std::vector<std::string> inputs;  // paths of object files, archives and shared libraries
  std::string output;               // path; written over
  bool keep_symbols = false;        // else stripped
  std::vector<std::string> exports; // of a shared library: what can be seen of it
  bool is_extension = false;        // of a shared library: what it lacks, the process has that loads it
};

// Not at the same time in several threads. Throws BuildError with what lld said.
void link_elf(const LinkJob& job);

} // namespace tl
