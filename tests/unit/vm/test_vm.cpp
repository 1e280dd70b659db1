// Programs written by hand: values, control flow, effects, waits, arguments and results.
#include "machine.h"
#include "vm/io/io.h"
#include "vm/profile.h"
#include <doctest/doctest.h>
#include <filesystem>
#include <unistd.h>

using namespace tl;
using namespace tl::test;

TEST_CASE("kernels, in-place updates and prints give the same on every schedule") {
  Machine m;
  Slot n = m.i64(1000), three = m.i64(3);
  Slot x = m.launch(kIota, {three, n}, {n});
  Slot y = m.launch(kReverse, {x, n}, {n});
  Slot z = m.launch(kAdd, {x, y, n}, {n}); // all 2997
  Slot w = m.launch(kBump, {z, z, n}, {n}, DType::I64, AliasMode::Initial, 0);
  Slot s = m.launch(kSum, {w, n}, {});
  m.print(s);
  m.print(z);
  m.ret({s, y});
  for (const RunOptions& options : schedules()) {
    Outcome o = m.run(options);
    CHECK(!o.error);
    CHECK(o.exit_code == 0);
    CHECK(m.out == "11988000\n[2997 2997 2997 2997 2997 2997 2997 2997 2997 2997 2997 2997 2997 2997\n" +
                       m.out.substr(m.out.find('\n', 12) + 1));
    REQUIRE(o.results.size() == 2);
    CHECK(std::get<HostTensor>(o.results[0]).get(0).as<int64_t>() == 2997 * 4 * 1000);
    CHECK(std::get<HostTensor>(o.results[1]).get(0).as<int64_t>() == 2997);
    CHECK(m.stats.kernels_launched == 5);
    CHECK(m.stats.kernels_compiled == 5);
  }
}

// while i < 10: x = x + x; i = i + 1
TEST_CASE("loops, scalars and awaits") {
  Machine m;
  Slot n = m.i64(200), i = m.i64(0), one = m.i64(1), ten = m.i64(10);
  Slot x = m.launch(kIota, {one, n}, {n});
  auto head = static_cast<uint32_t>(m.here());
  Slot more = m.scalar(ScalarOp::Lt, DType::I64, {i, ten});
  size_t exit_jump = m.here();
  m.emit(Machine::make(BcOp::JumpIfNot, {more}, {}));
  Instruction doubled = Machine::make(BcOp::Launch, {x, x, n}, {x});
  doubled.index = kAdd;
  doubled.outputs = {{DType::I64, {Machine::size(n)}, AliasMode::Reuse, 0}};
  doubled.in[0].last_use = true;
  m.emit(doubled);
  Instruction step = Machine::make(BcOp::Scalar, {i, one}, {i});
  step.scalar = ScalarOp::Add;
  step.dtype = DType::I64;
  m.emit(step);
  Instruction back = Machine::make(BcOp::Jump, {}, {});
  back.target = head;
  m.emit(back);
  m.main().code[exit_jump].target = static_cast<uint32_t>(m.here());
  Slot s = m.launch(kSum, {x, n}, {});
  Slot known = m.await(s);
  Slot more_than_that = m.scalar(ScalarOp::Add, DType::I64, {known, one});
  m.print(more_than_that);
  m.ret();
  for (const RunOptions& options : schedules()) {
    CHECK(!m.run(options).error);
    CHECK(m.out == std::to_string(199 * 100 * 1024 + 1) + "\n");
  }
}

TEST_CASE("calls and recursion") {
  Machine m; // fn f(n) = if n < 1 { 0 } else { n + f(n - 1) }
  BcFunction f{"f", 8, {{0}}, {}};
  auto emit = [&](Instruction i) { f.code.push_back(std::move(i)); };
  auto constant = [&](uint32_t slot, int64_t v) {
    Instruction i = Machine::make(BcOp::ConstScalar, {}, {{slot}});
    i.dtype = DType::I64;
    i.imm = Scalar::of(v);
    emit(i);
  };
  auto op = [&](ScalarOp what, uint32_t a, uint32_t b, uint32_t out) {
    Instruction i = Machine::make(BcOp::Scalar, {{a}, {b}}, {{out}});
    i.scalar = what;
    i.dtype = DType::I64;
    emit(i);
  };
  constant(1, 1);
  op(ScalarOp::Lt, 0, 1, 2);
  Instruction jump = Machine::make(BcOp::JumpIfNot, {{2}}, {});
  jump.target = 5;
  emit(jump);
  constant(3, 0);
  emit(Machine::make(BcOp::Return, {{3}}, {}));
  op(ScalarOp::Sub, 0, 1, 4);
  Instruction call = Machine::make(BcOp::Call, {{4}}, {{5}});
  call.index = 1;
  call.loc = m.place();
  emit(call);
  op(ScalarOp::Add, 0, 5, 6);
  emit(Machine::make(BcOp::Return, {{6}}, {}));
  Slot n = m.i64(100), r = m.fresh();
  m.program.functions.push_back(f);
  Instruction first = Machine::make(BcOp::Call, {n}, {r});
  first.index = 1;
  m.emit(first);
  m.print(r);
  m.ret();
  CHECK(!m.run().error);
  CHECK(m.out == "5050\n");

  m.main().code[0].imm = Scalar::of(int64_t{1000000});
  Outcome o = m.run();
  REQUIRE(o.error);
  CHECK(o.error->kind == "StackOverflow");
  CHECK(o.exit_code == 3);
  CHECK(m.out.empty());
}

TEST_CASE("effects happen in program order, whatever their values wait for") {
  Machine m;
  Slot n = m.i64(100), one = m.i64(1), long_time = m.i64(20000);
  Slot x = m.launch(kIota, {one, n}, {n});
  Slot late = m.launch(kSlow, {x, long_time, n}, {n});
  Slot s = m.launch(kSum, {late, n}, {});
  m.print(s);
  for (int k = 0; k < 5; ++k)
    m.print(m.i64(k));
  Slot t = m.fresh();
  m.host(HostOp::Time, {}, {t});
  m.ret({t});
  for (const RunOptions& options : schedules()) {
    m.run(options);
    CHECK(m.out == "4950\n0\n1\n2\n3\n4\n");
  }
}

TEST_CASE("the program does not wait for work that nobody asks for; wait does") {
  Machine m;
  Slot n = m.i64(10), one = m.i64(1), long_time = m.i64(50000);
  Slot x = m.launch(kIota, {one, n}, {n});
  Slot t0 = m.fresh(), t1 = m.fresh(), t2 = m.fresh(), done = m.fresh();
  m.host(HostOp::Time, {}, {t0});
  Slot late = m.launch(kSlow, {x, long_time, n}, {n});
  m.host(HostOp::Time, {}, {t1});
  m.host(HostOp::Wait, {late}, {done});
  m.host(HostOp::Time, {}, {t2});
  m.ret({t0, t1, t2, done});
  Outcome o = m.run(threads(1));
  auto time = [&](size_t k) { return std::get<HostTensor>(o.results[k]).get(0).as<double>(); };
  CHECK(time(1) - time(0) < 0.04);
  CHECK(time(2) - time(0) >= 0.049);
  CHECK(m.stats.waits[static_cast<size_t>(Profile::Doing::Value)].count >= 1);
}

TEST_CASE("arguments and results") {
  Machine m;
  auto param = [](ParamInfo::Kind kind, const std::string& name, DType dtype, uint32_t rank, bool has_default) {
    ParamInfo info;
    info.kind = kind;
    info.name = name;
    info.dtype = dtype;
    info.rank = rank;
    info.has_default = has_default;
    return info;
  };
  m.program.interface.params = {param(ParamInfo::Kind::Tensor, "x", DType::I64, 1, false),
                                param(ParamInfo::Kind::Scalar, "k", DType::I64, 0, true),
                                param(ParamInfo::Kind::Str, "s", DType::U8, 0, false)};
  Slot n = m.fresh(), x = m.fresh(), given = m.fresh(), k = m.fresh(), s = m.fresh();
  m.main().params = {n, x, given, k, s};
  Slot sum = m.launch(kSum, {x, n}, {});
  m.ret({sum, given, k, s, x});
  HostTensor data = HostTensor::make(DType::I64, {3});
  for (int64_t i = 0; i < 3; ++i)
    data.set(i, Scalar::of(i + 1));
  HostTensor five = HostTensor::make(DType::I64, {});
  five.set(0, Scalar::of(int64_t{5}));
  Outcome o = m.run({}, {data, five, std::string("hi")});
  REQUIRE(!o.error);
  auto value = [&](size_t i) { return std::get<HostTensor>(o.results[i]).get(0); };
  CHECK(value(0).as<int64_t>() == 6);
  CHECK(value(1).as<uint8_t>() == 1);
  CHECK(value(2).as<int64_t>() == 5);
  CHECK(std::get<std::string>(o.results[3]) == "hi");
  CHECK(std::get<HostTensor>(o.results[4]).dims == std::vector<int64_t>{3});
  o = m.run({}, {data, {}, std::string()});
  CHECK(value(1).as<uint8_t>() == 0);
  CHECK_THROWS_AS(m.run({}, {five, {}, std::string()}), std::invalid_argument);
  CHECK_THROWS_AS(m.run({}, {data, {}, {}}), std::invalid_argument);
}

TEST_CASE("results outlive the run, also as views") {
  Outcome o;
  {
    Machine m;
    Slot n = m.i64(10000), one = m.i64(1), k = m.i64(7);
    Slot x = m.launch(kIota, {one, n}, {n});
    Slot v = m.fresh();
    Instruction view = Machine::make(BcOp::View, {x, k}, {v});
    view.outputs = {{DType::I64, {Machine::size(3), Machine::size(2)}, AliasMode::None, 0}};
    m.emit(view);
    m.ret({v, x});
    o = m.run();
  }
  HostTensor& v = std::get<HostTensor>(o.results[0]);
  CHECK(v.dims == std::vector<int64_t>{3, 2});
  CHECK(v.get(5).as<int64_t>() == 12);
  CHECK(std::get<HostTensor>(o.results[1]).get(9999).as<int64_t>() == 9999);
}

TEST_CASE("a value that is read later is not overwritten") {
  Machine m;
  Slot n = m.i64(5000), one = m.i64(1), wait = m.i64(3000);
  Slot x = m.launch(kIota, {one, n}, {n});
  Slot reader = m.launch(kSlow, {x, wait, n}, {n}); // still reads x while y is computed in its place
  Slot y = m.launch(kScale, {x, n}, {n}, DType::I64, AliasMode::Reuse, 0);
  m.give_away(0);
  Slot s = m.launch(kSum, {reader, n}, {}), t = m.launch(kSum, {y, n}, {});
  m.print(s);
  m.print(t);
  m.ret();
  for (const RunOptions& options : schedules()) {
    m.run(options);
    CHECK(m.out == "12497500\n62492500\n");
    CHECK(m.stats.peak_memory < 5 * 40960); // reader, two workspaces; x and y are one
  }
}

TEST_CASE("constants are never written") {
  Machine m;
  HostTensor ones = HostTensor::make(DType::I64, {100});
  for (int64_t i = 0; i < 100; ++i)
    ones.set(i, Scalar::of(int64_t{1}));
  m.program.tensors.push_back(ones);
  Slot n = m.i64(100), x = m.fresh();
  m.emit(Machine::make(BcOp::ConstTensor, {}, {x}));
  Slot y = m.launch(kBump, {x, x, n}, {n}, DType::I64, AliasMode::Initial, 0);
  m.give_away(0);
  m.give_away(1);
  Slot z = m.launch(kScale, {y, n}, {n}, DType::I64, AliasMode::Reuse, 0);
  m.give_away(0);
  m.print(m.launch(kSum, {z, n}, {}));
  m.ret();
  for (const RunOptions& options : schedules()) {
    m.run(options);
    CHECK(m.out == "2100\n");
  }
  CHECK(ones.get(5).as<int64_t>() == 1);
}

TEST_CASE("exit drains, prints what came before and gives its code") {
  Machine m;
  Slot n = m.i64(100), one = m.i64(1), code = m.i64(42);
  Slot x = m.launch(kIota, {one, n}, {n});
  m.print(m.launch(kSum, {x, n}, {}));
  m.host(HostOp::Exit, {code});
  m.print(one);
  m.ret();
  for (const RunOptions& options : schedules()) {
    Outcome o = m.run(options);
    CHECK(o.exit_code == 42);
    CHECK(!o.error);
    CHECK(m.out == "4950\n");
  }
}

TEST_CASE("load, save and debug") {
  char name[] = "/tmp/tl-vm-test-XXXXXX";
  std::filesystem::path folder = ::mkdtemp(name);
  Machine m;
  Slot n = m.i64(100), one = m.i64(1);
  Slot path = m.text((folder / "x.npy").string());
  Slot x = m.launch(kIota, {one, n}, {n});
  m.host(HostOp::Save, {path, x});
  Slot y = m.fresh(), count = m.fresh();
  Instruction& load = m.host(HostOp::Load, {path}, {y, count});
  load.dtype = DType::I64;
  load.outputs = {{DType::I64, {Machine::size(count)}, AliasMode::None, 0}};
  m.print(count);
  m.print(m.launch(kSum, {y, count}, {}));
  Instruction& debug = m.host(HostOp::Debug, {y});
  std::string line = std::to_string(debug.loc.index);
  m.host(HostOp::Save, {m.text((folder / "k.npy").string()), count});
  m.ret();
  for (const RunOptions& options : schedules()) {
    Outcome o = m.run(options);
    CHECK(!o.error);
    CHECK(m.out == "100\n4950\n");
    CHECK(m.err == "a.tl:" + line + ": i64[100] min 0 mean 49.5 max 99\n");
    CHECK(load_tensor((folder / "k.npy").string()).get(0).as<int64_t>() == 100);
    std::filesystem::remove(folder / "x.npy");
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("workers start once, whether a lane or the issuing thread has the first work for them") {
  for (int round = 0; round < 300; ++round) {
    Machine m;
    Slot n = m.i64(300000), one = m.i64(1), yes = m.fresh();
    m.host(HostOp::Print, {m.text("first\n")}); // in the lane for files, where a terminal is written to
    Instruction sure = Machine::make(BcOp::ConstScalar, {}, {yes});
    sure.dtype = DType::Bool;
    sure.imm = Scalar::of(uint8_t{1});
    m.emit(sure);
    m.host(HostOp::Assert, {yes}); // ready when the lane is done
    Slot x = m.launch(kIota, {one, n}, {n});
    m.await(m.launch(kSum, {x, n}, {}));
    m.ret();
    RunOptions options = threads(2);
    options.flush_each_effect = true;
    Outcome o = m.run(options);
    REQUIRE(!o.error);
    REQUIRE(m.out == "first\n");
  }
}

TEST_CASE("an interrupt stops a loop that does not end") {
  Machine m;
  m.i64(0);
  Instruction jump = Machine::make(BcOp::Jump, {}, {});
  jump.target = 0;
  m.emit(jump);
  std::atomic<bool> interrupt{false};
  RunOptions options;
  options.interrupt = &interrupt;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    interrupt = true;
  });
  Outcome o = m.run(options);
  later.join();
  CHECK(o.exit_code == 130);
}

TEST_CASE("a malformed program is a fault of tl's, not a crash") {
  Machine m;
  Slot s = m.text("x"), n = m.i64(3);
  m.launch(kSum, {s, n}, {});
  m.ret();
  CHECK_THROWS_AS(m.run(), std::logic_error);
  Machine none;
  CHECK_THROWS_AS(none.run(), std::logic_error);
}

TEST_CASE("the bytecode has a text form") {
  Machine m;
  Slot n = m.i64(3), one = m.i64(1);
  Slot x = m.launch(kIota, {one, n}, {n});
  m.launch(kScale, {x, n}, {n}, DType::I64, AliasMode::Reuse, 0);
  m.give_away(0);
  m.print(n);
  m.ret();
  std::string text = to_text(m.program);
  CHECK(text.find("const i64 3 -> s0    # a.tl:1\n") != std::string::npos);
  CHECK(text.find("launch k6 s2!, s0 -> s3: i64[s0] reuse 0") != std::string::npos);
  CHECK(text.find("host format \"{}\\n\" s0 -> s4") != std::string::npos);
}

TEST_CASE("a host scalar may stand for a rank-0 tensor") {
  Machine m;
  Slot one = m.i64(1), k = m.i64(20), v = m.fresh();
  Instruction view = Machine::make(BcOp::View, {k}, {v});
  view.outputs = {{DType::I64, {Machine::size(1), Machine::size(1)}, AliasMode::None, 0}};
  m.emit(view);
  Slot x = m.launch(kScale, {k, one}, {}, DType::I64);
  Slot y = m.launch(kBump, {k, k, one}, {}, DType::I64, AliasMode::Initial, 0);
  m.print(v);
  m.print(x);
  m.print(m.scalar(ScalarOp::Add, DType::I64, {m.await(y), m.await(k)}));
  Slot w = m.fresh();
  m.host(HostOp::Wait, {k}, {w});
  m.host(HostOp::Debug, {w});
  m.ret({v});
  for (const RunOptions& options : schedules()) {
    Outcome o = m.run(options);
    CHECK(!o.error);
    CHECK(m.out == "[[20]]\n101\n100\n");
    CHECK(m.err.find(": i64 20\n") != std::string::npos);
    CHECK(std::get<HostTensor>(o.results.at(0)).dims == std::vector<int64_t>{1, 1});
  }
}
