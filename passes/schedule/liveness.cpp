#include "passes/schedule/liveness.h"
#include <algorithm>

namespace tl {
namespace {

class Bits {
public:
  explicit Bits(size_t count = 0) : words_((count + 63) / 64) {}
  bool has(uint32_t i) const { return words_[i / 64] >> (i % 64) & 1; }
  void set(uint32_t i) { words_[i / 64] |= uint64_t{1} << (i % 64); }
  void clear(uint32_t i) { words_[i / 64] &= ~(uint64_t{1} << (i % 64)); }
  // Adds all of `other`; did that change anything?
  bool add(const Bits& other) {
    bool changed = false;
    for (size_t i = 0; i < words_.size(); ++i) {
      changed = changed || (other.words_[i] & ~words_[i]);
      words_[i] |= other.words_[i];
    }
    return changed;
  }
  template <class Visit> void each_not_in(const Bits& other, Visit visit) const {
    for (size_t i = 0; i < words_.size(); ++i)
      for (uint64_t rest = words_[i] & ~other.words_[i]; rest; rest &= rest - 1)
        visit(static_cast<uint32_t>(i * 64 + static_cast<size_t>(__builtin_ctzll(rest))));
  }

private:
  std::vector<uint64_t> words_;
};

struct Block {
  size_t begin = 0, end = 0;
  std::vector<size_t> next, before;
  Bits in, out;
};

class Lifetimes {
public:
  Lifetimes(BcFunction& function, const std::vector<bool>& handles, const std::vector<KeptOperand>& kept)
      : f_(function), kept_(kept) {
    number_.assign(f_.slot_count, UINT32_MAX);
    for (uint32_t slot = 0; slot < f_.slot_count; ++slot)
      if (handles[slot]) {
        number_[slot] = static_cast<uint32_t>(slots_.size());
        slots_.push_back(slot);
      }
  }

  void run() {
    if (f_.code.empty()) return;
    cut();
    solve();
    rewrite();
  }

private:
  // The dense number of a slot with lifetimes.
  bool tracked(Slot slot) const { return number_[slot.index] != UINT32_MAX; }
  uint32_t number(Slot slot) const { return number_[slot.index]; }

  void cut() {
    std::vector<bool> leader(f_.code.size() + 1);
    leader[0] = true;
    for (size_t i = 0; i < f_.code.size(); ++i) {
      BcOp op = f_.code[i].op;
      if (op == BcOp::Jump || op == BcOp::JumpIfNot) leader[f_.code[i].target] = true;
      if (op == BcOp::Jump || op == BcOp::JumpIfNot || op == BcOp::Return) leader[i + 1] = true;
    }
    block_at_.assign(f_.code.size() + 1, 0);
    for (size_t i = 0; i < f_.code.size(); ++i) {
      if (leader[i]) {
        Block block;
        block.begin = i;
        block.in = block.out = Bits(slots_.size());
        blocks_.push_back(std::move(block));
      }
      block_at_[i] = blocks_.size() - 1;
      blocks_.back().end = i + 1;
    }
    for (size_t b = 0; b < blocks_.size(); ++b) {
      const Instruction& last = f_.code[blocks_[b].end - 1];
      auto edge = [&](size_t to) {
        blocks_[b].next.push_back(to);
        blocks_[to].before.push_back(b);
      };
      if (last.op == BcOp::Jump || last.op == BcOp::JumpIfNot) edge(block_at_[last.target]);
      if (last.op != BcOp::Jump && last.op != BcOp::Return && b + 1 < blocks_.size()) edge(b + 1);
    }
  }

  // live: after the instruction -> before it.
  void step(const Instruction& instruction, Bits& live) const {
    for (Slot slot : instruction.out)
      if (tracked(slot)) live.clear(number(slot));
    for (const Operand& operand : instruction.in)
      if (tracked(operand.slot)) live.set(number(operand.slot));
  }

  void solve() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t b = blocks_.size(); b-- > 0;) {
        Block& block = blocks_[b];
        bool grown = false;
        for (size_t next : block.next)
          grown = block.out.add(blocks_[next].in) || grown;
        if (!grown && visited_.size() > b && visited_[b]) continue;
        visited_.resize(blocks_.size());
        visited_[b] = true;
        Bits live = block.out;
        for (size_t i = block.end; i-- > block.begin;)
          step(f_.code[i], live);
        changed = block.in.add(live) || changed;
      }
    }
  }

  Instruction drop(std::vector<uint32_t> numbers, LocId loc) const {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    Instruction result{};
    result.op = BcOp::Drop;
    result.loc = loc;
    for (uint32_t n : numbers)
      result.in.push_back({Slot{slots_[n]}, true});
    return result;
  }

  void rewrite() {
    std::vector<Instruction> code;
    std::vector<uint32_t> moved(f_.code.size() + 1);
    for (size_t b = 0; b < blocks_.size(); ++b) {
      Block& block = blocks_[b];
      moved[block.begin] = static_cast<uint32_t>(code.size());
      // What some way to here still held and no way from here needs.
      std::vector<uint32_t> ended;
      for (size_t before : block.before)
        blocks_[before].out.each_not_in(block.in, [&](uint32_t n) { ended.push_back(n); });
      if (b == 0)
        for (Slot param : f_.params)
          if (tracked(param) && !block.in.has(number(param))) ended.push_back(number(param));
      if (!ended.empty()) code.push_back(drop(std::move(ended), f_.code[block.begin].loc));

      std::vector<std::vector<uint32_t>> after(block.end - block.begin);
      Bits live = block.out;
      for (size_t i = block.end; i-- > block.begin;) {
        Instruction& instruction = f_.code[i];
        std::vector<uint32_t>& ends = after[i - block.begin];
        for (Slot slot : instruction.out)
          if (tracked(slot) && !live.has(number(slot))) ends.push_back(number(slot));
        for (Slot slot : instruction.out)
          if (tracked(slot)) live.clear(number(slot));
        for (size_t k = instruction.in.size(); k-- > 0;) {
          Operand& operand = instruction.in[k];
          if (!tracked(operand.slot) || live.has(number(operand.slot))) continue;
          live.set(number(operand.slot));
          bool written = std::count(instruction.out.begin(), instruction.out.end(), operand.slot) > 0;
          if (std::count(kept_.begin(), kept_.end(), KeptOperand{i, k})) {
            if (!written) ends.push_back(number(operand.slot));
          } else {
            operand.last_use = true;
          }
        }
      }
      for (size_t i = block.begin; i < block.end; ++i) {
        bool leaves = f_.code[i].op == BcOp::Jump || f_.code[i].op == BcOp::JumpIfNot || f_.code[i].op == BcOp::Return;
        LocId loc = f_.code[i].loc;
        code.push_back(std::move(f_.code[i]));
        if (!leaves && !after[i - block.begin].empty()) code.push_back(drop(std::move(after[i - block.begin]), loc));
      }
    }
    moved[f_.code.size()] = static_cast<uint32_t>(code.size());
    for (Instruction& instruction : code)
      if (instruction.op == BcOp::Jump || instruction.op == BcOp::JumpIfNot)
        instruction.target = moved[instruction.target];
    f_.code = std::move(code);
  }

  BcFunction& f_;
  const std::vector<KeptOperand>& kept_;
  std::vector<uint32_t> number_, slots_;
  std::vector<size_t> block_at_;
  std::vector<Block> blocks_;
  std::vector<bool> visited_;
};

} // namespace

void mark_lifetimes(BcFunction& function, const std::vector<bool>& handles, const std::vector<KeptOperand>& kept) {
  Lifetimes(function, handles, kept).run();
}

} // namespace tl
