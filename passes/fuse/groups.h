// Fusion: which nodes of a region become one kernel. (docs/kernels.md says what a kernel may be.)
//
// Items are the nodes of one region, visited from the last to the first. A node joins the group of its readers when all
// of them are in one group and the group's iteration space has a place for it; a node that is free or cheap joins every
// group that reads it, as a copy; another one may become one more output of the first group that reads it. Groups stay
// free of cycles because each has a place `order` in the program such that everything it reads is made before and
// everything that reads it runs after.
#pragma once
#include "ir/graph/op_info.h"
#include "passes/fuse/kernel_shape.h"
#include <bitset>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tl {

// Where in its group's space a member is evaluated.
enum class Place : uint8_t { Element, Row, Single, Other };

struct Use {
  uint32_t item;
  int32_t slot; // operand number, or -1: inside the reader's regions
};

struct Item {
  ir::NodeId node;
  ir::FusionClass kind = ir::FusionClass::Outside;
  uint32_t position = 0; // in the region; copies have their original's
  int32_t group = -1;
  uint32_t original = 0; // copies: the item that this one repeats
  Place place = Place::Element;
  bool once = true;          // at most once per element of its own
  bool full = true;          // at every element of its own
  bool operand_side = false; // a view, or a conversion, between a Contract and its operand
  bool guards = false;       // can record a failure
  int64_t last_check = -1;   // position of the last of it and what it is computed from that can fail
  std::bitset<256> checks;   // the Guards among those, each by the bit that its position names
  uint32_t cost = 0;         // of one element, with what is pulled for it
  uint32_t leaves = 0;       // tensors read for that
  int32_t reduce = -1;       // the Reduce that a row value is computed from
};

struct Group {
  ir::KernelKind kind = ir::KernelKind::Nest;
  bool alive = true, scan = false, has_map = false;
  bool guards = false;  // one output, which depends on every Guard inside
  bool decided = false; // holds a Reduce
  bool columns = false; // decided: the folded axes are not the trailing ones
  double order = 0;
  std::vector<ir::Dim> space;   // of element-level members
  std::vector<int64_t> reduced; // decided: the folded axes
  int32_t rows = -1;            // not decided: leading axes of rows that are expected, as a row value has joined
  uint32_t reduces = 0, outputs = 1;
  uint32_t root = 0;
  std::vector<uint32_t> members;
};

class Fusion {
public:
  Fusion(ir::Module& module, ir::Function& function, const std::vector<bool>& dataflow)
      : module_(module), f_(function), dataflow_(dataflow) {}

  // Groups the nodes of the region; fuse: more than one to a group.
  void group(const ir::Region& region, bool fuse);
  // The region's nodes with a Kernel node for each group.
  void emit(ir::Region& region);

private:
  struct Read {
    Place place;
    bool once, full;
    int32_t rows = -1; // expects rows of so many leading axes
    bool allowed = true;
  };

  // building
  void add_items(const ir::Region& region);
  ir::FusionClass classify(const ir::Node& node) const;
  void inner_uses(const ir::Node& node, std::vector<ir::ValueId>& values) const;
  void estimate(Item& item);
  void find_last_check(Item& item);
  const ir::Node& node_of(uint32_t item) const { return f_[items_[item].node]; }
  int32_t item_of(ir::ValueId value) const;
  std::vector<Use> uses(uint32_t item) const;
  double order_of(uint32_t item) const;
  bool host_scalar(ir::ValueId value) const;

  // deciding
  void visit(uint32_t item);
  void start(uint32_t item);
  enum class Mode { Try, Member, Output };
  bool join(uint32_t item, uint32_t group, Mode mode); // Try: would it be a member?
  bool join_reduce(uint32_t item, uint32_t group, const std::vector<Use>& edges, Mode mode);
  bool join_contract(uint32_t item, uint32_t group, const std::vector<Use>& edges, Mode mode);
  bool is_widened(const ir::Node& node) const;
  bool join_operand_side(uint32_t item, uint32_t group, const std::vector<Use>& edges, Mode mode);
  ir::ValueId viewed(ir::ValueId value) const;
  bool later_failure_hides(uint32_t guard, const Group& group) const;
  bool fits_update(uint32_t item, const Group& group) const;
  bool join_copies(uint32_t item, const std::vector<uint32_t>& readers, bool outside);
  Group* first_reader(uint32_t item);
  Read read(const Use& use, uint32_t item, const Group& group) const;
  Read read_scalar(const Use& use, uint32_t item, const Group& group) const;
  Read read_broadcast(const Item& reader, uint32_t item, const Group& group) const;
  int32_t expected_rows(uint32_t item, const Group& group) const;
  Read combined(const std::vector<Use>& edges, uint32_t item, const Group& group) const;
  bool cheap(const Item& item) const;
  uint32_t copy(uint32_t item, uint32_t group);
  void copy_producers(uint32_t item, uint32_t from);
  void add(uint32_t item, uint32_t group, const Read& read);
  bool merge(uint32_t a, uint32_t b);
  bool compatible(const Group& a, const Group& b) const;
  bool fail_together(uint32_t item, const Group& group) const;
  void dissolve_expected_rows(uint32_t group);
  void merge_siblings();

  // emitting
  struct Emission;
  bool mark_read(Emission& e, bool keep_root);
  void collect_nodes(Emission& e, std::vector<ir::NodeId>& out);
  void guard_operand(ir::NodeId kernel, ir::ValueId operand, const std::vector<ir::NodeId>& guards,
                     std::vector<ir::NodeId>& out);
  void guard_output(ir::NodeId kernel, const std::vector<ir::NodeId>& guards, std::vector<ir::NodeId>& out);
  void emit_group(uint32_t group, std::vector<ir::NodeId>& out);
  bool stays_view(const Group& group) const;

  ir::Module& module_;
  ir::Function& f_;
  const std::vector<bool>& dataflow_;
  std::vector<Item> items_;
  std::vector<Group> groups_;
  std::unordered_map<uint32_t, uint32_t> item_of_value_;
  std::unordered_map<uint32_t, std::vector<Use>> uses_;          // by value made here
  std::unordered_set<uint32_t> yielded_;                         // values that leave the region
  std::unordered_map<uint32_t, std::vector<ir::ValueId>> inner_; // by item: values of this region used in its regions
};

} // namespace tl
