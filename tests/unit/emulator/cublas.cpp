// The stand-in of cuBLASLt: what it computes, when, and what it refuses.
#include "abi/scalar_op.h"
#include "card.h"
#include "vm/gpu/emulator/world.h"
#include <cmath>
#include <random>

namespace tl {

using namespace test;
using namespace cuda;

namespace {

struct Blas : Card {
  Cublas c;
  CublasHandle handle = nullptr;

  explicit Blas(uint64_t seed = 0) : Card(seed) {
    REQUIRE(fill(c, emulator::symbol) == "");
    REQUIRE(c.create(&handle) == kCublasSuccess);
  }
  ~Blas() { CHECK(c.destroy(handle) == kCublasSuccess); }
};

// A matrix as it lies, its numbers in f64.
struct Stored {
  int type;
  int64_t rows, columns, leading, batch = 1, stride = 0;
  std::vector<double> values;

  int64_t count() const { return (batch - 1) * stride + (columns - 1) * leading + rows; }
  double& at(int64_t l, int64_t i, int64_t j) { return values[static_cast<size_t>(l * stride + j * leading + i)]; }
  void randomize(std::mt19937& random) {
    values.resize(static_cast<size_t>(count()));
    for (double& x : values)
      x = static_cast<float>(bf16_to_float(float_to_bf16(static_cast<float>(random() % 2000) / 1000 - 1)));
  }
  size_t bytes_of_element() const { return type == kReal64 ? 8 : type == kReal32 ? 4 : 2; }
  std::vector<char> memory() const {
    std::vector<char> to(values.size() * bytes_of_element());
    for (size_t k = 0; k < values.size(); ++k) {
      char* at = to.data() + k * bytes_of_element();
      const auto narrow = static_cast<float>(values[k]);
      const uint16_t half = type == kReal16 ? float_to_f16(narrow) : float_to_bf16(narrow);
      if (type == kReal64) std::memcpy(at, &values[k], 8);
      if (type == kReal32) std::memcpy(at, &narrow, 4);
      if (type == kReal16 || type == kRealB16) std::memcpy(at, &half, 2);
    }
    return to;
  }
  void read(const std::vector<char>& from) {
    for (size_t k = 0; k < values.size(); ++k) {
      const char* at = from.data() + k * bytes_of_element();
      float narrow = 0;
      uint16_t half = 0;
      if (type == kReal64) std::memcpy(&values[k], at, 8);
      if (type == kReal32) std::memcpy(&narrow, at, 4);
      if (type == kReal16 || type == kRealB16) std::memcpy(&half, at, 2);
      if (type == kReal32) values[k] = narrow;
      if (type == kReal16) values[k] = f16_to_float(half);
      if (type == kRealB16) values[k] = bf16_to_float(half);
    }
  }
};

// One product from the descriptions to the algorithm; all goes with it.
struct Multiplication {
  Blas& card;
  CublasDesc desc = nullptr;
  CublasLayout a = nullptr, b = nullptr, d = nullptr;
  CublasPreference preference = nullptr;
  CublasHeuristic found{};
  int count = 0;
  CublasStatus status = kCublasSuccess;

  CublasLayout layout(const Stored& m) {
    CublasLayout made = nullptr;
    REQUIRE(card.c.create_layout(&made, m.type, static_cast<uint64_t>(m.rows), static_cast<uint64_t>(m.columns),
                                 m.leading) == 0);
    const auto batch = static_cast<int32_t>(m.batch);
    REQUIRE(card.c.set_layout(made, kBatchCount, &batch, sizeof batch) == 0);
    REQUIRE(card.c.set_layout(made, kBatchStride, &m.stride, sizeof m.stride) == 0);
    return made;
  }
  Multiplication(Blas& blas, int compute, int scale, bool transpose_a, bool transpose_b, const Stored& x,
                 const Stored& y, const Stored& z, uint32_t alignment = 2)
      : card(blas) {
    const int32_t how_a = transpose_a, how_b = transpose_b;
    const uint64_t workspace = 1 << 20;
    REQUIRE(card.c.create_desc(&desc, compute, scale) == 0);
    REQUIRE(card.c.set_desc(desc, kTransposeA, &how_a, sizeof how_a) == 0);
    REQUIRE(card.c.set_desc(desc, kTransposeB, &how_b, sizeof how_b) == 0);
    a = layout(x);
    b = layout(y);
    d = layout(z);
    REQUIRE(card.c.create_preference(&preference) == 0);
    REQUIRE(card.c.set_preference(preference, kMaxWorkspace, &workspace, sizeof workspace) == 0);
    for (int which : {kMinAlignmentA, kMinAlignmentB, kMinAlignmentC, kMinAlignmentD})
      REQUIRE(card.c.set_preference(preference, which, &alignment, sizeof alignment) == 0);
    status = card.c.heuristic(card.handle, desc, a, b, d, d, preference, 1, &found, &count);
  }
  ~Multiplication() {
    CHECK(card.c.destroy_preference(preference) == 0);
    for (CublasLayout layout : {a, b, d})
      CHECK(card.c.destroy_layout(layout) == 0);
    CHECK(card.c.destroy_desc(desc) == 0);
  }
  template <class Real> CublasStatus run(Real alpha, Real beta, Pointer x, Pointer y, Pointer z, Pointer workspace) {
    auto at = [](Pointer p) { return reinterpret_cast<void*>(p); };
    return card.c.multiply(card.handle, desc, &alpha, at(x), a, at(y), b, &beta, at(z), d, at(z), d, &found.algorithm,
                           at(workspace), 1 << 20, card.stream);
  }
};

const Stored kSmall{kReal32, 4, 4, 4, 1, 0, {}};

} // namespace

TEST_CASE("products of all types, transposed, in batches, against a plain loop") {
  Blas card;
  std::mt19937 random(1);
  struct Types {
    int factors, result, compute, scale;
    double tolerance;
  };
  constexpr Types kTypes[] = {
      {kReal64, kReal64, kCompute64, kReal64, 1e-13},  {kReal32, kReal32, kCompute32, kReal32, 1e-4},
      {kReal32, kReal32, kComputeTf32, kReal32, 1e-4}, // factors of 8 bits lose nothing
      {kReal16, kReal16, kCompute32, kReal32, 0.02},   {kReal16, kReal32, kCompute32, kReal32, 1e-4},
      {kRealB16, kRealB16, kCompute32, kReal32, 0.2},  {kRealB16, kReal32, kCompute32, kReal32, 1e-4}};
  for (const Types& types : kTypes)
    for (int how = 0; how < 4; ++how)
      for (int64_t batch : {1, 3}) {
        const bool ta = how & 1, tb = how & 2;
        const int64_t m = 5, n = 7, k = 70;
        Stored x{types.factors, ta ? k : m, ta ? m : k, (ta ? k : m) + 3, batch, 0, {}};
        Stored y{types.factors, tb ? n : k, tb ? k : n, tb ? n : k, batch, 0, {}}; // the same for the whole batch
        Stored z{types.result, m, n, m + 2, batch, 0, {}};
        x.stride = x.leading * x.columns + 1;
        z.stride = z.leading * z.columns + 5;
        for (Stored* s : {&x, &y, &z})
          s->randomize(random);
        const double alpha = 1.5, beta = batch == 1 ? 0 : -0.5;
        Stored expected = z;
        for (int64_t l = 0; l < batch; ++l)
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
              double sum = 0;
              for (int64_t q = 0; q < k; ++q)
                sum += (ta ? x.at(l, q, i) : x.at(l, i, q)) * (tb ? y.at(l, j, q) : y.at(l, q, j));
              expected.at(l, i, j) = alpha * sum + beta * z.at(l, i, j);
            }
        const Pointer a = card.put(x.memory()), b = card.put(y.memory()), d = card.put(z.memory()),
                      workspace = card.allocate(1 << 20);
        {
          Multiplication one(card, types.compute, types.scale, ta, tb, x, y, z);
          REQUIRE(one.status == kCublasSuccess);
          REQUIRE(one.count == 1);
          const auto status = types.scale == kReal64
                                  ? one.run(alpha, beta, a, b, d, workspace)
                                  : one.run(static_cast<float>(alpha), static_cast<float>(beta), a, b, d, workspace);
          REQUIRE(status == kCublasSuccess);
          z.read(card.get<char>(d, z.values.size() * z.bytes_of_element()));
        }
        double worst = 0;
        for (size_t e = 0; e < z.values.size(); ++e) // what lies between columns and matrices is untouched
          worst = std::max(worst, std::abs(z.values[e] - expected.values[e]));
        CHECK_MESSAGE(worst <= types.tolerance,
                      types.factors << " to " << types.result << ", " << how << ", batch of " << batch);
        for (Pointer p : {a, b, d, workspace})
          CHECK(card.d.free(p) == 0);
      }
}

TEST_CASE("sums are not those from left to right, TF32 is not f32, and nothing happens before its turn") {
  Blas card;
  const int64_t k = 1000;
  Stored x{kReal32, 1, k, 1, 1, 0, {}}, y{kReal32, k, 1, k, 1, 0, {}}, z{kReal32, 1, 1, 1, 1, 0, {}};
  x.values.resize(static_cast<size_t>(k));
  y.values.assign(static_cast<size_t>(k), 1.0);
  z.values.assign(1, -7);
  float left_to_right = 0;
  for (size_t q = 0; q < x.values.size(); ++q) {
    x.values[q] = 1.0f / static_cast<float>(q + 1);
    left_to_right += static_cast<float>(x.values[q]);
  }
  // Factors that are on their way when the product is issued.
  const Pointer a = card.allocate(4 * x.values.size()), b = card.put(y.memory()), d = card.put(z.memory()),
                workspace = card.allocate(1 << 20);
  const std::vector<char> factors = x.memory();
  REQUIRE(card.d.copy_to_device(a, factors.data(), factors.size(), card.stream) == 0);
  float sums[2];
  for (int compute : {kCompute32, kComputeTf32}) {
    Multiplication one(card, compute, kReal32, false, false, x, y, z);
    REQUIRE(one.run(1.0f, 0.0f, a, b, d, workspace) == kCublasSuccess);
    sums[compute == kComputeTf32] = card.get<float>(d, 1)[0];
  }
  CHECK(sums[0] != left_to_right);
  CHECK(std::abs(sums[0] - left_to_right) < 1e-5);
  CHECK(sums[0] != sums[1]);
  CHECK(std::abs(sums[0] - sums[1]) < 5e-3);
  for (Pointer p : {a, b, d, workspace})
    CHECK(card.d.free(p) == 0);
}

TEST_CASE("what cuBLASLt refuses") {
  Blas card;
  auto status = [&](const Stored& x, const Stored& y, const Stored& z, int compute = kCompute32, int scale = kReal32,
                    bool transpose = false) {
    return Multiplication(card, compute, scale, transpose, false, x, y, z).status;
  };
  const Stored square = kSmall;
  auto with = [&](auto change) {
    Stored other = square;
    change(other);
    return other;
  };
  CHECK(status(square, square, square) == kCublasSuccess);
  CHECK(status(with([](Stored& s) { s.leading = 3; }), square, square) == kCublasInvalidValue);
  CHECK(status(square, with([](Stored& s) { s.columns = 0; }), square) == kCublasInvalidValue);
  CHECK(status(square, square, with([](Stored& s) { s.columns = 5; })) == kCublasInvalidValue);
  CHECK(status(with([](Stored& s) { s.columns = 3; }), square, square) == kCublasInvalidValue);
  CHECK(status(square, square, with([](Stored& s) { s.batch = 2; })) == kCublasInvalidValue);
  const Stored two = with([](Stored& s) { s.batch = 2; });
  CHECK(status(two, two, two) == kCublasInvalidValue); // results on top of each other
  CHECK(status(two, two, with([](Stored& s) { s.batch = 2, s.stride = 16; })) == kCublasSuccess);
  CHECK(status(with([](Stored& s) { s.type = kReal64; }), square, square) == kCublasNotSupported);
  CHECK(status(square, square, with([](Stored& s) { s.type = kReal16; })) == kCublasNotSupported);
  CHECK(status(square, square, square, kCompute64) == kCublasNotSupported);
  CHECK(status(square, square, square, kCompute32, kReal64) == kCublasNotSupported);
  const Stored large = with([](Stored& s) { s.leading = int64_t{1} << 31; });
  CHECK(status(large, square, square) == kCublasNotSupported);
}

TEST_CASE("what cublasLtMatmul refuses") {
  Blas card;
  const Pointer a = card.put(std::vector<float>(16)), d = card.put(std::vector<float>(16)),
                workspace = card.allocate(1 << 20);
  {
    Multiplication one(card, kCompute32, kReal32, false, false, kSmall, kSmall, kSmall, 16);
    CHECK(one.run(1.0f, 0.0f, a, a, d, workspace) == kCublasSuccess);
    CHECK(one.run(1.0f, 0.0f, a + 4, a, d, workspace) == kCublasInvalidValue); // for multiples of 16
    CHECK(one.run(1.0f, 0.0f, a, a, a, workspace) == kCublasInvalidValue);     // onto a factor
    CHECK(one.run(1.0f, 0.0f, 0, a, d, workspace) == kCublasInvalidValue);
    Multiplication other(card, kCompute32, kReal32, true, false, kSmall, kSmall, kSmall, 16);
    one.found = other.found;
    CHECK(one.run(1.0f, 0.0f, a, a, d, workspace) == kCublasInvalidValue);
  }
  CHECK(card.c.destroy_layout(nullptr) == kCublasInvalidValue);
  int32_t wrong = 7;
  CublasDesc desc = nullptr;
  REQUIRE(card.c.create_desc(&desc, kCompute32, kReal32) == 0);
  CHECK(card.c.set_desc(desc, kTransposeA, &wrong, sizeof wrong) == kCublasInvalidValue);
  CHECK(card.c.set_desc(desc, kTransposeA, &wrong, 1) == kCublasInvalidValue);
  CHECK(emulator::live().cublas == 2); // the handle and this one
  CHECK(card.c.destroy_desc(desc) == 0);
  CHECK(emulator::live().cublas == 1);
  for (Pointer p : {a, d, workspace})
    CHECK(card.d.free(p) == 0);
  CHECK(std::string(card.c.error_text(kCublasNotSupported)) == "the requested functionality is not supported");
}

TEST_CASE("operands that are not all live memory of the card end its context") {
  Blas card;
  const Pointer a = card.put(std::vector<float>(16)), d = card.put(std::vector<float>(15));
  {
    Multiplication one(card, kCompute32, kReal32, false, false, kSmall, kSmall, kSmall, 4);
    CHECK(one.run(1.0f, 0.0f, a, a, d, 0) == kCublasExecutionFailed);
  }
  CHECK(card.d.synchronize_stream(card.stream) == kIllegalAddress);
  card.context->error = kSuccess;
  for (Pointer p : {a, d})
    CHECK(card.d.free(p) == 0);
}

TEST_CASE("a seed does without some products") {
  int found = 0, refused = 0, ran = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Blas card(seed);
    const Pointer a = card.put(std::vector<float>(16)), d = card.put(std::vector<float>(16));
    {
      Multiplication one(card, kCompute32, kReal32, false, false, kSmall, kSmall, kSmall, 4);
      CHECK((one.status == kCublasSuccess || one.status == kCublasNotSupported));
      found += one.status == kCublasSuccess;
      if (one.status == kCublasSuccess) {
        const CublasStatus status = one.run(1.0f, 0.0f, a, a, d, 0);
        CHECK((status == kCublasSuccess || status == kCublasNotSupported));
        ran += status == kCublasSuccess;
        refused += status == kCublasNotSupported;
      }
    }
    for (Pointer p : {a, d})
      CHECK(card.d.free(p) == 0);
  }
  CHECK(found < 60);
  CHECK(refused > 0);
  CHECK(ran > 30);
}

} // namespace tl
