// Who is told what a run does with memory (RunOptions::watch): vm/audit.h checks it. Calls come from any thread.
#pragma once
#include <cstdint>

namespace tl {

struct Block;
struct Operation;

class MemoryWatch {
public:
  virtual ~MemoryWatch() = default;
  // The issuing thread: a block is given out for the operation that is made next, or is free again (any thread).
  virtual void allocated(const Block& block) = 0;
  virtual void freed(const Block& block) = 0;
  // The issuing thread: the operation that is made next gets it from those that still use it, after which it comes.
  virtual void reused(const Block& block) = 0;
  // The issuing thread, before any other can know of the operation. alone: it runs before the next one is made.
  // Returns its number, from 1.
  virtual uint32_t submitted(const Operation& op, bool alone) = 0;
  virtual void began(uint32_t number) = 0; // not where all that it makes has failed already
  virtual void ended(uint32_t number) = 0; // before anybody is told
  // The issuing thread: whether it shall wait until nothing is in flight, which it then reports.
  virtual bool wants_rest() const = 0;
  virtual void rested() = 0;
};

} // namespace tl
