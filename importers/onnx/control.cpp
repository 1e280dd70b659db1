// Graphs inside nodes: branches and loops.
#include "importers/onnx/operators.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::onnx {
namespace {

const Graph& graph_of(Op& op, const char* name) {
  const Attribute* found = op.attribute(name);
  if (!found || !found->graph) op.refuse(fmt::format("it has no {}", name));
  return *found->graph;
}

std::string block_text(const Block& block, const std::string& result) {
  std::string text = "{\n";
  for (const std::string& line : block.lines)
    text += line + "\n";
  return text + result + "\n}";
}

// Sizes of what two branches give: those that both give alike and that are made of names which hold outside of them.
Dims sizes_outside(Op& op, const Dims& a, const Dims& b) {
  Dims dims = a;
  for (size_t i = 0; i < a.size(); ++i) {
    std::vector<AtomId> leaves;
    op.in.sizes().collect(a[i], leaves);
    const bool holds = std::all_of(leaves.begin(), leaves.end(),
                                   [&](AtomId leaf) { return op.in.sizes()[leaf].kind == AtomKind::Named; });
    if (a[i] != b[i] || !holds) dims[i] = unknown_size();
  }
  return dims;
}

void branch(Op& op, const Row&) {
  const Graph &then_graph = graph_of(op, "then_branch"), &else_graph = graph_of(op, "else_branch");
  const Contents* condition = op.contents(0);
  if (condition && condition->items.size() == 1 && condition->is_constant()) {
    const std::vector<ValuePtr> results = op.in.inlined(condition->items[0].value() != 0 ? then_graph : else_graph, {});
    for (size_t i = 0; i < results.size(); ++i)
      op.alias(i, results[i]);
    return;
  }
  std::string test = op.text(0);
  for (size_t i = 0; i < op.rank(0); ++i)
    test += "[0]";
  Importer::Body yes = op.in.body(then_graph, {}), no = op.in.body(else_graph, {});
  if (yes.results.size() != no.results.size() || yes.results.size() < op.node.outputs.size())
    op.refuse("its branches differ in how much they give");
  std::vector<Op::Result> results;
  for (size_t i = 0; i < yes.results.size(); ++i) {
    const Value &a = *yes.results[i], &b = *no.results[i];
    if (a.dtype != b.dtype) op.refuse("its branches give values of different types");
    if (a.rank() != b.rank())
      op.refuse(
          fmt::format("its branches give tensors of {} and {} axes: which one it is has to be known (--dim, --input)",
                      a.rank(), b.rank()));
    results.push_back({a.dtype, sizes_outside(op, a.dims, b.dims)});
  }
  const std::string first = op.in.results_text(yes), second = op.in.results_text(no);
  const std::string text =
      fmt::format("if {} {} else {}", test, block_text(yes.block, first), block_text(no.block, second));
  if (results.size() == 1) return void(op.define(0, text, results[0].dtype, results[0].dims));
  op.define_all(text, results);
}

} // namespace

std::vector<Row> control_rows() {
  return {
      {"If", 1, "", branch},
  };
}

} // namespace tl::onnx
