#include "importers/onnx/importer.h"
#include "importers/onnx/operators.h"
#include "lang/source.h"
#include "parser/format/format.h"
#include "vm/io/io.h"
#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace tl::onnx {
namespace {

constexpr size_t kLongSize = 28;        // a longer size gets a name
constexpr int64_t kLargestLiteral = 16; // more floats than these are weights
constexpr int64_t kLargestIndexLiteral = 64;
constexpr size_t kDeepestCall = 16;
constexpr size_t kMostNodes = 200'000; // with the functions of the model written out

constexpr std::string_view kKeywords[] = {
    "let",   "var",    "const",    "fn",     "struct", "import",  "as",      "if",      "else", "for",    "in",
    "while", "break",  "continue", "return", "true",   "false",   "and",     "or",      "not",  "assert", "test",
    "on",    "export", "new",      "none",   "pi",     "e",       "inf",     "nan",     "bool", "u8",     "i8",
    "u16",   "i16",    "u32",      "i32",    "u64",    "i64",     "f16",     "bf16",    "f32",  "f64",    "str",
    "key",   "device", "List",     "T",      "main",   "forward", "weights", "Weights", "w"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The last parts of a path, as few as two.
std::string_view last_parts(std::string_view name, size_t parts) {
  size_t at = name.size();
  while (parts-- > 0) {
    const size_t slash = at == 0 ? std::string_view::npos : name.rfind('/', at - 1);
    if (slash == std::string_view::npos) return name;
    at = slash;
  }
  return name.substr(at + 1);
}

// What a person would call it: "/encoder/layer.0/Add_output_0" is encoder_layer_0_add.
std::string identifier(std::string_view name) {
  if (name.ends_with("_output_0")) name.remove_suffix(9);
  if (name.ends_with(":0")) name.remove_suffix(2);
  std::string result;
  for (char c : name) {
    if (is_word(c))
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!result.empty() && result.back() != '_')
      result += '_';
  }
  while (!result.empty() && result.back() == '_')
    result.pop_back();
  const size_t first = result.find_first_not_of('_');
  result = first == std::string::npos ? "" : result.substr(first);
  constexpr size_t kLongest = 60;
  if (result.size() > kLongest) result = result.substr(result.find('_', result.size() - kLongest) + 1);
  if (result.empty()) return "v";
  if (std::isdigit(static_cast<unsigned char>(result[0]))) result.insert(0, "v");
  return result;
}

// Does it bind as tightly as a name, so that it may stand as an operand?
bool is_tight(std::string_view text) {
  const size_t sign = text.starts_with('-') ? 1 : 0;
  if (text.size() > sign && std::isdigit(static_cast<unsigned char>(text[sign])) &&
      text.find_first_not_of("0123456789.e-+_") == std::string::npos)
    return text.find_first_of("+-", sign) == std::string::npos || text.find('e') != std::string::npos;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[')
      ++depth;
    else if (c == ')' || c == ']')
      --depth;
    else if (depth == 0 && !is_word(c) && c != '.')
      return false;
  }
  return true;
}

std::string one_line(std::string_view text) {
  std::string result;
  for (char c : text)
    result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  while (!result.empty() && result.back() == ' ')
    result.pop_back();
  return result;
}

} // namespace

Importer::Importer(const Model& model, const ImportOptions& options)
    : model_(model), options_(options), opsets_(&model.opsets) {
  for (std::string_view word : kKeywords)
    names_.insert(std::string(word));
  names_.insert(options.reserved.begin(), options.reserved.end());
  constants_.is_constant = true;
}

// ---- names and texts ------------------------------------------------------------------------------------------------

std::string Importer::fresh_name(std::string_view wish) {
  for (size_t parts = 2; parts < 5; ++parts)
    if (std::string name = identifier(last_parts(wish, parts)); names_.insert(name).second) return name;
  std::string name = identifier(last_parts(wish, 2));
  for (int& next = suffixes_[name];;)
    if (std::string other = fmt::format("{}_{}", name, ++next); names_.insert(other).second) return other;
}

std::string Importer::number_text(DType dtype, const Number& number) {
  if (!number.is_constant()) {
    if (number.is_integer()) {
      std::string size = size_text(number.top);
      if (dtype == DType::I64) return size;
      if (dtype == DType::Bool) return fmt::format("{} != 0", size);
      return fmt::format("{}({})", name_of(dtype), size);
    }
    return fmt::format("{0}({1}) / {0}({2})", name_of(dtype), size_text(number.top), size_text(number.bottom));
  }
  if (dtype == DType::Bool) return number.value() != 0 ? "true" : "false";
  if (!is_float(dtype))
    return number.is_real ? fmt::format("{}", static_cast<int64_t>(number.real))
                          : fmt::format("{}", number.top.constant());
  const double value = number.value();
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (dtype == DType::F32) return format_scalar(DType::F32, Scalar::of(static_cast<float>(value)));
  return format_scalar(DType::F64, Scalar::of(value));
}

std::string Importer::literal(DType dtype, const Contents& contents) {
  if (contents.items.empty()) {
    std::string dims;
    for (int64_t d : contents.dims)
      dims += fmt::format("{}{}", dims.empty() ? "" : ", ", d);
    return fmt::format("zeros([{}], {})", dims, name_of(dtype));
  }
  size_t next = 0;
  auto nested = [&](auto& self, size_t axis) -> std::string {
    if (axis == contents.dims.size()) return number_text(dtype, contents.items[next++]);
    std::string text;
    for (int64_t i = 0; i < contents.dims[axis]; ++i)
      text += (i ? ", " : "") + self(self, axis + 1);
    return "[" + text + "]";
  };
  std::string text = nested(nested, 0);
  const bool has_own_type =
      std::any_of(contents.items.begin(), contents.items.end(), [](const Number& n) { return !n.is_constant(); });
  if (dtype == DType::Bool || dtype == DType::I64) return text;
  if (dtype == DType::F32 && !has_own_type) return text;
  if (has_own_type) return text; // each element says its type
  return fmt::format("{}({})", name_of(dtype), text);
}

std::string Importer::text(Value& value) {
  if (!value.text.empty() && !value.is_constant) return is_tight(value.text) ? value.text : "(" + value.text + ")";
  const bool pending = value.is_constant && !value.text.empty() && !value.constant;
  if (pending && block_->is_constant) return value.text; // a variable there
  const Contents* known = pending ? nullptr : contents(value);
  const bool inlined = known && (!known->is_constant() || known->dims.empty() ||
                                 static_cast<int64_t>(known->items.size()) <=
                                     (is_float(value.dtype) ? kLargestLiteral : kLargestIndexLiteral));
  if (inlined) {
    std::string result = literal(value.dtype, *known);
    return is_tight(result) ? result : "(" + result + ")";
  }
  if (value.is_constant) return weight(value);
  throw Refused(fmt::format("the value of `{}` is not known", value.name));
}

std::string Importer::weight(Value& value) {
  auto [at, is_new] = weight_of_.emplace(&value, weights_.size());
  if (is_new) weights_.push_back({fresh_name(value.name), value.shared_from_this()});
  Weight& weight = weights_[at->second];
  (block_->is_constant ? weight.in_constants : weight.in_main) = true;
  return "w." + weight.name;
}

std::string Importer::size_text(const Size& size) {
  if (size.is_too_large()) throw Refused("a size is too large for an integer of 64 bits");
  auto named = block_->sizes.find(size);
  if (named != block_->sizes.end()) return named->second;
  // What is divided or compared inside gets a name first, so that texts stay short.
  std::map<AtomId, Size> by;
  for (const Size::Term& term : size.terms)
    for (AtomId id : term.atoms) {
      const SizeAtom atom = sizes_[id];
      if (sizes_.is_leaf(id) || size.as_atom() == id) continue;
      if (const std::string inner = sizes_.to_string(Size::of(id));
          inner.size() <= kLongSize / 2 && inner.find("…") == std::string::npos)
        continue;
      const Size alone = Size::of(id);
      std::string name = size_text(alone);
      if (is_tight(name)) by[id] = Size::of(sizes_.add({AtomKind::Value, name, {}, false, {}, {}}));
    }
  std::string text = by.empty() ? sizes_.to_string(size) : sizes_.to_string(sizes_.substitute(size, by));
  if (text.size() <= kLongSize && text.find("…") == std::string::npos) return text;
  if (size.as_atom() && !sizes_.is_leaf(*size.as_atom())) { // one division: name what is inside
    const SizeAtom atom = sizes_[*size.as_atom()];
    const std::string a = size_text(atom.a), b = size_text(atom.b);
    auto tight = [](const std::string& t) { return is_tight(t) ? t : "(" + t + ")"; };
    if (atom.kind == AtomKind::FloorDiv) text = fmt::format("{} // {}", tight(a), tight(b));
    if (atom.kind == AtomKind::Positive) text = fmt::format("max({}, 0)", a);
  }
  if (text.find("…") != std::string::npos) throw Refused("a size is too intricate");
  std::string name = fresh_name("size");
  write(fmt::format("let {} = {}", name, text));
  block_->sizes[size] = name;
  return name;
}

std::string Importer::dims_text(const Dims& dims) {
  std::string text;
  for (const Size& size : dims)
    text += (text.empty() ? "" : ", ") + size_text(size);
  return "[" + text + "]";
}

// ---- values ---------------------------------------------------------------------------------------------------------

Dims Importer::fresh_dims(const std::string& name, size_t rank) {
  Dims dims;
  for (size_t i = 0; i < rank; ++i)
    dims.push_back(Size::of(sizes_.add({AtomKind::Fresh, fmt::format("{}.shape[{}]", name, i), {}, true, {}, {}})));
  return dims;
}

void Importer::require_equal(const Size& a, const Size& b) {
  const Compare comparison = sizes_.compare(a, b, facts_);
  if (comparison == Compare::Equal) return;
  if (comparison == Compare::Different)
    throw Refused(fmt::format("sizes differ: {} and {}", sizes_.to_string(a), sizes_.to_string(b)));
  std::string left = size_text(a), right = size_text(b);
  write(fmt::format("assert {} == {}", left, right));
  if (block_ != &main_ && block_ != &constants_) return; // it holds in there alone
  if (auto atom = a.as_atom(); atom && sizes_.is_leaf(*atom))
    facts_.equal.emplace_back(*atom, b);
  else if (auto other = b.as_atom(); other && sizes_.is_leaf(*other))
    facts_.equal.emplace_back(*other, a);
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
    require_equal(at, shorter[i]);
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
    std::vector<int64_t> dims = value.contents->dims;
    HostTensor tensor = HostTensor::make(value.dtype, dims);
    for (size_t i = 0; i < value.contents->items.size(); ++i) {
      const Number& item = value.contents->items[i];
      const auto at = static_cast<int64_t>(i);
      if (value.dtype == DType::F32)
        tensor.set(at, Scalar::of(static_cast<float>(item.value())));
      else if (value.dtype == DType::F64)
        tensor.set(at, Scalar::of(item.value()));
      else if (is_float(value.dtype))
        return nullptr;
      else
        tensor.set(at, Scalar::of(item.is_real ? static_cast<int64_t>(item.real) : item.top.constant()));
    }
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
  if (value.dtype == DType::F16 || value.dtype == DType::BF16) return nullptr;
  const HostTensor* tensor = elements(value);
  if (!tensor) return nullptr;
  auto contents = std::make_shared<Contents>();
  contents->dims = tensor->dims;
  for (int64_t i = 0; i < tensor->count(); ++i) {
    const Scalar s = tensor->get(i);
    switch (tensor->dtype) {
    case DType::F32: contents->items.push_back(Number::of_real(s.as<float>())); break;
    case DType::F64: contents->items.push_back(Number::of_real(s.as<double>())); break;
    case DType::I8: contents->items.push_back(Number::of(s.as<int8_t>())); break;
    case DType::I16: contents->items.push_back(Number::of(s.as<int16_t>())); break;
    case DType::I32: contents->items.push_back(Number::of(s.as<int32_t>())); break;
    default:
      if (s.as<int64_t>() < 0 && tensor->dtype == DType::U64) return nullptr;
      contents->items.push_back(Number::of(s.as<int64_t>()));
    }
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
  auto value = std::make_shared<Value>();
  value->name = std::string(wish);
  value->dtype = dtype;
  value->dims = std::move(dims);
  value->is_constant = true;
  value->text = fresh_name(wish);
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
  for (Weight& weight : weights_) {
    if (!weight.in_constants) continue;
    const HostTensor* tensor = elements(*weight.value);
    parameters += fmt::format("{}: {}{}, ", weight.name, name_of(tensor->dtype), dims_text(weight.value->dims));
    values.push_back(*tensor);
  }
  for (const ValuePtr& value : pending_)
    results += value->text + ", ";
  for (std::string_view module : modules_)
    text += fmt::format("import {}\n", module);
  text += fmt::format("struct Weights {{ {} }}\nfn main(w: Weights) {{\n", parameters);
  if (parameters.empty()) text = text.substr(0, text.find("struct")) + "fn main() {\n";
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

// ---- graphs ---------------------------------------------------------------------------------------------------------

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
      value->dtype = DType::F32;
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

// Names that nodes of a graph read, those of graphs inside them too.
static void each_read(const Graph& graph, const std::function<void(const std::string&, const Node*)>& visit) {
  for (const Node& node : graph.nodes) {
    for (const std::string& name : node.inputs)
      visit(name, &node);
    for (const Attribute& attribute : node.attributes)
      if (attribute.graph)
        each_read(*attribute.graph, [&](const std::string& name, const Node*) { visit(name, &node); });
  }
  for (const ValueInfo& output : graph.outputs)
    visit(output.name, nullptr);
}

void Importer::count_uses(const Graph& graph, Scope& scope) {
  // Only nodes count that something is made of.
  std::set<std::string> wanted;
  for (const ValueInfo& output : graph.outputs) {
    wanted.insert(output.name);
    ++scope.uses[output.name];
  }
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool needed = std::any_of(node->outputs.begin(), node->outputs.end(),
                                    [&](const std::string& name) { return wanted.contains(name); });
    if (!needed) {
      done_.insert(&*node);
      continue;
    }
    auto read = [&](const std::string& name) {
      if (name.empty()) return;
      wanted.insert(name);
      ++scope.uses[name];
      scope.readers[name] = &*node;
    };
    for (const std::string& name : node->inputs)
      read(name);
    for (const Attribute& attribute : node->attributes)
      if (attribute.graph) each_read(*attribute.graph, [&](const std::string& name, const Node*) { read(name); });
  }
}

void Importer::add_nodes(const std::vector<Node>& nodes) {
  for (const Node& node : nodes)
    if (!done_.contains(&node)) add_node(node);
}

bool Importer::fold_node(const Node& node, const Row& row, int64_t version) {
  if (row.is_random || node.inputs.empty() || block_->is_constant) return false;
  for (const std::string& name : node.inputs)
    if (ValuePtr value = name.empty() ? nullptr : find(name); !name.empty() && (!value || !value->is_constant))
      return false;
  for (const Attribute& attribute : node.attributes)
    if (attribute.graph) return false;
  for (const std::string& name : node.inputs)
    if (!name.empty()) contents(*find(name)); // what has to be computed for that is, before the row writes anything
  Block* const before = block_;
  const size_t lines = constants_.lines.size(), weights = weights_.size(), pending = pending_.size();
  block_ = &constants_;
  bool good = true;
  try {
    Op op(*this, node, version);
    row.write(op, row);
    for (const std::string& name : node.outputs) {
      if (name.empty()) continue;
      auto found = scope_->values.find(name);
      good &= found != scope_->values.end() && found->second &&
              std::all_of(found->second->dims.begin(), found->second->dims.end(),
                          [](const Size& d) { return d.is_constant(); });
    }
  } catch (const Refused&) {
    good = false;
  }
  block_ = before;
  if (good) {
    for (const std::string& name : node.outputs)
      if (auto found = scope_->values.find(name); found != scope_->values.end() && !found->second->is_constant) {
        found->second->is_constant = true;
        pending_.push_back(found->second);
      }
    return true;
  }
  if (pending_.size() < pending) return false; // computed meanwhile
  constants_.lines.resize(lines);
  constants_.sizes.clear();
  for (size_t i = weights; i < weights_.size(); ++i)
    weights_[i].in_constants = false;
  for (const std::string& name : node.outputs)
    scope_->values.erase(name);
  return false;
}

void Importer::add_node(const Node& node) {
  if (++nodes_ > kMostNodes)
    throw ModelError(fmt::format("its functions, written out, have more than {} nodes", kMostNodes));
  auto refuse = [&](const std::string& reason) {
    refusals_.push_back({node.name, node.op, node.domain, reason, opset(node.domain)});
    for (const std::string& name : node.outputs)
      if (!name.empty()) scope_->values[name] = nullptr; // what depends on it is not its own fault
  };
  for (const Function& function : model_.functions)
    if (function.name == node.op && function.domain == node.domain && function.overload == node.overload) {
      try {
        return add_call(node, function);
      } catch (const Refused& reason) {
        return refuse(reason.what());
      }
    }
  const Row* row = find_row(node.domain, node.op);
  if (!row) return refuse("there is no such operator here");
  for (const std::string& name : node.inputs) {
    if (name.empty()) continue;
    const Scope* scope = scope_;
    while (scope && !scope->values.contains(name))
      scope = scope->outer;
    if (!scope) return refuse(fmt::format("its input `{}` is nothing that stands before it", name));
    if (!find(name)) { // refused already
      for (const std::string& output : node.outputs)
        if (!output.empty()) scope_->values[output] = nullptr;
      return;
    }
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
      const bool says_it = line.starts_with(fmt::format("let {} =", identifier(last_parts(node.name, 2))));
      if (line.find('\n') == std::string::npos && !says_it) line += "  # " + one_line(node.name);
    }
  } catch (const Refused& reason) {
    refuse(reason.what());
  } catch (const ModelError& error) {
    if (error.kind != "NotSupported") throw;
    refuse(error.what());
  }
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
  for (const std::string& output : function.outputs)
    graph->outputs.push_back({output, true, "", 0, {}});
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
    if (node.outputs[i].empty()) continue;
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
  Block* const before = block_;
  body.block.sizes = block_->sizes;
  block_ = &body.block;
  const SizeFacts facts = facts_;
  try {
    body.results = inlined(graph, inputs);
  } catch (...) {
    block_ = before;
    facts_ = facts;
    throw;
  }
  block_ = before;
  facts_ = facts;
  return body;
}

std::string Importer::results_text(Body& body) {
  Block* const before = block_;
  block_ = &body.block;
  std::vector<std::string> texts;
  for (const ValuePtr& value : body.results) {
    std::string result = text(*value);
    const bool typed = value->contents && value->text.empty() && value->dims.empty() &&
                       (is_float(value->dtype) || is_int(value->dtype));
    texts.push_back(typed ? fmt::format("{}({})", name_of(value->dtype), result) : result);
  }
  block_ = before;
  return texts.size() == 1 ? texts[0] : fmt::format("({})", fmt::join(texts, ", "));
}

// ---- the program ----------------------------------------------------------------------------------------------------

void Importer::declare_inputs() {
  std::set<std::string> initialised;
  for (const TensorData& data : model_.graph.initializers)
    initialised.insert(data.name);
  std::set<std::string> unused_dims, unused_inputs;
  for (const auto& [name, size] : options_.dims)
    unused_dims.insert(name);
  for (const auto& [name, text] : options_.inputs)
    unused_inputs.insert(name);
  for (const ValueInfo& input : model_.graph.inputs) {
    if (initialised.contains(input.name)) continue; // its default, as files of the first versions have it
    const std::optional<DType> dtype = dtype_of(input.data_type);
    if (!input.is_tensor || !dtype) {
      const std::string what = input.is_tensor ? "tensor of " + data_type_name(input.data_type) : input.kind;
      refusals_.push_back(
          {input.name, "input", "", fmt::format("it is a {}, which tl does not have", what), opset("")});
      top_.values[input.name] = nullptr;
      continue;
    }
    auto value = std::make_shared<Value>();
    value->name = input.name;
    value->dtype = *dtype;
    if (!input.dims) {
      refusals_.push_back({input.name, "input", "", "the file does not say how many axes it has", opset("")});
      top_.values[input.name] = nullptr;
      continue;
    }
    for (size_t i = 0; i < input.dims->size(); ++i) {
      const Dimension& dimension = (*input.dims)[i];
      if (dimension.value && *dimension.value >= 0) { // some exporters write -1 for an open size
        if (*dimension.value > kLongestAxis)
          throw ModelError(fmt::format("the input `{}` has an axis of {} elements", input.name, *dimension.value));
        value->dims.emplace_back(*dimension.value);
        continue;
      }
      const bool named = std::any_of(dimension.param.begin(), dimension.param.end(), is_word); // not "?"
      const std::string key = !named ? fmt::format("{}_{}", input.name, i) : dimension.param;
      if (auto fixed = options_.dims.find(key); fixed != options_.dims.end()) {
        unused_dims.erase(key);
        value->dims.emplace_back(fixed->second);
        continue;
      }
      auto [at, is_new] = named_sizes_.try_emplace(key);
      if (is_new) at->second = Size::of(sizes_.add({AtomKind::Named, fresh_name(key), {}, true, {}, {}}));
      value->dims.push_back(at->second);
    }
    top_.values[input.name] = value;
    if (auto fixed = options_.inputs.find(input.name); fixed != options_.inputs.end()) {
      unused_inputs.erase(input.name);
      Contents contents;
      for (size_t at = 0; at <= fixed->second.size() && !fixed->second.empty();) {
        const size_t end = std::min(fixed->second.find(',', at), fixed->second.size());
        const std::string word = fixed->second.substr(at, end - at);
        size_t used = 0;
        try {
          if (word == "true" || word == "false")
            contents.items.push_back(Number::of(word == "true")), used = word.size();
          else if (is_float(*dtype))
            contents.items.push_back(Number::of_real(std::stod(word, &used)));
          else
            contents.items.push_back(Number::of(std::stoll(word, &used)));
        } catch (const std::logic_error&) {
          used = std::string::npos;
        }
        if (used != word.size())
          throw ModelError(
              fmt::format("--input {}={}: `{}` is no {}", input.name, fixed->second, word, name_of(*dtype)),
              "WrongArguments");
        at = end + 1;
      }
      int64_t count = 1;
      for (size_t i = 0; i < value->dims.size(); ++i) {
        const bool last_open = !value->dims[i].is_constant();
        contents.dims.push_back(last_open ? static_cast<int64_t>(contents.items.size()) / std::max<int64_t>(count, 1)
                                          : value->dims[i].constant());
        count *= contents.dims.back();
      }
      if (count != static_cast<int64_t>(contents.items.size()))
        throw ModelError(
            fmt::format("--input {}: {} elements are given, and it has {}", input.name, contents.items.size(), count),
            "WrongArguments");
      ValuePtr known = constant(*dtype, std::move(contents));
      known->name = input.name;
      top_.values[input.name] = known;
      continue;
    }
    value->text = fresh_name(input.name);
    parameters_.push_back({value->text,
                           fmt::format("{}{}", name_of(*dtype), value->dims.empty() ? "" : dims_text(value->dims)),
                           one_line(input.name), value});
  }
  if (!unused_dims.empty())
    throw ModelError(fmt::format("--dim {}: the model leaves no such size open", *unused_dims.begin()),
                     "WrongArguments");
  if (!unused_inputs.empty())
    throw ModelError(fmt::format("--input {}: the model has no such input", *unused_inputs.begin()), "WrongArguments");
}

std::string Importer::struct_text() const {
  std::string text;
  for (const Weight& weight : weights_) {
    if (!weight.in_main) continue;
    std::string dims;
    for (const Size& d : weight.value->dims)
      dims += fmt::format("{}{}", dims.empty() ? "" : ", ", d.constant());
    text += fmt::format("  {}: {}{},\n", weight.name, name_of(weight.value->dtype),
                        weight.value->dims.empty() ? "" : "[" + dims + "]");
  }
  return text.empty() ? text : fmt::format("struct Weights {{\n{}}}\n", text);
}

std::string Importer::program(const std::vector<ValuePtr>& outputs) {
  std::string results, types;
  for (const ValuePtr& output : outputs) {
    results += (results.empty() ? "" : ", ") + text(*output);
    std::string dims;
    for (const Size& d : output->dims) {
      const bool plain = d.is_constant() || (d.as_atom() && sizes_[*d.as_atom()].kind == AtomKind::Named);
      dims += fmt::format("{}{}", dims.empty() ? "" : ", ", plain ? sizes_.to_string(d) : "_");
    }
    types += fmt::format("{}{}{}", types.empty() ? "" : ", ", name_of(output->dtype),
                         output->dims.empty() ? "" : "[" + dims + "]");
  }
  if (outputs.size() != 1) results = "(" + results + ")", types = "(" + types + ")";
  compute_constants();
  const std::string weights = struct_text();
  std::string parameters, arguments;
  for (const Parameter& parameter : parameters_) {
    parameters += fmt::format("{}{}: {}", parameters.empty() ? "" : ", ", parameter.name, parameter.type);
    arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ", parameter.name);
  }
  std::string text =
      fmt::format("## {}, an ONNX model{}.\n", one_line(model_.graph.name.empty() ? options_.name : model_.graph.name),
                  model_.producer.empty() ? "" : " by " + one_line(model_.producer));
  for (const std::string& module : modules_)
    text += fmt::format("import {}\n", module);
  text += "\n";
  std::string lines;
  for (const std::string& line : main_.lines)
    lines += line + "\n";
  if (weights.empty())
    return text + fmt::format("export fn forward({0}) -> {1} {{\n{2}{3}\n}}\n\nfn main({0}) -> {1} = forward({4})\n",
                              parameters, types, lines, results, arguments);
  text += weights + fmt::format("\nconst weights: Weights = load(\"{}\")\n\n", options_.weights_file);
  const std::string comma = parameters.empty() ? "" : ", ";
  text += fmt::format("fn forward(w: Weights{}{}) -> {} {{\n{}{}\n}}\n\n", comma, parameters, types, lines, results);
  text += fmt::format("export fn predict({0}) -> {1} = forward(weights{2}{3})\n\nfn main({0}) -> {1} = predict({3})\n",
                      parameters, types, comma, arguments);
  return text;
}

std::string Importer::formatted(const std::string& text) const {
  SourceManager sources;
  Diagnostics diagnostics;
  const FileId file = sources.add(options_.name + ".tl", text);
  std::optional<std::string> result = format_source(sources, file, diagnostics);
  if (!result)
    throw std::logic_error(
        fmt::format("what was written of the model is no program:\n{}\n{}", render(diagnostics, sources), text));
  return *result;
}

Imported Importer::run() {
  const Graph& graph = model_.graph;
  if (graph.has_sparse) throw ModelError("it has sparse initializers, which are not read", "NotSupported");
  if (graph.outputs.empty()) throw ModelError("its graph has no outputs");
  count_uses(graph, top_);
  add_initializers(graph, top_);
  declare_inputs();
  add_nodes(graph.nodes);
  Imported result;
  std::vector<ValuePtr> outputs;
  for (const ValueInfo& output : graph.outputs) {
    ValuePtr value = find(output.name);
    if (!value && refusals_.empty()) throw ModelError(fmt::format("nothing gives its output `{}`", output.name));
    outputs.push_back(value);
  }
  result.refusals = std::move(refusals_);
  if (!result.refusals.empty()) return result;
  result.source = formatted(program(outputs));
  for (Weight& weight : weights_) {
    if (!weight.in_main) continue;
    const HostTensor* tensor = elements(*weight.value);
    result.weights.push_back({weight.name, *tensor});
  }
  return result;
}

Imported import_model(const std::string& path, const ImportOptions& options) {
  const Model model = read_model(path);
  return Importer(model, options).run();
}

} // namespace tl::onnx
