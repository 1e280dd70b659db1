// Which values of a piece of graph depend on given ones by a way that derivatives take.
#pragma once
#include "ir/graph/graph.h"
#include <set>
#include <vector>

namespace tl {

class Moving {
public:
  explicit Moving(const ir::Function& function) : f_(function) {}

  void start(ir::ValueId value) { values_.insert(value.index); }
  // What moves with the nodes of a region and the regions inside, given what moves already.
  void find(const std::vector<ir::NodeId>& nodes);
  bool operator()(ir::ValueId value) const { return values_.count(value.index) > 0; }

  static bool can(const ir::Type& type); // floats, and lists that hold some

private:
  bool find_loop(const ir::Node& node);

  const ir::Function& f_;
  std::set<uint32_t> values_;
};

} // namespace tl
