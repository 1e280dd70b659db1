// The pool, and programs under a memory limit.
#include "machine.h"
#include "vm/memory.h"
#include "vm/profile.h"
#include <doctest/doctest.h>
#include <random>

using namespace tl;
using namespace tl::test;

TEST_CASE("blocks are aligned, large enough and do not overlap") {
  Pool pool(uint64_t{1} << 30);
  std::mt19937_64 random(1);
  std::vector<Block> blocks;
  for (int i = 0; i < 2000; ++i) {
    if (!blocks.empty() && random() % 2) {
      size_t k = random() % blocks.size();
      CHECK(blocks[k].data[0] == std::byte(blocks[k].bytes % 251));
      CHECK(blocks[k].data[blocks[k].bytes - 1] == std::byte(blocks[k].bytes % 241));
      Pool::free(blocks[k]);
      blocks.erase(blocks.begin() + static_cast<int64_t>(k));
      continue;
    }
    uint64_t bytes = random() % (random() % 8 ? 5000 : 3000000);
    Block block = pool.allocate(bytes);
    REQUIRE(block);
    CHECK(block.bytes >= bytes);
    CHECK(block.bytes == Pool::class_bytes(bytes));
    CHECK(block.bytes <= std::max<uint64_t>(128, bytes + bytes / 4 + 64));
    CHECK(reinterpret_cast<uintptr_t>(block.data) % 64 == 0);
    block.data[0] = std::byte(block.bytes % 251);
    block.data[block.bytes - 1] = std::byte(block.bytes % 241);
    blocks.push_back(block);
  }
  for (Block b : blocks)
    Pool::free(b);
  CHECK(pool.in_use() == 0);
  pool.trim();
  CHECK(pool.allocate(100));
}

TEST_CASE("the limit is hard, and what waits in caches gives way") {
  Pool pool(10 << 20);
  Block a = pool.allocate(6 << 20);
  REQUIRE(a);
  CHECK(!pool.allocate(6 << 20));
  CHECK(!pool.reserve(6 << 20));
  CHECK(pool.reserve(1 << 20));
  const std::byte* data = a.data;
  Pool::free(a);
  CHECK(!a);
  a = pool.allocate(6 << 20);
  CHECK(a.data == data); // from the cache
  Pool::free(a);
  Block b = pool.allocate(4 << 20); // a part of the range that waits, whose rest waits
  CHECK(b.data == data);
  Block c = pool.allocate(2 << 20);
  CHECK(c.data == data + (4 << 20));
  CHECK(pool.held() == 7 << 20);
  Pool::free(c);
  Pool::free(b);
  b = pool.allocate(6 << 20); // they are one range again
  CHECK(b.data == data);
  Pool::free(b);
  b = pool.allocate(7 << 20); // a part of the range goes back to the system
  CHECK(b);
  CHECK(pool.held() == 10 << 20);
  CHECK(!pool.allocate(UINT64_MAX));
  CHECK(!pool.allocate(UINT64_MAX / 2));
  Pool::free(b);
  CHECK(pool.peak() <= pool.limit());
}

TEST_CASE("free neighbours become one range, and what is in use stays what it was") {
  std::mt19937_64 random(7);
  Pool pool(uint64_t{64} << 20);
  std::vector<Block> blocks;
  auto mark = [](const Block& b) { return std::byte(reinterpret_cast<uintptr_t>(b.data) >> 14); };
  auto drop = [&](size_t k) {
    CHECK(blocks[k].data[0] == mark(blocks[k]));
    CHECK(blocks[k].data[blocks[k].bytes - 1] == mark(blocks[k]));
    Pool::free(blocks[k]);
    blocks.erase(blocks.begin() + static_cast<int64_t>(k));
  };
  for (int i = 0; i < 20000; ++i) {
    Block block = pool.allocate((64 << 10) + 1 + random() % (4 << 20));
    if (!block) { // there is room for it in all, whatever the ranges are
      drop(random() % blocks.size());
      continue;
    }
    block.data[0] = block.data[block.bytes - 1] = mark(block);
    blocks.push_back(block);
    CHECK(pool.held() <= pool.limit());
    if (random() % 3 == 0) drop(random() % blocks.size());
  }
  while (!blocks.empty())
    drop(random() % blocks.size());
  CHECK(pool.in_use() == 0);
  CHECK(pool.held() == pool.cached());
  CHECK(pool.held() <= pool.limit());
  const uint64_t held = pool.held();
  for (Block one; (one = pool.allocate(1 << 20));)
    blocks.push_back(one);
  CHECK(blocks.size() == 64); // in spite of all that came before
  CHECK(held <= pool.limit());
  for (Block& block : blocks)
    Pool::free(block);
}

TEST_CASE("small blocks that wait give way to large ones") {
  Pool pool(256 << 20);
  std::vector<Block> small;
  for (int i = 0; i < 3000; ++i)
    small.push_back(pool.allocate(64 << 10)); // 188 MiB in slabs
  Block kept = small[1000];
  small.erase(small.begin() + 1000);
  for (Block& block : small)
    Pool::free(block);
  CHECK(pool.cached() > 180 << 20);
  Block large = pool.allocate(uint64_t{200} << 20);
  REQUIRE(large);
  CHECK(pool.cached() <= 1 << 20); // but for the slab with a block in use
  Pool::free(large);
  Pool::free(kept);
  REQUIRE(pool.allocate(64 << 10));
}

// x = iota(n); repeat: x = scale(x), each into fresh memory; nothing waits.
static void chain(Machine& m, int length, int64_t n, bool keep) {
  Slot size = m.i64(n), one = m.i64(1), pause = m.i64(200);
  Slot x = m.launch(kIota, {one, size}, {size});
  std::vector<Slot> all{x};
  for (int k = 0; k < length; ++k) {
    x = m.launch(k % 10 == 0 ? kSlow : kScale,
                 k % 10 == 0 ? std::vector<Slot>{x, pause, size} : std::vector<Slot>{x, size}, {size});
    if (!keep) m.give_away(0);
    all.push_back(x);
  }
  m.print(m.launch(kSum, {x, size}, {}));
  m.ret(keep ? all : std::vector<Slot>{x});
}

TEST_CASE("issuing waits for memory: a limit at the synchronous peak is enough for every schedule") {
  Machine m;
  chain(m, 200, 50000, false);
  m.run(synchronous());
  uint64_t peak = m.stats.peak_memory;
  std::string out = m.out;
  CHECK(peak < 10 * 50000 * 8);
  for (RunOptions options : schedules()) {
    options.memory_limit = peak + (16 << 10); // scratch of more threads
    Outcome o = m.run(options);
    CHECK(!o.error);
    CHECK(m.out == out);
    CHECK(m.stats.peak_memory <= options.memory_limit);
  }
}

TEST_CASE("where one thread computes and nobody else has work, the memory is that of --sync") {
  Machine m;
  m.devices = 1;
  chain(m, 200, 50000, false);
  RunOptions one = threads(1);
  one.sync = true;
  m.run(one);
  const uint64_t peak = m.stats.peak_memory;
  one.sync = false;
  m.run(one);
  CHECK(m.stats.peak_memory == peak);
  CHECK(m.stats.waits[static_cast<size_t>(Profile::Doing::Memory)].count == 0);
}

TEST_CASE("out of memory is an error that names line and sizes, and memory is given back") {
  Machine m;
  chain(m, 30, 50000, true);
  for (RunOptions options : schedules()) {
    options.memory_limit = 4 << 20;
    Outcome o = m.run(options);
    REQUIRE(o.error);
    CHECK(o.error->kind == "OutOfMemory");
    CHECK(o.error->message == "there is no room for i64[50000] (400.0 KB) under the memory limit of 4.2 MB");
    CHECK(o.error->loc.index != 0);
    CHECK(!o.error->notes.empty());
    CHECK(m.out.empty());
    CHECK(m.stats.peak_memory <= options.memory_limit);
  }
}

TEST_CASE("sizes that overflow or are negative are errors, not crashes") {
  for (int64_t huge : {INT64_MAX, int64_t{1} << 40, int64_t{-5}}) {
    Machine m;
    Slot n = m.i64(huge), one = m.i64(1);
    Slot x = m.launch(kIota, {one, n}, {n, n});
    m.print(x);
    m.ret();
    for (const RunOptions& options : schedules()) {
      Outcome o = m.run(options);
      REQUIRE(o.error);
      CHECK(o.error->kind == (huge < 0 ? "NegativeSize" : "OutOfMemory"));
    }
  }
}

TEST_CASE("every allocation may fail") {
  Machine m;
  chain(m, 5, 1000, false);
  for (const RunOptions& base : schedules())
    for (uint64_t k = 0;; ++k) {
      RunOptions options = base;
      options.inject = RunOptions::Fault{RunOptions::Fault::Kind::Allocation, k};
      Outcome o = m.run(options);
      if (!o.error) {
        CHECK(k >= 7);
        break;
      }
      CHECK(o.error->kind == "OutOfMemory");
      CHECK(m.out.empty());
      REQUIRE(k < 100);
    }
}

TEST_CASE("a long loop keeps its memory flat and its work in flight bounded") {
  Machine m;
  Slot size = m.i64(1000), i = m.i64(0), one = m.i64(1), end = m.i64(20000);
  Slot x = m.launch(kIota, {one, size}, {size});
  auto head = static_cast<uint32_t>(m.here());
  Instruction step = Machine::make(BcOp::Launch, {x, size}, {x});
  step.index = kScale;
  step.outputs = {{DType::I64, {Machine::size(size)}, AliasMode::None, 0}};
  step.in[0].last_use = true;
  m.emit(step);
  Instruction next = Machine::make(BcOp::Scalar, {i, one}, {i});
  next.scalar = ScalarOp::Add;
  next.dtype = DType::I64;
  m.emit(next);
  Slot more = m.scalar(ScalarOp::Lt, DType::I64, {i, end});
  Instruction jump = Machine::make(BcOp::JumpIfNot, {more}, {});
  jump.target = static_cast<uint32_t>(m.here() + 2);
  m.emit(jump);
  Instruction back = Machine::make(BcOp::Jump, {}, {});
  back.target = head;
  m.emit(back);
  m.print(m.launch(kSum, {x, size}, {}));
  m.ret();
  RunOptions options = threads(2);
  options.max_in_flight = 16;
  CHECK(!m.run(options).error);
  CHECK(m.stats.peak_memory < 20 * 8192 + 70000);
  CHECK(m.stats.operations == 20000 + 4);
}
