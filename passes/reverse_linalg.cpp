// Reverse mode: the decompositions of linear algebra.
#include "passes/reverse.h"

namespace tl {
using namespace ir;

void Reverse::reverse_linalg(Scope&, const Node& node) {
  throw NotDifferentiable("the derivative of this decomposition is not supported yet", node.loc);
}

} // namespace tl
