// What the rows of the table see of a node.
#include "importers/onnx/importer.h"
#include "importers/onnx/operators.h"
#include "vm/io/io.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::onnx {

ValuePtr Op::any_value(size_t i) {
  if (!has(i)) refuse(fmt::format("its input {} is left out", i));
  ValuePtr found = in.find(node.inputs[i]);
  if (!found) refuse(fmt::format("its input `{}` is missing", node.inputs[i]));
  return found;
}

void Op::retype(size_t i, const Dims& dims) {
  if (!has(i) || rank(i) != dims.size()) return;
  Value type;
  type.dims = value(i)->dims;
  bool differs = false;
  for (size_t k = 0; k < dims.size(); ++k) {
    if (type.dims[k].is_constant() && dims[k].is_constant()) continue; // the function says what is wrong with them
    in.require_equal(type.dims[k], dims[k]);
    if (type.dims[k].is_constant() || type.dims[k] == dims[k]) continue;
    type.dims[k] = dims[k];
    differs = true;
  }
  if (differs) set_reshaped(i, type.dims);
}

void Op::set_reshaped(size_t i, const Dims& dims) {
  Value type;
  type.dims = dims;
  type.name = node.inputs[i];
  type.dtype = value(i)->dtype;
  const std::string name = in.fresh_name(type.name);
  in.write(fmt::format("let {} = reshape({}, {})", name, text(i), in.dims_text(dims)));
  in.scope().values[type.name] = typed_value(in, type, name);
}

Dims Op::broadcast() {
  Dims dims;
  for (size_t i = 0; i < inputs(); ++i)
    dims = in.broadcast(dims, value(i)->dims);
  for (size_t i = 0; i < inputs(); ++i) {
    Value type;
    type.dims = value(i)->dims;
    if (!value(i)->is_unseen) continue;
    const size_t before = dims.size() - type.dims.size();
    bool differs = false;
    for (size_t k = 0; k < type.dims.size(); ++k) {
      Size& d = type.dims[k];
      if (d.is_constant() || d == dims[before + k]) continue;
      if (!in.sizes().proves_not_negative(Size(1) - d, in.facts())) continue;
      d = 1;
      differs = true;
    }
    if (differs) set_reshaped(i, type.dims);
  }
  return dims;
}

ValuePtr Op::value(size_t i) {
  ValuePtr found = any_value(i);
  if (found->sequence || found->is_none)
    refuse(fmt::format("its input `{}` is {}", node.inputs[i], found->is_none ? "not there" : "a sequence"));
  return found;
}

std::string Op::operand(size_t i, size_t rank) {
  Value& input = *value(i);
  const Contents* known = in.contents(input);
  if (!known || known->items.size() != 1 || !known->is_constant() || input.rank() == 0 || input.rank() > rank)
    return in.text(input);
  return in.text(*in.constant(input.dtype, {{}, known->items}));
}

std::vector<Size> Op::integers_of(size_t i, std::optional<size_t> number) {
  Value& input = *value(i);
  std::vector<Size> result;
  if (const Contents* known = in.contents(input)) {
    for (const Number& item : known->items) {
      if (!item.is_integer()) refuse(fmt::format("its input {} has to be integers", i));
      result.push_back(item.top);
    }
    return result;
  }
  if (number && input.rank() == 1) in.require_equal(input.dims[0], static_cast<int64_t>(*number));
  if (input.rank() > 1 || (input.rank() == 1 && !number && !input.dims[0].is_constant()))
    refuse(fmt::format("how many elements its input {} has is known only when it runs", i));
  const std::string text = in.text(input);
  const int64_t count = input.rank() == 0 ? 1 : number ? static_cast<int64_t>(*number) : input.dims[0].constant();
  if (count > kLargestContents)
    refuse(fmt::format("its input {} has {} elements, which are too many to be known one by one", i, count));
  for (int64_t k = 0; k < count; ++k) {
    std::string element = input.rank() == 0 ? text : fmt::format("{}[{}]", text, k);
    if (input.dtype != DType::I64) element = fmt::format("i64({})", element);
    std::string name = in.fresh_name(fmt::format("{}_{}", input.name, k));
    in.write(fmt::format("let {} = {}", name, element));
    in.note_size(name);
    result.push_back(Size::of(in.sizes().add({AtomKind::Value, name, {}, false, {}, {}})));
  }
  return result;
}

Size Op::integer_of(size_t i) {
  const std::vector<Size> all = integers_of(i);
  if (all.size() != 1) refuse(fmt::format("its input {} has to be one integer", i));
  return all[0];
}

void Op::require_axes(size_t i, size_t least) {
  if (rank(i) < least) refuse(fmt::format("its input {} has {} axes, and needs {}", i, rank(i), least));
}

std::optional<std::vector<int64_t>> Op::constants_of(size_t i) {
  const Contents* known = contents(i);
  if (!known) return std::nullopt;
  std::vector<int64_t> result;
  for (const Number& item : known->items) {
    std::optional<int64_t> value = item.integer();
    if (!value) return std::nullopt;
    result.push_back(*value);
  }
  return result;
}

// ---- attributes -----------------------------------------------------------------------------------------------------

const Attribute* Op::attribute(std::string_view name) const {
  for (const Attribute& attribute : node.attributes)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

int64_t Op::integer(std::string_view name, int64_t missing) const {
  const Attribute* found = attribute(name);
  if (found && !found->integer && found->type != 2 && found->type != 0)
    refuse(fmt::format("its attribute {} is no integer", name));
  return found ? found->integer.value_or(0) : missing; // a zero may be left out of a file
}

double Op::real(std::string_view name, double missing) const {
  const Attribute* found = attribute(name);
  if (found && !found->real && found->type != 1 && found->type != 0)
    refuse(fmt::format("its attribute {} is no float", name));
  return found ? static_cast<double>(found->real.value_or(0)) : missing;
}

std::string Op::string(std::string_view name, const std::string& missing) const {
  const Attribute* found = attribute(name);
  return found ? found->text.value_or("") : missing;
}

std::optional<std::vector<int64_t>> Op::integers(std::string_view name) const {
  const Attribute* found = attribute(name);
  if (!found) return std::nullopt;
  return found->integers;
}

std::vector<int64_t> Op::integers(std::string_view name, const std::vector<int64_t>& missing) const {
  auto found = integers(name);
  return found ? *found : missing;
}

std::optional<std::vector<int64_t>> Op::integers(std::string_view name, size_t input) {
  if (auto given = integers(name)) return given;
  if (!has(input)) return std::nullopt;
  auto known = constants_of(input);
  if (!known) refuse(fmt::format("its {} are known only when it runs", name));
  return known;
}

int64_t Op::axis(int64_t axis, size_t rank) const {
  const auto count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count) refuse(fmt::format("there is no axis {} of {}", axis, count));
  return axis < 0 ? axis + count : axis;
}

// ---- outputs --------------------------------------------------------------------------------------------------------

bool Op::wants(size_t output) const {
  if (output >= node.outputs.size() || node.outputs[output].empty()) return false;
  for (const Scope* scope = &in.scope(); scope; scope = scope->outer)
    if (auto uses = scope->uses.find(node.outputs[output]); uses != scope->uses.end()) return uses->second > 0;
  return false;
}

static ValuePtr new_value(Importer& in, const std::string& name, std::string text, DType dtype, const Dims& dims,
                          bool is_unseen) {
  auto value = std::make_shared<Value>();
  value->name = name;
  value->dims = in.looked_up(text, dims);
  value->text = std::move(text);
  value->dtype = dtype;
  value->is_unseen = is_unseen;
  in.note_type(value->text, dtype, value->dims);
  return value;
}

namespace {

// The checker does not see the sizes that these functions give, and has to where one element stretches.
bool hides_sizes(const std::string& expression) {
  constexpr std::string_view kUnseen[] = {"onnx.", "nn.conv", "nn.max_pool", "nn.avg_pool"};
  return std::any_of(std::begin(kUnseen), std::end(kUnseen),
                     [&](std::string_view s) { return expression.starts_with(s); });
}

std::string stated_type(Importer& in, const std::string& expression, DType dtype, const Dims& dims) {
  if (std::none_of(dims.begin(), dims.end(), [](const Size& d) { return d.is(1); }) || !hides_sizes(expression))
    return "";
  return in.type_text(dtype, dims);
}

} // namespace

bool Op::is_unseen(const std::string& expression) const {
  if (hides_sizes(expression)) return true;
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& name) {
    const ValuePtr value = name.empty() ? nullptr : in.find(name);
    return value && value->is_unseen;
  });
}

std::string Op::define(size_t output, const std::string& expression, DType dtype, const Dims& dims) {
  if (output >= node.outputs.size()) refuse(fmt::format("it has no output {}", output));
  const std::string& given = node.outputs[output];
  std::string name = in.fresh_name(given.empty() ? node.op : given);
  const std::string type = stated_type(in, expression, dtype, dims);
  in.write(fmt::format("let {}{}{} = {}", name, type.empty() ? "" : ": ", type, expression));
  if (!given.empty()) in.scope().values[given] = new_value(in, given, name, dtype, dims, is_unseen(expression));
  return name;
}

void Op::define_all(const std::string& expression, const std::vector<Result>& results) {
  std::string names, types;
  bool states_types = false;
  for (size_t i = 0; i < results.size(); ++i) {
    const auto& [dtype, dims] = results[i];
    const std::string name = wants(i) ? in.fresh_name(node.outputs[i]) : "_";
    names += (i ? ", " : "") + name;
    types += (i ? ", " : "") + in.type_text(dtype, dims);
    states_types |= wants(i) && !stated_type(in, expression, dtype, dims).empty();
    if (wants(i))
      in.scope().values[node.outputs[i]] = new_value(in, node.outputs[i], name, dtype, dims, is_unseen(expression));
  }
  in.write(fmt::format("let ({}){} = {}", names, states_types ? fmt::format(": ({})", types) : "", expression));
}

void Op::know(size_t output, DType dtype, Contents contents) {
  ValuePtr value = in.constant(dtype, std::move(contents));
  value->name = node.outputs.at(output);
  in.scope().values[value->name] = value;
}

void Op::alias(size_t output, ValuePtr value) {
  if (output < node.outputs.size() && !node.outputs[output].empty())
    in.scope().values[node.outputs[output]] = std::move(value);
}

// ---- forms ----------------------------------------------------------------------------------------------------------

std::string filled(Op& op, std::string_view form) {
  std::string text;
  for (size_t i = 0; i < form.size(); ++i) {
    if (form[i] != '{') {
      text += form[i];
      continue;
    }
    const size_t end = form.find('}', i);
    const std::string_view hole = form.substr(i + 1, end - i - 1);
    i = end;
    if (hole.size() == 1 && hole[0] >= '0' && hole[0] <= '9') {
      const auto input = static_cast<size_t>(hole[0] - '0');
      text += op.inputs() == 2 ? op.operand(input, op.rank(1 - input)) : op.text(input);
      continue;
    }
    const size_t colon = hole.find(':');
    const std::string_view name = hole.substr(0, colon);
    std::string missing(hole.substr(colon + 1));
    const Attribute* given = op.attribute(name);
    if (!given)
      text += missing;
    else if (missing.find_first_of(".e") != std::string::npos)
      text += format_scalar(DType::F32, Scalar::of(static_cast<float>(op.real(name, 0))));
    else
      text += std::to_string(op.integer(name, 0));
  }
  return text;
}

// ---- the table ------------------------------------------------------------------------------------------------------

const Row* find_row(const Node& node) {
  static const auto rows = [] {
    std::map<std::pair<std::string_view, std::string_view>, Row> all;
    for (auto part : {elementwise_rows, shape_rows, place_rows, reduction_rows, neural_rows, control_rows, loop_rows,
                      sequence_rows, library_rows})
      for (const Row& row : part())
        all.emplace(std::pair(row.domain, row.name), row);
    return all;
  }();
  auto found = rows.find({node.domain, node.op});
  return found == rows.end() ? nullptr : &found->second;
}

} // namespace tl::onnx
