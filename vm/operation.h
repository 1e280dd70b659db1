// An operation in flight: what the issuing thread hands to the engine (vm/engine.h).
#pragma once
#include "abi/gpu_kernel.h"
#include "abi/program/bytecode.h"
#include "vm/profile.h"
#include "vm/value.h"
#include <array>
#include <functional>
#include <mutex>

namespace tl {

// A call that is being executed, for the call chain of failures. Unique by place and caller; lives as long as the run.
struct CallSite {
  LocId loc;
  const CallSite* caller = nullptr;
};

// In place of a site: a worker found no memory for its workspace.
constexpr int32_t kNoMemory = -2;
// The kernel was left, or not begun, because of RunOptions::interrupt.
constexpr int32_t kInterrupted = -3;

// Collects the first failure at each site of a kernel: of the least element, or in sequential code the one that comes
// first.
struct ErrorRecorder : KernelErrors {
  struct First {
    int32_t site = 0;
    int64_t element = 0, a = 0, b = 0;
  };
  ErrorRecorder();
  void reset();
  bool in_order = false;
  struct Seen { // least elements of some sites, so that most records need no lock
    std::atomic<int32_t> site{INT32_MIN};
    std::atomic<int64_t> least{INT64_MAX};
  };
  std::array<Seen, 4> seen;
  std::mutex mutex;
  std::vector<First> first; // as they came
};

// Threads of their own for what would keep a worker from computing: files, and copies from one device to another.
using LaneId = int16_t;
constexpr LaneId kNoLane = -1, kFileLane = 0, kRankLane = 1, kFirstCopyLane = 2;

struct Operation {
  enum class Kind : uint8_t {
    Kernel, // first `copies`, then the phases of `kernel`
    Copy,   // `copies`, from one device to another
    Task,   // a function on one thread
    Poison, // nothing to run: it has failed already
  };
  struct Input {
    Node* node;
    bool reads; // counts as a reader of node->data
  };
  struct Copy { // of an output that starts as a copy of an input
    const std::byte* from;
    std::byte* to;
    int64_t bytes;
    uint64_t after = 0; // to a card: the moment of the block that it goes to
  };

  Kind kind = Kind::Poison;
  bool effect = false;        // inputs[0] and outputs[0] are the chain of effects
  bool checks_inputs = false; // a task that looks at failures of its inputs itself (those of effects' chain excepted)
  bool small = false;         // worth running at once on the issuing thread
  bool fails = false;         // a test has it fail (RunOptions::inject)
  int16_t device = 0;         // whose share of the workers runs it; a copy: where to
  int16_t from_device = 0;    // a copy
  int16_t card = -1;          // the device, a card, whose stream it is launched on: a kernel (`gpu_kernel`), or a brief
                              // copy to or from the card
  LaneId lane = kNoLane;      // or which thread of its own
  Moment moment;
  uint64_t priority = 0;
  LocId loc;
  const CallSite* call = nullptr;
  std::atomic<int32_t> pending{0};
  std::vector<Input> inputs;
  std::vector<Node*> outputs;
  std::vector<const Suffers*> suffers;   // of sequential code, by output: which failures
  std::vector<uint32_t> operand_of;      // the same: which argument each input is
  std::vector<FailureRef> host_failures; // the same: of arguments that the host knows, if any
  std::vector<Node*> overwrites;         // nodes whose memory it took: their makers and other readers come first
  struct Claim {
    Node* node;
    uint64_t bytes;
    Block given; // the block that has all its room with this one
  };
  std::vector<Claim> claims;     // the same, but their memory is given back before it begins, for its own
  std::vector<Node*> workspaces; // whose memory it has until it is complete
  std::vector<Edge> edges;
  FailureRef failure; // known at issue, then the result
  // Kernel, Copy
  const CompiledKernel* kernel = nullptr;
  const GpuKernel* gpu_kernel = nullptr;
  std::vector<uint8_t> in_slot; // on a card, by argument: its address is that of a number here
  std::vector<void*> args;
  std::vector<Scalar> scalars;
  std::vector<Copy> copies;
  std::byte* shared = nullptr;   // workspace of all tiles
  Block card_shared, card_local; // on a card, whose stream orders who uses it: the same, and that of all blocks
  uint64_t local_bytes = 0;
  uint64_t blocks = 0;                   // on a card: the most of a launch, for so many have workspace
  uint64_t bytes = 0;                    // read and written, for profiles
  Profile::Time created = 0, begun = -1; // the same; -1: it has not run
  Profile::Time ended = -1;              // if a card says when
  Profile::Operation* record = nullptr;  // in a timeline
  uint32_t watched = 0;                  // in an audit
  ErrorRecorder errors;
  size_t stage = 0;         // copies first, then phases
  bool open = false;        // in the heap with tiles to take
  bool long_pieces = false; // each is longer than a thread takes to come
  int64_t tiles = 0, next_tile = 0, chunk = 1;
  std::atomic<int64_t> tiles_left{0};
  // Task: throws RuntimeError, IoError or std::bad_alloc
  std::function<void(Operation&)> task;
  Operation* next_free = nullptr;
};

} // namespace tl
