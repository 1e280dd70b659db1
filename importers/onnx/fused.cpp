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
     "one = Constant value_float=1.0; A = DequantizeLinear a one az; B = DequantizeLinear b one bz; ra = Div as ys; "
     "rb = Div bs ys; P = Mul A ra; Q = Mul B rb; C = Add P Q; Z = Cast? yz to=1; S = Add? C Z; zero = Sub? yz yz; "
     "y = QuantizeLinear S one zero"}, // the zero point is there before it rounds
    {"QLinearAveragePool", "x s z ys yz",
     "f = DequantizeLinear x s z; p = AveragePool f auto_pad=@auto_pad ceil_mode=@ceil_mode kernel_shape=@kernel_shape "
     "pads=@pads strides=@strides count_include_pad=@count_include_pad; y = QuantizeLinear p ys yz"},
    {"QLinearGlobalAveragePool", "x s z ys yz",
     "f = DequantizeLinear x s z; p = GlobalAveragePool f; y = QuantizeLinear p ys yz"},
    {"QLinearLeakyRelu", "x s z ys yz",
     "f = DequantizeLinear x s z; r = LeakyRelu f alpha=@alpha:0.01; y = QuantizeLinear r ys yz"},
    {"QLinearMul", "a as az b bs bz ys yz",
     "one = Constant value_float=1.0; A = DequantizeLinear a one az; B = DequantizeLinear b one bz; p = Mul as bs; "
     "r = Div p ys; P = Mul A B; C = Mul P r; Z = Cast? yz to=1; S = Add? C Z; zero = Sub? yz yz; "
     "y = QuantizeLinear S one zero"},
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

void add_node(Function& function, std::string_view text, std::vector<std::string>& left_out) {
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
  auto is_left_out = [&](const std::string& input) { return std::count(left_out.begin(), left_out.end(), input) > 0; };
  if (node.op.ends_with('?')) {
    node.op.pop_back();
    if (is_left_out(node.inputs.at(0))) {
      left_out.insert(left_out.end(), node.outputs.begin(), node.outputs.end());
      return;
    }
    if (std::any_of(node.inputs.begin(), node.inputs.end(), is_left_out)) {
      node.op = "Identity";
      node.inputs.resize(1);
    }
  }
  std::replace_if(node.inputs.begin(), node.inputs.end(), is_left_out, std::string());
  function.nodes.push_back(std::move(node));
}

void add_node(Function& function, std::string_view text) {
  std::vector<std::string> none;
  add_node(function, text, none);
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

// The distance of each row to each row.
Function distances(Importer& in, const Node& call) {
  const bool is_square = Op(in, call, 1).string("metric", "sqeuclidean") == "sqeuclidean";
  return function_of(call, "a b",
                     fmt::format("at = Constant value_ints=1,; last = Constant value_ints=-1,; rows = Unsqueeze a at; "
                                 "off = Sub rows b; square = Mul off off; sum = ReduceSum square last keepdims=0; "
                                 "y = {} sum",
                                 is_square ? "Identity" : "Sqrt"),
                     "y");
}

// "{0}_each = …" of bytes, of which each holds a number or two, [rows, numbers].
std::string unpacked(std::string_view name, int64_t bits, int64_t rows) {
  const std::string flat = fmt::format("{0}_shape = Constant value_ints={1},-1; {0}_each = Reshape {2} {0}_shape; ",
                                       name, rows, bits == 8 ? std::string(name) : fmt::format("{}_pair", name));
  if (bits == 8) return flat;
  return fmt::format("{0}_low = BitwiseAnd {0} low; {0}_high = BitShift {0} four direction=RIGHT; "
                     "{0}_low1 = Unsqueeze {0}_low last; {0}_high1 = Unsqueeze {0}_high last; "
                     "{0}_pair = Concat {0}_low1 {0}_high1 axis=-1; ",
                     name) +
         flat;
}

// The product with a matrix of numbers of 4 or 8 bits, each block of a row with a scale of its own.
Function packed_product(Importer& in, const Node& call) {
  Op op(in, call, 1);
  const int64_t k = op.integer("K", 0), n = op.integer("N", 0), block = op.integer("block_size", 0);
  const int64_t bits = op.integer("bits", 4);
  if (k < 1 || n < 1 || block < 1) op.refuse("it does not say how large it is");
  if (bits != 4 && bits != 8) op.refuse(fmt::format("its numbers have {} bits", bits));
  if (op.has(4)) op.refuse("its rows are in another order");
  const int64_t blocks = (k + block - 1) / block;
  std::string nodes =
      fmt::format("fifteen = Constant value_int=15; low = Cast fifteen to=2; two = Constant value_int=4; "
                  "four = Cast two to=2; last = Constant value_ints=-1,; first = Constant value_ints=0,; "
                  "along = Constant value_ints=1,; by_block = Constant value_ints={},{},-1; ",
                  n, blocks);
  nodes += unpacked("b", bits, n) + "whole = Reshape b_each by_block; real = CastLike whole s; ";
  if (!op.has(3))
    nodes += fmt::format("half = Constant value_float={}.0; zero = CastLike half s; ", bits == 4 ? 8 : 128);
  else if (op[3].dtype == DType::U8)
    nodes +=
        unpacked("z", bits, n) + fmt::format("count = Constant value_ints={},; z_cut = Slice z_each first count along; "
                                             "z_blocks = Reshape z_cut by_block; zero = CastLike z_blocks s; ",
                                             blocks);
  else
    nodes += "zero = Reshape z by_block; ";
  nodes += fmt::format("off = Sub real zero; scale = Reshape s by_block; rows = Mul off scale; "
                       "flat = Constant value_ints={},-1; rows2 = Reshape rows flat; length = Constant value_ints={},; "
                       "cut = Slice rows2 first length along; matrix = Transpose cut perm=1,0; "
                       "product = MatMul a matrix; y = Add? product bias",
                       n, k);
  return function_of(call, "a b s z order bias", nodes, "y");
}

} // namespace

std::optional<Function> fused_function(Importer& in, const Node& call) {
  if (call.domain == "com.microsoft") {
    if (call.op == "QLinearConcat") return concatenation(call);
    if (call.op == "CDist") return distances(in, call);
    if (call.op == "FusedConv" || call.op == "FusedGemm") return activated(call);
    if (call.op == "MatMulNBits") return packed_product(in, call);
    if (call.op == "QGemm") return integer_gemm(call);
    if (call.op == "FusedMatMul") return product(in, call);
    if (auto attention = attention_function(in, call)) return attention;
  }
  if (auto learned = learned_function(in, call)) return learned;
  for (const Fused& fused : kFused)
    if (fused.name == call.op && fused.domain == call.domain)
      return function_of(call, fused.inputs, fused.nodes, fused.outputs);
  return std::nullopt;
}

} // namespace tl::onnx
