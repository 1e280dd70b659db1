// The state of scheduling one function, and what it does, by subject; internal to passes/schedule/.
#pragma once
#include "abi/program/bytecode.h"
#include "ir/graph/failure_flow.h"
#include "ir/graph/graph.h"
#include "passes/schedule/liveness.h"
#include "passes/schedule/schedule.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tl {

// What the functions of a program share.
struct ProgramTables {
  Program program;
  std::vector<KernelRef> kernels;
  std::map<std::string, uint32_t> strings;

  uint32_t string(const std::string& text) {
    auto [at, fresh] = strings.try_emplace(text, static_cast<uint32_t>(program.strings.size()));
    if (fresh) program.strings.push_back(text);
    return at->second;
  }
  uint32_t format(const FormatTemplate& format) {
    program.formats.push_back(format);
    return static_cast<uint32_t>(program.formats.size() - 1);
  }
};

class FunctionScheduler {
public:
  FunctionScheduler(const ir::Module& module, uint32_t index, ProgramTables& tables);
  BcFunction run();

private:
  [[noreturn]] void fail(const ir::Node& node, const std::string& what) const;

  // ---- slots
  bool is_token(ir::ValueId value) const { return f_[value].type.kind == ir::Type::Kind::Token; }
  bool is_handle(ir::ValueId value) const { return !f_[value].type.is_scalar() || dataflow_[value.index]; }
  Slot new_slot(bool handle);
  Slot define(ir::ValueId value);
  void share(ir::ValueId value, Slot slot);
  Slot slot(ir::ValueId value) const;
  SizeRef size(const ir::Dim& dim) const;
  OutputDesc describe(const ir::Type& type) const;

  // ---- instructions
  Instruction make(BcOp op, LocId loc) const;
  size_t add(Instruction instruction);
  uint32_t here() const { return static_cast<uint32_t>(out_.code.size()); }
  void move(Slot to, Slot from, LocId loc);
  // All at once: a target may be the source of another.
  void moves(std::vector<std::pair<Slot, Slot>> pairs, LocId loc);
  Slot constant(DType type, Scalar value, LocId loc);
  Slot scalar(ScalarOp op, DType type, Slot a, Slot b, LocId loc, Slot to);

  // ---- numbers that views need
  struct Number {
    bool known = true;
    int64_t value = 0;
    Slot slot;
  };
  Number number(ir::ValueId value) const;
  Number number(const ir::Dim& dim) const;
  Slot in_slot(const Number& n, LocId loc) { return n.known ? constant(DType::I64, Scalar::of(n.value), loc) : n.slot; }
  Number combine(ScalarOp op, const Number& a, const Number& b, LocId loc);

  // ---- nodes
  void nodes(const ir::Region& region);
  // in: all operands but tokens; out: all results but tokens.
  Instruction plain(BcOp op, const ir::Node& node);
  // With its attributes, and what each result is.
  void described_host(HostOp op, const ir::Node& node, uint32_t index = 0, std::vector<int64_t> ints = {});
  void host(HostOp op, const ir::Node& node, uint32_t index = 0);
  void list_operation(const ir::Node& node);
  void node(ir::NodeId id, const ir::Node& node);
  void host_node(const ir::Node& node); // what the VM does on the host
  void arithmetic(const ir::Node& node);
  void view(const ir::Node& node);
  void linalg(const ir::Node& node);
  void sort(const ir::Node& node);

  // ---- launch.cpp: kernels
  // A condition that needs a failed value ends the program: so what decides in a loop, all that it gives suffers.
  std::vector<ir::ValueId> deciding(const ir::Region& region) const;
  std::vector<int32_t> asserted_in(const ir::Region& region) const;
  Suffers suffers(const ir::Node& kernel, const ir::FailureFlow& flow, const std::vector<ir::ValueId>& values) const;
  void launch(ir::NodeId id, const ir::Node& node);

  // ---- control.cpp: branches and loops
  void branch(const ir::Node& node);
  // The slots of carried values, set to the initial ones.
  void enter(const ir::Node& node, size_t fixed, size_t first);
  void turn(const ir::Node& node);
  void for_loop(const ir::Node& node);
  void while_loop(const ir::Node& node);

  const ir::Module& module_;
  const ir::Function& f_;
  uint32_t index_;
  ProgramTables& tables_;
  std::vector<bool> dataflow_;
  bool devices_ = false;        // does the program know any?
  std::vector<uint32_t> slots_; // by value
  std::vector<bool> handles_;   // by slot
  std::vector<KeptOperand> kept_;
  BcFunction out_;
};

} // namespace tl
