// The memory of a symbolic execution (passes/memory/peak_memory.h): what slots hold, who holds which block, and when
// two states are the same. Internal to that analysis.
#pragma once
#include "abi/device.h"
#include "abi/program/bytecode.h"
#include "lang/size.h"
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace tl::peak {

constexpr uint32_t kNone = UINT32_MAX;

// Of a bool: a comparison `a op b` of sizes that is not decided.
struct Comparison {
  ScalarOp op{};
  Size a, b;
};

struct Value {
  enum class Kind : uint8_t { Empty, Scalar, Tensor, Str, List };
  Kind kind = Kind::Empty;
  DType dtype{};
  std::optional<Scalar> known;            // Scalar, of all types but i64
  Size size;                              // Scalar of type i64
  std::shared_ptr<const Comparison> test; // Scalar of type bool that is not known
  uint32_t object = kNone;                // Tensor: its block, List: its elements; none: elements that are not known
  std::vector<Size> dims;                 // Tensor
  int16_t device = kNoDevice;             // Tensor

  static Value of(DType type, Scalar scalar);
  static Value of(Size size);
  static Value unknown(DType type); // not i64
  static Value tensor(DType type, std::vector<Size> dims, uint32_t block);
  static Value text();
  static Value list(uint32_t elements);
  std::optional<Scalar> scalar() const; // what is known of a scalar
  bool is_scalar() const { return kind == Kind::Scalar; }
};

// Memory that handles share.
struct Block {
  uint32_t handles = 0;
  bool counted = false; // in the pool, and may be taken over
  bool rounded = false; // takes a block of the pool; not: an argument
  bool many = false;    // of so many elements of a list as a loop had turns; `dims` are those of each
  size_t device = 0;    // whose pool
  Size bytes;
  uint64_t exact = 0; // in the pool; meaningful if `bytes` is constant
  std::string what;   // of an argument
  DType dtype{};
  std::vector<Size> dims;
  LocId loc;
};

// Elements of a list that are alike: `count` times the leaves `unit`, whose memory is one block for all of them, or one
// that all of them share.
struct Alike {
  Size count;
  std::vector<Value> unit;
};

struct Elements { // of a list
  uint32_t handles = 0;
  size_t width = 1;
  std::vector<Value> values;
  std::vector<Alike> many; // beside `values`; where among them is not known
  Size length() const {
    Size sum(static_cast<int64_t>(values.size() / width));
    for (const Alike& alike : many)
      sum = sum + alike.count;
    return sum;
  }
};

struct State;
struct Cycle;

// How often the head of a loop was reached again since it was entered.
struct Turns {
  uint32_t head = 0, end = 0; // instructions: the end jumps to the head
  int count = 0;              // of turns, since it is open if it is
  bool open = false;          // when it ends is not known
  std::shared_ptr<const State> before;
  std::shared_ptr<const Cycle> cycle; // where its turns are taken together (peak_loops.cpp)
};

struct Frame {
  uint32_t function = 0;
  size_t at = 0;
  std::vector<Value> slots;
  LocId call;
  std::vector<Turns> loops;
};

struct State {
  std::vector<Frame> frames;
  std::vector<Block> blocks;
  std::vector<Elements> lists;
  std::vector<uint32_t> free_blocks, free_lists;
  struct Memory {               // of a device
    Size live;                  // bytes of counted blocks
    uint64_t live_exact = 0;    // the same as blocks of the pool
    bool exact = true;          // live_exact is meaningful
    std::vector<Size> scratch;  // of each worker: the largest of these
    uint64_t scratch_exact = 0; // the same, rounded as the engine does
    bool reached = false;       // the peak that Machine::always_reach looks for
  };
  std::vector<Memory> memories;
  std::map<AtomId, Size> same; // sizes that checks have shown to be equal

  Frame& top() { return frames.back(); }
  Value& slot(Slot s) { return frames.back().slots.at(s.index); }

  void retain(const Value& value);
  void release(Value& value);     // and empties it
  void set(Slot to, Value value); // `value` brings no reference of its own: one is added
  uint32_t new_block(Block block);
  uint32_t new_list(size_t width);
  void stop_counting(Block& block); // its memory is given back or becomes another's
  void resize(Block& block, Size bytes);
};

// A text that is equal for states that behave alike.
std::string fingerprint(const State& state);

// Where corresponding scalars and sizes of `now` differ from those of `before`, an earlier arrival at the head of the
// same loop, puts what `name` gives for the place (slot, axis or -1, depth of the frame). False: they are not alike in
// structure, and `now` is as it was.
using Widen = std::function<Size(size_t frame, uint32_t slot, int axis, const Size& was, const Size& is)>;
bool widen(const State& before, State& now, const Widen& name);

} // namespace tl::peak
