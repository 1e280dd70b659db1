// A card's work in one run: see CardQueue in vm/card.h.
#pragma once
#include "vm/engine.h"
#include "vm/gpu/card/card.h"

namespace tl {

class GpuQueue : public CardQueue {
public:
  GpuQueue(Engine& engine, GpuCard& card, int device) : engine_(engine), card_(card), device_(device) {}
  ~GpuQueue() override;
  void launch(Operation* op) override;
  void copy(Operation* op) override;

private:
  using Ready = Engine::Ready;
  struct Launched {
    Operation* op;
    uint64_t moment;
    bool runs; // else it had failed before
    GpuCard::Records records;
  };

  void launch_one(Operation* op, Ready& ready);
  void conclude_all();
  void conclude(Launched& launched);
  FailureRef failure(const RuntimeError& error, const Operation& op) const;

  Engine& engine_;
  GpuCard& card_;
  const int device_;
  std::mutex mutex_; // the order of launches, and of launched_
  std::condition_variable work_;
  std::deque<Launched> launched_;
  bool stop_ = false;
  Engine::Worker self_; // the thread that waits for the card, from the first launch on
};

} // namespace tl
