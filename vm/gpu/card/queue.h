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
    uint64_t moment = 0;
    bool runs = true;          // else it had failed before
    GpuCard::Pinned pinned;    // of a copy
    GpuCard::Records records;  // of a kernel
    cuda::Event end = nullptr; // of some: see kMarkEvery
  };

  // The thread that waits for the card does so at marks: behind each copy to the host, which somebody waits for, behind
  // every so many others, and where it finds none. With a profile behind all.
  static constexpr int kMarkEvery = 64;

  void launch_one(Operation* op, Ready& ready);
  void conclude_all();
  uint64_t wait_for_some(std::unique_lock<std::mutex>& lock);
  void conclude(Launched& launched);
  void note_times(Operation& op, cuda::Event end);
  FailureRef failure(const RuntimeError& error, const Operation& op) const;

  Engine& engine_;
  GpuCard& card_;
  const int device_;
  std::mutex mutex_; // the order of launches, and of launched_
  std::condition_variable work_;
  std::deque<Launched> launched_;
  uint64_t products_ = 0, by_library_ = 0; // matrix products that were launched; of these
  bool stop_ = false, timed_ = false;
  int unmarked_ = 0;             // launched since the last mark
  cuda::Event marked_ = nullptr; // with a profile: the end of what was concluded last,
  Profile::Time marked_at_ = 0;  // and when that was
  std::thread thread_;           // waits for the card, from the first launch on
  Engine::Worker self_;          // its
};

} // namespace tl
