#include "passes/schedule/placement.h"
#include "ir/graph/op_info.h"

namespace tl {
using namespace ir;
namespace {

class Analysis {
public:
  explicit Analysis(const Function& function) : f_(function), dataflow(function.values.size()) {}

  void run() {
    do {
      changed_ = false;
      region(f_.body);
    } while (changed_);
  }

private:
  void mark(ValueId value, bool is) {
    if (!is || dataflow[value.index] || !f_[value].type.is_scalar()) return;
    dataflow[value.index] = changed_ = true;
  }

  void region(const Region& r) {
    for (NodeId id : r.nodes)
      node(f_[id]);
  }

  void node(const Node& node) {
    switch (node.op) {
    case Op::If:
      for (const Region& branch : node.regions) {
        region(branch);
        for (size_t i = 0; i < node.results.size(); ++i)
          mark(node.results[i], dataflow[branch.yields[i].index]);
      }
      return;
    case Op::For:
    case Op::While: {
      size_t fixed = node.op == Op::For ? 3 : 0, first = node.op == Op::For ? 1 : 0;
      const Region& body = node.regions.back();
      for (size_t i = 0; i < node.results.size(); ++i) {
        bool is = dataflow[node.operands[fixed + i].index] || dataflow[body.yields[i].index];
        mark(body.params[first + i], is);
        mark(node.results[i], is);
        if (node.op == Op::While) mark(node.regions[0].params[i], is);
      }
      for (const Region& inner : node.regions)
        region(inner);
      return;
    }
    case Op::Wait:
      for (size_t i = 1; i < node.results.size(); ++i)
        mark(node.results[i], dataflow[node.operands[i].index]);
      return;
    case Op::ListGet: // an element may be either
      for (size_t i = 0; i < node.results.size() - node.as<ListGetAttrs>().sizes.size(); ++i)
        mark(node.results[i], true);
      return;
    case Op::Debug: return mark(node.results[1], dataflow[node.operands[1].index]);
    case Op::Kernel:
      for (ValueId result : node.results)
        mark(result, true);
      return;
    default:
      if (node.results.size() == 1) mark(node.results[0], gives_dataflow(f_, node, dataflow));
    }
  }

  const Function& f_;
  bool changed_ = false;

public:
  std::vector<bool> dataflow;
};

} // namespace

bool gives_dataflow(const Function& f, const Node& node, const std::vector<bool>& dataflow) {
  if (info(node.op).home != Home::Operands) return info(node.op).home == Home::Device; // elements of tensors
  for (ValueId operand : node.operands)
    if (dataflow[operand.index] || (f[operand].type.is_tensor() && !f[operand].type.is_scalar())) return true;
  return false;
}

std::vector<bool> dataflow_scalars(const Function& function) {
  Analysis analysis(function);
  analysis.run();
  return std::move(analysis.dataflow);
}

} // namespace tl
