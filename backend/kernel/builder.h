// Builds Kernel IR: open scopes, instructions shared and placed as far out as their operands allow.
//
// A pure instruction goes to the outermost open block in which all its operands are known, and is emitted there once;
// so row offsets leave the vector loop by themselves. What lies inside an If or While is not moved out of it, except
// for cheap index arithmetic: it may not be needed at all.
#pragma once
#include "backend/kernel/kernel_ops.h"
#include <map>
#include <optional>
#include <vector>

namespace tl::kir {

using MemoKey = std::vector<uint64_t>;

Instr make(KOp op, std::vector<ValueId> operands = {});

class Builder {
public:
  explicit Builder(Kernel& kernel) : kernel(kernel), loc_(kernel.loc) {}

  Kernel& kernel;

  // --- scopes: the blocks that are being filled, outermost first; a value's level is the index of its block
  struct Scope {
    Block block;
    bool conditional = false; // may not run, or runs an unknown number of times: nothing but index arithmetic leaves
    bool lanes = false;       // iterations run side by side: a vector loop or the body of a Reduce
    std::map<MemoKey, ValueId> memo;
  };
  std::vector<ValueId> open(const std::vector<DType>& params, bool conditional = false);
  Block close(std::vector<ValueId> yields = {});
  void run_in_lanes() { scopes_.back().lanes = true; } // the innermost scope
  bool in_lanes() const;
  int depth() const { return static_cast<int>(scopes_.size()); }
  int level(ValueId v) const { return levels_[v.index]; }
  int current() const { return depth() - 1; }
  const Scope& scope(int level) const { return scopes_[static_cast<size_t>(level)]; }
  int barrier() const; // level of the innermost conditional scope, else 0
  // Works at an outer level for a while: scopes deeper than `level` are set aside until resume.
  std::vector<Scope> suspend(int level);
  void resume(std::vector<Scope> scopes);

  // Memo tables for whoever builds: an entry lives as long as its scope.
  std::optional<ValueId> find(const MemoKey& key) const;
  void remember(int level, MemoKey key, ValueId value) {
    scopes_[static_cast<size_t>(level)].memo[std::move(key)] = value;
  }

  // What is made while this lives comes from `loc`, or where that is nowhere from the same place as before.
  class At {
  public:
    At(Builder& b, LocId loc) : b_(b), before_(b.loc_) {
      if (loc.index != 0) b.loc_ = loc;
    }
    ~At() { b_.loc_ = before_; }
    At(const At&) = delete;

  private:
    Builder& b_;
    LocId before_;
  };

  // --- instructions
  ValueId fresh(DType type, int level);
  DType type(ValueId v) const { return kernel.types[v.index]; }
  ValueId constant(DType type, Scalar imm);
  ValueId i64(int64_t value) { return constant(DType::I64, Scalar::of(value)); }
  ValueId boolean(bool value) { return constant(DType::Bool, Scalar::of(value)); }
  ValueId pure(KOp op, DType type, std::vector<ValueId> operands); // with folding and sharing
  ValueId arg(uint32_t param);
  // `shared`: memory that nobody writes, at an offset that is in range wherever it is known: may be moved and shared.
  ValueId load(uint32_t param, ValueId offset, bool shared);
  void store(uint32_t param, ValueId offset, ValueId value);
  void check(int32_t site, ValueId ok, ValueId element, ValueId a, ValueId b);
  // A structured instruction at the current place.
  std::vector<ValueId> append(Instr instr, const std::vector<DType>& results);

  ValueId add(ValueId a, ValueId b) { return pure(KOp::Add, type(a), {a, b}); }
  ValueId sub(ValueId a, ValueId b) { return pure(KOp::Sub, type(a), {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return pure(KOp::Mul, type(a), {a, b}); }
  ValueId udiv(ValueId a, ValueId b) { return pure(KOp::UDiv, type(a), {a, b}); }
  ValueId urem(ValueId a, ValueId b) { return pure(KOp::URem, type(a), {a, b}); }
  ValueId lt(ValueId a, ValueId b) { return pure(KOp::Lt, DType::Bool, {a, b}); }
  ValueId le(ValueId a, ValueId b) { return pure(KOp::Le, DType::Bool, {a, b}); }
  ValueId eq(ValueId a, ValueId b) { return pure(KOp::Eq, DType::Bool, {a, b}); }
  ValueId both(ValueId a, ValueId b) { return pure(KOp::And, DType::Bool, {a, b}); }
  ValueId either(ValueId a, ValueId b) { return pure(KOp::Or, DType::Bool, {a, b}); }
  ValueId select(ValueId c, ValueId a, ValueId b) { return pure(KOp::Select, type(a), {c, a, b}); }
  ValueId min(ValueId a, ValueId b) { return select(lt(a, b), a, b); } // of integers
  ValueId max(ValueId a, ValueId b) { return select(lt(a, b), b, a); }
  const Instr* definition(ValueId v) const; // in an open block; null: not made by one instruction
  int low_zeros(ValueId v) const;
  ValueId without_low_part(ValueId v, int64_t shift) const;
  std::optional<int64_t> constant_of(ValueId v) const; // of integers and bools

private:
  std::optional<ValueId> fold(KOp op, DType type, const std::vector<ValueId>& operands);
  ValueId place(Instr instr, DType type, int level);
  void put(Instr instr, int level);

  std::vector<Scope> scopes_;
  LocId loc_;
  std::vector<int> levels_;                                // by ValueId
  std::map<uint32_t, std::pair<DType, Scalar>> constants_; // values of Const
};

// Removes instructions whose results nobody uses and that do nothing else.
void remove_dead(Kernel& kernel);

} // namespace tl::kir
