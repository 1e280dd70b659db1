// What loops that become sequential code (KernelKind::Loop) keep in memory. Used by `outline`, to see whether a loop
// fits, and by kernel lowering.
//
// A tensor that a turn makes is kept, computed into memory of its own where it stands, or pulled, an element at a time,
// by whatever reads it.
#pragma once
#include "ir/graph/graph.h"
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tl {

class Sequence {
public:
  // `region`: that of a Kernel node, or one that holds the loop alone. It outlives this.
  Sequence(const ir::Function& function, const ir::Region& region);

  // Loops, Ifs and Updates are neither kept nor pulled: what they give has memory already, or a copy.
  bool is_kept(ir::ValueId value) const { return kept_.contains(value.index); }
  // What a pulled tensor reads from memory, each once: itself, if it is not pulled.
  std::vector<ir::ValueId> sources(ir::ValueId value) const;
  // What a kept one is computed from.
  std::vector<ir::ValueId> operands(ir::ValueId value) const;
  // If the elements of `value` read `memory` at all, each reads the one at its own index alone.
  bool reads_in_place(ir::ValueId value, ir::ValueId memory) const;
  // The tensor that `value` is a later version of, through updates in place: itself, if of none.
  ir::ValueId root(ir::ValueId value) const;
  // Does the region's own code make it, or take it as a parameter?
  bool is_inside(ir::ValueId value) const { return places_.contains(value.index); }

private:
  struct Place {
    const ir::Region* region = nullptr;
    size_t position = 0; // of the node that makes it; of parameters 0
  };
  struct Use {
    ir::NodeId user;     // invalid: a yield
    bool in_map = false; // what elements of a comprehension are computed from
    size_t position = 0; // in the region where the value stands: of the user, or of the node around it
    bool is_deeper = false;
  };
  std::vector<ir::ValueId> read_by(std::vector<ir::ValueId> values) const;
  std::vector<ir::ValueId> direct_operands(const ir::Node& node) const;
  void walk_region(const ir::Region& region);
  void use(ir::ValueId value, ir::NodeId user, bool in_map);
  void decide(const ir::Region& region);
  bool must_keep(ir::NodeId id, const ir::Region& region, size_t position) const;
  bool is_read_once(ir::ValueId value) const;
  bool is_pulled(ir::ValueId value) const;
  std::pair<size_t, bool> last_use(ir::ValueId value) const; // position, is_deeper

  const ir::Function& f_;
  std::unordered_map<uint32_t, Place> places_;
  std::unordered_map<uint32_t, std::vector<Use>> uses_;
  std::vector<Place> around_; // the regions that are being walked, and where
  std::unordered_set<uint32_t> kept_;
  mutable std::unordered_map<uint32_t, ir::ValueId> roots_;
};

} // namespace tl
