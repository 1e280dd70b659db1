// What is known of values, and what is computed when importing.
#include "importers/onnx/importer.h"
#include "importers/onnx/operators.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace tl::onnx {
namespace {

constexpr int64_t kLeastShared = 1 << 16; // bytes of a weight: smaller ones may be alike by chance, as zeros are
constexpr int64_t kLargestFile = int64_t{1} << 50;
constexpr size_t kMostPending = 48; // values that one program computes: its sizes are checked together

} // namespace

int64_t byte_count(DType dtype, const Dims& dims) {
  int64_t bytes = size_of(dtype);
  for (const Size& d : dims)
    if (!d.is_constant() || d.constant() < 0 || __builtin_mul_overflow(bytes, d.constant(), &bytes)) return INT64_MAX;
  return bytes;
}

void Importer::note_type(const std::string& name, DType dtype, const Dims& dims) {
  std::string text;
  for (const Size& d : dims) {
    const std::string size =
        d.is_constant() || (d.as_atom() && sizes_.is_leaf(*d.as_atom())) ? sizes_.to_string(d) : "_";
    const bool is_plain = std::all_of(size.begin(), size.end(), is_word);
    text += fmt::format("{}{}", text.empty() ? "" : ", ", is_plain ? size : "_");
  }
  types_[name] = fmt::format("{}{}", name_of(dtype), dims.empty() ? "" : "[" + text + "]");
}

Dims Importer::looked_up(const std::string& name, Dims dims) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i].is_too_large())
      dims[i] = Size::of(sizes_.add({AtomKind::Fresh, fmt::format("{}.shape[{}]", name, i), {}, true, {}, {}}));
  return dims;
}

// Of sizes that --dim fixes; only names that are words, as they stand in a text of the program.
std::string Importer::stretching_hint(const Size& a, const Size& b) const {
  std::vector<std::string> names;
  for (const Size* size : {&a, &b})
    for (const auto& [name, named] : named_sizes_)
      if (named == *size && name == sizes_.to_string(named) && std::all_of(name.begin(), name.end(), is_word))
        names.push_back(name);
  if (names.size() != 2) return "";
  return fmt::format(", \"{0} = {{{0}}}, {1} = {{{1}}}: --dim {0}=1 or --dim {1}=1 when importing makes it stretch\"",
                     names[0], names[1]);
}

void Importer::require_equal(const Size& a, const Size& b, bool may_stretch) {
  const Compare comparison = sizes_.compare(a, b, facts_);
  if (comparison == Compare::Equal) return;
  if (comparison == Compare::Different)
    throw Refused(fmt::format("sizes differ: {} and {}", sizes_.to_string(a), sizes_.to_string(b)));
  std::string left = size_text(a), right = size_text(b);
  write(fmt::format("assert {} == {}{}", left, right, may_stretch ? stretching_hint(a, b) : ""));
  if (block_ != &main_ && block_ != &constants_) return; // it holds in there alone
  auto learn = [&](const Size& leaf, const Size& other) {
    const std::optional<AtomId> atom = leaf.as_atom();
    if (!atom || !sizes_.is_leaf(*atom)) return false;
    const Size value = sizes_.under(other, facts_);
    std::vector<AtomId> inside;
    sizes_.collect(value, inside);
    if (std::find(inside.begin(), inside.end(), *atom) != inside.end()) return false; // it would grow with each use
    facts_.equal.emplace_back(*atom, value);
    return true;
  };
  if (!learn(a, b)) learn(b, a);
}

Dims Importer::broadcast(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims result = longer;
  for (size_t i = 0; i < shorter.size(); ++i) {
    Size& at = result[longer.size() - shorter.size() + i];
    if (shorter[i].is(1) || at == shorter[i]) continue;
    if (at.is(1)) {
      at = shorter[i];
      continue;
    }
    // What has at most one element is taken to stretch, unless it is as long as the other axis in any case.
    auto is_one_at_most = [&](const Size& n) {
      return !n.is_constant() && sizes_.proves_not_negative(Size(1) - n, facts_);
    };
    const bool stretches = is_one_at_most(at), other = is_one_at_most(shorter[i]);
    if (stretches != other && sizes_.compare(at, shorter[i], facts_) != Compare::Equal) {
      require_equal(stretches ? at : shorter[i], 1);
      if (stretches) at = shorter[i];
      continue;
    }
    require_equal(at, shorter[i], true);
    if (shorter[i].is_constant()) at = shorter[i];
  }
  return result;
}

ValuePtr Importer::constant(DType dtype, Contents contents) {
  auto value = std::make_shared<Value>();
  value->dtype = dtype;
  for (int64_t d : contents.dims)
    value->dims.emplace_back(d);
  value->is_constant = contents.is_constant();
  value->contents = std::make_shared<Contents>(std::move(contents));
  return value;
}

ValuePtr Importer::find(const std::string& name) const { return scope_->find(name); }

const HostTensor* Importer::elements(Value& value) {
  if (value.constant) return value.constant.get();
  if (!value.is_constant) return nullptr;
  if (value.data) {
    value.constant = std::make_shared<HostTensor>(load_tensor_data(model_, *value.data));
  } else if (value.contents) {
    HostTensor tensor = HostTensor::make(value.dtype, value.contents->dims);
    for (size_t i = 0; i < value.contents->items.size(); ++i)
      tensor.set(static_cast<int64_t>(i), value.contents->items[i].scalar(value.dtype));
    value.constant = std::make_shared<HostTensor>(std::move(tensor));
  } else {
    compute_constants();
  }
  return value.constant.get();
}

const Contents* Importer::contents(Value& value) {
  if (value.contents) return value.contents.get();
  if (!value.is_constant) return nullptr;
  int64_t count = 1;
  for (const Size& d : value.dims) {
    if (!d.is_constant() || d.constant() > kLargestContents) return nullptr;
    count *= d.constant();
    if (count > kLargestContents) return nullptr;
  }
  const HostTensor* tensor = elements(value);
  if (!tensor) return nullptr;
  auto contents = std::make_shared<Contents>();
  contents->dims = tensor->dims;
  for (int64_t i = 0; i < tensor->count(); ++i) {
    if (is_float(value.dtype)) {
      contents->items.push_back(Number::of_real(convert_scalar(value.dtype, DType::F64, tensor->get(i)).as<double>()));
      continue;
    }
    const auto integer = convert_scalar(value.dtype, DType::I64, tensor->get(i)).as<int64_t>();
    if (value.dtype == DType::U64 && integer < 0) return nullptr;
    contents->items.push_back(Number::of(integer));
  }
  value.contents = std::move(contents);
  return value.contents.get();
}

std::string Importer::constant_text(Value& value) {
  Block* const before = block_;
  block_ = &constants_;
  std::string result = text(value);
  block_ = before;
  return result;
}

ValuePtr Importer::folded(std::string_view wish, const std::string& expression, DType dtype, Dims dims) {
  ValuePtr& value = folded_[expression];
  if (value) return value;
  value = std::make_shared<Value>();
  value->name = std::string(wish);
  value->dtype = dtype;
  value->dims = std::move(dims);
  value->is_constant = true;
  value->text = fresh_name(wish, constant_names_);
  constants_.lines.push_back(fmt::format("let {} = {}", value->text, expression));
  pending_.push_back(value);
  return value;
}

// Runs what is written of constants so far.
void Importer::compute_constants() {
  if (pending_.empty()) return;
  if (!options_.evaluate) throw ModelError("constants of the model have to be computed, and nothing here can");
  std::string parameters, results, text;
  std::vector<HostTensor> values;
  // A parameter each: each field of a struct would be checked as often as it has fields.
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (!weights_[i].in_constants) continue;
    const HostTensor* tensor = elements(*weights_[i].value);
    parameters += fmt::format("{}: {}{}, ", weights_[i].constant_name, name_of(tensor->dtype),
                              tensor->dims.empty() ? "" : dims_text(weights_[i].value->dims));
    values.push_back(*tensor);
  }
  for (const ValuePtr& value : pending_)
    results += value->text + ", ";
  for (const std::string& module : constants_.modules)
    text += fmt::format("import {}\n", module);
  text += fmt::format("fn main({}) {{\n", parameters);
  for (const std::string& line : constants_.lines)
    text += line + "\n";
  text += fmt::format("({})\n}}\n", results);
  std::vector<HostTensor> computed;
  try {
    computed = options_.evaluate(text, values);
  } catch (const std::runtime_error& error) {
    throw ModelError(fmt::format("computing its constants: {}", error.what()));
  }
  if (computed.size() != pending_.size()) throw ModelError("computing its constants gave another number of values");
  for (size_t i = 0; i < pending_.size(); ++i) {
    pending_[i]->constant = std::make_shared<HostTensor>(std::move(computed[i]));
    pending_[i]->text.clear();
  }
  pending_.clear();
  constants_.lines.clear();
  constants_.sizes.clear();
  for (Weight& weight : weights_)
    weight.in_constants = false;
}

// ---- constants ------------------------------------------------------------------------------------------------------

std::string Importer::weight(Value& value) {
  auto [at, is_new] = weight_of_.emplace(&value, weights_.size());
  if (is_new) {
    if ((value.data || value.constant) && byte_count(value.dtype, value.dims) >= kLeastShared) { // is it another, too?
      const HostTensor& own = *elements(value);
      const std::string_view bytes(reinterpret_cast<const char*>(own.data()), static_cast<size_t>(own.byte_count()));
      const uint64_t key = std::hash<std::string_view>()(bytes);
      for (auto [same, end] = weights_by_content_.equal_range(key); same != end; ++same) {
        const HostTensor& other = *weights_[same->second].value->constant;
        if (own.dtype == other.dtype && own.dims == other.dims &&
            std::memcmp(own.data(), other.data(), bytes.size()) == 0)
          at->second = same->second;
      }
      if (at->second == weights_.size()) weights_by_content_.emplace(key, at->second);
    }
    if (at->second == weights_.size()) weights_.push_back({"", value.shared_from_this(), "", false});
  }
  Weight& weight = weights_[at->second];
  if (block_->is_constant) {
    weight.in_constants = true;
    if (weight.constant_name.empty()) weight.constant_name = fresh_name(weight.value->name, constant_names_);
    return weight.constant_name;
  }
  if (weight.name.empty()) weight.name = fresh_name(weight.value->name, names_);
  return "w." + weight.name;
}

// A node whose inputs are constants is computed when importing, unless that makes much of little.
bool Importer::fold_node(const Node& node, const Row& row, int64_t version) {
  if (node.inputs.empty() || block_->is_constant) return false;
  if (pending_.size() >= kMostPending) compute_constants();
  int64_t given = 0, made = 0;
  for (const std::string& name : node.inputs) {
    if (name.empty()) continue;
    const ValuePtr value = find(name);
    if (!value->is_constant) return false;
    given += std::min(byte_count(value->dtype, value->dims), kLargestFile);
    contents(*value); // what has to be computed for that is, before the row writes anything
  }
  for (const Attribute& attribute : node.attributes)
    if (attribute.graph) return false;
  Block* const before = block_;
  const size_t lines = constants_.lines.size(), weights = weights_.size();
  block_ = &constants_;
  bool good = true;
  std::vector<ValuePtr> results;
  try {
    Op op(*this, node, version);
    row.write(op, row);
    for (const std::string& name : node.outputs) {
      if (name.empty()) continue;
      auto found = scope_->values.find(name);
      if (found == scope_->values.end()) continue; // an output that nothing reads
      if (found->second->sequence || found->second->is_none) throw Refused("it is no tensor");
      results.push_back(found->second);
      for (const Size& d : found->second->dims)
        good &= d.is_constant();
      if (good) made += std::min(byte_count(found->second->dtype, found->second->dims), kLargestFile);
    }
  } catch (const Refused&) {
    good = false;
  }
  block_ = before;
  if (good && made <= std::max(kSmallFile, 2 * given)) {
    const std::string line = constants_.lines.size() == lines + 1 && results.size() == 1 ? constants_.lines.back() : "";
    if (const size_t equals = line.find(" = "); equals != std::string::npos && !results[0]->is_constant) {
      auto [same, is_new] = folded_.emplace(line.substr(equals + 3), results[0]);
      if (!is_new) { // computed before
        constants_.lines.pop_back();
        scope_->values[results[0]->name] = same->second;
        return true;
      }
    }
    for (const ValuePtr& result : results)
      if (!result->is_constant) {
        result->is_constant = true;
        pending_.push_back(result);
      }
    return true;
  }
  constants_.lines.resize(std::min(lines, constants_.lines.size()));
  constants_.sizes.clear();
  for (size_t i = weights; i < weights_.size(); ++i)
    weights_[i].in_constants = false;
  for (const std::string& name : node.outputs)
    scope_->values.erase(name);
  return false;
}

} // namespace tl::onnx
