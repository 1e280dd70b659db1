// Reductions and contractions in all their forms against abi/orders.h, bit for bit.
#include "llvm_kernels.h"
#include <cmath>
#include <doctest/doctest.h>
#include <limits>

namespace tl::test {
namespace {

// What a reduction of x[k], for the k with mask[k] (null: all), must give.
template <class T>
std::pair<T, int64_t> reference(ReduceOp op, int64_t n, const T* x, int64_t step, const uint8_t* mask) {
  using L = std::numeric_limits<T>;
  constexpr bool real = std::is_floating_point_v<T>;
  bool any = false;
  for (int64_t k = 0; k < n; ++k)
    any = any || !mask || mask[k];
  if (op == ReduceOp::ArgMin || op == ReduceOp::ArgMax) {
    int64_t best = -1;
    for (int64_t k = 0; k < n; ++k) {
      if (mask && !mask[k]) continue;
      T v = x[k * step];
      if (best < 0) {
        best = k;
        continue;
      }
      T b = x[best * step];
      bool b_nan = b != b, v_nan = v != v;
      if (!b_nan && (v_nan || (op == ReduceOp::ArgMin ? v < b : v > b))) best = k;
    }
    if (best < 0) {
      T none = op == ReduceOp::ArgMin ? (real ? L::infinity() : L::max()) : (real ? -L::infinity() : L::lowest());
      return {none, 0};
    }
    return {x[best * step], best};
  }
  if (op == ReduceOp::Sum && !any) return {T(0), 0};
  T identity{};
  auto combine = [&](auto a, auto b) -> decltype(a) {
    using V = decltype(a);
    switch (op) {
    case ReduceOp::Sum:
      if constexpr (real)
        return a + b;
      else
        return static_cast<V>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    case ReduceOp::Prod:
      if constexpr (real)
        return a * b;
      else
        return static_cast<V>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    case ReduceOp::Min: return b != b ? b : (b < a ? b : a);
    default: return b != b ? b : (a < b ? b : a);
    }
  };
  switch (op) {
  case ReduceOp::Sum: identity = real ? T(-0.0) : T(0); break;
  case ReduceOp::Prod: identity = T(1); break;
  case ReduceOp::Min: identity = real ? L::infinity() : L::max(); break;
  default: identity = real ? -L::infinity() : L::lowest();
  }
  auto load = [&](int64_t k) { return !mask || mask[k] ? x[k * step] : identity; };
  if constexpr (real)
    if (op == ReduceOp::Sum || op == ReduceOp::Prod)
      return {static_cast<T>(reduce_in_order(
                  n, identity, load, combine, [](T v) { return static_cast<double>(v); }, combine)),
              0};
  return {reduce_in_order(n, identity, load, combine, [](T v) { return v; }, combine), 0};
}

enum class Place { Alone, InLanes, InLanesConstant };

// out[i] = reduction over k of x[k*m + i] (in lanes: i is the vector loop's index; alone: m is 1).
template <class T> kir::Kernel reduction(ReduceOp op, Place place, bool masked, int64_t constant) {
  constexpr DType t = dtype_of<T>();
  bool arg = op == ReduceOp::ArgMin || op == ReduceOp::ArgMax;
  KernelBuilder kb;
  uint32_t x = kb.input(t), mask = kb.input(DType::Bool), n = kb.size(), m = kb.size(), out = kb.output(t),
           position = kb.output(DType::I64);
  kb.phase([&](ValueId) {
    ValueId rows = constant >= 0 ? kb.i64(constant) : kb.arg(n), columns = kb.arg(m);
    auto fold = [&](ValueId i) {
      auto r = kb.reduce(op, t, rows, [&](const auto& p) {
        std::vector<ValueId> yields{kb.load(x, kb.add(kb.mul(p[0], columns), i))};
        if (masked) yields.push_back(kb.load(mask, p[0]));
        return yields;
      });
      kb.store(out, i, r[0]);
      kb.store(position, i, arg ? r[1] : kb.i64(0));
    };
    if (place == Place::Alone)
      fold(kb.i64(0));
    else
      kb.vector_loop(columns, fold);
  });
  return kb.kernel;
}

template <class T> void check_reduction(ReduceOp op, Place place, bool masked, std::vector<int64_t> sizes) {
  std::vector<int64_t> constants{-1};
  if (place == Place::InLanesConstant) constants = sizes;
  for (int64_t constant : constants) {
    Both both(reduction<T>(op, place, masked, constant));
    for (int target = 0; target < 2; ++target)
      for (int64_t n : constant >= 0 ? std::vector{constant} : sizes) {
        int64_t m = place == Place::Alone ? 1 : 37;
        if (n > 1000 && m > 1) m = 3;
        auto x = random_values<T>(static_cast<size_t>(n * m), static_cast<unsigned>(n) + 1);
        for (size_t i = 0; i < x.size(); ++i) { // ties, zeros of both signs, a NaN now and then
          if (op >= ReduceOp::Min && i % 3 == 0) x[i] = static_cast<T>(static_cast<int>(x[i]) & 3);
          if (std::is_floating_point_v<T> && i % 7 == 0) x[i] = i % 2 ? T(-0.0) : T(0);
          if (std::is_floating_point_v<T> && op == ReduceOp::Prod) x[i] = x[i] / 8 + 1;
          if (std::is_floating_point_v<T> && op >= ReduceOp::Min && i % 97 == 61)
            x[i] = std::numeric_limits<T>::quiet_NaN();
          if (op >= ReduceOp::ArgMin && n == 33) x[i] = std::numeric_limits<T>::max(); // nothing but ties
        }
        std::vector<uint8_t> mask(static_cast<size_t>(n));
        for (size_t k = 0; k < mask.size(); ++k)
          mask[k] = n != 17 && k % 5 != 1; // 17: nothing takes part
        std::vector<T> out(static_cast<size_t>(m));
        std::vector<int64_t> position(static_cast<size_t>(m));
        run(both[target], {x.data(), mask.data(), &n, &m, out.data(), position.data()});
        bool right = true;
        for (int64_t i = 0; i < m; ++i) {
          auto [value, index] = reference(op, n, x.data() + i, m, masked ? mask.data() : nullptr);
          right = right && same_bits(out[static_cast<size_t>(i)], value) && position[static_cast<size_t>(i)] == index;
        }
        CAPTURE(static_cast<int>(op));
        CAPTURE(static_cast<int>(place));
        CAPTURE(masked);
        CAPTURE(target);
        CAPTURE(n);
        CAPTURE(std::string(name_of(dtype_of<T>())));
        CHECK(right);
      }
  }
}

template <class T> void check_reductions(std::initializer_list<ReduceOp> ops) {
  for (ReduceOp op : ops)
    for (bool masked : {false, true}) {
      std::vector<int64_t> sizes{0, 1, 2, 5, 17, 31, 32, 33, 64, 70, 4095, 4096, 4097, 9000};
      check_reduction<T>(op, Place::Alone, masked, sizes);
      check_reduction<T>(op, Place::InLanes, masked, sizes);
    }
  check_reduction<T>(*ops.begin(), Place::InLanesConstant, true, {1, 3, 17, 32, 40});
}

} // namespace

TEST_CASE("reductions of floats") {
  using enum ReduceOp;
  check_reductions<float>({Sum, Prod, Min, Max, ArgMin, ArgMax});
  check_reductions<double>({Sum, Min, ArgMax});
}

TEST_CASE("reductions of integers") {
  using enum ReduceOp;
  check_reductions<int64_t>({Sum, Prod, Max});
  check_reductions<uint8_t>({Min, ArgMax});
  check_reductions<int32_t>({ArgMin});
}

TEST_CASE("reductions of chunks of chunks") {
  // More than kSumLanes chunks, and more than kSumChunk: into a second level, and a third of two results. In f64, where
  // the order shows.
  check_reduction<double>(ReduceOp::Sum, Place::Alone, false,
                          {kSumChunk * 3, kSumChunk * 33 + 5, kSumChunk * 100, kSumChunk * kSumChunk + 1,
                           kSumChunk * (kSumChunk + 70) + 9});
  check_reduction<double>(ReduceOp::Sum, Place::InLanes, true, {kSumChunk * 33 + 5, kSumChunk * 64 + 1});
}

TEST_CASE("any and all") {
  for (bool lanes : {false, true})
    for (ReduceOp op : {ReduceOp::Any, ReduceOp::All}) {
      KernelBuilder kb;
      uint32_t x = kb.input(DType::I32), n = kb.size(), m = kb.size(), out = kb.output(DType::Bool);
      kb.phase([&](ValueId) {
        ValueId columns = kb.arg(m);
        auto fold = [&](ValueId i) {
          kb.store(out, i, kb.reduce(op, DType::Bool, kb.arg(n), [&](const auto& p) {
            ValueId v = kb.load(x, kb.add(kb.mul(p[0], columns), i));
            return std::vector{kb.op(KOp::Lt, DType::Bool, {v, kb.constant(DType::I32, 0)})};
          })[0]);
        };
        if (lanes)
          kb.vector_loop(columns, fold);
        else
          fold(kb.i64(0));
      });
      Both both(kb.kernel);
      for (int target = 0; target < 2; ++target)
        for (int64_t size : {0, 1, 3, 40, 5000})
          for (int32_t odd_one : {-1, 1}) {
            int64_t width = lanes ? 21 : 1;
            std::vector<int32_t> in(static_cast<size_t>(size * width), -odd_one);
            if (size > 2) in[static_cast<size_t>((size - 1) * width)] = odd_one; // column 0 only
            std::vector<uint8_t> got(static_cast<size_t>(width), 9);
            run(both[target], {in.data(), &size, &width, got.data()});
            for (size_t i = 0; i < got.size(); ++i) {
              bool one = i == 0 && size > 2; // has one element unlike the others
              bool negative_rest = odd_one > 0;
              bool want = op == ReduceOp::Any ? size > 0 && (negative_rest || (one && odd_one < 0))
                                              : size == 0 || (negative_rest && !(one && odd_one > 0));
              CHECK(got[i] == want);
            }
          }
    }
}

TEST_CASE("chunks of a reduction, combined by a later phase") {
  KernelBuilder kb;
  uint32_t x = kb.input(DType::F32), n = kb.size(), out = kb.output(DType::F32);
  SizeFormula chunks{{{SizeFormula::Op::Arg, 1}, {SizeFormula::Op::Const, kSumChunk}, {SizeFormula::Op::CeilDiv}}};
  uint32_t parts = kb.param(ParamKind::Shared, DType::F64, chunks);
  kb.phase(
      [&](ValueId tile) {
        ValueId begin = kb.mul(tile, kb.i64(kSumChunk)), end = kb.add(begin, kb.i64(kSumChunk)), total = kb.arg(n);
        end = kb.op(KOp::Select, DType::I64, {kb.op(KOp::Lt, DType::Bool, {end, total}), end, total});
        Instr chunk = KernelBuilder::make(KOp::ReduceChunk);
        chunk.reduce = ReduceOp::Sum;
        chunk.dtype = DType::F32;
        chunk.operands = {begin, end};
        chunk.blocks.push_back(kb.block({DType::I64}, [&](const auto& p) { return std::vector{kb.load(x, p[0])}; }));
        kb.store(parts, tile, kb.append(chunk, {DType::F64})[0]);
      },
      chunks);
  kb.phase([&](ValueId) {
    ValueId count = kb.op(KOp::UDiv, DType::I64, {kb.add(kb.arg(n), kb.i64(kSumChunk - 1)), kb.i64(kSumChunk)});
    ValueId sum = kb.reduce(ReduceOp::Sum, DType::F64, count,
                            [&](const auto& p) { return std::vector{kb.load(parts, p[0])}; })[0];
    kb.store(out, kb.i64(0), kb.op(KOp::Convert, DType::F32, {sum}));
  });
  Both both(kb.kernel);
  for (int target = 0; target < 2; ++target)
    for (int64_t size : {1, 4096, 4097, 20000}) {
      auto in = random_values<float>(static_cast<size_t>(size), 6);
      float got = 0;
      run(both[target], {in.data(), &size, &got});
      CHECK(same_bits(got, reference<float>(ReduceOp::Sum, size, in.data(), 1, nullptr).first));
    }
}

TEST_CASE("contractions, alone and in lanes") {
  for (bool lanes : {false, true}) {
    auto build = [&](DType type) {
      KernelBuilder kb;
      uint32_t a = kb.input(type), b = kb.input(type), n = kb.size(), m = kb.size(), out = kb.output(type);
      kb.phase([&](ValueId) {
        ValueId columns = kb.arg(m);
        auto fold = [&](ValueId i) {
          kb.store(out, i, kb.contract(type, kb.arg(n), [&](const auto& p) {
            return std::vector{kb.load(a, p[0]), kb.load(b, kb.add(kb.mul(p[0], columns), i))};
          }));
        };
        if (lanes)
          kb.vector_loop(columns, fold);
        else
          fold(kb.i64(0));
      });
      return kb.kernel;
    };
    Both floats(build(DType::F32)), integers(build(DType::I32));
    for (int target = 0; target < 2; ++target)
      for (int64_t n : {0, 1, 2, 100, 511, 512, 513, 1025, 4096, 9001}) {
        int64_t m = lanes ? 83 : 1;
        auto a = random_values<float>(static_cast<size_t>(n), 1),
             b = random_values<float>(static_cast<size_t>(n * m), 2);
        auto c = random_values<int32_t>(a.size(), 3), d = random_values<int32_t>(b.size(), 4);
        std::vector<float> got(static_cast<size_t>(m));
        std::vector<int32_t> got_int(got.size());
        run(floats[target], {a.data(), b.data(), &n, &m, got.data()});
        run(integers[target], {c.data(), d.data(), &n, &m, got_int.data()});
        bool right = true;
        for (size_t i = 0; i < got.size(); ++i) {
          auto at = [&](int64_t k) { return static_cast<size_t>(k * m) + i; };
          right = right && same_bits(got[i], contract_in_order(
                                                 n, 0.0f, [&](int64_t k) { return a[static_cast<size_t>(k)]; },
                                                 [&](int64_t k) { return b[at(k)]; },
                                                 [](float x, float y, float z) { return std::fma(x, y, z); },
                                                 [](float x, float y) { return x + y; }));
          uint32_t sum = 0;
          for (int64_t k = 0; k < n; ++k)
            sum += static_cast<uint32_t>(c[static_cast<size_t>(k)]) * static_cast<uint32_t>(d[at(k)]);
          right = right && got_int[i] == static_cast<int32_t>(sum);
        }
        CHECK(right);
      }
  }
}

TEST_CASE("a reduction in a reduction, and one that stores what it sums") {
  KernelBuilder kb;
  uint32_t x = kb.input(DType::F32), n = kb.size(), m = kb.size(), out = kb.output(DType::F32),
           copy = kb.output(DType::F32);
  kb.phase([&](ValueId) {
    // The greatest of the row sums.
    ValueId columns = kb.arg(m);
    ValueId best = kb.reduce(ReduceOp::Max, DType::F32, kb.arg(n), [&](const auto& p) {
      return kb.reduce(ReduceOp::Sum, DType::F32, columns,
                       [&](const auto& q) { return std::vector{kb.load(x, kb.add(kb.mul(p[0], columns), q[0]))}; });
    })[0];
    kb.store(out, kb.i64(0), best);
    ValueId sum = kb.reduce(ReduceOp::Sum, DType::F32, kb.arg(n), [&](const auto& p) {
      ValueId v = kb.load(x, p[0]), twice = kb.add(v, v);
      kb.store(copy, p[0], twice);
      return std::vector{twice};
    })[0];
    kb.store(out, kb.i64(1), sum);
  });
  Both both(kb.kernel);
  for (int target = 0; target < 2; ++target)
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {3, 50}, {41, 7}, {100, 33}}) {
      int64_t r = rows, c = columns;
      auto in = random_values<float>(static_cast<size_t>(r * c), 12);
      std::vector<float> got(2), doubled(static_cast<size_t>(r)), want_doubled, sums;
      run(both[target], {in.data(), &r, &c, got.data(), doubled.data()});
      for (int64_t i = 0; i < r; ++i) {
        sums.push_back(reference<float>(ReduceOp::Sum, c, in.data() + i * c, 1, nullptr).first);
        want_doubled.push_back(in[static_cast<size_t>(i)] + in[static_cast<size_t>(i)]);
      }
      CHECK(same_bits(got[0], reference<float>(ReduceOp::Max, r, sums.data(), 1, nullptr).first));
      CHECK(same_bits(got[1], reference<float>(ReduceOp::Sum, r, want_doubled.data(), 1, nullptr).first));
      CHECK(same_bits(doubled, want_doubled));
    }
}

} // namespace tl::test
