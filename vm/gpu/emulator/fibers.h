// Runs a kernel: the threads of a block are fibers, one block after the other.
//
// A thread runs until it must wait for others (a barrier of the block or of lanes of its warp) or has ended. Then
// another lane of its warp runs; when none can, another warp that a seeded choice picks. So warps run as far ahead of
// each other as barriers allow, which shows what a missing barrier would let through. Blocks run in a seeded order.
//
// Aborts the process, with a message that names the kernel, block and threads, where threads wait for what cannot come:
// at different barriers, or for a thread that has ended.
#pragma once
#include "vm/gpu/emulator/races.h"
#include "vm/gpu/emulator/random.h"
#include "vm/gpu/emulator/runtime.h"
#include <string>

namespace tl::emulator {

struct Grid {
  const char* name;
  void (*run)(const void* arguments);
  const void* arguments;
  unsigned blocks, threads; // threads of a block: at most 1024
  unsigned shared_bytes;    // dynamic shared memory of a block
  char *shared_begin, *shared_end;
  Races* races = nullptr; // are told of barriers and blocks
};

inline constexpr unsigned kMaxThreads = 1024, kWarp = 32, kMaxShared = 48 << 10;

// The one runtime of the process: kernels are bound to it, and who starts one sets the fields of the memory.
tl_runtime& runtime();

// One at a time in a process: the caller holds the lock.
void run_grid(const Grid& grid, Random& random);

// "kernel f, block 3, thread 17" while one runs; safe in a signal handler.
bool running(const char** name, unsigned* block, unsigned* thread);

} // namespace tl::emulator
