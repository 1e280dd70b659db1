// What the ledger counts, and what it hands on.
#include "vm/ledger.h"
#include "vm/operation.h"
#include <doctest/doctest.h>

using namespace tl;

TEST_CASE("running ahead has room for a quarter more than was held at once, and 1 MB") {
  constexpr uint64_t mb = 1 << 20;
  NodePool nodes;
  nodes.ledger.add_device();
  Pool pool(100 * mb);
  Node* node = nodes.create();
  nodes.retain(node);
  nodes.retain(node); // an operation in flight
  node->block = pool.allocate(8 * mb);
  nodes.ledger.charge(*node, 0, 8 * mb);
  CHECK(nodes.ledger.has_room(0, 8 * mb)); // `--sync` would hold both
  CHECK(nodes.ledger.credit(*node) == 8 * mb);
  nodes.ledger.dies(*node);
  CHECK(nodes.ledger.has_room(0, 3 * mb)); // 8 dying and 3: 8, a quarter and 1
  CHECK(!nodes.ledger.has_room(0, 4 * mb));

  Operation op;
  CHECK(!nodes.ledger.take(nodes, op, 0, 10 * mb)); // larger than what dies
  const std::byte* data = node->block.data;
  Block taken = nodes.ledger.take(nodes, op, 0, 4 * mb); // cut
  CHECK(taken.data == data);
  CHECK(taken.bytes == 4 * mb);
  REQUIRE(op.overwrites.size() == 1);
  CHECK(op.overwrites[0] == node);
  REQUIRE(op.workspaces.size() == 1);
  CHECK(op.workspaces[0]->data == data + 4 * mb);
  CHECK(!nodes.ledger.take(nodes, op, 0, 4 * mb)); // the rest dies only with `op`
  Pool::free(taken);
  nodes.release(op.workspaces[0]);
  for (int references = 0; references < 3; ++references)
    nodes.release(node);
  CHECK(pool.in_use() == 0);
}

TEST_CASE("several values that die make room for one that is larger than each") {
  constexpr uint64_t mb = 1 << 20;
  NodePool nodes;
  nodes.ledger.add_device();
  Pool pool(100 * mb);
  std::vector<Node*> dying;
  for (uint64_t size : {4, 6, 8}) {
    Node* node = dying.emplace_back(nodes.create());
    nodes.retain(node); // an operation in flight
    node->block = pool.allocate(size * mb);
    nodes.ledger.charge(*node, 0, size * mb);
  }
  for (Node* node : dying) {
    nodes.ledger.credit(*node);
    nodes.ledger.dies(*node);
  }
  CHECK(nodes.ledger.room(0, 10 * mb) == 18 * mb / 4 + mb); // of 18 MB that `--sync` held, and a quarter, and 1

  Operation op;
  const Block block = nodes.ledger.claim(nodes, op, 0, 14 * mb, pool);
  REQUIRE(block);
  CHECK(block.bytes == 14 * mb);
  CHECK(pool.in_use() == 23 * mb); // what there was room for counts at once, but half a MB for small ones
  REQUIRE(op.claims.size() == 2);  // the longest dead first
  CHECK(op.claims[0].node == dying[0]);
  CHECK(op.claims[0].bytes == 4 * mb);
  CHECK(op.claims[1].node == dying[1]);
  CHECK(op.claims[1].bytes == 5 * mb);
  CHECK(op.claims[1].given.data == block.data);

  for (Operation::Claim& claim : op.claims) {
    pool.make_room_by(claim.node->block, claim.bytes);
    nodes.release(claim.node);
  }
  block.data[14 * mb - 1] = std::byte{1};
  CHECK(pool.in_use() == (14 + 8 + 1) * mb);
  REQUIRE(op.workspaces.size() == 1); // the rest of the second
  CHECK(op.workspaces[0]->block.bytes == mb);
}
