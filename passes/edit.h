// The frame of a pass that goes over a function once, in order: it substitutes values as it goes and lets the pass
// keep, drop or replace each node. New nodes come before the one being visited.
//
//   Edit edit(module, function);
//   edit.visit = [&](NodeId id) { …edit.replace(result, value); return Edit::Drop; … return Edit::Keep; };
//   edit.run();
#pragma once
#include "ir/graph/graph.h"
#include <functional>
#include <optional>
#include <vector>

namespace tl {

class Edit {
public:
  enum Answer { Keep, Drop };

  Edit(ir::Module& module, ir::Function& function) : module_(module), f_(function) {}

  // Sees a node once its operands and types are substituted and before its regions are gone over. Whoever drops a node
  // has replaced every result that is used.
  std::function<Answer(ir::NodeId)> visit;
  // Sees a kept node after its regions.
  std::function<Answer(ir::NodeId)> leave;
  // Called around each region of a node (not around the function's body): true on entry.
  std::function<void(ir::NodeId, size_t region, bool enter)> scope;

  void run();

  void replace(ir::ValueId from, ir::ValueId to);
  ir::ValueId resolve(ir::ValueId value);
  ir::Type resolve(ir::Type type); // sizes that are constants by now become constant sizes

  // New nodes, before the one being visited.
  ir::NodeId node(ir::Op op, std::vector<ir::ValueId> operands, std::vector<ir::Type> results, ir::Attrs attrs = {},
                  LocId loc = {}, std::vector<ir::Region> regions = {});
  ir::ValueId one(ir::Op op, std::vector<ir::ValueId> operands, ir::Type result, ir::Attrs attrs = {}, LocId loc = {});
  ir::ValueId constant(DType type, Scalar value);
  void keep(ir::NodeId id) { out_->push_back(id); } // an existing node moves here
  // Goes over the nodes of a region as if they stood here: for branches that are known to be taken.
  void splice(const std::vector<ir::NodeId>& nodes);

  ir::Module& module() { return module_; }
  ir::Function& function() { return f_; }
  bool changed = false;

private:
  void region(ir::Region& region);
  void nodes(const std::vector<ir::NodeId>& ids);
  void types(const std::vector<ir::ValueId>& values);

  ir::Module& module_;
  ir::Function& f_;
  std::vector<ir::NodeId>* out_ = nullptr;
  std::vector<ir::ValueId> replaced_;
};

// The scalar that a value is, where a Constant node makes it.
std::optional<Scalar> constant_of(const ir::Function& function, ir::ValueId value);
// The number, where it is an i64 constant.
std::optional<int64_t> integer_of(const ir::Function& function, ir::ValueId value);
inline const ir::Node* producer_of(const ir::Function& function, ir::ValueId value) {
  ir::NodeId id = function[value].producer;
  return id.valid() ? &function[id] : nullptr;
}
// The same sizes, by identity.
inline bool same_dims(const ir::Function& f, ir::ValueId a, ir::ValueId b) { return f[a].type.dims == f[b].type.dims; }

} // namespace tl
