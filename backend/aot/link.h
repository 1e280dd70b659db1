// Object files to an executable or a shared library, by lld in this process: no compiler or linker is needed where tl
// runs.
#pragma once
#include <string>
#include <vector>

namespace tl {

struct LinkJob {
  std::vector<std::string> inputs; // paths of object files, archives and shared libraries
  std::string output;              // path; written over
  bool shared = false;             // a library: only `exports` are visible
  bool keep_symbols = false;       // else stripped
  std::vector<std::string> exports;
};

// Throws std::runtime_error with what lld said.
void link_elf(const LinkJob& job);

} // namespace tl
