// Reverse mode: the cotangents of a piece of graph, emitted as graph. Internal to the pass `derive`.
//
// The nodes to be reversed are the *tape*. Values of the tape ("originals") are known in the place where the reverse
// sweep has other ids, or none yet: primal() gives such a value, and computes it again or has it saved where it
// must. A region inside (a branch, a loop's body) is a Scope of its own:
//   - the body of a loop is swept in a loop that goes backwards. What the sweep needs of an iteration is computed again
//     from what was saved: the choice is by size (see materialize), so that a loop over the elements of a tensor saves
//     elements. Saved values are in tensors with one row for each iteration, which the forward loop fills; what
//     a branch or an inner loop in it makes is saved from there, with an axis for each of the loops around it;
//   - an inner loop is run again from what it starts with, or it runs once and saves what its own turns need: the
//   choice
//     is by size again, so that loops that update one table by element save elements, not tables;
//   - cotangents of values from outside are carried through that loop and updated in place, so that reading an element
//     in each of n iterations costs n and not n squared;
//   - a `while` is run once more with its count of iterations known;
//   - what is cheap in a branch is computed again in the branch of the reverse sweep.
// The scheme is that of Futhark's reverse mode (Schenck et al., SC 2022), with a choice of what to save.
#pragma once
#include "ir/graph/rewrite.h"
#include "passes/derive/derive.h"
#include "passes/derive/moving.h"
#include "passes/emit.h"
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

namespace tl {

class Reverse {
public:
  Reverse(ir::Module& module, ir::Function& function) : module_(module), f_(function), moving_(function) {}

  // Appends the reverse sweep of what is in `region` (all of it is the tape).
  //   inputs    what moves: values that the tape reads, each of its own
  //   outputs   values of the tape, with their cotangents: pairs
  // Gives the cotangents of the inputs.
  std::vector<ir::ValueId> run(ir::Region& region, const std::vector<ir::ValueId>& inputs,
                               const std::vector<std::pair<ir::ValueId, ir::ValueId>>& outputs, LocId loc);

private:
  // A loop whose iterations are being reversed.
  struct Loop {
    ir::Region* home = nullptr; // where its forward node is; null: in the forward node of the scope around
    double turns = 0;           // an estimate
    ir::ValueId count;          // of iterations, where the sweep is
    ir::ValueId forward_index;  // which iteration it is, in the forward loop; made when first needed
    ir::ValueId index;          // and in the reverse loop
    std::set<uint32_t> carried; // originals that depend on what the loop carries
    // Of a `while` that is not run again: a number for each of its turns in all turns of the loops around.
    bool numbered = false;
    ir::ValueId forward_number, number; // in the forward loop, and in the reverse loop
    ir::ValueId total;                  // of them, before the outermost loop
    // Of the outermost loop: a copy of it that runs before it and counts.
    ir::NodeId counting;
    std::shared_ptr<ir::Cloner> counting_copies; // from what is in the forward node
  };
  // What runs, or ran, forwards where a Scope is swept: a For, or an If inside of such a one. Values are saved there.
  struct Run {
    ir::NodeId node;
    size_t side = 0;                    // the region
    std::shared_ptr<ir::Cloner> copies; // original -> its copy in there; null: they are the same
    std::set<uint32_t> inside;          // values of the region in there, under their ids in there
  };
  struct Scope {
    Scope* parent = nullptr;
    ir::Region* out = nullptr;
    LocId loc;
    std::unordered_map<uint32_t, ir::ValueId> primal, adjoint; // by original
    std::set<uint32_t> owned;                                  // originals that the tape of this scope defines
    std::unique_ptr<Loop> loop;                                // of the body of a loop
    std::unique_ptr<Run> run;                                  // of a loop, and of what is saved from there
    std::unordered_map<uint32_t, double> costs;                // by original
    bool closed = false; // cotangents of outside are carried, not reached for: the body of a loop
    std::map<uint32_t, std::pair<ir::NodeId, std::shared_ptr<ir::Cloner>>> copies; // by original node: loops run again
  };

  Emit emit(Scope& s) { return Emit(module_, f_, *s.out, s.loc); }
  const ir::Type& type(ir::ValueId v) const { return f_[v].type; }
  bool moves(ir::ValueId v) const { return moving_(v); }

  // ---- reverse.cpp: scopes, values, cotangents
  void own(Scope& s, const ir::Region& region, bool params);
  ir::ValueId primal(Scope& s, ir::ValueId original);
  std::vector<ir::ValueId> primal(Scope& s, const std::vector<ir::ValueId>& originals);
  std::vector<ir::Dim> dims(Scope& s, ir::ValueId original); // of an original, as they are known in s
  std::vector<ir::Dim> dims(Scope& s, const std::vector<ir::Dim>& of);
  void run_again(Scope& s, ir::NodeId node);
  ir::ValueId cotangent(Scope& s, ir::ValueId original); // invalid: none
  ir::ValueId cotangent_or_zero(Scope& s, ir::ValueId original);
  ir::ValueId zero_cotangent(Scope& s, ir::ValueId original);
  void add(Scope& s, ir::ValueId original, ir::ValueId contribution, bool guarded);
  void set(Scope& s, ir::ValueId original, ir::ValueId cotangent, bool guarded);
  bool is_guarded(ir::ValueId cotangent) const { return guarded_.count(cotangent.index) > 0; }
  void guard(ir::ValueId cotangent) { guarded_.insert(cotangent.index); }
  void insert_before(ir::Region& region, ir::NodeId node, const ir::Region& nodes);

  // ---- reverse_saving.cpp: what of an iteration is saved, and where
  ir::ValueId materialize(Scope& s, ir::ValueId original);
  std::unique_ptr<Run> make_run(ir::NodeId forward, size_t side, std::shared_ptr<ir::Cloner> copies,
                                const Scope& of) const;
  static ir::ValueId ran(const Run& run, ir::ValueId original);
  ir::NodeId ran(const Run& run, ir::NodeId original) const;
  static void depends(const ir::Function& function, const std::vector<ir::NodeId>& nodes, std::set<uint32_t>& from);
  static void carry(const ir::Function& function, const ir::Node& loop, std::set<uint32_t>& from);
  bool saves_inside(Scope& s, const ir::Node& loop);
  double turns(const ir::Node& loop) const;
  double needs(const ir::Region& body, const std::set<uint32_t>& carried) const;
  bool is_carried(const Scope& s, ir::ValueId original) const;
  bool varies(Scope& s, ir::ValueId original);
  bool changes_device(const ir::Node& loop);   // from turn to turn, a tensor that is computed there
  std::optional<bool> copies_between_devices_; // does anything in the function?
  double weight(ir::ValueId original) const;
  double cost(Scope& s, ir::ValueId original);
  using Levels = std::vector<Scope*>; // a scope and those around it, up to the loop that runs on its own
  ir::ValueId save(Scope& s, ir::ValueId kept);
  static size_t innermost_numbered(const Levels& levels, size_t count);
  Levels levels(Scope& s) const;
  struct Thread;
  ir::ValueId thread(const Levels& levels, size_t level, ir::ValueId incoming, std::vector<ir::ValueId> turn,
                     const Thread& how);
  void number_turns(Scope& of);
  ir::ValueId outside(const Levels& levels, size_t count, ir::ValueId value, Emit* e) const;
  bool is_outside(const Levels& levels, size_t count, ir::ValueId kept) const;
  ir::ValueId trip_count(Emit& e, ir::ValueId lo, ir::ValueId hi, ir::ValueId step) const;

  // ---- reverse_rules.cpp
  void sweep(Scope& s, const std::vector<ir::NodeId>& tape);
  void reverse(Scope& s, ir::NodeId node);
  void reverse_result(Scope& s, const ir::Node& node, ir::ValueId dy); // of a node of one result
  std::vector<ir::ValueId> starts_from(Scope& s, const ir::Node& node, size_t first);
  void add_part(Scope& s, ir::ValueId x, const std::function<ir::ValueId(ir::ValueId)>& with_part);
  void reverse_elementwise(Scope& s, const ir::Node& node, ir::ValueId dy);
  void reverse_broadcast(Scope& s, const ir::Node& node, ir::ValueId dy);
  void reverse_slice(Scope& s, const ir::Node& node, ir::ValueId dy);
  void reverse_pad(Scope& s, const ir::Node& node, ir::ValueId dy);
  bool reverse_windows(Scope& s, const ir::Node& node, ir::ValueId dy);
  void reverse_concat(Scope& s, const ir::Node& node, ir::ValueId dy);
  void reverse_update(Scope& s, const ir::Node& node, ir::ValueId dy);
  void reverse_reduce(Scope& s, const ir::Node& node, ir::ValueId dy);
  void reverse_scan(Scope& s, const ir::Node& node, ir::ValueId dy); // scans.cpp
  void reverse_sort(Scope& s, const ir::Node& node, ir::ValueId dy); // sorting.cpp
  void reverse_contract(Scope& s, const ir::Node& node, ir::ValueId dy);
  void reverse_scatter(Scope& s, const ir::Node& node, ir::ValueId dy);
  void reverse_gather(Scope& s, const ir::Node& node, ir::ValueId dy);
  void reverse_linalg(Scope& s, const ir::Node& node);

  // ---- reverse_lists.cpp: the cotangent of a list is a list of that form
  void reverse_list_get(Scope& s, const ir::Node& node);
  void reverse_list(Scope& s, const ir::Node& node, ir::ValueId dy);
  void add_leaves(Scope& s, const std::vector<ir::ValueId>& originals, const std::vector<ir::ValueId>& cotangents);

  // ---- reverse_regions.cpp
  void reverse_if(Scope& s, ir::NodeId node);
  void reverse_loop(Scope& s, ir::NodeId node);
  struct BackwardLoop;
  void find_forward(Scope& s, ir::NodeId loop, BackwardLoop& back);
  void open_body(Scope& s, BackwardLoop& back);
  ir::ValueId add_slot(BackwardLoop& back, ir::ValueId original, ir::ValueId initial, size_t position);
  void carry_backwards(Scope& s, BackwardLoop& back);
  void close_body(BackwardLoop& back);
  std::vector<ir::ValueId> make_backward(Scope& s, BackwardLoop& back);
  void reverse_checkpoint(Scope& s, ir::NodeId node);
  void reverse_custom(Scope& s, ir::NodeId node);
  std::pair<ir::NodeId, std::shared_ptr<ir::Cloner>> counted(Scope& s, ir::NodeId node); // a while, as a for
  std::vector<ir::ValueId> moving_captures(const ir::Node& node);

  ir::Module& module_;
  ir::Function& f_;
  Moving moving_;
  std::set<uint32_t> guarded_; // cotangents with elements that were left out
};

// A copy of a node without the effects in it: tokens and what only effects make are gone. Its other results are mapped.
// Operands must be mapped or be known as they are.
ir::NodeId clone_without_effects(ir::Cloner& cloner, ir::NodeId node, ir::Builder& into);
// For the hook of a Cloner that leaves effects out: true if this node is one (its results are mapped then) or holds
// some (then it has been copied without).
bool leave_out_effects(ir::Cloner& cloner, ir::NodeId node, ir::Builder& into);

} // namespace tl
