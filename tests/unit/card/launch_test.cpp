// Products of a card by the stand-in of cuBLASLt: which it takes, its plans, what is left at the end.
#include "abi/error.h"
#include "vm/gpu/card/products.h"
#include "vm/gpu/emulator/emulator.h"
#include "vm/gpu/libraries.h"
#include <doctest/doctest.h>

using namespace tl;

namespace {

// An emulated card with three matrices of 64 numbers: 0, 1, 2 … of A and B.
struct World {
  const cuda::Driver* driver = nullptr;
  cuda::Context context = nullptr;
  cuda::Stream stream = nullptr;
  cuda::Pointer a = 0, b = 0, c = 0;
  GpuKernel kernel;
  std::optional<GpuProducts> products;

  World() {
    emulator::Options options;
    options.memory = 64 << 20;
    emulator::configure(options);
    cuda::replace(emulator::symbol, "emulated");
    REQUIRE(cuda::cublas().ok);
    driver = &cuda::driver().functions;
    REQUIRE(driver->init(0) == 0);
    REQUIRE(driver->retain_context(&context, 0) == 0);
    REQUIRE(driver->set_context(context) == 0);
    REQUIRE(driver->create_stream(&stream, cuda::kStreamNonBlocking) == 0);
    std::vector<float> numbers(64);
    for (size_t k = 0; k < numbers.size(); ++k)
      numbers[k] = static_cast<float>(k);
    for (cuda::Pointer* p : {&a, &b, &c}) {
      REQUIRE(driver->allocate(p, 256) == 0);
      REQUIRE(driver->copy_to_device(*p, numbers.data(), 256, stream) == 0);
    }
    REQUIRE(driver->synchronize_stream(stream) == 0);
    kernel.product.emplace();
    kernel.product->b = 1;
    kernel.product->c = 2;
    products.emplace(*driver, "card");
  }
  ~World() {
    products.reset();
    CHECK(emulator::live().cublas == 0);
    for (cuda::Pointer p : {a, b, c})
      driver->free(p);
    CHECK(emulator::live().allocations == 0);
    driver->destroy_stream(stream);
    driver->release_context(0);
  }

  void sizes(int64_t batch, int64_t m, int64_t n, int64_t k) {
    auto is = SizeFormula::constant;
    GpuProduct& p = *kernel.product;
    p.batch = is(batch), p.m = is(m), p.n = is(n), p.k = is(k);
    p.a_batch = is(m * k), p.a_row = is(k), p.a_column = is(1), p.a_base = is(0);
    p.b_batch = is(k * n), p.b_row = is(n), p.b_column = is(1), p.b_base = is(0);
  }
  bool launch(std::vector<uint8_t> in_slot = {0, 0, 0}) {
    Operation op;
    op.gpu_kernel = &kernel;
    op.in_slot = std::move(in_slot);
    for (cuda::Pointer p : {a, b, c})
      op.args.push_back(reinterpret_cast<void*>(p));
    return products->launch(op, stream);
  }
  std::vector<float> result(size_t count) {
    std::vector<float> numbers(count);
    REQUIRE(driver->copy_to_host(numbers.data(), c, count * 4, stream) == 0);
    REQUIRE(driver->synchronize_stream(stream) == 0);
    return numbers;
  }
};

} // namespace

TEST_CASE("what it takes, and what is right") {
  World world;
  GpuProduct& p = *world.kernel.product;
  auto is = SizeFormula::constant;
  world.sizes(1, 2, 2, 3);
  CHECK(world.launch()); // [[0 1 2] [3 4 5]] [[0 1] [2 3] [4 5]]
  CHECK(world.result(4) == std::vector<float>{10, 13, 28, 40});
  p.b_row = is(1), p.b_column = is(3);
  CHECK(world.launch()); // the second factor transposed
  CHECK(world.result(4) == std::vector<float>{5, 14, 14, 50});
  world.sizes(2, 1, 2, 2);
  CHECK(world.launch());
  CHECK(world.result(4) == std::vector<float>{2, 3, 26, 31});
  p.b_batch = is(0); // all by one: two rows
  CHECK(world.launch());
  CHECK(world.result(4) == std::vector<float>{2, 3, 6, 11});
  p.a_batch = is(0);
  CHECK(world.launch());
  CHECK(world.result(4) == std::vector<float>{2, 3, 2, 3});

  for (int64_t zero = 0; zero < 4; ++zero) {
    world.sizes(zero != 0, zero != 1, zero != 2, zero != 3);
    CHECK_FALSE(world.launch());
  }
  world.sizes(1, 2, 2, 2);
  CHECK_FALSE(world.launch({1, 0, 0}));
  CHECK_FALSE(world.launch({0, 1, 0}));
  p.a_row = is(0);
  CHECK_FALSE(world.launch());
  p.a_row = is(-2);
  CHECK_FALSE(world.launch());
  p.a_row = is(4), p.a_column = is(2);
  CHECK_FALSE(world.launch());
  world.sizes(2, 2, 2, 2);
  p.a_batch = is(-4);
  CHECK_FALSE(world.launch());
  world.sizes(1, 1, int64_t{1} << 31, 1);
  CHECK_FALSE(world.launch());
}

TEST_CASE("plans are kept by sizes, strides and alignment") {
  World world;
  world.sizes(1, 2, 2, 2);
  const uint64_t before = emulator::live().allocations;
  CHECK(world.launch());
  CHECK(emulator::live().cublas == 5); // a handle, a description, three layouts
  CHECK(emulator::live().allocations == before + 1);
  CHECK(world.launch());
  CHECK(emulator::live().cublas == 5);
  world.sizes(1, 2, 2, 3);
  CHECK(world.launch());
  CHECK(emulator::live().cublas == 9);
  world.kernel.product->a_base = SizeFormula::constant(1); // at a multiple of 4 bytes
  CHECK(world.launch());
  CHECK(emulator::live().cublas == 13);
  world.kernel.product->a_base = SizeFormula::constant(4);
  CHECK(world.launch());
  world.kernel.product->a_base = SizeFormula::constant(5);
  CHECK(world.launch());
  CHECK(emulator::live().cublas == 13);
  CHECK(emulator::live().allocations == before + 1);
}

TEST_CASE("what the library refuses is a DeviceError, in its words") {
  World world;
  world.sizes(1, 16, 16, 16); // more than there is
  try {
    world.launch();
    FAIL("it was taken");
  } catch (const RuntimeError& error) {
    CHECK(error.kind == "DeviceError");
    CHECK(error.message == "card: cublasLtMatmul: the GPU program failed to execute");
    CHECK(error.hint == "--exact-products does without cuBLASLt");
  }
  // The card is lost by that; there is another for what comes.
  REQUIRE(world.driver->release_context(0) == 0);
  REQUIRE(world.driver->retain_context(&world.context, 0) == 0);
  REQUIRE(world.driver->set_context(world.context) == 0);
}
