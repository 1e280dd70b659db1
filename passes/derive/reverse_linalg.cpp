// Reverse mode: the decompositions of linear algebra.
#include "passes/derive/linalg_rules.h"
#include "passes/derive/reverse.h"

namespace tl {
using namespace ir;

void Reverse::reverse_linalg(Scope& s, const Node& node) {
  const auto& a = node.as<LinalgAttrs>();
  Decomposition of{a.op, a.site, primal(s, node.operands), primal(s, node.results)};
  std::vector<ValueId> dy;
  for (ValueId v : node.results)
    dy.push_back(cotangent(s, v));
  Emit e = emit(s);
  std::vector<ValueId> dx = linalg_cotangents(e, of, dy, node.loc);
  for (size_t i = 0; i < node.operands.size(); ++i)
    if (moves(node.operands[i])) add(s, node.operands[i], dx[i], false);
}

} // namespace tl
