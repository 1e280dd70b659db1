// Loop and Scan. What a loop carries is a variable each; where a size of it changes from one iteration to the next, the
// body is written again with a size that is known when it runs.
#include "importers/onnx/operators.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::onnx {
namespace {

constexpr int64_t kMostWrittenOut = 64; // iterations of a loop that cannot be written as one
constexpr size_t kFewNodes = 32;        // a loop that makes no more is written out

// What both operators have: a graph whose inputs are first what each iteration tells it, then what is carried, then
// slices; its results are a condition if it has one, then what is carried, then what is collected.
struct Iteration {
  std::vector<ValuePtr> first, slices;
  std::vector<std::string> lines; // that the slices need
};
struct Loop {
  Loop(Op& op, const Graph& graph) : op(op), graph(graph) {}
  Op& op;
  const Graph& graph;
  std::vector<ValuePtr> initial;
  bool has_condition = false;
  // How often at most; nothing: as long as the condition holds.
  std::optional<Size> count;
  std::string starts; // whether it begins at all; empty: it does
  // Inputs of the iteration `index`, which is constant where the loop is written out.
  std::function<Iteration(const Number& index)> iteration;
  // Of each collected value: along which axis, and whether from the last place to the first.
  struct Collected {
    int64_t axis = 0;
    bool reversed = false;
  };
  std::vector<Collected> collected;

  size_t carried_at() const { return has_condition ? 1 : 0; }
  size_t results() const { return carried_at() + initial.size() + collected.size(); }
  Importer& in() const { return op.in; }
  void write();

private:
  void write_out(int64_t iterations);
  void write_loop();
  bool try_body(std::vector<Value>& types, size_t pass);
  std::string stacked(const std::vector<ValuePtr>& parts, size_t collected);
  void collect(Importer::Body& body, const Size& trips, size_t atoms);

  // Of the attempt at hand.
  std::string index_;
  std::vector<std::string> names_; // of variables; empty: it stays what it was
  Iteration inputs_;
  Importer::Body body_;
};

const Number* known_number(Op& op, size_t i) {
  const Contents* known = op.contents(i);
  return known && known->items.size() == 1 ? &known->items[0] : nullptr;
}

std::string scalar_text(Op& op, size_t i) {
  std::string text = op.text(i);
  for (size_t k = 0; k < op.rank(i); ++k)
    text += "[0]";
  return text;
}

// Where the result is one of the inputs, by way of Identity nodes alone: its position.
std::optional<size_t> passed_through(const Graph& graph, const std::string& result) {
  std::string name = result;
  for (size_t steps = 0; steps <= graph.nodes.size(); ++steps) {
    for (size_t i = 0; i < graph.inputs.size(); ++i)
      if (graph.inputs[i].name == name) return i;
    auto from = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
      return node.op == "Identity" && node.domain.empty() && node.inputs.size() == 1 && !node.outputs.empty() &&
             node.outputs[0] == name;
    });
    if (from == graph.nodes.end()) return std::nullopt;
    name = from->inputs[0];
  }
  return std::nullopt;
}

// Does the word stand in the text?
bool mentions(const std::vector<std::string>& lines, const std::string& word) {
  for (const std::string& line : lines)
    for (size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
      const size_t end = at + word.size();
      if ((at == 0 || !is_word(line[at - 1])) && (end == line.size() || !is_word(line[end]))) return true;
    }
  return false;
}

std::string zeros_text(Importer& in, DType dtype, const Dims& dims) {
  if (dtype == DType::Bool) return fmt::format("full({}, false)", in.dims_text(dims));
  return fmt::format("zeros({}{})", in.dims_text(dims), dtype == DType::F32 ? "" : fmt::format(", {}", name_of(dtype)));
}

void Loop::write() {
  const size_t inputs = (has_condition ? 2 : 0) + initial.size();
  if (graph.inputs.size() < inputs || graph.outputs.size() < results())
    op.refuse("its graph has fewer inputs or outputs than it carries");
  const std::optional<int64_t> known =
      count && count->is_constant() && starts.empty() ? std::optional(count->constant()) : std::nullopt;
  const bool few =
      known && (*known <= 1 || *known <= static_cast<int64_t>(kFewNodes / std::max<size_t>(graph.nodes.size(), 1)));
  const Importer::Mark mark = in().mark();
  if (few) {
    try {
      return in().attempt([&] { write_out(*known); });
    } catch (const Refused&) { // its condition is not known
      in().go_back_to(mark);
    }
  }
  try {
    in().attempt([&] { write_loop(); });
  } catch (const Refused&) {
    if (few || !known || *known > kMostWrittenOut) throw;
    in().go_back_to(mark);
    write_out(*known);
  }
}

// ---- written out

void Loop::write_out(int64_t iterations) {
  std::vector<ValuePtr> carried = initial;
  std::vector<std::vector<ValuePtr>> parts(collected.size());
  for (int64_t k = 0; k < iterations; ++k) {
    Iteration with = iteration(Number::of(k));
    for (std::string& line : with.lines)
      in().write(std::move(line));
    std::vector<ValuePtr> values = std::move(with.first);
    values.insert(values.end(), carried.begin(), carried.end());
    values.insert(values.end(), with.slices.begin(), with.slices.end());
    const std::vector<ValuePtr> made = in().inlined(graph, values);
    auto at = made.begin() + static_cast<std::ptrdiff_t>(carried_at());
    carried.assign(at, at + static_cast<std::ptrdiff_t>(carried.size()));
    at += static_cast<std::ptrdiff_t>(carried.size());
    for (size_t c = 0; c < collected.size(); ++c)
      parts[c].push_back(at[static_cast<std::ptrdiff_t>(c)]);
    if (!has_condition) continue;
    const Contents* goes_on = in().contents(*made[0]);
    if (!goes_on || goes_on->items.size() != 1 || !goes_on->is_constant())
      op.refuse("how often its body runs is known only when it runs");
    if (goes_on->items[0].value() == 0) break;
  }
  for (size_t i = 0; i < carried.size(); ++i)
    op.alias(i, carried[i]);
  for (size_t c = 0; c < collected.size(); ++c) {
    const size_t output = carried.size() + c;
    if (!op.wants(output)) continue;
    if (parts[c].empty()) { // its sizes stand in the file, if anywhere
      const ValueInfo& info = graph.outputs[carried_at() + output];
      const auto dtype = dtype_of(info.data_type);
      Dims dims{0};
      for (const Dimension& d : info.dims.value_or(std::vector<Dimension>()))
        dims.emplace_back(d.value.value_or(0));
      if (!dtype || !info.dims) op.refuse("it never runs, and the sizes of its results are not known");
      if (collected[c].axis != 0) op.refuse("it never runs");
      op.define(output, zeros_text(in(), *dtype, dims), *dtype, dims);
      continue;
    }
    Dims dims = parts[c][0]->dims;
    for (const ValuePtr& part : parts[c]) {
      if (part->sequence || part->is_none || part->rank() != dims.size() || part->dtype != parts[c][0]->dtype)
        op.refuse("what it collects differs in type");
      for (size_t d = 0; d < dims.size(); ++d)
        in().require_equal(dims[d], part->dims[d]);
    }
    const int64_t axis = op.axis(collected[c].axis, dims.size() + 1);
    dims.insert(dims.begin() + axis, Size(static_cast<int64_t>(parts[c].size())));
    op.define(output, stacked(parts[c], c), parts[c][0]->dtype, dims);
  }
}

std::string Loop::stacked(const std::vector<ValuePtr>& parts, size_t c) {
  std::vector<std::string> texts;
  for (const ValuePtr& part : parts)
    texts.push_back(in().typed_text(*part));
  if (collected[c].reversed) std::reverse(texts.begin(), texts.end());
  const int64_t axis = op.axis(collected[c].axis, parts[0]->rank() + 1);
  return fmt::format("stack(({},){})", fmt::join(texts, ", "), axis == 0 ? "" : fmt::format(", axis = {}", axis));
}

// ---- as a loop

// Writes the body where what is carried has these types; widens them, and gives false, where they do not do.
bool Loop::try_body(std::vector<Value>& types, size_t pass) {
  const Importer::Mark mark = in().mark();
  const size_t atoms = in().sizes().size();
  index_ = in().fresh_name("i");
  const AtomId atom = in().sizes().add({AtomKind::Value, index_, {}, false, {}, {}});
  in().sizes().set_range(atom, 0,
                         count && count->is_constant() ? std::max<int64_t>(count->constant() - 1, 0) : INT64_MAX - 1);
  names_.clear();
  inputs_ = iteration(Number::of(Size::of(atom)));
  std::vector<ValuePtr> values = inputs_.first;
  for (size_t i = 0; i < initial.size(); ++i) {
    const bool stays =
        initial[i]->is_none || passed_through(graph, graph.outputs[carried_at() + i].name) == inputs_.first.size() + i;
    names_.push_back(
        stays ? "" : in().fresh_name(op.wants(i) ? op.node.outputs[i] : graph.inputs[inputs_.first.size() + i].name));
    values.push_back(stays ? initial[i] : typed_value(in(), types[i], names_[i]));
  }
  values.insert(values.end(), inputs_.slices.begin(), inputs_.slices.end());
  body_ = in().body(graph, values);
  bool changed = false;
  for (size_t i = 0; i < initial.size(); ++i) {
    const Value& result = *body_.results[carried_at() + i];
    if (initial[i]->is_none && !result.is_none) op.refuse("what it carries is not there at first, and is later");
    if (names_[i].empty()) continue;
    bool wider = widen(in(), types[i], result, atoms);
    if (wider && pass > 0 && !types[i].sequence) types[i].dims = unknown_dims(types[i].rank());
    changed |= wider;
  }
  if (changed) in().go_back_to(mark);
  return !changed;
}

void Loop::write_loop() {
  std::vector<Value> types;
  for (const ValuePtr& value : initial) {
    Value type;
    type.dtype = value->dtype;
    type.dims = value->dims;
    type.is_none = value->is_none;
    if (value->sequence) {
      Sequence sequence = *value->sequence;
      sequence.items.reset();
      type.sequence = std::make_shared<Sequence>(std::move(sequence));
    }
    types.push_back(std::move(type));
  }
  const size_t atoms = in().sizes().size();
  for (size_t pass = 0; !try_body(types, pass); ++pass)
    if (pass > 8) op.refuse("the sizes of what it carries change in too many ways");
  // What stands ahead of it.
  std::string trips;
  Size length = unknown_size();
  if (count) {
    length = *count;
    trips = in().size_text(*count);
    if (!starts.empty()) {
      const std::string name = in().fresh_name("trips");
      in().write(fmt::format("let {} = if {} {{ {} }} else {{ 0 }}", name, starts, trips));
      trips = name;
      length = Size::of(in().sizes().add({AtomKind::Value, name, {}, false, {}, {}}));
    }
    length = in().sizes().positive(length, in().facts());
  }
  for (size_t i = 0; i < initial.size(); ++i)
    if (!names_[i].empty())
      in().write(fmt::format("var {} = {}", declared(in(), types[i], names_[i]), in().typed_text(*initial[i])));
  const Value* const condition = has_condition ? body_.results[0].get() : nullptr;
  const Contents* const known = condition ? in().contents(*body_.results[0]) : nullptr;
  const bool goes_on =
      !condition || (known && known->items.size() == 1 && known->is_constant() && known->items[0].value() != 0);
  if (!count && goes_on) op.refuse("it never ends");
  std::string go;
  if (!count) {
    go = in().fresh_name("goes_on");
    in().write(fmt::format("var {} = {}", go, starts.empty() ? "true" : starts));
  }
  // What it collects, in its places where there are as many as iterations, else in a list.
  struct Place {
    std::string name;
    bool is_list = false;
    DType dtype;
    Dims dims;
  };
  std::vector<Place> places(collected.size());
  std::vector<std::string> stores;
  for (size_t c = 0; c < collected.size(); ++c) {
    const size_t output = initial.size() + c;
    if (!op.wants(output)) continue;
    Value& value = *body_.results[carried_at() + output];
    if (value.sequence || value.is_none) op.refuse("it collects what is no tensor");
    Place& place = places[c];
    const auto axis = static_cast<size_t>(op.axis(collected[c].axis, value.rank() + 1));
    const bool known_sizes =
        std::all_of(value.dims.begin(), value.dims.end(), [&](const Size& d) { return in().holds_outside(d, atoms); });
    place.name = in().fresh_name(op.node.outputs[output]);
    place.dtype = value.dtype;
    place.dims = value.dims;
    place.is_list = !count || !goes_on || !known_sizes;
    std::string item;
    in().within(body_.block, [&] { item = in().typed_text(value); });
    if (place.is_list) {
      for (Size& d : place.dims)
        if (!in().holds_outside(d, atoms)) d = unknown_size();
      Sequence sequence{value.dtype, place.dims, {}};
      in().write(fmt::format("var {}: {} = list()", place.name, in().list_type(sequence)));
      stores.push_back(fmt::format("{} += [{}]", place.name, item));
    } else {
      place.dims.insert(place.dims.begin() + static_cast<std::ptrdiff_t>(axis), length);
      in().write(fmt::format("var {} = {}", place.name, zeros_text(in(), place.dtype, place.dims)));
      std::string at;
      for (size_t d = 0; d < axis; ++d)
        at += ":, ";
      at += collected[c].reversed ? fmt::format("{} - 1 - {}", trips, index_) : index_;
      stores.push_back(fmt::format("{}[{}] = {}", place.name, at, item));
    }
  }
  // The body, and what follows in each iteration.
  std::vector<std::string> lines = inputs_.lines, changed, by;
  std::string test;
  in().within(body_.block, [&] {
    if (!goes_on) {
      test = in().text(*body_.results[0]);
      for (size_t k = 0; k < body_.results[0]->rank(); ++k)
        test += "[0]";
    }
    for (size_t i = 0; i < initial.size(); ++i) {
      if (names_[i].empty()) continue;
      const std::string value = in().typed_text(*body_.results[carried_at() + i]);
      if (value == names_[i]) continue;
      changed.push_back(names_[i]);
      by.push_back(value);
    }
    if (!goes_on && std::find(names_.begin(), names_.end(), test) != names_.end()) { // before it changes
      const std::string name = in().fresh_name("goes_on");
      in().write(fmt::format("let {} = {}", name, test));
      test = name;
    }
  });
  lines.insert(lines.end(), body_.block.lines.begin(), body_.block.lines.end());
  lines.insert(lines.end(), stores.begin(), stores.end());
  if (changed.size() == 1)
    lines.push_back(fmt::format("{} = {}", changed[0], by[0]));
  else if (!changed.empty())
    lines.push_back(fmt::format("({}) = ({})", fmt::join(changed, ", "), fmt::join(by, ", ")));
  if (!count) {
    const bool counts = mentions(lines, index_);
    if (counts) in().write(fmt::format("var {} = 0", index_));
    lines.push_back(fmt::format("{} = {}", go, test));
    if (counts) lines.push_back(fmt::format("{} += 1", index_));
  } else if (!goes_on) {
    lines.push_back(fmt::format("if not {} {{ break }}", test));
  }
  in().write(count ? fmt::format("for {} in 0..{} {{\n{}\n}}", index_, trips, fmt::join(lines, "\n"))
                   : fmt::format("while {} {{\n{}\n}}", go, fmt::join(lines, "\n")));
  for (size_t i = 0; i < initial.size(); ++i)
    op.alias(i, names_[i].empty() ? initial[i] : typed_value(in(), types[i], names_[i]));
  for (size_t c = 0; c < collected.size(); ++c) {
    const size_t output = initial.size() + c;
    if (!op.wants(output)) continue;
    Place& place = places[c];
    if (!place.is_list) {
      Value type;
      type.name = op.node.outputs[output];
      type.dtype = place.dtype;
      type.dims = place.dims;
      op.alias(output, typed_value(in(), type, place.name));
      continue;
    }
    if (collected[c].reversed) op.refuse("what it collects from the last place on differs in size");
    const int64_t axis = op.axis(collected[c].axis, place.dims.size() + 1);
    const bool empty_is_known =
        std::all_of(place.dims.begin(), place.dims.end(), [](const Size& d) { return !d.is_too_large(); });
    std::string text = fmt::format("stack({}{})", place.name, axis == 0 ? "" : fmt::format(", axis = {}", axis));
    place.dims.insert(place.dims.begin() + axis, Size(0));
    if (empty_is_known)
      text = fmt::format("if len({}) == 0 {{ {} }} else {{ {} }}", place.name,
                         zeros_text(in(), place.dtype, place.dims), text);
    place.dims[static_cast<size_t>(axis)] = unknown_size();
    op.define(output, text, place.dtype, place.dims);
  }
}

// ---- the operators

void loop(Op& op, const Row&) {
  Loop loop(op, graph_of(op, "body"));
  loop.has_condition = true;
  for (size_t i = 2; i < op.inputs(); ++i)
    loop.initial.push_back(op.any_value(i));
  if (loop.graph.outputs.size() < 1 + loop.initial.size()) op.refuse("its graph gives less than it carries");
  loop.collected.resize(loop.graph.outputs.size() - 1 - loop.initial.size());
  if (op.has(0)) {
    if (const Number* number = known_number(op, 0); number && number->is_integer()) {
      loop.count = number->top;
    } else {
      std::string name = scalar_text(op, 0);
      if (op[0].dtype != DType::I64 || !std::all_of(name.begin(), name.end(), is_word)) {
        const std::string number = op[0].dtype == DType::I64 ? name : fmt::format("i64({})", name);
        name = op.in.fresh_name(op.node.inputs[0] + "_trips");
        op.in.write(fmt::format("let {} = {}", name, number));
      }
      loop.count = Size::of(op.in.sizes().add({AtomKind::Value, name, {}, false, {}, {}}));
    }
    if (loop.count->is_constant() && loop.count->constant() < 0) loop.count = 0;
  }
  if (op.has(1)) {
    const Number* number = known_number(op, 1);
    if (!number || !number->is_constant())
      loop.starts = scalar_text(op, 1);
    else if (number->value() == 0)
      loop.count = 0;
  }
  loop.iteration = [&](const Number& index) {
    return Iteration{
        {op.in.constant(DType::I64, {{}, {index}}), op.in.constant(DType::Bool, {{}, {Number::of(1)}})}, {}, {}};
  };
  loop.write();
}

void scan(Op& op, const Row&) {
  const Graph& graph = graph_of(op, "body");
  const int64_t slices = op.integer("num_scan_inputs", 0);
  if (slices < 1 || static_cast<size_t>(slices) > op.inputs()) op.refuse("it has no scan inputs");
  Loop loop(op, graph);
  const size_t states = op.inputs() - static_cast<size_t>(slices);
  for (size_t i = 0; i < states; ++i)
    loop.initial.push_back(op.any_value(i));
  if (graph.outputs.size() < states) op.refuse("its graph gives less than it carries");
  auto each = [&](const char* name, size_t number) {
    std::vector<int64_t> values = op.integers(name, std::vector<int64_t>(number));
    if (values.size() != number) op.refuse(fmt::format("its {} are {}, and {} are right", name, values.size(), number));
    return values;
  };
  const std::vector<int64_t> axes = each("scan_input_axes", op.inputs() - states),
                             directions = each("scan_input_directions", op.inputs() - states),
                             out_axes = each("scan_output_axes", graph.outputs.size() - states),
                             out_directions = each("scan_output_directions", graph.outputs.size() - states);
  for (size_t c = 0; c < out_axes.size(); ++c)
    loop.collected.push_back({out_axes[c], out_directions[c] != 0});
  std::vector<size_t> at;
  for (size_t k = 0; k < axes.size(); ++k) {
    op.require_axes(states + k, 1);
    at.push_back(static_cast<size_t>(op.axis(axes[k], op.rank(states + k))));
    const Size& n = op[states + k].dims[at[k]];
    if (!loop.count)
      loop.count = n;
    else
      op.in.require_equal(*loop.count, n);
  }
  loop.iteration = [&](const Number& index) {
    Iteration result;
    for (size_t k = 0; k < axes.size(); ++k) {
      Value& from = op[states + k];
      Dims dims = from.dims;
      const Size n = dims[at[k]];
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at[k]));
      std::string subscript;
      for (size_t d = 0; d < at[k]; ++d)
        subscript += ":, ";
      subscript += op.in.size_text(directions[k] != 0 ? n - Size(1) - index.top : index.top);
      Value type;
      type.name = graph.inputs[std::min(states + k, graph.inputs.size() - 1)].name;
      type.dtype = from.dtype;
      type.dims = dims;
      const std::string name = op.in.fresh_name(type.name);
      result.lines.push_back(fmt::format("let {} = {}[{}]", name, op.in.text(from), subscript));
      result.slices.push_back(typed_value(op.in, type, name));
    }
    return result;
  };
  loop.write();
}

} // namespace

std::vector<Row> loop_rows() {
  return {
      {"Loop", 1, "", loop},
      {"Scan", 9, "", scan},
  };
}

} // namespace tl::onnx
