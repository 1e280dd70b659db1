// The asynchronous engine: runs issued operations when their inputs are computed.
//
// How it is used. One thread, the issuing one, walks through the program and for each operation calls `create`, names
// inputs and outputs (`add_input`, `add_output`), takes memory for the outputs (`allocate`) and calls `submit`, which
// returns at once. Outputs are nodes (vm/value.h) that are done when the operation has completed, with or without a
// failure; `wait` is for one of them, `wait_all` for everything.
//
// How operations run. Each counts down the inputs that it waits for; at zero it is ready. Ready operations are in one
// heap for each device, by program order, and workers take from it. A kernel with many tiles stays in the heap while
// workers take tiles from it, so tiles of all ready operations mix; the worker that finishes the last tile of a phase
// goes on with the next phase. At most `threads` threads compute at a time, and for each device no more than its share:
// the issuing thread runs operations too, while it waits and a worker's place is free, and tiny ones at once. No worker
// ever blocks: files, and copies between devices, have threads of their own (lanes), one for each direction of copying.
// All these threads are the crew's (vm/crew.h): they are called in when there is work, and leave when they find none.
//
// What bounds it. Memory is taken when an operation is issued, in program order, so what is issued can always finish.
// Running ahead takes a quarter more than the program needs without (vm/ledger.h); then an operation gets memory that
// others still use, and comes after these, or issuing waits until work in flight has given some back. With nothing left
// in flight the program holds what it would hold if every operation had finished before the next was issued: so a limit
// that is enough for that (`--sync`) is enough for every schedule, and no schedule can deadlock. Where nothing can
// overlap, since one thread computes and nobody else has work, there is no running ahead.
//
// What order means. Effects are chained: each gives a node without contents that the next one takes as its first input.
// A failure is a value with its place in program order: what depends on it is not run and carries it on, and among
// several the first one is reported, on every schedule.
#pragma once
#include "vm/devices.h"
#include "vm/operation.h"
#include "vm/vm.h"
#include <condition_variable>
#include <deque>
#include <random>
#include <thread>

namespace tl {

class GpuQueue; // vm/gpu/card/queue.h

class Engine {
  friend GpuQueue;

public:
  Engine(const Program& program, const RunOptions& options, const Devices& devices, Stats& stats);
  ~Engine(); // after wait_all

  // ---- the issuing thread ----

  // A new operation; waits while too much is in flight.
  Operation* create(Moment moment, LocId loc, const CallSite* call);
  // Of a node that has a handle until `submit`. reads: nobody may write node->data before the operation has run.
  void add_input(Operation& op, Node* node, bool reads) { op.inputs.push_back({node, reads}); }
  void add_output(Operation& op, Node* node); // the same
  void submit(Operation* op);                 // owns it from here on
  bool is_card(int device) const { return devices_.card(device) != nullptr; }
  LaneId copy_lane(int from, int to) const { // of copies between these two devices
    return static_cast<LaneId>(kFirstCopyLane + from * devices_.count() + to);
  }

  // The operation writes the node's memory, which it took: after those that read it.
  void add_overwritten(Operation& op, Node* node) {
    nodes.retain(node);
    op.overwrites.push_back(node);
  }

  // Memory for a node that the operation makes, or workspace until it is complete: perhaps some that others still use,
  // else waits for work in flight, then calls `sweep`, which frees what it can, and trims the pool. False, and nothing:
  // there is no room.
  using Sweep = std::function<void()>;
  bool allocate(Operation& op, Node& node, int device, uint64_t bytes, const Sweep& sweep);
  bool add_workspace(Operation& op, uint64_t bytes, const Sweep& sweep); // of its device, a CPU
  Block allocate_on_card(Operation& op, uint64_t bytes, const Sweep& sweep);
  // Room for its `local_bytes` on each worker of its device, kept from then on. False: there is none.
  bool reserve_scratch(Operation& op);

  void wait(Node* node);
  void wait_all();
  void note_clock() { is_timed_ = true; } // the program reads the clock, and shall find that calls return at once

  bool stopped() const { return cancel_after_.load(std::memory_order_relaxed) != UINT64_MAX; } // an effect failed
  FailureRef effect_failure(); // of the first effect that failed
  FailureRef first_failure();  // in program order, of all so far
  void record(const FailureRef& failure);
  RuntimeError error_at_site(int32_t site, int64_t element, int64_t a, int64_t b, LocId loc,
                             const CallSite* call) const;
  static void add_calls(RuntimeError& error, const CallSite* call); // the call chain, as notes

  NodePool nodes;
  int threads() const { return threads_; }

private:
  using Ready = std::vector<Operation*>; // a heap, first in program order on top
  struct Worker {
    Block scratch;                           // kept for the run; reserved (reserve_scratch)
    int index = 0;                           // the last one is the issuing thread's; lanes come after it
    std::unique_ptr<std::mt19937_64> random; // with a schedule seed
  };
  struct Lane {
    Worker self;
    bool here = false; // a thread works for it, or is called in
    Ready heap;
  };
  struct Queue { // of one device
    Ready heap;
    int active = 0; // threads that compute for it
    int cores = 1;  // the most of them
    uint64_t scratch = 0;
  };

  // ---- engine.cpp ----
  void seed(Worker& worker, int index);
  // Under mutex_: how many workers are to come for this operation, of so many pieces, and all others that are ready.
  int64_t wanted(const Operation& op, int64_t pieces) const;
  bool is_long(const Operation& op) const;
  void call_in(std::unique_lock<std::mutex>& lock, int64_t count);
  void leave(); // under mutex_: this thread will not touch the engine any more
  void await_leaving();
  void wait_until(const std::function<bool()>& reached, Profile::Doing why, uint32_t record = 0);
  void note_issue(Operation& op);
  void note_for_watch(Operation& op, bool alone);
  void drain();
  static bool needs_nobody(const Operation& op);
  void run_alone(Operation* op);
  void use_claims(Operation& op);
  void settle(Operation& op);
  Block obtain(Operation& op, int device, uint64_t bytes, const Sweep& sweep);

  // ---- engine_run.cpp ----
  void work(Worker& self);
  void work(Lane& self);
  void look_for_work(std::unique_lock<std::mutex>& lock, bool has_core, const std::function<bool()>& ends);
  bool help(); // runs one piece of ready work if a worker's place is free
  void push(Operation* op);
  void push_to_lane(Operation* op);
  bool is_brief(const Operation& op) const;
  Queue* next_queue();                                         // under mutex_: the one to take from; null: none
  Operation* take(Queue& queue, int64_t& begin, int64_t& end); // under mutex_; end < 0: not started yet
  void run_piece(Worker& self, Operation* op, int64_t begin, int64_t end);
  void run(Worker& self, Operation* op); // from its start, and what became ready by it
  bool begin(Operation* op);
  bool start(Worker& self, Operation* op);
  bool advance(Worker& self, Operation* op); // true: complete
  void run_tiles(Worker& self, Operation* op, int64_t begin, int64_t end);
  void run_tiles_untimed(Worker& self, Operation* op, int64_t begin, int64_t end);
  void run_task(Operation* op);
  void conclude(Worker& self, Operation* op);
  const std::byte* zeros();
  bool start_partly(Operation* op);
  FailureRef failure_of_inputs(const Operation& op, const Suffers& suffers) const;
  FailureRef suffered(const Operation& op, size_t k) const;
  FailureRef first_suffered(const Operation& op, const Suffers* suffers) const; // null: all
  void complete(Worker& self, Operation* op, Ready& ready);
  void release_input(Operation::Input& input, const Operation* op, Ready& ready);
  void clear(Worker& self, Operation& op);
  void count_down(Operation* op, const Operation* by, Ready& ready);
  void delay(Worker& self);

  const Program& program_;
  const RunOptions& options_;
  const Devices& devices_;
  Stats& stats_;
  int threads_ = 1;
  uint32_t max_in_flight_;

  std::mutex mutex_; // the heaps, lanes_, inside_, and who computes
  std::condition_variable left_;
  std::deque<Queue> queues_;     // by device
  std::atomic<size_t> ready_{0}; // operations in them
  int active_ = 0;               // threads that compute
  std::vector<Worker> workers_;  // the last one is the issuing thread's
  std::vector<Worker*> absent_;  // of the others, those without a thread
  int busy_ = 0;                 // those that compute
  int looking_ = 0;              // threads that have found no work and look for some
  bool issuer_looks_ = false;    // the issuing thread waits, does not sleep, and computes nothing
  bool issuer_works_ = true;     // it issues
  std::chrono::steady_clock::time_point issues_since_{};
  std::atomic<bool> issuer_comes_{false}; // and takes the place of one that looks for work
  std::atomic<int> inside_{0};            // threads of the crew (vm/crew.h) that are here or called in: workers, lanes
  std::atomic<bool> ends_{false};
  int left_to_issuer_ = 0; // operations for which no thread was called in
  const std::thread::id issuer_ = std::this_thread::get_id();
  std::vector<std::unique_ptr<Lane>> lanes_;            // by LaneId; null: nothing came for it yet
  std::vector<std::unique_ptr<CardQueue>> card_queues_; // by device; null: a CPU

  bool has_others_ = false; // beside the workers of one device somebody has work: another device, a lane
  bool is_timed_ = false;
  uint64_t enlisted_ = 0; // operations that others may run, by the issuing thread alone
  std::atomic<uint64_t> completed_{0};
  uint64_t in_flight() const { return enlisted_ - completed_.load(std::memory_order_seq_cst); }
  std::atomic<bool> waiting_{false};               // the issuing thread sleeps
  const std::function<bool()>* awaited_ = nullptr; // until this (wait_mutex_); null: it does not
  std::mutex wait_mutex_;
  std::condition_variable progress_;

  std::atomic<uint64_t> cancel_after_{UINT64_MAX}; // operations issued later need not run
  std::mutex failure_mutex_;
  FailureRef effect_failure_, first_failure_;
  FailureRef cancelled_;
  std::byte* zeros_ = nullptr; // in place of what has failed (failure_mutex_)

  Operation* free_ = nullptr;
  std::atomic<Operation*> returned_{nullptr};
  std::vector<std::unique_ptr<Operation>> operations_;
  Profile::Time waited_ = 0; // while the operation that is created last is issued
  uint64_t injectable_ = 0;  // allocations or operations that RunOptions::inject has counted
};

} // namespace tl
