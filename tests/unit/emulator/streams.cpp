#include "card.h"
#include <thread>

namespace tl {

using namespace test;

TEST_CASE("copies happen when they run") {
  Card card;
  int from = 1, to = 0;
  cuda::Pointer p = card.allocate(4);
  REQUIRE(card.d.copy_to_device(p, &from, 4, card.stream) == 0);
  from = 2;
  REQUIRE(card.d.copy_to_host(&to, p, 4, card.stream) == 0);
  CHECK(to == 0);
  card.wait();
  CHECK(to == 2);
  CHECK(card.d.free(p) == 0);
}

namespace {

// One stream writes, another reads what it has written, which the event orders (or not).
int ordered(uint64_t seed, bool wait) {
  Card card(seed);
  cuda::Stream writer = card.another_stream();
  cuda::Event event = nullptr;
  REQUIRE(card.d.create_event(&event, cuda::kEventDisableTiming) == 0);
  std::vector<int> from{5}, to{0};
  cuda::Pointer p = card.put(std::vector<int>{1});
  for (int i = 0; i < 3; ++i)
    REQUIRE(card.d.fill_bytes(p, static_cast<unsigned char>(i), 4, writer) == 0);
  REQUIRE(card.d.copy_to_device(p, from.data(), 4, writer) == 0);
  REQUIRE(card.d.record_event(event, writer) == 0);
  REQUIRE(card.d.fill_bytes(p + 0, 5, 1, writer) == 0); // the same byte again, after the record
  if (wait) REQUIRE(card.d.wait_event(card.stream, event, 0) == 0);
  REQUIRE(card.d.copy_to_host(to.data(), p, 4, card.stream) == 0);
  card.wait();
  CHECK(card.d.destroy_event(event) == 0);
  CHECK(card.d.destroy_stream(writer) == 0);
  CHECK(card.d.free(p) == 0);
  return to[0];
}

} // namespace

TEST_CASE("an event orders two streams; without it they are not") {
  int wrong = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    CHECK(ordered(seed, true) == 5);
    wrong += ordered(seed, false) != 5;
  }
  MESSAGE("without the wait: wrong in " << wrong << " of 40 schedules");
  CHECK(wrong >= 20);
}

TEST_CASE("a wait is for what was recorded when it was issued") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Card card(seed);
    cuda::Stream other = card.another_stream();
    cuda::Event event = nullptr;
    REQUIRE(card.d.create_event(&event, 0) == 0);
    CHECK(card.d.query_event(event) == 0); // never recorded
    REQUIRE(card.d.wait_event(card.stream, event, 0) == 0);
    cuda::Pointer p = card.allocate(4);
    REQUIRE(card.d.fill_bytes(p, 1, 4, other) == 0);
    REQUIRE(card.d.record_event(event, other) == 0);
    REQUIRE(card.d.wait_event(card.stream, event, 0) == 0);
    REQUIRE(card.d.record_event(event, card.stream) == 0); // another record of the same event
    REQUIRE(card.d.destroy_event(event) == 0);             // what waits keeps it
    CHECK(card.get<int>(p, 1)[0] == 0x01010101);
    CHECK(card.d.destroy_stream(other) == 0);
    CHECK(card.d.free(p) == 0);
  }
}

TEST_CASE("polling ends") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Card card(seed);
    cuda::Event event = nullptr;
    REQUIRE(card.d.create_event(&event, 0) == 0);
    cuda::Pointer p = card.allocate(4);
    for (int i = 0; i < 100; ++i)
      REQUIRE(card.d.fill_bytes(p, 1, 4, card.stream) == 0);
    REQUIRE(card.d.record_event(event, card.stream) == 0);
    int polls = 0;
    while (card.d.query_event(event) == cuda::kNotReady)
      ++polls;
    REQUIRE(card.d.fill_bytes(p, 2, 4, card.stream) == 0);
    while (card.d.query_stream(card.stream) == cuda::kNotReady)
      ++polls;
    CHECK(polls < 1000);
    CHECK(card.d.destroy_event(event) == 0);
    CHECK(card.d.free(p) == 0);
  }
}

TEST_CASE("the same seed makes the same order; freed memory has been used before") {
  auto trace = [](uint64_t seed) {
    Card card(seed);
    std::vector<cuda::Stream> streams{card.stream, card.another_stream(), card.another_stream()};
    cuda::Pointer p = card.allocate(64);
    std::vector<int> last(16);
    for (int i = 0; i < 16; ++i)
      for (int s = 0; s < 3; ++s)
        REQUIRE(card.d.fill_bytes(p + 4 * static_cast<unsigned>(i), static_cast<unsigned char>(s), 4,
                                  streams[static_cast<size_t>(s)]) == 0);
    for (int s = 1; s < 3; ++s)
      REQUIRE(card.d.synchronize_stream(streams[static_cast<size_t>(s)]) == 0);
    last = card.get<int>(p, 16);
    for (int s = 1; s < 3; ++s)
      CHECK(card.d.destroy_stream(streams[static_cast<size_t>(s)]) == 0);
    REQUIRE(card.d.copy_to_host(&last[0], p, 4, card.stream) == 0);
    CHECK(card.d.free(p) == 0); // runs the copy first
    CHECK(last[0] != static_cast<int>(0xfbfbfbfb));
    return last;
  };
  int different = 0;
  for (uint64_t seed = 1; seed < 10; ++seed) {
    CHECK(trace(seed) == trace(seed));
    different += trace(seed) != trace(0);
  }
  CHECK(different > 0);
}

TEST_CASE("threads use the card at once") {
  Card card;
  std::vector<std::thread> threads;
  std::vector<int> sums(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&card, &sums, t] {
      if (card.d.set_context(card.context) != 0) return;
      cuda::Stream stream = nullptr;
      if (card.d.create_stream(&stream, 1) != 0) return;
      for (int i = 0; i < 200; ++i) {
        cuda::Pointer p = 0;
        int value = i, back = 0;
        if (card.d.allocate(&p, 4) != 0) return;
        card.d.copy_to_device(p, &value, 4, stream);
        card.d.copy_to_host(&back, p, 4, stream);
        card.d.synchronize_stream(stream);
        sums[static_cast<size_t>(t)] += back;
        card.d.free(p);
      }
      card.d.destroy_stream(stream);
    });
  for (std::thread& t : threads)
    t.join();
  CHECK(sums == std::vector<int>(4, 199 * 100));
}

} // namespace tl
