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
