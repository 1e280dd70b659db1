#include "vm/gpu/card/queue.h"

namespace tl {

GpuQueue::~GpuQueue() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  if (self_.thread.joinable()) self_.thread.join();
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
      if (next->on_card && next->device == device_)
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
      } else { // by way of the host
        std::vector<std::byte> between(static_cast<size_t>(copy.bytes));
        from->copy_out(between.data(), copy.from, copy.bytes);
        to->copy_in(copy.to, between.data(), copy.bytes, copy.after);
      }
    }
  };
  engine_.run_task(op);
}

void GpuQueue::launch_one(Operation* op, Ready& ready) {
  std::lock_guard lock(mutex_);
  bool runs = engine_.begin(op);
  GpuCard::Records records;
  if (runs) {
    try {
      records = card_.take_records(op->gpu_kernel->sites.size());
      card_.launch(*op, records);
    } catch (const RuntimeError& error) {
      op->failure = failure(error, *op);
      engine_.record(op->failure);
      runs = false;
    }
  }
  Pool::free(op->shared); // for what is launched later
  Pool::free(op->local);
  for (Node* node : op->outputs) {
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
  launched_.push_back({op, card_.moment(), runs, records});
  if (!self_.thread.joinable()) {
    engine_.seed(self_, engine_.threads_ + 1 + static_cast<int>(engine_.lanes_.size()) + device_);
    self_.thread = std::thread([this] { conclude_all(); });
  }
  work_.notify_one();
}

// Waits for the card as often as it has work: one event for all that was launched meanwhile.
void GpuQueue::conclude_all() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return stop_ || !launched_.empty(); });
    if (launched_.empty()) return;
    lock.unlock();
    FailureRef lost; // the card cannot go on
    uint64_t moment = UINT64_MAX;
    try {
      moment = card_.finish();
    } catch (const RuntimeError& error) {
      std::lock_guard again(mutex_);
      lost = failure(error, *launched_.front().op);
      engine_.record(lost);
    }
    lock.lock();
    std::vector<Launched> done;
    while (!launched_.empty() && launched_.front().moment <= moment) {
      done.push_back(launched_.front());
      launched_.pop_front();
    }
    lock.unlock();
    for (Launched& each : done) {
      if (lost && !each.op->failure) each.op->failure = lost;
      conclude(each);
    }
    lock.lock();
  }
}

// Everything that it reads is done: on this card in the same order, or before it was launched.
void GpuQueue::conclude(Launched& launched) {
  Operation* op = launched.op;
  FailureRef failed;
  for (const Operation::Input& input : op->inputs)
    take_first(failed, input.node->failure);
  if (failed) { // what it computed, and found wrong, was from nothing
    if (launched.runs || !op->failure || failed->before(*op->failure)) op->failure = std::move(failed);
  } else if (!op->failure) {
    for (size_t k = 0; k < launched.records.count; ++k) {
      const GpuRecord& record = launched.records.host[k];
      if (record.site >= 0) op->errors.first.push_back({record.site, record.element, record.a, record.b});
    }
  }
  card_.give_back(launched.records);
  Ready ready;
  engine_.complete(self_, op, ready);
  for (Operation* next : ready)
    engine_.push(next);
}

} // namespace tl
