// Graphs, the model's own and those inside nodes: each node is written by its row.
#include "abi/visible.h"
#include "importers/onnx/importer.h"
#include "importers/onnx/operators.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::onnx {
namespace {

constexpr size_t kDeepestCall = 16;

} // namespace

int64_t Importer::opset(const std::string& domain) const {
  auto at = opsets_->find(domain);
  return at == opsets_->end() ? (domain.empty() ? 1 : 0) : at->second;
}

void Importer::add_initializers(const Graph& graph, Scope& scope) {
  for (const TensorData& data : graph.initializers) {
    auto value = std::make_shared<Value>();
    value->name = data.name;
    const std::optional<DType> dtype = dtype_of(data.data_type);
    if (!dtype || data.has_strings) {
      if (scope.uses[data.name] > 0)
        refusals_.push_back({data.name, "initializer", "",
                             fmt::format("its elements are {}, which tl does not have", data_type_name(data.data_type)),
                             opset("")});
      scope.values[data.name] = nullptr;
      continue;
    }
    value->dtype = *dtype;
    data.count();
    for (int64_t d : data.dims)
      value->dims.emplace_back(d);
    value->data = &data;
    value->is_constant = true;
    scope.values[data.name] = value;
  }
}

// The names that a node reads, those in graphs inside it too.
static void each_read(const Node& node, const std::function<void(const std::string&)>& visit) {
  for (const std::string& name : node.inputs)
    if (!name.empty()) visit(name);
  for (const Attribute& attribute : node.attributes) {
    if (!attribute.graph) continue;
    for (const Node& inner : attribute.graph->nodes)
      each_read(inner, visit);
    for (const ValueInfo& output : attribute.graph->outputs)
      visit(output.name);
  }
}

void Importer::count_uses(const Graph& graph, Scope& scope) {
  for (const ValueInfo& output : graph.outputs)
    ++scope.uses[output.name];
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool needed = std::any_of(node->outputs.begin(), node->outputs.end(),
                                    [&](const std::string& name) { return scope.uses.contains(name); });
    if (!needed) {
      done_.insert(&*node); // nothing is made of it
      continue;
    }
    for (const std::string& name : node->outputs)
      scope.makers[name] = &*node;
    each_read(*node, [&](const std::string& name) {
      ++scope.uses[name];
      scope.readers[name] = &*node;
    });
  }
}

void Importer::add_nodes(const std::vector<Node>& nodes) {
  for (const Node& node : nodes)
    if (!done_.contains(&node)) add_node(node);
}

void Importer::add_node(const Node& node) {
  if (++nodes_ > kMostNodes)
    throw ModelError(fmt::format("its functions and loops, written out, have more than {} nodes", kMostNodes));
  auto leave_out = [&] { // what depends on it is not its own fault
    for (const std::string& name : node.outputs)
      if (!name.empty()) scope_->values[name] = nullptr;
  };
  auto is_there = [&](const std::string& name) { return name.empty() || find(name); };
  auto refuse = [&](const std::string& reason) {
    if (choices_ && attempts_ == 0) throw WrongChoice();
    refusals_.push_back({node.name, node.op, node.domain, reason, opset(node.domain)});
    leave_out();
  };
  auto function = functions_.find(FunctionKey(node.domain, node.op, node.overload));
  if (function != functions_.end()) {
    try {
      const bool is_whole = std::all_of(node.inputs.begin(), node.inputs.end(), is_there);
      return is_whole ? add_call(node, *function->second) : leave_out();
    } catch (const Refused& reason) {
      return refuse(reason.what());
    }
  }
  try {
    const std::optional<Function> fused = fused_function(*this, node);
    if (fused && std::all_of(node.inputs.begin(), node.inputs.end(), is_there)) return add_call(node, *fused);
    if (fused) return leave_out();
  } catch (const Refused& reason) {
    return refuse(reason.what());
  }
  const Row* row = find_row(node);
  if (!row) return refuse("there is no such operator here");
  for (const std::string& name : node.inputs) {
    if (name.empty()) continue;
    const Scope* scope = scope_;
    while (scope && !scope->values.contains(name))
      scope = scope->outer;
    if (!scope) return refuse(fmt::format("its input `{}` is nothing that stands before it", name));
    if (!is_there(name)) return leave_out(); // refused already
  }
  const int64_t version = opset(node.domain);
  if (version < row->since) return refuse(fmt::format("its definition is older than that of opset {}", row->since));
  try {
    const size_t before = block_->lines.size();
    if (!fold_node(node, *row, version)) {
      Op op(*this, node, version);
      row->write(op, *row);
    }
    if (block_->lines.size() > before && !node.name.empty()) { // whoever looks for the node finds it by its name
      std::string& line = block_->lines.back();
      const bool says_it = line.starts_with(fmt::format("let {} =", short_name(node.name)));
      if (line.find('\n') == std::string::npos && !says_it) line += "  # " + visible(node.name);
    }
  } catch (const Refused& reason) {
    refuse(reason.what());
  } catch (const ModelError& error) {
    if (error.kind != "NotSupported") throw;
    refuse(error.what());
  }
}

ValuePtr Importer::find_constant(const std::string& name) {
  auto maker = scope_->makers.find(name);
  if (!scope_->values.contains(name) && maker != scope_->makers.end()) {
    const Node& node = *maker->second;
    // Reshaped and moved constants: what a file has between its weights and where they are used.
    if (node.op != "Unsqueeze" && node.op != "Reshape" && node.op != "Identity" && node.op != "Constant")
      return nullptr;
    for (const std::string& input : node.inputs)
      if (!input.empty() && !find_constant(input)) return nullptr;
    add_node(node);
    done_.insert(&node);
  }
  ValuePtr value = find(name);
  return value && value->is_constant ? value : nullptr;
}

// The nodes of a function of the model, in place of its call.
void Importer::add_call(const Node& node, const Function& function) {
  if (calls_.size() >= kDeepestCall) throw Refused("functions of the model call one another without end");
  std::vector<Node> nodes = function.nodes;
  auto replace = [&](auto& self, std::vector<Node>& nodes) -> void {
    for (Node& inner : nodes) {
      std::vector<Attribute> attributes;
      for (Attribute& attribute : inner.attributes) {
        if (attribute.graph) {
          attribute.graph = std::make_shared<Graph>(*attribute.graph);
          self(self, attribute.graph->nodes);
        }
        if (attribute.reference.empty()) {
          attributes.push_back(attribute);
          continue;
        }
        auto with_name = [&](const std::vector<Attribute>& among) {
          return std::find_if(among.begin(), among.end(),
                              [&](const Attribute& a) { return a.name == attribute.reference; });
        };
        auto given = with_name(node.attributes);
        auto usual = with_name(function.defaults);
        if (given == node.attributes.end() && usual == function.defaults.end()) continue;
        Attribute copy = given != node.attributes.end() ? *given : *usual;
        copy.name = attribute.name;
        attributes.push_back(std::move(copy));
      }
      inner.attributes = std::move(attributes);
    }
  };
  replace(replace, nodes);
  Scope scope;
  for (size_t i = 0; i < function.inputs.size(); ++i)
    scope.values[function.inputs[i]] =
        i < node.inputs.size() && !node.inputs[i].empty() ? find(node.inputs[i]) : nullptr;
  for (Node& inner : nodes)
    for (std::string& input : inner.inputs)
      if (!input.empty() && scope.values.contains(input) && !scope.values[input])
        input.clear(); // an input that is left out
  auto graph = std::make_shared<Graph>();
  graph->nodes = std::move(nodes);
  const Op call(*this, node, 1);
  for (size_t i = 0; i < function.outputs.size(); ++i)
    if (call.wants(i)) graph->outputs.emplace_back().name = function.outputs[i];
  written_out_.push_back(graph);
  count_uses(*graph, scope);
  Scope* const outer = scope_;
  const auto* const opsets = opsets_;
  std::map<std::string, int64_t> own = function.opsets;
  for (const auto& [domain, version] : *opsets)
    own.emplace(domain, version);
  scope_ = &scope;
  opsets_ = &own;
  calls_.push_back(&function);
  auto leave = [&] {
    scope_ = outer;
    opsets_ = opsets;
    calls_.pop_back();
  };
  try {
    add_nodes(graph->nodes);
  } catch (...) {
    leave();
    throw;
  }
  leave();
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!call.wants(i)) continue;
    if (i >= function.outputs.size() || !scope.values.contains(function.outputs[i]))
      throw Refused("its function does not give this output");
    scope_->values[node.outputs[i]] = scope.values[function.outputs[i]];
  }
}

std::vector<ValuePtr> Importer::inlined(const Graph& graph, const std::vector<ValuePtr>& inputs) {
  if (inputs.size() > graph.inputs.size()) throw Refused("a graph inside has fewer inputs than it is given");
  Scope scope;
  scope.outer = scope_;
  for (size_t i = 0; i < inputs.size(); ++i)
    scope.values[graph.inputs[i].name] = inputs[i];
  for (const Node& node : graph.nodes)
    done_.erase(&node); // of the last time that it was written
  count_uses(graph, scope);
  add_initializers(graph, scope);
  scope_ = &scope;
  auto leave = [&] { scope_ = const_cast<Scope*>(scope.outer); };
  std::vector<ValuePtr> results;
  const size_t refused = refusals_.size();
  try {
    add_nodes(graph.nodes);
    for (const ValueInfo& output : graph.outputs) {
      ValuePtr value = find(output.name);
      if (!value && refusals_.size() == refused)
        throw Refused(fmt::format("nothing in the graph inside gives `{}`", output.name));
      results.push_back(value);
    }
  } catch (...) {
    leave();
    throw;
  }
  leave();
  if (refusals_.size() > refused) throw Refused("a graph inside it has nodes that are refused");
  return results;
}

Importer::Body Importer::body(const Graph& graph, const std::vector<ValuePtr>& inputs) {
  Body body;
  body.block.sizes = block_->sizes;
  const SizeFacts facts = facts_;
  try {
    within(body.block, [&] { body.results = inlined(graph, inputs); });
  } catch (...) {
    facts_ = facts;
    throw;
  }
  facts_ = facts;
  return body;
}

bool Importer::choose_first() {
  needs_choices_ = true;
  if (!choices_)
    throw Refused("its branches differ in their number of axes: which one it is has to be known (--dim, --input)");
  if (choices_->next == choices_->made.size()) choices_->made.push_back(true);
  return choices_->made[choices_->next++];
}

bool Importer::holds_outside(const Size& size, size_t atoms) const {
  std::vector<AtomId> leaves;
  sizes_.collect(size, leaves);
  return !size.is_too_large() &&
         std::all_of(leaves.begin(), leaves.end(), [&](AtomId leaf) { return leaf.index < atoms; });
}

Importer::Mark Importer::mark() const {
  return {names_.given.size(), refusals_.size(), block_->lines.size(), block_->sizes, facts_};
}

// Constants that it has made stay: they are the same the next time.
void Importer::go_back_to(const Mark& mark) {
  for (size_t i = mark.names; i < names_.given.size(); ++i) {
    names_.taken.erase(names_.given[i]);
    for (Weight& weight : weights_)
      if (weight.name == names_.given[i]) weight.name.clear();
  }
  names_.given.resize(mark.names);
  refusals_.resize(mark.refusals);
  block_->lines.resize(mark.lines);
  block_->sizes = mark.sizes;
  facts_ = mark.facts;
}

} // namespace tl::onnx
