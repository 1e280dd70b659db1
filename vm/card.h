// What the engine needs of a card (a GPU). vm/gpu implements it; executables without one link none of that.
//
// A card has one compute stream, on which work runs in the order in which it is launched, and one stream for copies in
// each direction. What is launched gets a moment: a number that grows. Functions throw RuntimeError: OutOfMemory, or
// DeviceError where the driver refuses (what the card has then computed is lost).
#pragma once
#include "vm/memory.h"
#include <memory>
#include <span>
#include <string>

namespace tl {

class Engine;
struct Operation;

struct CardFacts {
  std::string name;         // "NVIDIA H200"
  std::string compute;      // capability: "9.0"
  std::string architecture; // for which compilers make code that it runs: "sm_90", or "compute_90" for PTX
  std::string driver;       // "13.0"
  uint64_t memory = 0;      // bytes, all of it
  uint64_t free = 0;        // of them, what others had left when it was opened
  int multiprocessors = 0;
};

// A card's work in one run: kernels, and copies that are brief. It launches operations whose inputs are done or
// launched on the same card before, as soon as they are ready, from whichever thread finds them so, and lets go of
// memory at once: what takes it over is launched later on the same stream. A thread of its own waits for the card,
// reads failures, and concludes operations in the order in which they were launched.
//
// A copy is brief where the stream can do it between kernels and nobody minds: then it waits for no thread and no
// event, what reads it on the card is launched at once, and a number that the program must know is there after one
// wait. A longer copy has a thread and a stream for its direction (`copy`), and kernels run beside it.
class CardQueue {
public:
  virtual ~CardQueue() = default;         // after everything in flight is done
  virtual void launch(Operation* op) = 0; // and what becomes ready by that
  virtual void copy(Operation* op) = 0;   // to the card or from it, one that is not brief; waits
};

class Card {
public:
  virtual ~Card() = default;
  virtual const CardFacts& facts() const = 0;
  virtual MemorySource& memory() = 0;
  virtual uint64_t blocks_at_once() const = 0; // the most that a launch has, each with a local workspace
  virtual std::unique_ptr<CardQueue> open(Engine& engine, int device) = 0;
  // Whether a copy of so many bytes, to the card or from it, is to be launched; then there is room for it.
  virtual bool takes_brief_copy(int64_t bytes) = 0;
  // Waits. `after`: what used the memory before, a moment of memory().
  virtual void copy_in(std::byte* to, const std::byte* from, int64_t bytes, uint64_t after) = 0;
  virtual void copy_out(std::byte* to, const std::byte* from, int64_t bytes) = 0;
};

} // namespace tl
