// Compiles a kernel text for the host, with the C++ compiler of the machine, and keeps what it makes.
#pragma once
#include <string>

namespace tl::emulator {

struct Compiled {
  bool ok = false;
  std::string image; // of modules.h
  std::string log;   // what the compiler said, or why there is none
};

// How and where: as in emulator::Options.
struct CompileOptions {
  std::string compiler; // a path or a name; empty: the first of clang++-19, c++, g++, clang++ on the path
  std::string cache;    // a folder, made where it is not there; empty: one in $TMPDIR that goes with the process
  int optimize = 0;
  bool racecheck = false;
};

// Thread-safe; several run at once. Damaged images in the cache are made anew.
Compiled compile(const std::string& text, const CompileOptions& options);

// Of all that a text's image depends on besides the text.
std::string description(const CompileOptions& options);

// The path of the compiler that would be taken; empty: there is none.
std::string find_compiler(const CompileOptions& options);

} // namespace tl::emulator
