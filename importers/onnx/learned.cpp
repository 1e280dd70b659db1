// What scikit-learn and its like have learned: linear models, ensembles of trees, scalings (the domain ai.onnx.ml).
#include "importers/onnx/fused.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace tl::onnx {
namespace {

const Attribute* attribute_of(const Node& call, std::string_view name) {
  for (const Attribute& a : call.attributes)
    if (a.name == name) return &a;
  return nullptr;
}
std::vector<float> reals_of(const Node& call, std::string_view name) {
  const Attribute* a = attribute_of(call, name);
  return a ? a->reals : std::vector<float>();
}
std::vector<int64_t> integers_of(const Node& call, std::string_view name) {
  const Attribute* a = attribute_of(call, name);
  return a ? a->integers : std::vector<int64_t>();
}
std::string text_of(const Node& call, std::string_view name, const std::string& missing) {
  const Attribute* a = attribute_of(call, name);
  return a ? a->text.value_or("") : missing;
}

int64_t count_of(const auto& values) { return static_cast<int64_t>(values.size()); }

void add_tensor(Function& function, const std::string& name, TensorData data) {
  Node& node = function.nodes.emplace_back();
  node.op = "Constant";
  node.outputs = {name};
  Attribute& value = node.attributes.emplace_back();
  value.name = "value";
  value.type = 4;
  data.name = name;
  value.tensor = std::make_shared<TensorData>(std::move(data));
}
void add_reals(Function& function, const std::string& name, std::vector<float> values, std::vector<int64_t> dims) {
  TensorData data;
  data.data_type = 1;
  data.dims = std::move(dims);
  data.floats = std::move(values);
  add_tensor(function, name, std::move(data));
}
void add_integers(Function& function, const std::string& name, std::vector<int64_t> values, std::vector<int64_t> dims) {
  TensorData data;
  data.data_type = 7;
  data.dims = std::move(dims);
  data.integers = std::move(values);
  add_tensor(function, name, std::move(data));
}

Function function_for(const Node& call) {
  for (const Attribute& a : call.attributes)
    if (a.name.ends_with("as_tensor")) throw Refused("its numbers are f64");
  Function function;
  function.name = call.op;
  function.domain = call.domain;
  function.inputs = {"x"};
  function.opsets[""] = 20;
  add_node(function, "f = Cast x to=1");
  return function;
}

// "z = …" of the scores: what a model's own numbers are made to.
void add_transformed(Function& function, const Node& call, const std::string& scores) {
  const std::string how = text_of(call, "post_transform", "NONE");
  if (how == "NONE")
    add_node(function, fmt::format("z = Identity {}", scores));
  else if (how == "LOGISTIC")
    add_node(function, fmt::format("z = Sigmoid {}", scores));
  else if (how == "SOFTMAX")
    add_node(function, fmt::format("z = Softmax {} axis=1", scores));
  else
    throw Refused(fmt::format("its post_transform is {}", how));
}

std::vector<int64_t> labels_of(const Node& call, const char* integers, const char* texts) {
  const Attribute* named = attribute_of(call, texts);
  if (named && !named->texts.empty()) throw Refused("its classes are texts, which tl does not have");
  std::vector<int64_t> labels = integers_of(call, integers);
  if (labels.empty()) throw Refused("it has no classes");
  return labels;
}

// "s = …", one column of scores for each class, gives "y", the classes, and "z".
void add_classes(Function& function, const Node& call, const std::vector<int64_t>& labels, const std::string& best) {
  add_integers(function, "labels", labels, {count_of(labels)});
  add_node(function, fmt::format("at = ArgMax {} axis=1 keepdims=0", best));
  add_node(function, "y = Gather labels at");
  add_transformed(function, call, "s");
  function.outputs = {"y", "z"};
}

void add_linear(Function& function, const std::vector<float>& by, const std::vector<float>& plus, int64_t rows) {
  if (rows < 1 || by.empty() || count_of(by) % rows != 0 || (!plus.empty() && count_of(plus) != rows))
    throw Refused("its coefficients are not as many as its targets");
  add_reals(function, "by", by, {rows, count_of(by) / rows});
  if (!plus.empty()) add_reals(function, "plus", plus, {rows});
  add_node(function, fmt::format("s = Gemm f by {} transB=1", plus.empty() ? "" : "plus"));
}

Function linear_regressor(const Node& call) {
  Function function = function_for(call);
  const Attribute* targets = attribute_of(call, "targets");
  add_linear(function, reals_of(call, "coefficients"), reals_of(call, "intercepts"),
             targets ? targets->integer.value_or(1) : 1);
  add_transformed(function, call, "s");
  function.outputs = {"z"};
  return function;
}

Function linear_classifier(const Node& call) {
  Function function = function_for(call);
  const std::vector<int64_t> labels = labels_of(call, "classlabels_ints", "classlabels_strings");
  const std::vector<float> plus = reals_of(call, "intercepts");
  if (!plus.empty() && plus.size() != labels.size()) throw Refused("it has other than one score for each class");
  add_linear(function, reals_of(call, "coefficients"), plus, count_of(labels));
  add_classes(function, call, labels, "s");
  return function;
}

Function scaler(const Node& call) {
  Function function = function_for(call);
  for (const char* name : {"offset", "scale"}) {
    std::vector<float> values = reals_of(call, name);
    if (values.empty()) values = {name == std::string_view("offset") ? 0.0F : 1.0F};
    add_reals(function, name, values, {count_of(values)});
  }
  add_node(function, "d = Sub f offset");
  add_node(function, "y = Mul d scale");
  function.outputs = {"y"};
  return function;
}

Function normalizer(const Node& call) {
  Function function = function_for(call);
  const std::string norm = text_of(call, "norm", "MAX");
  if (norm != "L1" && norm != "L2") throw Refused(fmt::format("its norm is {}", norm));
  add_node(function, fmt::format("y = LpNormalization f axis=-1 p={}", norm == "L1" ? 1 : 2));
  function.outputs = {"y"};
  return function;
}

// What is missing, NaN or a number, is replaced: by a number, or by one for each column.
Function imputer(const Node& call) {
  Function function = function_for(call);
  const std::vector<float> values = reals_of(call, "imputed_value_floats");
  if (values.empty()) throw Refused("its values are no floats");
  add_reals(function, "values", values, {count_of(values)});
  const Attribute* replaced = attribute_of(call, "replaced_value_float");
  const float from = replaced ? replaced->real.value_or(0) : 0;
  if (std::isnan(from)) {
    add_node(function, "gone = IsNaN f");
  } else {
    add_reals(function, "from", {from}, {1});
    add_node(function, "gone = Equal f from");
  }
  add_node(function, "y = Where gone values f");
  function.outputs = {"y"};
  return function;
}

Function one_hot_encoder(const Node& call) {
  Function function = function_for(call);
  const std::vector<int64_t> classes = integers_of(call, "cats_int64s");
  if (classes.empty()) throw Refused("its classes are texts, which tl does not have");
  if (const Attribute* zeros = attribute_of(call, "zeros"); zeros && zeros->integer.value_or(0) == 0)
    throw Refused("it fails where there is no such class");
  add_node(function, "whole = Cast f to=7");
  add_integers(function, "classes", classes, {count_of(classes)});
  add_integers(function, "last", {-1}, {1});
  add_node(function, "column = Unsqueeze whole last");
  add_node(function, "is = Equal column classes");
  add_node(function, "y = Cast is to=1");
  function.outputs = {"y"};
  return function;
}

// ---- trees

struct Trees {
  std::vector<int64_t> features, yes, no, roots, follows_missing;
  std::vector<float> values;
  std::map<std::pair<int64_t, int64_t>, int64_t> places; // by tree and node
  std::string mode;
  int64_t depth = 0;
};

Trees trees_of(const Node& call) {
  Trees trees;
  const std::vector<int64_t> ids = integers_of(call, "nodes_treeids"), nodes = integers_of(call, "nodes_nodeids"),
                             yes = integers_of(call, "nodes_truenodeids"), no = integers_of(call, "nodes_falsenodeids"),
                             missing = integers_of(call, "nodes_missing_value_tracks_true");
  trees.features = integers_of(call, "nodes_featureids");
  trees.values = reals_of(call, "nodes_values");
  const Attribute* modes = attribute_of(call, "nodes_modes");
  const size_t count = ids.size();
  if (!modes || count == 0 || modes->texts.size() != count || nodes.size() != count || yes.size() != count ||
      no.size() != count || trees.features.size() != count || trees.values.size() != count)
    throw Refused("its lists of nodes do not have one length");
  for (size_t i = 0; i < count; ++i)
    trees.places[{ids[i], nodes[i]}] = static_cast<int64_t>(i);
  trees.yes.resize(count);
  trees.no.resize(count);
  trees.follows_missing.assign(count, 0);
  std::vector<bool> is_child(count, false);
  for (size_t i = 0; i < count; ++i) {
    const bool is_leaf = modes->texts[i] == "LEAF";
    for (auto [from, to] : {std::pair(&yes, &trees.yes), std::pair(&no, &trees.no)}) {
      auto at = trees.places.find({ids[i], (*from)[i]});
      if (!is_leaf && at == trees.places.end()) throw Refused("a node has a child that there is not");
      (*to)[i] = is_leaf ? static_cast<int64_t>(i) : at->second; // a leaf stays where it is
      if (!is_leaf) is_child[static_cast<size_t>(at->second)] = true;
    }
    if (is_leaf) {
      trees.features[i] = 0;
      continue;
    }
    if (trees.mode.empty()) trees.mode = modes->texts[i];
    if (modes->texts[i] != trees.mode) throw Refused("its nodes compare in different ways");
    if (i < missing.size()) trees.follows_missing[i] = missing[i];
  }
  std::vector<int64_t> level;
  for (size_t i = 0; i < count; ++i)
    if (!is_child[i]) trees.roots.push_back(static_cast<int64_t>(i));
  for (level = trees.roots; !level.empty(); ++trees.depth) {
    std::vector<int64_t> next;
    for (int64_t i : level)
      for (int64_t child : {trees.yes[static_cast<size_t>(i)], trees.no[static_cast<size_t>(i)]})
        if (child != i) next.push_back(child);
    if (trees.depth > 1000 || next.size() > count) throw Refused("its nodes are no trees");
    level = std::move(next);
  }
  trees.depth = std::max<int64_t>(trees.depth - 1, 0);
  return trees;
}

// "s": a column for each target, of what the leaves say that a row comes to, all trees and rows side by side.
void add_trees(Function& function, const Node& call, const std::string& kind, int64_t targets) {
  static const std::map<std::string, std::string> kComparisons = {
      {"BRANCH_LEQ", "LessOrEqual"}, {"BRANCH_LT", "Less"},  {"BRANCH_GTE", "GreaterOrEqual"},
      {"BRANCH_GT", "Greater"},      {"BRANCH_EQ", "Equal"}, {"", "Less"}}; // the last: there are but leaves
  const Trees trees = trees_of(call);
  const auto comparison = kComparisons.find(trees.mode);
  if (comparison == kComparisons.end()) throw Refused(fmt::format("its nodes compare by {}", trees.mode));
  const int64_t count = count_of(trees.yes);
  const std::vector<int64_t> ids = integers_of(call, kind + "_treeids"), nodes = integers_of(call, kind + "_nodeids"),
                             which = integers_of(call, kind + "_ids");
  const std::vector<float> weights = reals_of(call, kind + "_weights");
  if (ids.size() != nodes.size() || ids.size() != which.size() || ids.size() != weights.size() || targets < 1)
    throw Refused("its lists of weights do not have one length");
  std::vector<float> leaves(static_cast<size_t>(count * targets), 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    auto at = trees.places.find({ids[i], nodes[i]});
    if (at == trees.places.end() || which[i] < 0 || which[i] >= targets)
      throw Refused("a weight is of a node or target that there is not");
    leaves[static_cast<size_t>(at->second * targets + which[i])] += weights[i];
  }
  add_integers(function, "features", trees.features, {count});
  add_reals(function, "values", trees.values, {count});
  add_integers(function, "yes", trees.yes, {count});
  add_integers(function, "no", trees.no, {count});
  add_reals(function, "leaves", std::move(leaves), {count, targets});
  add_integers(function, "roots", trees.roots, {1, count_of(trees.roots)});
  add_integers(function, "trees", {count_of(trees.roots)}, {1});
  add_node(function, "rows = Shape f start=0 end=1");
  add_node(function, "both = Concat rows trees axis=0");
  add_node(function, "at0 = Expand roots both");
  const bool follows = std::count(trees.follows_missing.begin(), trees.follows_missing.end(), 1) > 0;
  if (follows) {
    add_integers(function, "follows", trees.follows_missing, {count});
    add_node(function, "missing = Cast follows to=9");
  }
  for (int64_t k = 0; k < trees.depth; ++k) {
    for (const char* text :
         {"feature{0} = Gather features at{0}", "x{0} = GatherElements f feature{0} axis=1",
          "value{0} = Gather values at{0}", "left{0} = Gather yes at{0}", "right{0} = Gather no at{0}"})
      add_node(function, fmt::format(fmt::runtime(text), k));
    add_node(function, fmt::format("is{0} = {1} x{0} value{0}", k, comparison->second));
    if (follows)
      for (const char* text : {"nan{0} = IsNaN x{0}", "m{0} = Gather missing at{0}", "goes{0} = And nan{0} m{0}",
                               "isnt{0} = Or is{0} goes{0}"})
        add_node(function, fmt::format(fmt::runtime(text), k));
    add_node(function, fmt::format("at{1} = Where {2}{0} left{0} right{0}", k, k + 1, follows ? "isnt" : "is"));
  }
  add_node(function, fmt::format("each = Gather leaves at{}", trees.depth));
  const std::string aggregate = text_of(call, "aggregate_function", "SUM");
  if (aggregate != "SUM" && aggregate != "AVERAGE")
    throw Refused(fmt::format("its aggregate_function is {}", aggregate));
  add_integers(function, "one", {1}, {1});
  add_node(function, fmt::format("sums = {} each one keepdims=0", aggregate == "SUM" ? "ReduceSum" : "ReduceMean"));
  const std::vector<float> base = reals_of(call, "base_values");
  if (base.empty()) return add_node(function, "s = Identity sums");
  if (base.size() != 1 && count_of(base) != targets) throw Refused("its base_values are not as many as its targets");
  add_reals(function, "base", base, {count_of(base)});
  add_node(function, "s = Add sums base");
}

Function tree_regressor(const Node& call) {
  Function function = function_for(call);
  const Attribute* targets = attribute_of(call, "n_targets");
  add_trees(function, call, "target", targets ? targets->integer.value_or(1) : 1);
  add_transformed(function, call, "s");
  function.outputs = {"z"};
  return function;
}

// Of two classes, of which the leaves may know one alone, the second: the first one's score is what lacks, or the
// negative, and the second one is it above a half, or above 0.
Function tree_classifier(const Node& call) {
  Function function = function_for(call);
  const std::vector<int64_t> labels = labels_of(call, "classlabels_int64s", "classlabels_strings");
  const std::vector<int64_t> which = integers_of(call, "class_ids");
  const bool is_one = labels.size() == 2 && !which.empty() &&
                      std::all_of(which.begin(), which.end(), [&](int64_t k) { return k == which[0]; });
  if (!is_one) {
    add_trees(function, call, "class", count_of(labels));
    add_classes(function, call, labels, "s");
    return function;
  }
  if (which[0] != 0) throw Refused("its leaves have scores of the second of two classes alone");
  const std::string how = text_of(call, "post_transform", "NONE");
  if (how == "SOFTMAX") throw Refused("its post_transform is SOFTMAX, of one score");
  add_trees(function, call, "class", 1);
  function.nodes.back().outputs = {"score"};
  const std::vector<float> weights = reals_of(call, "class_weights");
  const bool is_share = std::all_of(weights.begin(), weights.end(), [](float w) { return w >= 0; });
  add_reals(function, "whole", {1}, {1});
  add_node(function, "lack = Sub whole score");
  add_node(function, "less = Neg score");
  add_node(function, fmt::format("s = Concat {} score axis=1", is_share && how == "NONE" ? "lack" : "less"));
  add_node(function, fmt::format("best = Concat {} score axis=1", is_share ? "lack" : "less"));
  add_classes(function, call, labels, "best");
  return function;
}

} // namespace

std::optional<Function> learned_function(const Node& call) {
  if (call.domain != "ai.onnx.ml") return std::nullopt;
  if (call.op == "ZipMap") throw Refused("its result is maps, which tl does not have; `zipmap=False` exports without");
  static const std::map<std::string_view, Function (*)(const Node&)> kLearned = {
      {"Imputer", imputer},
      {"LinearClassifier", linear_classifier},
      {"LinearRegressor", linear_regressor},
      {"Normalizer", normalizer},
      {"OneHotEncoder", one_hot_encoder},
      {"Scaler", scaler},
      {"TreeEnsembleClassifier", tree_classifier},
      {"TreeEnsembleRegressor", tree_regressor},
  };
  const auto found = kLearned.find(call.op);
  return found == kLearned.end() ? std::nullopt : std::optional(found->second(call));
}

} // namespace tl::onnx
