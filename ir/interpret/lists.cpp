// Lists, and operations on text.
#include "abi/device.h"
#include "ir/interpret/interpreter.h"
#include "vm/io/io.h"
#include "vm/io/list.h"
#include "vm/io/text.h"
#include <algorithm>

namespace tl::ir {

std::shared_ptr<List> Interpreter::own_list(const Node& n, Frame& frame) {
  Cell taken = take(frame, n.operands[0]);
  return taken.list.use_count() == 1 ? std::move(taken.list) : std::make_shared<List>(*taken.list);
}

void Interpreter::list(const Function& f, const Node& n, Frame& frame) {
  auto in = [&](size_t i) -> Cell& { return frame[n.operands[i].index]; };
  // An element may have failed; the list and its indices must not.
  size_t needed = n.operands.size();
  if (n.op == Op::ListMake) needed = 0;
  if (n.op == Op::ListAppend) needed = 1;
  if (n.op == Op::ListSet) needed = 2;
  Poison poison;
  for (size_t i = 0; i < needed; ++i)
    poison = first(poison, in(i).poison);
  if (poison) return poison_results(n, frame, poison);
  Cell& out = frame[n.results[0].index];
  auto leaves = [&](List& into, size_t from) {
    for (size_t i = from; i < n.operands.size(); ++i)
      into.values.push_back(in(i));
  };
  switch (n.op) {
  case Op::ListMake: {
    auto made = std::make_shared<List>();
    made->width = static_cast<size_t>(n.as<ListMakeAttrs>().width);
    leaves(*made, 0);
    out = cell(std::move(made));
    return;
  }
  case Op::ListLength: out = cell(Data::of(in(0).list->length())); return;
  case Op::ListGet: {
    std::shared_ptr<List> from = in(0).list;
    auto at = static_cast<size_t>(in(1).data.i64());
    const std::vector<LeafAxis>& sizes = n.as<ListGetAttrs>().sizes;
    size_t width = n.results.size() - sizes.size();
    if (at >= from->values.size() / from->width) fault("an index of a list is out of range");
    for (size_t i = 0; i < width; ++i)
      frame[n.results[i].index] = from->values[at * from->width + i];
    for (size_t i = 0; i < sizes.size(); ++i) {
      const Cell& leaf = from->values[at * from->width + static_cast<size_t>(sizes[i].leaf)];
      Cell& size = frame[n.results[width + i].index];
      size = leaf.poison ? Cell{} : cell(Data::of(leaf.data.dims()[static_cast<size_t>(sizes[i].axis)]));
      size.poison = leaf.poison;
    }
    return;
  }
  case Op::ListSet: {
    auto at = static_cast<size_t>(in(1).data.i64());
    std::shared_ptr<List> made = own_list(n, frame);
    for (size_t i = 2; i < n.operands.size(); ++i)
      made->values.at(at * made->width + i - 2) = in(i);
    out = cell(std::move(made));
    return;
  }
  case Op::ListAppend: {
    std::shared_ptr<List> made = own_list(n, frame);
    if (made->values.empty()) made->width = static_cast<size_t>(n.as<ListAppendAttrs>().width);
    leaves(*made, 1);
    out = cell(std::move(made));
    return;
  }
  case Op::ListConcat: {
    std::shared_ptr<List> more = in(1).list;
    if (more->values.empty()) {
      out = Cell(in(0));
      return;
    }
    std::shared_ptr<List> made = own_list(n, frame);
    made->width = more->width;
    std::vector<Cell> added = more->values; // it may be the same list
    made->values.insert(made->values.end(), added.begin(), added.end());
    out = cell(std::move(made));
    return;
  }
  case Op::ListSlice: {
    SliceBounds bounds;
    const auto& given = n.as<ListSliceAttrs>();
    size_t next = 1;
    if (given.first) bounds.first = in(next++).data.i64();
    if (given.last) bounds.last = in(next++).data.i64();
    if (given.step) bounds.step = in(next).data.i64();
    if (bounds.step == 0) {
      out = {};
      out.poison = fail({"WrongIndex", "the step of a slice is 0", "", n.loc, 3, {}});
      return;
    }
    const List& from = *in(0).list;
    auto made = std::make_shared<List>();
    made->width = from.width;
    auto [start, count, step] = bounds.resolve(from.length());
    for (int64_t k = 0; k < count; ++k)
      for (size_t leaf = 0; leaf < from.width; ++leaf)
        made->values.push_back(from.values[static_cast<size_t>(start + k * step) * from.width + leaf]);
    out = cell(std::move(made));
    return;
  }
  case Op::ListJoin: return list_join(f, n, frame);
  default: fault("no operation on lists");
  }
}

void Interpreter::list_join(const Function& f, const Node& n, Frame& frame) {
  const List& from = *frame[n.operands[0].index].list;
  Poison poison;
  std::vector<Dims> parts;
  for (const Cell& element : from.values) {
    poison = first(poison, element.poison);
    parts.push_back(element.data.is_scalar() ? Dims{} : element.data.dims());
  }
  if (poison) return poison_results(n, frame, poison);
  const auto& a = n.as<ListJoinAttrs>();
  JoinedSizes joined = join_sizes(parts, static_cast<size_t>(a.axis), a.stack, n.results.size() - 1);
  if (!joined.problem.empty()) return poison_results(n, frame, fail_at(module_.sites[a.site], joined.problem));
  int16_t device = kNoDevice;
  for (const Cell& element : from.values) {
    if (device != kNoDevice && element.device != kNoDevice && device != element.device) {
      RuntimeError error = mixed_devices(device, element.device, n.loc);
      return poison_results(n, frame, fail_at({error.kind, "", error.hint, error.loc, {}}, error.message));
    }
    if (device == kNoDevice) device = element.device;
  }
  const DType type = f[n.results[0]].type.dtype;
  HostTensor made = HostTensor::make(type, joined.dims);
  std::vector<HostTensor> tensors;
  std::vector<const std::byte*> bytes;
  for (const Cell& element : from.values) {
    tensors.push_back(element.data.host());
    bytes.push_back(tensors.back().data());
  }
  join_parts(joined, size_of(type), bytes, made.data());
  frame[n.results[0].index] = cell(Data::of(std::move(made)));
  frame[n.results[0].index].device = device;
  for (size_t i = 0; i < joined.dims.size(); ++i)
    frame[n.results[1 + i].index] = cell(Data::of(joined.dims[i]));
}

void Interpreter::text(const Function& f, const Node& n, Frame& frame) {
  Poison poison;
  std::vector<TextInput> arguments;
  for (ValueId id : n.operands) {
    const Cell& value = frame[id.index];
    poison = first(poison, value.poison);
    if (value.poison) continue;
    if (value.text) {
      arguments.emplace_back(std::string_view(*value.text));
    } else if (value.list) {
      std::vector<std::string_view> texts;
      for (const Cell& element : value.list->values) {
        poison = first(poison, element.poison);
        if (element.text) texts.emplace_back(*element.text);
      }
      arguments.emplace_back(std::move(texts));
    } else if (f[id].type.is_scalar()) {
      arguments.emplace_back(value.data.i64());
    } else {
      const HostTensor& t = value.data.tensor;
      arguments.emplace_back(std::string_view(reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.count())));
    }
  }
  if (poison) return poison_results(n, frame, poison);
  const Type& type = f[n.results[0]].type;
  TextOutput result;
  try {
    const auto& a = n.as<TextAttrs>();
    const std::shared_ptr<const std::string>& whole = frame[n.operands[0].index].text;
    const bool counts = a.op == TextOp::Length || a.op == TextOp::At || a.op == TextOp::Slice;
    if (counts && whole != indexed_text_) {
      indexed_text_ = whole;
      text_index_.emplace(*whole);
    }
    result = eval_text(a.op, type.dtype, arguments, a.bounds, counts ? &*text_index_ : nullptr);
  } catch (const IoError& error) {
    return poison_results(n, frame, fail({error.kind, error.what(), "", n.loc, 3, {}}));
  }
  Cell& out = frame[n.results[0].index];
  if (const auto* scalar = std::get_if<Scalar>(&result)) {
    out = cell(Data::of(type.dtype, *scalar));
  } else if (auto* texts = std::get_if<std::vector<std::string>>(&result)) {
    auto made = std::make_shared<List>();
    for (std::string& t : *texts)
      made->values.push_back(cell(std::move(t)));
    out = cell(std::move(made));
  } else if (type.kind == Type::Kind::Str) {
    out = cell(std::get<std::string>(std::move(result)));
  } else {
    const auto& bytes = std::get<std::string>(result);
    HostTensor t = HostTensor::make(DType::U8, {static_cast<int64_t>(bytes.size())});
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(t.data()));
    int64_t count = t.dims[0];
    out = cell(Data::of(std::move(t)));
    frame[n.results[1].index] = cell(Data::of(count));
  }
}

} // namespace tl::ir
