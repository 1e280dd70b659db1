// Which loops can be sequential code (KernelKind::Loop).
//
// A loop over scalars and subscripts fits if tensors in it are only read and written by element, and every write can
// happen in place: each carried tensor is one buffer, each read is of its newest version, and no two carried tensors
// change places. Effects do not fit but for assertions whose message is a text with at most two integers.
//
// A loop whose turns make tensors fits if these are so small that an operation of the engine takes longer to issue than
// to do. What a turn hands on is copied where it is not in its place already; so what changes places is no hindrance.
#pragma once
#include "passes/fuse/sequence.h"
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace tl {

// What a Guard in place of this assertion says. Nothing: no Guard can.
std::optional<std::string> message_of_guard(const ir::Function& function, const ir::Node& assertion);

enum class LoopContent : uint8_t { Scalars, Tensors };

// How many operations something takes: a sum of products of a number and of sizes that only the run knows, by these.
using Work = std::map<std::vector<ir::ValueId>, double>;

// What one tensor operation of a turn may take at most, in operations on an element. To issue one takes the engine a
// microsecond, and others of the same loop wait for it.
constexpr double kSmallWork = 8192;

class LoopCheck {
public:
  LoopCheck(const ir::Function& function, LoopContent content)
      : f_(function), tensors_(content == LoopContent::Tensors) {}

  bool touches_tensors = false, has_loop_inside = false;
  bool makes_tensors = false; // or reads more than an element of one
  std::set<Work> limits;      // the loop fits if each of these is at most kSmallWork when it runs

  // Not null: an effect in a branch, an assertion that no Guard can be, and small tensor work that no loop takes are
  // put here and count as if they fitted; each with the If that it is in, if any.
  std::vector<std::pair<ir::NodeId, ir::NodeId>>* hindrances = nullptr;

  bool fits(ir::NodeId loop);

private:
  static constexpr int kNone = -1;

  void collect(const ir::Node& node);
  int new_buffer();
  bool is_token(ir::ValueId value) const { return f_[value].type.kind == ir::Type::Kind::Token; }
  bool is_scalar(ir::ValueId value) const { return f_[value].type.is_scalar() || is_token(value); }
  bool plain(ir::ValueId value) const { return f_[value].type.is_tensor() || is_token(value); }
  int buffer(ir::ValueId value) const;
  void version(int b, ir::ValueId value);
  bool newest(ir::ValueId value) const;

  bool loop_body(const ir::Node& node, const std::vector<int>& buffers);
  bool inner_loop(const ir::Node& node);
  bool branch(ir::NodeId id);
  bool region(const ir::Region& r);
  bool scalars(const std::vector<ir::ValueId>& values, size_t from) const;
  bool may_fail(ir::ValueId value) const;
  bool node(ir::NodeId id);
  bool update(const ir::Node& node);
  bool tensor(ir::NodeId id);
  bool hinders(ir::NodeId id); // and would it fit otherwise?

  bool reads(ir::ValueId value) const;   // can it be read here?
  bool make(ir::ValueId value);          // memory of its own for a tensor that is read here
  Work pulled(ir::ValueId value) const;  // of an element
  Work fold(const ir::Node& node) const; // of a Reduce or Contract, all of it
  Work body(const ir::Region& region) const;
  bool affordable(const Work& work);

  const ir::Function& f_;
  const bool tensors_;
  std::optional<Sequence> sequence_;
  std::optional<ir::Region> holder_;
  std::unordered_set<uint32_t> inside_; // the values that the loop makes
  size_t work_ = 0;
  ir::NodeId branch_;                                // around what is looked at
  bool has_while_ = false, guards_elements_ = false; // a comprehension's
  std::unordered_map<uint32_t, int> buffer_;         // which buffer a value is a version of
  std::vector<ir::ValueId> current_;                 // newest version of each buffer
};

} // namespace tl
