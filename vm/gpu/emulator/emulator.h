// A card made of the host: stand-ins for the functions of libcuda and libnvrtc that vm/gpu/cuda_api.h names.
#pragma once
#include "vm/gpu/cuda_api.h"
#include <cstdint>
#include <string>

namespace tl::emulator {

struct Options {
  int devices = 1;
  uint64_t memory = uint64_t{8} << 30; // bytes of each
  uint64_t seed = 0;                   // of every choice of a schedule
  std::string compiler;                // of C++, for the host; empty: the first of c++, g++, clang++ on the path
  std::string cache;                   // folder for compiled kernels; empty: a temporary one that goes with the process
};

// Before the first call of any function of the tables; once.
void configure(const Options& options);
// Functions by the names of libcuda and libnvrtc. Null: not one that is emulated.
void* symbol(const char* name);

// What is left of what the program made: for tests and for --audit.
struct Live {
  uint64_t allocations = 0, bytes = 0, host_allocations = 0, modules = 0, streams = 0, events = 0, contexts = 0;
};
Live live();

} // namespace tl::emulator
