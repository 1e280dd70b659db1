// What lists hold of values.
#include "vm/value.h"
#include <algorithm>
#include <cstdlib>
#include <new>

namespace tl {

Elements::~Elements() {
  for (size_t k = 0; k < size(); ++k)
    release(at(k));
  std::free(cells_);
}

void Elements::make_room(size_t count) {
  if (begin_ > 0 && begin_ >= room_ / 2) { // where the first ones were
    std::memmove(cells_, cells_ + begin_, size() * sizeof(Element));
    end_ -= std::exchange(begin_, 0);
    if (count <= room_) return;
  }
  const size_t room = std::max({begin_ + count, 2 * room_, size_t{4}});
  void* memory = std::realloc(static_cast<void*>(cells_), room * sizeof(Element));
  if (!memory) throw std::bad_alloc();
  cells_ = static_cast<Element*>(memory);
  room_ = room;
}

Elements::Element Elements::of_short(std::string_view text) const {
  Element e{Kind::Short, static_cast<DType>(text.size()), 0, {}, {}};
  std::memcpy(e.bytes(), text.data(), text.size());
  return e;
}

Elements::Element Elements::made_of(Value value) {
  if (value.is_plain_number()) return {Kind::Number, value.dtype, value.device, {}, value.scalar};
  if (value.kind == Value::Kind::Str) {
    pool_ = value.pool;
    Node* node = value.node;
    if (node->done() && !node->failure && node->text.size() <= kShort) return of_short(node->text);
    ++node->handles;
    Element e{Kind::Text, {}, 0, {}, {}};
    e.node = node;
    return e;
  }
  if (value.kind == Value::Kind::List && !value.failure) {
    Element e{Kind::List, {}, 0, {}, {}};
    e.list = std::exchange(value.list, nullptr);
    return e;
  }
  Element e{Kind::Value, {}, 0, {}, {}};
  e.value = new Value(std::move(value));
  return e;
}

void Elements::release(Element& e) {
  switch (e.kind) {
  case Kind::Nothing:
  case Kind::Number:
  case Kind::Short: break;
  case Kind::Text:
    if (--e.node->handles == 0) pool_->release_handles(e.node);
    break;
  case Kind::List:
    if (e.list && --e.list->handles == 0) delete e.list;
    break;
  case Kind::Value: delete e.value; break;
  }
}

bool Elements::are_numbers() const {
  return size() > 0 && std::all_of(cells_ + begin_, cells_ + end_,
                                   [](const Element& e) { return e.kind == Kind::Number && e.device == kNoDevice; });
}

std::optional<std::string_view> Elements::known_text(size_t k) const {
  const Element& e = at(k);
  if (e.kind == Kind::Short) return std::string_view(e.bytes(), static_cast<size_t>(e.dtype));
  if (e.kind == Kind::Text && e.node->done() && !e.node->failure) return e.node->text;
  return std::nullopt;
}

Value Elements::get(size_t k) const {
  const Element& e = at(k);
  Value value;
  switch (e.kind) {
  case Kind::Nothing: break;
  case Kind::Number: get_number(k, value); break;
  case Kind::Short: {
    Node* node = pool_->create();
    node->text.assign(e.bytes(), static_cast<size_t>(e.dtype));
    node->waiters.store(Node::done_mark(), std::memory_order_relaxed);
    return Value::of_node(*pool_, node, Value::Kind::Str);
  }
  case Kind::Text: return Value::of_node(*pool_, e.node, Value::Kind::Str);
  case Kind::List: return Value::of_list(e.list);
  case Kind::Value: return *e.value;
  }
  return value;
}

Value Elements::take(size_t k) {
  Value value = get(k);
  Element old = std::exchange(at(k), Element{Kind::Nothing, {}, 0, {}, {}});
  release(old);
  return value;
}

void Elements::put(size_t k, Value value) {
  Element old = std::exchange(at(k), made_of(std::move(value)));
  release(old); // last: with it may go what holds others
}

void Elements::push_back(Value value) {
  if (end_ == room_) make_room(size() + 1);
  cells_[end_] = made_of(std::move(value));
  ++end_;
}

void Elements::push_text(NodePool& pool, std::string&& text) {
  if (end_ == room_) make_room(size() + 1);
  pool_ = &pool;
  if (text.size() <= kShort) {
    cells_[end_++] = of_short(text);
    return;
  }
  Node* node = pool.create();
  node->text = std::move(text);
  node->waiters.store(Node::done_mark(), std::memory_order_relaxed);
  push_back(Value::of_node(pool, node, Value::Kind::Str));
}

void Elements::append(const Elements& other, size_t first, size_t count) {
  reserve(size() + count); // `other` may be this
  if (other.pool_) pool_ = other.pool_;
  for (size_t k = 0; k < count; ++k, ++end_)
    cells_[end_] = shared(other.at(first + k));
}

// Before them as many are free as there are, so that it takes no longer than at the end.
void Elements::prepend(const Elements& other) {
  if (other.pool_) pool_ = other.pool_;
  if (begin_ < other.size()) {
    const size_t count = size(), before = count + other.size() + 4;
    make_room(before + count);
    std::memmove(cells_ + before, cells_ + begin_, count * sizeof(Element));
    begin_ = before;
    end_ = before + count;
  }
  begin_ -= other.size();
  for (size_t k = 0; k < other.size(); ++k)
    at(k) = shared(other.at(k));
}

Elements::Element Elements::shared(const Element& e) const {
  Element same = e;
  if (e.kind == Kind::Text) ++e.node->handles;
  if (e.kind == Kind::List && e.list) ++e.list->handles;
  if (e.kind == Kind::Value) same.value = new Value(*e.value);
  return same;
}

void Elements::keep(size_t first, size_t count) {
  for (size_t k = 0; k < size(); ++k) {
    if (k == first) k += count;
    if (k < size()) release(at(k));
  }
  begin_ += first;
  end_ = begin_ + count;
}

} // namespace tl
