// What the passes make of graphs is what lowering takes.
#include "backend/kernel/lower.h"
#include "ir/graph/rewrite.h"
#include "ir/graph/text.h"
#include "passes/pipeline.h"
#include <doctest/doctest.h>

using namespace tl;

namespace {

// Lowers every kernel that the passes make of a function's body; gives their number.
int kernels(const std::string& body) {
  std::string text =
      "func @main(%t: token, %n: i64, %m: i64, %x: f32[%n, %m], %k: i64, %a: f32[%n, %k], %b: f32[%k, %m]) {\n" + body +
      "}\n";
  ir::Module module = run_passes(ir::parse_text(text));
  int count = 0;
  for (const ir::Function& f : module.functions)
    ir::walk(f, f.body, [&](ir::NodeId id) {
      if (f[id].op != ir::Op::Kernel) return;
      ++count;
      INFO(ir::to_text(module, f));
      kir::Kernel kernel = lower_kernel(module, f, id, Target::Cpu);
      CHECK(kir::verify(kernel) == "");
      CHECK(kir::verify(lower_kernel(module, f, id, Target::Gpu)) == "");
    });
  return count;
}

} // namespace

TEST_CASE("softmax after the passes is one kernel that lowers") {
  CHECK(kernels(R"(
  %best: f32[%n] = reduce %x {op = max, ints = [1]}
  %ab: f32[%n, %m] = broadcast %best {ints = [0]}
  %d: f32[%n, %m] = sub %x, %ab
  %e: f32[%n, %m] = exp %d
  %s: f32[%n] = reduce %e {op = sum, ints = [1]}
  %sb: f32[%n, %m] = broadcast %s {ints = [0]}
  %q: f32[%n, %m] = div %e, %sb
  yield %t, %q
)") == 1);
}

TEST_CASE("a product with a residual and activation is one kernel that lowers") {
  CHECK(kernels(R"(
  %p: f32[%n, %m] = contract %a, %b {ints = [0, 2, 2, 1], labels = [0, 1]}
  %r: f32[%n, %m] = add %p, %x
  %q: f32[%n, %m] = tanh %r
  yield %t, %q
)") == 1);
}

TEST_CASE("an outlined loop lowers") {
  CHECK(kernels(R"(
  %zero: i64 = constant i64 0 {}
  %one: i64 = constant i64 1 {}
  %none: f32 = constant f32 0.0 {}
  %s: f32 = for %zero, %n, %one, %none (%i: i64, %acc: f32) {
    %v: f32 = index %a, %i, %zero
    %next: f32 = add %acc, %v
    yield %next
  }
  %u: i64 = add %n, %m
  yield %t, %s, %u
)") == 1);
}
