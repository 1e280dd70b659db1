#include "card.h"

namespace tl {

using namespace test;

TEST_CASE("memory of a card: round trips, limits, poison") {
  Card card;
  std::vector<int> x{1, 2, 3, 4};
  cuda::Pointer a = card.put(x), b = card.allocate(16);
  CHECK(a % 256 == 0);
  CHECK(card.get<unsigned>(b, 4) == std::vector<unsigned>(4, 0xfbfbfbfb));
  REQUIRE(card.d.copy_on_device(b, a + 4, 12, card.stream) == 0);
  REQUIRE(card.d.fill_bytes(b + 12, 1, 4, card.stream) == 0);
  CHECK(card.get<int>(b, 4) == std::vector<int>{2, 3, 4, 0x01010101});
  size_t free = 0, total = 0;
  REQUIRE(card.d.memory_info(&free, &total) == 0);
  CHECK(total == 64 << 20);
  CHECK(free == total - 32);
  cuda::Pointer large = 0;
  CHECK(card.d.allocate(&large, free + 1) == cuda::kOutOfMemory);
  CHECK(card.d.allocate(&large, 0) == cuda::kInvalidValue);
  CHECK(emulator::live().allocations == 2);
  CHECK(emulator::live().bytes == 32);
  CHECK(card.d.free(a) == 0);
  CHECK(card.d.free(b) == 0);
  CHECK(card.d.free(b) == cuda::kInvalidValue);
  for (int i = 0; i < 20; ++i) { // all of it, again and again
    REQUIRE(card.d.allocate(&large, total - (1 << 20)) == 0);
    CHECK(card.d.free(large) == 0);
  }
}

TEST_CASE("the host cannot touch memory of a card") {
  Card card;
  cuda::Pointer p = card.put(std::vector<int>{1, 2, 3});
  CHECK(in_child([&] { *reinterpret_cast<volatile int*>(p) = 1; }).signal == SIGSEGV);
  CHECK(in_child([&] { (void)*reinterpret_cast<volatile int*>(p); }).signal == SIGSEGV);
  CHECK(card.d.free(p) == 0);
}

TEST_CASE("a copy beyond what is allocated ends the context") {
  cuda::Pointer p = 0;
  auto ends = [&](int which) {
    Ended ended = in_child([&] {
      Card card(0, 2);
      p = card.put(std::vector<int>{1, 2, 3});
      char host[64] = {};
      cuda::Result result = 0;
      switch (which) {
      case 0: result = card.d.copy_to_device(p + 4, host, 12, card.stream); break;
      case 1: result = card.d.copy_to_host(host, p - 1, 4, card.stream); break;
      case 2: result = card.d.fill_bytes(reinterpret_cast<cuda::Pointer>(host), 0, 4, card.stream); break;
      case 3: result = (card.d.free(p), card.d.copy_on_device(p, p, 4, card.stream)); break;
      default: { // memory of another card
        cuda::Context other = nullptr;
        card.d.retain_context(&other, 1);
        card.d.set_context(other);
        cuda::Pointer far = card.allocate(4);
        card.d.set_context(card.context);
        result = card.d.copy_to_host(host, far, 4, card.stream);
      }
      }
      bool sticky = card.d.synchronize_stream(card.stream) == cuda::kIllegalAddress &&
                    card.d.allocate(&p, 4) == cuda::kIllegalAddress;
      _exit(result == cuda::kIllegalAddress && sticky ? 0 : 1);
    });
    CHECK(ended.status == 0);
    return ended.said;
  };
  CHECK(contains(ends(0), "byte 4 of the 12"));
  CHECK(contains(ends(1), "in no allocation"));
  CHECK(contains(ends(2), "not an address of a card"));
  CHECK(contains(ends(3), "in no allocation"));
  CHECK(contains(ends(4), "on device 1"));
}

TEST_CASE("what is used wrongly is refused") {
  Card card(0, 2);
  cuda::Stream none = nullptr;
  char host[4] = {};
  cuda::Pointer p = card.allocate(4);
  CHECK(card.d.copy_to_host(host, p, 4, none) == cuda::kInvalidHandle);
  CHECK(card.d.copy_to_host(reinterpret_cast<void*>(p), p, 4, card.stream) == cuda::kInvalidValue);
  cuda::Context other = nullptr;
  CHECK(card.d.retain_context(&other, 2) == cuda::kInvalidDevice);
  REQUIRE(card.d.retain_context(&other, 1) == 0);
  REQUIRE(card.d.set_context(other) == 0);
  CHECK(card.d.copy_to_host(host, p, 4, card.stream) == cuda::kInvalidHandle); // a stream of the other card
  CHECK(card.d.release_context(1) == 0);
  CHECK(card.d.allocate(&p, 4) == cuda::kInvalidContext);
  CHECK(card.d.set_context(other) == cuda::kInvalidContext);
  CHECK(card.d.set_context(nullptr) == 0);
  CHECK(card.d.allocate(&p, 4) == cuda::kInvalidContext);
  REQUIRE(card.d.set_context(card.context) == 0);
  CHECK(card.d.free(p) == 0);
  const char* name = nullptr;
  CHECK(card.d.error_name(cuda::kOutOfMemory, &name) == 0);
  CHECK(std::string(name) == "CUDA_ERROR_OUT_OF_MEMORY");
}

TEST_CASE("what is left is counted") {
  Card card;
  CHECK(emulator::live().contexts == 1);
  CHECK(emulator::live().streams == 1);
  cuda::Event event = nullptr;
  void* host = nullptr;
  REQUIRE(card.d.create_event(&event, cuda::kEventDisableTiming) == 0);
  REQUIRE(card.d.allocate_host(&host, 10, 0) == 0);
  CHECK(emulator::live().events == 1);
  CHECK(emulator::live().host_allocations == 1);
  CHECK(card.d.destroy_event(event) == 0);
  CHECK(card.d.destroy_event(event) == cuda::kInvalidHandle);
  CHECK(card.d.free_host(host) == 0);
  CHECK(card.d.free_host(host) == cuda::kInvalidValue);
  CHECK(emulator::live().events == 0);
  CHECK(emulator::live().host_allocations == 0);
}

} // namespace tl
