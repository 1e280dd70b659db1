// Random programs against a serial evaluation of the same steps, bit for bit, with failures, on every schedule, under
// the least memory that suffices, with a fault at every place, and cancelled at any moment; with proof that no other
// order of the operations would have mixed up memory.
#include "random_program.h"
#include "vm/audit.h"
#include "vm/profile.h"
#include <doctest/doctest.h>

using namespace tl;
using namespace tl::test;

namespace {

void compare(RandomProgram& p, const RunOptions& options, uint64_t seed) {
  CAPTURE(seed);
  CAPTURE(options.threads);
  CAPTURE(options.sync);
  CAPTURE(options.schedule_seed.value_or(0));
  Audit audit;
  RunOptions audited = options;
  audited.watch = &audit;
  Outcome o = p.m.run(audited);
  REQUIRE(p.m.out == p.out);
  REQUIRE(o.error.has_value() == p.failure.has_value());
  if (o.error) REQUIRE(o.error->message == p.messages[*p.failure]);
  CHECK(audit.operations() > 0);
  for (const Audit::Finding& finding : audit.findings())
    FAIL_CHECK(finding.what);
}

} // namespace

TEST_CASE("random graphs give what serial evaluation gives") {
  for (uint64_t seed = first_seed(), end = seed + rounds(150); seed < end; ++seed) {
    RandomProgram p(seed, 60, false, {0, 1, 5, 64, 700, 3000}, 1 + static_cast<int>(seed % 2));
    for (const RunOptions& options : schedules())
      compare(p, options, seed);
    uint64_t peak = 0;
    p.m.run(synchronous());
    peak = p.m.stats.peak_memory;
    RunOptions tight = threads(3);
    tight.memory_limit = peak + 4096; // scratch of one more thread
    tight.max_in_flight = 1 + static_cast<uint32_t>(seed % 20);
    compare(p, tight, seed);
  }
}

TEST_CASE("random graphs give what serial evaluation gives where memory is handed on while it is in use") {
  uint64_t waits = 0;
  for (uint64_t seed = first_seed() + 3000, end = seed + rounds(40); seed < end; ++seed) {
    // blocks that are cut, too
    RandomProgram p(seed, 60, seed % 2, {3000, 20'000, 40'000, 70'000}, 1 + static_cast<int>(seed / 2 % 2));
    p.m.run(synchronous());
    const uint64_t peak = p.m.stats.peak_memory;
    const std::vector<uint64_t> peaks = p.m.stats.device_peaks;
    for (RunOptions options : {threads(3), seeded(seed)})
      for (uint64_t limit : {uint64_t{0}, peak + 4096}) {
        options.memory_limit = limit;
        compare(p, options, seed);
        for (size_t d = 0; d < peaks.size(); ++d)
          CHECK(p.m.stats.device_peaks[d] <= peaks[d] + peaks[d] / 4 + (1 << 20) + 4096);
        waits += p.m.stats.waits[static_cast<size_t>(Profile::Doing::Memory)].count;
      }
  }
  MESSAGE(waits, " waits for memory");
}

TEST_CASE("random graphs with failures report what serial evaluation reports") {
  int failed = 0;
  for (uint64_t seed = first_seed() + 1000, end = seed + rounds(200); seed < end; ++seed) {
    RandomProgram p(seed, 60, true);
    failed += p.failure.has_value();
    for (const RunOptions& options : schedules())
      compare(p, options, seed);
    compare(p, seeded(seed), seed);
  }
  CHECK(failed > static_cast<int>(rounds(50)));
  CHECK(failed < static_cast<int>(rounds(200)));
}

TEST_CASE("whatever fails, every schedule prints and reports what the serial one does") {
  using Kind = RunOptions::Fault::Kind;
  for (uint64_t seed = first_seed(), end = seed + rounds(6); seed < end; ++seed) {
    RandomProgram p(seed, 40, seed % 2);
    for (Kind kind : {Kind::Allocation, Kind::Kernel, Kind::Task, Kind::Copy}) {
      for (uint64_t k = 0;; ++k) {
        REQUIRE(k < 1000);
        RunOptions options = synchronous();
        options.inject = RunOptions::Fault{kind, k};
        Outcome expected = p.m.run(options);
        std::string printed = p.m.out;
        CAPTURE(seed);
        CAPTURE(int(kind));
        CAPTURE(k);
        REQUIRE(p.out.starts_with(printed));
        for (RunOptions other : {threads(3), seeded(seed + k)}) {
          other.inject = options.inject;
          Outcome o = p.m.run(other);
          REQUIRE(p.m.out == printed);
          REQUIRE(o.error.has_value() == expected.error.has_value());
          if (o.error) REQUIRE(o.error->message == expected.error->message);
        }
        bool injected =
            expected.error && (expected.error->kind == "InjectedFault" || expected.error->kind == "OutOfMemory");
        if (!injected) break; // there are no more to fail
      }
    }
  }
}

TEST_CASE("a program cancelled at any moment has printed a beginning of what it would print") {
  std::mt19937_64 random(5);
  for (uint64_t seed = first_seed(), end = seed + rounds(60); seed < end; ++seed) {
    RandomProgram p(seed, 60, false);
    std::atomic<bool> interrupt{false};
    RunOptions options = seed % 2 ? seeded(seed) : threads(3);
    options.interrupt = &interrupt;
    std::thread later([&, pause = random() % 1500] {
      std::this_thread::sleep_for(std::chrono::microseconds(pause));
      interrupt = true;
    });
    Outcome o = p.m.run(options);
    later.join();
    CAPTURE(seed);
    REQUIRE((o.exit_code == 130 || o.exit_code == 0));
    REQUIRE(p.out.starts_with(p.m.out));
    if (o.exit_code == 0) REQUIRE(p.out == p.m.out);
  }
}

TEST_CASE("no limit below the synchronous peak hangs or changes what is printed before it is reached") {
  std::mt19937_64 random(9);
  for (uint64_t seed = first_seed(), end = seed + rounds(40); seed < end; ++seed) {
    RandomProgram p(seed, 60, false);
    p.m.run(synchronous());
    uint64_t peak = p.m.stats.peak_memory;
    for (RunOptions options : {threads(3), seeded(seed)}) {
      options.memory_limit = 1 + random() % (peak + 10000);
      Outcome o = p.m.run(options);
      CAPTURE(seed);
      CAPTURE(options.memory_limit);
      REQUIRE(p.out.starts_with(p.m.out));
      for (uint64_t most : p.m.stats.device_peaks)
        REQUIRE(most <= options.memory_limit);
      if (o.error) REQUIRE(o.error->kind == "OutOfMemory");
    }
  }
}
