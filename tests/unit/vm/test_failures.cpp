// Failures as values: what is poisoned, what is reported, and that no schedule changes it.
#include "machine.h"
#include "vm/io/io.h"
#include <doctest/doctest.h>
#include <filesystem>

using namespace tl;
using namespace tl::test;

namespace {

struct Failing : Machine {
  Slot n = i64(1000), one = i64(1), zero = i64(0);
  int32_t bad = site("IndexOutOfRange", "element {e} of {0} is {1}");
  Slot site_number = i64(bad);
  Slot x = launch(kIota, {one, n}, {n});

  // 5 x + 1 on x = 0, 1, 2 …, failing where `modulus` divides it.
  Slot failing(int64_t modulus, int64_t tag) {
    Slot y = launch(kScale, {x, n}, {n}); // 5 x + 1
    return launch(kCheck, {y, i64(modulus), i64(tag), site_number, n}, {n});
  }
};

void expect(Machine& m, const std::string& out, const std::string& message, int code = 3) {
  for (const RunOptions& options : schedules()) {
    Outcome o = m.run(options);
    CHECK(m.out == out);
    CHECK(o.exit_code == code);
    REQUIRE(o.error.has_value() == !message.empty());
    if (o.error) CHECK(o.error->message == message);
  }
}

} // namespace

TEST_CASE("the first failing element of a kernel is reported, at its place") {
  Failing m;
  Slot bad = m.failing(31, 7); // 5 x + 1 divisible by 31 first at x = 6
  size_t line = m.main().code.back().loc.index;
  m.print(m.one);
  m.print(m.launch(kSum, {bad, m.n}, {}));
  m.print(m.zero);
  m.ret();
  expect(m, "1\n", "element 6 of 7 is 31");
  Outcome o = m.run();
  CHECK(o.error->kind == "IndexOutOfRange");
  CHECK(m.program.locations[o.error->loc.index].line == line);
}

TEST_CASE("only what depends on a failure is poisoned; an unused one ends the program at its end") {
  Failing m;
  m.failing(31, 1);
  m.print(m.launch(kSum, {m.x, m.n}, {}));
  m.ret();
  expect(m, "499500\n", "element 6 of 1 is 31");
}

TEST_CASE("among the failures that an effect needs, the one issued first is reported") {
  Failing m;
  Slot slow_one = m.failing(31, 1);
  Slot late = m.launch(kSlow, {slow_one, m.i64(2000), m.n}, {m.n});
  Slot second = m.failing(11, 2);
  m.print(m.launch(kAdd, {second, late, m.n}, {m.n}));
  m.ret();
  expect(m, "", "element 6 of 1 is 31");
}

TEST_CASE("an effect that needs only the second failure reports the second") {
  Failing m;
  m.failing(31, 1);
  Slot second = m.failing(11, 2);
  m.print(second);
  m.ret();
  expect(m, "", "element 2 of 2 is 11");
}

TEST_CASE("an effect that failed comes before a later await that failed") {
  Failing m;
  Slot first = m.failing(31, 1);
  Slot late = m.launch(kSlow, {first, m.i64(5000), m.n}, {m.n});
  m.print(m.launch(kSum, {late, m.n}, {}));
  m.await(m.launch(kSum, {m.failing(11, 2), m.n}, {}));
  m.print(m.one);
  m.ret();
  expect(m, "", "element 6 of 1 is 31");
}

TEST_CASE("host scalars carry failures through scalars, sizes, views and kernels") {
  for (int use = 0; use < 6; ++use) {
    Failing m;
    int32_t division = m.site("DivisionByZero", "{0} // {1}");
    Slot broken = m.guard(m.one, m.boolean(false), division, {m.i64(4), m.zero});
    Slot more = m.scalar(ScalarOp::Add, DType::I64, {broken, m.one});
    m.print(m.one);
    if (use == 0) m.print(more);
    if (use == 1) m.print(m.launch(kIota, {more, m.n}, {m.n}));
    if (use == 2) m.print(m.launch(kIota, {m.one, more}, {more}));
    if (use == 3) {
      Slot v = m.fresh();
      Instruction view = Machine::make(BcOp::View, {m.x, more}, {v});
      view.outputs = {{DType::I64, {Machine::size(1)}, AliasMode::None, 0}};
      m.emit(view);
      m.print(m.launch(kSum, {v, m.one}, {}));
    }
    if (use == 4) {
      Slot c = m.scalar(ScalarOp::Lt, DType::I64, {more, m.one});
      Instruction jump = Machine::make(BcOp::JumpIfNot, {c}, {});
      jump.target = 0;
      m.emit(jump);
    }
    m.print(use == 5 ? m.guard(m.one, m.scalar(ScalarOp::Lt, DType::I64, {more, m.one}), 0) : m.zero);
    m.ret();
    expect(m, "1\n", "4 // 0");
  }
}

TEST_CASE("a guarded tensor that had failed before reports its own failure") {
  Failing m;
  Slot bad = m.launch(kSlow, {m.failing(31, 1), m.i64(2000), m.n}, {m.n});
  Slot guarded = m.guard(bad, m.boolean(false), m.site("Later", "later"));
  m.print(guarded);
  m.ret();
  expect(m, "", "element 6 of 1 is 31");
}

TEST_CASE("assertions stop the effects after them, and their message is made only then") {
  Failing m;
  m.program.formats.push_back({{"x is ", ""}, {""}});
  int32_t assertion = m.site("AssertionFailed", "");
  auto check = [&](Slot condition, Slot message) {
    Instruction& i = m.host(HostOp::Assert, {condition, message});
    i.index = 1;
    i.site = assertion;
  };
  Slot broken = m.launch(kSum, {m.failing(31, 1), m.n}, {});
  check(m.boolean(true), broken);
  check(m.launch(kOdd, {m.launch(kScale, {m.x, m.n}, {m.n}), m.n}, {}, DType::Bool), broken);
  m.print(m.one);
  check(m.launch(kOdd, {m.x, m.n}, {}, DType::Bool), m.launch(kSum, {m.x, m.n}, {}));
  m.print(m.zero);
  m.ret();
  expect(m, "1\n", "x is 499500");
  CHECK(m.run().error->kind == "AssertionFailed");
}

TEST_CASE("a failing load, save or sink stops the program there") {
  Failing load;
  load.print(load.one);
  Slot y = load.fresh(), k = load.fresh();
  Instruction& i = load.host(HostOp::Load, {load.text("/nonexistent/x.npy")}, {y, k});
  i.outputs = {{DType::I64, {Machine::size(k)}, AliasMode::None, 0}};
  load.print(load.zero);
  load.ret();
  expect(load, "1\n", "cannot open '/nonexistent/x.npy': no such file or directory");

  Failing save;
  save.print(save.one);
  save.host(HostOp::Save, {save.text("/nonexistent/x.npy"), save.x});
  save.print(save.zero);
  save.ret();
  expect(save, "1\n", "cannot write '/nonexistent/x.npy': no such file or directory");

  Failing sink;
  sink.print(sink.one);
  sink.print(sink.zero);
  sink.ret();
  Kernels kernels;
  for (RunOptions options : schedules())
    for (bool each : {false, true}) {
      options.flush_each_effect = each;
      Outcome o = run(sink.program, kernels, {}, options, [](std::string_view) { throw IoError("no space"); }, nullptr);
      REQUIRE(o.error);
      CHECK(o.error->message == "no space");
      CHECK(o.exit_code == 3);
    }
}

TEST_CASE("a failed effect ends a loop that would not end") {
  Failing m;
  Slot broken = m.launch(kSum, {m.failing(31, 1), m.n}, {});
  m.print(broken);
  auto head = static_cast<uint32_t>(m.here());
  m.launch(kTiny, {m.x, m.n}, {m.n});
  Instruction jump = Machine::make(BcOp::Jump, {}, {});
  jump.target = head;
  m.emit(jump);
  expect(m, "", "element 6 of 1 is 31");
}

TEST_CASE("failures say through which calls they came") {
  Failing m;
  BcFunction f{"f", 3, {{0}}, {}};
  Instruction guard = Machine::make(BcOp::Guard, {{0}, {1}}, {{2}});
  guard.index = static_cast<uint32_t>(m.bad);
  Instruction no = Machine::make(BcOp::ConstScalar, {}, {{1}});
  no.dtype = DType::Bool;
  f.code = {no, guard, Machine::make(BcOp::Return, {{2}}, {})};
  m.program.functions.push_back(f);
  Slot r = m.fresh();
  Instruction call = Machine::make(BcOp::Call, {m.one}, {r});
  call.index = 1;
  uint32_t line = m.emit(call).loc.index;
  m.print(r);
  m.ret();
  Outcome o = m.run();
  REQUIRE(o.error);
  REQUIRE(o.error->notes.size() == 1);
  CHECK(o.error->notes[0].second.index == line);
}

TEST_CASE("debug tells of a failure and passes it on") {
  Failing m;
  Slot bad = m.failing(31, 7);
  m.host(HostOp::Debug, {bad});
  m.print(m.one);
  m.print(bad);
  m.ret();
  expect(m, "1\n", "element 6 of 7 is 31");
  CHECK(m.err.find(": failed: element 6 of 7 is 31\n") != std::string::npos);
}
