// Operators of ONNX Runtime's own, which its tools for quantizing and optimizing write: each is a few of ONNX's.
#include "importers/onnx/fused.h"
#include "importers/onnx/operators.h"
#include <algorithm>
#include <fmt/format.h>
#include <sstream>

namespace tl::onnx {
namespace {

struct Fused {
  std::string_view name, inputs;
  std::string_view nodes; // as add_node has them
  std::string_view outputs = "y";
  std::string_view domain = "com.microsoft";
};

constexpr Fused kFused[] = {
    {"BiasGelu", "a b", "s = Add a b; y = Gelu s"},
    {"DequantizeLinear", "x s z", "y = DequantizeLinear x s z axis=@axis"},
    {"DynamicQuantizeMatMul", "a b bs bz bias",
     "q qs qz = DynamicQuantizeLinear a; i = MatMulInteger q b qz bz; f = Cast i to=1; t = Mul qs bs; r = Mul f t; "
     "y = Add? r bias"},
    {"FastGelu", "x bias", "s = Add? x bias; y = Gelu s approximate=tanh"},
    {"Gelu", "x", "y = Gelu x"},
    {"MatMulIntegerToFloat", "a b as bs az bz bias",
     "i = MatMulInteger a b az bz; f = Cast i to=1; t = Mul as bs; r = Mul f t; y = Add? r bias"},
    {"QLinearAdd", "a as az b bs bz ys yz",
     "A = DequantizeLinear a as az; B = DequantizeLinear b bs bz; C = Add A B; y = QuantizeLinear C ys yz"},
    {"QLinearAveragePool", "x s z ys yz",
     "f = DequantizeLinear x s z; p = AveragePool f auto_pad=@auto_pad ceil_mode=@ceil_mode kernel_shape=@kernel_shape "
     "pads=@pads strides=@strides count_include_pad=@count_include_pad; y = QuantizeLinear p ys yz"},
    {"QLinearGlobalAveragePool", "x s z ys yz",
     "f = DequantizeLinear x s z; p = GlobalAveragePool f; y = QuantizeLinear p ys yz"},
    {"QLinearLeakyRelu", "x s z ys yz",
     "f = DequantizeLinear x s z; r = LeakyRelu f alpha=@alpha:0.01; y = QuantizeLinear r ys yz"},
    {"QLinearMul", "a as az b bs bz ys yz",
     "A = DequantizeLinear a as az; B = DequantizeLinear b bs bz; C = Mul A B; y = QuantizeLinear C ys yz"},
    {"QLinearSigmoid", "x s z ys yz", "f = DequantizeLinear x s z; r = Sigmoid f; y = QuantizeLinear r ys yz"},
    {"QLinearSoftmax", "x s z ys yz",
     "f = DequantizeLinear x s z; r = Softmax f axis=@axis; y = QuantizeLinear r ys yz"},
    {"QLinearWhere", "c a as az b bs bz ys yz",
     "A = DequantizeLinear a as az; B = DequantizeLinear b bs bz; C = Where c A B; y = QuantizeLinear C ys yz"},
    {"QuantizeLinear", "x s z", "y = QuantizeLinear x s z axis=@axis"},
    {"QuickGelu", "x", "y = Swish x alpha=@alpha:1.702"},
    {"SimplifiedLayerNormalization", "x scale",
     "y = RMSNormalization x scale axis=@axis epsilon=@epsilon stash_type=@stash_type", "y", ""},
    {"SkipLayerNormalization", "x skip scale shift bias",
     "t = Add x skip; s = Add? t bias; y = LayerNormalization s scale shift epsilon=@epsilon:1e-12", "y mean spread s"},
    {"SkipSimplifiedLayerNormalization", "x skip scale bias",
     "t = Add x skip; s = Add? t bias; y = RMSNormalization s scale epsilon=@epsilon:1e-12", "y mean spread s"},
};

} // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;)
    words.push_back(std::move(word));
  return words;
}

namespace {

Attribute attribute_of(std::string name, const std::string& value) {
  Attribute attribute;
  attribute.name = std::move(name);
  if (value.find(',') != std::string::npos) {
    std::istringstream numbers(value);
    for (std::string number; std::getline(numbers, number, ',');)
      attribute.integers.push_back(std::stoll(number));
  } else if (value.find_first_of(".e") != std::string::npos &&
             value.find_first_not_of("0123456789.e+-") == std::string::npos)
    attribute.real = std::stof(value);
  else if (value.find_first_not_of("0123456789-") == std::string::npos)
    attribute.integer = std::stoll(value);
  else
    attribute.text = value;
  return attribute;
}

} // namespace

void add_node(Function& function, std::string_view text, const std::vector<std::string>& left_out) {
  Node node;
  bool is_result = true;
  for (std::string& word : words_of(text)) {
    const size_t equals = word.find('=');
    if (word == "=")
      is_result = false;
    else if (is_result)
      node.outputs.push_back(std::move(word));
    else if (node.op.empty())
      node.op = std::move(word);
    else if (equals == std::string::npos)
      node.inputs.push_back(word == "_" ? "" : std::move(word));
    else if (word[equals + 1] != '@')
      node.attributes.push_back(attribute_of(word.substr(0, equals), word.substr(equals + 1)));
    else {
      const std::string from = word.substr(equals + 2);
      const size_t colon = from.find(':');
      Attribute& attribute = node.attributes.emplace_back();
      attribute.name = word.substr(0, equals);
      attribute.reference = from.substr(0, colon);
      if (colon != std::string::npos)
        function.defaults.push_back(attribute_of(attribute.reference, from.substr(colon + 1)));
    }
  }
  if (node.op.ends_with('?')) {
    node.op.pop_back();
    const bool is_whole = std::none_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& input) {
      return std::count(left_out.begin(), left_out.end(), input) > 0;
    });
    if (!is_whole) {
      node.op = "Identity";
      node.inputs.resize(1);
    }
  }
  function.nodes.push_back(std::move(node));
}

Function function_of(const Node& call, std::string_view inputs, std::string_view nodes, std::string_view outputs) {
  Function function;
  function.name = call.op;
  function.domain = call.domain;
  function.inputs = words_of(inputs);
  function.outputs = words_of(outputs);
  function.opsets[""] = 24;
  std::vector<std::string> left_out;
  for (size_t i = 0; i < function.inputs.size(); ++i)
    if (i >= call.inputs.size() || call.inputs[i].empty()) left_out.push_back(function.inputs[i]);
  for (size_t at = 0; at < nodes.size();) {
    const size_t end = std::min(nodes.find(';', at), nodes.size());
    add_node(function, nodes.substr(at, end - at), left_out);
    at = end + 1;
  }
  function.nodes.back().name = call.name;
  return function;
}

namespace {

// Scale and zero point of the result, then of each part: itself, its scale and its zero point.
Function concatenation(const Node& call) {
  std::string inputs = "ys yz", nodes, all;
  for (size_t i = 2; i + 2 < call.inputs.size(); i += 3) {
    inputs += fmt::format(" x{0} s{0} z{0}", i);
    nodes += fmt::format("f{0} = DequantizeLinear x{0} s{0} z{0}; ", i);
    all += fmt::format(" f{}", i);
  }
  nodes += fmt::format("c = Concat{} axis=@axis; y = QuantizeLinear c ys yz", all);
  return function_of(call, inputs, nodes, "y");
}

// A convolution or product, perhaps the sum with something else, and an activation.
std::optional<Function> activated(const Node& call) {
  std::string activation, parameters;
  std::vector<float> given;
  std::vector<Attribute> rest;
  for (const Attribute& a : call.attributes)
    if (a.name == "activation")
      activation = a.text.value_or("");
    else if (a.name == "activation_params")
      given = a.reals;
    else if (!a.name.starts_with("activation"))
      rest.push_back(a);
    else if (a.name == "activation_alpha")
      parameters += fmt::format(" alpha={:.9e}", a.real.value_or(0));
    else if (a.name == "activation_beta")
      parameters += fmt::format(" beta={:.9e}", a.real.value_or(0));
  if (activation == "Relu" || activation == "Tanh" || activation == "Sigmoid")
    parameters = "";
  else if (activation == "LeakyRelu" && given.size() == 1)
    parameters = fmt::format(" alpha={:.9e}", given[0]);
  else if (activation == "HardSigmoid" && given.size() == 2)
    parameters = fmt::format(" alpha={:.9e} beta={:.9e}", given[0], given[1]);
  else if (parameters.empty())
    return std::nullopt;
  const std::string_view op = call.op == "FusedConv" ? "Conv" : "Gemm";
  Function function = function_of(
      call, "x w b z", fmt::format("c = {} x w b; s = Add? c z; y = {} s{}", op, activation, parameters), "y");
  function.nodes[0].attributes = std::move(rest);
  return function;
}

// alpha times the product, with the last two axes of the factors exchanged.
std::optional<Function> product(Importer& in, const Node& call) {
  std::vector<Attribute> exchanged;
  std::string nodes, names[] = {"a", "b"};
  double alpha = 1;
  for (const Attribute& a : call.attributes) {
    if (a.name == "alpha") alpha = static_cast<double>(a.real.value_or(0));
    if (a.integer.value_or(0) == 0) continue;
    if (a.name != "transA" && a.name != "transB") return std::nullopt; // it moves the axes of a batch
    const size_t i = a.name == "transA" ? 0 : 1;
    const ValuePtr value = i < call.inputs.size() ? in.find(call.inputs[i]) : nullptr;
    if (!value || value->rank() < 2) continue;
    Attribute& order = exchanged.emplace_back();
    order.name = "perm";
    for (size_t k = 0; k < value->rank(); ++k)
      order.integers.push_back(static_cast<int64_t>(k));
    std::swap(order.integers[value->rank() - 1], order.integers[value->rank() - 2]);
    nodes += fmt::format("{0}t = Transpose {0}; ", names[i]);
    names[i] += "t";
  }
  nodes += fmt::format("{} = MatMul {} {}", alpha == 1 ? "y" : "p", names[0], names[1]);
  if (alpha != 1) nodes += fmt::format("; by = Constant value_float={:.9e}; y = Mul p by", alpha);
  Function function = function_of(call, "a b", nodes, "y");
  for (size_t i = 0; i < exchanged.size(); ++i)
    function.nodes[i].attributes.push_back(exchanged[i]);
  return function;
}

// The product of integers, with a sum of integers, by both factors' scales; in steps where the result has a scale.
Function integer_gemm(const Node& call) {
  std::string nodes, names[] = {"a", "b"};
  double alpha = 1;
  for (const Attribute& a : call.attributes) {
    if (a.name == "alpha") alpha = static_cast<double>(a.real.value_or(0));
    if (!a.name.starts_with("trans") || a.integer.value_or(0) == 0) continue;
    std::string& name = names[a.name == "transA" ? 0 : 1];
    nodes += fmt::format("{0}t = Transpose {0}; ", name);
    name += "t";
  }
  nodes += fmt::format("p = MatMulInteger {} {} az bz; i = Add? p c; f = Cast i to=1; s = Mul as bs; "
                       "by = Constant value_float={:.9e}; t = Mul s by; ",
                       names[0], names[1], alpha);
  const bool in_steps = call.inputs.size() > 7 && !call.inputs[7].empty();
  nodes += in_steps ? "r = Mul f t; y = QuantizeLinear r ys yz" : "y = Mul f t";
  return function_of(call, "a as az b bs bz c ys yz", nodes, "y");
}

} // namespace

std::optional<Function> fused_function(Importer& in, const Node& call) {
  if (call.domain == "com.microsoft") {
    if (call.op == "QLinearConcat") return concatenation(call);
    if (call.op == "FusedConv" || call.op == "FusedGemm") return activated(call);
    if (call.op == "QGemm") return integer_gemm(call);
    if (call.op == "FusedMatMul") return product(in, call);
    if (auto attention = attention_function(in, call)) return attention;
  }
  if (auto learned = learned_function(call)) return learned;
  for (const Fused& fused : kFused)
    if (fused.name == call.op && fused.domain == call.domain)
      return function_of(call, fused.inputs, fused.nodes, fused.outputs);
  return std::nullopt;
}

} // namespace tl::onnx
