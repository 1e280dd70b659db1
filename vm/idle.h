// Why threads, or a card, stood idle: the timeline of a run is cut where anything changed, and each cut in which fewer
// threads computed than may gets one cause. What is named is what would have to change for the work to overlap.
#pragma once
#include "vm/profile.h"
#include <functional>

namespace tl {

struct IdleReport {
  enum class Why : uint8_t {
    Dependency,  // what is issued needs the result of the operation at `loc`, which does not use all threads
    Lane,        // the same, where that reads or writes a file or copies between devices
    Parallelism, // nothing else was left to do but the operation at `loc`
    Elsewhere,   // the same, and another device did it
    Wait,        // the program waits at `loc` for `other`, and has issued nothing else
    Memory,      // issuing waits at `loc` for memory, and what comes soon could have run
    InFlight,    // the same: too many operations are in flight
    Compile,     // the same: the issuing thread waits for machine code
    Issue,       // it hands over the operation at `loc`
    Host,        // it computes: sizes, text, files' headers, before the operation at `loc`
    HandOver,    // work was ready, and a thread on its way
    Unknown,     // operations that were left out of the timeline
  };
  struct Cause {
    Why why;
    LocId loc, other;
    std::string_view name; // of the operation; lives as long as the profile's
    double seconds = 0;    // of threads that were idle
    double busy = 0;       // threads that computed meanwhile, on average
    uint64_t gaps = 0;
  };
  std::vector<Cause> causes; // the most time first
  double seconds = 0;        // of the run
  double idle = 0;           // of all threads together
  int threads = 0;
  std::string card; // "gpu(0)"; empty: of the threads
  uint64_t left_out = 0;
};

// Of a profile with a timeline, after the run: of the threads, then of each card that did anything.
std::vector<IdleReport> explain_idle(const Profile& profile);

// A table of at most `rows` causes, the rest added up; `place` gives "a.tl:3", or "" for none.
std::string to_text(const IdleReport& report, const std::function<std::string(LocId)>& place, size_t rows = 20);

} // namespace tl
