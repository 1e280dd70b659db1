// The running side of the engine: what workers, and the issuing thread while it waits, do with ready operations.
#include "vm/crew.h"
#include "vm/engine.h"
#include "vm/interrupt.h"
#include "vm/io/io.h"
#include <algorithm>
#include <fmt/format.h>
#include <immintrin.h>
#include <sys/mman.h>

namespace tl {

namespace {

constexpr int64_t kCopyTile = 256 << 10;
constexpr int kLeftToIssuer = 16;
constexpr std::chrono::microseconds kPatience{1000}, kShortPatience{4};

struct Later {
  bool operator()(const Operation* a, const Operation* b) const {
    return a->priority != b->priority ? a->priority > b->priority : a->moment.issue > b->moment.issue;
  }
};

} // namespace

void Engine::push(Operation* op) {
  if (op->card >= 0) return card_queues_[static_cast<size_t>(op->card)]->launch(op);
  if (op->lane != kNoLane) return push_to_lane(op);
  int64_t pieces = op->open ? (op->tiles + op->chunk - 1) / op->chunk : 1;
  std::unique_lock lock(mutex_);
  Queue& queue = queues_[static_cast<size_t>(op->device)];
  queue.heap.push_back(op);
  std::push_heap(queue.heap.begin(), queue.heap.end(), Later{});
  const bool alone = ready_.fetch_add(1, std::memory_order_relaxed) == 0;
  // To wake a thread costs as much as some tens of microseconds of work: the issuing thread does the first brief
  // operations itself, as soon as it waits.
  if (alone && absent_.size() == static_cast<size_t>(threads_) && left_to_issuer_ < kLeftToIssuer && is_brief(*op))
    ++left_to_issuer_;
  else if (queue.active < queue.cores)
    call_in(lock, wanted(*op, pieces));
}

// Whether it takes no longer than starting a thread for it, and it is the issuing thread that hands it over.
bool Engine::is_brief(const Operation& op) const {
  constexpr int64_t share = 2; // of the work that is worth a task of its own, about 100 us
  if (op.kind != Operation::Kind::Kernel || op.open || options_.schedule_seed) return false;
  if (std::this_thread::get_id() != issuer_) return false;
  for (const Operation::Copy& copy : op.copies)
    if (copy.bytes > kCopyTile) return false;
  for (const KernelPhase& phase : op.kernel->phases)
    if (phase.tiles.evaluate(op.args.data()) > phase.grain.evaluate(op.args.data()) / share) return false;
  return true;
}

void Engine::push_to_lane(Operation* op) {
  std::unique_lock lock(mutex_);
  auto& lane = lanes_[static_cast<size_t>(op->lane)];
  if (!lane) {
    lane = std::make_unique<Lane>();
    seed(lane->self, threads_ + 1 + op->lane);
  }
  if (!lane->here && crew().call(this, [this, self = lane.get()] { work(*self); })) {
    lane->here = true;
    inside_.fetch_add(1, std::memory_order_relaxed);
  }
  if (!lane->here) { // the system grants no thread: the workers do this, too
    op->lane = kNoLane;
    lock.unlock();
    return push(op);
  }
  lane->heap.push_back(op);
  std::push_heap(lane->heap.begin(), lane->heap.end(), Later{});
}

// The queue with the ready operation that comes first in program order, of devices whose workers are not all busy.
Engine::Queue* Engine::next_queue() {
  if (active_ >= threads_) return nullptr;
  Queue* first = nullptr;
  for (Queue& queue : queues_)
    if (!queue.heap.empty() && queue.active < queue.cores &&
        (!first || Later{}(first->heap.front(), queue.heap.front())))
      first = &queue;
  return first;
}

Operation* Engine::take(Queue& queue, int64_t& begin, int64_t& end) {
  Operation* op = queue.heap.front();
  if (op->open) {
    begin = op->next_tile;
    end = std::min(op->tiles, begin + op->chunk);
    op->next_tile = end;
    if (end < op->tiles) return op; // the rest stays for others
    op->open = false;
  } else {
    end = -1;
  }
  std::pop_heap(queue.heap.begin(), queue.heap.end(), Later{});
  queue.heap.pop_back();
  ready_.fetch_sub(1, std::memory_order_relaxed);
  return op;
}

// A little patience: the next operation often comes within microseconds. Where no core would have less for it, it lasts
// longer than putting a thread to sleep and waking it.
void Engine::look_for_work(std::unique_lock<std::mutex>& lock, bool has_core, const std::function<bool()>& ends) {
  const auto patience = has_core && !options_.schedule_seed ? kPatience : kShortPatience;
  const auto end = std::chrono::steady_clock::now() + patience;
  const auto found = [&] { return ready_.load(std::memory_order_relaxed) != 0 || ends(); };
  ++looking_;
  for (bool again = false;; again = true) {
    lock.unlock();
    for (int i = 0; again && i < 64; ++i) // another thread was faster, or there is work that may not be taken yet
      _mm_pause();
    do
      for (int i = 0; i < 16 && !found(); ++i)
        _mm_pause();
    while (!found() && std::chrono::steady_clock::now() < end);
    lock.lock();
    if (next_queue() || ends() || std::chrono::steady_clock::now() >= end) break;
  }
  --looking_;
}

void Engine::work(Worker& self) {
  std::unique_lock lock(mutex_);
  while (true) {
    Queue* queue = next_queue();
    if (!queue) {
      bool yields = false;
      look_for_work(lock, active_ + looking_ + issuer_works_ < threads_, [&] {
        yields = yields || (issuer_comes_.load(std::memory_order_relaxed) && issuer_comes_.exchange(false));
        return yields || ends_.load(std::memory_order_relaxed);
      });
      queue = next_queue();
    }
    if (!queue) break;
    int64_t begin = 0, end = 0;
    Operation* op = take(*queue, begin, end);
    ++active_, ++busy_, ++queue->active;
    if (Queue* more = next_queue()) call_in(lock, wanted(*more->heap.front(), 1)); // has the issuing thread not come?
    lock.unlock();
    run_piece(self, op, begin, end);
    lock.lock();
    --active_, --busy_, --queue->active;
  }
  absent_.push_back(&self);
  leave();
}

void Engine::work(Lane& lane) {
  std::unique_lock lock(mutex_);
  while (!lane.heap.empty()) {
    std::pop_heap(lane.heap.begin(), lane.heap.end(), Later{});
    Operation* op = lane.heap.back();
    lane.heap.pop_back();
    lock.unlock();
    delay(lane.self);
    run(lane.self, op);
    lock.lock();
  }
  lane.here = false;
  leave();
}

bool Engine::help() {
  if (ready_.load(std::memory_order_relaxed) == 0) return false;
  int64_t begin = 0, end = 0;
  Operation* op;
  Queue* queue;
  {
    std::lock_guard lock(mutex_);
    queue = next_queue();
    if (!queue) return false;
    op = take(*queue, begin, end);
    ++active_, ++queue->active;
    issuer_looks_ = false;
  }
  run_piece(workers_.back(), op, begin, end);
  std::unique_lock lock(mutex_);
  --active_, --queue->active;
  issuer_looks_ = true;
  if (Queue* more = next_queue()) call_in(lock, wanted(*more->heap.front(), 1)); // a worker may have found no place
  return true;
}

// With a schedule seed: hold the work back for a while, so that orders occur which rarely would.
void Engine::delay(Worker& self) {
  if (options_.schedule_seed && (*self.random)() % 4 == 0)
    std::this_thread::sleep_for(std::chrono::microseconds((*self.random)() % 150));
}

void Engine::run_piece(Worker& self, Operation* op, int64_t begin, int64_t end) {
  delay(self);
  if (end < 0) return run(self, op);
  run_tiles(self, op, begin, end);
  int64_t done = end - begin;
  if (op->tiles_left.fetch_sub(done, std::memory_order_acq_rel) != done) return;
  ++op->stage; // the last tile of this phase: the barrier
  if (!advance(self, op)) return;
  Ready ready;
  complete(self, op, ready);
  for (Operation* next : ready)
    push(next);
}

void Engine::run(Worker& self, Operation* op) {
  Ready ready;
  while (op) {
    int16_t device = op->device;
    bool complete_now = start(self, op);
    if (!complete_now) return;
    ready.clear();
    complete(self, op, ready);
    op = nullptr;
    // Go on with the first that is ready, while its inputs are in the cache, and leave the others to everyone. The
    // issuing thread hands over all but tiny work, a lane everything.
    for (Operation* next : ready) {
      bool here = next->lane == kNoLane && next->card < 0 && self.index <= threads_ && next->device == device;
      bool mine = !op && here && !options_.schedule_seed && (&self != &workers_.back() || next->small);
      if (mine)
        op = next;
      else
        push(next);
    }
  }
}

// Whether an operation whose inputs are done, or on its card launched, is to run; else it has failed, or, on a card,
// may have.
bool Engine::begin(Operation* op) {
  use_claims(*op);
  FailureRef failure = std::move(op->failure);
  op->failure = {};
  size_t first = 0;
  if (op->effect) { // an effect after a failed one does not begin
    first = 1;
    if (op->inputs[0].node->failure) {
      op->failure = op->inputs[0].node->failure;
      return false;
    }
  }
  if (!op->checks_inputs)
    for (size_t i = first; i < op->inputs.size(); ++i) {
      const Node& input = *op->inputs[i].node;
      const bool launched = op->card >= 0 && input.card == op->card; // perhaps not done
      take_first(failure, launched ? input.launch_failure : input.failure);
    }
  for (const FailureRef& known : op->host_failures)
    take_first(failure, known);
  if (failure && !start_partly(op)) {
    op->failure = std::move(failure);
    return false;
  }
  if (op->moment.issue > cancel_after_.load(std::memory_order_relaxed)) {
    op->failure = cancelled_;
    return false;
  }
  if (op->fails) {
    RuntimeError error{"InjectedFault", "this operation was told to fail", "", op->loc, 3, {}};
    add_calls(error, op->call);
    op->failure = FailureRef(new Failure(std::move(error), op->moment));
    record(op->failure);
    return false;
  }
  if (options_.profile && op->kind != Operation::Kind::Poison) {
    op->begun = options_.profile->now();
    if (op->record) op->record->begun = op->begun;
  }
  if (options_.watch) options_.watch->began(op->watched);
  return true;
}

// Begins an operation whose inputs are done. True: it is complete; false: its tiles are in the heap.
bool Engine::start(Worker& self, Operation* op) {
  if (!begin(op)) return true;
  switch (op->kind) {
  case Operation::Kind::Poison: return true;
  case Operation::Kind::Task:
    run_task(op);
    if (options_.profile) options_.profile->ran(self.index, op->record, op->begun, options_.profile->now());
    return true;
  case Operation::Kind::Copy:
    if (CardQueue* card = card_queues_[static_cast<size_t>(is_card(op->device) ? op->device : op->from_device)].get()) {
      card->copy(op);
      if (options_.profile) options_.profile->ran(self.index, op->record, op->begun, options_.profile->now());
      return true;
    }
    [[fallthrough]];
  case Operation::Kind::Kernel: op->stage = 0; return advance(self, op);
  }
  return true;
}

// Whether sequential code runs although something that it reads has failed: where some output does not need that. It
// reads zeros instead.
bool Engine::start_partly(Operation* op) {
  if (op->suffers.empty() || op->kind != Operation::Kind::Kernel) return false;
  bool any = false;
  for (size_t k = 0; k < op->outputs.size(); ++k)
    any = any || !failure_of_inputs(*op, *op->suffers[k]);
  const std::byte* instead = any ? zeros() : nullptr;
  if (!instead) return false;
  for (size_t i = 0; i < op->inputs.size(); ++i) {
    if (!op->inputs[i].node->failure) continue;
    void*& argument = op->args[op->operand_of[i]];
    for (Operation::Copy& copy : op->copies)
      if (copy.from == argument) copy.from = instead;
    argument = const_cast<std::byte*>(instead); // inputs are only read
  }
  return true;
}

FailureRef Engine::failure_of_inputs(const Operation& op, const Suffers& suffers) const {
  FailureRef failure;
  for (uint32_t operand : suffers.inputs) {
    if (operand < op.host_failures.size()) take_first(failure, op.host_failures[operand]);
    for (size_t i = 0; i < op.operand_of.size(); ++i)
      if (op.operand_of[i] == operand) take_first(failure, op.inputs[i].node->failure);
  }
  return failure;
}

void Engine::run_task(Operation* op) {
  RuntimeError error;
  try {
    op->task(*op);
    return;
  } catch (RuntimeError& e) {
    error = std::move(e);
    if (!error.loc.index) error.loc = op->loc;
  } catch (const IoError& e) {
    error = {e.kind, e.what(), "", op->loc, 3, {}};
  } catch (const std::bad_alloc&) {
    error = {"OutOfMemory", "no memory is left", "", op->loc, 3, {}};
  } catch (const FailureRef& inherited) { // of an input: reported as it is
    op->failure = inherited;
    return;
  } catch (const std::exception& e) {
    error = {"InternalError", e.what(), "", op->loc, 70, {}};
  }
  add_calls(error, op->call);
  op->failure = FailureRef(new Failure(std::move(error), op->moment));
  record(op->failure);
}

// Runs copies and phases from op->stage on, as far as this thread can alone. True: all are done.
bool Engine::advance(Worker& self, Operation* op) {
  size_t stages = op->copies.size() + (op->kernel ? op->kernel->phases.size() : 0);
  for (; op->stage < stages; ++op->stage) {
    int64_t tiles, grain;
    if (op->stage < op->copies.size()) {
      tiles = (op->copies[op->stage].bytes + kCopyTile - 1) / kCopyTile;
      grain = 4;
    } else {
      const KernelPhase& phase = op->kernel->phases[op->stage - op->copies.size()];
      tiles = phase.tiles.evaluate(op->args.data());
      grain = std::max<int64_t>(1, phase.grain.evaluate(op->args.data()));
    }
    if (tiles <= 0) continue;
    int64_t spread = (tiles + threads_ * 4 - 1) / (threads_ * 4);
    int64_t chunk = threads_ == 1 || op->lane != kNoLane ? tiles : std::max(grain, spread);
    if (options_.schedule_seed && op->lane == kNoLane)
      chunk = 1 + static_cast<int64_t>((*self.random)() % static_cast<uint64_t>(tiles));
    if (tiles <= chunk) {
      run_tiles(self, op, 0, tiles);
      continue;
    }
    op->tiles = tiles;
    op->next_tile = 0;
    op->chunk = chunk;
    op->tiles_left.store(tiles, std::memory_order_relaxed);
    op->open = true;
    op->long_pieces = chunk >= 2 * grain;
    push(op);
    return false;
  }
  return true;
}

void Engine::run_tiles(Worker& self, Operation* op, int64_t begin, int64_t end) {
  if (!options_.profile) return run_tiles_untimed(self, op, begin, end);
  const Profile::Time start = options_.profile->now();
  run_tiles_untimed(self, op, begin, end);
  options_.profile->ran(self.index, op->record, start, options_.profile->now());
}

void Engine::run_tiles_untimed(Worker& self, Operation* op, int64_t begin, int64_t end) {
  if (op->stage < op->copies.size()) {
    const Operation::Copy& copy = op->copies[op->stage];
    int64_t from = begin * kCopyTile, to = std::min(copy.bytes, end * kCopyTile);
    std::memcpy(copy.to + from, copy.from + from, static_cast<size_t>(to - from));
    return;
  }
  if (self.scratch.bytes < op->local_bytes) {
    Pool::put_reserved(self.scratch);
    self.scratch = devices_.memory(op->device).take_reserved(op->local_bytes);
    if (!self.scratch) // reserved under our own limit, but the system refuses
      return op->errors.record(&op->errors, kNoMemory, 0, 0, 0);
  }
  KernelWorkspace workspace{op->shared, self.scratch.data};
  const KernelPhase& phase = op->kernel->phases[op->stage - op->copies.size()];
  auto call = [&] { phase.function(op->args.data(), begin, end, &workspace, &op->errors); };
  if (!options_.interrupt) return call();
  if (!run_interruptibly(*options_.interrupt, call)) op->errors.record(&op->errors, kInterrupted, 0, 0, 0);
}

void Engine::count_down(Operation* op, const Operation* by, Ready& ready) {
  if (op->pending.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (op->record && by->record) {
    op->record->ready = by->record->ended >= 0 ? by->record->ended : options_.profile->now(); // else it is launched
    op->record->released_by = by->record->number;
  }
  ready.push_back(op);
}

// What the kernel has recorded as its failure number k.
FailureRef Engine::suffered(const Operation& op, size_t k) const {
  const ErrorRecorder::First& e = op.errors.first[k];
  RuntimeError error = error_at_site(e.site, e.element, e.a, e.b, op.loc, op.call);
  return FailureRef(op.errors.in_order ? new Failure(std::move(error), op.moment, op.loc, k)
                                       : new Failure(std::move(error), op.moment));
}

// Of those the first in program order: of all, or of those that this output of sequential code suffers. What has no
// site is everybody's.
FailureRef Engine::first_suffered(const Operation& op, const Suffers* suffers) const {
  FailureRef earliest;
  for (size_t k = 0; k < op.errors.first.size(); ++k) {
    const int32_t site = op.errors.first[k].site;
    if (suffers && site >= 0 && std::find(suffers->sites.begin(), suffers->sites.end(), site) == suffers->sites.end())
      continue;
    FailureRef failure = suffered(op, k);
    if (op.errors.in_order) return failure;
    take_first(earliest, failure);
  }
  return earliest;
}

// After the work: what failed, and with it the effects that come later.
void Engine::conclude(Worker& self, Operation* op) {
  if (options_.watch) options_.watch->ended(op->watched);
  if (options_.profile) {
    const Profile::Time end = op->ended >= 0 ? op->ended : options_.profile->now();
    if (op->begun >= 0) options_.profile->finished(self.index, op->loc, op->begun, end, op->bytes);
    if (op->record) op->record->ended = end;
  }
  const bool ran = !op->failure;
  if (ran && !op->errors.first.empty()) {
    op->failure = first_suffered(*op, nullptr);
    record(op->failure);
  }
  for (size_t k = 0; k < op->outputs.size(); ++k) {
    FailureRef& failure = op->outputs[k]->failure;
    if (!op->suffers.empty()) {
      failure = failure_of_inputs(*op, *op->suffers[k]);
      if (ran) take_first(failure, first_suffered(*op, op->suffers[k]));
      if (ran || failure) continue;
    }
    failure = op->failure;
  }
  if (op->effect && op->failure) {
    std::lock_guard lock(failure_mutex_);
    if (!effect_failure_ && op->failure.get() != cancelled_.get()) {
      effect_failure_ = op->failure;
      cancel_after_.store(op->moment.issue, std::memory_order_relaxed);
    }
  }
}

void Engine::complete(Worker& self, Operation* op, Ready& ready) {
  conclude(self, op);
  for (const auto* made : {&op->outputs, &op->workspaces})
    for (Node* node : *made) {
      Edge* edge = node->waiters.exchange(Node::done_mark(), std::memory_order_seq_cst);
      while (edge) {
        Edge* next = edge->next; // before the consumer may run and be recycled
        count_down(edge->consumer, op, ready);
        edge = next;
      }
      nodes.release(node);
    }
  for (Operation::Input& input : op->inputs) {
    if (op->card < 0) release_input(input, op, ready);
    nodes.release(input.node);
  }
  for (Node* node : op->overwrites)
    nodes.release(node);
  for (const Operation::Claim& claim : op->claims)
    nodes.release(claim.node);
  clear(self, *op);
  Operation* head = returned_.load(std::memory_order_relaxed);
  do
    op->next_free = head;
  while (!returned_.compare_exchange_weak(head, op, std::memory_order_release, std::memory_order_relaxed));
  // Last: from here on the issuing thread may find everything done.
  completed_.fetch_add(1, std::memory_order_seq_cst);
  if (waiting_.load(std::memory_order_seq_cst)) {
    std::lock_guard lock(wait_mutex_);
    if (awaited_ && (*awaited_)()) progress_.notify_all();
  }
}

// The operation will not read it any more.
void Engine::release_input(Operation::Input& input, const Operation* op, Ready& ready) {
  if (input.reads && input.node->readers.fetch_sub(1, std::memory_order_acq_rel) == Node::kExclusive + 1)
    count_down(input.node->exclusive->consumer, op, ready);
  if (input.node->card >= 0) input.node->release_user();
}

// For the next one; vectors keep their storage.
void Engine::clear(Worker& self, Operation& op) {
  Pool::free(op.card_shared);
  Pool::free(op.card_local);
  if (op.record) options_.profile->sample(self.index, op.device, devices_.memory(op.device).in_use());
  op.inputs.clear();
  op.outputs.clear();
  op.overwrites.clear();
  op.claims.clear();
  op.workspaces.clear();
  op.shared = nullptr;
  op.copies.clear();
  op.args.clear();
  op.scalars.clear();
  op.failure = {};
  op.task = nullptr;
  op.kernel = nullptr;
  op.gpu_kernel = nullptr;
  op.in_slot.clear();
  op.suffers.clear();
  op.operand_of.clear();
  op.host_failures.clear();
  op.kind = Operation::Kind::Poison;
  op.effect = op.checks_inputs = op.small = op.fails = false;
  op.device = op.from_device = 0;
  op.card = -1;
  op.lane = kNoLane;
  op.local_bytes = op.bytes = op.blocks = 0;
  op.begun = op.ended = -1;
  op.record = nullptr;
  op.errors.reset();
}

} // namespace tl
