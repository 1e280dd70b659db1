#include "vm/ledger.h"
#include "vm/operation.h"
#include <algorithm>
#include <vector>

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

uint64_t Ledger::room(int device, uint64_t bytes) const {
  const Account& account = accounts_[static_cast<size_t>(device)];
  const uint64_t most = std::max(account.most, account.now + Pool::class_bytes(bytes));
  const uint64_t bound = most + most / 4 + kSlack, used = account.now + account.dying.load(std::memory_order_relaxed);
  return bound - std::min(bound, used);
}

bool Ledger::has_room(int device, uint64_t bytes) const { return Pool::class_bytes(bytes) <= room(device, bytes); }

void Ledger::count_dying(Account& account, Node& node) {
  node.dying = node.block.bytes;
  account.dying.fetch_add(node.dying, std::memory_order_relaxed);
}

void Ledger::dies(Node& node) {
  Account& account = accounts_[static_cast<size_t>(node.account_of)];
  if (node.dying == 0) count_dying(account, node);
  account.by_size[node.dying].push_back({&node, node.generation, account.deaths++});
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

// A reference, if operations in flight still hold it: then nobody recycles it.
bool Ledger::revive(const Dying& dying) {
  if (dying.node->generation != dying.generation) return false;
  uint32_t refs = dying.node->refs.load(std::memory_order_relaxed);
  while (refs > 0 && !dying.node->refs.compare_exchange_weak(refs, refs + 1, std::memory_order_acq_rel)) {
  }
  return refs > 0;
}

// A reference on the first of these; null: there is none.
Node* Ledger::revive(Account& account, std::deque<Dying>& waiting) {
  while (!waiting.empty()) {
    const Dying first = waiting.front();
    waiting.pop_front();
    --account.entries;
    if (revive(first)) return first.node;
  }
  return nullptr;
}

// Cuts a block; what is left is workspace of `op`.
void Ledger::leave_rest(NodePool& nodes, Operation& op, int16_t device, Block& block, uint64_t bytes) {
  Node* remains = nodes.create();
  nodes.retain(remains);
  remains->block = block;
  remains->block.data += bytes;
  remains->block.bytes -= bytes;
  remains->data = remains->block.data;
  remains->account_of = device;
  count_dying(accounts_[static_cast<size_t>(device)], *remains);
  op.workspaces.push_back(remains);
  block.bytes = bytes;
  block.pool->reused(remains->block);
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
  if (block.bytes > wanted) leave_rest(nodes, op, node->account_of, block, wanted);
  block.pool->reused(block);
  return block;
}

Block Ledger::claim(NodePool& nodes, Operation& op, int device, uint64_t bytes, Pool& pool) {
  Account& account = accounts_[static_cast<size_t>(device)];
  const uint64_t wanted = Pool::class_bytes(bytes);
  if (wanted <= Pool::kLargestSmall) return {};
  constexpr uint64_t unit = Pool::kLargestSmall;                                         // whole pages of every block
  const uint64_t spare = room(device, bytes), own = spare - std::min(spare, kSlack / 2); // small ones need some, too
  const uint64_t fresh = std::min(own, pool.limit() - pool.in_use()) / unit * unit;
  if (fresh >= wanted) return {};
  std::vector<Dying> dying;
  uint64_t there = fresh;
  for (auto at = account.by_size.lower_bound(Pool::kLargestSmall + 1); at != account.by_size.end(); ++at) {
    dying.insert(dying.end(), at->second.begin(), at->second.end());
    there += at->first * at->second.size();
  }
  if (there < wanted) return {};
  std::sort(dying.begin(), dying.end(), [](const Dying& a, const Dying& b) { return a.number < b.number; });

  const size_t before = op.claims.size();
  uint64_t missing = wanted - fresh;
  for (size_t i = 0; i < dying.size() && missing > 0; ++i) {
    if (!revive(dying[i])) continue; // it has left room meanwhile
    const uint64_t part = std::min(missing, dying[i].node->block.bytes);
    op.claims.push_back({dying[i].node, part, {}});
    missing -= part;
  }
  const Block block = missing == 0 ? pool.allocate_later(bytes, fresh) : Block{};
  for (size_t i = before; i < op.claims.size(); ++i) {
    auto [node, part, given] = op.claims[i];
    if (!block) {
      nodes.release(node);
      continue;
    }
    std::deque<Dying>& same = account.by_size[node->dying];
    account.entries -= std::erase_if(same, [&](const Dying& each) { return each.node == node; });
    gone(*node);
    if (node->block.bytes > part + Pool::kLargestSmall)
      leave_rest(nodes, op, node->account_of, node->block, part);
    else if (node->block.bytes > part) { // too little to keep: dying until `op` begins
      node->dying = node->block.bytes - part;
      account.dying.fetch_add(node->dying, std::memory_order_relaxed);
    }
  }
  if (block)
    op.claims.back().given = block;
  else
    op.claims.resize(before);
  return block;
}

} // namespace tl
