// Runs a Program: the host interpreter issues operations ahead of their execution, the engine runs them on a pool of
// workers. What a program prints, returns and how it fails depends neither on threads nor on schedules.
#pragma once
#include "abi/kernel.h"
#include "abi/outcome.h"
#include "abi/program/bytecode.h"
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tl {

class Profile;
class Devices;
class Card;
class MemoryWatch;

struct RunOptions {
  int threads = 0;                          // workers; 0: one per core that this process may use
  bool sync = false;                        // each operation finishes before the next is issued
  int cpu_devices = 1;                      // cpu(0) …
  std::vector<std::shared_ptr<Card>> cards; // gpu(0) …
  int device = 0;                           // the index (vm/devices.h) of the one for what belongs to no device
  uint64_t memory_limit = 0;             // of each device, bytes of tensors and workspaces; 0: together, 80 % of memory
  bool flush_each_effect = false;        // for terminals; else output is flushed at waits and at the end
  std::optional<uint64_t> schedule_seed; // permutes ready work, delays it and poisons free memory; the output stays
  uint32_t max_in_flight = 4096;         // operations issued and not finished
  uint32_t max_call_depth = 10000;       // recursion beyond it is a run-time error
  // Becomes true (Ctrl-C): stop issuing, drain, exit code 130. Whoever sets it also calls interrupt_kernels()
  // (vm/interrupt.h), which ends kernels that run.
  const std::atomic<bool>* interrupt = nullptr;
  bool listens = true;          // `interrupted()` may ask for Ctrl-C; a library leaves signals alone
  bool check_nan = false;       // stop at the first operation that computes a NaN from numbers
  Profile* profile = nullptr;   // filled if given
  MemoryWatch* watch = nullptr; // is told of memory and of who uses it (vm/watch.h)
  struct Fault {
    enum class Kind : uint8_t { Allocation, Kernel, Task, Copy } kind;
    uint64_t number;
  };
  std::optional<Fault> inject; // for tests: of this kind the one with this number, from 0 in program order, fails
};

struct Stats {
  uint64_t operations = 0; // issued: kernels, formatting and effects
  uint64_t kernels_launched = 0;
  uint64_t kernels_on_cards = 0;                         // of those that were launched
  std::map<std::string, uint64_t, std::less<>> off_card; // by operation: how often it ran on a CPU in place of its card
  uint64_t card_products = 0, library_products = 0;      // of kernels_on_cards: matrix products; by cuBLASLt
  uint64_t kernels_compiled = 0;                         // distinct kernels asked of the provider
  uint64_t bytes = 0;                                    // that kernels read and wrote, as sizes of their tensors
  uint64_t copies = 0, bytes_copied = 0;                 // between devices
  struct Waits {                                         // times that the program stood still
    uint64_t count = 0;
    double seconds = 0;
  };
  std::array<Waits, 6> waits; // by Profile::Doing
  double seconds = 0;
  uint64_t allocations = 0;           // of blocks for tensors and workspaces
  uint64_t peak_memory = 0;           // bytes of tensors and workspaces, of all devices
  std::vector<uint64_t> device_peaks; // of each, at its own moment
  std::vector<std::string> device_names;
  int threads = 0;
  // With RunOptions::profile, else negative:
  double issue_seconds = -1;       // to make operations and hand them over
  double busy_seconds = -1;        // of all threads that compute, together
  std::vector<double> device_busy; // of each device, if it is a card, else 0
};
int cores(); // that this process may use: the workers of a run that does not say how many

std::string to_text(const Stats& stats); // for --stats, some lines

Devices make_devices(const RunOptions& options);           // vm/devices.h
uint64_t memory_of_each_device(const RunOptions& options); // bytes: what is said, else its share of 80 % of the memory

// Runs the entry function.
//   arguments  one per parameter of program.interface (std::monostate: not given, its default applies), types as there;
//              then values of a session (ir/lower/lower.h): tensors, scalars, strings, lists
//   out, err   where print and debug write; called from one thread at a time, buffered as the options say
//   stats      filled if given
//   devices    whose memory the run uses, with others at the same time; null: its own, as options say
// Throws std::logic_error where the program itself is malformed (a fault of the compiler), and what the provider
// throws.
Outcome run(const Program& program, KernelProvider& kernels, std::vector<Argument> arguments, const RunOptions& options,
            OutputSink out, OutputSink err, Stats* stats = nullptr, const Devices* devices = nullptr);

} // namespace tl
