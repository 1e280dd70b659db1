// Graphs inside nodes: branches.
#include "importers/onnx/operators.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::onnx {

const Graph& graph_of(Op& op, std::string_view name) {
  const Attribute* found = op.attribute(name);
  if (!found || !found->graph) op.refuse(fmt::format("it has no {}", name));
  return *found->graph;
}

bool widen(Importer& in, Value& type, const Value& other, size_t atoms) {
  bool changed = false;
  auto widen_dims = [&](Dims& dims, const Dims& by) {
    if (dims.size() != by.size())
      throw Refused(fmt::format("a value of it has once {} and once {} axes: which has to be known (--dim, --input)",
                                dims.size(), by.size()));
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].is_too_large() || (dims[i] == by[i] && in.holds_outside(dims[i], atoms))) continue;
      dims[i] = unknown_size();
      changed = true;
    }
  };
  if (type.is_none != other.is_none || !type.sequence != !other.sequence)
    throw Refused("a value of it is once a tensor, and once a sequence or not there");
  if (type.is_none) return false;
  if (!type.sequence) {
    if (type.dtype != other.dtype)
      throw Refused(fmt::format("a value of it is once {} and once {}", name_of(type.dtype), name_of(other.dtype)));
    widen_dims(type.dims, other.dims);
    return changed;
  }
  Sequence sequence = *type.sequence;
  if (sequence.dtype != other.sequence->dtype) throw Refused("a value of it is sequences of different types");
  if (!sequence.element && other.sequence->element) {
    sequence.element = *other.sequence->element;
    changed = true;
  }
  if (sequence.element && other.sequence->element) widen_dims(*sequence.element, *other.sequence->element);
  changed |= sequence.items.has_value();
  sequence.items.reset();
  type.sequence = std::make_shared<Sequence>(std::move(sequence));
  return changed;
}

ValuePtr typed_value(Importer& in, const Value& type, const std::string& name) {
  auto value = std::make_shared<Value>();
  value->name = type.name;
  value->dtype = type.dtype;
  value->is_none = type.is_none;
  value->sequence = type.sequence;
  value->text = type.is_none ? "" : name;
  value->dims = in.looked_up(name, type.dims);
  if (!type.sequence && !type.is_none) in.note_type(name, type.dtype, value->dims);
  return value;
}

std::string declared(Importer& in, const Value& type, const std::string& name) {
  return type.sequence ? fmt::format("{}: {}", name, in.list_type(*type.sequence)) : name;
}

namespace {

std::string block_text(Importer& in, Importer::Body& body) {
  std::vector<std::string> results;
  in.within(body.block, [&] {
    for (const ValuePtr& value : body.results)
      results.push_back(in.typed_text(*value));
  });
  std::string text = "{\n";
  for (const std::string& line : body.block.lines)
    text += line + "\n";
  return text + (results.size() == 1 ? results[0] : fmt::format("({})", fmt::join(results, ", "))) + "\n}";
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
  const size_t atoms = op.in.sizes().size();
  const Importer::Mark mark = op.in.mark();
  Importer::Body yes, no;
  bool differ = false;
  op.in.attempt([&] { // a branch that is not taken need not fit
    yes = op.in.body(then_graph, {});
    no = op.in.body(else_graph, {});
    for (size_t i = 0; i < std::min(yes.results.size(), no.results.size()); ++i)
      differ |=
          !yes.results[i]->sequence && !no.results[i]->sequence && yes.results[i]->rank() != no.results[i]->rank();
  });
  if (differ) {
    op.in.go_back_to(mark);
    const bool first = op.in.choose_first();
    op.in.write(fmt::format("assert {}{}", first ? "" : "not ", test));
    const std::vector<ValuePtr> results = op.in.inlined(first ? then_graph : else_graph, {});
    for (size_t i = 0; i < results.size(); ++i)
      op.alias(i, results[i]);
    return;
  }
  if (yes.results.size() != no.results.size() || yes.results.size() < op.node.outputs.size())
    op.refuse("its branches differ in how much they give");
  std::vector<Value> types;
  std::vector<std::string> names;
  for (size_t i = 0; i < yes.results.size(); ++i) {
    Value type = *yes.results[i];
    widen(op.in, type, type, atoms); // without what only its block knows
    widen(op.in, type, *no.results[i], atoms);
    if (type.is_none) op.refuse("one of its results is not there");
    types.push_back(std::move(type));
  }
  const std::string text = fmt::format("if {} {} else {}", test, block_text(op.in, yes), block_text(op.in, no));
  for (size_t i = 0; i < types.size(); ++i) {
    names.push_back(op.wants(i) ? op.in.fresh_name(op.node.outputs[i]) : "_");
    if (op.wants(i)) op.alias(i, typed_value(op.in, types[i], names[i]));
  }
  if (types.size() == 1) return op.in.write(fmt::format("let {} = {}", declared(op.in, types[0], names[0]), text));
  op.in.write(fmt::format("let ({}) = {}", fmt::join(names, ", "), text));
}

} // namespace

std::vector<Row> control_rows() {
  return {
      {"If", 1, "", branch},
  };
}

} // namespace tl::onnx
