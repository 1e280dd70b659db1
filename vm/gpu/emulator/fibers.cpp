#include "vm/gpu/emulator/fibers.h"
#include "vm/gpu/emulator/report.h"
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <numeric>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

// tl_emulator_switch(from, to): keeps the registers that a called function must keep on the stack, the stack's address
// in *from, and goes on where `to` is. Not the control words of floating point (mxcsr, x87): no kernel changes
// them, and all fibers of a grid run on one thread, so they are alike everywhere.
asm(R"(
.pushsection .text
.p2align 4
.globl tl_emulator_switch
.hidden tl_emulator_switch
.type tl_emulator_switch, @function
tl_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tl_emulator_switch, .-tl_emulator_switch
.popsection
)");
extern "C" void tl_emulator_switch(void** from, void* to);

namespace tl::emulator {
namespace {

constexpr size_t kStack = 256 << 10; // of a thread; only what is touched takes memory
constexpr unsigned kMaxWarps = kMaxThreads / kWarp;
constexpr uint64_t kSpins = uint64_t{1} << 24;    // failed atomics in a row that no other thread ends
constexpr int kPoison = 0xfb;                     // as in vm/memory.h
constexpr uint64_t kNoValue = 0xfbfbfbfbfbfbfbfb; // of a lane that gave none

struct Thread {
  void* at = nullptr;    // its stack pointer while it waits; null: it has not begun
  char* stack = nullptr; // the end of its stack
  unsigned index = 0;
  int line = 0; // where it waits
  uint32_t mask = 0;
  unsigned source = 0;
  uint64_t value = 0, result = 0;
};

struct Warp { // sets of lanes
  uint32_t alive = 0;
  uint32_t ready = 0;    // can run
  uint32_t at_warp = 0;  // wait for lanes
  uint32_t at_block = 0; // wait for the block
  unsigned turn = 0;     // the lane that is asked first, 0–31; + 32: downwards from it
};

uint32_t rotated(uint32_t bits, unsigned right) { return (bits >> (right & 31)) | (bits << (-right & 31)); }
uint32_t bit(unsigned i) { return uint32_t{1} << i; }

class Executor {
public:
  void run(const Grid& grid, Random& random);
  bool running(const char** name, unsigned* block, unsigned* thread) const {
    if (!grid_) return false;
    *name = grid_->name;
    *block = runtime().block.x;
    *thread = runtime().thread.x;
    return true;
  }

  // Called by kernels.
  unsigned barrier(int line, unsigned predicate);
  unsigned vote(int line, unsigned mask, unsigned predicate);
  uint64_t exchange(int line, unsigned mask, uint64_t value, unsigned source);
  void atomic(bool failed);

private:
  static void life();
  void run_block();
  Thread* next();
  unsigned next_lane(const Warp& warp);
  void pick_warp(); // one that can run
  void release_block();
  void release_warp(unsigned warp);
  void wait_for_lanes(int line, unsigned mask);
  void end_thread();
  void suspend();
  void go(Thread* thread, void** from);
  char* new_stack();
  Warp& warp_of(const Thread& thread) { return warps_[thread.index / kWarp]; }
  [[noreturn]] void fail(const std::string& what);
  [[noreturn]] void fail_waiting();

  const Grid* grid_ = nullptr;
  Random* random_ = nullptr;
  Thread threads_[kMaxThreads];
  Warp warps_[kMaxWarps];
  uint32_t ready_warps_ = 0; // with a lane that can run
  unsigned warp_ = 0;        // the one whose turn it is
  Thread* current_ = nullptr;
  unsigned alive_ = 0, at_barrier_ = 0;
  unsigned predicates_ = 0, predicates_before_ = 0; // true ones at the barrier now, and at the one before
  uint64_t spins_ = 0;
  void* host_ = nullptr; // the stack of who called run
  std::vector<char*> stacks_;
  std::vector<char> shared_;
};

Executor& executor() {
  static auto* const one = new Executor; // never destroyed: it may be in use when the process ends
  return *one;
}

void Executor::fail(const std::string& what) {
  stop(fmt::format("kernel {}, block {} of {}: {}", grid_->name, runtime().block.x, grid_->blocks, what));
}

void Executor::fail_waiting() {
  // One thread that waits, and one that does not wait for the same.
  const Thread* waits = nullptr;
  bool lanes = false;
  for (unsigned i = 0; i < grid_->threads; ++i) {
    const Warp& warp = warps_[i / kWarp];
    if (!((warp.at_block | warp.at_warp) & bit(i % kWarp))) continue;
    bool here = (warp.at_warp & bit(i % kWarp)) != 0;
    if (!waits || (here && !lanes)) waits = &threads_[i], lanes = here;
  }
  for (unsigned i = 0; i < grid_->threads; ++i) {
    const Warp& warp = warps_[i / kWarp];
    const Thread& other = threads_[i];
    bool ended = !(warp.alive & bit(i % kWarp)), there = (warp.at_warp & bit(i % kWarp)) != 0;
    if (lanes && (i / kWarp != waits->index / kWarp || !(waits->mask & bit(i % kWarp)) || ended)) continue;
    if (!ended && there == lanes && other.line == waits->line && (!lanes || other.mask == waits->mask)) continue;
    fail(fmt::format("divergent {}: thread {} waits at line {}, thread {} {}", lanes ? "lanes" : "barrier",
                     waits->index, waits->line, i,
                     ended ? "has ended" : fmt::format("waits {}at line {}", there ? "for lanes " : "", other.line)));
  }
  fail("all threads wait, and none for another"); // not reached
}

char* Executor::new_stack() {
  if (!stacks_.empty()) {
    char* stack = stacks_.back();
    stacks_.pop_back();
    return stack;
  }
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* memory =
      mmap(nullptr, kStack + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0) fail("no memory for the stacks of its threads");
  return static_cast<char*>(memory) + page + kStack;
}

// What runs on a stack: thread after thread, as long as none waits.
void Executor::life() {
  Executor& e = executor();
  for (;;) {
    e.grid_->run(e.grid_->arguments);
    char* stack = e.current_->stack;
    e.end_thread();
    Thread* next = e.next();
    if (next && !next->at) { // not begun: here
      next->stack = stack;
      e.current_ = next;
      runtime().thread.x = next->index;
      continue;
    }
    e.stacks_.push_back(stack); // nobody takes it before this one has been left
    void* left;
    if (next) e.go(next, &left);
    tl_emulator_switch(&left, e.host_);
  }
}

void Executor::go(Thread* thread, void** from) {
  current_ = thread;
  runtime().thread.x = thread->index;
  if (!thread->at) {
    thread->stack = new_stack();
    void** top = reinterpret_cast<void**>(thread->stack);
    *--top = nullptr; // life's return address
    *--top = reinterpret_cast<void*>(&life);
    for (int saved = 0; saved < 6; ++saved)
      *--top = nullptr;
    thread->at = top;
  }
  tl_emulator_switch(from, thread->at);
}

void Executor::suspend() {
  Thread* self = current_;
  Thread* thread = next();
  if (thread != self) go(thread, &self->at);
}

unsigned Executor::next_lane(const Warp& warp) {
  if (warp.turn < kWarp)
    return (static_cast<unsigned>(__builtin_ctz(rotated(warp.ready, warp.turn))) + warp.turn) % kWarp;
  unsigned first = warp.turn % kWarp; // bit 31 after the rotation
  return (31 - static_cast<unsigned>(__builtin_clz(rotated(warp.ready, first + 1))) + first + 1) % kWarp;
}

void Executor::pick_warp() {
  unsigned first = static_cast<unsigned>((*random_)() % kWarp);
  warp_ = (static_cast<unsigned>(__builtin_ctz(rotated(ready_warps_, first))) + first) % kWarp;
}

// Who runs now; it is made the current warp's. Null: all have ended.
Thread* Executor::next() {
  for (;;) {
    Warp& warp = warps_[warp_];
    if (warp.ready) {
      unsigned lane = next_lane(warp);
      return &threads_[warp_ * kWarp + lane];
    }
    if (ready_warps_) {
      pick_warp();
      continue;
    }
    if (alive_ == 0) return nullptr;
    release_block();
  }
}

void Executor::release_block() {
  if (at_barrier_ != grid_->threads) fail_waiting();
  for (unsigned i = 1; i < grid_->threads; ++i)
    if (threads_[i].line != threads_[0].line) fail_waiting();
  if (grid_->races) grid_->races->barrier();
  predicates_before_ = predicates_;
  predicates_ = at_barrier_ = 0;
  spins_ = 0;
  for (unsigned w = 0; w * kWarp < grid_->threads; ++w) {
    Warp& warp = warps_[w];
    warp.ready = warp.at_block;
    warp.at_block = 0;
    warp.turn = static_cast<unsigned>((*random_)() % (2 * kWarp));
    ready_warps_ |= bit(w);
  }
  pick_warp();
}

unsigned Executor::barrier(int line, unsigned predicate) {
  Thread& self = *current_;
  Warp& warp = warp_of(self);
  uint32_t me = bit(self.index % kWarp);
  self.line = line;
  predicates_ += predicate != 0;
  ++at_barrier_;
  warp.ready &= ~me;
  warp.at_block |= me;
  if (!warp.ready) ready_warps_ &= ~bit(self.index / kWarp);
  suspend();
  return predicates_before_; // stays until all have come to the next barrier
}

// Lanes of a warp that wait for lanes which have all come.
void Executor::release_warp(unsigned w) {
  Warp& warp = warps_[w];
  Thread* lanes = &threads_[w * kWarp];
  for (uint32_t left = warp.at_warp; left;) {
    uint32_t group = lanes[__builtin_ctz(left)].mask & warp.alive;
    left &= ~(group | (left & -left));
    if ((warp.at_warp & group) != group) continue;
    const Thread& first = lanes[__builtin_ctz(group)];
    uint32_t ballot = 0;
    for (uint32_t g = group; g; g &= g - 1) {
      const Thread& lane = lanes[__builtin_ctz(g)];
      if (lane.line != first.line || lane.mask != first.mask) fail_waiting();
      if (lane.value) ballot |= g & -g;
    }
    for (uint32_t g = group; g; g &= g - 1) {
      Thread& lane = lanes[__builtin_ctz(g)];
      lane.result = lane.source == kWarp ? ballot : group & bit(lane.source) ? lanes[lane.source].value : kNoValue;
    }
    warp.at_warp &= ~group;
    warp.ready |= group;
    warp.turn = static_cast<unsigned>((*random_)() % (2 * kWarp));
    ready_warps_ |= bit(w);
    spins_ = 0;
  }
}

void Executor::wait_for_lanes(int line, unsigned mask) {
  Thread& self = *current_;
  unsigned w = self.index / kWarp;
  Warp& warp = warps_[w];
  uint32_t me = bit(self.index % kWarp);
  if (!(mask & me)) fail(fmt::format("thread {} at line {} is not in its own mask {:#x}", self.index, line, mask));
  self.line = line;
  self.mask = mask;
  warp.ready &= ~me;
  warp.at_warp |= me;
  if (!warp.ready) ready_warps_ &= ~bit(w);
  if ((warp.at_warp & mask) == (mask & warp.alive)) release_warp(w);
  suspend();
}

unsigned Executor::vote(int line, unsigned mask, unsigned predicate) {
  Thread& self = *current_;
  self.value = predicate != 0;
  self.source = kWarp;
  wait_for_lanes(line, mask);
  return static_cast<unsigned>(self.result);
}

uint64_t Executor::exchange(int line, unsigned mask, uint64_t value, unsigned source) {
  Thread& self = *current_;
  self.value = value;
  self.source = source % kWarp;
  wait_for_lanes(line, mask);
  return self.result;
}

void Executor::atomic(bool failed) {
  if (!failed) {
    spins_ = 0;
    if (!random_->one_in(8)) return; // who holds a lock may be stopped while it does
  } else if (++spins_ == kSpins) {
    fail(fmt::format("thread {} waits for ever in a loop of atomic operations", current_->index));
  }
  Warp& warp = warp_of(*current_);
  warp.turn = (current_->index + 1) % kWarp;
  pick_warp();
  suspend();
}

void Executor::end_thread() {
  unsigned w = current_->index / kWarp;
  Warp& warp = warps_[w];
  uint32_t me = bit(current_->index % kWarp);
  warp.alive &= ~me;
  warp.ready &= ~me;
  if (!warp.ready) ready_warps_ &= ~bit(w);
  --alive_;
  spins_ = 0;
  if (warp.at_warp) release_warp(w);
}

void Executor::run_block() {
  std::memset(grid_->shared_begin, kPoison, static_cast<size_t>(grid_->shared_end - grid_->shared_begin));
  if (grid_->shared_bytes) {
    shared_.assign(grid_->shared_bytes + 16, static_cast<char>(kPoison));
    auto at = reinterpret_cast<uintptr_t>(shared_.data());
    runtime().shared = reinterpret_cast<void*>((at + 15) / 16 * 16);
  } else {
    runtime().shared = nullptr;
  }
  if (grid_->races) {
    auto range = [](const void* begin, size_t bytes) {
      const auto at = reinterpret_cast<uint64_t>(begin);
      return Races::Range{at, at + bytes};
    };
    grid_->races->begin_block(range(grid_->shared_begin, static_cast<size_t>(grid_->shared_end - grid_->shared_begin)),
                              range(runtime().shared, grid_->shared_bytes));
  }
  alive_ = grid_->threads;
  at_barrier_ = predicates_ = 0;
  spins_ = 0;
  ready_warps_ = 0;
  for (unsigned i = 0; i < grid_->threads; ++i) {
    threads_[i].at = nullptr;
    threads_[i].index = i;
  }
  for (unsigned w = 0; w * kWarp < grid_->threads; ++w) {
    unsigned lanes = std::min(kWarp, grid_->threads - w * kWarp);
    Warp& warp = warps_[w];
    warp.alive = warp.ready = lanes == kWarp ? ~uint32_t{0} : bit(lanes) - 1;
    warp.at_warp = warp.at_block = 0;
    warp.turn = static_cast<unsigned>((*random_)() % (2 * kWarp));
    ready_warps_ |= bit(w);
  }
  pick_warp();
  go(next(), &host_);
}

void Executor::run(const Grid& grid, Random& random) {
  grid_ = &grid;
  random_ = &random;
  unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(0x1f80); // to nearest, subnormals kept, no traps: what a card does
  tl_runtime& r = runtime();
  r.block_size = {grid.threads, 1, 1};
  r.grid_size = {grid.blocks, 1, 1};
  r.block = r.thread = {0, 0, 0};
  // All blocks, each once: steps that have no divisor in common with their number.
  uint64_t step = 1 + random.below(grid.blocks), at = random.below(grid.blocks);
  while (std::gcd(step, uint64_t{grid.blocks}) != 1)
    ++step;
  for (unsigned i = 0; i < grid.blocks; ++i) {
    r.block.x = static_cast<unsigned>(at);
    run_block();
    at = (at + step) % grid.blocks;
  }
  __builtin_ia32_ldmxcsr(before);
  grid_ = nullptr;
}

} // namespace

tl_runtime& runtime() {
  static tl_runtime one = [] {
    tl_runtime r{};
    r.barrier = [](int line, unsigned predicate) { return executor().barrier(line, predicate); };
    r.vote = [](int line, unsigned mask, unsigned predicate) { return executor().vote(line, mask, predicate); };
    r.exchange = [](int line, unsigned mask, unsigned long long value, unsigned source) -> unsigned long long {
      return executor().exchange(line, mask, value, source);
    };
    r.atomic = [](unsigned failed) { executor().atomic(failed != 0); };
    r.access = [](const void*, unsigned, unsigned) {};
    r.warp_fence = [] {};
    return r;
  }();
  return one;
}

void run_grid(const Grid& grid, Random& random) { executor().run(grid, random); }

bool running(const char** name, unsigned* block, unsigned* thread) { return executor().running(name, block, thread); }

} // namespace tl::emulator
