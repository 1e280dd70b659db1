// The stopwatches of a run (the module bench): numbered from 0, in the order in which they were started.
#pragma once
#include "abi/dtype.h"
#include <chrono>
#include <vector>

namespace tl {

// Start () -> i64 number; Lap (number); Total (number) -> f64 seconds, of all laps; Count (number) -> i64, of laps.
enum class StopwatchOp : uint8_t { Start, Lap, Total, Count };
constexpr int kStopwatchOpCount = 4;

class Stopwatches {
public:
  // A number that no stopwatch has counts as one without laps.
  Scalar operator()(StopwatchOp op, int64_t number) {
    const auto now = std::chrono::steady_clock::now();
    if (op == StopwatchOp::Start) {
      all_.push_back({now, 0, 0});
      return Scalar::of(static_cast<int64_t>(all_.size()) - 1);
    }
    const bool known = number >= 0 && number < static_cast<int64_t>(all_.size());
    Stopwatch none{};
    Stopwatch& watch = known ? all_[static_cast<size_t>(number)] : none;
    if (op == StopwatchOp::Lap) {
      watch.total += std::chrono::duration<double>(now - watch.begun).count();
      watch.begun = now;
      ++watch.laps;
    }
    return op == StopwatchOp::Count ? Scalar::of(watch.laps) : Scalar::of(watch.total);
  }

private:
  struct Stopwatch {
    std::chrono::steady_clock::time_point begun; // the lap that runs
    double total = 0;
    int64_t laps = 0;
  };
  std::vector<Stopwatch> all_;
};

} // namespace tl
