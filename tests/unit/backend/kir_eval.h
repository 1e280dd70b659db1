// Kernel IR, run one instruction after the other: the meaning of kir::Kernel, for tests. Slow and obvious. Memory is
// checked (out of range throws), workspace starts as garbage, and tiles run in the order that a seed gives.
#pragma once
#include "abi/scalar_op.h"
#include "backend/kernel/kernel_ops.h"
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>

namespace tl::test {

struct KirFailure {
  int32_t site;
  int64_t element, a, b;
};

class KirEval {
public:
  // One tensor per argument (a scalar or size: rank 0), outputs included: they hold what the kernel may start from.
  KirEval(const kir::Kernel& kernel, std::vector<HostTensor>& arguments, uint32_t seed = 0)
      : kernel_(kernel), memory_(arguments), seed_(seed) {}

  void run() {
    values_.assign(kernel_.types.size(), {});
    std::vector<void*> args;
    for (HostTensor& t : memory_)
      args.push_back(t.data());
    args_ = args.data();
    arguments_ = memory_.size();
    for (size_t i = arguments_; i < kernel_.params.size(); ++i) {
      int64_t count = kernel_.params[i].count.evaluate(args_);
      memory_.push_back(HostTensor::make(kernel_.params[i].dtype, {count}));
      poison(memory_.back());
    }
    if (kernel_.is_gemm) gemm();
    for (const kir::Phase& phase : kernel_.phases) {
      int64_t tiles = phase.tiles.evaluate(args_);
      if (phase.grain.evaluate(args_) < 1) throw std::runtime_error("a grain below 1");
      for (int64_t t = 0; t < tiles; ++t) {
        for (size_t i = arguments_; i < kernel_.params.size(); ++i)
          if (kernel_.params[i].kind == kir::ParamKind::Local) poison(memory_[i]);
        int64_t tile = seed_ % 2 ? tiles - 1 - t : t;
        values_[phase.body.params[0].index] = Scalar::of(tile);
        block(phase.body);
      }
    }
    memory_.resize(arguments_);
  }

  std::optional<KirFailure> failure;

private:
  using KOp = kir::KOp;

  static void poison(HostTensor& t) {
    std::memset(t.data(), t.dtype == DType::Bool ? 1 : 0xCB, static_cast<size_t>(t.byte_count()));
  }

  Scalar get(kir::ValueId v) const { return values_[v.index]; }
  int64_t i64(kir::ValueId v) const { return get(v).as<int64_t>(); }
  bool truth(kir::ValueId v) const { return get(v).as<uint8_t>() != 0; }
  DType type(kir::ValueId v) const { return kernel_.types[v.index]; }

  Scalar load(uint32_t param, int64_t offset) {
    const HostTensor& t = memory_[param];
    if (offset < 0 || offset >= t.count())
      throw std::runtime_error("load out of range: " + kernel_.params[param].name + " at " + std::to_string(offset));
    DType memory = kernel_.params[param].dtype;
    return convert_scalar(memory, value_type_of(memory), t.get(offset));
  }
  void store(uint32_t param, int64_t offset, Scalar value) {
    HostTensor& t = memory_[param];
    if (offset < 0 || offset >= t.count())
      throw std::runtime_error("store out of range: " + kernel_.params[param].name + " at " + std::to_string(offset));
    DType memory = kernel_.params[param].dtype;
    t.set(offset, convert_scalar(value_type_of(memory), memory, value));
  }
  // Keys convert to nothing: their bits are a u64's.
  static DType value_type_of(DType memory) { return kir::value_type(memory); }

  std::vector<Scalar> block(const kir::Block& b, const std::vector<Scalar>& params = {}) {
    for (size_t i = 0; i < params.size(); ++i)
      values_[b.params[i].index] = params[i];
    for (const kir::Instr& instr : b.instrs)
      execute(instr);
    std::vector<Scalar> yields;
    for (kir::ValueId v : b.yields)
      yields.push_back(get(v));
    return yields;
  }

  template <class T> static Scalar unsigned_op(KOp op, Scalar x, Scalar y) {
    T a = x.as<T>(), b = y.as<T>();
    if ((op == KOp::UDiv || op == KOp::URem) && (b == 0 || (b >> (8 * sizeof(T) - 1)) || (a >> (8 * sizeof(T) - 1))))
      throw std::runtime_error("UDiv and URem want non-negative numbers");
    switch (op) {
    case KOp::UDiv: return Scalar::of(static_cast<T>(a / b));
    case KOp::URem: return Scalar::of(static_cast<T>(a % b));
    case KOp::Shl: return Scalar::of(static_cast<T>(static_cast<uint64_t>(a) << b));
    default: return Scalar::of(static_cast<T>(a >> b));
    }
  }
  template <class T> static Scalar arithmetic_shift(Scalar x, Scalar y) {
    return Scalar::of(static_cast<T>(x.as<T>() >> y.as<T>()));
  }
  static Scalar integer_op(KOp op, DType t, Scalar x, Scalar y) {
    switch (size_of(t)) {
    case 1: return op == KOp::AShr ? arithmetic_shift<int8_t>(x, y) : unsigned_op<uint8_t>(op, x, y);
    case 2: return op == KOp::AShr ? arithmetic_shift<int16_t>(x, y) : unsigned_op<uint16_t>(op, x, y);
    case 4: return op == KOp::AShr ? arithmetic_shift<int32_t>(x, y) : unsigned_op<uint32_t>(op, x, y);
    default: return op == KOp::AShr ? arithmetic_shift<int64_t>(x, y) : unsigned_op<uint64_t>(op, x, y);
    }
  }

  void execute(const kir::Instr& in) {
    auto scalar = [&](ScalarOp op) {
      std::vector<Scalar> args;
      for (kir::ValueId v : in.operands)
        args.push_back(get(v));
      size_t typed = in.op == KOp::Select ? 1 : 0;
      values_[in.results[0].index] = eval_scalar(op, type(in.operands[typed]), args);
    };
    auto set = [&](Scalar s) { values_[in.results[0].index] = s; };
    auto set_all = [&](const std::vector<Scalar>& s) {
      for (size_t i = 0; i < in.results.size(); ++i)
        values_[in.results[i].index] = s[i];
    };
    DType t = in.operands.empty() ? in.dtype : type(in.operands[0]);
    bool logical = t == DType::Bool;
    switch (in.op) {
    case KOp::Const: set(in.imm); break;
    case KOp::Arg: set(load(in.param, 0)); break;
    case KOp::Load: set(load(in.param, i64(in.operands[0]))); break;
    case KOp::Store: store(in.param, i64(in.operands[0]), get(in.operands[1])); break;
    case KOp::Add: scalar(ScalarOp::Add); break;
    case KOp::Sub: scalar(ScalarOp::Sub); break;
    case KOp::Mul: scalar(ScalarOp::Mul); break;
    case KOp::Neg: scalar(ScalarOp::Neg); break;
    case KOp::Div: scalar(ScalarOp::Div); break;
    case KOp::FloorDivInt: scalar(ScalarOp::FloorDiv); break;
    case KOp::ModInt: scalar(ScalarOp::Mod); break;
    case KOp::Sqrt: scalar(ScalarOp::Sqrt); break;
    case KOp::Abs: scalar(ScalarOp::Abs); break;
    case KOp::Floor: scalar(ScalarOp::Floor); break;
    case KOp::Ceil: scalar(ScalarOp::Ceil); break;
    case KOp::RoundEven: scalar(ScalarOp::Round); break;
    case KOp::Trunc: scalar(ScalarOp::Trunc); break;
    case KOp::And: scalar(logical ? ScalarOp::And : ScalarOp::BitAnd); break;
    case KOp::Or: scalar(logical ? ScalarOp::Or : ScalarOp::BitOr); break;
    case KOp::Xor: scalar(logical ? ScalarOp::Ne : ScalarOp::BitXor); break;
    case KOp::Not: scalar(logical ? ScalarOp::Not : ScalarOp::BitNot); break;
    case KOp::Eq: scalar(ScalarOp::Eq); break;
    case KOp::Ne: scalar(ScalarOp::Ne); break;
    case KOp::Lt: scalar(ScalarOp::Lt); break;
    case KOp::Le: scalar(ScalarOp::Le); break;
    case KOp::Select: set(truth(in.operands[0]) ? get(in.operands[1]) : get(in.operands[2])); break;
    case KOp::UDiv:
    case KOp::URem:
    case KOp::Shl:
    case KOp::LShr:
    case KOp::AShr: set(integer_op(in.op, t, get(in.operands[0]), get(in.operands[1]))); break;
    case KOp::MulHiU32:
      set(Scalar::of(static_cast<uint32_t>(
          (uint64_t{get(in.operands[0]).as<uint32_t>()} * get(in.operands[1]).as<uint32_t>()) >> 32)));
      break;
    case KOp::Fma: set(fma(in.dtype, get(in.operands[0]), get(in.operands[1]), get(in.operands[2]))); break;
    case KOp::CopySign:
      if (t == DType::F64)
        set(Scalar::of(std::copysign(get(in.operands[0]).as<double>(), get(in.operands[1]).as<double>())));
      else
        set(Scalar::of(std::copysign(get(in.operands[0]).as<float>(), get(in.operands[1]).as<float>())));
      break;
    case KOp::Convert: set(convert_scalar(t, in.dtype, get(in.operands[0]))); break;
    case KOp::Bitcast: set(get(in.operands[0])); break;
    case KOp::Round16: {
      float x = get(in.operands[0]).as<float>();
      set(Scalar::of(in.dtype == DType::F16 ? f16_to_float(float_to_f16(x)) : bf16_to_float(float_to_bf16(x))));
      break;
    }
    case KOp::For: {
      std::vector<Scalar> carried;
      for (size_t i = 3; i < in.operands.size(); ++i)
        carried.push_back(get(in.operands[i]));
      int64_t lo = i64(in.operands[0]), hi = i64(in.operands[1]), step = i64(in.operands[2]);
      for (int64_t i = lo; step > 0 ? i < hi : i > hi; i += step) {
        std::vector<Scalar> params = carried;
        params.insert(params.begin(), Scalar::of(i));
        carried = block(in.blocks[0], params);
      }
      set_all(carried);
      break;
    }
    case KOp::While: {
      std::vector<Scalar> carried;
      for (kir::ValueId v : in.operands)
        carried.push_back(get(v));
      while (block(in.blocks[0], carried)[0].as<uint8_t>())
        carried = block(in.blocks[1], carried);
      set_all(carried);
      break;
    }
    case KOp::If: set_all(block(in.blocks[truth(in.operands[0]) ? 0 : 1])); break;
    case KOp::Reduce: reduce(in, 0, i64(in.operands[0])); break;
    case KOp::ReduceChunk: reduce(in, i64(in.operands[0]), i64(in.operands[1])); break;
    case KOp::Contract: {
      int64_t n = i64(in.operands[0]);
      std::vector<Scalar> as, bs;
      for (int64_t k = 0; k < n; ++k) {
        std::vector<Scalar> y = block(in.blocks[0], {Scalar::of(k)});
        as.push_back(y[0]);
        bs.push_back(y[1]);
      }
      set(contract(in.dtype, as, bs));
      break;
    }
    case KOp::CopyTransposed:
      for (int64_t r = 0; r < i64(in.operands[2]); ++r)
        for (int64_t c = 0; c < i64(in.operands[3]); ++c)
          store(in.param, c * i64(in.operands[4]) + r,
                load(in.source, i64(in.operands[0]) + r * i64(in.operands[1]) + c));
      break;
    case KOp::Scatter:
      for (int64_t j = 0; j < i64(in.operands[0]); ++j) {
        const int64_t row = block(in.blocks[0], {Scalar::of(j)})[0].as<int64_t>();
        if (row < i64(in.operands[1]) || row >= i64(in.operands[2])) continue;
        for (int64_t c = 0; c < i64(in.operands[3]); ++c) {
          const int64_t at = row * i64(in.operands[3]) + c;
          Scalar value = block(in.blocks[1], {Scalar::of(j), Scalar::of(c)})[0];
          if (in.blocks.size() > 2) value = block(in.blocks[2], {load(in.param, at), value})[0];
          store(in.param, at, value);
        }
      }
      break;
    case KOp::Check:
      if (!truth(in.operands[0])) {
        KirFailure f{in.site, i64(in.operands[1]), i64(in.operands[2]), i64(in.operands[3])};
        if (!failure || std::pair(f.element, f.site) < std::pair(failure->element, failure->site)) failure = f;
      }
      break;
    }
  }

  static Scalar fma(DType t, Scalar a, Scalar b, Scalar c) {
    if (t == DType::F64) return Scalar::of(std::fma(a.as<double>(), b.as<double>(), c.as<double>()));
    return Scalar::of(std::fma(a.as<float>(), b.as<float>(), c.as<float>()));
  }
  static Scalar contract(DType t, const std::vector<Scalar>& as, const std::vector<Scalar>& bs) {
    auto binary = [&](ScalarOp op, Scalar x, Scalar y) {
      Scalar args[] = {x, y};
      return eval_scalar(op, t, args);
    };
    return contract_in_order(
        static_cast<int64_t>(as.size()), Scalar{}, [&](int64_t k) { return as[static_cast<size_t>(k)]; },
        [&](int64_t k) { return bs[static_cast<size_t>(k)]; },
        [&](Scalar x, Scalar y, Scalar z) {
          return is_float(t) ? fma(t, x, y, z) : binary(ScalarOp::Add, binary(ScalarOp::Mul, x, y), z);
        },
        [&](Scalar x, Scalar y) { return binary(ScalarOp::Add, x, y); });
  }

  static Scalar extreme(DType t, bool greatest) {
    if (is_float(t)) return convert_scalar(DType::F64, t, Scalar::of(greatest ? HUGE_VAL : -HUGE_VAL));
    if (t == DType::Bool) return Scalar::of(static_cast<uint8_t>(greatest));
    if (t == DType::U64) return Scalar::of(greatest ? UINT64_MAX : uint64_t{0});
    return convert_scalar(DType::F64, t, Scalar::of(greatest ? 1e30 : -1e30));
  }

  void reduce(const kir::Instr& in, int64_t begin, int64_t end) {
    DType t = in.dtype;
    std::vector<Scalar> loaded;
    std::vector<bool> taken;
    bool any = false;
    for (int64_t k = begin; k < end; ++k) {
      std::vector<Scalar> y = block(in.blocks[0], {Scalar::of(k)});
      loaded.push_back(y[0]);
      taken.push_back(y.size() < 2 || y[1].as<uint8_t>() != 0);
      any = any || taken.back();
    }
    auto n = static_cast<int64_t>(loaded.size());
    auto binary = [&](ScalarOp op, DType type, Scalar x, Scalar y) {
      Scalar args[] = {x, y};
      return eval_scalar(op, type, args);
    };
    if (in.reduce == ReduceOp::ArgMin || in.reduce == ReduceOp::ArgMax) {
      ScalarOp better = in.reduce == ReduceOp::ArgMin ? ScalarOp::Lt : ScalarOp::Gt;
      auto is_nan = [&](Scalar s) { return is_float(t) && binary(ScalarOp::Ne, t, s, s).as<uint8_t>(); };
      Scalar value = extreme(t, in.reduce == ReduceOp::ArgMin);
      int64_t best = -1;
      for (int64_t k = 0; k < n; ++k) {
        Scalar v = loaded[static_cast<size_t>(k)];
        if (!taken[static_cast<size_t>(k)]) continue;
        if (best >= 0 && (is_nan(value) || !(is_nan(v) || binary(better, t, v, value).as<uint8_t>()))) continue;
        best = k;
        value = v;
      }
      values_[in.results[0].index] = value;
      values_[in.results[1].index] = Scalar::of(best < 0 ? int64_t{0} : best + begin);
      return;
    }
    ScalarOp fold{};
    Scalar identity;
    switch (in.reduce) {
    case ReduceOp::Sum:
      fold = ScalarOp::Add;
      identity = is_float(t) ? convert_scalar(DType::F64, t, Scalar::of(-0.0)) : Scalar{};
      break;
    case ReduceOp::Prod:
      fold = ScalarOp::Mul;
      identity = convert_scalar(DType::F64, t, Scalar::of(1.0));
      break;
    case ReduceOp::Min:
      fold = ScalarOp::Min;
      identity = extreme(t, true);
      break;
    case ReduceOp::Max:
      fold = ScalarOp::Max;
      identity = extreme(t, false);
      break;
    case ReduceOp::Any:
      fold = ScalarOp::Or;
      identity = Scalar::of(uint8_t{0});
      break;
    default:
      fold = ScalarOp::And;
      identity = Scalar::of(uint8_t{1});
      break;
    }
    DType total = total_type(in.reduce, t);
    Scalar result = reduce_in_order(
        n, identity,
        [&](int64_t k) { return taken[static_cast<size_t>(k)] ? loaded[static_cast<size_t>(k)] : identity; },
        [&](Scalar x, Scalar y) { return binary(fold, t, x, y); },
        [&](Scalar x) { return convert_scalar(t, total, x); },
        [&](Scalar x, Scalar y) { return binary(fold, total, x, y); });
    if (in.op == KOp::Reduce) {
      result = convert_scalar(total, t, result);
      if (in.reduce == ReduceOp::Sum && !any) result = Scalar{};
    }
    values_[in.results[0].index] = result;
  }

  void gemm() {
    const kir::Gemm& g = kernel_.gemm;
    std::vector<int64_t> h;
    for (Scalar s : block(g.header))
      h.push_back(s.as<int64_t>());
    auto [batch, m, n, k] = std::tuple(h[0], h[1], h[2], h[3]);
    for (int64_t l = 0; l < batch; ++l)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          std::vector<Scalar> as, bs;
          for (int64_t q = 0; q < k; ++q) {
            as.push_back(load(g.a, h[10] + l * h[4] + i * h[5] + q * h[6]));
            bs.push_back(load(g.b, h[11] + l * h[7] + q * h[8] + j * h[9]));
          }
          Scalar acc = contract(kir::value_type(g.type), as, bs);
          Scalar value = block(g.epilogue, {Scalar::of(l), Scalar::of(i), Scalar::of(j), acc})[0];
          store(g.c, (l * m + i) * n + j, value);
        }
  }

  const kir::Kernel& kernel_;
  std::vector<HostTensor>& memory_;
  uint32_t seed_;
  size_t arguments_ = 0;
  void** args_ = nullptr;
  std::vector<Scalar> values_;
};

} // namespace tl::test
