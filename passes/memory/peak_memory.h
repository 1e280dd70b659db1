// How much of the tensor pool a program needs: the bytecode is executed with symbolic sizes and without elements, under
// the VM's own rules (vm/issue.cpp): outputs are reserved when an operation is issued, memory goes back at the last use
// or is taken over by an output, workspaces live as long as their kernel. What comes out is the peak of a `--sync` run,
// which no limit may go below, as formulas in the names of the sizes.
//
// Branches whose condition is not known are followed both ways. Of a loop whose end is not known the turns are taken
// together (peak_loops.cpp): what holds memory and changes in every turn is a formula in their number. Where that
// fails, the loop is followed until a turn changes nothing, and what changes is a name of its own. Calls are followed.
// Requires a Program as passes/schedule makes it. A run that fails earlier needs less.
#pragma once
#include "abi/program/bytecode.h"
#include "lang/size.h"
#include <functional>
#include <map>
#include <optional>

namespace tl {

struct PeakQuery {
  // The names of the axes of each of the program's parameters, in the order of its interface; a name that is in
  // several places is one size. Scalars of type i64 are known by the parameter's name.
  std::vector<std::vector<std::string>> axis_names;
  // What is known of sizes and scalar parameters, by name. Where it is not empty, parameters with a default that have
  // no value here take their default; otherwise they stay names.
  std::map<std::string, Scalar> values;
  // By kernel: bytes that a launch needs for all workers and for each, as formulas in its arguments.
  struct Workspace {
    SizeFormula shared, local;
  };
  std::vector<Workspace> workspaces;
  // The block that so many bytes get from the pool.
  std::function<uint64_t(uint64_t)> block_bytes;
  std::vector<int> threads; // by device: how many compute for it at a time
};

struct PeakMemory {
  struct Part { // of the memory in use at a peak
    Size bytes;
    std::string what;       // "f32", "argument `x`", "a workspace"
    std::vector<Size> dims; // of an element type
    LocId loc;
  };
  struct Moment {
    Size bytes;
    LocId loc;               // of the operation that is issued
    std::vector<Part> parts; // the largest first
  };
  struct Unknown {
    std::string name; // in the formulas, or empty: the formulas lack this part
    std::string what; // in the user's words
    LocId loc;
  };
  struct Device {
    std::string name;
    std::vector<Moment> moments;   // the peak is the largest of these
    bool at_most = false;          // the formulas are bounds: too many moments compete
    std::optional<uint64_t> exact; // with the pool's block sizes, where all sizes are known
    bool always = true;            // `exact` is reached whatever the program's numbers are
  };
  SizeAtoms atoms; // of the sizes here
  std::vector<Device> devices;
  std::vector<Unknown> unknown;
};

// Throws std::logic_error where the program is malformed.
PeakMemory peak_memory(const Program& program, const PeakQuery& query);

// "peak of cpu(0): 8*n*m + 1024 bytes" and below what it is made of and what is not known; `place` gives "a.tl:3".
std::string to_text(const PeakMemory& peak, const std::function<std::string(LocId)>& place);

} // namespace tl
