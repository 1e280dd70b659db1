// What a compiled kernel and the emulator know of each other: one structure of plain data and functions. Its text is
// both compiled here and printed into the shim (shim.cpp) in front of every kernel text, so the two cannot differ.
//
// Functions are called by the thread of a block that runs at the time. `line` is the line of the kernel text that the
// call is on: threads that meet must meet at one line.
#pragma once

// barrier: waits for all threads of the block; how many of them gave a true predicate.
// vote: waits for the lanes of `mask`; the bits of those that gave a true predicate.
// exchange: waits for the lanes of `mask`; the value that lane `source` gave.
// atomic: tells of an atomic operation; of one that failed, others may have to run before it succeeds.
// access: with Options::racecheck, of memory, before it happens. warp_fence: behind __syncwarp, the same.
// elsewhere: the address on the host for one that is not in the memory of the card that runs the kernel.
#define TL_EMULATOR_RUNTIME                                                                                            \
  struct tl_index {                                                                                                    \
    unsigned x, y, z;                                                                                                  \
  };                                                                                                                   \
  struct tl_runtime {                                                                                                  \
    tl_index thread, block, block_size, grid_size;                                                                     \
    unsigned long long memory, memory_bytes, to_host;                                                                  \
    void* shared;                                                                                                      \
    void* (*elsewhere)(unsigned long long address);                                                                    \
    unsigned (*barrier)(int line, unsigned predicate);                                                                 \
    unsigned (*vote)(int line, unsigned mask, unsigned predicate);                                                     \
    unsigned long long (*exchange)(int line, unsigned mask, unsigned long long value, unsigned source);                \
    void (*atomic)(unsigned failed);                                                                                   \
    void (*access)(const void* at, unsigned bytes, unsigned write);                                                    \
    void (*warp_fence)();                                                                                              \
  };                                                                                                                   \
  struct tl_kernel {                                                                                                   \
    void (*run)(const void* arguments);                                                                                \
    unsigned long long bytes;                                                                                          \
  };

namespace tl::emulator {

TL_EMULATOR_RUNTIME

// Of every compiled text: where it keeps the runtime, and its static shared memory.
inline constexpr const char* kBindSymbol = "tl_emulator_bind";
using Bind = void (*)(tl_runtime* runtime, char** shared_begin, char** shared_end);
// Of every kernel, after its name: its tl_kernel.
inline constexpr const char* kKernelSuffix = "_tl_kernel";

} // namespace tl::emulator
