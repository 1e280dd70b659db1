// What a run did and when: filled by the engine where RunOptions::profile points to one. Without a timeline it adds up:
// time and bytes by the place in the source that issued an operation, and how busy the threads were. With one it keeps
// every operation, what each thread ran when, and what the issuing thread did and waited for.
//
// Each thread writes to a buffer of its own, so recording takes no lock. Memory is bounded: what comes after the most
// that is kept is counted, not kept.
#pragma once
#include "abi/program/bytecode.h"
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tl {

class Profile {
public:
  using Clock = std::chrono::steady_clock;
  using Time = int64_t; // nanoseconds since the profile was made

  // Of all operations issued from one place. An operation's time is from its start to its end on the clock; those of
  // different places may overlap.
  struct Row {
    uint64_t operations = 0;
    double seconds = 0;
    uint64_t bytes = 0; // read and written, as sizes of tensors
  };

  // What the issuing thread does besides walking through the program.
  enum class Doing : uint8_t {
    Issue,    // makes and hands over an operation
    Compile,  // waits for a kernel's machine code
    Value,    // waits for a value that the program must know
    Memory,   // waits until work in flight has given back memory
    InFlight, // waits because too many operations are in flight
    All,      // waits for everything: wait_all(), the end, --sync
  };
  static constexpr size_t kDoings = 6;

  // ---- with a timeline ----
  struct Shape {
    DType dtype{};
    std::vector<int64_t> dims;
  };
  struct Operation {
    uint32_t number = 0; // from 1, in program order
    LocId loc;
    std::string_view name; // of the kernel, or of the run-time entry; lives as long as the profile
    bool is_copy = false;  // from one device to another
    int16_t device = 0, lane = -1;
    uint64_t bytes = 0;
    Time issued = 0, ready = -1, begun = -1, ended = -1; // -1: it was not
    uint32_t released_by = 0;        // the operation whose end made it ready; 0: it was when it was issued
    std::vector<uint32_t> inputs;    // operations that computed them; those that are left out not
    std::vector<Shape> reads, makes; // of tensors
  };
  struct Piece { // of an operation, that one thread ran
    uint32_t operation;
    Time begin, end;
  };
  struct Span { // of the issuing thread
    Doing doing;
    LocId loc;
    uint32_t operation; // that is issued, or waited for; 0: none that is known
    Time begin, end;
  };
  struct Sample { // bytes in use in the memory of a device
    int16_t device;
    Time at;
    uint64_t bytes;
  };
  struct Device {
    std::string name; // "gpu(0)"
    int cores;        // threads that compute for it at a time; of a card 0
  };
  // A thread: the workers from 0, then the issuing thread, then lanes, then for each device its stream if it is a card.
  struct Thread {
    double busy = 0; // seconds that it ran pieces
    std::vector<Piece> pieces;
    std::vector<Sample> samples;
    std::unordered_map<uint32_t, Row> rows; // by LocId
    uint64_t left_out = 0;
  };

  explicit Profile(bool timeline) : timeline(timeline) {}

  // ---- the engine ----
  void begin(int workers, int threads, std::vector<Device> devices); // once
  Time now() const { return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_).count(); }
  // The issuing thread:
  void watch(const Instruction* const* instruction) { instruction_ = instruction; } // what it executes
  Operation* create(); // of the current instruction; null: left out, or no timeline
  void create_ended(Time begun, Time end, Time waited) {
    issue_seconds_ += static_cast<double>(end - begun - waited) * 1e-9;
  }
  void set_name(Operation& operation, std::string_view name);
  void did(Doing doing, Time begin, Time end, uint32_t operation = 0);
  void finish() { end_ = now(); } // of the run
  // Each thread for itself:
  void ran(int thread, const Operation* operation, Time begin, Time end);
  void finished(int thread, LocId loc, Time begin, Time end, uint64_t bytes);
  void sample(int thread, int device, uint64_t bytes);

  // ---- after the run ----
  std::map<uint32_t, Row> rows() const; // by LocId
  double busy_seconds() const;          // of workers, and of the issuing thread in their place
  double issue_seconds() const { return issue_seconds_; }
  int workers() const { return workers_; }
  const std::vector<Device>& devices() const { return devices_; }
  size_t stream_of(size_t device) const { return threads_.size() - devices_.size() + device; } // of threads()
  const std::vector<std::unique_ptr<Thread>>& threads() const { return threads_; }
  const std::vector<Span>& spans() const { return spans_; }
  size_t operation_count() const { return count_; }
  const Operation& operation(uint32_t number) const { return chunks_[(number - 1) / kChunk][(number - 1) % kChunk]; }
  Time end() const { return end_; }
  uint64_t left_out() const; // operations, pieces and spans beyond the most that are kept

  const bool timeline;

private:
  static constexpr size_t kChunk = 1024, kMostOperations = 500'000, kMostPieces = 2'000'000, kMostSpans = 1'500'000;
  Clock::time_point start_ = Clock::now();
  Time end_ = 0;
  int workers_ = 0;
  std::vector<Device> devices_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<std::unique_ptr<Operation[]>> chunks_; // operations stay where they are: workers write to them
  size_t count_ = 0;
  uint64_t left_out_ = 0;
  std::vector<Span> spans_;
  std::set<std::string, std::less<>> names_;
  const Instruction* const* instruction_ = nullptr;
  double issue_seconds_ = 0;
};

std::string_view name_of(Profile::Doing doing);

} // namespace tl
