#include "vm/gpu/card/queue.h"
#include <algorithm>
#include <cstring>

namespace tl {

GpuQueue::~GpuQueue() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (marked_) card_.give_back(marked_);
  engine_.stats_.card_products += products_;
  engine_.stats_.library_products += by_library_;
}

FailureRef GpuQueue::failure(const RuntimeError& error, const Operation& op) const {
  RuntimeError placed = error;
  if (!placed.loc.index) placed.loc = op.loc;
  Engine::add_calls(placed, op.call);
  return FailureRef(new Failure(std::move(placed), op.moment));
}

void GpuQueue::launch(Operation* op) {
  Ready work{op}, ready;
  for (size_t k = 0; k < work.size(); ++k) {
    launch_one(work[k], ready);
    for (Operation* next : ready)
      if (next->card == device_)
        work.push_back(next);
      else
        engine_.push(next);
    ready.clear();
  }
}

void GpuQueue::copy(Operation* op) {
  op->task = [this](Operation& copied) {
    Card* to = engine_.devices_.card(copied.device);
    Card* from = engine_.devices_.card(copied.from_device);
    for (const Operation::Copy& copy : copied.copies) {
      if (!to) {
        from->copy_out(copy.to, copy.from, copy.bytes);
      } else if (!from) {
        to->copy_in(copy.to, copy.from, copy.bytes, copy.after);
      } else {
        static_cast<GpuCard*>(to)->copy_from(static_cast<const GpuCard&>(*from), copy.to, copy.from, copy.bytes,
                                             copy.after);
      }
    }
  };
  engine_.run_task(op);
}

void GpuQueue::launch_one(Operation* op, Ready& ready) {
  std::lock_guard lock(mutex_);
  const bool runs = engine_.begin(op);
  Launched launched{op, 0, runs, {}, {}};
  if (runs) {
    try {
      const bool copies = op->kind == Operation::Kind::Copy;
      if (copies)
        launched.pinned = card_.take_pinned(static_cast<size_t>(op->copies.at(0).bytes));
      else
        launched.records = card_.take_records(op->gpu_kernel->sites.size());
      if (Profile* profile = engine_.options_.profile; profile && !std::exchange(timed_, true)) {
        marked_ = card_.mark();
        marked_at_ = profile->now();
      }
      by_library_ += card_.launch(*op, launched.pinned, launched.records);
      products_ += !copies && op->gpu_kernel->multiplies;
      launched.moment = card_.moment();
      if (engine_.options_.profile || op->device != op->card || ++unmarked_ == kMarkEvery) {
        launched.end = card_.mark();
        unmarked_ = 0;
      }
    } catch (const RuntimeError& error) {
      op->failure = failure(error, *op);
      engine_.record(op->failure);
      launched.moment = card_.moment();
      launched.runs = false;
      launched.records = {}; // a phase that was launched may write them at any time
    }
  }
  Pool::free(op->card_shared); // for what is launched later
  Pool::free(op->card_local);
  for (Node* node : op->outputs) {
    if (node->card < 0) continue;                           // on the host: there it is done later
    if (!launched.runs) node->launch_failure = op->failure; // what reads it must not run on what nobody has written
    Edge* edge = node->launch_waiters.exchange(Node::done_mark(), std::memory_order_acq_rel);
    while (edge) {
      Edge* next = edge->next;
      engine_.count_down(edge->consumer, op, ready);
      edge = next;
    }
    node->release_user();
  }
  for (Operation::Input& input : op->inputs)
    engine_.release_input(input, op, ready);
  launched_.push_back(launched);
  if (!thread_.joinable()) {
    engine_.seed(self_, engine_.threads_ + 1 + static_cast<int>(engine_.lanes_.size()) + device_);
    thread_ = std::thread([this] { conclude_all(); });
  }
  work_.notify_one();
}

void GpuQueue::conclude_all() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return stop_ || !launched_.empty(); });
    if (launched_.empty()) return;
    const uint64_t moment = wait_for_some(lock);
    std::vector<Launched> done;
    while (!launched_.empty() && launched_.front().moment <= moment) {
      done.push_back(launched_.front());
      launched_.pop_front();
    }
    lock.unlock();
    for (Launched& each : done)
      conclude(each);
    lock.lock();
  }
}

// Until the first that were launched are done. Returns the moment of the last of those; the lock is held again.
uint64_t GpuQueue::wait_for_some(std::unique_lock<std::mutex>& lock) {
  try {
    const auto marked = std::find_if(launched_.begin(), launched_.end(), [](const Launched& l) { return l.end; });
    const bool own = marked == launched_.end();
    const uint64_t moment = own ? card_.moment() : marked->moment;
    const cuda::Event mark = own ? card_.mark() : marked->end;
    if (own) unmarked_ = 0;
    lock.unlock();
    card_.wait(mark, moment);
    if (own) card_.give_back(mark);
    lock.lock();
    return moment;
  } catch (const RuntimeError& error) { // the card cannot go on
    if (!lock.owns_lock()) lock.lock();
    const FailureRef lost = failure(error, *launched_.front().op);
    engine_.record(lost);
    for (Launched& each : launched_)
      if (!each.op->failure) each.op->failure = lost;
    return UINT64_MAX;
  }
}

// Everything that it reads is done: on this card in the same order, or before it was launched.
void GpuQueue::conclude(Launched& launched) {
  Operation* op = launched.op;
  std::vector<GpuRecord> records;
  try {
    if (launched.records.bytes) records = card_.failures(launched.records, op->gpu_kernel->sites.size());
    card_.give_back(launched.records);
  } catch (const RuntimeError& error) { // the card cannot go on
    if (!op->failure) engine_.record(op->failure = failure(error, *op));
  }
  FailureRef failed;
  for (const Operation::Input& input : op->inputs)
    take_first(failed, input.node->failure);
  if (failed) { // what it computed, and found wrong, was from nothing
    if (launched.runs || !op->failure || failed->before(*op->failure)) op->failure = std::move(failed);
  } else if (!op->failure && op->gpu_kernel) {
    for (size_t k = 0; k < records.size(); ++k)
      if (const GpuRecord& r = records[k]; r.there)
        op->errors.first.push_back({op->gpu_kernel->sites[k], r.element, r.a, r.b});
  } else if (!op->failure && op->device != op->card) {
    for (const Operation::Copy& copy : op->copies)
      if (copy.bytes > 0) std::memcpy(copy.to, launched.pinned.host, static_cast<size_t>(copy.bytes));
  }
  if (launched.end && engine_.options_.profile)
    note_times(*op, launched.end);
  else if (launched.end)
    card_.give_back(launched.end);
  card_.give_back(launched.pinned);
  for (const Operation::Copy& copy : op->copies)
    if (op->kind == Operation::Kind::Copy) card_.end_brief_copy(copy.bytes);
  Ready ready;
  engine_.complete(self_, op, ready);
  for (Operation* next : ready)
    engine_.push(next);
}

// It began when it was launched, or when what was launched before it ended.
void GpuQueue::note_times(Operation& op, cuda::Event end) {
  Profile& profile = *engine_.options_.profile;
  double seconds = 0;
  try {
    seconds = card_.seconds_between(marked_, end);
  } catch (const RuntimeError&) { // the card is lost, which is reported
  }
  card_.give_back(std::exchange(marked_, end));
  op.begun = std::max(op.begun, marked_at_);
  marked_at_ += static_cast<Profile::Time>(seconds * 1e9);
  op.ended = std::max(op.begun, marked_at_);
  if (op.record) op.record->begun = op.begun;
  profile.ran(self_.index, op.record, op.begun, op.ended);
}

} // namespace tl
