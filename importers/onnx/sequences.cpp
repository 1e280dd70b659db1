// Sequences, whose tensors are known one by one or are a list's, and optional values.
#include "importers/onnx/operators.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::onnx {
namespace {

constexpr size_t kMostItems = 1024; // that are known one by one

Value& sequence(Op& op, size_t i) {
  Value& value = *op.any_value(i);
  if (!value.sequence) op.refuse(fmt::format("its input {} is no sequence", i));
  return value;
}

bool is_known(Op& op, size_t i) { return sequence(op, i).sequence->items.has_value(); }

void know_items(Op& op, size_t output, DType dtype, std::vector<ValuePtr> items) {
  if (items.size() > kMostItems) op.refuse(fmt::format("its sequence has more than {} elements", kMostItems));
  Sequence made{dtype, std::nullopt, {}};
  for (const ValuePtr& item : items) {
    if (item->dtype != dtype) op.refuse("its sequence has elements of different types");
    if (!made.element) made.element = item->dims;
  }
  for (const ValuePtr& item : items) {
    if (item->rank() != made.element->size()) {
      made.element.reset(); // each is known, and they are no list
      break;
    }
    for (size_t d = 0; d < item->rank(); ++d)
      if (item->dims[d] != (*made.element)[d]) (*made.element)[d] = unknown_size();
  }
  made.items = std::move(items);
  auto value = std::make_shared<Value>();
  value->name = op.node.outputs.at(output);
  value->sequence = std::make_shared<Sequence>(std::move(made));
  op.alias(output, std::move(value));
}

void define_list(Op& op, size_t output, const std::string& text, DType dtype, std::optional<Dims> element) {
  Value type;
  type.name = op.node.outputs.at(output);
  type.sequence = std::make_shared<Sequence>(Sequence{dtype, std::move(element), {}});
  const std::string name = op.in.fresh_name(type.name);
  op.in.write(fmt::format("let {} = {}", declared(op.in, type, name), text));
  op.alias(output, typed_value(op.in, type, name));
}

// One integer: where it is known, else as the program has it.
struct Position {
  std::optional<int64_t> known;
  std::string text;
};
Position position(Op& op, size_t i, int64_t missing) {
  if (!op.has(i)) return {missing, std::to_string(missing)};
  if (auto known = op.constants_of(i); known && known->size() == 1) return {(*known)[0], std::to_string((*known)[0])};
  std::string text = op.text(i);
  for (size_t k = 0; k < op.rank(i); ++k)
    text += "[0]";
  return {std::nullopt, text};
}

// Counted from the first; Refused where there is no such place.
size_t place_of(Op& op, int64_t position, size_t count, size_t places) {
  const auto n = static_cast<int64_t>(count);
  if (position < -n || position >= static_cast<int64_t>(places))
    op.refuse(fmt::format("there is no place {} in its sequence of {}", position, count));
  return static_cast<size_t>(position < 0 ? position + n : position);
}

void construct(Op& op, const Row&) {
  std::vector<ValuePtr> items;
  for (size_t i = 0; i < op.inputs(); ++i)
    items.push_back(op.value(i));
  if (items.empty()) op.refuse("it has no inputs");
  const DType dtype = items[0]->dtype;
  know_items(op, 0, dtype, std::move(items));
}

void empty(Op& op, const Row&) {
  const auto type = static_cast<int32_t>(op.integer("dtype", 1));
  const auto dtype = dtype_of(type);
  if (!dtype) op.refuse(fmt::format("its elements are {}, which tl does not have", data_type_name(type)));
  know_items(op, 0, *dtype, {});
}

void at(Op& op, const Row&) {
  Value& xs = sequence(op, 0);
  const Position where = position(op, 1, 0);
  if (xs.sequence->items && where.known)
    return op.alias(
        0, (*xs.sequence->items)[place_of(op, *where.known, xs.sequence->items->size(), xs.sequence->items->size())]);
  if (!xs.sequence->element) op.refuse("how many axes the elements of its sequence have is not known");
  op.define(0, fmt::format("{}[{}]", op.in.text(xs), where.text), xs.sequence->dtype, *xs.sequence->element);
}

void insert(Op& op, const Row&) {
  Value& xs = sequence(op, 0);
  const ValuePtr item = op.value(1);
  const Position where = position(op, 2, 0);
  if (item->dtype != xs.sequence->dtype) op.refuse("its tensor is of another type than its sequence");
  if (xs.sequence->items && (where.known || !op.has(2))) {
    std::vector<ValuePtr> items = *xs.sequence->items;
    const size_t place = op.has(2) ? place_of(op, *where.known, items.size(), items.size() + 1) : items.size();
    items.insert(items.begin() + static_cast<std::ptrdiff_t>(place), item);
    return know_items(op, 0, item->dtype, std::move(items));
  }
  Dims dims = xs.sequence->element.value_or(item->dims);
  if (dims.size() != item->rank()) op.refuse("its tensor has other axes than its sequence");
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] != item->dims[d]) dims[d] = unknown_size();
  const std::string list = op.in.text(xs), x = op.in.typed_text(*item);
  define_list(op, 0,
              op.has(2) ? fmt::format("{0}[:{1}] + [{2}] + {0}[{1}:]", list, where.text, x)
                        : fmt::format("{} + [{}]", list, x),
              item->dtype, dims);
}

void erase(Op& op, const Row&) {
  Value& xs = sequence(op, 0);
  const Position where = position(op, 1, -1);
  if (xs.sequence->items && where.known) {
    std::vector<ValuePtr> items = *xs.sequence->items;
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(place_of(op, *where.known, items.size(), items.size())));
    return know_items(op, 0, xs.sequence->dtype, std::move(items));
  }
  const std::string list = op.in.text(xs);
  std::string text = fmt::format("{}[:-1]", list);
  if (where.known != -1) {
    const std::string p = op.in.fresh_name("place");
    op.in.write(fmt::format("let {0} = if {1} < 0 {{ {1} + len({2}) }} else {{ {1} }}", p, where.text, list));
    text = fmt::format("{0}[:{1}] + {0}[{1} + 1:]", list, p);
  }
  define_list(op, 0, text, xs.sequence->dtype, xs.sequence->element);
}

void length(Op& op, const Row&) {
  Value& xs = sequence(op, 0);
  if (xs.sequence->items)
    return op.know(0, DType::I64, {{}, {Number::of(static_cast<int64_t>(xs.sequence->items->size()))}});
  const std::string name = op.in.fresh_name(op.node.outputs[0]);
  op.in.write(fmt::format("let {} = len({})", name, op.in.text(xs)));
  op.know(0, DType::I64, {{}, {Number::of(Size::of(op.in.sizes().add({AtomKind::Value, name, {}, true, {}, {}})))}});
}

void split(Op& op, const Row&) {
  const size_t rank = op.rank(0);
  const auto axis = static_cast<size_t>(op.axis(op.integer("axis", 0), rank));
  const Size n = op[0].dims[axis];
  const bool one_by_one = !op.has(1), drops_axis = one_by_one && op.integer("keepdims", 1) == 0;
  std::string ahead;
  for (size_t d = 0; d < axis; ++d)
    ahead += ":, ";
  const std::string x = op.text(0);
  Dims dims = op[0].dims;
  std::vector<Size> parts;
  std::optional<Size> each;
  if (one_by_one)
    each = 1;
  else if (op.rank(1) == 0)
    each = op.integer_of(1);
  else
    parts = op.integers_of(1);
  if (each && each->is_constant() && each->constant() <= 0) op.refuse("its parts have no elements");
  if (each && each->is_constant() && n.is_constant()) {
    const int64_t count = (n.constant() - 1) / each->constant() + 1;
    if (n.constant() > 0 && count <= static_cast<int64_t>(kMostItems)) {
      for (int64_t k = 0; k + 1 < count; ++k)
        parts.push_back(*each);
      parts.push_back(n.constant() - (count - 1) * each->constant());
      each.reset();
    }
  }
  if (each) {
    const std::string k = op.in.fresh_name("k"), size = op.in.size_text(*each);
    if (drops_axis) {
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
      return define_list(op, 0, fmt::format("list({}[{}{}] for {} in 0..{})", x, ahead, k, k, op.in.size_text(n)),
                         op[0].dtype, dims);
    }
    dims[axis] = each->is(1) ? Size(1) : unknown_size();
    const std::string parts_text =
        each->is(1) ? op.in.size_text(n) : fmt::format("({} + {} - 1) // {}", op.in.size_text(n), size, size);
    return define_list(op, 0,
                       each->is(1) ? fmt::format("list({0}[{1}{2}:{2} + 1] for {2} in 0..{3})", x, ahead, k, parts_text)
                                   : fmt::format("list({0}[{1}{2} * {3}:{2} * {3} + {3}] for {2} in 0..{4})", x, ahead,
                                                 k, size, parts_text),
                       op[0].dtype, dims);
  }
  if (parts.size() > kMostItems) op.refuse(fmt::format("its sequence has more than {} elements", kMostItems));
  std::vector<ValuePtr> items;
  Size from = 0, total = 0;
  for (const Size& part : parts)
    total = total + part;
  op.in.require_equal(total, n);
  for (const Size& part : parts) {
    Value type;
    type.name = op.node.outputs[0];
    type.dtype = op[0].dtype;
    type.dims = dims;
    std::string subscript;
    if (drops_axis) {
      type.dims.erase(type.dims.begin() + static_cast<std::ptrdiff_t>(axis));
      subscript = op.in.size_text(from);
    } else {
      type.dims[axis] = part;
      subscript = fmt::format("{}:{}", op.in.size_text(from), op.in.size_text(from + part));
    }
    const std::string name = op.in.fresh_name(fmt::format("{}_{}", type.name, items.size()));
    op.in.write(fmt::format("let {} = {}[{}{}]", name, x, ahead, subscript));
    items.push_back(typed_value(op.in, type, name));
    from = from + part;
  }
  know_items(op, 0, op[0].dtype, std::move(items));
}

void join(Op& op, const Row&) {
  const Sequence& xs = *sequence(op, 0).sequence;
  const bool stacks = op.integer("new_axis", 0) != 0;
  if (!xs.element) op.refuse("how many axes the elements of its sequence have is not known");
  Dims dims = *xs.element;
  const auto axis = static_cast<size_t>(op.axis(op.integer("axis", 0), dims.size() + (stacks ? 1 : 0)));
  std::string list = op.in.text(sequence(op, 0));
  if (xs.items) {
    if (xs.items->empty()) op.refuse("its sequence is empty");
    dims = (*xs.items)[0]->dims;
    Size length = 0;
    list = "(";
    for (const ValuePtr& item : *xs.items) {
      list += (list.size() > 1 ? ", " : "") + op.in.typed_text(*item);
      for (size_t d = 0; d < dims.size(); ++d)
        if (stacks || d != axis) op.in.require_equal(dims[d], item->dims[d]);
      if (!stacks) length = length + item->dims[axis];
    }
    list += xs.items->size() == 1 ? ",)" : ")";
    if (stacks)
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), Size(static_cast<int64_t>(xs.items->size())));
    else
      dims[axis] = length;
  } else if (stacks) {
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), unknown_size());
  } else {
    dims[axis] = unknown_size();
  }
  op.define(
      0, fmt::format("{}({}{})", stacks ? "stack" : "concat", list, axis == 0 ? "" : fmt::format(", axis = {}", axis)),
      xs.dtype, dims);
}

void map(Op& op, const Row&) {
  const Graph& graph = graph_of(op, "body");
  const Value& first = sequence(op, 0);
  const size_t outputs = op.node.outputs.size();
  if (graph.outputs.size() < outputs) op.refuse("its graph has fewer outputs than it");
  bool known = true;
  for (size_t i = 0; i < op.inputs(); ++i)
    if (op.any_value(i)->sequence) known &= is_known(op, i);
  if (known && !first.sequence->items->empty()) {
    const size_t count = first.sequence->items->size();
    std::vector<std::vector<ValuePtr>> made(outputs);
    for (size_t k = 0; k < count; ++k) {
      std::vector<ValuePtr> values;
      for (size_t i = 0; i < op.inputs(); ++i) {
        const ValuePtr value = op.any_value(i);
        if (value->sequence && value->sequence->items->size() != count) op.refuse("its sequences differ in length");
        values.push_back(value->sequence ? (*value->sequence->items)[k] : value);
      }
      const std::vector<ValuePtr> results = op.in.inlined(graph, values);
      for (size_t o = 0; o < outputs; ++o) {
        if (results[o]->sequence || results[o]->is_none) op.refuse("its graph gives what is no tensor");
        made[o].push_back(results[o]);
      }
    }
    for (size_t o = 0; o < outputs; ++o)
      if (op.wants(o)) know_items(op, o, made[o][0]->dtype, std::move(made[o]));
    return;
  }
  const size_t atoms = op.in.sizes().size();
  const std::string index = op.in.fresh_name("i");
  std::vector<ValuePtr> values;
  std::vector<std::string> lines;
  for (size_t i = 0; i < op.inputs(); ++i) {
    const ValuePtr value = op.any_value(i);
    values.push_back(value);
    if (!value->sequence) continue;
    if (!value->sequence->element) op.refuse("how many axes the elements of its sequence have is not known");
    Value type;
    type.name = graph.inputs[std::min(i, graph.inputs.size() - 1)].name;
    type.dtype = value->sequence->dtype;
    type.dims = *value->sequence->element;
    const std::string name = op.in.fresh_name(type.name);
    lines.push_back(fmt::format("let {} = {}[{}]", name, op.in.text(*value), index));
    values.back() = typed_value(op.in, type, name);
  }
  Importer::Body body = op.in.body(graph, values);
  std::vector<Value> types(outputs);
  std::vector<std::string> names(outputs), stores;
  op.in.within(body.block, [&] {
    for (size_t o = 0; o < outputs; ++o) {
      if (!op.wants(o)) continue;
      Value& result = *body.results[o];
      if (result.sequence || result.is_none) op.refuse("its graph gives what is no tensor");
      Dims dims = result.dims;
      for (Size& d : dims)
        if (!op.in.holds_outside(d, atoms)) d = unknown_size();
      types[o].name = op.node.outputs[o];
      types[o].sequence = std::make_shared<Sequence>(Sequence{result.dtype, dims, {}});
      names[o] = op.in.fresh_name(types[o].name);
      stores.push_back(fmt::format("{} += [{}]", names[o], op.in.typed_text(result)));
    }
  });
  lines.insert(lines.end(), body.block.lines.begin(), body.block.lines.end());
  lines.insert(lines.end(), stores.begin(), stores.end());
  for (size_t o = 0; o < outputs; ++o)
    if (op.wants(o)) op.in.write(fmt::format("var {} = list()", declared(op.in, types[o], names[o])));
  op.in.write(
      fmt::format("for {} in 0..len({}) {{\n{}\n}}", index, op.in.text(*op.any_value(0)), fmt::join(lines, "\n")));
  for (size_t o = 0; o < outputs; ++o)
    if (op.wants(o)) op.alias(o, typed_value(op.in, types[o], names[o]));
}

// ---- optional values

void optional(Op& op, const Row&) {
  if (op.has(0)) return op.alias(0, op.any_value(0));
  auto none = std::make_shared<Value>();
  none->name = op.node.outputs.at(0);
  none->is_none = true;
  op.alias(0, std::move(none));
}

void has_element(Op& op, const Row&) {
  op.know(0, DType::Bool, {{}, {Number::of(op.has(0) && !op.any_value(0)->is_none ? 1 : 0)}});
}

void get_element(Op& op, const Row&) {
  if (op.any_value(0)->is_none) op.refuse("its input is not there");
  op.alias(0, op.any_value(0));
}

} // namespace

std::vector<Row> sequence_rows() {
  return {
      {"ConcatFromSequence", 11, "", join},
      {"Optional", 15, "", optional},
      {"OptionalGetElement", 15, "", get_element},
      {"OptionalHasElement", 15, "", has_element},
      {"SequenceAt", 11, "", at},
      {"SequenceConstruct", 11, "", construct},
      {"SequenceEmpty", 11, "", empty},
      {"SequenceErase", 11, "", erase},
      {"SequenceInsert", 11, "", insert},
      {"SequenceLength", 11, "", length},
      {"SequenceMap", 17, "", map},
      {"SplitToSequence", 11, "", split},
  };
}

} // namespace tl::onnx
