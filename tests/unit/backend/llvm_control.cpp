// Loops, branches under masks, checks, workspace, and the provider itself.
#include "llvm_kernels.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <thread>

namespace tl::test {

// Steps of the Collatz sequence of x[i], and for odd i the sum of x[0 .. i % 7) times two: every kind of control flow,
// in a vector loop under masks or in a plain one.
static kir::Kernel control_kernel(bool vector) {
  KernelBuilder kb;
  uint32_t x = kb.input(DType::I64), n = kb.size(), out = kb.output(DType::I64);
  kb.phase([&](ValueId) {
    auto body = [&](ValueId i) {
      ValueId one = kb.i64(1), two = kb.i64(2), zero = kb.i64(0);
      ValueId odd = kb.op(KOp::Eq, DType::Bool, {kb.op(KOp::And, DType::I64, {i, one}), one});
      ValueId result = kb.if_else(
          odd,
          [&](const auto&) {
            // A loop with bounds that are the same for all lanes, with a masked If inside.
            ValueId limit = kb.op(KOp::ModInt, DType::I64, {i, kb.i64(7)});
            return kb.serial_loop(kb.i64(6), kb.i64(-1), kb.i64(-1), {zero}, [&](const auto& p) {
              ValueId inside = kb.op(KOp::Lt, DType::Bool, {p[0], limit});
              return kb.if_else(
                  inside, [&](const auto&) { return std::vector{kb.add(p[1], kb.mul(two, kb.load(x, p[0])))}; },
                  [&](const auto&) { return std::vector{p[1]}; }, {DType::I64});
            });
          },
          [&](const auto&) {
            return std::vector{kb.while_loop(
                {kb.load(x, i), zero},
                [&](const auto& p) { return std::vector{kb.op(KOp::Lt, DType::Bool, {one, p[0]})}; },
                [&](const auto& p) {
                  ValueId half = kb.op(KOp::AShr, DType::I64, {p[0], one});
                  ValueId triple = kb.add(kb.mul(p[0], kb.i64(3)), one);
                  ValueId even = kb.op(KOp::Eq, DType::Bool, {kb.op(KOp::And, DType::I64, {p[0], one}), zero});
                  return std::vector{kb.op(KOp::Select, DType::I64, {even, half, triple}), kb.add(p[1], one)};
                })[1]};
          },
          {DType::I64})[0];
      // A store that only some iterations do.
      kb.if_else(
          kb.op(KOp::Ne, DType::Bool, {kb.op(KOp::ModInt, DType::I64, {i, kb.i64(5)}), zero}),
          [&](const auto&) {
            kb.store(out, i, result);
            return std::vector<ValueId>{};
          },
          [&](const auto&) { return std::vector<ValueId>{}; }, {});
    };
    if (vector)
      kb.vector_loop(kb.arg(n), body);
    else
      kb.serial_loop(kb.i64(0), kb.arg(n), kb.i64(1), {}, [&](const auto& p) {
        body(p[0]);
        return std::vector<ValueId>{};
      });
  });
  return kb.kernel;
}

TEST_CASE("control flow in vector loops runs under masks") {
  for (bool vector : {true, false}) {
    Both both(control_kernel(vector));
    for (int target = 0; target < 2; ++target)
      for (int64_t n = 0; n <= 70; ++n) {
        auto size = static_cast<size_t>(n);
        auto x = random_values<int64_t>(std::max<size_t>(size, 7), 5);
        for (auto& value : x)
          value = (value & 1023) - 5;
        std::vector<int64_t> out(size + 1, -1), want = out;
        run(both[target], {x.data(), &n, out.data()});
        for (size_t i = 0; i < size; ++i) {
          int64_t r = 0;
          if (i % 2 == 1)
            for (size_t k = 0; k < i % 7; ++k)
              r += 2 * x[k];
          else
            for (int64_t v = x[i]; v > 1; v = v % 2 == 0 ? v / 2 : 3 * v + 1)
              ++r;
          if (i % 5 != 0) want[i] = r;
        }
        CHECK(out == want);
      }
  }
}

TEST_CASE("serial loops count with any step") {
  KernelBuilder kb;
  uint32_t lo = kb.size(), hi = kb.size(), step = kb.size(), out = kb.output(DType::I64);
  kb.phase([&](ValueId) {
    ValueId one = kb.i64(1), zero = kb.i64(0);
    auto r = kb.serial_loop(kb.arg(lo), kb.arg(hi), kb.arg(step), {zero, zero},
                            [&](const auto& p) { return std::vector{kb.add(p[1], one), kb.add(p[2], p[0])}; });
    auto s = kb.serial_loop(kb.arg(lo), kb.arg(hi), kb.i64(3), {zero, zero},
                            [&](const auto& p) { return std::vector{kb.add(p[1], one), kb.add(p[2], p[0])}; });
    for (size_t i = 0; i < 2; ++i) {
      kb.store(out, kb.i64(static_cast<int64_t>(i)), r[i]);
      kb.store(out, kb.i64(static_cast<int64_t>(i) + 2), s[i]);
    }
  });
  Both both(kb.kernel);
  constexpr int64_t kMax = INT64_MAX, kMin = INT64_MIN;
  for (auto [l, h, s] : std::vector<std::array<int64_t, 3>>{{0, 10, 1},
                                                            {0, 10, 3},
                                                            {10, 0, -3},
                                                            {10, 0, 1},
                                                            {5, 5, 1},
                                                            {0, 10, -1},
                                                            {kMax - 4, kMax, 3},
                                                            {kMin + 5, kMin, -2},
                                                            {kMin, kMax, kMax}}) {
    if (h > l && (static_cast<uint64_t>(h) - static_cast<uint64_t>(l)) / 3 > 1000) { // too long for the second loop
      h = l + 100;
      s = kMax;
    }
    std::vector<int64_t> got(4), want(4);
    run(both[0], {&l, &h, &s, got.data()});
    auto count = [&](int64_t by, size_t at) {
      for (__int128 i = l; by > 0 ? i < h : i > h; i += by) {
        ++want[at];
        want[at + 1] = static_cast<int64_t>(static_cast<uint64_t>(want[at + 1]) + static_cast<uint64_t>(i));
      }
    };
    count(s, 0), count(3, 2);
    CHECK(got == want);
  }
}

TEST_CASE("checks record every failing element, in vectors and outside") {
  for (bool vector : {true, false}) {
    KernelBuilder kb;
    uint32_t x = kb.input(DType::F32), n = kb.size(), out = kb.output(DType::F32);
    kb.phase([&](ValueId) {
      auto body = [&](ValueId i) {
        ValueId v = kb.load(x, i), ok = kb.op(KOp::Lt, DType::Bool, {v, kb.constant(DType::F32, 1.5f)});
        kb.check(3, ok, i, kb.mul(i, kb.i64(10)), kb.i64(42));
        kb.store(out, i, v);
      };
      ValueId count = kb.arg(n);
      kb.check(1, kb.op(KOp::Lt, DType::Bool, {count, kb.i64(60)}), kb.i64(0), count, kb.i64(60));
      if (vector)
        kb.vector_loop(count, body);
      else
        kb.serial_loop(kb.i64(0), count, kb.i64(1), {}, [&](const auto& p) {
          body(p[0]);
          return std::vector<ValueId>{};
        });
    });
    Both both(kb.kernel);
    for (int target = 0; target < 2; ++target)
      for (int64_t n_value : {0, 3, 16, 37, 64}) {
        auto in = random_values<float>(static_cast<size_t>(n_value), 4);
        std::vector<float> copy(in.size());
        Recorder errors = run(both[target], {in.data(), &n_value, copy.data()});
        CHECK(same_bits(in, copy));
        size_t next = 0;
        if (n_value >= 60) {
          REQUIRE(!errors.failures.empty());
          CHECK(errors.failures[0].site == 1);
          CHECK(errors.failures[0].a == 64);
          next = 1;
        }
        for (size_t i = 0; i < in.size(); ++i) {
          if (in[i] < 1.5f) continue;
          REQUIRE(next < errors.failures.size());
          const Failure& f = errors.failures[next++];
          CHECK(f.site == 3);
          CHECK(f.element == static_cast<int64_t>(i));
          CHECK(f.a == static_cast<int64_t>(i) * 10);
          CHECK(f.b == 42);
        }
        CHECK(next == errors.failures.size());
      }
  }
}

TEST_CASE("phases, tiles, shared and local workspace") {
  // Phase 0: shared[t] = sum of row t doubled in a local row; phase 1: out[t] = shared[t] - shared[0].
  KernelBuilder kb;
  uint32_t x = kb.input(DType::F32);
  kb.size(); // rows
  uint32_t columns = kb.size(), out = kb.output(DType::F32);
  SizeFormula rows_formula{{{SizeFormula::Op::Arg, 1}}}, columns_formula{{{SizeFormula::Op::Arg, 2}}};
  uint32_t pad = kb.param(ParamKind::Shared, DType::U8, SizeFormula::constant(3));
  uint32_t shared = kb.param(ParamKind::Shared, DType::F32, rows_formula);
  uint32_t local = kb.param(ParamKind::Local, DType::F32, columns_formula);
  kb.phase(
      [&](ValueId tile) {
        ValueId n = kb.arg(columns), start = kb.mul(tile, n);
        kb.vector_loop(n, [&](ValueId j) {
          ValueId v = kb.load(x, kb.add(start, j));
          kb.store(local, j, kb.add(v, v));
        });
        ValueId sum = kb.reduce(ReduceOp::Sum, DType::F32, n,
                                [&](const auto& p) { return std::vector{kb.load(local, p[0])}; })[0];
        kb.store(shared, tile, sum);
        kb.store(pad, kb.i64(2), kb.constant(DType::U8, uint8_t{1}));
      },
      rows_formula);
  kb.phase(
      [&](ValueId tile) {
        ValueId difference = kb.op(KOp::Sub, DType::F32, {kb.load(shared, tile), kb.load(shared, kb.i64(0))});
        kb.store(out, tile, difference);
      },
      rows_formula);
  Both both(kb.kernel);
  for (int target = 0; target < 2; ++target) {
    int64_t r = 5, c = 77;
    CHECK(both[target].shared_bytes.evaluate(std::vector<void*>{nullptr, &r, &c}.data()) == 128);
    CHECK(both[target].local_bytes.evaluate(std::vector<void*>{nullptr, &r, &c}.data()) == 320);
    auto in = random_values<float>(static_cast<size_t>(r * c), 3);
    std::vector<float> got(5), sums;
    run(both[target], {in.data(), &r, &c, got.data()});
    for (int64_t i = 0; i < r; ++i)
      sums.push_back(static_cast<float>(reduce_in_order(
          c, -0.0f,
          [&](int64_t k) {
            float v = in[static_cast<size_t>(i * c + k)];
            return v + v;
          },
          [](float a, float b) { return a + b; }, [](float a) { return static_cast<double>(a); },
          [](double a, double b) { return a + b; })));
    for (size_t i = 0; i < 5; ++i)
      CHECK(same_bits(got[i], sums[i] - sums[0]));
  }
}

TEST_CASE("an output may share memory with an input, or promise not to") {
  for (bool exclusive : {false, true}) {
    KernelBuilder kb;
    uint32_t x = kb.input(DType::F32), n = kb.size(), out = kb.output(DType::F32);
    kb.kernel.params[out].exclusive = exclusive;
    kb.phase([&](ValueId) {
      kb.serial_loop(kb.i64(1), kb.arg(n), kb.i64(1), {}, [&](const auto& p) {
        ValueId before = kb.load(exclusive ? out : x, kb.op(KOp::Sub, DType::I64, {p[0], kb.i64(1)}));
        kb.store(out, p[0], kb.add(before, kb.load(x, p[0])));
        return std::vector<ValueId>{};
      });
    });
    Both both(kb.kernel);
    std::vector<float> data(100, 1.0f), ones(100, 1.0f);
    int64_t count = 100;
    run(both[0], {exclusive ? ones.data() : data.data(), &count, data.data()});
    for (size_t i = 0; i < 100; ++i)
      CHECK(data[i] == static_cast<float>(i + 1));
  }
}

TEST_CASE("the provider shares equal kernels, compiles ahead, from many threads, and refuses malformed ones") {
  auto scale = [](float factor, const char* name) {
    KernelBuilder kb(name);
    uint32_t x = kb.input(DType::F32), n = kb.size(), out = kb.output(DType::F32);
    kb.phase([&](ValueId) {
      kb.vector_loop(kb.arg(n),
                     [&](ValueId i) { kb.store(out, i, kb.mul(kb.load(x, i), kb.constant(DType::F32, factor))); });
    });
    return kb.kernel;
  };
  for (int ahead : {0, 2}) {
    JitOptions options;
    options.ahead_threads = ahead;
    std::vector<kir::Kernel> kernels;
    for (int i = 0; i < 6; ++i)
      kernels.push_back(scale(static_cast<float>(i % 3), i < 3 ? "first" : "second"));
    auto jit = make_jit(kernels, options);
    std::vector<std::thread> threads;
    std::vector<float> results(6);
    for (uint32_t id = 0; id < 6; ++id)
      threads.emplace_back([&, id] {
        float x = 5.0f;
        int64_t n = 1;
        run(jit->kernel(id), {&x, &n, &results[id]});
      });
    for (auto& thread : threads)
      thread.join();
    for (uint32_t id = 0; id < 6; ++id)
      CHECK(results[id] == 5.0f * static_cast<float>(id % 3));
    bool shared = jit->kernel(0).phases[0].function == jit->kernel(3).phases[0].function;
    bool apart = jit->kernel(0).phases[0].function != jit->kernel(1).phases[0].function;
    CHECK(shared);
    CHECK(apart);
  }
  kir::Kernel broken = scale(1, "broken");
  broken.phases[0].body.instrs.back().operands[1] = ValueId{77};
  CHECK_THROWS_AS(make_jit({broken})->kernel(0), std::logic_error);
  CHECK(to_llvm(scale(2, "twice")).find("define void @twice_0(") != std::string::npos);
  CHECK(to_asm(scale(2, "twice")).find("twice_0:") != std::string::npos);
}

} // namespace tl::test
