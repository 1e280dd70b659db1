#include "vm/ledger.h"
#include "vm/operation.h"
#include <algorithm>

namespace tl {

void Ledger::charge(Node& node, int device, uint64_t bytes) {
  Account& account = accounts_[static_cast<size_t>(device)];
  node.account_of = static_cast<int16_t>(device);
  node.charged = Pool::class_bytes(bytes);
  account.now += node.charged;
  account.most = std::max(account.most, account.now);
}

void Ledger::charge_once(int device, uint64_t bytes) {
  Account& account = accounts_[static_cast<size_t>(device)];
  account.most = std::max(account.most, account.now + Pool::class_bytes(bytes));
}

uint64_t Ledger::credit(Node& node) {
  const uint64_t charged = std::exchange(node.charged, 0);
  if (charged > 0) accounts_[static_cast<size_t>(node.account_of)].now -= charged;
  return charged;
}

void Ledger::take_over(Node& from, Node& to) {
  to.account_of = from.account_of;
  to.charged = std::exchange(from.charged, 0);
}

bool Ledger::has_room(int device, uint64_t bytes) const {
  const Account& account = accounts_[static_cast<size_t>(device)];
  const uint64_t needed = account.now + Pool::class_bytes(bytes), most = std::max(account.most, needed);
  return needed + account.dying.load(std::memory_order_relaxed) <= most + most / 4 + kSlack;
}

void Ledger::dies(Node& node) {
  Account& account = accounts_[static_cast<size_t>(node.account_of)];
  node.dying = node.block.bytes;
  account.dying.fetch_add(node.dying, std::memory_order_relaxed);
  account.by_size[node.dying].push_back({&node, node.generation});
  if (++account.entries > account.most_entries) forget_gone(account);
}

void Ledger::gone(Node& node) {
  if (const uint64_t bytes = std::exchange(node.dying, 0); bytes > 0)
    accounts_[static_cast<size_t>(node.account_of)].dying.fetch_sub(bytes, std::memory_order_relaxed);
}

// So that entries stay as few as operations in flight, whatever order these end in.
void Ledger::forget_gone(Account& account) {
  account.entries = 0;
  for (auto at = account.by_size.begin(); at != account.by_size.end();) {
    std::erase_if(at->second, [](const Dying& each) {
      return each.node->generation != each.generation || each.node->refs.load(std::memory_order_relaxed) == 0;
    });
    account.entries += at->second.size();
    at = at->second.empty() ? account.by_size.erase(at) : std::next(at);
  }
  account.most_entries = std::max(kFewEntries, 2 * account.entries);
}

// A reference on the first of these that operations in flight still hold; null: there is none.
Node* Ledger::revive(Account& account, std::deque<Dying>& waiting) {
  while (!waiting.empty()) {
    const Dying first = waiting.front();
    waiting.pop_front();
    --account.entries;
    if (first.node->generation != first.generation) continue;
    uint32_t refs = first.node->refs.load(std::memory_order_relaxed);
    while (refs > 0 && !first.node->refs.compare_exchange_weak(refs, refs + 1, std::memory_order_acq_rel)) {
    }
    if (refs > 0) return first.node; // nobody recycles it now
  }
  return nullptr;
}

Block Ledger::take(NodePool& nodes, Operation& op, int device, uint64_t bytes) {
  Account& account = accounts_[static_cast<size_t>(device)];
  const uint64_t wanted = Pool::class_bytes(bytes);
  Node* node = nullptr;
  if (auto same = account.by_size.find(wanted); same != account.by_size.end()) node = revive(account, same->second);
  if (wanted > Pool::kLargestSmall)
    for (auto at = account.by_size.lower_bound(wanted + Pool::kLargestSmall + 1); !node && at != account.by_size.end();)
      if (node = revive(account, at->second); !node) at = account.by_size.erase(at);
  if (!node) return {};

  gone(*node);
  Block block = std::exchange(node->block, {});
  op.overwrites.push_back(node); // with the reference
  if (const uint64_t rest = block.bytes - wanted; rest > 0) {
    Node* remains = nodes.create();
    nodes.retain(remains);
    remains->block = block;
    remains->block.data += wanted;
    remains->block.bytes = rest;
    remains->data = remains->block.data;
    remains->account_of = node->account_of;
    op.workspaces.push_back(remains);
    block.bytes = wanted;
    block.pool->reused(remains->block);
  }
  block.pool->reused(block);
  return block;
}

} // namespace tl
