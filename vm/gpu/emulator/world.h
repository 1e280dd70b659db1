// All that the emulated cards are made of, under one lock; the handles of the driver's functions point into it.
#pragma once
#include "vm/gpu/emulator/emulator.h"
#include "vm/gpu/emulator/memory.h"
#include "vm/gpu/emulator/modules.h"
#include "vm/gpu/emulator/products.h"
#include "vm/gpu/emulator/races.h"
#include "vm/gpu/emulator/streams.h"
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tl::cuda {

struct OpaqueContext { // the primary one of a device; there are no others
  int device;
  int retained = 0;
  Result error = kSuccess; // sticky: from the first access to what is not there, every call gives it
  std::set<int> peers;     // devices whose memory its kernels may use
  emulator::DeviceMemory memory;
};
struct OpaqueStream {
  Context context;
  emulator::Queue queue;
};
struct OpaqueEvent {
  Context context;
  std::shared_ptr<emulator::Mark> mark; // of the last record; null: none yet
  bool timed = false;
};
struct OpaqueFunction {
  Module module;
  std::string name;
  const emulator::tl_kernel* kernel;
};
struct OpaqueModule {
  Context context;
  std::unique_ptr<emulator::Code> code;
  std::map<std::string, OpaqueFunction> functions;
};
struct OpaqueCublas {
  Context context;
};
struct OpaqueCublasDesc {
  int compute, scale;
  bool transpose_a, transpose_b;
};
struct OpaqueCublasLayout {
  emulator::Matrix matrix;
};
struct OpaqueCublasPreference {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256}; // of A, B, C, D
};

} // namespace tl::cuda

namespace tl::emulator {

template <class T> using Owned = std::map<T*, std::unique_ptr<T>>; // by handle: others are seen to be none

struct World {
  explicit World(const Options& options);

  const Options options;
  bool ready = false; // after cuInit
  Window window;
  Scheduler scheduler;
  Random random;                                              // of the order of threads and blocks
  std::vector<std::unique_ptr<cuda::OpaqueContext>> contexts; // by device
  Owned<cuda::OpaqueStream> streams;
  Owned<cuda::OpaqueEvent> events;
  Owned<cuda::OpaqueModule> modules;
  std::set<cuda::Function> functions; // of all modules
  std::unique_ptr<Races> races;       // null: nobody looks for them
  Owned<cuda::OpaqueCublas> cublas;
  Owned<cuda::OpaqueCublasDesc> cublas_descs;
  Owned<cuda::OpaqueCublasLayout> cublas_layouts;
  Owned<cuda::OpaqueCublasPreference> cublas_preferences;
  std::map<uint64_t, uint64_t> host; // pinned memory: address → bytes

  bool pinned(uint64_t address) const;
  void force_all(cuda::Context context); // runs all that its streams hold
};

// A call of one of the driver's functions: holds the lock while it lives.
class Call {
public:
  explicit Call(const char* function);

  World& world;

  // These give 0 or an error, which the function gives back; all but wrong states are explained on stderr.
  cuda::Result ready() const;                     // after cuInit
  cuda::Result context() const;                   // and a context is current, and without a sticky error
  cuda::Result stream(cuda::Stream stream) const; // and the stream is one of the current context
  cuda::Result event(cuda::Event event) const;    // ready, and it is one
  // A range of a device's memory; a wrong one is the end of the current context.
  cuda::Result range(cuda::Context context, cuda::Pointer address, uint64_t bytes) const;

  cuda::Result fail(cuda::Result error, std::string_view why) const;
  static cuda::Context current();
  static void make_current(cuda::Context context);

private:
  std::unique_lock<std::mutex> lock_;
  const char* function_;
};

// Runs a kernel now, for the context.
struct Launch {
  cuda::Context context;
  cuda::Function function;
  unsigned blocks, threads, shared_bytes;
  std::vector<char> arguments;
};
void run_kernel(World& world, const Launch& launch);

namespace driver { // the functions of the table

using namespace cuda;
#define TL_DECLARE(member, symbol, parameters) Result member parameters;
TL_CUDA_FUNCTIONS(TL_DECLARE)
#undef TL_DECLARE

} // namespace driver
} // namespace tl::emulator
