// The issuing side: making and submitting operations, waiting, memory. vm/engine_run.cpp is what workers do.
#include "vm/engine.h"
#include "vm/crew.h"
#include "vm/interrupt.h"
#include <algorithm>
#include <fmt/format.h>
#include <immintrin.h>
#include <sched.h>
#include <sys/mman.h>

namespace tl {

static void record_first(KernelErrors* self, int32_t site, int64_t element, int64_t a, int64_t b) {
  interrupt_detail::Stay until_the_lock_is_free;
  auto* recorder = static_cast<ErrorRecorder*>(self);
  std::vector<ErrorRecorder::First>& first = recorder->first;
  for (const ErrorRecorder::Seen& seen : recorder->seen)
    if (seen.site.load(std::memory_order_acquire) == site && seen.least.load(std::memory_order_relaxed) <= element)
      return;
  std::lock_guard lock(recorder->mutex);
  auto at = std::find_if(first.begin(), first.end(), [&](const auto& other) { return other.site == site; });
  const auto number = static_cast<size_t>(at - first.begin());
  if (at == first.end())
    first.push_back({site, element, a, b});
  else if (!recorder->in_order && element < at->element)
    *at = {site, element, a, b};
  if (number >= recorder->seen.size()) return;
  recorder->seen[number].least.store(recorder->in_order ? INT64_MIN : first[number].element, std::memory_order_relaxed);
  recorder->seen[number].site.store(site, std::memory_order_release);
}

void ErrorRecorder::reset() {
  in_order = false;
  if (first.empty()) return;
  first.clear();
  for (Seen& each : seen) {
    each.site.store(INT32_MIN, std::memory_order_relaxed);
    each.least.store(INT64_MAX, std::memory_order_relaxed);
  }
}

ErrorRecorder::ErrorRecorder() : KernelErrors{record_first} {}

constexpr std::chrono::microseconds kComing{300}; // of a thread that is called in
constexpr size_t kZeros = size_t{1} << 40;        // more than any tensor has

int cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

Engine::Engine(const Program& program, const RunOptions& options, const Devices& devices, Stats& stats)
    : program_(program), options_(options), devices_(devices), stats_(stats),
      threads_(options.threads > 0 ? options.threads : cores()), max_in_flight_(std::max(1u, options.max_in_flight)),
      cancelled_(new Failure({"Cancelled", "", "", {}, 3, {}}, {UINT64_MAX, UINT64_MAX})) {
  workers_.resize(static_cast<size_t>(threads_) + 1); // for good: threads hold their addresses
  for (int i = 0; i <= threads_; ++i)
    seed(workers_[static_cast<size_t>(i)], i);
  for (int i = threads_ - 1; i >= 0; --i)
    absent_.push_back(&workers_[static_cast<size_t>(i)]);
  has_others_ = devices.count() > 1;
  for (int d = 0; d < devices.count(); ++d) {
    queues_.emplace_back().cores = devices.cores(d, threads_);
    Card* card = devices.card(d);
    card_queues_.push_back(card ? card->open(*this, d) : nullptr);
    nodes.ledger.add_device();
  }
  lanes_.resize(static_cast<size_t>(kFirstCopyLane + devices.count() * devices.count()));
  stats_.threads = threads_;
  if (options.profile) {
    std::vector<Profile::Device> profiled;
    for (int d = 0; d < devices.count(); ++d)
      profiled.push_back({device_name(devices.number(d)), devices.card(d) ? 0 : queues_[static_cast<size_t>(d)].cores});
    options.profile->begin(threads_, threads_ + 1 + static_cast<int>(lanes_.size()) + devices.count(),
                           std::move(profiled));
  }
}

void Engine::seed(Worker& worker, int index) {
  worker.index = index;
  if (options_.schedule_seed)
    worker.random = std::make_unique<std::mt19937_64>(*options_.schedule_seed * 1000003 + static_cast<uint64_t>(index));
}

Engine::~Engine() {
  card_queues_.clear();
  await_leaving();
  for (Worker& worker : workers_)
    Pool::put_reserved(worker.scratch);
  if (zeros_) ::munmap(zeros_, kZeros);
  for (int d = 0; d < devices_.count(); ++d) {
    Queue& queue = queues_[static_cast<size_t>(d)];
    devices_.memory(d).release(queue.scratch * static_cast<uint64_t>(queue.cores + 1));
  }
}

// Nothing is left to do: threads leave within microseconds, and those that were called in vainly need not come.
void Engine::await_leaving() {
  ends_ = true;
  inside_.fetch_sub(static_cast<int>(crew().recall(this)), std::memory_order_acq_rel);
  for (int i = 0; i < 2000 && inside_.load(std::memory_order_acquire) > 0; ++i)
    _mm_pause();
  std::unique_lock lock(mutex_);
  left_.wait(lock, [&] { return inside_.load(std::memory_order_acquire) == 0; });
}

void Engine::leave() {
  if (inside_.fetch_sub(1, std::memory_order_acq_rel) == 1 && ends_) left_.notify_one();
}

// Threads are called in when there is something for them, as many as there are pieces that nobody is free for: a
// program that only prints calls none. The issuing thread, which waits for the others soon, counts as one of them, so
// that no more threads run than there are cores; but not where it has not come for as long as another needs to, or
// where the work is long, or nobody else is there to see that it does not come.
int64_t Engine::wanted(const Operation& op, int64_t pieces) const {
  const auto there = threads_ - static_cast<int64_t>(absent_.size());
  bool issuer = issuer_looks_;
  if (issuer_works_ && there > 0 && !options_.schedule_seed && !is_long(op))
    issuer = std::chrono::steady_clock::now() - issues_since_ < kComing;
  const int64_t ready = static_cast<int64_t>(ready_.load(std::memory_order_relaxed)) - 1 + pieces;
  return std::min<int64_t>(ready, threads_ - active_) - (there + issuer - busy_);
}

// Whether each of its pieces takes longer than a thread that is called in; or all of it, where the issuing thread hands
// it over and may be away for long.
bool Engine::is_long(const Operation& op) const {
  constexpr int64_t twice = 2; // the work that is worth a task of its own
  if (op.open) return op.long_pieces;
  if (std::this_thread::get_id() != issuer_) return false;
  if (op.kind != Operation::Kind::Kernel) return op.kind != Operation::Kind::Poison;
  return std::any_of(op.kernel->phases.begin(), op.kernel->phases.end(), [&](const KernelPhase& phase) {
    return phase.tiles.evaluate(op.args.data()) > twice * std::max<int64_t>(1, phase.grain.evaluate(op.args.data()));
  });
}

// Where the system grants fewer, these do the work, or the issuing thread alone whenever it waits.
void Engine::call_in(std::unique_lock<std::mutex>& lock, int64_t count) {
  while (count-- > 0 && !absent_.empty()) {
    Worker* worker = absent_.back();
    absent_.pop_back();
    inside_.fetch_add(1, std::memory_order_relaxed);
    lock.unlock(); // who is called wants it
    const bool comes = crew().call(this, [this, worker] { work(*worker); });
    lock.lock();
    if (comes) continue;
    absent_.push_back(worker);
    return leave();
  }
}

Operation* Engine::create(Moment moment, LocId loc, const CallSite* call) {
  if (in_flight() >= max_in_flight_)
    wait_until([&] { return in_flight() <= max_in_flight_ / 2; }, Profile::Doing::InFlight);
  if (!free_) free_ = returned_.exchange(nullptr, std::memory_order_acquire);
  if (!free_) {
    operations_.push_back(std::make_unique<Operation>());
    free_ = operations_.back().get();
  }
  Operation* op = std::exchange(free_, free_->next_free);
  op->next_free = nullptr;
  op->moment = moment;
  op->priority = moment.issue;
  op->loc = loc;
  op->call = call;
  if (options_.schedule_seed) op->priority = (*workers_.back().random)();
  if (options_.profile) {
    op->record = options_.profile->create();
    op->created = options_.profile->now();
    waited_ = 0;
    if (op->record) op->record->loc = loc;
  }
  ++stats_.operations;
  return op;
}

void Engine::add_output(Operation& op, Node* node) {
  if (op.record) node->record = op.record->number;
  op.outputs.push_back(node);
}

// For tests: counts what could fail, and says whether this is the one that shall.
static bool is_injected(const RunOptions& options, RunOptions::Fault::Kind kind, uint64_t& count) {
  return options.inject && options.inject->kind == kind && options.inject->number == count++;
}

void Engine::submit(Operation* op) {
  if (options_.inject && op->kind != Operation::Kind::Poison) {
    using Fault = RunOptions::Fault::Kind;
    Fault kind = op->kind == Operation::Kind::Task   ? Fault::Task
                 : op->kind == Operation::Kind::Copy ? Fault::Copy
                                                     : Fault::Kernel;
    op->fails = is_injected(options_, kind, injectable_);
  }
  if (op->kind == Operation::Kind::Copy) {
    ++stats_.copies;
    for (const Operation::Copy& copy : op->copies)
      stats_.bytes_copied += static_cast<uint64_t>(copy.bytes);
  }
  if (options_.profile) note_issue(*op);
  if (op->lane != kNoLane) has_others_ = true;
  // The work of a fused chain of tiny operations is cheaper than handing it over, and where one thread computes and
  // nobody else has work, nothing is gained by issuing ahead of it: its memory is that of `--sync`, and in the cache.
  const bool worth_it = op->small || (threads_ == 1 && !has_others_ && !is_timed_ && !options_.schedule_seed);
  bool at_once =
      worth_it && op->card < 0 && op->lane == kNoLane && !(options_.schedule_seed && (*workers_.back().random)() % 2);
  const bool alone = at_once && !options_.schedule_seed && needs_nobody(*op);
  if (options_.watch) note_for_watch(*op, alone);
  if (alone) return run_alone(op);
  ++enlisted_;
  size_t waits = op->inputs.size() + 2 * (op->overwrites.size() + op->claims.size());
  op->edges.assign(waits, Edge{op, nullptr}); // sized once: nodes point into it
  op->pending.store(static_cast<int32_t>(waits) + 1, std::memory_order_relaxed);
  for (Node* node : op->outputs) {
    nodes.retain(node);
    if (op->card < 0 || op->card != op->device) continue;
    node->card = op->device;
    node->launch_waiters.store(nullptr, std::memory_order_relaxed);
    node->users.store(2, std::memory_order_relaxed); // the handles, and this operation
  }
  int32_t satisfied = 1;
  size_t edge = 0;
  for (const Operation::Input& input : op->inputs) {
    nodes.retain(input.node);
    if (input.reads) input.node->readers.fetch_add(1, std::memory_order_relaxed);
    if (input.node->card >= 0) input.node->users.fetch_add(1, std::memory_order_relaxed);
    const bool same_card = op->card >= 0 && input.node->card == op->card;
    satisfied += !Node::add_to(same_card ? input.node->launch_waiters : input.node->waiters, &op->edges[edge++]);
  }
  auto wait_for_users = [&](Node* node) {
    satisfied += !node->add_waiter(&op->edges[edge++]);
    node->exclusive = &op->edges[edge++];
    satisfied += node->readers.fetch_add(Node::kExclusive, std::memory_order_acq_rel) == 0;
  };
  for (Node* node : op->overwrites)
    wait_for_users(node);
  for (const Operation::Claim& claim : op->claims)
    wait_for_users(claim.node);
  for (Node* node : op->workspaces)
    if (node->block) nodes.ledger.dies(*node);
  if (op->pending.fetch_sub(satisfied, std::memory_order_acq_rel) == satisfied) {
    if (op->record) op->record->ready = op->record->issued;
    if (at_once)
      run(workers_.back(), op);
    else
      push(op);
  }
  if (options_.sync) wait_all();
  if (options_.watch && options_.watch->wants_rest()) wait_all();
}

void Engine::note_for_watch(Operation& op, bool alone) {
  op.watched = options_.watch->submitted(op, alone);
  for (const auto* made : {&op.outputs, &op.workspaces})
    for (Node* node : *made)
      node->maker = op.watched;
}

// Whether everything that the operation waits for is there.
bool Engine::needs_nobody(const Operation& op) {
  auto unused = [](const Node* node) { return node->done() && node->readers.load(std::memory_order_acquire) == 0; };
  return std::all_of(op.inputs.begin(), op.inputs.end(), [](const Operation::Input& in) { return in.node->done(); }) &&
         std::all_of(op.overwrites.begin(), op.overwrites.end(), unused) &&
         std::all_of(op.claims.begin(), op.claims.end(), [&](const auto& claim) { return unused(claim.node); });
}

// Runs a small operation that needs nobody before anybody else can know of it: no counter and no list that threads
// share is touched, each of which costs as much as the work of a tiny kernel.
void Engine::run_alone(Operation* op) {
  Worker& self = workers_.back();
  if (op->record) op->record->ready = op->record->issued;
  start(self, op);
  conclude(self, op);
  for (Node* node : op->outputs) {
    node->waiters.store(Node::done_mark(), std::memory_order_release);
  }
  for (const auto* held : {&op->overwrites, &op->workspaces})
    for (Node* node : *held)
      nodes.release(node);
  for (const Operation::Claim& claim : op->claims)
    nodes.release(claim.node);
  clear(self, *op);
  op->next_free = std::exchange(free_, op);
}

// For a profile, while the operation is not yet anybody else's.
void Engine::note_issue(Operation& op) {
  Profile& profile = *options_.profile;
  Profile::Time now = profile.now();
  profile.create_ended(op.created, now, waited_);
  if (!op.record) return;
  Profile::Operation& record = *op.record;
  record.issued = now;
  record.is_copy = op.kind == Operation::Kind::Copy;
  record.device = op.card >= 0 ? op.card : op.device;
  record.lane = op.lane;
  record.bytes = op.bytes;
  for (const Operation::Input& input : op.inputs)
    if (input.node->record) record.inputs.push_back(input.node->record);
  profile.did(Profile::Doing::Issue, op.created, now, record.number);
  profile.sample(threads_, op.device, devices_.memory(op.device).in_use());
}

// The issuing thread has a workspace beside those of the workers that compute at a time.
bool Engine::reserve_scratch(Operation& op) {
  Queue& queue = queues_[static_cast<size_t>(op.device)];
  if (op.local_bytes <= queue.scratch) return true;
  Pool& memory = devices_.memory(op.device);
  uint64_t rounded = Pool::class_bytes(op.local_bytes);
  uint64_t more = (rounded - queue.scratch) * static_cast<uint64_t>(queue.cores + 1);
  if (!memory.reserve(more)) {
    drain();
    settle(op);
    memory.trim();
    if (!memory.reserve(more)) return false;
  }
  queue.scratch = rounded;
  return true;
}

void Engine::wait(Node* node) {
  if (node->done()) return;
  wait_until([node] { return node->done(); }, Profile::Doing::Value, node->record);
}

void Engine::wait_all() {
  if (in_flight() > 0) wait_until([this] { return in_flight() == 0; }, Profile::Doing::All);
  if (options_.watch) options_.watch->rested();
}

void Engine::drain() {
  wait_until([this] { return in_flight() == 0; }, Profile::Doing::Memory);
  if (options_.watch) options_.watch->rested();
}

void Engine::wait_until(const std::function<bool()>& reached, Profile::Doing why, uint32_t record) {
  if (reached()) return;
  auto start = std::chrono::steady_clock::now();
  const Profile::Time begun = options_.profile ? options_.profile->now() : 0;
  std::unique_lock work(mutex_);
  issuer_works_ = false;
  issuer_looks_ = true;
  while (!reached()) {
    work.unlock();
    const bool helped = help();
    work.lock();
    if (helped) continue;
    const bool comes = active_ < threads_ && active_ + looking_ >= threads_;
    issuer_comes_.store(comes, std::memory_order_relaxed);
    look_for_work(work, comes || active_ + looking_ < threads_, reached);
    issuer_comes_.store(false, std::memory_order_relaxed);
    if (next_queue() || reached()) continue;
    issuer_looks_ = false;
    work.unlock();
    {
      std::unique_lock lock(wait_mutex_);
      waiting_.store(true, std::memory_order_seq_cst);
      awaited_ = &reached;
      // The time limit only covers work that became ready while nothing completed, which workers take in any case.
      if (!reached()) progress_.wait_for(lock, std::chrono::milliseconds(20));
      waiting_.store(false, std::memory_order_relaxed);
      awaited_ = nullptr;
    }
    work.lock();
    issuer_looks_ = true;
  }
  issuer_looks_ = false;
  issuer_works_ = true;
  issues_since_ = std::chrono::steady_clock::now();
  // What came while it looked may have been left to it. Workers that are there see whether it comes back.
  Queue* left = next_queue();
  if (left && absent_.size() == static_cast<size_t>(threads_)) call_in(work, wanted(*left->heap.front(), 1));
  work.unlock();
  Stats::Waits& waits = stats_.waits[static_cast<size_t>(why)];
  waits.count += !options_.sync; // with --sync every operation is a wait, which says nothing
  waits.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!options_.profile) return;
  const Profile::Time end = options_.profile->now();
  waited_ += end - begun;
  options_.profile->did(why, begun, end, record);
}

Block Engine::obtain(Operation& op, int device, uint64_t bytes, const Sweep& sweep) {
  Pool& memory = devices_.memory(device);
  const bool fails = is_injected(options_, RunOptions::Fault::Kind::Allocation, injectable_);
  // Memory that a card's work needs no more is there at once for what is launched later: running ahead takes none.
  auto has_room = [&] { return is_card(device) || nodes.ledger.has_room(device, bytes); };
  while (!fails) {
    if (has_room())
      if (Block block = memory.allocate(bytes)) return block;
    if (Block block = nodes.ledger.take(nodes, op, device, bytes)) return block;
    // Waiting keeps others from getting their work; without others there is enough in flight until something ends.
    if (has_others_ && !is_card(device))
      if (Block block = nodes.ledger.claim(nodes, op, device, bytes, memory)) return block;
    if (in_flight() == 0) break;
    // Not for each that completes: what is still in flight then keeps the others at work.
    const uint64_t half = completed_.load(std::memory_order_seq_cst) + std::max<uint64_t>(1, in_flight() / 2);
    wait_until([&] { return in_flight() == 0 || completed_.load(std::memory_order_seq_cst) >= half; },
               Profile::Doing::Memory);
  }
  drain();
  sweep();
  settle(op);
  memory.trim();
  return fails ? Block{} : memory.allocate(bytes);
}

void Engine::use_claims(Operation& op) {
  for (Operation::Claim& claim : op.claims) {
    Pool& memory = *claim.node->block.pool;
    nodes.ledger.gone(*claim.node);
    memory.make_room_by(claim.node->block, claim.bytes);
    if (claim.given) memory.fill_later(claim.given);
  }
}

// Nothing is in flight: what the operation has taken of memory that was dying need not wait for it, and of what it was
// given in one block it keeps what it needs.
void Engine::settle(Operation& op) {
  use_claims(op);
  for (const Operation::Claim& claim : op.claims)
    nodes.release(claim.node);
  op.claims.clear();
  std::erase_if(op.workspaces, [&](Node* node) {
    if (node->data == op.shared) return false;
    nodes.release(node); // gives it back
    return true;
  });
}

bool Engine::allocate(Operation& op, Node& node, int device, uint64_t bytes, const Sweep& sweep) {
  node.block = obtain(op, device, bytes, sweep);
  node.data = node.block.data;
  if (node.block) nodes.ledger.charge(node, device, bytes);
  return static_cast<bool>(node.block);
}

bool Engine::add_workspace(Operation& op, uint64_t bytes, const Sweep& sweep) {
  Block block = obtain(op, op.device, bytes, sweep);
  if (!block) return false;
  nodes.ledger.charge_once(op.device, bytes);
  Node* node = nodes.create();
  nodes.retain(node);
  node->block = block;
  node->account_of = op.device;
  node->data = op.shared = block.data;
  op.workspaces.push_back(node);
  return true;
}

Block Engine::allocate_on_card(Operation& op, uint64_t bytes, const Sweep& sweep) {
  return obtain(op, op.device, bytes, sweep);
}

// Address space alone: reading it gives the system's page of zeros. Null: the system refuses.
const std::byte* Engine::zeros() {
  std::lock_guard lock(failure_mutex_);
  if (!zeros_) {
    void* p = ::mmap(nullptr, kZeros, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED) zeros_ = static_cast<std::byte*>(p);
  }
  return zeros_;
}

FailureRef Engine::effect_failure() {
  std::lock_guard lock(failure_mutex_);
  return effect_failure_;
}

FailureRef Engine::first_failure() {
  std::lock_guard lock(failure_mutex_);
  return first_failure_;
}

void Engine::record(const FailureRef& failure) {
  std::lock_guard lock(failure_mutex_);
  take_first(first_failure_, failure);
}

void Engine::add_calls(RuntimeError& error, const CallSite* call) {
  constexpr int most = 20;
  int n = 0;
  for (; call && n < most; call = call->caller, ++n)
    error.notes.emplace_back("called from here", call->loc);
  int more = 0;
  for (; call; call = call->caller)
    ++more;
  if (more) error.notes.emplace_back(fmt::format("and {} more calls", more), LocId{});
}

// Fills {0}, {1} and {e}.
static std::string fill(const std::string& text, int64_t element, int64_t a, int64_t b) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' && i + 2 < text.size() && text[i + 2] == '}') {
      char hole = text[i + 1];
      if (hole == '0' || hole == '1' || hole == 'e') {
        out += std::to_string(hole == '0' ? a : hole == '1' ? b : element);
        i += 2;
        continue;
      }
    }
    if (text.compare(i, 4, "{d0}") == 0 || text.compare(i, 4, "{d1}") == 0) {
      out += device_name(text[i + 2] == '0' ? a : b);
      i += 3;
      continue;
    }
    out += text[i];
  }
  return out;
}

RuntimeError Engine::error_at_site(int32_t site, int64_t element, int64_t a, int64_t b, LocId loc,
                                   const CallSite* call) const {
  RuntimeError error;
  if (site == kNoMemory) {
    error = {"OutOfMemory", "the system has no memory for a workspace", "", loc, 3, {}};
  } else if (site == kInterrupted) {
    error = {"Interrupted", "interrupted", "", loc, 130, {}};
  } else if (site < 0 || static_cast<size_t>(site) >= program_.sites.size()) {
    error = {"InternalError", fmt::format("a failure at the unknown site {}", site), "", loc, 70, {}};
  } else {
    const ErrorSite& at = program_.sites[static_cast<size_t>(site)];
    error = {at.kind, fill(at.message, element, a, b), fill(at.hint, element, a, b), at.loc.index ? at.loc : loc, 3,
             at.notes};
  }
  add_calls(error, call);
  return error;
}

} // namespace tl
