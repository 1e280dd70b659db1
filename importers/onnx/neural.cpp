// Convolutions, pooling and normalization.
#include "importers/onnx/operators.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::onnx {
namespace {

// What windows over the axes behind the first two have in common.
struct Windows {
  std::vector<Size> size, before, behind;
  std::vector<int64_t> stride, dilation;
  size_t rank() const { return size.size(); }
};

std::vector<int64_t> ones(size_t count) { return std::vector<int64_t>(count, 1); }

Windows windows_of(Op& op, std::vector<Size> size) {
  const size_t rank = size.size();
  Windows w;
  w.stride = op.integers("strides", ones(rank));
  w.dilation = op.integers("dilations", ones(rank));
  const std::vector<int64_t> pads = op.integers("pads", std::vector<int64_t>(2 * rank, 0));
  if (w.stride.size() != rank || w.dilation.size() != rank || pads.size() != 2 * rank || op.rank(0) != rank + 2)
    op.refuse("its strides, dilations or pads are not as many as its axes");
  for (size_t i = 0; i < rank; ++i)
    if (w.stride[i] < 1 || w.dilation[i] < 1) op.refuse("a stride or dilation is not positive");
  const std::string automatic = op.string("auto_pad", "NOTSET");
  for (size_t i = 0; i < rank; ++i) {
    const Size n = op[0].dims[i + 2], reach = (size[i] - Size(1)) * Size(w.dilation[i]) + Size(1);
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      SizeAtoms& sizes = op.in.sizes();
      const Size steps = sizes.floor_div(n + Size(w.stride[i] - 1), w.stride[i]);
      const Size total = sizes.positive((steps - Size(1)) * Size(w.stride[i]) + reach - n, op.in.facts());
      const Size half = sizes.floor_div(total, 2);
      w.before.push_back(automatic == "SAME_UPPER" ? half : total - half);
      w.behind.push_back(automatic == "SAME_UPPER" ? total - half : half);
    } else if (automatic == "VALID") {
      w.before.emplace_back(0);
      w.behind.emplace_back(0);
    } else {
      w.before.emplace_back(pads[i]);
      w.behind.emplace_back(pads[rank + i]);
    }
  }
  w.size = std::move(size);
  return w;
}

// One number where all are the same, else a tuple.
std::string each(const std::vector<std::string>& texts) {
  if (std::all_of(texts.begin(), texts.end(), [&](const std::string& t) { return t == texts[0]; })) return texts[0];
  return fmt::format("({})", fmt::join(texts, ", "));
}
std::string each(const std::vector<int64_t>& numbers) {
  std::vector<std::string> texts;
  for (int64_t n : numbers)
    texts.push_back(std::to_string(n));
  return each(texts);
}
std::string each(Op& op, const std::vector<Size>& numbers) {
  std::vector<std::string> texts;
  for (const Size& n : numbers)
    texts.push_back(op.in.size_text(n));
  return each(texts);
}

std::string padding_text(Op& op, const Windows& w) {
  if (w.before == w.behind) return each(op, w.before);
  std::vector<std::string> ends;
  for (size_t i = 0; i < w.rank(); ++i)
    ends.push_back(w.before[i] == w.behind[i] && w.rank() > 1
                       ? op.in.size_text(w.before[i])
                       : fmt::format("({}, {})", op.in.size_text(w.before[i]), op.in.size_text(w.behind[i])));
  return w.rank() == 1 ? ends[0] : fmt::format("({})", fmt::join(ends, ", "));
}

std::string options_text(Op& op, const Windows& w, int64_t groups, bool with_stride_of_one = false) {
  std::string text;
  if (const std::string s = each(w.stride); s != "1" || with_stride_of_one) text += ", stride = " + s;
  if (const std::string p = padding_text(op, w); p != "0") text += ", padding = " + p;
  if (const std::string d = each(w.dilation); d != "1") text += ", dilation = " + d;
  if (groups != 1) text += fmt::format(", groups = {}", groups);
  return text;
}

Size steps(Op& op, const Windows& w, size_t i, bool ceil = false) {
  const Size reach = (w.size[i] - Size(1)) * Size(w.dilation[i]) + Size(1);
  const Size room = op[0].dims[i + 2] + w.before[i] + w.behind[i] - reach;
  if (w.stride[i] == 1) return room + Size(1);
  return op.in.sizes().floor_div(room + (ceil ? Size(w.stride[i] - 1) : Size(0)), w.stride[i]) + Size(1);
}

std::vector<Size> filter_size(Op& op) {
  const Dims& f = op[1].dims;
  if (f.size() < 3 || f.size() > 5) op.refuse(fmt::format("its filters have {} axes, and 3 to 5 are read", f.size()));
  std::vector<Size> size(f.begin() + 2, f.end());
  if (auto given = op.integers("kernel_shape"))
    for (size_t i = 0; i < size.size() && i < given->size(); ++i)
      if (!size[i].is((*given)[i])) op.in.require_equal(size[i], (*given)[i]);
  return size;
}

struct Scaling {
  ValuePtr by, plus; // by channel, or of rank 0; null: nothing
};

// What inference of a batch normalization multiplies by and adds.
Scaling scaling_of(Importer& in, const std::string& name, const std::vector<ValuePtr>& parameters, double eps) {
  const Value& scale = *parameters[0];
  const std::string e = in.number_text(scale.dtype, Number::of_real(eps));
  auto text = [&](size_t i) { return in.constant_text(*parameters[i]); };
  Scaling result;
  result.by =
      in.folded(name + "_scale", fmt::format("{} / sqrt({} + {})", text(0), text(3), e), scale.dtype, scale.dims);
  result.plus = in.folded(name + "_shift", fmt::format("{} - {} * {}", text(1), text(2), in.constant_text(*result.by)),
                          scale.dtype, scale.dims);
  return result;
}

double epsilon_of(const Node& node) {
  for (const Attribute& a : node.attributes)
    if (a.name == "epsilon") return static_cast<double>(a.real.value_or(0));
  return static_cast<double>(1e-5f);
}

// A constant with a value for each channel of an image with `rank` axes behind them (or one for all), as a vector.
ValuePtr by_channel(Op& op, const std::string& name, const Size& channels, size_t rank) {
  ValuePtr value = op.in.find_constant(name);
  if (!value || value->dtype != op[0].dtype || value->rank() > rank + 2) return nullptr;
  size_t behind = value->rank(); // axes from this one to the last
  for (const Size& size : value->dims) {
    if (!size.is(1) && (behind != rank + 1 || size != channels)) return nullptr;
    --behind;
  }
  if (value->rank() == 0) return value;
  const bool is_one = std::all_of(value->dims.begin(), value->dims.end(), [](const Size& size) { return size.is(1); });
  const std::string wanted = is_one ? "[]" : fmt::format("[{}]", op.in.size_text(channels));
  return op.in.folded(value->name, fmt::format("reshape({}, {})", op.in.constant_text(*value), wanted), value->dtype,
                      is_one ? Dims{} : Dims{channels});
}

std::optional<Scaling> norm_of(Op& op, const Node& node) {
  if (node.inputs.size() != 5) return std::nullopt;
  std::vector<ValuePtr> parameters;
  for (size_t i = 1; i < 5; ++i) {
    parameters.push_back(op.in.find_constant(node.inputs[i]));
    const ValuePtr& value = parameters.back();
    if (!value || value->rank() != 1 || value->dtype != op[1].dtype) return std::nullopt;
  }
  for (size_t i = 1; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty()) return std::nullopt;
  for (const Attribute& a : node.attributes)
    if (a.name == "training_mode" && a.integer.value_or(0) != 0) return std::nullopt;
  return scaling_of(op.in, node.outputs[0], parameters, epsilon_of(node));
}

// What alone reads a convolution's result and multiplies it by constants, or adds them, for each channel: a batch
// normalization, a product or a sum. It goes into the filters.
std::optional<std::pair<const Node*, Scaling>> following_scaling(Op& op, const std::string& output,
                                                                 const Size& channels, size_t rank) {
  const Scope& scope = op.in.scope();
  auto uses = scope.uses.find(output);
  auto reader = scope.readers.find(output);
  if (uses == scope.uses.end() || uses->second != 1 || reader == scope.readers.end()) return std::nullopt;
  const Node& node = *reader->second;
  if (!node.domain.empty() || node.inputs.empty()) return std::nullopt;
  if (node.op == "BatchNormalization" && node.inputs[0] == output) {
    if (auto scaling = norm_of(op, node)) return std::pair(&node, *scaling);
    return std::nullopt;
  }
  if ((node.op != "Mul" && node.op != "Add") || node.inputs.size() != 2 || op.version < 7) return std::nullopt;
  ValuePtr other = by_channel(op, node.inputs[node.inputs[0] == output ? 1 : 0], channels, rank);
  if (!other) return std::nullopt;
  return std::pair(&node, node.op == "Mul" ? Scaling{other, nullptr} : Scaling{nullptr, other});
}

struct Filters {
  ValuePtr weights, bias; // bias may be null
  const Node* last;       // whose result the convolution's is
};

// Multiplies the filters by what follows the convolution, and adds it; those nodes are written with it.
void take_following(Op& op, Filters& now, const Size& filters, size_t rank) {
  const DType dtype = now.weights->dtype;
  auto changed = [&](const ValuePtr& value, const std::string& how) {
    return op.in.folded(value->name, fmt::format("{} {}", op.in.constant_text(*value), how), dtype, value->dims);
  };
  while (const auto following = following_scaling(op, now.last->outputs[0], filters, rank)) {
    const auto& [node, scaling] = *following;
    if (scaling.by) {
      std::string across = ":";
      for (size_t i = 0; i < rank + 1; ++i)
        across += ", new";
      const std::string by = op.in.constant_text(*scaling.by);
      now.weights = changed(now.weights, "* " + (scaling.by->rank() == 0 ? by : fmt::format("{}[{}]", by, across)));
      if (now.bias) now.bias = changed(now.bias, "* " + by);
    }
    if (scaling.plus) {
      const std::string plus = op.in.constant_text(*scaling.plus);
      if (now.bias)
        now.bias = changed(now.bias, "+ " + plus);
      else if (scaling.plus->rank() == 1)
        now.bias = scaling.plus;
      else
        now.bias = op.in.folded(node->outputs[0] + "_shift",
                                fmt::format("full([{}], {})", op.in.size_text(filters), plus), dtype, {filters});
    }
    op.in.skip(*node);
    now.last = node;
  }
}

template <bool transposed> void convolution(Op& op, const Row&) {
  std::vector<Size> size = filter_size(op);
  const size_t rank = size.size();
  Windows w = windows_of(op, size);
  const int64_t groups = op.integer("group", 1);
  const DType dtype = op[0].dtype;
  const Size filters = transposed ? op[1].dims[1] * Size(groups) : op[1].dims[0];
  op.in.require_equal(op[0].dims[1], transposed ? op[1].dims[0] : op[1].dims[1] * Size(groups));
  op.in.use_module("nn");

  Filters now{op.value(1), op.has(2) ? op.value(2) : nullptr, &op.node};
  const bool are_constant = now.weights->is_constant && (!now.bias || now.bias->is_constant);
  if (are_constant && !op.in.block().is_constant && groups >= 1 && !transposed) take_following(op, now, filters, rank);
  const std::string weights = op.in.text(*now.weights);
  const std::string bias = now.bias ? op.in.text(*now.bias)
                                    : fmt::format("zeros([{}]{})", op.in.size_text(filters),
                                                  dtype == DType::F32 ? "" : fmt::format(", {}", name_of(dtype)));
  Dims dims = {op[0].dims[0], filters};
  std::string text;
  if (!transposed) {
    for (size_t i = 0; i < rank; ++i)
      dims.push_back(steps(op, w, i));
    text = fmt::format("nn.conv{0}d({1}, nn.Conv{0}d(w = {2}, b = {3}){4})", rank, op.text(0), weights, bias,
                       options_text(op, w, groups));
  } else {
    std::vector<int64_t> extra = op.integers("output_padding", std::vector<int64_t>(rank, 0));
    extra.resize(rank);
    const auto wanted = op.integers("output_shape");
    const std::string automatic = op.string("auto_pad", "NOTSET");
    const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
    for (size_t i = 0; i < rank; ++i) {
      const Size n = op[0].dims[i + 2];
      const Size whole =
          (n - Size(1)) * Size(w.stride[i]) + (size[i] - Size(1)) * Size(w.dilation[i]) + Size(1) + Size(extra[i]);
      if ((wanted && wanted->size() >= rank) || same) {
        const Size m =
            wanted && wanted->size() >= rank ? Size((*wanted)[wanted->size() - rank + i]) : n * Size(w.stride[i]);
        Size total = whole - m;
        if (total.is_constant() && total.constant() < 0) { // what is wanted is longer
          extra[i] -= total.constant();
          total = 0;
        }
        const Size half = op.in.sizes().floor_div(total, 2);
        w.before[i] = automatic == "SAME_UPPER" ? half : total - half;
        w.behind[i] = automatic == "SAME_UPPER" ? total - half : half;
        dims.push_back(m);
      } else {
        dims.push_back(whole - w.before[i] - w.behind[i]);
      }
    }
    std::string options = options_text(op, w, groups);
    if (const std::string e = each(extra); e != "0") options += ", extra = " + e;
    // The number of filters of each channel is part of the layer's type.
    text = fmt::format("nn.conv_transpose{0}d({1}, nn.ConvTranspose{0}d(w = {2}, b = {3}){4})", rank, op.text(0),
                       weights, bias, options);
  }
  if (now.last != &op.node) {
    Op result(op.in, *now.last, op.version);
    result.define(0, text, dtype, dims);
    return;
  }
  op.define(0, text, dtype, dims);
}

// Where windows may overhang: those that begin behind the data and the padding before it do not count.
Size pooled(Op& op, const Windows& w, size_t i, bool ceil) {
  if (!ceil) return steps(op, w, i);
  const Size all = steps(op, w, i, true), begins = (all - Size(1)) * Size(w.stride[i]);
  const Size end = op[0].dims[i + 2] + w.before[i];
  if (!all.is_constant() || !end.is_constant()) return unknown_size();
  return begins.constant() >= end.constant() ? all - Size(1) : all;
}

// Windows that are larger than an axis, by less than their stride, give one element and not none: ONNX Runtime rounds
// the quotient of the sizes towards 0.
void fit_one_window(Op& op, Windows& w, size_t i) {
  const Size reach = (w.size[i] - Size(1)) * Size(w.dilation[i]) + Size(1);
  const Size lacking = reach - op[0].dims[i + 2] - w.before[i] - w.behind[i];
  if (lacking.is_constant() && lacking.constant() > 0 && lacking.constant() < w.stride[i])
    w.behind[i] = w.behind[i] + lacking;
}

struct Pool {
  Windows windows;
  Dims dims;           // of the result
  std::string options; // behind what is pooled
};

Pool pool_of(Op& op) {
  std::vector<Size> size;
  for (int64_t s : op.integers("kernel_shape", std::vector<int64_t>()))
    size.emplace_back(s);
  if (size.empty() || size.size() > 3)
    op.refuse(fmt::format("its windows have {} axes, and 1 to 3 are read", size.size()));
  op.in.use_module("nn");
  const bool ceil = op.integer("ceil_mode", 0) != 0;
  Pool pool{windows_of(op, std::move(size)), {op[0].dims[0], op[0].dims[1]}, ""};
  for (size_t i = 0; i < pool.windows.rank(); ++i) {
    if (!ceil) fit_one_window(op, pool.windows, i);
    pool.dims.push_back(pooled(op, pool.windows, i, ceil));
  }
  pool.options = fmt::format(", {}{}{}", each(op, pool.windows.size), options_text(op, pool.windows, 1, true),
                             ceil ? ", ceil = true" : "");
  return pool;
}

void max_pool(Op& op, const Row&) {
  const Pool pool = pool_of(op);
  const DType dtype = op[0].dtype;
  const bool is_usual = is_float(dtype); // all integers that it takes are floats too
  const std::string x = op.text(0), function = fmt::format("nn.max_pool{}d", pool.windows.rank());
  const std::string arguments = (is_usual ? x : fmt::format("f64({})", x)) + pool.options;
  auto back = [&](const std::string& text) { return is_usual ? text : fmt::format("{}({})", name_of(dtype), text); };
  if (!op.wants(1)) return void(op.define(0, back(fmt::format("{}({})", function, arguments)), dtype, pool.dims));
  op.in.use_module("onnx");
  const std::string values = op.in.fresh_name("values"), places = op.in.fresh_name("places");
  op.in.write(fmt::format("let ({}, {}) = {}_with_indices({})", values, places, function, arguments));
  if (op.wants(0)) op.define(0, back(values), dtype, pool.dims);
  op.define(1, fmt::format("onnx.positions({}, {}, {})", places, x, op.integer("storage_order", 0)), DType::I64,
            pool.dims);
}

void average_pool(Op& op, const Row&) {
  const Pool pool = pool_of(op);
  const bool beyond = padding_text(op, pool.windows) != "0" || op.integer("ceil_mode", 0) != 0;
  const bool counts = op.integer("count_include_pad", 0) != 0;
  op.define(0,
            fmt::format("nn.avg_pool{}d({}{}{})", pool.windows.rank(), op.text(0), pool.options,
                        beyond && !counts ? ", count_include_pad = false" : ""),
            op[0].dtype, pool.dims);
}

void global_pool(Op& op, const Row& row) {
  Dims dims = op[0].dims;
  std::vector<std::string> axes;
  for (size_t i = 2; i < dims.size(); ++i) {
    dims[i] = 1;
    axes.push_back(std::to_string(i));
  }
  if (axes.empty()) return op.alias(0, op.value(0));
  op.define(0,
            fmt::format("{}({}, axis = {}, keep = true)", row.form, op.text(0),
                        axes.size() == 1 ? axes[0] : fmt::format("({})", fmt::join(axes, ", "))),
            op[0].dtype, dims);
}

// ---- normalization

std::string down_channels(Op& op, const std::string& text) { // [c] against [n, c, …]
  std::string across;
  for (size_t i = 2; i < op.rank(0); ++i)
    across += ", new";
  return across.empty() ? text : fmt::format("{}[:{}]", text, across);
}

std::string real_text(Op& op, const char* name, double missing) {
  return op.in.number_text(DType::F32, Number::of_real(op.real(name, missing)));
}

void batch_norm(Op& op, const Row&) {
  op.require_axes(0, 2);
  for (size_t i = 1; i < 5; ++i) {
    op.require_axes(i, 1);
    op.in.require_equal(op[i].dims[0], op[0].dims[1]);
  }
  if (op.version >= 14 && op.integer("training_mode", 0) != 0) {
    op.in.use_module("onnx");
    op.require_axes(0, 2);
    const Dims channels{op[0].dims[1]};
    std::string inputs;
    for (size_t i = 0; i < 5; ++i)
      inputs += op.text(i) + ", ";
    return op.define_all(fmt::format("onnx.batch_normalization({}epsilon = {}, momentum = {}, training_mode = 1)",
                                     inputs, real_text(op, "epsilon", 1e-5), real_text(op, "momentum", 0.9)),
                         {{op[0].dtype, op[0].dims}, {op[3].dtype, channels}, {op[4].dtype, channels}});
  }
  for (size_t i = 1; i < op.node.outputs.size(); ++i)
    if (op.wants(i)) op.refuse("it gives what its training needs, as the first versions did");
  const double eps = op.real("epsilon", static_cast<double>(1e-5f));
  bool constant = !op.in.block().is_constant;
  std::vector<ValuePtr> parameters;
  for (size_t i = 1; i < 5; ++i) {
    parameters.push_back(op.value(i));
    constant &= parameters.back()->is_constant && parameters.back()->dtype == op[0].dtype;
  }
  const std::string x = op.text(0);
  if (constant) {
    const Scaling scaling = scaling_of(op.in, op.node.outputs[0], parameters, eps);
    op.define(0,
              fmt::format("{} * {} + {}", x, down_channels(op, op.in.text(*scaling.by)),
                          down_channels(op, op.in.text(*scaling.plus))),
              op[0].dtype, op[0].dims);
    return;
  }
  const std::string e = op.in.number_text(op[0].dtype, Number::of_real(eps));
  std::vector<std::string> t;
  for (size_t i = 1; i < 5; ++i) {
    std::string text = op.text(i);
    if (op[i].dtype != op[0].dtype) text = fmt::format("{}({})", name_of(op[0].dtype), text);
    t.push_back(text);
  }
  op.define(0,
            fmt::format("({} - {}) * {} + {}", x, down_channels(op, t[2]),
                        down_channels(op, fmt::format("({} / sqrt({} + {}))", t[0], t[3], e)), down_channels(op, t[1])),
            op[0].dtype, op[0].dims);
}

void layer_norm(Op& op, const Row&) {
  const int64_t axis = op.axis(op.integer("axis", -1), op.rank(0));
  const bool plain = axis + 1 == static_cast<int64_t>(op.rank(0)) && op.has(2) && op.rank(1) == 1 && op.rank(2) == 1 &&
                     !op.wants(1) && !op.wants(2);
  const std::string eps = real_text(op, "epsilon", 1e-5);
  if (plain) {
    op.in.use_module("nn");
    return void(op.define(0,
                          fmt::format("nn.layer_norm({}, nn.LayerNorm(w = {}, b = {}), eps = {})", op.text(0),
                                      op.text(1), op.text(2), eps),
                          op[0].dtype, op[0].dims));
  }
  op.in.use_module("onnx");
  Dims outer = op[0].dims;
  for (size_t i = static_cast<size_t>(axis); i < outer.size(); ++i)
    outer[i] = 1;
  const DType wide = op[0].dtype == DType::F64 ? DType::F64 : DType::F32;
  op.define_all(fmt::format("onnx.layer_normalization({}, {}{}, axis = {}, epsilon = {})", op.text(0), op.text(1),
                            op.has(2) ? ", " + op.text(2) : "", axis, eps),
                {{op[0].dtype, op[0].dims}, {wide, outer}, {wide, outer}});
}

void group_norm(Op& op, const Row& row) {
  const bool instance = row.name == "InstanceNormalization";
  op.in.use_module("nn");
  const std::string eps = real_text(op, "epsilon", 1e-5);
  const int64_t groups = op.integer("num_groups", 1);
  std::string scale = op.text(1), bias = op.text(2);
  if (!instance && op.version < 21) { // of each group, not of each channel
    op.require_axes(0, 2);
    const Size& channels = op[0].dims[1];
    if (!channels.is_constant() || groups < 1 || channels.constant() % groups != 0)
      op.refuse("it has scales by group, as opset 18 defined them, and its channels are not known to be a multiple");
    scale = fmt::format("repeat({}, {})", scale, channels.constant() / groups);
    bias = fmt::format("repeat({}, {})", bias, channels.constant() / groups);
  }
  const std::string layer = fmt::format("nn.GroupNorm(w = {}, b = {})", scale, bias);
  if (instance)
    return void(op.define(0, fmt::format("nn.instance_norm({}, {}, eps = {})", op.text(0), layer, eps), op[0].dtype,
                          op[0].dims));
  op.define(0, fmt::format("nn.group_norm({}, {}, {}, eps = {})", op.text(0), layer, groups, eps), op[0].dtype,
            op[0].dims);
}

void lrn(Op& op, const Row&) {
  op.in.use_module("nn");
  op.define(0,
            fmt::format("nn.lrn({}, {}, alpha = {}, beta = {}, bias = {})", op.text(0), op.integer("size", 1),
                        real_text(op, "alpha", 1e-4), real_text(op, "beta", 0.75), real_text(op, "bias", 1.0)),
            op[0].dtype, op[0].dims);
}

} // namespace

Dims windowed_dims(Op& op, const std::vector<Size>& size, bool ceil) {
  const Windows w = windows_of(op, size);
  Dims dims;
  for (size_t i = 0; i < w.rank(); ++i)
    dims.push_back(pooled(op, w, i, ceil));
  return dims;
}

std::vector<Row> neural_rows() {
  return {
      {"AveragePool", 7, "", average_pool},
      {"BatchNormalization", 7, "", batch_norm},
      {"Conv", 1, "", convolution<false>},
      {"ConvTranspose", 1, "", convolution<true>},
      {"GlobalAveragePool", 1, "mean", global_pool},
      {"GlobalMaxPool", 1, "max", global_pool},
      {"GroupNormalization", 18, "", group_norm},
      {"InstanceNormalization", 6, "", group_norm},
      {"LRN", 1, "", lrn},
      {"LayerNormalization", 17, "", layer_norm},
      {"MaxPool", 1, "", max_pool},
  };
}

} // namespace tl::onnx
