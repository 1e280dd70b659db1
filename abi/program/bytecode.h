// What the VM executes. Made by passes/schedule, run by vm/, and internal: a file of it carries the exact build.
//
// A frame is an array of slots. A slot holds one of: a host scalar (known while issuing), a tensor handle (its elements
// are computed later; dtype and sizes are known while issuing), a string handle (computed later). Handles may be
// poisoned by a failure, and so may host scalars (a checked host division by zero, say): what is computed from a
// poisoned value is poisoned by the same failure, and the first effect, Await, branch or end of program that needs it
// stops the program. Where a rank-0 tensor may appear, a host scalar may too (Await of one is a Move): a branch
// may give either.
#pragma once
#include "abi/error.h"
#include "abi/format_template.h"
#include "abi/interface.h"
#include "abi/kernel.h"
#include "abi/load_options.h"
#include "abi/scalar_op.h"
#include "abi/tensor.h"

namespace tl {

struct Slot {
  uint32_t index = 0;
  bool operator==(const Slot&) const = default;
};

// An input of an instruction; `last_use`: the frame gives its reference away (fixed at compile time).
struct Operand {
  Slot slot;
  bool last_use = false;
};

enum class BcOp : uint8_t {
  ConstScalar, // out0 <- scalar `imm` of dtype
  ConstTensor, // out0 <- tensors[index]
  ConstStr,    // out0 <- strings[index]
  Move,        // out0 <- in0
  Scalar,      // out0 <- scalar(dtype; in...)                          host scalars, at once
  Convert,     // out0 <- in0 converted from dtype2 to dtype            host scalar
  Guard,       // out0 <- in0 if host bool in1 holds, else poisoned by sites[index] with payload in2, in3 (host i64s)
  Await,       // out0 <- host scalar out of the rank-0 tensor in0: waits
  View,        // out0 <- tensor in0 under the sizes outputs[0].dims, starting `in1` elements later (in1 optional); free
  Launch,      // kernel `index` on in...; makes out... as described by outputs; asynchronous
  Sort, // SortOp `index` of rows of n elements to rows of k, element type (host i64s), then x; asynchronous, as Launch
  Linalg, // LinalgOp `index` on batch, m, n, k and site (host i64s) and its operands in in...; asynchronous, as Launch
  Host,   // the run-time entry host_op on in...; asynchronous unless its HostOp says otherwise
  Jump,   // to instruction `target`
  JumpIfNot, // to `target` unless host bool in0 (a poisoned condition stops the program)
  Call,      // out... <- functions[index](in...)
  Return,    // in... are the results
  Drop,      // releases the slots in...
};

// Run-time entries. (effect): runs in program order among effects, without holding up anything else.
enum class HostOp : uint8_t {
  Format, // out0: str <- formats[index] with in... filled in (host scalars, tensors or strings)
  Print,  // (effect) writes the strings in..., as they are; index 1: to stderr
  Assert, // (effect) in0: bool, host scalar or rank-0 tensor; if false, fails with sites[site], whose message is
          // formats[index] filled with in1...
  Load,   // (effect) in0: path (str), optional in1: name of one tensor among several (str), dtype, imm: LoadOptions;
          // outputs[0].dims.size() is the rank. out0: tensor, out1...: its sizes as host i64s, which the issuing waits
          // for (reads the header when its turn comes)
  Save,   // (effect) in0: path (str), then a tensor or host scalar; or names (str, one a line) and as many of those,
          // one after the other or in one list
  Exists, // (effect) in0: path (str). out0 <- host bool "is there such a file or folder", waits for its turn; with
          // in1 (str): "has the file a tensor of this name, or of one that goes on with a dot after it"
  ReadText,    // (effect) in0: path (str). out0: str <- the file's UTF-8 text; index 1: the names of its tensors
  WriteText,   // (effect) in0: path (str), in1: str
  Wait,        // waits until in... are computed; out... are the same values
  WaitAll,     // waits for everything issued
  Time,        // out0 <- f64 seconds, at once, when reached
  Interrupted, // out0 <- bool: has Ctrl-C been pressed, when reached (abi/interrupted.h)
  Exit,        // (effect) drains, then ends the program with in0: i64
  ListMake,    // out0 <- list of ints[1] elements of ints[0] leaves each, row by row in in...
  ListLength,  // out0 <- host i64
  ListGet,     // out... <- the leaves of element in1 of in0, then the sizes that ints names (leaf, axis, leaf, axis …)
  ListSet,     // out0 <- in0 with element in1 replaced by in2...
  ListAppend,  // out0 <- in0 and one more element, in1...
  ListConcat,  // out0 <- the elements of in0, then those of in1
  ListSlice,   // out0 <- Python's slice of in0; ints: which of first, last and step are in...
  ListJoin,  // out0: tensor of the elements of in0, joined along axis ints[0] (ints[1]: a new one), out1...: its sizes
  Text,      // TextOp `index`. Text from text is made asynchronously; numbers and lists wait for the text
  ReadLine,  // (effect) out0: str <- a line of standard input
  Debug,     // (effect) prints place (loc), type, min, mean, max and NaN count of in0 to stderr; index: 0, or 1 + the
             // format that is its name
  Plot,      // (effect) PlotKind `index` of the strings and tensors in in..., as ints say: see ir/graph/graph.h
  Stopwatch, // StopwatchOp `index`, at once, when reached; in0: its number. out0 <- host i64 or f64
  DeviceCount,   // out0 <- host i64: how many devices of DeviceKind `index` there are
  DeviceOf,      // out0 <- host i64: the device of in0, or -1 (kNoDevice)
  Transfer,      // out0 <- in0 in the memory of device in1; asynchronous, free where it is there already
  Place,         // out0 <- in0 where it has a device, else on device in1; of a list: its elements
  DeviceInfo,    // out0: str, out1, out2: host i64, out3: str <- name, memory, cores, compute capability of device in0
  MemoryStats,   // out0... <- host i64s: bytes in use, peak, cached, limit of device in0's pool, at once, when reached
  ReleaseCache,  // gives what the pool of device in0 has cached back to the system, at once, when reached
  ProcessRank,   // out0 <- host i64
  WorldSize,     // out0 <- host i64
  AllReduce,     // out0 <- the sum of every process's in0
  BroadcastFrom, // out0 <- in0 of process in1
  Progress, // (effect) a bar on stderr: in0 of in1 are done (i64s), in2: str beside it, once in3... are computed; index
            // 1: the last of them
};

struct SizeRef { // a size: a constant, or a host i64 slot
  bool is_slot = false;
  int64_t constant = 0;
  Slot slot;
};

enum class AliasMode : uint8_t {
  None,    // fresh memory
  Reuse,   // may take the memory of input `alias` if that is a last use and nobody else holds it
  Initial, // starts as a copy of input `alias`; takes its memory instead if that is a last use and nobody else holds it
};

// Whose failures an output suffers.
struct Suffers {
  std::vector<int32_t> sites;   // in the kernel: ErrorSites
  std::vector<uint32_t> inputs; // operands
};

struct OutputDesc {
  DType dtype = DType::F32;
  std::vector<SizeRef> dims;
  AliasMode mode = AliasMode::None;
  uint32_t alias = 0; // index into `in`
  enum class Kind : uint8_t { Tensor, Str, List } kind = Kind::Tensor;
  // Inputs of a Launch or Linalg that may have a device: the first that has gives it to the output. Empty: to none, as
  // in programs that know no devices.
  std::vector<uint32_t> device_of = {};
  std::optional<Suffers> suffers = {}; // of a Launch of sequential code. Nothing: all failures, whosever
};

struct Instruction {
  BcOp op;
  ScalarOp scalar{};
  HostOp host_op{};
  DType dtype{}, dtype2{};
  LocId loc;
  uint32_t index = 0;  // kernel, constant, function, format or site, by op
  uint32_t target = 0; // jumps
  int32_t site = -1;   // Assert: its ErrorSite
  Scalar imm;
  std::vector<Operand> in;
  std::vector<Slot> out;
  std::vector<OutputDesc> outputs; // Launch, Linalg, View, Load, ListGet, ListJoin, Text
  std::vector<int64_t> ints;       // of list and text operations
  // Launch of sequential code with conditions: what these suffer. Where that has failed the program ends: an effect.
  std::optional<Suffers> decides;
};

struct BcFunction {
  std::string name;
  uint32_t slot_count = 0;
  std::vector<Slot> params;
  std::vector<Instruction> code;
};

// The entry function's parameters, in this order for each parameter of main: with has_default, a host bool "was it
// given"; then for a tensor its sizes as host i64s and the tensor; otherwise the scalar or string. Its results are the
// leaves of main's result.
struct Program {
  ProgramInterface interface;
  std::vector<BcFunction> functions;
  uint32_t entry = 0;
  uint32_t kernel_count = 0;
  std::vector<HostTensor> tensors;
  std::vector<std::string> strings;
  std::vector<FormatTemplate> formats;
  std::vector<ErrorSite> sites;
  std::vector<Location> locations; // by LocId; [0] is nowhere
};

// What an instruction that becomes an operation is called in profiles: "print", "svd", "guard".
std::string_view operation_name(const Instruction& instruction);

// The bytecode as text, one instruction a line (`tl dump --stage bytecode`).
std::string to_text(const Program& program);

} // namespace tl
