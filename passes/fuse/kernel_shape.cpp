#include "passes/fuse/kernel_shape.h"
#include <algorithm>

namespace tl {
using namespace ir;

KernelShape kernel_shape(const Function& f, const Node& kernel) {
  KernelShape shape;
  const Region& body = kernel.regions[0];
  for (NodeId id : body.nodes) {
    const Node& node = f[id];
    if (node.op != Op::Reduce && node.op != Op::Scan) continue;
    const std::vector<Dim>& dims = f[node.operands[0]].type.dims;
    shape.reduced = node.op == Op::Scan ? std::vector<int64_t>{node.as<ScanAttrs>().axis} : node.as<ReduceAttrs>().axes;
    bool trailing = true;
    for (size_t i = 0; i < dims.size(); ++i) {
      bool folded = std::count(shape.reduced.begin(), shape.reduced.end(), static_cast<int64_t>(i)) > 0;
      (folded ? shape.inner : shape.outer).push_back(dims[i]);
      trailing = trailing && folded == (i + shape.reduced.size() >= dims.size());
    }
    shape.form = node.op == Op::Scan ? NestForm::Scan : trailing ? NestForm::Rows : NestForm::Columns;
    return shape;
  }
  shape.outer = f[body.yields[0]].type.dims;
  return shape;
}

Level level_of(const Type& type, const KernelShape& shape) {
  const std::vector<Dim>& dims = type.dims;
  if (shape.form == NestForm::Map) return dims == shape.outer ? Level::Element : Level::Other;
  if (dims.size() == shape.outer.size() + shape.inner.size()) {
    size_t outer = 0, inner = 0;
    bool element = true;
    for (size_t i = 0; i < dims.size() && element; ++i) {
      bool folded = std::count(shape.reduced.begin(), shape.reduced.end(), static_cast<int64_t>(i)) > 0;
      element = dims[i] == (folded ? shape.inner[inner++] : shape.outer[outer++]);
    }
    if (element) return Level::Element;
  }
  if (dims.size() < shape.outer.size()) return Level::Other;
  for (size_t i = 0; i < dims.size(); ++i)
    if (!(dims[i] == (i < shape.outer.size() ? shape.outer[i] : Dim::of(1)))) return Level::Other;
  return Level::Row;
}

} // namespace tl
