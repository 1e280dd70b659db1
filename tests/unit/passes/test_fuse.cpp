// Fusion: how many kernels come out, and that they mean what the nodes meant.
#include "bytecode_machine.h"
#include "passes/fuse/alias.h"

using namespace tl;
using namespace tl::test;

namespace {

const char* kHead2 = R"(
param "x" f32 tensor 2 type "" doc ""
result f32 tensor 2
entry @main
func @main(%t: token, %m: i64, %n: i64, %x: f32[%m, %n]) {
)";

// The module through all passes; counted, compared with the interpreter, and run as bytecode.
ir::Module through(const std::string& text, const std::vector<Argument>& arguments, int kernels) {
  ir::Module module = read(text);
  ir::Module result = optimised(module, arguments);
  CHECK_MESSAGE(count(result, ir::Op::Kernel) == kernels, ir::to_text(result));
  CHECK(by_bytecode(result, arguments) == interpreted(module, arguments));
  optimised(module, arguments, {"fuse"});
  return result;
}

const std::vector<Argument> kMatrix{numbers(DType::F32, {3, 5})};

} // namespace

TEST_CASE("softmax is one kernel") {
  ir::Module m = through(std::string(kHead2) + R"(
    %max: f32[%m] = reduce %x {op = max, ints = [1]}
    %maxb: f32[%m, %n] = broadcast %max {ints = [0]}
    %d: f32[%m, %n] = sub %x, %maxb
    %e: f32[%m, %n] = exp %d
    %sum: f32[%m] = reduce %e {op = sum, ints = [1]}
    %sumb: f32[%m, %n] = broadcast %sum {ints = [0]}
    %y: f32[%m, %n] = div %e, %sumb
    yield %t, %y
  })",
                         kMatrix, 1);
  const ir::Function& f = m.functions[0];
  for (ir::NodeId id : f.body.nodes) {
    if (f[id].op != ir::Op::Kernel) continue;
    auto aliases = output_aliases(f, f[id]);
    CHECK(aliases[0].mode == AliasMode::Reuse); // x is read at the output's own index
  }
}

TEST_CASE("softmax with axes kept as ones is one kernel") {
  through(std::string(kHead2) + R"(
    %max: f32[%m] = reduce %x {op = max, ints = [1]}
    %maxk: f32[%m, 1] = reshape %max
    %maxb: f32[%m, %n] = broadcast %maxk {ints = [0, 1]}
    %d: f32[%m, %n] = sub %x, %maxb
    %e: f32[%m, %n] = exp %d
    %sum: f32[%m] = reduce %e {op = sum, ints = [1]}
    %sumk: f32[%m, 1] = reshape %sum
    %eps: f32 = constant f32 0.001
    %sume: f32[%m, 1] = add %sumk, %eps
    %r: f32[%m, 1] = rsqrt %sume
    %rb: f32[%m, %n] = broadcast %r {ints = [0, 1]}
    %y: f32[%m, %n] = mul %e, %rb
    yield %t, %y
  })",
          kMatrix, 1);
}

TEST_CASE("layer norm with weights is one kernel") {
  through(R"(
param "x" f32 tensor 2 type "" doc ""
param "w" f32 tensor 1 type "" doc ""
result f32 tensor 2
entry @main
func @main(%t: token, %m: i64, %n: i64, %x: f32[%m, %n], %k: i64, %w: f32[%k]) {
    %nf: f32 = convert %n
    %s: f32[%m] = reduce %x {op = sum, ints = [1]}
    %mean: f32[%m] = div %s, %nf
    %meanb: f32[%m, %n] = broadcast %mean {ints = [0]}
    %d: f32[%m, %n] = sub %x, %meanb
    %q: f32[%m, %n] = mul %d, %d
    %s2: f32[%m] = reduce %q {op = sum, ints = [1]}
    %var: f32[%m] = div %s2, %nf
    %eps: f32 = constant f32 0.00001
    %ve: f32[%m] = add %var, %eps
    %r: f32[%m] = rsqrt %ve
    %rb: f32[%m, %n] = broadcast %r {ints = [0]}
    %z: f32[%m, %n] = mul %d, %rb
    %same: bool = eq %k, %n
    %wg: f32[%k] = guard %w, %same {site = 0}
    %wn: f32[%n] = reshape %wg
    %wb: f32[%m, %n] = broadcast %wn {ints = [1]}
    %y: f32[%m, %n] = mul %z, %wb
    yield %t, %y
  }
  site 0 "ShapeMismatch" "sizes differ" hint "" @0)",
          {numbers(DType::F32, {3, 5}), numbers(DType::F32, {5})}, 1);
}

TEST_CASE("a chain of elementwise nodes is one kernel, in place") {
  ir::Module m = through(std::string(kHead2) + R"(
    %a: f32 = constant f32 1.5
    %p: f32[%m, %n] = mul %x, %a
    %q: f32[%m, %n] = add %p, %a
    %r: f32[%m, %n] = tanh %q
    %y: f32[%m, %n] = sub %r, %x
    yield %t, %y
  })",
                         kMatrix, 1);
  Scheduled s = schedule(m);
  for (const Instruction& i : s.program.functions[0].code)
    if (i.op == BcOp::Launch) {
      CHECK(i.outputs[0].mode == AliasMode::Reuse);
      CHECK(i.in[i.outputs[0].alias].last_use);
    }
}

TEST_CASE("a transposed read is no ground for running in place") {
  ir::Module m = through(R"(
param "x" f32 tensor 2 type "" doc ""
result f32 tensor 2
entry @main
func @main(%t: token, %m: i64, %k: i64, %x: f32[%m, %k]) {
    %c: bool = eq %m, %k
    %g: f32[%m, %k] = guard %x, %c {site = 0}
    %s: f32[%m, %m] = reshape %g
    %tr: f32[%m, %m] = transpose %s {ints = [1, 0]}
    %y: f32[%m, %m] = add %s, %tr
    yield %t, %y
  }
  site 0 "ShapeMismatch" "not square" hint "" @0)",
                         {numbers(DType::F32, {4, 4})}, 1);
  Scheduled s = schedule(m);
  for (const Instruction& i : s.program.functions[0].code)
    if (i.op == BcOp::Launch) CHECK(i.outputs[0].mode == AliasMode::None);
}

TEST_CASE("sums over the same tensor share a kernel") {
  through(R"(
param "x" f32 tensor 2 type "" doc ""
result f32 tensor 1
result f32 tensor 1
entry @main
func @main(%t: token, %m: i64, %n: i64, %x: f32[%m, %n]) {
    %e: f32[%m, %n] = exp %x
    %a: f32[%m] = reduce %e {op = sum, ints = [1]}
    %b: f32[%m] = reduce %e {op = max, ints = [1]}
    yield %t, %a, %b
  })",
          kMatrix, 1);
}

TEST_CASE("an epilogue joins a product, and cheap views its operands") {
  ir::Module m = through(R"(
param "x" f32 tensor 2 type "" doc ""
param "w" f32 tensor 2 type "" doc ""
param "b" f32 tensor 1 type "" doc ""
result f32 tensor 2
entry @main
func @main(%t: token, %m: i64, %k: i64, %x: f32[%m, %k], %n: i64, %k2: i64, %w: f32[%n, %k2], %n2: i64, %b: f32[%n2]) {
    %c: bool = eq %k, %k2
    %wg: f32[%n, %k2] = guard %w, %c {site = 0}
    %wk: f32[%n, %k] = reshape %wg
    %wt: f32[%k, %n] = transpose %wk {ints = [1, 0]}
    %p: f32[%m, %n] = contract %x, %wt {ints = [0, 2, 2, 1], labels = [0, 1]}
    %d: bool = eq %n, %n2
    %bg: f32[%n2] = guard %b, %d {site = 0}
    %bn: f32[%n] = reshape %bg
    %bb: f32[%m, %n] = broadcast %bn {ints = [1]}
    %s: f32[%m, %n] = add %p, %bb
    %z: f32 = constant f32 0
    %y: f32[%m, %n] = max %s, %z
    yield %t, %y
  }
  site 0 "ShapeMismatch" "sizes differ" hint "" @0)",
                         {numbers(DType::F32, {3, 4}), numbers(DType::F32, {2, 4}), numbers(DType::F32, {2})}, 1);
  CHECK(count(m, ir::KernelKind::Contract) == 1);
}

TEST_CASE("a Guard of elements is checked although only a part of them is read") {
  const char* text = R"(
param "x" f32 tensor 2 type "" doc ""
result f32 tensor 2
entry @main
func @main(%t: token, %m: i64, %n: i64, %x: f32[%m, %n]) {
    %lim: f32 = constant f32 3
    %ok: bool[%m, %n] = lt %x, %lim
    %g: f32[%m, %n] = guard %x, %ok {site = 0}
    %zero: i64 = constant i64 0
    %one: i64 = constant i64 1
    %y: f32[1, 1] = slice %g, %zero, %zero {ints = [1, 1]}
    yield %t, %y
  }
  site 0 "TooLarge" "an element is too large" hint "" @0)";
  ir::Module module = read(text);
  optimised(module, kMatrix);
  ir::Module fused = run_passes(module);
  CHECK(count(fused, ir::Op::Kernel) == 1); // the slice is a view of what the Guard gives
}

TEST_CASE("a failure in one output does not reach another") {
  const char* text = R"(
param "x" f32 tensor 2 type "" doc ""
result f32 tensor 2
result f32 tensor 2
entry @main
func @main(%t: token, %m: i64, %n: i64, %x: f32[%m, %n]) {
    %lim: f32 = constant f32 3
    %ok: bool[%m, %n] = lt %x, %lim
    %g: f32[%m, %n] = guard %x, %ok {site = 0}
    %a: f32[%m, %n] = exp %g
    %b: f32[%m, %n] = add %x, %x
    yield %t, %a, %b
  }
  site 0 "TooLarge" "an element is too large" hint "" @0)";
  ir::Module fused = run_passes(read(text));
  require_sound(fused, "fused");
  CHECK(count(fused, ir::Op::Kernel) == 2);
}

TEST_CASE("views of consecutive elements need no kernel") {
  ir::Module m = through(R"(
param "x" f32 tensor 2 type "" doc ""
result f32 tensor 1
result f32 tensor 1
entry @main
func @main(%t: token, %m: i64, %n: i64, %x: f32[%m, %n]) {
    %one: i64 = constant i64 1
    %row: f32[%n] = index %x, %one
    %mn: i64 = mul %m, %n
    %flat: f32[%mn] = reshape %x
    yield %t, %row, %flat
  })",
                         kMatrix, 0);
  Scheduled s = schedule(m);
  int views = 0;
  for (const Instruction& i : s.program.functions[0].code)
    views += i.op == BcOp::View;
  CHECK(views == 2);
}

TEST_CASE("an update is in place, and never reads elsewhere what it writes") {
  ir::Module m = through(R"(
param "x" f32 tensor 2 type "" doc ""
result f32 tensor 2
entry @main
func @main(%t: token, %m: i64, %n: i64, %x: f32[%m, %n]) {
    %zero: i64 = constant i64 0
    %one: i64 = constant i64 1
    %a: f32[2, %n] = slice %x, %zero, %zero {ints = [1, 1]}
    %b: f32[2, %n] = tanh %a
    %y: f32[%m, %n] = update %x, %b, %one, %zero {mode = set, ints = [1, 1]}
    %c: f32[2, %n] = slice %y, %one, %zero {ints = [1, 1]}
    %d: f32[2, %n] = tanh %c
    %z: f32[%m, %n] = update %y, %d, %one, %zero {mode = set, ints = [1, 1]}
    yield %t, %z
  })",
                         kMatrix, 3); // tanh(a) by itself; the second update reads its own place only
  CHECK(count(m, ir::KernelKind::Update) == 2);
}

TEST_CASE("ten thousand nodes take linear time") {
  auto seconds = [](int n) {
    std::string text = kHead2;
    std::string last = "%x";
    for (int i = 0; i < n; ++i) {
      std::string name = fmt::format("%v{}", i);
      const char* op = i % 3 == 0 ? "add" : i % 3 == 1 ? "mul" : "max";
      text += fmt::format("{}: f32[%m, %n] = {} {}, %x\n", name, op, last);
      if (i % 50 == 49) { // a reduction now and then keeps kernels apart
        text += fmt::format("%r{0}: f32 = reduce {1} {{op = sum, ints = [0, 1]}}\n", i, name);
        text += fmt::format("%s{0}: f32[%m, %n] = sub {1}, %r{0}\n", i, name);
        name = fmt::format("%s{}", i);
      }
      last = name;
    }
    ir::Module module = ir::parse_text(text + "yield %t, " + last + "}");
    PassTimes times;
    PassOptions options;
    options.times = &times;
    ir::Module result = run_passes(std::move(module), options);
    CHECK(count(result, ir::Op::Kernel) > n / 400);
    double sum = 0;
    for (auto& [name, s] : times)
      sum += s;
    return sum;
  };
  double small = seconds(2500), large = seconds(10000);
  CHECK(large < small * 4 * 4 + 0.05); // a machine shared with others is noisy; quadratic would be 16 times
}
