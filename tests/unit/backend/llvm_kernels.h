// Kernel IR by hand, and running it through the JIT: what the tests of backend/cpu share.
#pragma once
#include "backend/cpu/jit.h"
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

namespace tl::test {

using kir::Block;
using kir::Instr;
using kir::KOp;
using kir::ParamKind;
using kir::ValueId;

// Instructions go to the innermost open block.
class KernelBuilder {
public:
  kir::Kernel kernel;

  explicit KernelBuilder(std::string name = "test") { kernel.name = std::move(name); }

  uint32_t param(ParamKind kind, DType type, SizeFormula count = {}) {
    kernel.params.push_back({kind, type, "p" + std::to_string(kernel.params.size()), std::move(count), false});
    return static_cast<uint32_t>(kernel.params.size() - 1);
  }
  uint32_t input(DType type) { return param(ParamKind::Input, type); }
  uint32_t output(DType type) { return param(ParamKind::Output, type); }
  uint32_t size() { return param(ParamKind::Size, DType::I64); }

  ValueId fresh(DType type) {
    kernel.types.push_back(type);
    return {static_cast<uint32_t>(kernel.types.size() - 1)};
  }
  DType type(ValueId v) const { return kernel.types[v.index]; }

  static Instr make(KOp op) {
    Instr instr;
    instr.op = op;
    return instr;
  }
  std::vector<ValueId> append(Instr instr, const std::vector<DType>& results) {
    for (DType t : results)
      instr.results.push_back(fresh(t));
    std::vector<ValueId> ids = instr.results;
    open_.back()->instrs.push_back(std::move(instr));
    return ids;
  }
  ValueId op(KOp what, DType result, std::vector<ValueId> operands) {
    Instr instr = make(what);
    instr.dtype = result;
    instr.operands = std::move(operands);
    return append(std::move(instr), {result})[0];
  }
  template <class T> ValueId constant(DType type, T value) {
    Instr instr = make(KOp::Const);
    instr.dtype = type;
    instr.imm = Scalar::of(value);
    return append(std::move(instr), {type})[0];
  }
  ValueId i64(int64_t value) { return constant(DType::I64, value); }
  ValueId arg(uint32_t param) {
    Instr instr = make(KOp::Arg);
    instr.dtype = DType::I64;
    instr.param = param;
    return append(std::move(instr), {DType::I64})[0];
  }
  static DType value_type(DType memory) { return memory == DType::F16 || memory == DType::BF16 ? DType::F32 : memory; }
  ValueId load(uint32_t param, ValueId offset) {
    Instr instr = make(KOp::Load);
    instr.dtype = value_type(kernel.params[param].dtype);
    instr.param = param;
    instr.operands = {offset};
    DType type = instr.dtype;
    return append(std::move(instr), {type})[0];
  }
  void store(uint32_t param, ValueId offset, ValueId value) {
    Instr instr = make(KOp::Store);
    instr.param = param;
    instr.operands = {offset, value};
    append(std::move(instr), {});
  }
  void check(int32_t site, ValueId ok, ValueId element, ValueId a, ValueId b) {
    Instr instr = make(KOp::Check);
    instr.site = site;
    instr.operands = {ok, element, a, b};
    append(std::move(instr), {});
  }
  ValueId add(ValueId a, ValueId b) { return op(KOp::Add, type(a), {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return op(KOp::Mul, type(a), {a, b}); }

  using Body = std::function<std::vector<ValueId>(const std::vector<ValueId>& params)>;
  Block block(const std::vector<DType>& params, const Body& body) {
    Block result;
    for (DType t : params)
      result.params.push_back(fresh(t));
    open_.push_back(&result);
    std::vector<ValueId> ids = result.params;
    std::vector<ValueId> yields = body(ids);
    result.yields = yields;
    open_.pop_back();
    return result;
  }
  void vector_loop(ValueId n, const std::function<void(ValueId)>& body) {
    Instr instr = make(KOp::For);
    instr.vector = true;
    instr.operands = {i64(0), n, i64(1)};
    instr.blocks.push_back(block({DType::I64}, [&](const auto& p) {
      body(p[0]);
      return std::vector<ValueId>{};
    }));
    append(std::move(instr), {});
  }
  std::vector<ValueId> serial_loop(ValueId lo, ValueId hi, ValueId step, std::vector<ValueId> init, const Body& body) {
    Instr instr = make(KOp::For);
    std::vector<DType> types, params{DType::I64};
    for (ValueId v : init)
      types.push_back(type(v));
    params.insert(params.end(), types.begin(), types.end());
    instr.operands = {lo, hi, step};
    instr.operands.insert(instr.operands.end(), init.begin(), init.end());
    instr.blocks.push_back(block(params, body));
    return append(std::move(instr), types);
  }
  std::vector<ValueId> while_loop(std::vector<ValueId> init, const Body& cond, const Body& body) {
    Instr instr = make(KOp::While);
    std::vector<DType> types;
    for (ValueId v : init)
      types.push_back(type(v));
    instr.operands = init;
    instr.blocks.push_back(block(types, cond));
    instr.blocks.push_back(block(types, body));
    return append(std::move(instr), types);
  }
  std::vector<ValueId> if_else(ValueId c, const Body& then, const Body& otherwise, const std::vector<DType>& types) {
    Instr instr = make(KOp::If);
    instr.operands = {c};
    instr.blocks.push_back(block({}, then));
    instr.blocks.push_back(block({}, otherwise));
    return append(std::move(instr), types);
  }
  std::vector<ValueId> reduce(ReduceOp how, DType acc, ValueId n, const Body& body) {
    Instr instr = make(KOp::Reduce);
    instr.reduce = how;
    instr.dtype = acc;
    instr.operands = {n};
    instr.blocks.push_back(block({DType::I64}, body));
    std::vector<DType> types{acc};
    if (how == ReduceOp::ArgMin || how == ReduceOp::ArgMax) types.push_back(DType::I64);
    return append(std::move(instr), types);
  }
  ValueId contract(DType acc, ValueId n, const Body& body) {
    Instr instr = make(KOp::Contract);
    instr.dtype = acc;
    instr.operands = {n};
    instr.blocks.push_back(block({DType::I64}, body));
    return append(std::move(instr), {acc})[0];
  }
  void phase(const std::function<void(ValueId tile)>& body, SizeFormula tiles = SizeFormula::constant(1)) {
    kir::Phase phase;
    phase.body = block({DType::I64}, [&](const auto& p) {
      body(p[0]);
      return std::vector<ValueId>{};
    });
    phase.tiles = std::move(tiles);
    phase.grain = SizeFormula::constant(1);
    kernel.phases.push_back(std::move(phase));
  }

private:
  std::vector<Block*> open_;
};

struct Failure {
  int32_t site;
  int64_t element, a, b;
};

// Keeps all failures, to look at.
struct Recorder : KernelErrors {
  std::vector<Failure> failures;
  Recorder() {
    record = [](KernelErrors* self, int32_t site, int64_t element, int64_t a, int64_t b) {
      static_cast<Recorder*>(self)->failures.push_back({site, element, a, b});
    };
  }
};

// Runs all phases; argument addresses in order. Tiles go one by one, the last first, as any order must do.
inline Recorder run(const CompiledKernel& kernel, std::vector<void*> args) {
  Recorder errors;
  auto buffer = [&](const SizeFormula& bytes) {
    auto size = static_cast<size_t>(bytes.evaluate(args.data())) + 64;
    auto memory = std::make_unique<std::byte[]>(size + 64);
    std::memset(memory.get(), 0xff, size + 64);
    return memory;
  };
  auto align = [](std::byte* p) { return p + (64 - reinterpret_cast<uintptr_t>(p) % 64) % 64; };
  auto shared = buffer(kernel.shared_bytes), local = buffer(kernel.local_bytes);
  KernelWorkspace workspace{align(shared.get()), align(local.get())};
  for (const KernelPhase& phase : kernel.phases) {
    int64_t tiles = phase.tiles.evaluate(args.data());
    for (int64_t t = tiles - 1; t >= 0; --t)
      phase.function(args.data(), t, t + 1, &workspace, &errors);
  }
  return errors;
}

// A kernel compiled for this machine, and once more as if it had AVX2 alone.
struct Both {
  std::unique_ptr<KernelProvider> jits[2];
  explicit Both(const kir::Kernel& kernel) {
    JitOptions narrow;
    narrow.cpu = "x86-64-v3";
    jits[0] = make_jit({kernel});
    jits[1] = make_jit({kernel}, narrow);
  }
  const CompiledKernel& operator[](int i) { return jits[i]->kernel(0); }
};

// Equal bits, where every NaN equals every NaN.
template <class T> bool same_bits(T x, T y) {
  if constexpr (std::is_floating_point_v<T>)
    if (x != x && y != y) return true;
  return std::memcmp(&x, &y, sizeof(T)) == 0;
}
template <class T> bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i)
    if (!same_bits(x[i], y[i])) return false;
  return true;
}

template <class T> std::vector<T> random_values(size_t n, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::vector<T> values(n);
  for (T& value : values) {
    if constexpr (std::is_floating_point_v<T>)
      value = static_cast<T>(std::uniform_real_distribution<double>(-2, 2)(engine));
    else
      value = static_cast<T>(engine());
  }
  return values;
}

template <class T> constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::F32;
  if constexpr (std::is_same_v<T, double>) return DType::F64;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::U8;
  if constexpr (std::is_same_v<T, int8_t>) return DType::I8;
  if constexpr (std::is_same_v<T, uint16_t>) return DType::U16;
  if constexpr (std::is_same_v<T, int16_t>) return DType::I16;
  if constexpr (std::is_same_v<T, uint32_t>) return DType::U32;
  if constexpr (std::is_same_v<T, int32_t>) return DType::I32;
  if constexpr (std::is_same_v<T, uint64_t>) return DType::U64;
  return DType::I64;
}

} // namespace tl::test
