// What the audit finds in runs that go wrong, told to it by hand: blocks are numbers here, nothing runs.
#include "vm/audit.h"
#include "vm/operation.h"
#include <algorithm>
#include <deque>
#include <doctest/doctest.h>

using namespace tl;

namespace {

// An engine that makes what mistakes it is told to. Each operation is a kernel with one output.
class Told {
public:
  Audit audit;

  Node* tensor(uint64_t at, uint64_t bytes = 64) { // with a block of its own
    Node& node = nodes_.emplace_back();
    node.block = {reinterpret_cast<std::byte*>(at), bytes, nullptr};
    node.data = node.block.data;
    audit.allocated(node.block);
    return &node;
  }
  Node* taking_over(Node* from) {
    Node& node = nodes_.emplace_back();
    node.block = std::exchange(from->block, {});
    node.data = from->data;
    return &node;
  }
  struct How {
    std::vector<Node*> undeclared = {}, overwrites = {};
    bool reads = true, alone = false;
  };
  uint32_t kernel(const std::vector<Node*>& inputs, Node* output) { return kernel(inputs, output, How()); }
  uint32_t kernel(const std::vector<Node*>& inputs, Node* output, const How& how) {
    Operation op;
    op.kind = Operation::Kind::Kernel;
    for (Node* in : inputs) {
      op.inputs.push_back({in, how.reads});
      op.args.push_back(in->data);
    }
    for (Node* in : how.undeclared)
      op.args.push_back(in->data);
    op.args.push_back(output->data);
    op.outputs = {output};
    op.overwrites = how.overwrites;
    output->maker = audit.submitted(op, how.alone);
    return output->maker;
  }
  void run(uint32_t number) {
    audit.began(number);
    audit.ended(number);
  }
  void free(Node* node) { audit.freed(std::exchange(node->block, {})); }
  bool finds(std::string_view what) const {
    return std::any_of(audit.findings().begin(), audit.findings().end(),
                       [&](const Audit::Finding& f) { return f.what.find(what) != std::string::npos; });
  }

private:
  std::deque<Node> nodes_;
};

} // namespace

TEST_CASE("an audit is content with chains, readers side by side, memory taken over and used again") {
  Told t;
  Node* x = t.tensor(0x1000);
  uint32_t make = t.kernel({}, x);
  Node *a = t.tensor(0x2000), *b = t.tensor(0x3000);
  uint32_t first = t.kernel({x}, a), second = t.kernel({x}, b);
  Node* y = t.taking_over(x);
  uint32_t last = t.kernel({x}, y, {.overwrites = {x}, .reads = false});
  for (uint32_t i : {make, second, first, last})
    t.run(i);
  t.free(a);
  Node* again = t.tensor(0x2000); // what a's holders have read or written is finished by now
  t.run(t.kernel({y}, again));
  CHECK(t.audit.findings().empty());
  CHECK(t.audit.operations() == 5);
  CHECK(t.audit.blocks() == 4);
}

TEST_CASE("an audit finds memory written that another operation may still read, whatever happened first") {
  Told t;
  Node* x = t.tensor(0x1000);
  t.run(t.kernel({}, x));
  Node* a = t.tensor(0x2000);
  t.run(t.kernel({x}, a, {.reads = false})); // does not count as a reader, and has finished by luck
  Node* y = t.taking_over(x);
  t.run(t.kernel({x}, y, {.overwrites = {x}, .reads = false}));
  CHECK(t.finds("may write memory that another one still reads"));
}

TEST_CASE("an audit finds memory given out again that an operation may still use") {
  Told t;
  Node* x = t.tensor(0x1000, 128);
  t.run(t.kernel({}, x));
  Node* a = t.tensor(0x2000);
  uint32_t reader = t.kernel({}, a, {.undeclared = {x}}); // holds nothing
  CHECK(t.finds("none of its inputs holds"));
  t.run(reader);
  t.free(x);
  t.tensor(0x1040); // a part of it
  CHECK(t.finds("given out that an operation may still read"));
}

TEST_CASE("an audit finds blocks that two have, that come back twice or too early") {
  Told t;
  Node* x = t.tensor(0x1000);
  uint32_t make = t.kernel({}, x);
  t.tensor(0x1000);
  CHECK(t.finds("still in use"));
  Node* y = t.tensor(0x2000);
  make = t.kernel({}, y);
  Block block = y->block;
  t.free(y);
  CHECK(t.finds("before an operation that holds it has ended"));
  t.run(make);
  t.audit.freed(block);
  CHECK(t.finds("given back twice"));
}

TEST_CASE("an audit finds readers that come too late, and operations that do not wait") {
  Told t;
  Node* x = t.tensor(0x1000);
  uint32_t make = t.kernel({}, x);
  Node* y = t.taking_over(x); // although somebody still wants x
  t.kernel({x}, y, {.overwrites = {x}, .reads = false});
  Node* late = t.tensor(0x2000);
  uint32_t reader = t.kernel({x}, late);
  CHECK(t.finds("reads what another one has written over its input"));
  t.audit.began(reader);
  CHECK(t.finds("begins before one that it waits for"));
  CHECK(make == 1);
}

TEST_CASE("an audit forgets what is finished: a rest, and operations that run alone") {
  Told t;
  Node* x = t.tensor(0x1000);
  t.run(t.kernel({}, x));
  t.audit.rested();
  CHECK_FALSE(t.audit.wants_rest());
  for (int i = 0; i < 10000; ++i) { // in place, one after the other
    Node* next = t.taking_over(x);
    t.run(t.kernel({x}, next, {.overwrites = {x}, .reads = false, .alone = true}));
    x = next;
    REQUIRE_FALSE(t.audit.wants_rest());
  }
  CHECK(t.audit.findings().empty());
  uint32_t open = 0;
  while (!t.audit.wants_rest() && ++open < 100000)
    t.kernel({x}, t.tensor(0x10000 + 64 * uint64_t{open}));
  CHECK(open < 100000);
  t.audit.rested();
  CHECK(t.finds("rests while an operation runs"));
}
