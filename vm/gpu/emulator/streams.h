// Streams: queues of operations that run as late as the program allows.
//
// Nothing runs until something needs it: a synchronisation, a free of memory, a query now and then. Then the operations
// up to there run, and those of other streams for which an event makes them wait, one at a time, the stream chosen by
// the seed. Sometimes (by the seed) streams that nothing needs run ahead too. So what only happens to be in order on a
// card is not in order here.
#pragma once
#include "vm/gpu/emulator/random.h"
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace tl::emulator {

class Queue;

// What a record of an event stands for: a place in a stream.
struct Mark {
  Queue* queue = nullptr;
  uint64_t place = 0; // operations of the queue that come before it, itself included
  bool reached = false;
  std::chrono::steady_clock::time_point at; // when it was reached
};

struct Operation {
  std::function<void()> run;  // what it does, unless it waits
  std::shared_ptr<Mark> wait; // or what must be reached before anything behind it runs
};

// Not thread-safe: all of the emulator runs under one lock.
class Queue {
public:
  void add(Operation operation) { waiting_.push_back(std::move(operation)); }
  uint64_t issued() const { return ran_ + waiting_.size(); }
  uint64_t ran() const { return ran_; }

private:
  friend class Scheduler;
  std::deque<Operation> waiting_;
  uint64_t ran_ = 0;
};

class Scheduler {
public:
  explicit Scheduler(uint64_t seed) : random_(seed) {}
  void add(Queue* queue) { queues_.push_back(queue); }
  void remove(Queue* queue); // nothing waits in it

  // Runs what is needed so that the queue has run its first `place` operations.
  void force(Queue* queue, uint64_t place) { force(std::vector<Need>{{queue, place}}, UINT64_MAX); }
  void force_all(const std::vector<Queue*>& queues);
  // A program that polls: true, the place is reached; now and then, something runs on the way.
  bool poll(Queue* queue, uint64_t place);

private:
  struct Need {
    Queue* queue;
    uint64_t place;
  };
  void force(std::vector<Need> needs, uint64_t steps);
  bool can_run(const Queue& queue) const;
  void step(Queue& queue);

  Random random_;
  std::vector<Queue*> queues_;
};

} // namespace tl::emulator
