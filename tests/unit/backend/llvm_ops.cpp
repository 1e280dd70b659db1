// Every arithmetic operation, conversion and kind of memory access, in vector loops with all tails and in plain loops.
#include "abi/scalar_op.h"
#include "llvm_kernels.h"
#include <cmath>
#include <doctest/doctest.h>
#include <limits>

namespace tl::test {
namespace {

// for i in [0, n): body(i), as a vector loop or as a plain one, in a kernel whose last parameter so far is n.
void over(KernelBuilder& kb, ValueId n, bool vector, const std::function<void(ValueId)>& body) {
  if (vector) {
    kb.vector_loop(n, body);
    return;
  }
  kb.serial_loop(kb.i64(0), n, kb.i64(1), {}, [&](const auto& p) {
    body(p[0]);
    return std::vector<ValueId>{};
  });
}

template <class T> struct Op {
  KOp op;
  int arity;
  DType result;
  std::function<Scalar(T, T, T)> reference;
};

template <class T> T wrap_add(T x, T y) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(static_cast<std::make_unsigned_t<T>>(x) +
                                                             static_cast<std::make_unsigned_t<T>>(y)));
}
template <class T> T wrap_mul(T x, T y) { return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y)); }
template <class T> T wrap_neg(T x) { return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x)); }
template <class T> T floor_div(T x, T y) {
  if (y == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (y == T(-1)) return wrap_neg(x);
    T q = static_cast<T>(x / y);
    return x % y != 0 && (x < 0) != (y < 0) ? static_cast<T>(q - 1) : q;
  } else {
    return static_cast<T>(x / y);
  }
}
template <class T> T floor_mod(T x, T y) { return y == 0 ? T(0) : wrap_add(x, wrap_neg(wrap_mul(floor_div(x, y), y))); }

template <class T> std::vector<Op<T>> operations() {
  constexpr DType t = dtype_of<T>();
  std::vector<Op<T>> ops;
  auto add = [&](KOp op, int arity, DType result, auto reference) {
    ops.push_back({op, arity, result, [reference](T x, T y, T z) { return Scalar::of(reference(x, y, z)); }});
  };
  auto byte = [](bool b) { return static_cast<uint8_t>(b); };
  add(KOp::Eq, 2, DType::Bool, [=](T x, T y, T) { return byte(x == y); });
  add(KOp::Ne, 2, DType::Bool, [=](T x, T y, T) { return byte(x != y); });
  add(KOp::Lt, 2, DType::Bool, [=](T x, T y, T) { return byte(x < y); });
  add(KOp::Le, 2, DType::Bool, [=](T x, T y, T) { return byte(x <= y); });
  if constexpr (std::is_floating_point_v<T>) {
    add(KOp::Add, 2, t, [](T x, T y, T) { return x + y; });
    add(KOp::Sub, 2, t, [](T x, T y, T) { return x - y; });
    add(KOp::Mul, 2, t, [](T x, T y, T) { return x * y; });
    add(KOp::Div, 2, t, [](T x, T y, T) { return x / y; });
    add(KOp::Neg, 1, t, [](T x, T, T) { return -x; });
    add(KOp::Fma, 3, t, [](T x, T y, T z) { return std::fma(x, y, z); });
    add(KOp::Sqrt, 1, t, [](T x, T, T) { return std::sqrt(x); });
    add(KOp::Abs, 1, t, [](T x, T, T) { return std::fabs(x); });
    add(KOp::Floor, 1, t, [](T x, T, T) { return std::floor(x); });
    add(KOp::Ceil, 1, t, [](T x, T, T) { return std::ceil(x); });
    add(KOp::RoundEven, 1, t, [](T x, T, T) { return std::nearbyint(x); });
    add(KOp::Trunc, 1, t, [](T x, T, T) { return std::trunc(x); });
    add(KOp::CopySign, 2, t, [](T x, T y, T) { return std::copysign(x, y); });
    using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    add(KOp::Bitcast, 1, dtype_of<Bits>(), [](T x, T, T) { return std::bit_cast<Bits>(x); });
  } else {
    add(KOp::Add, 2, t, [](T x, T y, T) { return wrap_add(x, y); });
    add(KOp::Sub, 2, t, [](T x, T y, T) { return wrap_add(x, wrap_neg(y)); });
    add(KOp::Mul, 2, t, [](T x, T y, T) { return wrap_mul(x, y); });
    add(KOp::Neg, 1, t, [](T x, T, T) { return wrap_neg(x); });
    add(KOp::FloorDivInt, 2, t, [](T x, T y, T) { return floor_div(x, y); });
    add(KOp::ModInt, 2, t, [](T x, T y, T) { return floor_mod(x, y); });
    add(KOp::And, 2, t, [](T x, T y, T) { return static_cast<T>(x & y); });
    add(KOp::Or, 2, t, [](T x, T y, T) { return static_cast<T>(x | y); });
    add(KOp::Xor, 2, t, [](T x, T y, T) { return static_cast<T>(x ^ y); });
    add(KOp::Not, 1, t, [](T x, T, T) { return static_cast<T>(~x); });
    if constexpr (sizeof(T) == 4)
      add(KOp::MulHiU32, 2, t, [](T x, T y, T) {
        return static_cast<T>(uint64_t{static_cast<uint32_t>(x)} * static_cast<uint32_t>(y) >> 32);
      });
  }
  return ops;
}

template <class T> std::vector<T> interesting(size_t n, unsigned seed) {
  std::vector<T> values = random_values<T>(n, seed);
  using L = std::numeric_limits<T>;
  std::vector<T> special{T(0), T(1), L::max(), L::lowest(), T(7)};
  if constexpr (std::is_floating_point_v<T>) {
    for (T v : {L::quiet_NaN(), L::infinity(), -L::infinity(), T(-0.0), L::denorm_min(), T(2.5), T(-3.5), T(1e10)})
      special.push_back(v);
  } else {
    special.push_back(static_cast<T>(-1));
    special.push_back(static_cast<T>(-3));
  }
  std::mt19937 engine(seed);
  for (size_t i = 0; i < n; ++i)
    if (engine() % 2) values[i] = special[engine() % special.size()];
  return values;
}

template <class T> void check_operations() {
  constexpr DType t = dtype_of<T>();
  auto ops = operations<T>();
  for (bool vector : {true, false}) {
    KernelBuilder kb;
    uint32_t inputs[3] = {kb.input(t), kb.input(t), kb.input(t)}, n = kb.size();
    std::vector<uint32_t> outputs;
    for (const auto& op : ops)
      outputs.push_back(kb.output(op.result));
    kb.phase([&](ValueId) {
      over(kb, kb.arg(n), vector, [&](ValueId i) {
        ValueId x[3];
        for (int j = 0; j < 3; ++j)
          x[j] = kb.load(inputs[j], i);
        for (size_t o = 0; o < ops.size(); ++o)
          kb.store(outputs[o], i, kb.op(ops[o].op, ops[o].result, {x, x + ops[o].arity}));
      });
    });
    Both both(kb.kernel);
    for (int target = 0; target < 2; ++target)
      for (int64_t count : {0, 1, 5, 15, 16, 17, 31, 63, 70, 400}) {
        auto size = static_cast<size_t>(count);
        std::vector<T> in[3] = {interesting<T>(size, 1), interesting<T>(size, 2), interesting<T>(size, 3)};
        std::vector<std::vector<uint8_t>> out;
        std::vector<void*> args{in[0].data(), in[1].data(), in[2].data(), &count};
        for (const auto& op : ops) {
          out.emplace_back(size * static_cast<size_t>(size_of(op.result)) + 64, uint8_t{0xcc});
          args.push_back(out.back().data());
        }
        run(both[target], args);
        for (size_t o = 0; o < ops.size(); ++o) {
          auto width = static_cast<size_t>(size_of(ops[o].result));
          bool right = true;
          for (size_t i = 0; i < size && right; ++i) {
            Scalar want = ops[o].reference(in[0][i], in[1][i], in[2][i]), got;
            std::memcpy(&got, out[o].data() + i * width, width);
            right = got == want;
            if constexpr (std::is_floating_point_v<T>)
              if (ops[o].result == t) right = same_bits(got.as<T>(), want.as<T>());
            if (!right) {
              INFO("operation " << static_cast<int>(ops[o].op) << " of " << std::string(name_of(t)) << " on "
                                << +in[0][i] << ", " << +in[1][i] << ", " << +in[2][i] << ", vector " << vector
                                << ", target " << target << ": " << got.bits << ", not " << want.bits);
              CHECK(right);
            }
          }
          for (size_t i = size * width; i < out[o].size(); ++i)
            right = right && out[o][i] == 0xcc;
          CHECK(right);
        }
      }
  }
}

} // namespace

TEST_CASE("operations on floats") {
  check_operations<float>();
  check_operations<double>();
}

TEST_CASE("operations on integers") {
  check_operations<int64_t>();
  check_operations<uint64_t>();
  check_operations<int32_t>();
  check_operations<uint32_t>();
  check_operations<int16_t>();
  check_operations<uint16_t>();
  check_operations<int8_t>();
  check_operations<uint8_t>();
}

TEST_CASE("conversions between all types are those of the reference, also through f16 and bf16 in memory") {
  for (int from_index = 0; from_index < static_cast<int>(DType::C64); ++from_index) {
    auto from = static_cast<DType>(from_index);
    KernelBuilder kb;
    uint32_t in = kb.input(from), n = kb.size();
    std::vector<uint32_t> outputs;
    for (int to = 0; to < static_cast<int>(DType::C64); ++to)
      outputs.push_back(kb.output(static_cast<DType>(to)));
    kb.phase([&](ValueId) {
      kb.vector_loop(kb.arg(n), [&](ValueId i) {
        ValueId x = kb.load(in, i);
        for (size_t to = 0; to < outputs.size(); ++to) {
          auto target = static_cast<DType>(to);
          DType value = KernelBuilder::value_type(target);
          ValueId y = x;
          if (target != kb.type(x)) {
            Instr instr = KernelBuilder::make(KOp::Convert);
            instr.dtype = target; // with f16 and bf16 the conversion rounds to them
            instr.operands = {x};
            y = kb.append(instr, {value})[0];
          }
          kb.store(outputs[to], i, y);
        }
      });
    });
    JitOptions options;
    options.check_input = false; // a Convert to f16 has an f32 as its value
    for (auto [cpu, level] : {std::pair{"", 2}, {"x86-64-v3", 2}, {"", 0}, {"", -1}, {"x86-64-v3", -1}}) {
      options.cpu = cpu;
      options.level = level;
      auto jit = make_jit({kb.kernel}, options);
      int64_t count = 501;
      std::vector<uint64_t> random = random_values<uint64_t>(static_cast<size_t>(count), 17);
      std::vector<Scalar> values;
      for (size_t i = 0; i < random.size(); ++i) {
        Scalar v{random[i]};
        if (is_float(from)) { // of all magnitudes
          double magnitude = std::ldexp(static_cast<double>(random[i] >> 11), static_cast<int>(random[i] % 160) - 120);
          v = convert_scalar(DType::F64, from, Scalar::of(i % 2 ? magnitude : -magnitude));
          if (i % 50 == 0) v = convert_scalar(DType::F64, from, Scalar::of(std::nan("")));
          if (i % 50 == 1) v = convert_scalar(DType::F64, from, Scalar::of(1.0 / 0.0));
        } else if (from == DType::Bool) {
          v = Scalar{random[i] % 2};
        } else if (i % 3 == 0) {
          v = Scalar{random[i] >> (random[i] % 64)};
        }
        if (size_of(from) < 8) v.bits &= (uint64_t{1} << size_of(from) * 8) - 1;
        values.push_back(v);
      }
      std::vector<uint8_t> bytes(values.size() * 8);
      for (size_t i = 0; i < values.size(); ++i)
        std::memcpy(bytes.data() + i * static_cast<size_t>(size_of(from)), &values[i],
                    static_cast<size_t>(size_of(from)));
      std::vector<std::vector<uint8_t>> out(outputs.size(), std::vector<uint8_t>(values.size() * 8));
      std::vector<void*> args{bytes.data(), &count};
      for (auto& o : out)
        args.push_back(o.data());
      run(jit->kernel(0), args);
      for (size_t to = 0; to < out.size(); ++to) {
        auto target = static_cast<DType>(to);
        auto width = static_cast<size_t>(size_of(target));
        int wrong = 0;
        for (size_t i = 0; i < values.size(); ++i) {
          Scalar want = convert_scalar(from, target, values[i]), got;
          std::memcpy(&got, out[to].data() + i * width, width);
          if (got == want) continue;
          if (is_float(target) && std::isnan(convert_scalar(target, DType::F64, want).as<double>()) &&
              std::isnan(convert_scalar(target, DType::F64, got).as<double>()))
            continue;
          if (wrong++ == 0)
            MESSAGE(std::string(name_of(from)) << " -> " << std::string(name_of(target)) << ": " << values[i].bits
                                               << " gives " << got.bits << ", not " << want.bits);
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("shifts, unsigned division, select, rounding to 16 bits") {
  KernelBuilder kb;
  uint32_t a = kb.input(DType::I32), s = kb.input(DType::I32), d = kb.input(DType::I64), f = kb.input(DType::F32),
           c = kb.input(DType::Bool), n = kb.size();
  uint32_t out[] = {kb.output(DType::I32), kb.output(DType::I32), kb.output(DType::I32), kb.output(DType::I64),
                    kb.output(DType::I64), kb.output(DType::F32), kb.output(DType::F32), kb.output(DType::F32)};
  kb.phase([&](ValueId) {
    kb.vector_loop(kb.arg(n), [&](ValueId i) {
      ValueId x = kb.load(a, i), count = kb.load(s, i), divisor = kb.load(d, i), y = kb.load(f, i);
      kb.store(out[0], i, kb.op(KOp::Shl, DType::I32, {x, count}));
      kb.store(out[1], i, kb.op(KOp::LShr, DType::I32, {x, count}));
      kb.store(out[2], i, kb.op(KOp::AShr, DType::I32, {x, count}));
      kb.store(out[3], i, kb.op(KOp::UDiv, DType::I64, {i, divisor}));
      kb.store(out[4], i, kb.op(KOp::URem, DType::I64, {i, divisor}));
      kb.store(out[5], i, kb.op(KOp::Select, DType::F32, {kb.load(c, i), y, kb.constant(DType::F32, 5.0f)}));
      for (DType narrow : {DType::F16, DType::BF16}) {
        Instr round = KernelBuilder::make(KOp::Round16);
        round.dtype = narrow;
        round.operands = {y};
        kb.store(out[narrow == DType::F16 ? 6 : 7], i, kb.append(round, {DType::F32})[0]);
      }
    });
  });
  Both both(kb.kernel);
  for (int target = 0; target < 2; ++target) {
    int64_t count = 237;
    auto size = static_cast<size_t>(count);
    auto x = random_values<int32_t>(size, 1), shift = random_values<int32_t>(size, 2);
    auto divisor = random_values<int64_t>(size, 3);
    auto y = interesting<float>(size, 4);
    std::vector<uint8_t> choice(size);
    for (size_t i = 0; i < size; ++i) {
      shift[i] &= 31;
      divisor[i] = (divisor[i] & 63) + 1;
      choice[i] = i % 3 == 0;
      if (i % 5 == 0) y[i] *= 1e-6f;
    }
    std::vector<int32_t> r0(size), r1(size), r2(size);
    std::vector<int64_t> r3(size), r4(size);
    std::vector<float> r5(size), r6(size), r7(size);
    run(both[target], {x.data(), shift.data(), divisor.data(), y.data(), choice.data(), &count, r0.data(), r1.data(),
                       r2.data(), r3.data(), r4.data(), r5.data(), r6.data(), r7.data()});
    bool right = true;
    for (size_t i = 0; i < size; ++i) {
      right = right && r0[i] == static_cast<int32_t>(static_cast<uint32_t>(x[i]) << shift[i]);
      right = right && r1[i] == static_cast<int32_t>(static_cast<uint32_t>(x[i]) >> shift[i]);
      right = right && r2[i] == x[i] >> shift[i];
      right = right && r3[i] == static_cast<int64_t>(i) / divisor[i] && r4[i] == static_cast<int64_t>(i) % divisor[i];
      right = right && same_bits(r5[i], choice[i] ? y[i] : 5.0f);
      right = right && same_bits(r6[i], f16_to_float(float_to_f16(y[i])));
      right = right && same_bits(r7[i], bf16_to_float(float_to_bf16(y[i])));
    }
    CHECK(right);
  }
}

TEST_CASE("offsets: consecutive, reversed, strided, indirect, the same for all") {
  for (bool vector : {true, false}) {
    KernelBuilder kb;
    uint32_t x = kb.input(DType::F32), idx = kb.input(DType::I64), one = kb.input(DType::F32), n = kb.size();
    uint32_t out = kb.output(DType::F32), reversed = kb.output(DType::U8), scattered = kb.output(DType::F32),
             lines = kb.output(DType::I64);
    kb.phase([&](ValueId) {
      ValueId count = kb.arg(n), last = kb.op(KOp::Sub, DType::I64, {count, kb.i64(1)});
      over(kb, count, vector, [&](ValueId i) {
        ValueId back = kb.op(KOp::Sub, DType::I64, {last, i});
        ValueId j = kb.load(idx, i);
        ValueId sum = kb.add(kb.load(x, back), kb.load(x, kb.mul(i, kb.i64(3))));
        sum = kb.add(sum, kb.add(kb.load(x, j), kb.load(one, kb.i64(0))));
        sum = kb.add(sum, kb.load(x, kb.add(kb.mul(i, count), kb.i64(0))));
        kb.store(out, i, sum);
        kb.store(reversed, back, kb.op(KOp::Convert, DType::U8, {i}));
        kb.store(scattered, kb.mul(j, kb.i64(2)), sum);
        kb.store(lines, i, kb.op(KOp::Sub, DType::I64, {kb.mul(i, kb.i64(-5)), count}));
      });
    });
    Both both(kb.kernel);
    for (int target = 0; target < 2; ++target)
      for (int64_t count = 0; count <= 70; ++count) {
        auto size = static_cast<size_t>(count);
        auto in = random_values<float>(size * (size + 3) + 1, 1);
        std::vector<int64_t> index(size);
        for (size_t i = 0; i < size; ++i)
          index[i] = static_cast<int64_t>((i * 7 + 3) % size); // may repeat
        float one_value = 0.25f;
        std::vector<float> r(size + 1, -1.0f), w(2 * size + 1, -1.0f), want_r = r, want_w = w;
        std::vector<uint8_t> rev(size + 1, 99), want_rev = rev;
        std::vector<int64_t> line(size + 1, -9), want_line = line;
        run(both[target], {in.data(), index.data(), &one_value, &count, r.data(), rev.data(), w.data(), line.data()});
        for (size_t i = 0; i < size; ++i) {
          float sum = in[size - 1 - i] + in[3 * i];
          sum = sum + (in[static_cast<size_t>(index[i])] + one_value);
          sum = sum + in[i * size];
          want_r[i] = sum;
          want_rev[size - 1 - i] = static_cast<uint8_t>(i);
          want_w[static_cast<size_t>(index[i]) * 2] = sum;
          want_line[i] = -5 * static_cast<int64_t>(i) - count;
        }
        CHECK(same_bits(r, want_r));
        CHECK(rev == want_rev);
        CHECK(same_bits(w, want_w));
        CHECK(line == want_line);
      }
  }
}

} // namespace tl::test
