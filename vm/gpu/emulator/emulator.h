// A card made of the host: stand-ins for the functions of libcuda, libnvrtc and libcublasLt that vm/gpu/cuda_api.h
// names.
//
// It runs the text that NVRTC would get, and is stricter than a card: work is done as late as streams and events allow,
// warps run as far ahead of each other as barriers allow, in orders that a seed chooses; the host cannot touch memory
// of a card; memory is poisoned. What is wrong is said on stderr: misuse of a function beside its error code, and what
// a kernel must not do before the process ends (SIGABRT for barriers that cannot be passed, SIGSEGV for memory).
// README.md tells how it is made.
#pragma once
#include "vm/gpu/cuda_api.h"
#include <cstdint>
#include <string>

namespace tl::emulator {

struct Options {
  int devices = 1;
  uint64_t memory = uint64_t{8} << 30; // bytes of each
  uint64_t seed = 0;                   // of every choice of a schedule
  std::string compiler; // of C++, for the host; empty: the first of clang++-19, c++, g++, clang++ on the path
  // The compiler's -O. 0 compiles twice to three times as fast; with 1, kernels run two to four times as fast, which
  // pays from some 200,000 elements that one kernel computes in its life (in a cache, that may be long).
  int optimize = 0;
  bool racecheck = false; // look for races in kernels (races.h); twenty times as slow
  std::string cache;      // folder for compiled kernels; empty: a temporary one that goes with the process
};

// Before the first call of any function of the tables. Again only when nothing is left of what was made (live): then
// there is a new card. Not beside other calls. Throws RuntimeError: there is no address space for the memory.
void configure(const Options& options);
// Of what compiles kernels: a kernel that was compiled under another description is of no use.
std::string description();
// What compiling takes of the system: the compiler, or nothing where there is none, and a folder of this process, which
// goes with it.
std::string compiler_path();
std::string temporary_folder();
// Functions by the names of libcuda, libnvrtc and libcublasLt. Null: not one that is emulated.
void* symbol(const char* name);

// In how many kernels races were found so far; each was said on stderr.
size_t racing_kernels();

// What is left of what the program made: for tests and for --audit.
struct Live {
  uint64_t allocations = 0, bytes = 0, host_allocations = 0, modules = 0, streams = 0, events = 0, contexts = 0;
  uint64_t cublas = 0; // handles, descriptions, layouts and preferences of cuBLASLt
};
Live live();

} // namespace tl::emulator
