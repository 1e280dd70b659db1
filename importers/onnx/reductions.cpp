// Reductions, scans, sorting, and products.
#include "importers/onnx/operators.h"
#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace tl::onnx {
namespace {

// "ReduceSumSquare" is reduce_sum_square in the module onnx.
std::string function_name(std::string_view name) {
  std::string result;
  for (char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) && !result.empty()) result += '_';
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

// All of some integers that are known: how many elements a shape has, and the like.
std::optional<Size> joined(Op& op, std::string_view name, const Contents& known) {
  std::optional<Size> all;
  for (const Number& item : known.items) {
    if (!item.is_integer()) return std::nullopt;
    if (!all)
      all = item.top;
    else if (name == "ReduceProd")
      all = *all * item.top;
    else if (name == "ReduceSum")
      all = *all + item.top;
    else if (name == "ReduceMax")
      all = op.in.sizes().max(*all, item.top, op.in.facts());
    else if (name == "ReduceMin")
      all = op.in.sizes().min(*all, item.top, op.in.facts());
    else
      return std::nullopt;
  }
  if (all && all->is_too_large()) return std::nullopt;
  return all;
}

// Of something whose length the data says, and which may be nothing: detections, positions of what is not 0.
bool may_be_nothing(Op& op, const Size& n) {
  if (op.in.sizes().proves_not_negative(n - Size(1), op.in.facts())) return false;
  std::vector<AtomId> leaves;
  op.in.sizes().collect(n, leaves);
  return std::any_of(leaves.begin(), leaves.end(),
                     [&](AtomId leaf) { return op.in.sizes()[leaf].kind != AtomKind::Named; });
}

// Floats and i64 by the functions that everybody uses; what ONNX has ways of its own with (nothing to reduce, axes that
// are an empty list, results of narrow integers) by those of the module onnx.
void reduce(Op& op, const Row& row) {
  const size_t rank = op.rank(0);
  const DType dtype = op[0].dtype;
  const bool keep = op.integer("keepdims", 1) != 0;
  const bool by_input = op.version >= 18 || (row.name == "ReduceSum" && op.version >= 13);
  const std::optional<std::vector<int64_t>> given = by_input ? op.integers("", 1) : op.integers("axes");
  const bool are_given = given && !given->empty();
  const bool nothing = !are_given && by_input && op.integer("noop_with_empty_axes", 0) != 0;
  std::vector<bool> gone(rank, !are_given && !nothing);
  if (are_given)
    for (int64_t a : *given)
      gone[static_cast<size_t>(op.axis(a, rank))] = true;
  Dims dims;
  std::vector<std::string> named;
  const bool is_extreme = row.name == "ReduceMax" || row.name == "ReduceMin" || row.name == "ReduceLogSumExp";
  bool is_usual = rank > 0 && !nothing && (is_float(dtype) || (dtype == DType::I64 && row.name != "ReduceMean"));
  for (size_t i = 0; i < rank; ++i) {
    if (gone[i]) {
      named.push_back(std::to_string(i));
      is_usual &= !op[0].dims[i].is(0) && !(is_extreme && may_be_nothing(op, op[0].dims[i]));
    }
    if (!gone[i] || keep) dims.push_back(gone[i] ? Size(1) : op[0].dims[i]);
  }
  const bool is_whole = named.size() == rank;
  if (const Contents* known = is_whole && dtype == DType::I64 ? op.contents(0) : nullptr)
    if (auto all = joined(op, row.name, *known))
      return op.know(0, dtype, {std::vector<int64_t>(dims.size(), 1), {Number::of(*all)}});
  const std::string x = op.text(0), list = fmt::format("{}", fmt::join(named, ", "));
  if (!is_usual) {
    op.in.use_module("onnx");
    std::string options = nothing ? ", noop_with_empty_axes = 1" : is_whole ? "" : fmt::format(", axes = ({},)", list);
    if (!keep) options += ", keepdims = 0";
    return void(op.define(0, fmt::format("onnx.{}({}{})", function_name(row.name), x, options), dtype, dims));
  }
  std::string options = is_whole ? "" : fmt::format(", axis = {}", named.size() == 1 ? list : "(" + list + ")");
  if (keep) options += ", keep = true";
  std::string text;
  for (char c : row.form)
    text += c == '%' ? options : c == '$' ? x : std::string(1, c);
  op.define(0, text, dtype, dims);
}

template <bool greatest> void arg_extreme(Op& op, const Row&) {
  const size_t rank = op.rank(0);
  const int64_t axis = op.axis(op.integer("axis", 0), rank);
  const bool keep = op.integer("keepdims", 1) != 0, last = op.integer("select_last_index", 0) != 0;
  Dims dims = op[0].dims;
  const Size n = dims[static_cast<size_t>(axis)];
  if (keep)
    dims[static_cast<size_t>(axis)] = 1;
  else
    dims.erase(dims.begin() + axis);
  const char* function = greatest ? "argmax" : "argmin";
  const std::string rest = fmt::format("axis = {}{}", axis, keep ? ", keep = true" : "");
  if (last)
    op.define(0,
              fmt::format("{} - 1 - {}(flip({}, axis = {}), {})", op.in.size_text(n), function, op.text(0), axis, rest),
              DType::I64, dims);
  else
    op.define(0, fmt::format("{}({}, {})", function, op.text(0), rest), DType::I64, dims);
}

// Along one axis; before opset 13 along all from it on, as one.
void soft(Op& op, const Row& row) {
  const auto rank = static_cast<int64_t>(op.rank(0));
  const int64_t axis = op.axis(op.integer("axis", op.version >= 13 ? -1 : 1), op.rank(0));
  if (row.form.starts_with("nn.")) op.in.use_module("nn");
  const std::string x = op.text(0);
  if (op.version >= 13 || axis == rank - 1) {
    const std::string rest = axis == rank - 1 ? "" : fmt::format(", axis = {}", axis);
    return void(op.define(0, fmt::format("{}({}{})", row.form, x, rest), op[0].dtype, op[0].dims));
  }
  const std::string name = op.in.fresh_name("rows");
  op.in.write(fmt::format("let {} = {}(flatten({}, from = {}))", name, row.form, x, axis));
  op.define(0, fmt::format("reshape({}, {})", name, op.in.dims_text(op[0].dims)), op[0].dtype, op[0].dims);
}

void cumulative(Op& op, const Row& row) {
  auto axes = op.constants_of(1);
  if (!axes || axes->size() != 1) op.refuse("its axis is known only when it runs");
  const int64_t axis = op.axis((*axes)[0], op.rank(0));
  const bool exclusive = op.integer("exclusive", 0) != 0, reverse = op.integer("reverse", 0) != 0;
  std::string rest = fmt::format(", axis = {}", axis);
  if (exclusive) rest += ", exclusive = true";
  if (reverse) rest += ", reverse = true";
  const std::string text = fmt::format("{}({}{})", row.form, op.text(0), rest);
  const bool widens = !is_float(op[0].dtype) && op[0].dtype != DType::I64;
  op.define(0, widens ? fmt::format("{}({})", name_of(op[0].dtype), text) : text, op[0].dtype, op[0].dims);
}

void top_k(Op& op, const Row&) {
  const auto axis = static_cast<size_t>(op.axis(op.integer("axis", -1), op.rank(0)));
  const Size k = op.version >= 10 ? op.integer_of(1) : Size(op.integer("k", 0));
  Dims dims = op[0].dims;
  dims[axis] = k;
  const bool largest = op.integer("largest", 1) != 0;
  const std::string x = op.text(0), count = op.in.size_text(k);
  if (largest && axis + 1 == dims.size())
    return op.define_all(fmt::format("topk({}, {})", x, count), {{op[0].dtype, dims}, {DType::I64, dims}});
  op.in.use_module("onnx");
  op.define_all(fmt::format("onnx.topk({}, {}, axis = {}, largest = {})", x, count, axis, largest ? 1 : 0),
                {{op[0].dtype, dims}, {DType::I64, dims}});
}

// ---- products

void matmul(Op& op, const Row&) {
  const Dims dims = product_dims(op, 0, 1);
  op.define(0, fmt::format("{} @ {}", op.text(0), op.text(1)), op[0].dtype, dims);
}

void gemm(Op& op, const Row&) {
  const double alpha = op.real("alpha", 1), beta = op.real("beta", 1);
  const bool turn_a = op.integer("transA", 0) != 0, turn_b = op.integer("transB", 0) != 0;
  const DType dtype = op[0].dtype;
  if (op.rank(0) != 2 || op.rank(1) != 2) op.refuse("its operands are no matrices");
  const Dims a = op[0].dims, b = op[1].dims;
  op.in.require_equal(a[turn_a ? 0 : 1], b[turn_b ? 1 : 0]);
  Dims dims = {a[turn_a ? 1 : 0], b[turn_b ? 0 : 1]};
  auto turned = [&](size_t i, bool turn) {
    if (!turn) return op.text(i);
    Value& value = op[i];
    if (value.is_constant && !op.in.block().is_constant)
      return op.in.text(
          *op.in.folded(value.name, op.in.constant_text(value) + ".T", dtype, {value.dims[1], value.dims[0]}));
    return op.text(i) + ".T";
  };
  std::string text = fmt::format("{} @ {}", turned(0, turn_a), turned(1, turn_b));
  auto scaled = [&](double by, const std::string& of) {
    return by == 1 ? of : fmt::format("{} * {}", op.in.number_text(dtype, Number::of_real(by)), of);
  };
  if (alpha != 1) text = scaled(alpha, "(" + text + ")");
  if (op.has(2) && beta != 0) {
    op.in.broadcast(dims, op[2].dims);
    text += " + " + scaled(beta, op.text(2));
  }
  op.define(0, text, dtype, dims);
}

void einsum(Op& op, const Row&) {
  std::string equation = op.string("equation", "");
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!std::all_of(equation.begin(), equation.end(),
                   [&](char c) { return is_letter(c) || c == ',' || c == '.' || c == '-' || c == '>'; }))
    op.refuse("its equation has other characters than letters, `,`, `...` and `->`");
  const bool has_dots = equation.find("...") != std::string::npos;
  const size_t arrow = equation.find("->");
  std::map<char, Size> sizes;
  std::vector<std::string> terms;
  std::string left = equation.substr(0, arrow);
  for (size_t at = 0; at <= left.size();) {
    const size_t end = std::min(left.find(',', at), left.size());
    terms.push_back(left.substr(at, end - at));
    at = end + 1;
  }
  if (terms.size() != op.inputs()) op.refuse("its equation has another number of operands");
  std::string order;
  if (arrow != std::string::npos)
    order = equation.substr(arrow + 2);
  else {
    std::map<char, int> counts;
    for (char c : left)
      if (std::isalpha(static_cast<unsigned char>(c))) ++counts[c];
    if (has_dots) order = "...";
    for (const auto& [c, n] : counts)
      if (n == 1) order += c;
    equation += "->" + order;
  }
  std::vector<std::string> operands;
  for (size_t i = 0; i < terms.size(); ++i) {
    operands.push_back(op.text(i));
    if (has_dots) continue;
    if (terms[i].size() != op.rank(i)) op.refuse("its equation does not fit its operands");
    for (size_t k = 0; k < terms[i].size(); ++k) {
      auto [at, is_new] = sizes.try_emplace(terms[i][k], op[i].dims[k]);
      if (!is_new) op.in.require_equal(at->second, op[i].dims[k]);
    }
  }
  const std::string text = fmt::format("einsum(\"{}\", {})", equation, fmt::join(operands, ", "));
  Dims dims;
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] == '.') { // as many axes as the dots of an operand stand for
      for (size_t k = 0; k < terms.size(); ++k)
        if (terms[k].find("...") != std::string::npos && op.rank(k) + 3 >= terms[k].size()) {
          dims.resize(dims.size() + op.rank(k) + 3 - terms[k].size(), unknown_size());
          break;
        }
      i += 2;
    } else {
      auto found = sizes.find(order[i]);
      if (found == sizes.end() && !has_dots) op.refuse("its equation has a letter that no operand has");
      dims.push_back(found == sizes.end() ? unknown_size() : found->second);
    }
  }
  op.define(0, text, op[0].dtype, dims);
}

void det(Op& op, const Row&) {
  op.require_axes(0, 2);
  op.in.use_module("linalg");
  op.define(0, fmt::format("linalg.det({})", op.text(0)), op[0].dtype, Dims(op[0].dims.begin(), op[0].dims.end() - 2));
}

} // namespace

Dims product_dims(Op& op, size_t i, size_t j) {
  const Dims a = op[i].dims, b = op[j].dims;
  if (a.empty() || b.empty()) op.refuse("an operand is a scalar");
  Dims dims;
  const Size inner = b.size() == 1 ? b[0] : b[b.size() - 2];
  op.in.require_equal(a.back(), inner);
  if (a.size() > 2 || b.size() > 2) {
    auto rows = [](const Dims& d) { return d.size() > 2 ? Dims(d.begin(), d.end() - 2) : Dims(); };
    dims = op.in.broadcast(rows(a), rows(b));
  }
  if (a.size() > 1) dims.push_back(a[a.size() - 2]);
  if (b.size() > 1) dims.push_back(b.back());
  return dims;
}

std::vector<Row> reduction_rows() {
  return {
      {"ArgMax", 1, "", arg_extreme<true>},
      {"ArgMin", 1, "", arg_extreme<false>},
      {"CumProd", 26, "cumprod", cumulative},
      {"CumSum", 11, "cumsum", cumulative},
      {"Det", 11, "", det},
      {"Einsum", 12, "", einsum},
      {"Gemm", 7, "", gemm},
      {"Hardmax", 1, "nn.hardmax", soft},
      {"LogSoftmax", 1, "log_softmax", soft},
      {"MatMul", 1, "", matmul},
      {"ReduceL1", 1, "sum(abs($)%)", reduce},
      {"ReduceL2", 1, "norm($%)", reduce},
      {"ReduceLogSum", 1, "log(sum($%))", reduce},
      {"ReduceLogSumExp", 1, "logsumexp($%)", reduce},
      {"ReduceMax", 1, "max($%)", reduce},
      {"ReduceMean", 1, "mean($%)", reduce},
      {"ReduceMin", 1, "min($%)", reduce},
      {"ReduceProd", 1, "prod($%)", reduce},
      {"ReduceSum", 1, "sum($%)", reduce},
      {"ReduceSumSquare", 1, "sum($ * $%)", reduce},
      {"Softmax", 1, "softmax", soft},
      {"TopK", 1, "", top_k},
  };
}

} // namespace tl::onnx
