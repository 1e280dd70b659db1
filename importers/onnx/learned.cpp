// What scikit-learn and its like have learned: linear models, ensembles of trees, scalings (the domain ai.onnx.ml).
#include "importers/onnx/fused.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace tl::onnx {
namespace {

std::vector<float> reals_of(const Op& op, std::string_view name) {
  const Attribute* a = op.attribute(name);
  return a ? a->reals : std::vector<float>();
}
std::vector<int64_t> integers_of(const Op& op, std::string_view name) {
  return op.integers(name).value_or(std::vector<int64_t>());
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

Function function_for(const Op& op) {
  for (const Attribute& a : op.node.attributes)
    if (a.name.ends_with("as_tensor")) throw Refused("its numbers are f64");
  Function function;
  function.name = op.node.op;
  function.domain = op.node.domain;
  function.inputs = {"x"};
  function.opsets[""] = 20;
  add_node(function, "f = Cast x to=1");
  return function;
}

// "z = …" of the scores: what a model's own numbers are made to.
void add_transformed(Function& function, const Op& op, const std::string& scores) {
  const std::string how = op.string("post_transform", "NONE");
  if (how == "NONE")
    add_node(function, fmt::format("z = Identity {}", scores));
  else if (how == "LOGISTIC")
    add_node(function, fmt::format("z = Sigmoid {}", scores));
  else if (how == "SOFTMAX")
    add_node(function, fmt::format("z = Softmax {} axis=1", scores));
  else
    throw Refused(fmt::format("its post_transform is {}", how));
}

std::vector<int64_t> labels_of(const Op& op, const char* integers, const char* texts) {
  const Attribute* named = op.attribute(texts);
  if (named && !named->texts.empty()) throw Refused("its classes are texts, which tl does not have");
  std::vector<int64_t> labels = integers_of(op, integers);
  if (labels.empty()) throw Refused("it has no classes");
  return labels;
}

// "s = …", one column of scores for each class, gives "y", the classes, and "z".
void add_classes(Function& function, const Op& op, const std::vector<int64_t>& labels, const std::string& best) {
  add_integers(function, "labels", labels, {count_of(labels)});
  add_node(function, fmt::format("at = ArgMax {} axis=1 keepdims=0", best));
  add_node(function, "y = Gather labels at");
  add_transformed(function, op, "s");
  function.outputs = {"y", "z"};
}

void add_linear(Function& function, const std::vector<float>& by, const std::vector<float>& plus, int64_t rows) {
  if (rows < 1 || by.empty() || count_of(by) % rows != 0 || (!plus.empty() && count_of(plus) != rows))
    throw Refused("its coefficients are not as many as its targets");
  add_reals(function, "by", by, {rows, count_of(by) / rows});
  if (!plus.empty()) add_reals(function, "plus", plus, {rows});
  add_node(function, fmt::format("s = Gemm f by {} transB=1", plus.empty() ? "" : "plus"));
}

Function linear_regressor(Op& op) {
  Function function = function_for(op);
  add_linear(function, reals_of(op, "coefficients"), reals_of(op, "intercepts"), op.integer("targets", 1));
  add_transformed(function, op, "s");
  function.outputs = {"z"};
  return function;
}

Function linear_classifier(Op& op) {
  Function function = function_for(op);
  const std::vector<int64_t> labels = labels_of(op, "classlabels_ints", "classlabels_strings");
  const std::vector<float> plus = reals_of(op, "intercepts");
  if (!plus.empty() && plus.size() != labels.size()) throw Refused("it has other than one score for each class");
  add_linear(function, reals_of(op, "coefficients"), plus, count_of(labels));
  add_classes(function, op, labels, "s");
  return function;
}

Function scaler(Op& op) {
  Function function = function_for(op);
  for (const char* name : {"offset", "scale"}) {
    std::vector<float> values = reals_of(op, name);
    if (values.empty()) values = {name == std::string_view("offset") ? 0.0F : 1.0F};
    add_reals(function, name, values, {count_of(values)});
  }
  add_node(function, "d = Sub f offset");
  add_node(function, "y = Mul d scale");
  function.outputs = {"y"};
  return function;
}

Function normalizer(Op& op) {
  Function function = function_for(op);
  const std::string norm = op.string("norm", "MAX");
  if (norm == "MAX") {
    add_integers(function, "last", {-1}, {1});
    add_node(function, "top = ReduceMax f last");
    add_node(function, "y = Div f top");
  } else if (norm == "L1" || norm == "L2") {
    add_node(function, fmt::format("y = LpNormalization f axis=-1 p={}", norm == "L1" ? 1 : 2));
  } else {
    throw Refused(fmt::format("its norm is {}", norm));
  }
  function.outputs = {"y"};
  return function;
}

// What is missing, NaN or a number, is replaced: by a number, or by one for each column.
Function imputer(Op& op) {
  Function function = function_for(op);
  const std::vector<float> values = reals_of(op, "imputed_value_floats");
  if (values.empty()) throw Refused("its values are no floats");
  add_reals(function, "values", values, {count_of(values)});
  const auto from = static_cast<float>(op.real("replaced_value_float", 0));
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

Function one_hot_encoder(Op& op) {
  Function function = function_for(op);
  const std::vector<int64_t> classes = integers_of(op, "cats_int64s");
  if (classes.empty()) throw Refused("its classes are texts, which tl does not have");
  if (op.integer("zeros", 1) == 0) throw Refused("it fails where there is no such class");
  add_node(function, "whole = Cast f to=7");
  add_integers(function, "classes", classes, {count_of(classes)});
  add_integers(function, "last", {-1}, {1});
  add_node(function, "column = Unsqueeze whole last");
  add_node(function, "is = Equal column classes");
  add_node(function, "y = Cast is to=1");
  function.outputs = {"y"};
  return function;
}

// Each key is replaced by its value, all else by what is said for that.
Function label_encoder(Op& op) {
  for (const char* texts : {"keys_strings", "values_strings", "classes_strings"})
    if (const Attribute* a = op.attribute(texts); a && !a->texts.empty())
      throw Refused("its keys or values are texts, which tl does not have");
  Function function = function_for(op);
  const std::vector<int64_t> keys = integers_of(op, "keys_int64s"), values = integers_of(op, "values_int64s");
  const std::vector<float> real_keys = reals_of(op, "keys_floats"), real_values = reals_of(op, "values_floats");
  const int64_t count = std::max(count_of(keys), count_of(real_keys));
  if (count == 0 || std::max(count_of(values), count_of(real_values)) != count)
    throw Refused("its keys and values are not as many");
  if (std::any_of(real_keys.begin(), real_keys.end(), [](float key) { return std::isnan(key); }))
    throw Refused("one of its keys is no number");
  if (keys.empty())
    add_reals(function, "keys", real_keys, {count});
  else
    add_integers(function, "keys", keys, {count});
  if (values.empty()) {
    add_reals(function, "values", real_values, {count});
    add_reals(function, "other", {static_cast<float>(op.real("default_float", -0.0))}, {});
  } else {
    add_integers(function, "values", values, {count});
    add_integers(function, "other", {op.integer("default_int64", -1)}, {});
  }
  add_integers(function, "last", {-1}, {1});
  for (const char* text : {"column = Unsqueeze x last", "is = Equal column keys", "hit = Cast is to=6",
                           "at = ArgMax hit axis=-1 keepdims=0", "which = Gather values at",
                           "hits = ReduceMax hit last keepdims=0", "any = Cast hits to=9", "y = Where any which other"})
    add_node(function, text);
  function.outputs = {"y"};
  return function;
}

// Columns side by side.
Function feature_vectorizer(Op& op) {
  Function function = function_for(op);
  function.nodes.clear();
  function.inputs.clear();
  const std::vector<int64_t> widths = integers_of(op, "inputdimensions");
  std::string all;
  for (size_t i = 0; i < op.inputs(); ++i) {
    if (op.rank(i) != 2 || (i < widths.size() && !op[i].dims[1].is(widths[i])))
      throw Refused("its inputs are not as wide as it says");
    function.inputs.push_back(fmt::format("x{}", i));
    add_node(function, fmt::format("f{0} = Cast x{0} to=1", i));
    all += fmt::format(" f{}", i);
  }
  add_node(function, fmt::format("y = Concat{} axis=1", all));
  function.outputs = {"y"};
  return function;
}

// ---- support vectors

// "near = …": how near each row is to each of the vectors.
void add_kernel(Function& function, const Op& op, int64_t count) {
  const std::vector<float> vectors = reals_of(op, "support_vectors");
  std::vector<float> parameters = reals_of(op, "kernel_params");
  if (count < 1 || vectors.empty() || count_of(vectors) % count != 0)
    throw Refused("its vectors are not of one length");
  parameters.resize(3, 0);
  add_reals(function, "vectors", vectors, {count, count_of(vectors) / count});
  const char* const names[] = {"gamma", "constant", "degree"};
  for (size_t i = 0; i < 3; ++i)
    add_reals(function, names[i], {parameters[i]}, {1});
  const std::string kind = op.string("kernel_type", "LINEAR");
  if (kind == "RBF") {
    add_integers(function, "middle", {1}, {1});
    add_integers(function, "last", {-1}, {1});
    for (const char* text :
         {"rows = Unsqueeze f middle", "off = Sub rows vectors", "square = Mul off off",
          "distance = ReduceSum square last keepdims=0", "by = Mul distance gamma", "less = Neg by", "near = Exp less"})
      add_node(function, text);
    return;
  }
  add_node(function, "products = Gemm f vectors transB=1");
  if (kind == "LINEAR") return add_node(function, "near = Identity products");
  if (kind != "POLY" && kind != "SIGMOID") throw Refused(fmt::format("its kernel_type is {}", kind));
  add_node(function, "by = Mul products gamma");
  add_node(function, "sum = Add by constant");
  add_node(function, kind == "POLY" ? "near = Pow sum degree" : "near = Tanh sum");
}

Function svm_regressor(Op& op) {
  Function function = function_for(op);
  const int64_t count = op.integer("n_supports", 0);
  const std::vector<float> by = reals_of(op, "coefficients"), plus = reals_of(op, "rho");
  if (by.empty() || plus.size() != 1 || (count > 0 && count_of(by) != count))
    throw Refused("its coefficients are not as many as its vectors");
  if (count > 0)
    add_kernel(function, op, count);
  else
    add_node(function, "near = Identity f");
  add_reals(function, "by_each", by, {count_of(by), 1});
  add_reals(function, "plus", plus, {1});
  add_node(function, "s = Gemm near by_each plus");
  if (op.integer("one_class", 0) == 0) {
    add_transformed(function, op, "s");
  } else {
    add_reals(function, "zero", {0}, {1});
    add_reals(function, "one", {1}, {1});
    add_node(function, "minus = Neg one");
    add_node(function, "is_in = Greater s zero");
    add_node(function, "z = Where is_in one minus");
  }
  function.outputs = {"z"};
  return function;
}

// Each pair of classes has a score, of the vectors of both; what is above 0 is a vote for the first of them. Of two
// classes the second's score comes first.
Function svm_classifier(Op& op) {
  const std::vector<int64_t> labels = labels_of(op, "classlabels_ints", "classlabels_strings"),
                             counts = integers_of(op, "vectors_per_class");
  const std::vector<float> by = reals_of(op, "coefficients"), plus = reals_of(op, "rho");
  if (!reals_of(op, "prob_a").empty()) throw Refused("it gives probabilities, which are searched for in steps");
  if (op.string("post_transform", "NONE") != "NONE") throw Refused("its scores are transformed");
  const size_t classes = labels.size(), pairs = classes * (classes - 1) / 2;
  const int64_t count = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  if (classes < 2 || counts.size() != classes || plus.size() != pairs || count < 1 ||
      std::any_of(
          counts.begin(), counts.end(), [](int64_t n) { return n < 0; }) ||
      by.size() != static_cast<size_t>(count) * (classes - 1))
    throw Refused("its coefficients are not as many as its vectors");
  const auto vectors = static_cast<size_t>(count);
  std::vector<float> of_pairs(vectors * pairs), votes(pairs * classes), sure(classes);
  size_t pair = 0;
  for (size_t i = 0; i < classes; ++i)
    for (size_t j = i + 1; j < classes; ++j, ++pair) {
      for (size_t s = 0, its_class = 0, begin = 0; s < vectors; ++s) {
        while (s == begin + static_cast<size_t>(counts[its_class]))
          begin += static_cast<size_t>(counts[its_class++]);
        if (its_class == i) of_pairs[s * pairs + pair] = by[(j - 1) * vectors + s];
        if (its_class == j) of_pairs[s * pairs + pair] = by[i * vectors + s];
      }
      votes[pair * classes + i] = 1;
      votes[pair * classes + j] = -1;
      sure[j] += 1;
    }
  Function function = function_for(op);
  add_kernel(function, op, count);
  add_reals(function, "by_each", of_pairs, {count, static_cast<int64_t>(pairs)});
  add_reals(function, "plus", plus, {static_cast<int64_t>(pairs)});
  add_node(function, "score = Gemm near by_each plus");
  add_reals(function, "votes", votes, {static_cast<int64_t>(pairs), static_cast<int64_t>(classes)});
  add_reals(function, "sure", sure, {static_cast<int64_t>(classes)});
  add_reals(function, "zero", {0}, {1});
  for (const char* text :
       {"won = Greater score zero", "wins = Cast won to=1", "best = Gemm wins votes sure", "less = Neg score"})
    add_node(function, text);
  add_node(function, classes == 2 ? "s = Concat less score axis=1" : "s = Identity score");
  add_classes(function, op, labels, "best");
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

Trees trees_of(const Op& op) {
  Trees trees;
  const std::vector<int64_t> ids = integers_of(op, "nodes_treeids"), nodes = integers_of(op, "nodes_nodeids"),
                             yes = integers_of(op, "nodes_truenodeids"), no = integers_of(op, "nodes_falsenodeids"),
                             missing = integers_of(op, "nodes_missing_value_tracks_true");
  trees.features = integers_of(op, "nodes_featureids");
  trees.values = reals_of(op, "nodes_values");
  const Attribute* modes = op.attribute("nodes_modes");
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
void add_trees(Function& function, const Op& op, const std::string& kind, int64_t targets) {
  static const std::map<std::string, std::string> kComparisons = {
      {"BRANCH_LEQ", "LessOrEqual"}, {"BRANCH_LT", "Less"},  {"BRANCH_GTE", "GreaterOrEqual"},
      {"BRANCH_GT", "Greater"},      {"BRANCH_EQ", "Equal"}, {"", "Less"}}; // the last: there are but leaves
  const Trees trees = trees_of(op);
  const auto comparison = kComparisons.find(trees.mode);
  if (comparison == kComparisons.end()) throw Refused(fmt::format("its nodes compare by {}", trees.mode));
  const int64_t count = count_of(trees.yes);
  const std::vector<int64_t> ids = integers_of(op, kind + "_treeids"), nodes = integers_of(op, kind + "_nodeids"),
                             which = integers_of(op, kind + "_ids");
  const std::vector<float> weights = reals_of(op, kind + "_weights");
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
  const std::string aggregate = op.string("aggregate_function", "SUM");
  if (aggregate != "SUM" && aggregate != "AVERAGE")
    throw Refused(fmt::format("its aggregate_function is {}", aggregate));
  add_integers(function, "one", {1}, {1});
  add_node(function, fmt::format("sums = {} each one keepdims=0", aggregate == "SUM" ? "ReduceSum" : "ReduceMean"));
  const std::vector<float> base = reals_of(op, "base_values");
  if (base.empty()) return add_node(function, "s = Identity sums");
  if (base.size() != 1 && count_of(base) != targets) throw Refused("its base_values are not as many as its targets");
  add_reals(function, "base", base, {count_of(base)});
  add_node(function, "s = Add sums base");
}

Function tree_regressor(Op& op) {
  Function function = function_for(op);
  add_trees(function, op, "target", op.integer("n_targets", 1));
  add_transformed(function, op, "s");
  function.outputs = {"z"};
  return function;
}

// Of two classes, of which the leaves may know one alone, the second: the first one's score is what lacks, or the
// negative, and the second one is it above a half, or above 0.
Function tree_classifier(Op& op) {
  Function function = function_for(op);
  const std::vector<int64_t> labels = labels_of(op, "classlabels_int64s", "classlabels_strings");
  const std::vector<int64_t> which = integers_of(op, "class_ids");
  const bool is_one = labels.size() == 2 && !which.empty() &&
                      std::all_of(which.begin(), which.end(), [&](int64_t k) { return k == which[0]; });
  if (!is_one) {
    add_trees(function, op, "class", count_of(labels));
    add_classes(function, op, labels, "s");
    return function;
  }
  if (which[0] != 0) throw Refused("its leaves have scores of the second of two classes alone");
  const std::string how = op.string("post_transform", "NONE");
  if (how == "SOFTMAX") throw Refused("its post_transform is SOFTMAX, of one score");
  add_trees(function, op, "class", 1);
  function.nodes.back().outputs = {"score"};
  const std::vector<float> weights = reals_of(op, "class_weights");
  const bool is_share = std::all_of(weights.begin(), weights.end(), [](float w) { return w >= 0; });
  add_reals(function, "whole", {1}, {1});
  add_node(function, "lack = Sub whole score");
  add_node(function, "less = Neg score");
  add_node(function, fmt::format("s = Concat {} score axis=1", is_share && how == "NONE" ? "lack" : "less"));
  add_node(function, fmt::format("best = Concat {} score axis=1", is_share ? "lack" : "less"));
  add_classes(function, op, labels, "best");
  return function;
}

} // namespace

std::optional<Function> learned_function(Importer& in, const Node& call) {
  if (call.domain != "ai.onnx.ml") return std::nullopt;
  if (call.op == "ZipMap") throw Refused("its result is maps, which tl does not have; `zipmap=False` exports without");
  static const std::map<std::string_view, Function (*)(Op&)> kLearned = {
      {"FeatureVectorizer", feature_vectorizer},
      {"Imputer", imputer},
      {"LabelEncoder", label_encoder},
      {"LinearClassifier", linear_classifier},
      {"LinearRegressor", linear_regressor},
      {"Normalizer", normalizer},
      {"OneHotEncoder", one_hot_encoder},
      {"SVMClassifier", svm_classifier},
      {"SVMRegressor", svm_regressor},
      {"Scaler", scaler},
      {"TreeEnsembleClassifier", tree_classifier},
      {"TreeEnsembleRegressor", tree_regressor},
  };
  const auto found = kLearned.find(call.op);
  if (found == kLearned.end()) return std::nullopt;
  Op op(in, call, 1);
  return found->second(op);
}

} // namespace tl::onnx
