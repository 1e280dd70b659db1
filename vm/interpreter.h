// The host interpreter: executes bytecode on one thread, computing host scalars and issuing operations to the engine
// ahead of their execution. Internal to vm/; vm.h is the interface.
#pragma once
#include "abi/stopwatch.h"
#include "vm/console.h"
#include "vm/engine.h"
#include "vm/io/io.h"
#include "vm/io/text.h"
#include "vm/quick.h"
#include <array>
#include <deque>
#include <map>

namespace tl {

class Interpreter {
public:
  Interpreter(const Program& program, KernelProvider& kernels, const RunOptions& options, const Devices& devices,
              Console& console, Stats& stats);
  ~Interpreter();

  Outcome run(std::vector<Argument> arguments);

private:
  struct Frame {
    const BcFunction* function = nullptr;
    const Quick* quick = nullptr; // its instructions, decoded
    size_t at = 0;                // next instruction
    std::vector<Value> slots;
    LocId from;                     // of the call
    const CallSite* call = nullptr; // null: nothing has needed it yet (call_chain)
  };
  // Ends the program: thrown by an instruction that needs a failed value, caught in run().
  struct Stop {
    FailureRef failure;
  };
  struct Exited {
    int code;
  };
  struct Interrupted {};

  // ---- interpreter.cpp: control flow and host scalars ----
  void enter_arguments(Frame& frame, std::vector<Argument> arguments);
  std::vector<Value> loop();
  bool is_calm() const { // nothing ends the program
    return !engine_.stopped() && !(options_.interrupt && options_.interrupt->load(std::memory_order_relaxed));
  }
  const Quick* quick(uint32_t function);
  void go_back(const Instruction& i); // to the caller
  void step(const Instruction& i);
  void scalar(const Instruction& i);
  void guard(const Instruction& i);
  void view(const Instruction& i);
  void await(const Instruction& i);
  void call(const Instruction& i);
  // The calls that are being executed. A place that comes again and again (recursion) is kept a few times: there are as
  // many chains as calls otherwise.
  static constexpr int kRecursion = 4;
  const CallSite* call_chain();
  void check_stop();
  [[noreturn]] void stop(FailureRef failure) { throw Stop{std::move(failure)}; }
  [[noreturn]] void malformed(const std::string& what) const;

  Frame& top() { return *top_; }
  Value& slot(Slot s) { return top().slots[s.index]; }
  Value& in(const Instruction& i, size_t k) { return slot(i.in[k].slot); }
  void give_away(const Instruction& i); // clears the slots whose last use this was
  void set(Slot s, Value value) { slot(s) = std::move(value); }
  const Value& host_scalar(const Instruction& i, size_t k);
  const Value& tensor(const Instruction& i, size_t k);
  FailureRef fail(RuntimeError error); // a new failure of this instruction, recorded

  // ---- issue.cpp: operations ----
  void launch(const Instruction& i);
  bool launch_here(const Instruction& i); // a tiny kernel of numbers that are known; false: it has to be an operation
  void linalg(const Instruction& i);
  void sort(const Instruction& i);
  void launch(const Instruction& i, const CompiledKernel* compiled, FailureRef poison, int64_t local_bytes);
  bool sizes(const OutputDesc& desc, Dims& dims, FailureRef& poison); // false: poisoned
  bool can_take_over(const Instruction& i, const OutputDesc& desc, int device, uint64_t bytes);
  Operation* operation() {
    Operation* op = engine_.create({issue_, piece_}, instruction_->loc, call_chain());
    if (op->record) options_.profile->set_name(*op->record, operation_name(*instruction_));
    return op;
  }
  void note_shapes(Operation& op, const Instruction& i) const; // in a timeline: of its operands and outputs_
  Operation* effect();                         // an operation in the chain of effects, as yet without other inputs
  void come_after(Operation& op, Value& last); // in a chain: `last` becomes op's
  void submit(Operation* op, const Instruction& i) { // from here on the operation keeps what it needs
    engine_.submit(op);
    give_away(i);
  }
  FailureRef no_memory(const Operation& op, const std::string& what, uint64_t bytes);
  void sweep(); // frees what failed values still hold; nothing is in flight
  bool is_small(const CompiledKernel& kernel, KernelArgs args) const;
  Value make_output(Operation& op, DType type, Dims dims, int64_t offset = 0); // with a new node, without memory
  const CompiledKernel& kernel(uint32_t index);
  const GpuKernel* gpu_kernel(const Instruction& i); // null: its work is the host's

  // ---- nan_check.cpp: with --check-nan ----
  int64_t nan_in(const Value& v); // the first NaN's index or -1; waits
  void stop_at_nan(const Value& made, const Instruction& i);

  // ---- host_ops.cpp ----
  void host(const Instruction& i);
  void format(const Instruction& i);
  void print(const Instruction& i);
  void check_assertion(const Instruction& i);
  void wait(const Instruction& i);
  void wait_all();
  void exit_program(const Instruction& i);
  void read_line(const Instruction& i);
  void debug(const Instruction& i);
  void plot(const Instruction& i);
  void progress(const Instruction& i);
  void wait_for(Node* node);
  // Operands as a running task sees them: nodes are inputs of the operation, so they live and are computed.
  struct Operand {
    Value::Kind kind;
    DType dtype;
    Scalar scalar;
    FailureRef failure;
    Node* node;
    int64_t offset;
    std::vector<int64_t> dims;
    std::string text(std::string_view spec) const; // throws FailureRef if poisoned
    HostTensor host() const;                       // of a number or tensor
  };
  Operand operand(Operation& op, const Value& value); // adds its node as an input of op
  std::vector<Operand> operands(Operation& op, const Instruction& i, size_t from);

  // ---- file_ops.cpp ----
  void load(const Instruction& i);
  void save(const Instruction& i);
  void exists(const Instruction& i);
  void read_text(const Instruction& i);
  void write_text(const Instruction& i);
  const std::string& known_text(const Instruction& i, size_t k);

  // ---- list_ops.cpp, text_ops.cpp ----
  void list(const Instruction& i);
  // The list in an operand, to be read; null: it has no elements. A failure that it carries is taken.
  const List* list_at(const Instruction& i, size_t k, FailureRef& failure);
  int64_t number_at(const Instruction& i, size_t k, FailureRef& failure); // a host i64
  // The list in operand 0 to be changed: the same one where it is the only handle and given away, else a copy.
  List* own_list(const Instruction& i, size_t width, FailureRef& failure);
  static bool is_own(const Value& list) {
    return list.kind == Value::Kind::List && list.list && list.list->handles == 1;
  }
  void list_get(const Instruction& i, bool takes); // takes: nobody will look for them in the list
  void list_join(const Instruction& i);
  void join_numbers(const Instruction& i, const Elements& numbers);
  Value poisoned(const OutputDesc& desc, const FailureRef& failure); // of that kind
  void give_results(const Instruction& i, std::vector<Value> values);
  void wait_for_all(const Value& value, FailureRef& failure); // elements of lists too
  void text(const Instruction& i);
  // What is known, and brief, at once. False: it has to go the way of an operation.
  bool text_here(const Instruction& i);
  bool part_here(const Instruction& i); // of a text of which each character is one byte, without more ado
  bool format_here(const Instruction& i);
  // Whether the text of operand 0 may become the result's: its handle is given away, and there is no other.
  bool can_grow(const Instruction& i);
  static bool starts_with_first(const FormatTemplate& format) { // with its first operand, as it is
    return !format.specs.empty() && format.literals[0].empty() && format.specs[0].empty();
  }
  const TextIndex* index_of(const Node& text);
  Value text_value(std::string text); // known now
  Value text_list(std::vector<std::string> texts);

  // ---- rank_ops.cpp ----
  void ranks(const Instruction& i);
  Value collective(const Instruction& i, int root);

  // ---- device_ops.cpp ----
  void device(const Instruction& i);
  Value on_device(const Value& x, int64_t device); // x in that memory, copied if it is elsewhere
  int memory_of(const Value& x) const { return devices_.device_of(x.node->block.pool); } // the device whose it is
  Value copied(const Value& x, int to); // to the memory of another device
  // x where a device can read it: itself, or a copy that is kept with it, since no card reads the host's memory and no
  // CPU a card's. Of lists the same list. The value's device, as programs see it, stays.
  Value readable(const Value& x, int device);
  bool is_readable(const Value& x, int device) const;
  void bring_home(const Value& x);       // so that `result` finds it on the host
  int16_t cpu_of(int16_t device) const { // the index of the CPU where a task does the work of a device (a number)
    const int index = device == kNoDevice ? 0 : devices_.index(device);
    return static_cast<int16_t>(engine_.is_card(index) ? 0 : index);
  }
  Value host_number(const Value& x);                               // of rank 0; waits
  Value placed(const Value& x, int64_t device);                    // where x, or an element of it, has no device
  int16_t device_of(const Instruction& i, const OutputDesc& desc); // of an output

  // ---- vm.cpp ----
  void enter(std::vector<Value>& values, Argument argument, const std::string& name);
  Argument result(Value& value);
  void flush();

  const Program& program_;
  KernelProvider& kernels_;
  const RunOptions& options_;
  const Devices& devices_;
  Console& console_;
  Stats& stats_;
  Engine engine_;
  std::deque<Frame> frames_; // by depth; those beyond depth_ keep their storage for the next call
  size_t depth_ = 0;
  Frame* top_ = nullptr; // frames_[depth_ - 1], which every instruction asks for
  const Instruction* instruction_ = nullptr;
  uint64_t issue_ = 0; // counts instructions executed
  uint64_t piece_ = 0; // the last jump, call or return of them
  Value effects_;      // the last effect's node
  Value collectives_;  // of the last operation that all processes come to
  Value predecessor_;  // in one of these chains, of the operation that is being made
  Stopwatches stopwatches_;
  std::vector<Value> constant_tensors_, constant_strings_;
  // Of the long texts that were asked last: a node is used for one text after the other; `generation` says for which.
  struct IndexedText {
    const Node* node = nullptr;
    uint64_t generation = 0;
    std::optional<TextIndex> index;
  };
  std::array<IndexedText, 4> indexed_texts_;
  size_t next_indexed_ = 0;
  std::vector<TextInput> given_; // of the operation on text that is done here, kept for their storage
  std::vector<std::unique_ptr<const std::vector<Quick>>> quick_; // by function, once it was called
  std::vector<const CompiledKernel*> compiled_;
  enum class Here : uint8_t { Unknown, No, Yes };
  std::vector<Here> runs_here_; // by kernel: launch_here
  std::map<std::pair<const CallSite*, uint32_t>, CallSite> calls_;
  // Outputs of the launch being issued, kept from one to the next for their storage.
  struct Planned {
    Dims dims;
    int64_t bytes = 0;
    bool in_place = false; // in memory that others use before
    int16_t device = kNoDevice;
  };
  std::vector<Planned> planned_;
  std::vector<Value> outputs_;
  std::vector<Value> operands_; // of the launch being issued, where they are copies: see readable
  std::vector<uint8_t> taken_;  // by operand: its memory becomes an output's
};

} // namespace tl
