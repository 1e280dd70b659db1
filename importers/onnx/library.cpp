// Operators that are functions of the standard library's module onnx, which have the same inputs and attributes.
#include "importers/onnx/operators.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::onnx {
namespace {

// A call of a function: its inputs by place, and then attributes by name.
class Call {
public:
  // Of `offsets`, what is known to be zero is left out.
  Call(Op& op, std::string_view function, size_t most = SIZE_MAX, const std::vector<size_t>& offsets = {})
      : op_(op), text_(fmt::format("onnx.{}(", function)) {
    op.in.use_module("onnx");
    auto has = [&](size_t i) {
      return op.has(i) && !(std::count(offsets.begin(), offsets.end(), i) && is_zero(op[i]));
    };
    size_t count = std::min(op.inputs(), most);
    while (count > 0 && !has(count - 1))
      --count;
    for (size_t i = 0; i < count; ++i)
      add(has(i) ? op.text(i) : "none");
  }
  Call& add(const std::string& text) {
    text_ += (is_first_ ? "" : ", ") + text;
    is_first_ = false;
    return *this;
  }
  Call& named(std::string_view name, const std::string& text) { return add(fmt::format("{} = {}", name, text)); }
  // Where the node has it and it is not what the function takes without.
  Call& integer(std::string_view name, int64_t missing) {
    const int64_t value = op_.integer(name, missing);
    return value == missing ? *this : named(name, std::to_string(value));
  }
  Call& real(std::string_view name, double missing) {
    return op_.attribute(name) ? named(name, op_.in.number_text(DType::F32, Number::of_real(op_.real(name, missing))))
                               : *this;
  }
  Call& string(std::string_view name, const std::string& missing) {
    const std::string value = op_.string(name, missing);
    for (char c : value)
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_')
        op_.refuse(fmt::format("its {} is `{}`", name, value));
    return value == missing ? *this : named(name, fmt::format("\"{}\"", value));
  }
  Call& integers(std::string_view name) {
    auto values = op_.integers(name);
    return values ? named(name, tuple(*values)) : *this;
  }
  static std::string tuple(const std::vector<int64_t>& values) {
    return fmt::format("({}{})", fmt::join(values, ", "), values.size() == 1 ? "," : "");
  }
  std::string text() const { return text_ + ")"; }

private:
  bool is_zero(Value& value) {
    const HostTensor* tensor = op_.in.elements(value);
    return tensor && std::all_of(tensor->data(), tensor->data() + tensor->byte_count(),
                                 [](std::byte byte) { return byte == std::byte{0}; });
  }

  Op& op_;
  std::string text_;
  bool is_first_ = true;
};

// The size of an axis is that of an axis of input `as`.
void retype_axis(Op& op, size_t i, size_t axis, size_t as, size_t its_axis) {
  if (!op.has(i) || axis >= op.rank(i) || its_axis >= op.rank(as)) return;
  Dims dims = op[i].dims;
  dims[axis] = op[as].dims[its_axis];
  op.retype(i, dims);
}

DType type_of_attribute(Op& op, const char* name, DType missing) {
  const int64_t given = op.integer(name, 0);
  if (given == 0) return missing;
  const auto dtype = dtype_of(static_cast<int32_t>(given));
  if (!dtype)
    op.refuse(fmt::format("its elements are {}, which tl does not have", data_type_name(static_cast<int32_t>(given))));
  return *dtype;
}

// ---- recurrent layers

std::string activation(Op& op, std::string name, size_t& alphas, size_t& betas) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  auto next = [&](const char* attribute, size_t& at, double missing) {
    const Attribute* given = op.attribute(attribute);
    const double value = given && at < given->reals.size() ? static_cast<double>(given->reals[at]) : missing;
    ++at;
    return op.in.number_text(DType::F32, Number::of_real(value));
  };
  auto with = [&](const char* module) { op.in.use_module(module); };
  if (name == "sigmoid" || name == "tanh" || name == "relu" || name == "softplus") return name;
  with("nn");
  if (name == "softsign") return "nn.softsign";
  if (name == "elu") return fmt::format("|x| nn.elu(x, alpha = {})", next("activation_alpha", alphas, 1));
  if (name == "leakyrelu")
    return fmt::format("|x| nn.leaky_relu(x, alpha = {})", next("activation_alpha", alphas, 0.01));
  if (name == "thresholdedrelu")
    return fmt::format("|x| nn.thresholded_relu(x, alpha = {})", next("activation_alpha", alphas, 1));
  const std::string alpha = next("activation_alpha", alphas, name == "hardsigmoid" ? 0.2 : 1),
                    beta = next("activation_beta", betas,
                                name == "hardsigmoid"  ? 0.5
                                : name == "scaledtanh" ? 1
                                                       : 0);
  if (name == "hardsigmoid") return fmt::format("|x| nn.hard_sigmoid(x, alpha = {}, beta = {})", alpha, beta);
  if (name == "affine") return fmt::format("|x| onnx.affine(x, {}, {})", alpha, beta);
  if (name == "scaledtanh") return fmt::format("|x| onnx.scaled_tanh(x, {}, {})", alpha, beta);
  op.refuse(fmt::format("there is no activation {}", name));
}

void recurrent(Op& op, const Row& row) {
  const bool is_lstm = row.name == "LSTM";
  const size_t batch_axis = op.integer("layout", 0) != 0 ? 0 : 1;
  op.require_axes(0, 3);
  retype_axis(op, 4, 0, 0, batch_axis); // lengths
  for (size_t i = 5; i < 7; ++i)        // states
    retype_axis(op, i, batch_axis, 0, batch_axis);
  Call call(op, row.form);
  const std::string direction = op.string("direction", "forward");
  call.string("direction", "forward").integer("layout", 0);
  const size_t directions = direction == "bidirectional" ? 2 : 1, each = is_lstm ? 3 : row.name == "GRU" ? 2 : 1;
  if (const Attribute* given = op.attribute("activations"); given && !given->texts.empty()) {
    if (given->texts.size() != directions * each) op.refuse("its activations are not as many as its gates");
    size_t alphas = 0, betas = 0;
    for (size_t d = 0; d < directions; ++d) {
      std::vector<std::string> functions;
      for (size_t i = 0; i < each; ++i)
        functions.push_back(activation(op, given->texts[d * each + i], alphas, betas));
      call.named(d == 0 ? "activations" : "activations_back", fmt::format("({},)", fmt::join(functions, ", ")));
    }
  }
  if (op.attribute("clip")) call.real("clip", 0);
  if (is_lstm) call.integer("input_forget", 0);
  if (row.name == "GRU") call.integer("linear_before_reset", 0);
  const Dims &x = op[0].dims, &r = op[2].dims;
  if (x.size() != 3 || r.size() != 3) op.refuse("its operands do not have three axes");
  const bool batch_first = op.integer("layout", 0) != 0;
  const auto dirs = Size(static_cast<int64_t>(directions));
  const Dims y = batch_first ? Dims{x[0], x[1], dirs, r[2]} : Dims{x[0], dirs, x[1], r[2]};
  const Dims state = batch_first ? Dims{x[0], dirs, r[2]} : Dims{dirs, x[1], r[2]};
  std::vector<Op::Result> results = {{op[0].dtype, y}, {op[0].dtype, state}};
  if (is_lstm) results.push_back({op[0].dtype, state});
  op.define_all(call.text(), results);
}

// ---- quantization

// Scales and zero points along an axis.
void retype_steps(Op& op) {
  if (op.integer("block_size", 0) != 0 || op.rank(0) == 0) return;
  const auto axis = static_cast<size_t>(op.axis(op.integer("axis", 1), std::max<size_t>(op.rank(0), 2)));
  if (axis >= op.rank(0)) return;
  for (size_t i = 1; i < 3; ++i)
    if (op.has(i) && op.rank(i) == 1 && !op[i].dims[0].is(1)) retype_axis(op, i, 0, 0, axis);
}

void quantize(Op& op, const Row&) {
  retype_steps(op);
  DType dtype = op.has(2) ? op[2].dtype : type_of_attribute(op, "output_dtype", DType::U8);
  Call call(op, "quantize_linear");
  call.integer("axis", 1).integer("block_size", 0);
  if (!op.has(2)) call.named("output_dtype", std::string(name_of(dtype)));
  if (const int64_t p = op.integer("precision", 0); p != 0)
    call.named("precision", std::string(name_of(type_of_attribute(op, "precision", DType::F32))));
  op.define(0, call.text(), dtype, op[0].dims);
}

void dequantize(Op& op, const Row&) {
  retype_steps(op);
  const DType dtype = type_of_attribute(op, "output_dtype", op[1].dtype);
  Call call(op, "dequantize_linear");
  call.integer("axis", 1).integer("block_size", 0);
  if (op.integer("output_dtype", 0) != 0) call.named("output_dtype", std::string(name_of(dtype)));
  op.define(0, call.text(), dtype, op[0].dims);
}

void dynamic_quantize(Op& op, const Row&) {
  op.define_all(Call(op, "dynamic_quantize_linear").text(),
                {{DType::U8, op[0].dims}, {op[0].dtype, Dims{}}, {DType::U8, Dims{}}});
}

// Where the zero points of both factors are.
std::vector<size_t> zero_points(bool quantized) {
  return quantized ? std::vector<size_t>{2, 5} : std::vector<size_t>{2, 3};
}

void integer_matmul(Op& op, const Row& row) {
  const bool quantized = row.name == "QLinearMatMul";
  const Dims dims = product_dims(op, 0, quantized ? 3 : 1);
  op.define(0, Call(op, row.form, SIZE_MAX, zero_points(quantized)).text(), quantized ? op[7].dtype : DType::I32, dims);
}

// Strides, paddings, dilations and groups as nn has them.
void window_options(Op& op, Call& call, size_t rank, const std::vector<Size>& size) {
  auto each = [&](const char* name, const char* ours) {
    if (auto given = op.integers(name)) {
      if (given->size() != rank) op.refuse(fmt::format("its {} are not as many as its axes", name));
      call.named(ours, rank == 1 ? std::to_string((*given)[0]) : Call::tuple(*given));
    }
  };
  each("strides", "stride");
  const std::string automatic = op.string("auto_pad", "NOTSET");
  const std::vector<int64_t> ones(rank, 1), strides = op.integers("strides", ones),
                                            dilations = op.integers("dilations", ones);
  std::vector<std::string> ends;
  for (size_t i = 0; i < rank; ++i) {
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER")
      ends.push_back(fmt::format("onnx.same_ends({}, {}, {}, {}, \"{}\")", op.in.size_text(op[0].dims[i + 2]),
                                 op.in.size_text(size[i]), strides[i], dilations[i], automatic));
    else if (auto pads = op.integers("pads"); pads && automatic == "NOTSET" && pads->size() == 2 * rank)
      ends.push_back(fmt::format("({}, {})", (*pads)[i], (*pads)[rank + i]));
  }
  if (!ends.empty()) call.named("padding", rank == 1 ? ends[0] : fmt::format("({})", fmt::join(ends, ", ")));
  each("dilations", "dilation");
  if (const int64_t groups = op.integer("group", 1); groups != 1) call.named("groups", std::to_string(groups));
}

void integer_conv(Op& op, const Row& row) {
  const bool quantized = row.name == "QLinearConv";
  const size_t filters = quantized ? 3 : 1, rank = op.rank(0) < 3 ? 0 : op.rank(0) - 2;
  if (rank == 0 || rank > 3 || op.rank(filters) != rank + 2)
    op.refuse("it has other than one to three axes of windows");
  Call call(op, row.form, SIZE_MAX, zero_points(quantized));
  const std::vector<Size> size(op[filters].dims.begin() + 2, op[filters].dims.end());
  window_options(op, call, rank, size);
  Dims dims = {op[0].dims[0], op[filters].dims[0]};
  for (const Size& d : windowed_dims(op, size))
    dims.push_back(d);
  op.define(0, call.text(), quantized ? op[7].dtype : DType::I32, dims);
}

void lp_pool(Op& op, const Row&) {
  const std::vector<int64_t> size = op.integers("kernel_shape", std::vector<int64_t>());
  if (size.empty() || size.size() > 3 || op.rank(0) != size.size() + 2)
    op.refuse("it has other than one to three axes of windows");
  Call call(op, "lp_pool");
  call.add(size.size() == 1 ? std::to_string(size[0]) : Call::tuple(size));
  window_options(op, call, size.size(), {size.begin(), size.end()});
  const bool ceil = op.integer("ceil_mode", 0) != 0;
  if (ceil) call.named("ceil", "true");
  call.integer("p", 2);
  Dims dims = {op[0].dims[0], op[0].dims[1]};
  for (const Size& d : windowed_dims(op, {size.begin(), size.end()}, ceil))
    dims.push_back(d);
  op.define(0, call.text(), op[0].dtype, dims);
}

void max_unpool(Op& op, const Row&) {
  const std::vector<int64_t> size = op.integers("kernel_shape", std::vector<int64_t>());
  if (size.empty() || size.size() > 3 || op.rank(0) != size.size() + 2)
    op.refuse("it has other than one to three axes of windows");
  Call call(op, "max_unpool", 2);
  call.add(size.size() == 1 ? std::to_string(size[0]) : Call::tuple(size));
  window_options(op, call, size.size(), {size.begin(), size.end()});
  if (op.has(2)) call.named("output_shape", op.text(2));
  op.define(0, call.text(), op[0].dtype, unknown_dims(op.rank(0)));
}

// ---- resizing

Size scaled(Op& op, const Size& n, double scale) {
  if (n.is_constant()) return Size(static_cast<int64_t>(static_cast<float>(n.constant()) * static_cast<float>(scale)));
  for (int64_t bottom = 1; bottom <= 64; ++bottom) {
    const double top = scale * static_cast<double>(bottom);
    if (top == static_cast<double>(static_cast<int64_t>(top)))
      return op.in.sizes().floor_div(n * Size(static_cast<int64_t>(top)), bottom);
  }
  return unknown_size();
}

void resize(Op& op, const Row& row) {
  const bool is_old = row.name == "Upsample" || op.version < 11;
  const size_t rank = op.rank(0), scales_at = is_old ? 1 : 2;
  std::vector<int64_t> axes(rank);
  for (size_t i = 0; i < rank; ++i)
    axes[i] = static_cast<int64_t>(i);
  if (auto given = op.integers("axes"))
    for (axes = *given; int64_t& a : axes)
      a = op.axis(a, rank);
  std::vector<double> scales;
  if (row.name == "Upsample" && op.version < 9) {
    if (const Attribute* a = op.attribute("scales")) scales.assign(a->reals.begin(), a->reals.end());
  } else if (const Contents* known = op.contents(scales_at); known && known->is_constant()) {
    for (const Number& item : known->items)
      scales.push_back(item.value());
  }
  const bool by_sizes = !is_old && op.has(3);
  std::vector<Size> sizes;
  if (by_sizes) sizes = op.integers_of(3);
  const std::string policy = op.string("keep_aspect_ratio_policy", "stretch");
  const std::string roi =
      op.string("coordinate_transformation_mode", "") == "tf_crop_and_resize" && op.has(1) ? op.text(1) : "";
  Dims dims = op[0].dims;
  std::vector<int64_t> changed;
  std::vector<std::string> by, to;
  for (size_t i = 0; i < axes.size(); ++i) {
    Size& d = dims[static_cast<size_t>(axes[i])];
    const bool has_scale = i < scales.size();
    if (by_sizes && i < sizes.size()) {
      if (sizes[i] == d && roi.empty() && policy == "stretch") continue;
      to.push_back(op.in.size_text(sizes[i]));
      d = policy == "stretch" ? sizes[i] : unknown_size();
    } else if (has_scale) {
      if (scales[i] == 1 && roi.empty()) continue;
      by.push_back(op.in.number_text(DType::F32, Number::of_real(scales[i])));
      d = scaled(op, d, scales[i]);
    }
    changed.push_back(axes[i]);
  }
  const bool at_run = !by_sizes && scales.empty();
  if (!at_run && changed.empty()) return op.alias(0, op.value(0));
  Call call(op, "resize", 1);
  if (!roi.empty()) call.named("roi", roi);
  auto tuple = [](const std::vector<std::string>& texts) {
    return fmt::format("({}{})", fmt::join(texts, ", "), texts.size() == 1 ? "," : "");
  };
  if (at_run) {
    call.named("scales", op.text(scales_at));
    if (op.attribute("axes")) call.named("axes", Call::tuple(axes));
    dims = unknown_dims(rank);
  } else {
    call.named(by_sizes ? "sizes" : "scales", tuple(by_sizes ? to : by)).named("axes", Call::tuple(changed));
  }
  const std::string mode = op.string("mode", "nearest");
  if (mode != "nearest")
    call.named("mode", mode.starts_with("linear") || mode == "bilinear" ? "\"linear\"" : "\"cubic\"");
  if (is_old) {
    call.named("coordinate_transformation_mode", "\"asymmetric\"");
    if (mode == "nearest") call.named("nearest_mode", "\"floor\"");
  } else {
    call.string("coordinate_transformation_mode", "half_pixel")
        .string("nearest_mode", "round_prefer_floor")
        .real("cubic_coeff_a", -0.75);
    call.integer("exclude_outside", 0)
        .real("extrapolation_value", 0)
        .integer("antialias", 0)
        .string("keep_aspect_ratio_policy", "stretch");
  }
  op.define(0, call.text(), op[0].dtype, dims);
}

// ---- moving elements

void gather_nd(Op& op, const Row&) {
  const int64_t batch = op.integer("batch_dims", 0);
  const Dims& indices = op[1].dims;
  if (indices.empty() || !indices.back().is_constant())
    op.refuse("how long its rows of indices are is known only when it runs");
  const int64_t last = indices.back().constant();
  Dims dims(indices.begin(), indices.end() - 1);
  for (size_t i = 0; i < static_cast<size_t>(std::max<int64_t>(batch, 0)); ++i)
    retype_axis(op, 1, i, 0, i);
  for (size_t i = static_cast<size_t>(batch + last); i < op.rank(0); ++i)
    dims.push_back(op[0].dims[i]);
  op.define(0, Call(op, "gather_nd").integer("batch_dims", 0).text(), op[0].dtype, dims);
}

void scatter(Op& op, const Row& row) {
  Call call(op, row.form);
  if (row.form == "scatter_elements") call.integer("axis", 0);
  call.string("reduction", "none");
  op.define(0, call.text(), op[0].dtype, op[0].dims);
}

void space(Op& op, const Row& row) {
  const bool to_space = row.name == "DepthToSpace";
  const int64_t b = op.integer("blocksize", 0);
  const Dims& x = op[0].dims;
  if (x.size() != 4 || b < 1) op.refuse("it has no blocks of images");
  Call call(op, row.form);
  call.add(std::to_string(b));
  call.string("mode", "DCR");
  SizeAtoms& sizes = op.in.sizes();
  auto over = [&](const Size& n) { return divide_exactly(n, b) ? *divide_exactly(n, b) : sizes.floor_div(n, b); };
  const Dims dims = to_space ? Dims{x[0], over(over(x[1])), x[2] * Size(b), x[3] * Size(b)}
                             : Dims{x[0], x[1] * Size(b * b), over(x[2]), over(x[3])};
  op.define(0, call.text(), op[0].dtype, dims);
}

void reverse_sequence(Op& op, const Row&) {
  op.define(0, Call(op, "reverse_sequence").integer("batch_axis", 1).integer("time_axis", 0).text(), op[0].dtype,
            op[0].dims);
}

void compress(Op& op, const Row&) {
  Call call(op, "compress");
  const bool along = op.attribute("axis") != nullptr;
  if (along) call.named("axis", std::to_string(op.axis(op.integer("axis", 0), op.rank(0))));
  op.define(0, call.text(), op[0].dtype, unknown_dims(along ? op.rank(0) : 1));
}

void one_hot(Op& op, const Row&) {
  const size_t rank = op.rank(0) + 1;
  const Size depth = op.integer_of(1);
  Dims dims = op[0].dims;
  const int64_t axis = op.axis(op.integer("axis", -1), rank);
  dims.insert(dims.begin() + axis, depth);
  Call call(op, "one_hot", 1);
  call.add(op.in.size_text(depth)).add(op.text(2)).integer("axis", -1);
  op.define(0, call.text(), op[2].dtype, dims);
}

void unique(Op& op, const Row&) {
  Call call(op, "unique");
  const bool along = op.attribute("axis") != nullptr;
  if (along) call.named("axis", std::to_string(op.axis(op.integer("axis", 0), op.rank(0))));
  call.integer("sorted", 1);
  op.define_all(call.text(), {{op[0].dtype, unknown_dims(along ? op.rank(0) : 1)},
                              {DType::I64, unknown_dims(1)},
                              {DType::I64, unknown_dims(1)},
                              {DType::I64, unknown_dims(1)}});
}

void crop(Op& op, const Row&) {
  const std::vector<Size> wanted = op.integers_of(1);
  std::vector<std::string> sizes;
  for (const Size& s : wanted)
    sizes.push_back(op.in.size_text(s));
  Call call(op, "center_crop_pad", 1);
  call.add(fmt::format("({},)", fmt::join(sizes, ", "))).integers("axes");
  op.define(0, call.text(), op[0].dtype, unknown_dims(op.rank(0)));
}

// ---- with the sizes of their first operand

void alike(Op& op, const Row& row) {
  if (row.name == "RotaryEmbedding" && op.has(3)) {
    retype_axis(op, 3, 0, 0, 0);
    retype_axis(op, 3, 1, 0, op.rank(0) == 4 ? 2 : 1);
  }
  if (row.name == "TensorScatter") {
    const auto axis = static_cast<size_t>(op.axis(op.integer("axis", -2), op.rank(0)));
    for (size_t i = 0; i < op.rank(0); ++i)
      if (i != axis) retype_axis(op, 1, i, 0, i);
    retype_axis(op, 2, 0, 0, 0);
  }
  Call call(op, row.form);
  if (row.name == "LpNormalization") call.integer("axis", -1).integer("p", 2);
  if (row.name == "MeanVarianceNormalization") call.integers("axes");
  if (row.name == "RMSNormalization") call.integer("axis", -1).real("epsilon", 1e-5);
  if (row.name == "RotaryEmbedding")
    call.integer("interleaved", 0).integer("num_heads", 0).integer("rotary_embedding_dim", 0);
  if (row.name == "TensorScatter") call.integer("axis", -2).string("mode", "linear");
  op.define(0, call.text(), op[0].dtype, op[0].dims);
}

// ---- images, regions, signals

void of_rank(Op& op, const Row& row) {
  Call call(op, row.form);
  size_t rank = op.rank(0);
  if (row.name == "GridSample") {
    const std::string mode = op.string("mode", "linear");
    if (mode != "linear" && mode != "bilinear")
      call.named("mode", mode == "bicubic" || mode == "cubic" ? "\"cubic\"" : "\"nearest\"");
    call.string("padding_mode", "zeros").integer("align_corners", 0);
  }
  if (row.name == "RoiAlign") {
    call.string("mode", "avg");
    if (op.version >= 16)
      call.string("coordinate_transformation_mode", "half_pixel");
    else
      call.named("coordinate_transformation_mode", "\"output_half_pixel\"");
    call.integer("output_height", 1).integer("output_width", 1).integer("sampling_ratio", 0).real("spatial_scale", 1);
    rank = 4;
  }
  if (row.name == "MaxRoiPool")
    call.add(Call::tuple(op.integers("pooled_shape", std::vector<int64_t>()))).real("spatial_scale", 1);
  if (row.name == "GlobalLpPool") call.integer("p", 2);
  op.define(0, call.text(), op[0].dtype, unknown_dims(rank));
}

void col2im(Op& op, const Row&) {
  auto tuple = [&](size_t input) {
    std::vector<std::string> texts;
    for (const Size& size : op.integers_of(input))
      texts.push_back(op.in.size_text(size));
    return fmt::format("({},)", fmt::join(texts, ", "));
  };
  if (!op.constants_of(2)) op.refuse("its block_shape is known only when it runs");
  const std::string image = tuple(1), block = tuple(2);
  const size_t rank = op.integers_of(2).size() + 2;
  Call call(op, "col2im", 1);
  call.add(image).add(block).integers("dilations").integers("pads").integers("strides");
  op.define(0, call.text(), op[0].dtype, unknown_dims(rank));
}

void affine_grid(Op& op, const Row&) {
  std::vector<std::string> sizes;
  for (const Size& s : op.integers_of(1))
    sizes.push_back(op.in.size_text(s));
  Call call(op, "affine_grid", 1);
  call.add(fmt::format("({},)", fmt::join(sizes, ", "))).integer("align_corners", 0);
  op.define(0, call.text(), op[0].dtype, unknown_dims(sizes.size()));
}

void suppression(Op& op, const Row&) {
  op.define(0, Call(op, "non_max_suppression").integer("center_point_box", 0).text(), DType::I64, {unknown_size(), 3});
}

void window(Op& op, const Row& row) {
  const DType dtype = type_of_attribute(op, "output_datatype", DType::F32);
  Call call(op, row.form, 0);
  const Size size = op.integer_of(0);
  call.add(op.in.size_text(size)).integer("periodic", 1);
  if (dtype != DType::F32) call.named("output_datatype", std::string(name_of(dtype)));
  op.define(0, call.text(), dtype, Dims{size});
}

void mel(Op& op, const Row&) {
  const DType dtype = type_of_attribute(op, "output_datatype", DType::F32);
  Call call(op, "mel_weight_matrix");
  if (dtype != DType::F32) call.named("output_datatype", std::string(name_of(dtype)));
  op.define(0, call.text(), dtype, unknown_dims(2));
}

void dft(Op& op, const Row&) {
  Call call(op, "dft", 2);
  int64_t axis = op.version >= 20 ? -2 : op.integer("axis", 1);
  if (op.version >= 20 && op.has(2)) {
    auto given = op.constants_of(2);
    if (!given || given->size() != 1) op.refuse("its axis is known only when it runs");
    axis = (*given)[0];
  }
  call.named("axis", std::to_string(axis)).integer("inverse", 0).integer("onesided", 0);
  op.define(0, call.text(), op[0].dtype, unknown_dims(op.rank(0)));
}

void stft(Op& op, const Row&) {
  op.define(0, Call(op, "stft").integer("onesided", 1).text(), op[0].dtype, unknown_dims(4));
}

void loss(Op& op, const Row& row) {
  for (size_t i = 0; i < op.rank(1); ++i)
    retype_axis(op, 1, i, 0, i == 0 ? 0 : i + 1);
  retype_axis(op, 2, 0, 0, 1);
  Call call(op, row.form);
  if (op.attribute("ignore_index")) call.named("ignore_index", std::to_string(op.integer("ignore_index", 0)));
  const std::string reduction = op.string("reduction", "mean");
  call.string("reduction", "mean");
  const size_t rank = reduction == "none" ? op.rank(1) : 0;
  if (row.name == "NegativeLogLikelihoodLoss") return void(op.define(0, call.text(), op[0].dtype, unknown_dims(rank)));
  op.define_all(call.text(), {{op[0].dtype, unknown_dims(rank)}, {op[0].dtype, op[0].dims}});
}

// A mask has the batches, heads, rows and keys of the scores, as far as it has them and does not stretch.
void retype_mask(Op& op, size_t along) {
  const Size keys = op.has(4) ? op[4].dims[2] + op[1].dims[along] : op[1].dims[along];
  const Size heads = op.rank(0) == 4 ? op[0].dims[1] : Size(op.integer("q_num_heads", 0));
  const Size scores[] = {op[0].dims[0], heads, op[0].dims[along], keys};
  Dims dims = op[3].dims;
  if (dims.size() > 4) op.refuse("its mask has more than four axes");
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t axis = i + 4 - dims.size();
    const bool is_short = axis == 3 && op.has(6);
    if (!dims[i].is(1) && !is_short) dims[i] = scores[axis];
  }
  op.retype(3, dims);
}

void attention(Op& op, const Row&) {
  const size_t along = op.rank(1) == 4 ? 2 : 1;
  retype_axis(op, 1, 0, 0, 0);
  retype_axis(op, 2, 0, 0, 0);
  retype_axis(op, 2, along, 1, along);
  retype_axis(op, 4, 0, 0, 0);
  retype_axis(op, 5, 0, 0, 0);
  retype_axis(op, 5, 2, 4, 2);
  if (op.has(3)) retype_mask(op, along);
  Call call(op, "attention");
  call.integer("is_causal", 0).integer("kv_num_heads", 0).integer("q_num_heads", 0).integer("qk_matmul_output_mode", 0);
  call.integer("left_window_size", -1).integer("right_window_size", -1);
  call.real("scale", 0);
  if (op.real("softcap", 0) != 0) call.real("softcap", 0);
  if (op.integer("softmax_precision", 0) != 0)
    call.named("softmax_precision", std::string(name_of(type_of_attribute(op, "softmax_precision", DType::F32))));
  const DType dtype = op[0].dtype;
  const Dims &q = op[0].dims, &k = op[1].dims, &v = op[2].dims;
  Dims y(q);
  if (q.size() == 4)
    y[3] = v.size() == 4 ? v[3] : unknown_size();
  else if (q != v)
    y.back() = unknown_size();
  Dims keys = k.size() == 4 ? k : unknown_dims(4), values = v.size() == 4 ? v : unknown_dims(4);
  if (op.has(4)) keys[2] = values[2] = unknown_size();
  op.define_all(call.text(), {{dtype, y}, {dtype, keys}, {dtype, values}, {dtype, unknown_dims(4)}});
}

void flex_attention(Op& op, const Row&) {
  for (size_t i = 0; i < 3; ++i)
    if (op.rank(i) != 4) op.refuse("its operands do not have four axes");
  const Dims &q = op[0].dims, &k = op[1].dims;
  const DType dtype = op[0].dtype;
  const DType precise = type_of_attribute(op, "softmax_precision", dtype == DType::F64 ? DType::F64 : DType::F32);
  if (!is_float(precise)) op.refuse("its softmax_precision is no type of floats");
  // A graph may change the scores, and another one what they weigh.
  auto changed = [&](const char* attribute, const std::string& wish, const std::string& text) {
    Value type;
    type.dtype = precise;
    type.dims = {q[0], q[1], q[2], k[2]};
    const std::string name = op.in.fresh_name(wish);
    op.in.write(fmt::format("let {} = {}", name, text));
    ValuePtr value = typed_value(op.in, type, name);
    if (const Attribute* a = op.attribute(attribute); a && a->graph) {
      const std::vector<ValuePtr> results = op.in.inlined(*a->graph, {value});
      if (results.size() != 1 || results[0]->sequence || results[0]->is_none || results[0]->rank() != 4 ||
          results[0]->dtype != precise)
        op.refuse(fmt::format("its {} does not give a tensor like its input", attribute));
      value = results[0];
    }
    return op.in.typed_text(*value);
  };
  Call call(op, "flex_scores", 2);
  call.real("scale", 0);
  const std::string scores = changed("score_mod", "scores", fmt::format("{}({})", name_of(precise), call.text()));
  const std::string weights = changed("prob_mod", "weights", fmt::format("softmax({})", scores));
  op.define(0, fmt::format("onnx.flex_product({}, {})", weights, op.text(2)), dtype, {q[0], q[1], q[2], op[2].dims[3]});
}

void array_features(Op& op, const Row&) {
  op.require_axes(0, 1);
  Dims dims = op[0].dims;
  Size count = 1;
  for (const Size& d : op[1].dims)
    count = count * d;
  dims.back() = count;
  if (dims.size() == 1) dims.insert(dims.begin(), 1);
  op.define(0, Call(op, "array_features").text(), op[0].dtype, dims);
}

void linear_attention(Op& op, const Row&) {
  op.require_axes(0, 3);
  Call call(op, "linear_attention");
  call.integer("kv_num_heads", 1).integer("q_num_heads", 1).string("update_rule", "gated_delta");
  if (op.real("scale", 0) != 0) call.real("scale", 0);
  const DType state = op.has(3) ? op[3].dtype : op[0].dtype;
  op.define_all(call.text(), {{op[0].dtype, {op[0].dims[0], op[0].dims[1], unknown_size()}}, {state, unknown_dims(4)}});
}

void causal_conv(Op& op, const Row&) {
  op.require_axes(0, 3);
  op.require_axes(1, 3);
  const Dims& x = op[0].dims;
  op.define_all(Call(op, "causal_conv_with_state").string("activation", "none").text(),
                {{op[0].dtype, x}, {op[0].dtype, {x[0], x[1], op[1].dims[2] - Size(1)}}});
}

void deformable(Op& op, const Row&) {
  op.require_axes(0, 4);
  op.require_axes(1, 4);
  Call call(op, "deform_conv");
  window_options(op, call, 2, {op[1].dims.begin() + 2, op[1].dims.end()});
  call.integer("offset_group", 1);
  op.define(0, call.text(), op[0].dtype, unknown_dims(op.rank(0)));
}

} // namespace

std::vector<Row> library_rows() {
  return {
      {"AffineGrid", 20, "", affine_grid},
      {"ArrayFeatureExtractor", 1, "", array_features, "ai.onnx.ml"},
      {"Attention", 23, "", attention},
      {"BlackmanWindow", 17, "blackman_window", window},
      {"CausalConvWithState", 27, "", causal_conv},
      {"CenterCropPad", 18, "", crop},
      {"Col2Im", 18, "", col2im},
      {"Compress", 9, "", compress},
      {"ConvInteger", 10, "conv_integer", integer_conv},
      {"DFT", 17, "", dft},
      {"DeformConv", 19, "", deformable},
      {"DepthToSpace", 1, "depth_to_space", space},
      {"DequantizeLinear", 10, "", dequantize},
      {"DynamicQuantizeLinear", 11, "", dynamic_quantize},
      {"FlexAttention", 1, "", flex_attention, "ai.onnx.preview"},
      {"GRU", 7, "gru", recurrent},
      {"GatherND", 11, "", gather_nd},
      {"GlobalLpPool", 2, "global_lp_pool", of_rank},
      {"GridSample", 16, "grid_sample", of_rank},
      {"HammingWindow", 17, "hamming_window", window},
      {"HannWindow", 17, "hann_window", window},
      {"LSTM", 7, "lstm", recurrent},
      {"LinearAttention", 27, "", linear_attention},
      {"LpNormalization", 1, "lp_normalization", alike},
      {"LpPool", 2, "", lp_pool},
      {"MatMulInteger", 10, "matmul_integer", integer_matmul},
      {"MaxRoiPool", 1, "max_roi_pool", of_rank},
      {"MaxUnpool", 9, "", max_unpool},
      {"MeanVarianceNormalization", 9, "mean_variance_normalization", alike},
      {"MelWeightMatrix", 17, "", mel},
      {"NegativeLogLikelihoodLoss", 12, "negative_log_likelihood_loss", loss},
      {"NonMaxSuppression", 10, "", suppression},
      {"OneHot", 9, "", one_hot},
      {"QLinearConv", 10, "qlinear_conv", integer_conv},
      {"QLinearMatMul", 10, "qlinear_matmul", integer_matmul},
      {"QuantizeLinear", 10, "", quantize},
      {"RMSNormalization", 23, "rms_normalization", alike},
      {"RNN", 7, "rnn", recurrent},
      {"Resize", 10, "", resize},
      {"ReverseSequence", 10, "", reverse_sequence},
      {"RoiAlign", 10, "roi_align", of_rank},
      {"RotaryEmbedding", 23, "rotary_embedding", alike},
      {"STFT", 17, "", stft},
      {"Scatter", 9, "scatter_elements", scatter},
      {"ScatterElements", 11, "scatter_elements", scatter},
      {"ScatterND", 11, "scatter_nd", scatter},
      {"SoftmaxCrossEntropyLoss", 12, "softmax_cross_entropy_loss", loss},
      {"SpaceToDepth", 1, "space_to_depth", space},
      {"TensorScatter", 24, "tensor_scatter", alike},
      {"Unique", 11, "", unique},
      {"Upsample", 7, "", resize},
  };
}

} // namespace tl::onnx
