// Where the time of a run goes: what each operation took, by the place in the source that issued it, and if wanted a
// timeline of what every worker did. Filled by the engine when RunOptions::profile points to one.
#pragma once
#include "vm/abi/error.h"
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tl {

class Profile {
public:
  using Clock = std::chrono::steady_clock;

  // Of all operations issued from one place. An operation's time is from its start to its end on the clock; those of
  // different places may overlap.
  struct Row {
    uint64_t operations = 0;
    double seconds = 0;
    uint64_t bytes = 0; // read and written, as sizes of tensors
  };
  // A piece of an operation that one worker ran.
  struct Piece {
    std::string name; // of the kernel, or "task"
    LocId loc;
    int worker = 0;            // the last one is the issuing thread
    double begin = 0, end = 0; // seconds since the profile was made
  };

  explicit Profile(bool timeline) : timeline(timeline) {}

  // Thread-safe.
  void finished(LocId loc, Clock::time_point begin, Clock::time_point end, uint64_t bytes);
  void ran(const std::string& name, LocId loc, int worker, Clock::time_point begin, Clock::time_point end);

  // After the run:
  const std::map<uint32_t, Row>& rows() const { return rows_; } // by LocId
  const std::vector<Piece>& pieces() const { return pieces_; }
  uint64_t left_out() const { return left_out_; } // pieces beyond the most that are kept

  const bool timeline; // keep pieces

private:
  static constexpr size_t kMostPieces = 2'000'000;
  double since_start(Clock::time_point t) const { return std::chrono::duration<double>(t - start_).count(); }
  Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  std::map<uint32_t, Row> rows_;
  std::vector<Piece> pieces_;
  uint64_t left_out_ = 0;
};

} // namespace tl
