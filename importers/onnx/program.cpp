// The whole import: inputs, and the program around what the graph became.
#include "abi/visible.h"
#include "importers/onnx/blocks.h"
#include "importers/onnx/importer.h"
#include "lang/source.h"
#include "parser/format/format.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::onnx {
namespace {

constexpr std::string_view kKeywords[] = {
    "let",   "var",    "const",    "fn",     "struct", "import",  "as",      "if",      "else", "for",    "in",
    "while", "break",  "continue", "return", "true",   "false",   "and",     "or",      "not",  "assert", "test",
    "on",    "export", "new",      "none",   "pi",     "e",       "inf",     "nan",     "bool", "u8",     "i8",
    "u16",   "i16",    "u32",      "i32",    "u64",    "i64",     "f16",     "bf16",    "f32",  "f64",    "str",
    "key",   "device", "List",     "T",      "main",   "forward", "weights", "Weights", "w"};

// A path as a text of the language.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '{' || c == '}') result += c;
    result += c;
  }
  return result + "\"";
}

} // namespace

bool is_reserved(std::string_view word) {
  return std::find(std::begin(kKeywords), std::end(kKeywords), word) != std::end(kKeywords);
}

Importer::Importer(const Model& model, const ImportOptions& options, Choices* choices)
    : model_(model), options_(options), choices_(choices), opsets_(&model.opsets) {
  for (std::string_view word : kKeywords)
    names_.taken.emplace(word);
  names_.taken.insert(options.reserved.begin(), options.reserved.end());
  constant_names_ = names_;
  constants_.is_constant = true;
  for (const Function& function : model.functions)
    functions_.emplace(FunctionKey(function.domain, function.name, function.overload), &function);
}

Dims Importer::dims_of_input(const ValueInfo& input) {
  Dims dims;
  for (size_t i = 0; i < input.dims->size(); ++i) {
    Dimension dimension = (*input.dims)[i];
    std::optional<int64_t> opened;
    const std::string place = fmt::format("{}.{}", input.name, i);
    if (auto given = options_.axes.find(place); given != options_.axes.end()) {
      unused_options_.erase("--dim " + place);
      const std::string& size = given->second;
      if (std::isdigit(static_cast<unsigned char>(size[0]))) {
        dimension.value = std::stoll(size);
      } else {
        opened = dimension.value;
        dimension = {std::nullopt, size};
      }
    }
    if (dimension.value && *dimension.value >= 0) { // some exporters write -1 for an open size
      if (*dimension.value > kLongestAxis)
        throw ModelError(fmt::format("the input `{}` has an axis of {} elements", input.name, *dimension.value));
      dims.emplace_back(*dimension.value);
      continue;
    }
    const bool named = std::any_of(dimension.param.begin(), dimension.param.end(), is_word); // not "?"
    const std::string key = named ? dimension.param : fmt::format("{}_{}", input.name, i);
    if (auto fixed = options_.dims.find(key); fixed != options_.dims.end()) {
      unused_options_.erase("--dim " + key);
      dims.emplace_back(fixed->second);
      continue;
    }
    auto [at, is_new] = named_sizes_.try_emplace(key);
    if (is_new) {
      const std::string name = fresh_name(key);
      at->second = Size::of(sizes_.add({AtomKind::Named, name, {}, true, {}, {}}));
      note_size(name);
    }
    if (opened && *opened >= 0) opened_[*at->second.as_atom()] = *opened;
    dims.push_back(at->second);
  }
  return dims;
}

std::optional<int64_t> Importer::fixed_size_of(const Size& opened) const {
  const auto atom = opened.as_atom();
  const auto found = atom ? opened_.find(*atom) : opened_.end();
  return found == opened_.end() ? std::nullopt : std::optional(found->second);
}

bool Importer::has_opened(const Size& size) const {
  std::vector<AtomId> leaves;
  if (!opened_.empty()) sizes_.collect(size, leaves);
  return std::any_of(leaves.begin(), leaves.end(), [&](AtomId leaf) { return opened_.contains(leaf); });
}

ValuePtr Importer::fixed_input(const Value& input, const std::string& text) {
  auto wrong = [&](const std::string& why) {
    throw ModelError(fmt::format("--input {}={}: {}", input.name, text, why), "WrongArguments");
  };
  Contents contents;
  for (size_t at = 0; at <= text.size() && !text.empty();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    size_t used = 0;
    try {
      if (word == "true" || word == "false")
        contents.items.push_back(Number::of(word == "true")), used = word.size();
      else if (is_float(input.dtype))
        contents.items.push_back(Number::of_real(std::stod(word, &used)));
      else
        contents.items.push_back(Number::of(std::stoll(word, &used)));
    } catch (const std::logic_error&) {
      used = std::string::npos;
    }
    if (used != word.size()) wrong(fmt::format("`{}` is no {}", word, name_of(input.dtype)));
    at = end + 1;
  }
  const auto given = static_cast<int64_t>(contents.items.size());
  if (given > kLargestContents) wrong(fmt::format("{} elements at most", kLargestContents));
  int64_t count = 1;
  for (const Size& d : input.dims) { // the last open size is what the others leave
    contents.dims.push_back(d.is_constant() ? d.constant() : given / std::max<int64_t>(count, 1));
    count = std::min(count * std::min(contents.dims.back(), kLargestContents + 1), kLargestContents + 1);
  }
  if (count != given) wrong(fmt::format("{} elements are given, and it has {}", given, count));
  ValuePtr known = constant(input.dtype, std::move(contents));
  known->name = input.name;
  return known;
}

void Importer::declare_inputs() {
  std::set<std::string> initialised;
  for (const TensorData& data : model_.graph.initializers)
    initialised.insert(data.name);
  for (const auto& [name, size] : options_.dims)
    unused_options_.insert("--dim " + name);
  for (const auto& [name, size] : options_.axes)
    unused_options_.insert("--dim " + name);
  for (const auto& [name, text] : options_.inputs)
    unused_options_.insert("--input " + name);
  for (const ValueInfo& input : model_.graph.inputs) {
    if (initialised.contains(input.name)) continue; // its default, as files of the first versions have it
    const std::optional<DType> dtype = dtype_of(input.data_type);
    std::string reason;
    if (!input.is_tensor || !dtype)
      reason = fmt::format("it is a {}, which tl does not have",
                           input.is_tensor ? "tensor of " + data_type_name(input.data_type) : input.kind);
    else if (!input.dims)
      reason = "the file does not say how many axes it has";
    if (!reason.empty()) {
      refusals_.push_back({input.name, "input", "", reason, opset("")});
      top_.values[input.name] = nullptr;
      continue;
    }
    auto value = std::make_shared<Value>();
    value->name = input.name;
    value->dtype = *dtype;
    if (auto fixed = options_.inputs.find(input.name);
        fixed != options_.inputs.end() && input.is_optional && fixed->second == "none") {
      unused_options_.erase("--input " + input.name);
      value->is_none = true;
      top_.values[input.name] = value;
      continue;
    }
    value->dims = dims_of_input(input);
    if (input.is_sequence) {
      Dims element;
      for (const Size& d : value->dims) // a name of a size is of each element's own
        element.push_back(d.is_constant() ? d : unknown_size());
      value->dims.clear();
      value->sequence = std::make_shared<Sequence>(Sequence{*dtype, element, {}});
      value->text = fresh_name(input.name);
      top_.values[input.name] = value;
      parameters_.push_back({value->text, list_type(*value->sequence)});
      continue;
    }
    if (auto fixed = options_.inputs.find(input.name); fixed != options_.inputs.end()) {
      unused_options_.erase("--input " + input.name);
      top_.values[input.name] = fixed_input(*value, fixed->second);
      continue;
    }
    value->text = fresh_name(input.name);
    top_.values[input.name] = value;
    parameters_.push_back(
        {value->text, fmt::format("{}{}", name_of(*dtype), value->dims.empty() ? "" : dims_text(value->dims))});
    note_type(value->text, *dtype, value->dims);
  }
  if (!unused_options_.empty())
    throw ModelError(fmt::format("{}: the model leaves nothing of this name open", *unused_options_.begin()),
                     "WrongArguments");
}

std::string Importer::struct_text(const std::vector<std::string>& blocks) const {
  std::string text;
  for (const Weight& weight : weights_) {
    if (weight.name.empty() || renamed_.contains(weight.name)) continue;
    std::string dims;
    for (const Size& d : weight.value->dims)
      dims += fmt::format("{}{}", dims.empty() ? "" : ", ", d.constant());
    text += fmt::format("  {}: {}{},\n", weight.name, name_of(weight.value->dtype),
                        weight.value->dims.empty() ? "" : "[" + dims + "]");
  }
  for (const std::string& block : blocks)
    text += fmt::format("  {},\n", block);
  return text.empty() ? text : fmt::format("struct Weights {{\n{}}}\n", text);
}

std::string Importer::type_text(DType dtype, const Dims& dims) const {
  std::string text;
  for (const Size& d : dims) {
    const bool plain = d.is_constant() || (d.as_atom() && sizes_[*d.as_atom()].kind == AtomKind::Named);
    text += fmt::format("{}{}", text.empty() ? "" : ", ", plain ? sizes_.to_string(d) : "_");
  }
  return fmt::format("{}{}", name_of(dtype), dims.empty() ? "" : "[" + text + "]");
}

std::string Importer::program(const std::vector<ValuePtr>& outputs) {
  std::string results, types;
  for (const ValuePtr& output : outputs) {
    results += (results.empty() ? "" : ", ") + text(*output);
    types += types.empty() ? "" : ", ";
    types += output->sequence ? list_type(*output->sequence) : type_text(output->dtype, output->dims);
  }
  if (outputs.size() != 1) results = "(" + results + ")", types = "(" + types + ")";
  compute_constants();
  const std::set<std::string> read = drop_unread(main_.lines, results);
  for (Weight& weight : weights_)
    if (!read.contains(weight.name)) weight.name.clear();
  Statements statements{main_.lines, results, types_, {}};
  for (const Weight& weight : weights_) {
    if (weight.name.empty()) continue;
    std::string dims;
    for (const Size& d : weight.value->dims)
      dims += fmt::format("{}{}", dims.empty() ? "" : ", ", d.constant());
    statements.weights[weight.name] =
        fmt::format("{}{}", name_of(weight.value->dtype), dims.empty() ? "" : "[" + dims + "]");
  }
  Functions functions{main_.lines, "", {}, {}};
  // What is asserted of sizes is not known in functions.
  const bool asserts = std::any_of(main_.lines.begin(), main_.lines.end(),
                                   [](const std::string& line) { return line.starts_with("assert "); });
  if (!asserts)
    functions =
        with_functions(std::move(statements), [&](const std::string& wish) { return fresh_name(wish, names_); });
  renamed_ = std::move(functions.renamed);
  const std::string weights = struct_text(functions.fields);
  std::string parameters, arguments;
  for (const Parameter& parameter : parameters_) {
    parameters += fmt::format("{}{}: {}", parameters.empty() ? "" : ", ", parameter.name, parameter.type);
    arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ", parameter.name);
  }
  std::string text =
      fmt::format("## {}, an ONNX model{}.\n", visible(model_.graph.name.empty() ? options_.name : model_.graph.name),
                  model_.producer.empty() ? "" : " by " + visible(model_.producer));
  for (const std::string& module : main_.modules)
    text += fmt::format("import {}\n", module);
  text += "\n";
  std::string lines;
  for (const std::string& line : functions.lines)
    lines += line + "\n";
  if (weights.empty())
    return text + functions.text +
           fmt::format("export fn forward({0}) -> {1} {{\n{2}{3}\n}}\n\nfn main({0}) -> {1} = forward({4})\n",
                       parameters, types, lines, results, arguments);
  text +=
      functions.text + weights + fmt::format("\nconst weights: Weights = load({})\n\n", quoted(options_.weights_file));
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
    const bool fits = !value || value->sequence || !output.dims || output.dims->size() == value->rank();
    if (choices_ && choices_->next > 0 && !fits) throw WrongChoice();
    outputs.push_back(value);
  }
  result.refusals = std::move(refusals_);
  if (!result.refusals.empty()) return result;
  std::string text;
  try {
    text = program(outputs);
  } catch (const Refused& reason) { // an output that is a sequence of tensors of different ranks, or is not there
    result.refusals.push_back({"", "output", "", reason.what(), opset("")});
    return result;
  }
  result.source = formatted(text);
  for (Weight& weight : weights_) {
    if (weight.name.empty()) continue;
    const HostTensor* tensor = elements(*weight.value);
    const auto renamed = renamed_.find(weight.name);
    result.weights.push_back({renamed == renamed_.end() ? weight.name : renamed->second, *tensor});
  }
  return result;
}

Imported import_model(const std::string& path, const ImportOptions& options) {
  const Model model = read_model(path);
  Importer plain(model, options);
  Imported refused = plain.run();
  if (!plain.needs_choices() || refused.refusals.empty()) return refused;
  // All choices, each as far as the model fits; the model's meaning is known where one of them is left.
  constexpr int kMostImports = 64;
  std::optional<Imported> found;
  Choices choices;
  size_t nodes = 0;
  for (int k = 0; k < kMostImports && nodes < kMostNodes; ++k) {
    choices.next = 0;
    Importer importer(model, options, &choices);
    std::optional<Imported> imported;
    try {
      imported = importer.run();
    } catch (const WrongChoice&) {
      imported.reset();
    }
    if (imported && imported->refusals.empty()) {
      if (found) return refused;
      found = std::move(imported);
    }
    nodes += importer.nodes();
    choices.made.resize(choices.next);
    while (!choices.made.empty() && !choices.made.back())
      choices.made.pop_back();
    if (choices.made.empty()) return found ? std::move(*found) : std::move(refused);
    choices.made.back() = false;
  }
  return refused;
}

} // namespace tl::onnx
