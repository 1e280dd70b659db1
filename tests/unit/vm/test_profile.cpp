// Profiles count every operation once and every byte, and timelines stay within the run, on every schedule.
#include "machine.h"
#include "vm/idle.h"
#include "vm/memory.h"
#include "vm/nan_check.h"
#include "vm/profile.h"
#include <array>
#include <cmath>
#include <doctest/doctest.h>

using namespace tl;
using namespace tl::test;

TEST_CASE("a profile counts operations and bytes by place") {
  Machine m;
  Slot n = m.i64(10000), two = m.i64(2);
  Slot x = m.launch(kIota, {two, n}, {n});
  uint32_t iota = m.main().code.back().loc.index;
  Slot y = m.launch(kAdd, {x, x, n}, {n});
  uint32_t add = m.main().code.back().loc.index;
  m.print(m.launch(kSum, {y, n}, {}));
  m.ret();
  for (bool timeline : {false, true})
    for (int threads : {1, 3}) {
      Profile profile(timeline);
      RunOptions options;
      options.threads = threads;
      options.profile = &profile;
      CHECK(!m.run(options).error);
      auto rows = profile.rows();
      CHECK(rows.at(iota).operations == 1);
      CHECK(rows.at(iota).bytes == 80000);
      CHECK(rows.at(add).bytes == 240000);
      CHECK(rows.at(add).seconds > 0);
      CHECK(profile.busy_seconds() > 0);
      CHECK(profile.issue_seconds() > 0);
      CHECK((profile.operation_count() == 0) == !timeline);
      CHECK(profile.left_out() == 0);
      for (const auto& thread : profile.threads())
        for (const Profile::Piece& piece : thread->pieces) {
          CHECK(piece.begin >= 0);
          CHECK(piece.begin <= piece.end);
          CHECK(piece.end <= profile.end());
          CHECK(piece.begin >= profile.operation(piece.operation).begun);
        }
    }
}

TEST_CASE("a timeline knows what an operation needed, and when it could have run") {
  Machine m;
  Slot n = m.i64(1000), two = m.i64(2);
  Slot x = m.launch(kIota, {two, n}, {n});
  Slot y = m.launch(kSlow, {x, m.i64(3000), n}, {n});
  m.print(m.launch(kSum, {m.launch(kAdd, {x, y, n}, {n}), n}, {}));
  m.ret();
  Profile profile(true);
  RunOptions options = threads(2);
  options.profile = &profile;
  CHECK(!m.run(options).error);
  const Profile::Operation& add = profile.operation(3);
  CHECK(add.inputs == std::vector<uint32_t>{1, 2});
  CHECK(add.released_by == 2); // the slow one
  CHECK(add.ready >= profile.operation(2).begun + 3'000'000);
  CHECK(add.begun >= add.ready);
  CHECK(add.ended >= add.begun);
  REQUIRE(add.reads.size() == 2);
  CHECK(add.makes.at(0).dims == std::vector<int64_t>{1000});
  CHECK(add.bytes == 24000);
  bool waited = false;
  for (const Profile::Span& span : profile.spans())
    waited = waited || span.doing == Profile::Doing::All;
  CHECK(waited);
}

namespace {

// The cause of most idleness of a program on two threads.
IdleReport::Cause first_cause(Machine& m, RunOptions options) {
  Profile profile(true);
  options.threads = 2;
  options.profile = &profile;
  CHECK(!m.run(options).error);
  IdleReport report = explain_idle(profile).front();
  REQUIRE(!report.causes.empty());
  double sum = 0;
  for (const IdleReport::Cause& cause : report.causes)
    sum += cause.seconds;
  CHECK(sum == doctest::Approx(report.idle));
  // What is not idle is busy; the issuing thread may be the one thread more.
  CHECK(profile.busy_seconds() + report.idle >= report.seconds * 2 * 0.99);
  std::string text = to_text(report, [](LocId loc) { return "line " + std::to_string(loc.index); });
  CHECK(text.starts_with("idle: "));
  return report.causes.front();
}

} // namespace

TEST_CASE("why threads stood idle") {
  using Why = IdleReport::Why;
  Machine m;
  Slot n = m.i64(100), pause = m.i64(20'000), little = m.i64(1000), x = m.launch(kIota, {n, n}, {n});
  SUBCASE("a chain of operations, each on one thread") {
    Slot y = m.launch(kSlow, {x, pause, n}, {n});
    uint32_t slow = m.main().code.back().loc.index;
    Slot z = m.launch(kSlow, {y, little, n}, {n});
    m.print(m.launch(kSum, {z, n}, {}));
    m.ret();
    IdleReport::Cause cause = first_cause(m, {});
    CHECK(cause.why == Why::Dependency);
    CHECK(cause.loc.index == slow);
    CHECK(cause.busy == doctest::Approx(1).epsilon(0.2));
  }
  SUBCASE("one operation of one tile is left") {
    Slot y = m.launch(kSlow, {x, pause, n}, {n});
    uint32_t slow = m.main().code.back().loc.index;
    m.ret({y});
    IdleReport::Cause cause = first_cause(m, {});
    CHECK(cause.why == Why::Parallelism);
    CHECK(cause.loc.index == slow);
  }
  SUBCASE("a wait after each step") {
    Slot y = m.launch(kSlow, {x, pause, n}, {n}), done = m.fresh();
    m.host(HostOp::Wait, {y}, {done});
    uint32_t wait = m.main().code.back().loc.index;
    Slot again = m.launch(kAdd, {done, x, n}, {n});
    m.ret({again});
    IdleReport::Cause cause = first_cause(m, {});
    CHECK(cause.why == Why::Wait);
    CHECK(cause.loc.index == wait);
  }
  SUBCASE("a memory limit") {
    Slot first = m.launch(kSlow, {x, pause, n}, {n});
    m.emit(Machine::make(BcOp::Drop, {first}, {}));
    Slot more = m.i64(200), z = m.launch(kIota, {more, more}, {more}); // which does not fit into the memory of `first`
    m.ret({z});
    RunOptions options;
    options.memory_limit = Pool::class_bytes(800) + Pool::class_bytes(1600);
    IdleReport::Cause cause = first_cause(m, options);
    CHECK(cause.why == Why::Memory);
  }
  SUBCASE("too many in flight") {
    m.launch(kSlow, {x, pause, n}, {n});
    Slot z = m.launch(kSlow, {x, little, n}, {n});
    m.ret({z});
    RunOptions options;
    options.max_in_flight = 1;
    IdleReport::Cause cause = first_cause(m, options);
    CHECK(cause.why == Why::InFlight);
  }
}

TEST_CASE("NaN of every float type") {
  auto find = [](DType type, auto... values) {
    std::array all{values...};
    return first_nan(type, reinterpret_cast<const std::byte*>(all.data()), static_cast<int64_t>(all.size()));
  };
  CHECK(find(DType::F32, 1.0f, INFINITY, NAN) == 2);
  CHECK(find(DType::F32, 1.0f, -INFINITY) == -1);
  CHECK(find(DType::F64, std::nan(""), 1.0) == 0);
  CHECK(find(DType::F16, uint16_t{0x7C00}, uint16_t{0xFE00}) == 1); // infinity, NaN
  CHECK(find(DType::BF16, uint16_t{0xFF80}, uint16_t{0x7FC0}) == 1);
  CHECK(find(DType::I32, int32_t{-1}) == -1);
}
