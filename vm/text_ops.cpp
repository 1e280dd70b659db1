// Operations on text.
#include "vm/interpreter.h"
#include "vm/io/input_lines.h"
#include "vm/io/io.h"
#include "vm/io/list.h"
#include "vm/io/text.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl {

constexpr size_t kBriefText = 64 << 10; // bytes that take microseconds

Value Interpreter::text_value(std::string text) {
  Node* node = engine_.nodes.create();
  node->text = std::move(text);
  node->waiters.store(Node::done_mark(), std::memory_order_relaxed);
  return Value::of_node(engine_.nodes, node, Value::Kind::Str);
}

const TextIndex* Interpreter::index_of(const Node& text) {
  constexpr size_t is_short = 64; // counted as fast as it is found here
  if (text.text.size() < is_short) return nullptr;
  for (const IndexedText& known : indexed_texts_)
    if (known.node == &text && known.generation == text.generation) return &*known.index;
  IndexedText& place = indexed_texts_[next_indexed_++ % indexed_texts_.size()];
  place.node = &text;
  place.generation = text.generation;
  return &place.index.emplace(text.text);
}

static bool is_known(const Value& text) {
  return text.kind == Value::Kind::Str && text.node->done() && !text.node->failure;
}

bool Interpreter::part_here(const Instruction& i) {
  const Value& from = in(i, 0);
  if (!is_known(from)) return false;
  for (size_t k = 1; k < i.in.size(); ++k)
    if (!in(i, k).is_plain_number()) return false;
  const std::string& text = from.node->text;
  const TextIndex* index = index_of(*from.node);
  if (index ? !index->is_plain()
            : std::any_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) < 0; }))
    return false;
  const auto length = static_cast<int64_t>(text.size());
  Value made;
  switch (static_cast<TextOp>(i.index)) {
  case TextOp::Length: made = Value::of_scalar(DType::I64, Scalar::of(length)); break;
  case TextOp::At: {
    auto k = in(i, 1).scalar.as<int64_t>();
    k += k < 0 ? length : 0;
    if (k < 0 || k >= length) return false;
    made = text_value(std::string(1, text[static_cast<size_t>(k)]));
    break;
  }
  case TextOp::Slice: {
    if (i.ints.at(2)) return false; // a step
    SliceBounds bounds;
    size_t next = 1;
    if (i.ints[0]) bounds.first = in(i, next++).scalar.as<int64_t>();
    if (i.ints[1]) bounds.last = in(i, next).scalar.as<int64_t>();
    const auto part = bounds.resolve(length);
    const auto count = static_cast<size_t>(std::max<int64_t>(0, part.count));
    made = text_value(text.substr(count ? static_cast<size_t>(part.start) : 0, count));
    break;
  }
  default: return false;
  }
  give_away(i);
  set(i.out[0], std::move(made));
  return true;
}

// As an operation it would take many times as long, unless the texts are long. What fails goes the way of all.
bool Interpreter::text_here(const Instruction& i) {
  const auto op = static_cast<TextOp>(i.index);
  const OutputDesc& desc = i.outputs.at(0);
  if (op == TextOp::Bytes || op == TextOp::Pack) return false;
  if (op == TextOp::Compare && is_known(in(i, 0)) && is_known(in(i, 1))) {
    const int order = in(i, 0).node->text.compare(in(i, 1).node->text); // bytes of UTF-8 are in the order of characters
    give_away(i);
    set(i.out[0], Value::of_scalar(DType::I64, Scalar::of(static_cast<int64_t>(order < 0 ? -1 : order > 0))));
    return true;
  }
  const bool is_asked = op == TextOp::Length || op == TextOp::At || op == TextOp::Slice;
  if (is_asked && part_here(i)) return true;
  given_.clear();
  const Node* first = nullptr;
  size_t bytes = 0;
  for (size_t k = 0; k < i.in.size(); ++k) {
    const Value& value = in(i, k);
    if (value.failure) return false;
    if (value.kind == Value::Kind::Scalar) {
      const auto number = value.scalar.as<int64_t>();
      given_.emplace_back(number);
      if (op == TextOp::Repeat && number > 0 && __builtin_mul_overflow(bytes, static_cast<size_t>(number), &bytes))
        return false;
    } else if (value.kind == Value::Kind::List) {
      std::vector<std::string_view> texts;
      if (value.list) texts.reserve(value.list->values.size());
      for (size_t n = 0; value.list && n < value.list->values.size(); ++n) {
        const std::optional<std::string_view> text = value.list->values.known_text(n);
        if (!text) return false;
        texts.push_back(*text);
      }
      given_.emplace_back(std::move(texts));
    } else if (value.kind == Value::Kind::Tensor && devices_.cards() == 0 && value.node->done() &&
               !value.node->failure) {
      const auto count = static_cast<size_t>(value.dims.count().value_or(0));
      given_.emplace_back(std::string_view(reinterpret_cast<const char*>(value.node->data + value.offset), count));
      bytes += count;
    } else if (is_known(value)) {
      given_.emplace_back(std::string_view(value.node->text));
      bytes += value.node->text.size();
      if (k == 0) first = value.node;
    } else {
      return false;
    }
  }
  if (desc.kind == OutputDesc::Kind::Str && !is_asked && bytes > kBriefText) return false;
  Value made;
  try {
    TextOutput result = eval_text(op, i.dtype, given_, i.ints, is_asked && first ? index_of(*first) : nullptr);
    if (const auto* scalar = std::get_if<Scalar>(&result))
      made = Value::of_scalar(desc.dtype, *scalar);
    else if (auto* text = std::get_if<std::string>(&result))
      made = text_value(std::move(*text));
    else
      made = text_list(std::get<std::vector<std::string>>(std::move(result)));
  } catch (const IoError&) {
    return false;
  }
  give_away(i);
  set(i.out[0], std::move(made));
  return true;
}

Value Interpreter::text_list(std::vector<std::string> texts) {
  auto* list = new List;
  Value result = Value::of_list(list);
  list->values.reserve(texts.size());
  for (std::string& text : texts)
    list->values.push_text(engine_.nodes, std::move(text));
  return result;
}

bool Interpreter::can_grow(const Instruction& i) {
  if (i.in.empty() || !i.in[0].last_use) return false;
  const Value& text = in(i, 0);
  if (text.kind != Value::Kind::Str || text.node->handles != 1) return false;
  for (size_t k = 1; k < i.in.size(); ++k)
    if (in(i, k).node == text.node) return false;
  return true;
}

bool Interpreter::format_here(const Instruction& i) {
  const FormatTemplate& format = program_.formats.at(i.index);
  if (format.specs.size() != i.in.size()) malformed("a format with other holes than operands");
  size_t bytes = 0;
  for (size_t k = 0; k < i.in.size(); ++k) {
    const Value& value = in(i, k);
    if (value.failure || (value.kind != Value::Kind::Scalar && !is_known(value))) return false;
    if (value.node) bytes += value.node->text.size();
  }
  // Nobody reads it: no operation has it, for the handles together are its only reference.
  Node* grows = can_grow(i) && starts_with_first(format) ? in(i, 0).node : nullptr;
  if (grows && grows->refs.load(std::memory_order_acquire) != 1) grows = nullptr;
  if (grows) bytes -= grows->text.size();
  if (bytes > kBriefText) return false;
  std::string own;
  std::string& text = grows ? grows->text : own;
  const size_t before = text.size();
  try {
    for (size_t k = grows ? 1 : 0; k < i.in.size(); ++k) {
      text += format.literals[k];
      const Value& value = in(i, k);
      if (value.kind == Value::Kind::Scalar)
        text += format_scalar(value.dtype, value.scalar, format.specs[k]);
      else if (format.specs[k].empty())
        text += value.node->text;
      else
        text += format_string(value.node->text, format.specs[k]);
    }
    text += format.literals.back();
  } catch (const std::exception&) {
    text.resize(before);
    return false;
  }
  Value made = grows ? std::move(in(i, 0)) : text_value(std::move(own));
  if (grows)
    for (IndexedText& known : indexed_texts_)
      if (known.node == grows && known.generation == grows->generation) known.index->grow(grows->text);
  give_away(i);
  set(i.out[0], std::move(made));
  return true;
}

void Interpreter::text(const Instruction& i) {
  auto op = static_cast<TextOp>(i.index);
  const OutputDesc& desc = i.outputs.at(0);
  FailureRef failure;
  // Text from text is made behind the program's back; everything else must be known here.
  bool later = desc.kind == OutputDesc::Kind::Str;
  std::vector<Operand> given; // texts and elements of lists stand for themselves, in order
  std::vector<Value> held;    // those of lists, until the operation is submitted
  std::vector<size_t> lengths;
  Operation* issued = nullptr;
  if (later) {
    issued = operation();
    issued->kind = Operation::Kind::Task;
    issued->small = true;
  }
  std::vector<std::function<TextInput(const std::vector<Operand>&)>> inputs;
  auto add = [&](const Value& value) {
    take_first(failure, value.failure);
    if (later) {
      given.push_back(operand(*issued, value));
    } else {
      const Value here = readable(value, 0);
      if (here.node) {
        wait_for(here.node);
        take_first(failure, here.node->failure);
      }
      auto dims = here.dims.view();
      given.push_back({here.kind, here.dtype, here.scalar, here.failure, here.node, here.offset,
                       std::vector<int64_t>(dims.begin(), dims.end())});
    }
    return given.size() - 1;
  };
  auto input_of = [](const Operand& x) -> TextInput {
    if (x.kind == Value::Kind::Str) return std::string_view(x.node->text);
    if (x.kind == Value::Kind::Scalar) return x.scalar.as<int64_t>();
    int64_t count = 1;
    for (int64_t d : x.dims)
      count *= d;
    return std::string_view(reinterpret_cast<const char*>(x.node->data + x.offset), static_cast<size_t>(count));
  };
  for (size_t k = 0; k < i.in.size(); ++k) {
    const Value& value = in(i, k);
    if (value.kind != Value::Kind::List) {
      size_t at = add(value);
      inputs.push_back([at, input_of](const std::vector<Operand>& all) { return input_of(all[at]); });
      continue;
    }
    take_first(failure, value.failure);
    size_t from = given.size();
    for (size_t n = 0; value.list && n < value.list->values.size(); ++n)
      add(held.emplace_back(value.list->values.get(n)));
    size_t to = given.size();
    inputs.push_back([from, to](const std::vector<Operand>& all) -> TextInput {
      std::vector<std::string_view> texts;
      for (size_t n = from; n < to; ++n)
        texts.emplace_back(all[n].node->text);
      return texts;
    });
  }
  auto evaluate = [op, type = i.dtype, ints = i.ints, inputs](const std::vector<Operand>& all) {
    std::vector<TextInput> arguments;
    for (const auto& input : inputs)
      arguments.push_back(input(all));
    return eval_text(op, type, arguments, ints);
  };
  std::vector<Value> values;
  if (later) {
    Node* node = engine_.nodes.create();
    node->loc = i.loc;
    engine_.add_output(*issued, node);
    if (failure) issued->failure = failure;
    issued->task = [evaluate, given = std::move(given), node](Operation&) {
      node->text = std::get<std::string>(evaluate(given));
    };
    values.push_back(Value::of_node(engine_.nodes, node, Value::Kind::Str));
    engine_.submit(issued);
    give_results(i, std::move(values));
    return;
  }
  TextOutput result;
  if (!failure) {
    try {
      result = evaluate(given);
    } catch (const IoError& e) {
      RuntimeError error{e.kind, e.what(), "", i.loc, 3, {}};
      Engine::add_calls(error, call_chain());
      failure = fail(std::move(error));
    }
  }
  if (failure) {
    for (size_t k = 0; k < i.out.size(); ++k)
      values.push_back(poisoned(i.outputs.at(k), failure));
  } else if (const auto* scalar = std::get_if<Scalar>(&result)) {
    values.push_back(Value::of_scalar(desc.dtype, *scalar));
  } else if (auto* texts = std::get_if<std::vector<std::string>>(&result)) {
    values.push_back(text_list(std::move(*texts)));
  } else { // bytes
    const auto& bytes = std::get<std::string>(result);
    HostTensor x = HostTensor::make(DType::U8, {static_cast<int64_t>(bytes.size())});
    std::memcpy(x.data(), bytes.data(), bytes.size());
    Node* node = engine_.nodes.create();
    node->external = x.bytes;
    node->data = x.bytes.get();
    node->waiters.store(Node::done_mark(), std::memory_order_relaxed);
    Dims dims;
    dims.push_back(x.dims[0]);
    values.push_back(Value::of_node(engine_.nodes, node, Value::Kind::Tensor, DType::U8, dims));
    values.push_back(Value::of_scalar(DType::I64, Scalar::of(x.dims[0])));
  }
  give_results(i, std::move(values));
}

void Interpreter::read_line(const Instruction& i) {
  Operation* op = effect();
  Node* node = engine_.nodes.create();
  engine_.add_output(*op, node);
  op->lane = kFileLane;
  op->task = [node, this](Operation& self) {
    console_.flush(); // a question comes before its answer
    if (!wait_for_input(options_.interrupt)) return self.errors.record(&self.errors, kInterrupted, 0, 0, 0);
    node->text = read_input_line();
  };
  std::vector<Value> values;
  values.push_back(Value::of_node(engine_.nodes, node, Value::Kind::Str));
  engine_.submit(op);
  give_results(i, std::move(values));
}

} // namespace tl
