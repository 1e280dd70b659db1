// The asynchronous engine: runs issued operations when their inputs are computed.
//
// One thread issues; workers run. An operation waits for its inputs by counting them down; when the count reaches zero
// it is ready, and ready operations stand in one heap by program order. A kernel with many tiles stays in the heap
// while workers take tiles from it, so tiles of all ready operations mix; the worker that finishes the last tile of a
// phase goes on with the next phase. No worker ever blocks. At most `threads` threads compute at a time: the issuing
// thread runs operations too, while it waits and a worker sleeps, and tiny ones at once.
//
// Effects are chained: each gives a node without contents that the next one takes as its first input.
#pragma once
#include "vm/profile.h"
#include "vm/value.h"
#include "vm/vm.h"
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

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

// Collects the first failing (element, site) of a kernel.
struct ErrorRecorder : KernelErrors {
  ErrorRecorder();
  void reset() {
    failed = false;
    least.store(INT64_MAX, std::memory_order_relaxed);
  }
  std::atomic<int64_t> least{INT64_MAX}; // of the elements recorded, so that most need no lock
  std::mutex mutex;
  bool failed = false;
  int32_t site = 0;
  int64_t element = 0, a = 0, b = 0;
};

struct Operation {
  enum class Kind : uint8_t { Kernel, Task, Poison };
  struct Input {
    Node* node;
    bool reads; // counts as a reader of node->data
  };
  struct Copy { // of an output that starts as a copy of an input
    const std::byte* from;
    std::byte* to;
    int64_t bytes;
  };

  Kind kind = Kind::Poison;
  bool effect = false;        // inputs[0] and outputs[0] are the chain of effects
  bool checks_inputs = false; // a task that looks at failures of its inputs itself (those of effects' chain excepted)
  bool small = false;         // worth running at once on the issuing thread
  uint64_t issue = 0, priority = 0;
  LocId loc;
  const CallSite* call = nullptr;
  std::atomic<int32_t> pending{0};
  std::vector<Input> inputs;
  std::vector<Node*> outputs;
  std::vector<Node*> overwrites; // nodes whose memory an output took: their other readers come first
  std::vector<Edge> edges;
  FailureRef failure; // known at issue, then the result
  // Kernel
  const CompiledKernel* kernel = nullptr;
  std::vector<void*> args;
  std::vector<Scalar> scalars;
  std::vector<Copy> copies;
  Block shared;
  uint64_t local_bytes = 0;
  uint64_t bytes = 0;               // read and written, for profiles
  Profile::Clock::time_point begun; // the same; not set: it has not run
  ErrorRecorder errors;
  size_t stage = 0;  // copies first, then phases
  bool open = false; // in the heap with tiles to take
  int64_t tiles = 0, next_tile = 0, chunk = 1;
  std::atomic<int64_t> tiles_left{0};
  // Task: throws RuntimeError, IoError or std::bad_alloc
  std::function<void(Operation&)> task;
  Operation* next_free = nullptr;
};

class Engine {
public:
  Engine(const Program& program, const RunOptions& options, std::shared_ptr<Pool> memory, Stats& stats);
  ~Engine(); // after wait_all

  // ---- the issuing thread ----
  Operation* create(uint64_t issue, LocId loc, const CallSite* call); // waits while too much is in flight
  void add_input(Operation& op, Node* node, bool reads);
  void add_output(Operation& op, Node* node);
  void submit(Operation* op); // owns it from here on
  bool reserve_scratch(uint64_t local_bytes);

  void wait(Node* node);
  void wait_all();
  // Memory for an output or workspace: waits for work in flight, then trims. Nothing: there is no room.
  Block allocate(uint64_t bytes, const std::function<void()>& sweep);

  bool stopped() const { return cancel_after_.load(std::memory_order_relaxed) != UINT64_MAX; }
  FailureRef effect_failure(); // of the first effect that failed
  FailureRef first_failure();  // the one issued first, of all so far
  void record(const FailureRef& failure);
  RuntimeError error_at_site(int32_t site, int64_t element, int64_t a, int64_t b, LocId loc,
                             const CallSite* call) const;
  static void add_calls(RuntimeError& error, const CallSite* call);

  NodePool nodes;
  int threads() const { return threads_; }

private:
  struct Worker {
    std::thread thread;
    std::byte* scratch = nullptr;
    uint64_t scratch_bytes = 0;
    int index = 0;
    std::mt19937_64 random;
  };
  using Ready = std::vector<Operation*>;

  void start_workers();
  void work(Worker& self);
  bool help(); // runs one piece of ready work if a worker's place is free
  void wait_until(const std::function<bool()>& reached);
  void drain_others(); // all but the operation being issued
  void push(Operation* op);
  Operation* take(int64_t& begin, int64_t& end); // under mutex_; end < 0: not started yet
  void run_piece(Worker& self, Operation* op, int64_t begin, int64_t end);
  void run(Worker& self, Operation* op); // from its start, and what became ready by it
  bool start(Worker& self, Operation* op);
  bool advance(Worker& self, Operation* op); // true: complete
  void run_tiles(Worker& self, Operation* op, int64_t begin, int64_t end);
  void run_tiles_untimed(Worker& self, Operation* op, int64_t begin, int64_t end);
  void run_task(Operation* op);
  void complete(Operation* op, Ready& ready);
  void count_down(Operation* op, Ready& ready);
  void delay(Worker& self);

  const Program& program_;
  const RunOptions& options_;
  std::shared_ptr<Pool> memory_;
  Stats& stats_;
  int threads_ = 1;
  uint32_t max_in_flight_;

  std::mutex mutex_; // the heap, active_, sleepers_, stop_
  std::condition_variable work_ready_;
  std::vector<Operation*> heap_;
  std::atomic<size_t> heap_size_{0};
  int active_ = 0, sleepers_ = 0;
  bool stop_ = false;
  std::vector<std::unique_ptr<Worker>> workers_; // the last one is the issuing thread's
  bool started_ = false;

  uint64_t created_ = 0; // operations, by the issuing thread alone
  std::atomic<uint64_t> completed_{0};
  uint64_t in_flight() const { return created_ - completed_.load(std::memory_order_seq_cst); }
  std::atomic<bool> waiting_{false};
  std::mutex wait_mutex_;
  std::condition_variable progress_;

  std::atomic<uint64_t> cancel_after_{UINT64_MAX}; // operations issued later need not run
  std::mutex failure_mutex_;
  FailureRef effect_failure_, first_failure_;
  FailureRef cancelled_;

  Operation* free_ = nullptr;
  std::atomic<Operation*> returned_{nullptr};
  std::vector<std::unique_ptr<Operation>> operations_;
  uint64_t scratch_ = 0;
  // What may be held while issuing runs ahead of the work: new memory beyond it waits for work to finish, which gives
  // back memory that is warm. It grows as far as the program needs.
  uint64_t ahead_ = uint64_t{64} << 20;
  uint64_t allocations_ = 0;
};

} // namespace tl
