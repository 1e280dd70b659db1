// Executes bytecode on symbolic sizes. Internal to passes/memory; see peak_memory.h.
#pragma once
#include "passes/memory/peak_memory.h"
#include "passes/memory/peak_state.h"
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace tl::peak {

constexpr const char* kGrows = "memory grows with the turns of this loop, by what is not known";

// Of a loop whose turns are taken together, from the first time that its test was not decided.
struct Cycle {
  size_t test = 0;                   // the instruction
  std::shared_ptr<const State> base; // there: as it was first, or as it is assumed to be at turn `turn` after that
  std::vector<PeakMemory::Device> devices; // what was known then
  size_t others = 0;                       // ways to go, then
  int shifts = 0;                          // turns before it, which were otherwise
  int turns = 0;                           // that the loop had taken then
  AtomId turn;                             // none: nothing is assumed yet
  size_t count = 0;                        // of the quantities of `base`
  std::map<size_t, AtomId> given_up;       // those that are names, since they change in no simple way
  std::set<size_t> raised;                 // those of which less was assumed before
  int tries = 0;
};

class Machine {
public:
  // `equal`: what equal_parameters() gave before.
  Machine(const Program& program, const PeakQuery& query, std::map<AtomId, Size> equal);
  PeakMemory run();
  // Does every way through the program reach these peaks? By device, in blocks of the pool; of another machine's run.
  std::vector<bool> always_reach(const std::vector<std::optional<uint64_t>>& peaks);
  bool has_forked() const { return forked_; } // into ways that hang on numbers
  // Sizes of parameters that checks on every way show to be equal to others.
  const std::map<AtomId, Size>& equal_parameters() const { return equal_parameters_; }

private:
  void enter();
  void follow(); // all ways
  void conclude();
  Size atom(const std::string& name, AtomKind kind = AtomKind::Named);
  Size normal(const Size& size);                                  // under what checks have shown
  Value found(DType type, const std::string& what, int part = 0); // by this instruction, as a name of its own

  // ---- control (peak_machine.cpp)
  bool step();            // of state_; false: this way through the program ends
  bool arrive();          // at a target of jumps; false: as it was before
  bool turn(size_t from); // back at the head of a loop
  std::string place() const;
  std::shared_ptr<const State> snapshot() const;
  Widen names_at(size_t at, const char* what);
  bool test(const Instruction& i, size_t at); // false: this way ends
  bool call(const Instruction& i);
  void give_back();
  void clear_dead();
  void clear_dead(size_t head, size_t at); // at an instruction without jumps between a target and that

  // ---- loops (peak_loops.cpp)
  std::optional<std::pair<uint32_t, uint32_t>> loop_left(uint32_t function, size_t at, uint32_t target);
  bool turn_together(const Instruction& i, size_t at, uint32_t head, uint32_t end);
  struct Guess;
  Turns& find_loop(uint32_t head, uint32_t end);
  void begin_cycle(Turns& loop, size_t at, int shifts);
  bool fold_turns(const Cycle& cycle, Guess& guess) const;
  bool guess_quantities(const Cycle& cycle, Guess& guess);
  Size give_up(size_t quantity, Guess& guess);
  void add_scratches(Guess& guess);
  void leave_loops(State& state, std::optional<uint32_t> target); // none: all of the function
  Size turns_of(const Instruction& i, const Comparison* test, AtomId turn, int before);
  std::optional<Size> sum_over_turns(const Size& size, AtomId turn);
  std::optional<Size> most_of_turns(const Size& size, AtomId turn);
  std::vector<Size> at_last_turns(const Size& size);
  void note_bound();
  AtomId new_turn();
  bool depends_on_turns(AtomId id);
  bool mentions(const Size& size, AtomId turn);
  Size with_turn(const Size& size, AtomId turn, const Size& number); // in the place of `turn`
  const std::vector<std::vector<bool>>& live_at_targets(uint32_t function);

  // ---- scalars (peak_scalars.cpp)
  void scalar(const Instruction& i);
  Value arithmetic(const Instruction& i, const std::vector<Value>& in);
  Value compare(ScalarOp op, const Size& a, const Size& b);
  void guard(const Instruction& i);

  // ---- memory (peak_ops.cpp)
  void launch(const Instruction& i, const PeakQuery::Workspace& workspace, std::optional<Size> local);
  void linalg(const Instruction& i);
  void view(const Instruction& i);
  void host(const Instruction& i);
  void load(const Instruction& i);
  void device(const Instruction& i);
  Value on_device(const Value& value, int16_t device, bool unless_placed);
  std::vector<Size> sizes(const OutputDesc& desc);
  Size bytes_of(DType type, const std::vector<Size>& dims);
  uint32_t allocate(size_t device, DType type, std::vector<Size> dims, Size bytes);
  size_t scratches(size_t device) const { // the issuing thread works too
    return static_cast<size_t>(query_.threads.empty() ? 1 : query_.threads[device]) + 1;
  }
  void note_peak(size_t device, const Size& workspace, std::optional<uint64_t> workspace_exact);
  Size evaluate(const SizeFormula& formula, const Instruction& i, size_t device);
  Size above(const Size& size);
  bool covers(const Size& a, const Size& b);
  void add_largest(std::vector<Size>& set, const Size& size);
  void stands_for(AtomId name, const Size& was, const Size& is);
  void missing(const std::string& what); // the formulas lack something of this instruction
  void define(const Instruction& i);     // outputs that hold no memory, by their descriptions
  void give_away(const Instruction& i);

  // ---- lists (peak_lists.cpp)
  void list(const Instruction& i);
  void list_get(const Instruction& i);
  void list_join(const Instruction& i);
  void append_many(uint32_t to, uint32_t from);
  Size size_along(const Alike& alike, size_t axis);
  uint32_t own_list(const Instruction& i, size_t width); // kNone: its elements are not known

  const Instruction& current() const { return *instruction_; }
  Value& in(const Instruction& i, size_t k) { return state_.slot(i.in.at(k).slot); }

  const Program& program_;
  const PeakQuery& query_;
  PeakMemory result_;
  std::vector<PeakMemory::Device> devices_;
  std::map<std::string, AtomId> named_;
  std::map<std::tuple<const void*, int, int>, AtomId> found_; // by instruction, or head of a loop
  std::map<AtomId, PeakMemory::Unknown> explained_;
  std::set<std::pair<std::string, uint32_t>> said_;
  std::map<uint32_t, std::vector<std::vector<bool>>> live_;
  State state_;
  std::vector<State> others_; // ways still to go
  std::unordered_set<std::string> seen_;
  struct Arrivals {
    int count = 0;
    std::shared_ptr<const State> last;
  };
  std::unordered_map<std::string, Arrivals> arrivals_;                   // by place
  std::map<uint32_t, std::vector<std::pair<uint32_t, uint32_t>>> loops_; // by function: first and last instruction
  std::map<AtomId, std::set<Size>> stands_for_;                          // by name of what changes: all that it is
  std::map<AtomId, Size> turns_;                                         // by number of a turn: how many there are
  std::vector<int8_t> depends_on_turns_;                                 // by atom: -1: not known yet
  const Instruction* instruction_ = nullptr;
  LocId loc_; // of the last instruction that has one
  std::map<AtomId, Size> equal_parameters_;
  uint64_t steps_ = 0;
  uint64_t copied_ = 0; // frames and blocks: for the other ways, for the moments of peaks
  int proofs_ = 0;
  bool forked_ = false;
  std::vector<std::optional<uint64_t>> wanted_; // always_reach
  std::vector<bool> always_;
};

} // namespace tl::peak
