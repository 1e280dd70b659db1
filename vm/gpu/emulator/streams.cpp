#include "vm/gpu/emulator/streams.h"
#include "vm/gpu/emulator/report.h"
#include <algorithm>

namespace tl::emulator {

void Scheduler::remove(Queue* queue) { queues_.erase(std::find(queues_.begin(), queues_.end(), queue)); }

bool Scheduler::can_run(const Queue& queue) const {
  if (queue.waiting_.empty()) return false;
  const Operation& first = queue.waiting_.front();
  return !first.wait || first.wait->reached;
}

void Scheduler::step(Queue& queue) {
  Operation operation = std::move(queue.waiting_.front());
  queue.waiting_.pop_front();
  ++queue.ran_;
  if (!operation.wait) operation.run();
}

void Scheduler::force(std::vector<Need> needs, uint64_t steps) {
  bool ahead = random_.one_in(2); // may others run ahead?
  std::vector<Queue*> ready;
  while (steps-- > 0) {
    // Needs grow by the streams that those in need wait for; places that are reached are needs no more.
    ready.clear();
    for (size_t i = 0; i < needs.size();) {
      auto [queue, place] = needs[i];
      if (queue->ran_ >= place) {
        needs.erase(needs.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      ++i;
      if (can_run(*queue)) {
        ready.push_back(queue);
        continue;
      }
      const Mark& mark = *queue->waiting_.front().wait;
      auto known = std::find_if(needs.begin(), needs.end(), [&](const Need& n) { return n.queue == mark.queue; });
      if (known == needs.end())
        needs.push_back({mark.queue, mark.place});
      else
        known->place = std::max(known->place, mark.place);
    }
    if (needs.empty()) return;
    if (ready.empty()) stop("streams wait for each other"); // a wait names what was recorded before it: cannot be
    if (ahead) {
      for (Queue* queue : queues_)
        if (can_run(*queue) && std::find(ready.begin(), ready.end(), queue) == ready.end()) ready.push_back(queue);
    }
    step(*ready[random_.below(ready.size())]);
  }
}

void Scheduler::force_all(const std::vector<Queue*>& queues) {
  std::vector<Need> needs;
  for (Queue* queue : queues)
    needs.push_back({queue, queue->issued()});
  force(std::move(needs), UINT64_MAX);
}

bool Scheduler::poll(Queue* queue, uint64_t place) {
  if (queue->ran() < place && random_.one_in(4))
    force({{queue, place}}, random_.one_in(2) ? UINT64_MAX : random_.below(8));
  return queue->ran() >= place;
}

} // namespace tl::emulator
