// Executes bytecode on symbolic sizes. Internal to passes/peak_memory; see peak_memory.h.
#pragma once
#include "passes/peak_memory.h"
#include "passes/peak_state.h"
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace tl::peak {

class Machine {
public:
  // `equal`: what equal_parameters() gave before.
  Machine(const Program& program, const PeakQuery& query, std::map<AtomId, Size> equal);
  PeakMemory run();
  // Sizes of parameters that checks on every way show to be equal to others.
  const std::map<AtomId, Size>& equal_parameters() const { return equal_parameters_; }

private:
  void enter();
  Size atom(const std::string& name, AtomKind kind = AtomKind::Named);

  // ---- control (peak_machine.cpp)
  bool step();            // of state_; false: this way through the program ends
  bool arrive();          // at a target of jumps; false: as it was before
  bool turn(size_t from); // back at the head of a loop
  std::string place() const;
  std::shared_ptr<const State> snapshot() const;
  Widen names_at(size_t at, const char* what);
  void test(const Instruction& i, size_t at);
  bool call(const Instruction& i);
  void give_back();
  void clear_dead();
  const std::vector<std::vector<bool>>& live_at_targets(uint32_t function);

  // ---- scalars
  void scalar(const Instruction& i);
  Value arithmetic(const Instruction& i, const std::vector<Value>& in);
  Value compare(ScalarOp op, const Size& a, const Size& b);
  void guard(const Instruction& i);
  Size normal(const Size& size);                                  // under what checks have shown
  Value found(DType type, const std::string& what, int part = 0); // by this instruction, as a name of its own

  // ---- memory (peak_ops.cpp)
  void launch(const Instruction& i, const PeakQuery::Workspace& workspace, std::optional<Size> local);
  void linalg(const Instruction& i);
  void view(const Instruction& i);
  void host(const Instruction& i);
  void load(const Instruction& i);
  void list(const Instruction& i);
  void list_get(const Instruction& i);
  void list_join(const Instruction& i);
  void device(const Instruction& i);
  Value on_device(const Value& value, int16_t device, bool unless_placed);
  uint32_t own_list(const Instruction& i, size_t width); // kNone: its elements are not known
  std::vector<Size> sizes(const OutputDesc& desc);
  Size bytes_of(DType type, const std::vector<Size>& dims) const;
  uint32_t allocate(size_t device, DType type, std::vector<Size> dims, Size bytes);
  size_t scratches(size_t device) const { // the issuing thread works too
    return static_cast<size_t>(query_.threads.empty() ? 1 : query_.threads[device]) + 1;
  }
  void note_peak(size_t device, const Size& workspace, std::optional<uint64_t> workspace_exact);
  Size evaluate(const SizeFormula& formula, const Instruction& i);
  Size above(const Size& size);
  bool covers(const Size& a, const Size& b);
  void add_largest(std::vector<Size>& set, const Size& size);
  void missing(const std::string& what); // the formulas lack something of this instruction
  void define(const Instruction& i);     // outputs that hold no memory, by their descriptions
  void give_away(const Instruction& i);

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
  std::unordered_map<std::string, Arrivals> arrivals_; // by place
  const Instruction* instruction_ = nullptr;
  LocId loc_; // of the last instruction that has one
  std::map<AtomId, Size> equal_parameters_;
  uint64_t steps_ = 0;
  int proofs_ = 0;
  bool forked_ = false;
};

} // namespace tl::peak
