// Helpers of the VM's tests: programs written by hand, and kernels that are C++ functions.
//
//   Machine m;
//   Slot n = m.i64(100), x = m.launch(kIota, {n, n}, {n});      // x[i] = 100 * i
//   m.print_tensor(x);
//   Outcome o = m.run({.threads = 2});                           // m.out holds what was printed
#pragma once
#include "vm/vm.h"
#include <algorithm>
#include <chrono>
#include <thread>

namespace tl::test {

enum Kernel : uint32_t {
  kIota,    // (factor, n) -> out[i] = factor * i
  kAdd,     // (x, y, n) -> x + y
  kReverse, // (x, n) -> x backwards
  kBump,    // (x, y, n) -> out[i] += 3 * y[i], starts as x
  kSum,     // (x, n) -> rank 0, in two phases with workspaces
  kCheck,   // (x, modulus, tag, site, n) -> x, failing where x[i] % modulus == 0
  kScale,   // (x, n) -> 5 * x + 1
  kSlow,    // (x, microseconds, n) -> x, in one tile that takes its time
  kOdd,     // (x, n) -> rank 0 bool: is x[0] odd
  kTiny,    // (x, n) -> x + 1, small enough to run at once
  kKernels
};

inline int64_t number(KernelArgs args, int k) {
  int64_t v;
  std::memcpy(&v, args[k], 8);
  return v;
}
inline int64_t* numbers(KernelArgs args, int k) { return static_cast<int64_t*>(args[k]); }

// a * b + c, wrapping.
inline int64_t multiply_add(int64_t a, int64_t b, int64_t c) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b) + static_cast<uint64_t>(c));
}

constexpr int64_t kTile = 64;

template <class Body> void each(int64_t n, int64_t begin, int64_t end, Body body) {
  for (int64_t i = begin * kTile; i < std::min(n, end * kTile); ++i)
    body(i);
}

inline void iota(KernelArgs a, int64_t b, int64_t e, const KernelWorkspace*, KernelErrors*) {
  each(number(a, 1), b, e, [&](int64_t i) { numbers(a, 2)[i] = number(a, 0) * i; });
}
inline void add(KernelArgs a, int64_t b, int64_t e, const KernelWorkspace*, KernelErrors*) {
  each(number(a, 2), b, e, [&](int64_t i) { numbers(a, 3)[i] = multiply_add(1, numbers(a, 0)[i], numbers(a, 1)[i]); });
}
inline void reverse(KernelArgs a, int64_t b, int64_t e, const KernelWorkspace*, KernelErrors*) {
  int64_t n = number(a, 1);
  each(n, b, e, [&](int64_t i) { numbers(a, 2)[i] = numbers(a, 0)[n - 1 - i]; });
}
inline void bump(KernelArgs a, int64_t b, int64_t e, const KernelWorkspace*, KernelErrors*) {
  each(number(a, 2), b, e, [&](int64_t i) { numbers(a, 3)[i] = multiply_add(3, numbers(a, 1)[i], numbers(a, 3)[i]); });
}
inline void sum_parts(KernelArgs a, int64_t b, int64_t e, const KernelWorkspace* w, KernelErrors*) {
  for (int64_t tile = b; tile < e; ++tile) {
    auto* mine = reinterpret_cast<int64_t*>(w->local);
    int64_t n = std::min(kTile, number(a, 1) - tile * kTile);
    for (int64_t i = 0; i < n; ++i)
      mine[i] = numbers(a, 0)[tile * kTile + i];
    int64_t s = 0;
    for (int64_t i = 0; i < n; ++i)
      s = multiply_add(1, s, mine[i]);
    reinterpret_cast<int64_t*>(w->shared)[tile] = s;
  }
}
inline void sum_total(KernelArgs a, int64_t, int64_t, const KernelWorkspace* w, KernelErrors*) {
  int64_t s = 0, tiles = (number(a, 1) + kTile - 1) / kTile;
  for (int64_t t = 0; t < tiles; ++t)
    s = multiply_add(1, s, reinterpret_cast<int64_t*>(w->shared)[t]);
  numbers(a, 2)[0] = s;
}
inline void check(KernelArgs a, int64_t b, int64_t e, const KernelWorkspace*, KernelErrors* errors) {
  each(number(a, 4), b, e, [&](int64_t i) {
    int64_t x = numbers(a, 0)[i];
    numbers(a, 5)[i] = x;
    if (x % number(a, 1) == 0) errors->record(errors, static_cast<int32_t>(number(a, 3)), i, number(a, 2), x);
  });
}
inline void scale(KernelArgs a, int64_t b, int64_t e, const KernelWorkspace*, KernelErrors*) {
  each(number(a, 1), b, e, [&](int64_t i) { numbers(a, 2)[i] = multiply_add(5, numbers(a, 0)[i], 1); });
}
inline void slow(KernelArgs a, int64_t, int64_t, const KernelWorkspace*, KernelErrors*) {
  std::this_thread::sleep_for(std::chrono::microseconds(number(a, 1)));
  std::memcpy(a[3], a[0], static_cast<size_t>(8 * number(a, 2)));
}
inline void odd(KernelArgs a, int64_t, int64_t, const KernelWorkspace*, KernelErrors*) {
  *static_cast<uint8_t*>(a[2]) = numbers(a, 0)[0] & 1;
}
inline void tiny(KernelArgs a, int64_t, int64_t, const KernelWorkspace*, KernelErrors*) {
  for (int64_t i = 0; i < number(a, 1); ++i)
    numbers(a, 2)[i] = multiply_add(1, numbers(a, 0)[i], 1);
}

class Kernels : public KernelProvider {
public:
  Kernels() {
    using F = SizeFormula;
    auto tiles = [](int64_t arg) { return F{{{F::Op::Arg, arg}, {F::Op::Const, kTile}, {F::Op::CeilDiv}}}; };
    auto one = F::constant(1);
    auto row = [&](const char* name, PhaseFunction f, F count, F grain) {
      kernels_.push_back({name, {{f, std::move(count), std::move(grain)}}, {}, {}});
    };
    row("iota", iota, tiles(1), one);
    row("add", add, tiles(2), one);
    row("reverse", reverse, tiles(1), one);
    row("bump", bump, tiles(2), one);
    row("sum", sum_parts, tiles(1), one);
    kernels_.back().phases.push_back({sum_total, one, one});
    kernels_.back().shared_bytes = F{{{F::Op::Arg, 1}, {F::Op::Const, 8}, {F::Op::Mul}}};
    kernels_.back().local_bytes = F::constant(8 * kTile);
    row("check", check, tiles(4), one);
    row("scale", scale, tiles(1), one);
    row("slow", slow, one, one);
    row("odd", odd, one, one);
    row("tiny", tiny, one, F::constant(1000));
  }
  const CompiledKernel& kernel(uint32_t id) override { return kernels_.at(id); }

private:
  std::vector<CompiledKernel> kernels_;
};

constexpr int kDevices = 2;

// Builds and runs one program whose entry is `main`.
class Machine {
public:
  Program program;
  std::string out, err;
  Stats stats;
  int devices = kDevices;

  Machine() {
    program.functions.push_back({"main", 0, {}, {}});
    program.kernel_count = kKernels;
    program.locations = {Location{}};
    program.formats.push_back({{"", "\n"}, {""}}); // 0: a line
  }

  BcFunction& main() { return program.functions[0]; }
  Slot fresh() { return {main().slot_count++}; }
  size_t here() { return main().code.size(); }
  Instruction& emit(Instruction i) {
    i.loc = place();
    main().code.push_back(std::move(i));
    return main().code.back();
  }
  LocId place() { // a new line for every instruction
    program.locations.push_back({"a.tl", static_cast<uint32_t>(program.locations.size()), 1, 0, 0, {}, "main"});
    return {static_cast<uint32_t>(program.locations.size() - 1)};
  }
  static std::vector<Operand> operands(const std::vector<Slot>& slots) {
    std::vector<Operand> in;
    for (Slot s : slots)
      in.push_back({s, false});
    return in;
  }
  static Instruction make(BcOp op, const std::vector<Slot>& in, std::vector<Slot> out) {
    Instruction i{};
    i.op = op;
    i.in = operands(in);
    i.out = std::move(out);
    i.site = -1;
    return i;
  }
  static SizeRef size(Slot s) { return {true, 0, s}; }
  static SizeRef size(int64_t n) { return {false, n, {}}; }

  Slot constant(DType type, Scalar value) {
    Slot s = fresh();
    Instruction i = make(BcOp::ConstScalar, {}, {s});
    i.dtype = type;
    i.imm = value;
    emit(i);
    return s;
  }
  Slot i64(int64_t v) { return constant(DType::I64, Scalar::of(v)); }
  Slot boolean(bool v) { return constant(DType::Bool, Scalar::of(uint8_t{v})); }
  Slot text(const std::string& s) {
    Slot out = fresh();
    Instruction i = make(BcOp::ConstStr, {}, {out});
    i.index = static_cast<uint32_t>(program.strings.size());
    program.strings.push_back(s);
    emit(i);
    return out;
  }
  Slot scalar(ScalarOp op, DType type, const std::vector<Slot>& in) {
    Slot s = fresh();
    Instruction i = make(BcOp::Scalar, in, {s});
    i.scalar = op;
    i.dtype = type;
    emit(i);
    return s;
  }
  Slot guard(Slot value, Slot condition, int32_t site, const std::vector<Slot>& payload = {}) {
    Slot s = fresh();
    std::vector<Slot> in{value, condition};
    in.insert(in.end(), payload.begin(), payload.end());
    Instruction i = make(BcOp::Guard, in, {s});
    i.index = static_cast<uint32_t>(site);
    emit(i);
    return s;
  }
  // One output of these sizes; alias: input that it may overwrite, whose slot is given away.
  Slot launch(Kernel kernel, const std::vector<Slot>& in, std::vector<Slot> dims, DType type = DType::I64,
              AliasMode mode = AliasMode::None, uint32_t alias = 0) {
    Slot s = fresh();
    Instruction i = make(BcOp::Launch, in, {s});
    i.index = kernel;
    OutputDesc desc{type, {}, mode, alias};
    if (kernel != kIota) desc.device_of = {0}; // where its first operand is
    for (Slot d : dims)
      desc.dims.push_back(size(d));
    i.outputs = {desc};
    emit(i);
    return s;
  }
  Slot transfer(Slot tensor, Slot device) {
    Slot s = fresh();
    Instruction& i = host(HostOp::Transfer, {tensor, device}, {s});
    i.outputs = {{DType::I64, {}, AliasMode::None, 0}};
    return s;
  }
  Slot format(Slot value, uint32_t index = 0) {
    Slot s = fresh();
    Instruction i = make(BcOp::Host, {value}, {s});
    i.host_op = HostOp::Format;
    i.index = index;
    emit(i);
    return s;
  }
  Instruction& host(HostOp op, const std::vector<Slot>& in, std::vector<Slot> out = {}) {
    Instruction i = make(BcOp::Host, in, std::move(out));
    i.host_op = op;
    if (op == HostOp::Assert) i.index = UINT32_MAX; // without a message of its own
    return emit(i);
  }
  void print(Slot value) { host(HostOp::Print, {format(value)}); }
  Slot await(Slot tensor) {
    Slot s = fresh();
    emit(make(BcOp::Await, {tensor}, {s}));
    return s;
  }
  void ret(const std::vector<Slot>& values = {}) { emit(make(BcOp::Return, values, {})); }
  int32_t site(const std::string& kind, const std::string& message) {
    program.sites.push_back({kind, message, "", {}, {}});
    return static_cast<int32_t>(program.sites.size() - 1);
  }
  void give_away(size_t operand) { main().code.back().in[operand].last_use = true; }

  Outcome run(RunOptions options = {}, std::vector<Argument> arguments = {}) {
    out.clear();
    err.clear();
    Kernels kernels;
    options.cpu_devices = devices;
    return tl::run(
        program, kernels, std::move(arguments), options, [this](std::string_view s) { out += s; },
        [this](std::string_view s) { err += s; }, &stats);
  }
};

inline RunOptions threads(int n) {
  RunOptions options;
  options.threads = n;
  return options;
}
inline RunOptions synchronous() {
  RunOptions options = threads(2);
  options.sync = true;
  return options;
}
inline RunOptions seeded(uint64_t seed) {
  RunOptions options = threads(3);
  options.schedule_seed = seed;
  return options;
}
// One of each kind of schedule.
inline std::vector<RunOptions> schedules() {
  return {threads(1), threads(2), threads(4), synchronous(), seeded(1), seeded(2)};
}

} // namespace tl::test
