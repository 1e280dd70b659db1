#include "vm/value.h"
#include <algorithm>
#include <cstdlib>
#include <new>

namespace tl {

void Dims::leave() {
  if (--sizes_->users == 0) std::free(sizes_);
}

void Dims::make_own() {
  const uint32_t rank = sizes_ ? sizes_->rank : 0, room = std::max<uint32_t>(4, 2 * rank);
  void* memory = std::malloc(sizeof(Sizes) + room * sizeof(int64_t));
  if (!memory) throw std::bad_alloc();
  auto* own = new (memory) Sizes{1, rank, room};
  if (rank) std::copy_n(sizes_->data(), rank, own->data());
  if (sizes_) leave();
  sizes_ = own;
}

void Value::assign(const Value& other) {
  if (this != &other) assign(Value(other)); // which may be an element of a list that goes
}

void Value::assign(Value&& other) noexcept {
  if (this == &other) return;
  reset();
  take_head(other);
  other.kind = Kind::Empty;
  scalar = other.scalar;
  failure = std::move(other.failure);
  node = std::exchange(other.node, nullptr);
  offset = other.offset;
  dims = std::move(other.dims);
  pool = other.pool;
  list = std::exchange(other.list, nullptr);
}

void Value::release() {
  if (node && --node->handles == 0) pool->release_handles(node);
  node = nullptr;
  if (list && --list->handles == 0) delete list;
  list = nullptr;
  failure = {};
  dims = {};
}

Value Value::of_list(List* list) {
  Value v;
  v.set_head(Kind::List, {}, kNoDevice);
  v.list = list;
  if (list) ++list->handles;
  return v;
}

Value Value::of_node(NodePool& pool, Node* node, Kind kind, DType type, Dims dims, int64_t offset) {
  Value v;
  v.set_head(kind, type, kNoDevice);
  v.node = node;
  v.offset = offset;
  v.dims = std::move(dims);
  v.pool = &pool;
  if (node->handles++ == 0) pool.retain(node);
  return v;
}

Node* NodePool::create() {
  if (!free_) free_ = returned_.exchange(nullptr, std::memory_order_acquire);
  if (!free_) {
    const size_t count = slabs_.empty() ? 16 : 64; // calls of libraries are often tiny
    slabs_.push_back(std::make_unique<Node[]>(count));
    for (size_t i = 0; i < count; ++i) {
      slabs_.back()[i].next_free = free_;
      free_ = &slabs_.back()[i];
    }
  }
  Node* node = std::exchange(free_, free_->next_free);
  node->waiters.store(nullptr, std::memory_order_relaxed);
  node->readers.store(0, std::memory_order_relaxed);
  node->exclusive = nullptr;
  ++node->generation;
  node->card = -1;
  node->data = nullptr;
  node->record = node->maker = 0;
  node->loc = {};
  return node;
}

void NodePool::add_replica(Node& node, Replica replica) {
  if (replica.node->handles++ == 0) retain(replica.node);
  replica.next = node.replicas;
  node.replicas = new Replica(replica);
}

void NodePool::drop_replicas(Node& node) {
  while (Replica* replica = node.replicas) {
    node.replicas = replica->next;
    if (--replica->node->handles == 0) release_handles(replica->node);
    delete replica;
  }
}

void NodePool::empty(Node& node) {
  Pool::free(node.block);
  ledger.gone(node);
  if (node.reserved) node.account->release(std::exchange(node.reserved, 0));
  node.external.reset();
  node.failure = {};
  node.launch_failure = {};
  node.text.clear();
}

void NodePool::recycle(Node* node) {
  empty(*node);
  Node* head = returned_.load(std::memory_order_relaxed);
  do
    node->next_free = head;
  while (!returned_.compare_exchange_weak(head, node, std::memory_order_release, std::memory_order_relaxed));
}

} // namespace tl
