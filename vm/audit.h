// Whether a run would keep its memory apart in every order in which its operations might have run, not only in the one
// that was. The blocks are as the run had them; what is varied is when operations run: each at any time after it was
// handed over and after those that the engine makes it wait for. Blocks are given out by the issuing thread, so what
// had to be finished for a block to be free is finished for everything that is issued later.
//
// Two operations that touch one block, one of them writing, must be in a chain of such waits: a race detector with
// blocks for addresses and operations for threads (happens-before as in Lamport 1978), which needs no luck with
// the order. Beside it: a block is given out to one at a time, who reads finds what the maker of its input has
// written, and the waits that operations declare were kept in the run that was.
#pragma once
#include "abi/error.h"
#include "vm/watch.h"
#include <bit>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace tl {

struct Node;

class Audit final : public MemoryWatch {
public:
  struct Finding {
    std::string what;
    LocId loc, other; // of the two operations; the second may be none
  };

  uint32_t operations() const { return count_; }
  uint64_t blocks() const { return blocks_; }
  const std::vector<Finding>& findings() const { return findings_; } // the first ones

  void allocated(const Block& block) override;
  void freed(const Block& block) override;
  void reused(const Block& block) override;
  uint32_t submitted(const Operation& op, bool alone) override;
  void began(uint32_t number) override;
  void ended(uint32_t number) override;
  bool wants_rest() const override { return count_ - base_ >= kMostOpen; }
  void rested() override;

private:
  static constexpr size_t kMostFindings = 20;
  static constexpr uint32_t kMostOpen = 4096; // operations that may not be finished, as far as is known

  // Numbers beyond base_; those up to it are finished, and in every set.
  class Set {
  public:
    void add(uint32_t i) {
      if (words_.size() <= i / 64) words_.resize(i / 64 + 1);
      words_[i / 64] |= uint64_t{1} << i % 64;
    }
    void add(const Set& other) {
      if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
      for (size_t w = 0; w < other.words_.size(); ++w)
        words_[w] |= other.words_[w];
    }
    bool has(uint32_t i) const { return i / 64 < words_.size() && (words_[i / 64] >> i % 64 & 1); }
    void clear() { words_.clear(); }
    uint32_t size() const {
      uint32_t n = 0;
      for (uint64_t word : words_)
        n += static_cast<uint32_t>(std::popcount(word));
      return n;
    }

  private:
    std::vector<uint64_t> words_;
  };
  struct Op {
    LocId loc;
    std::vector<uint32_t> waits; // for these
    Set before;                  // finished when it begins, in every order
    bool ended = false;
  };
  struct Use { // of memory, from one allocation to its end
    bool live = true;
    const Node* owner = nullptr;
    uint32_t writer = 0;           // the last one issued
    std::vector<uint32_t> readers; // since
    std::vector<uint32_t> holders; // when it was given back: those whose end that needed
  };
  struct Held { // a node that an operation makes
    std::vector<uint32_t> holders, readers;
  };
  using UseRef = std::shared_ptr<Use>;
  struct Span {
    uintptr_t end;
    UseRef use;
  };

  Op& op(uint32_t number) { return ops_[number - base_ - 1]; }
  bool known(const Set& set, uint32_t number) const { return number <= base_ || set.has(number - base_); }
  void add_with_before(Set& set, uint32_t number);
  UseRef use_at(const void* address) const; // that is live; null: none of ours
  // Cuts what a block covers out of the spans, whose uses it returns.
  std::vector<UseRef> cut(const Block& block);
  void read(uint32_t number, Use& use, const Operation& op, const void* address);
  void write(uint32_t number, Use& use);
  void forget(); // operations: all are finished
  void report(std::string what, uint32_t number, uint32_t other = 0);

  mutable std::mutex mutex_;
  uint32_t count_ = 0, base_ = 0;
  uint64_t blocks_ = 0;
  std::vector<Op> ops_; // beyond base_
  Set finished_;        // when the next operation is issued, in every order
  std::map<uintptr_t, Span> memory_;
  std::unordered_map<const Node*, Held> nodes_;
  std::vector<Finding> findings_;
};

// For --audit: a line, or several that name what was found; `place` gives "a.tl:3", or "" for none.
std::string to_text(const Audit& audit, const std::function<std::string(LocId)>& place);

} // namespace tl
