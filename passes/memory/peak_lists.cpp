// What operations on lists do with memory, as vm/list_ops.cpp has it.
#include "passes/memory/peak_machine.h"
#include "vm/io/list.h"
#include <algorithm>
#include <utility>

namespace tl::peak {

void Machine::append_many(uint32_t to, uint32_t from) {
  const std::vector<Alike> many = state_.lists[from].many;
  for (const Alike& alike : many) {
    for (const Value& leaf : alike.unit)
      state_.retain(leaf);
    state_.lists[to].many.push_back(alike);
  }
}

uint32_t Machine::own_list(const Instruction& i, size_t width) {
  const Value& value = in(i, 0);
  if (value.object != kNone && state_.lists[value.object].handles == 1 && i.in[0].last_use) return value.object;
  uint32_t from = value.object, made = state_.new_list(width);
  if (from == kNone) return made;
  state_.lists[made].width = state_.lists[from].width;
  for (const Value& element : state_.lists[from].values)
    state_.retain(element);
  state_.lists[made].values = state_.lists[from].values;
  append_many(made, from);
  return made;
}

void Machine::list(const Instruction& i) {
  auto give = [&](uint32_t made) {
    Value value = Value::list(made);
    state_.retain(value);
    give_away(i);
    state_.set(i.out[0], value);
    state_.release(value);
  };
  auto unknown = [&] { // what its elements hold from here on is not counted
    missing("what a list holds whose length or positions are not known");
    give(kNone);
  };
  auto append = [&](uint32_t to, const Value& value) {
    state_.retain(value);
    state_.lists[to].values.push_back(value);
  };
  auto known_list = [&](size_t k) { return in(i, k).object != kNone; };
  switch (i.host_op) {
  case HostOp::ListMake: {
    uint32_t made = state_.new_list(static_cast<size_t>(i.ints.at(0)));
    for (size_t k = 0; k < i.in.size(); ++k)
      append(made, in(i, k));
    return give(made);
  }
  case HostOp::ListLength: {
    Value length =
        known_list(0) ? Value::of(state_.lists[in(i, 0).object].length()) : found(DType::I64, "the length of a list");
    give_away(i);
    return state_.set(i.out[0], std::move(length));
  }
  case HostOp::ListSet: {
    std::optional<Scalar> at = in(i, 1).scalar();
    if (!known_list(0)) return give(kNone);
    if (!at || !state_.lists[in(i, 0).object].many.empty()) return unknown();
    size_t width = i.in.size() - 2;
    uint32_t made = own_list(i, width);
    for (size_t k = 0; k < width; ++k) {
      size_t place = static_cast<size_t>(at->as<int64_t>()) * width + k;
      if (place >= state_.lists[made].values.size()) return give(made); // fails
      state_.retain(in(i, 2 + k));
      Value old = std::exchange(state_.lists[made].values[place], in(i, 2 + k));
      state_.release(old);
    }
    return give(made);
  }
  case HostOp::ListAppend: {
    if (!known_list(0)) return give(kNone);
    uint32_t made = own_list(i, i.in.size() - 1);
    for (size_t k = 1; k < i.in.size(); ++k)
      append(made, in(i, k));
    return give(made);
  }
  case HostOp::ListConcat: {
    if (!known_list(0) || !known_list(1)) return unknown();
    uint32_t made = own_list(i, state_.lists[in(i, 1).object].width);
    std::vector<Value> more = state_.lists[in(i, 1).object].values;
    for (const Value& value : more)
      append(made, value);
    append_many(made, in(i, 1).object);
    return give(made);
  }
  default: break;
  }
  // ListSlice
  SliceBounds bounds;
  std::optional<int64_t>* parts[] = {&bounds.first, &bounds.last, &bounds.step};
  size_t next = 1;
  bool known = known_list(0) && state_.lists[in(i, 0).object].many.empty();
  for (size_t k = 0; k < 3; ++k) {
    if (!i.ints.at(k)) continue;
    std::optional<Scalar> bound = in(i, next++).scalar();
    known = known && bound;
    *parts[k] = bound ? bound->as<int64_t>() : 1;
  }
  if (!known) return known_list(0) ? unknown() : give(kNone);
  if (bounds.step == 0) return give(kNone); // fails
  const Elements from = state_.lists[in(i, 0).object];
  uint32_t part = state_.new_list(from.width);
  auto [start, count, step] = bounds.resolve(static_cast<int64_t>(from.values.size() / from.width));
  for (int64_t k = 0; k < count; ++k)
    for (size_t leaf = 0; leaf < from.width; ++leaf)
      append(part, from.values[static_cast<size_t>(start + k * step) * from.width + leaf]);
  give(part);
}

void Machine::list_get(const Instruction& i) {
  if (in(i, 0).object == kNone) return define(i);
  const Elements& list = state_.lists[in(i, 0).object];
  std::optional<Scalar> at = in(i, 1).scalar();
  if (!list.many.empty()) at.reset(); // where they are among the others is not known
  size_t width = i.out.size() - i.ints.size() / 2;
  size_t from = at ? static_cast<size_t>(at->as<int64_t>()) * width : 0;
  // At a place that is not known: any, if they are alike.
  std::vector<Value> all = list.values;
  for (const Alike& many : list.many)
    all.insert(all.end(), many.unit.begin(), many.unit.end());
  bool alike = all.size() >= width;
  for (size_t k = 0; alike && !at && k < all.size(); ++k) {
    const Value &a = all[k % width], &b = all[k];
    alike = a.kind == b.kind && a.dims == b.dims && a.kind != Value::Kind::List;
  }
  if (!alike || from + width > all.size()) {
    if (!all.empty()) missing("the memory of an element of a list whose position is not known");
    return define(i);
  }
  std::vector<Value> values(all.begin() + static_cast<long>(from), all.begin() + static_cast<long>(from + width));
  for (size_t k = 0; !at && k < width; ++k)
    if (values[k].is_scalar()) values[k] = found(values[k].dtype, "an element of a list", static_cast<int>(k));
  for (const Value& value : values)
    state_.retain(value);
  std::vector<Value> dims;
  for (size_t k = 0; k < i.ints.size(); k += 2)
    dims.push_back(Value::of(values.at(static_cast<size_t>(i.ints[k])).dims.at(static_cast<size_t>(i.ints[k + 1]))));
  give_away(i);
  for (size_t k = 0; k < width; ++k) {
    state_.set(i.out[k], values[k]);
    state_.release(values[k]);
  }
  for (size_t k = 0; k < dims.size(); ++k)
    state_.set(i.out[width + k], std::move(dims[k]));
}

// Of all of them together: they may differ in that size, so their memory tells it.
Size Machine::size_along(const Alike& alike, size_t axis) {
  const Value& each = alike.unit.at(0);
  if (axis >= each.dims.size()) return {};
  if (each.object != kNone && state_.blocks[each.object].many) {
    Size row = size_of(each.dtype);
    for (size_t k = 0; k < each.dims.size(); ++k)
      if (k != axis) row = row * each.dims[k];
    if (auto sum = divide_exactly(state_.blocks[each.object].bytes, row)) return *sum;
  }
  return alike.count * each.dims[axis];
}

void Machine::list_join(const Instruction& i) {
  const OutputDesc& desc = i.outputs.at(0);
  const bool scalars = i.ints.at(1) != 0 && desc.dims.size() == 1; // none of them are an empty vector
  const bool known = in(i, 0).object != kNone;
  const bool empty =
      known && state_.lists[in(i, 0).object].values.empty() && state_.lists[in(i, 0).object].many.empty();
  if (!known || (empty && !scalars)) {
    missing("a tensor that is joined from a list whose elements are not known");
    return define(i);
  }
  const Elements list = state_.lists[in(i, 0).object];
  std::vector<Value> parts = list.values;
  for (const Alike& alike : list.many)
    parts.insert(parts.end(), alike.unit.begin(), alike.unit.end());
  auto axis = static_cast<size_t>(i.ints.at(0));
  std::vector<Size> dims = parts.empty() ? std::vector<Size>() : parts[0].dims;
  if (i.ints.at(1) != 0) {
    dims.insert(dims.begin() + static_cast<long>(std::min(axis, dims.size())), list.length());
  } else if (axis < dims.size()) {
    Size sum;
    for (const Value& part : list.values)
      if (axis < part.dims.size()) sum = sum + part.dims[axis];
    for (const Alike& alike : list.many)
      sum = sum + size_along(alike, axis);
    dims[axis] = sum;
  }
  int16_t placed = kNoDevice;
  for (const Value& part : parts)
    if (placed == kNoDevice) placed = part.device;
  const size_t device = placed == kNoDevice ? 0 : static_cast<size_t>(placed);
  Value made = Value::tensor(desc.dtype, dims, allocate(device, desc.dtype, dims, bytes_of(desc.dtype, dims)));
  made.device = placed;
  state_.retain(made);
  note_peak(device, {}, 0);
  give_away(i);
  state_.set(i.out[0], made);
  state_.release(made);
  for (size_t k = 0; k + 1 < i.out.size() && k < dims.size(); ++k)
    state_.set(i.out[k + 1], Value::of(dims[k]));
}

} // namespace tl::peak
