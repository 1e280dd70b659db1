// Vectorization of regions: each rule, to the bit, and what it makes of subscripts.
#include "ir/graph/op_info.h"
#include "vectorize_support.h"

using namespace tl;
using namespace tl::test;

namespace {

HostTensor whole(int64_t value) {
  HostTensor t = HostTensor::make(DType::I64, {});
  t.set(0, Scalar::of(value));
  return t;
}
std::vector<Argument> arguments(int64_t n, int64_t m, int64_t k, int64_t c) {
  return {numbers(DType::F32, {n, m}), numbers(DType::F32, {k}, -0.9, 0.41), whole(c)};
}
const std::vector<Argument> kUsual = arguments(4, 5, 6, 2);

// The nodes that cost: how the subscripts were read.
std::string reads(const ir::Module& m) {
  std::string text;
  for (ir::Op op : {ir::Op::Index, ir::Op::Slice, ir::Op::Pad, ir::Op::Concat, ir::Op::Gather, ir::Op::Scatter})
    if (int n = count(m, op)) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, ir::name_of(op));
  return text;
}

std::string reads(const std::string& map, const std::vector<int64_t>& sizes,
                  const std::vector<Argument>& given = kUsual) {
  return reads(same_vectorized(region_of(map), sizes, given));
}

bool fails(const std::string& map, const std::vector<int64_t>& sizes, const std::vector<Argument>& given = kUsual,
           bool passes = true) {
  return run(same_vectorized(region_of(map), sizes, given, passes), given).error.has_value();
}

} // namespace

// ---- subscripts
TEST_CASE("subscripts that are the positions read nothing") {
  CHECK(reads(R"(
  %r: f32[%n, %k, %m] = map (%i: i64, %j: i64, %l: i64) {
    %a: f32 = index %x, %i, %l
    %b: f32 = index %y, %j
    %p: f32 = mul %a, %b
    yield %p
  })",
              {4, 6, 5}) == "");
}

TEST_CASE("values depend on as few axes as they can") {
  ir::Module m = module_of(R"(
  %r: f32[%n, %k, %m] = map (%i: i64, %j: i64, %l: i64) {
    %a: f32 = index %x, %i, %l
    %e: f32 = exp %a
    %b: f32 = index %y, %j
    %z: f32 = exp %c
    yield %e, %b, %z
  })");
  RegionCase region(std::move(m));
  region.with([&](ir::Module& module, ir::Function& f, ir::Builder& b) {
    const ir::Region body = f[region.map].regions[0];
    Vectorizer v(module, f, region.dims, b);
    for (uint32_t i = 0; i < 3; ++i)
      v.bind_index(body.params[i], i);
    REQUIRE(v.region(body));
    CHECK(v(body.yields[0]).axes == std::vector<uint32_t>{0, 2});
    CHECK(v(body.yields[1]).axes == std::vector<uint32_t>{1});
    CHECK(v(body.yields[2]).axes.empty());
    return std::vector<ir::ValueId>{};
  });
}

TEST_CASE("a subscript that goes along one position is a slice") {
  const std::string map = R"(
  %two: i64 = constant i64 2
  %one: i64 = constant i64 1
  %h: i64 = constant i64 3
  %r: f32[2, 3] = map (%j: i64, %i: i64) {
    %d: i64 = mul %two, %i
    %e: i64 = add %d, %one
    %a: f32 = index %y, %e
    %b: i64 = sub %two, %j
    %f: f32 = index %x, %i, %b
    %s: f32 = add %a, %f
    yield %s
  })";
  CHECK(reads(map, {2, 3}) == "2 slice");
}

TEST_CASE("an offset that is a size, and a constant subscript") {
  CHECK(reads(R"(
  %zero: i64 = constant i64 0
  %l: i64 = sub %n, %c
  %r: f32[%l] = map (%i: i64) {
    %o: i64 = add %i, %c
    %a: f32 = index %x, %o, %zero
    yield %a
  })",
              {2}) == "1 slice");
}

TEST_CASE("two positions in other order are transposed") {
  ir::Module m = same_vectorized(region_of(R"(
  %r: f32[%m, %n] = map (%i: i64, %j: i64) {
    %a: f32 = index %x, %j, %i
    yield %a
  })"),
                                 {5, 4}, kUsual);
  CHECK(count(m, ir::Op::Transpose) == 1);
  CHECK(reads(m) == "");
}

TEST_CASE("a diagonal of known size is a slice of the elements in a row") {
  const std::string map = R"(
  %z: i64 = constant i64 0
  %s: f32[4, 4] = slice %x, %z, %z {ints = [1, 1]}
  %r: f32[4] = map (%i: i64) {
    %a: f32 = index %s, %i, %i
    yield %a
  })";
  CHECK(reads(map, {4}) == "2 slice");
}

TEST_CASE("a diagonal of a size that is a value gathers") {
  CHECK(reads(R"(
  %r: f32[%n] = map (%i: i64) {
    %a: f32 = index %x, %i, %i
    yield %a
  })",
              {4}) == "1 gather");
}

TEST_CASE("short windows are slices side by side") {
  const std::string window = R"(
  %l: i64 = sub %k, %c
  %r: f32[%l] = map (%i: i64) {
    %w: f32[3] = map (%u: i64) {
      %o: i64 = add %i, %u
      %a: f32 = index %y, %o
      yield %a
    }
    %s: f32 = reduce %w {op = sum, ints = [0]}
    yield %s
  })";
  CHECK(reads(window, {4}) == "3 slice, 1 concat");
}

TEST_CASE("windows with strides, in two axes, of any size") {
  const std::string window = R"(
  %two: i64 = constant i64 2
  %q: i64 = constant i64 4
  %r: f32[2, 3, %c] = map (%i: i64, %j: i64, %v: i64) {
    %w: f32[2] = map (%u: i64) {
      %d: i64 = mul %i, %two
      %o: i64 = add %d, %u
      %p: i64 = add %j, %v
      %a: f32 = index %x, %o, %p
      yield %a
    }
    %s: f32 = reduce %w {op = sum, ints = [0]}
    yield %s
  })";
  CHECK(reads(window, {2, 3, 2}) == "5 slice, 2 concat");
}

TEST_CASE("subscripts from elements gather, those of one tensor together") {
  CHECK(reads(R"(
  %z: i64 = constant i64 0
  %three: i64 = constant i64 3
  %r: f32[%k] = map (%i: i64) {
    %a: f32 = index %y, %i
    %b: i64 = convert %a
    %c1: i64 = clamp %b, %z, %three
    %d: f32 = index %x, %c1, %c1
    %e: f32 = index %x, %c1, %c
    %s: f32 = add %d, %e
    yield %s
  })",
              {6}) == "1 pad, 2 gather"); // nothing says that c is in range where there is no position
}

TEST_CASE("an element of a tensor that differs between positions") {
  CHECK(reads(R"(
  %z: i64 = constant i64 0
  %r: f32[%n] = map (%i: i64) {
    %row: f32[%m] = index %x, %i
    %e: f32[%m] = exp %row
    %at: i64 = reduce %e {op = argmax, ints = [0]}
    %a: f32 = index %e, %at
    %b: f32 = index %e, %z
    %s: f32 = add %a, %b
    yield %s
  })",
              {4}) == "1 slice, 1 gather");
}

TEST_CASE("a slice that starts elsewhere at every position") {
  const std::string map = R"(
  %l: i64 = sub %k, %c
  %r: f32[%l, 3] = map (%i: i64) {
    %w: f32[3] = slice %y, %i {ints = [1]}
    yield %w
  })";
  CHECK(reads(map, {4}) == "3 slice, 1 concat");
}

TEST_CASE("a part of a tensor, and rows by a list of them") {
  CHECK(reads(R"(
  %three: i64 = constant i64 3
  %z: i64 = constant i64 0
  %rows: i64[2] = iota
  %r: f32[%c, 2, %m] = map (%i: i64) {
    %at: i64[2] = add %rows, %i
    %g: f32[2, %m] = gather %x, %at {ints = [0]}
    %same: f32[2, %m] = gather %x, %rows {ints = [0]}
    yield %g, %same
  })",
              {2}) == "1 pad, 2 gather"); // the same rows need not be there where there is no position
}

// ---- what does not run does no harm
TEST_CASE("a read under a condition is padded, and gathers nothing") {
  const std::string map = R"(
  %z: i64 = constant i64 0
  %one: i64 = constant i64 1
  %f: f32 = constant f32 0.5
  %r: f32[%n, %m] = map (%i: i64, %j: i64) {
    %c1: bool = gt %i, %z
    %s: f32 = if %c1 {
      %o: i64 = sub %i, %one
      %a: f32 = index %x, %o, %j
      yield %a
    } {
      yield %f
    }
    yield %s
  })";
  CHECK(reads(map, {4, 5}) == "1 pad");
}

TEST_CASE("a Guard in a branch is checked where the branch is taken") {
  const std::string map = R"(
  %r: f32[%k] = map (%i: i64) {
    %c1: bool = lt %i, %n
    %s: f32 = if %c1 {
      %e: i64 = constant i64 LIMIT
      %c2: bool = lt %i, %e
      %o: i64 = guard %i, %c2, %i, %e {site = 0}
      %a: f32 = index %x, %o, %c
      yield %a
    } {
      %b: f32 = index %y, %i
      yield %b
    }
    yield %s
  })";
  CHECK(!fails(std::regex_replace(map, std::regex("LIMIT"), "4"), {6}));
  CHECK(fails(std::regex_replace(map, std::regex("LIMIT"), "3"), {6}));
}

TEST_CASE("a branch that no position takes does not read an empty tensor") {
  const std::string map = R"(
  %z: i64 = constant i64 0
  %seven: i64 = constant i64 7
  %f: f32 = constant f32 0.5
  %r: f32[%n] = map (%i: i64) {
    %c1: bool = gt %i, %seven
    %s: f32 = if %c1 {
      %v: f32 = index %x, %i, %z
      %at: i64 = convert %v
      %a: f32 = index %y, %at
      %b: f32 = index %y, %i
      %d: f32 = index %x, %at, %at
      %e: f32 = add %a, %b
      %g: f32 = add %d, %e
      %u: f32[%k] = update %y, %g, %at {mode = set}
      %h: f32 = index %u, %z
      yield %h
    } {
      yield %f
    }
    yield %s
  })";
  CHECK(!fails(map, {3}, arguments(3, 2, 0, 1)));
  CHECK(!fails(map, {3}, arguments(3, 0, 0, 1)));
}

TEST_CASE("an empty batch checks and reads nothing") {
  const std::string map = R"(
  %hundred: i64 = constant i64 100
  %r: f32[%n, %m] = map (%i: i64, %j: i64) {
    %fine: bool = lt %hundred, %k
    %at: i64 = guard %hundred, %fine, %hundred, %k {site = 0}
    %a: f32 = index %y, %at
    %b: f32 = index %x, %i, %j
    %s: f32 = add %a, %b
    %t1: f32[%k] = update %y, %s, %at {mode = add}
    %t2: f32 = index %t1, %at
    yield %t2
  })";
  CHECK(!fails(map, {3, 0}, arguments(3, 0, 2, 1)));
  CHECK(!fails(map, {0, 3}, arguments(0, 3, 2, 1)));
  CHECK(fails(map, {1, 1}, arguments(1, 1, 2, 1)));
}

TEST_CASE("sizes of a branch that nobody takes") {
  const std::string map = R"(
  %z: i64 = constant i64 0
  %f: f32 = constant f32 1.5
  %r: f32[%k] = map (%i: i64) {
    %a: f32 = index %y, %i
    %zero: f32 = constant f32 LIMIT
    %c1: bool = lt %a, %zero
    %s: f32 = if %c1 {
      %l: i64 = sub %c, %n
      %fine: bool = ge %l, %z
      %q: i64 = guard %l, %fine {site = 0}
      %o: f32[%q] = broadcast %a {ints = []}
      %t1: f32 = reduce %o {op = sum, ints = [0]}
      yield %t1
    } {
      yield %f
    }
    yield %s
  })";
  auto with = [&](const char* limit) { return std::regex_replace(map, std::regex("LIMIT"), limit); };
  CHECK(!fails(with("-100"), {6}));
  CHECK(fails(with("0"), {6}));
  CHECK(!fails(with("0"), {6}, arguments(4, 1, 6, 9)));
}

TEST_CASE("a decomposition fails for positions that need it only") {
  const std::string map = R"(
  %z: i64 = constant i64 0
  %f: f32 = constant f32 1.5
  %r: f32[%n] = map (%i: i64) {
    %e: f32[2, 2] = map (%a: i64, %b: i64) {
      %same: bool = eq %a, %b
      %row: i64 = sub %i, %c
      %d: f32 = convert %row
      %zero: f32 = constant f32 0.25
      %v: f32 = where %same, %d, %zero
      yield %v
    }
    %c1: bool = COMPARE %i, %c
    %s: f32 = if %c1 {
      %l: f32[2, 2] = linalg %e {site = 0, ints = [0]}
      %t1: f32 = index %l, %z, %z
      yield %t1
    } {
      yield %f
    }
    yield %s
  })";
  CHECK(!fails(std::regex_replace(map, std::regex("COMPARE"), "gt"), {4}, kUsual, false));
  CHECK(fails(std::regex_replace(map, std::regex("COMPARE"), "ge"), {4}, kUsual, false));
}

// ---- sums and products
TEST_CASE("a sum of products in a map is one contraction") {
  ir::Module m = same_vectorized(region_of(R"(
  %r: f32[%n, %n] = map (%i: i64, %j: i64) {
    %a: f32[%m] = map (%l: i64) {
      %v: f32 = index %x, %i, %l
      yield %v
    }
    %b: f32[%m] = map (%q: i64) {
      %w: f32 = index %x, %j, %q
      yield %w
    }
    %s: f32 = contract %a, %b {ints = [0, 0], labels = []}
    yield %s
  })"),
                                 {3, 3}, arguments(3, 1200, 1, 0));
  CHECK(count(m, ir::Op::Contract) == 1);
  CHECK(count(m, ir::Op::Broadcast) == 0);
  CHECK(reads(m) == "");
}

TEST_CASE("sums whose ranges differ between positions, longer than a chunk") {
  same_vectorized(region_of(R"(
  %z: i64 = constant i64 0
  %many: i64 = constant i64 1700
  %r: f32[%n] = map (%i: i64) {
    %l: i64 = mul %i, %many
    %e: f32[%l] = map (%j: i64) {
      %v: f32 = index %y, %j
      %q: f32 = mul %v, %v
      %w: f32 = sub %v, %q
      yield %w
    }
    %s: f32 = reduce %e {op = sum, ints = [0]}
    %g: f32 = reduce %e {op = max, ints = [0]}
    %a: i64 = reduce %e {op = argmin, ints = [0]}
    %p: f32 = contract %e, %e {ints = [0, 0], labels = []}
    yield %s, %g, %a, %p
  })"),
                  {4}, arguments(4, 1, 5200, 1), false);
}

TEST_CASE("a range that differs, after one that does not: not in this order of sums") {
  const char* map = R"(
  %r: f32[%n] = map (%i: i64) {
    %e: f32[3, %i] = map (%q: i64, %j: i64) {
      %v: f32 = index %y, %j
      yield %v
    }
    %s: f32 = reduce %e {op = OP, ints = [0, 1]}
    yield %s
  })";
  CHECK(!region_of(std::regex_replace(map, std::regex("OP"), "sum")).vectorized());
  CHECK(region_of(std::regex_replace(map, std::regex("OP"), "max")).vectorized());
}

// ---- control
TEST_CASE("a branch on what all positions share stays a branch") {
  ir::Module m = same_vectorized(region_of(R"(
  %z: i64 = constant i64 0
  %r: f32[%n, %k] = map (%i: i64, %j: i64) {
    %c1: bool = lt %c, %n
    %s: f32 = if %c1 {
      %a: f32 = index %x, %i, %z
      yield %a
    } {
      %b: f32 = index %y, %j
      yield %b
    }
    yield %s
  })"),
                                 {4, 6}, kUsual);
  CHECK(count(m, ir::Op::If) == 1);
}

TEST_CASE("a loop that each position ends when it wants to") {
  same_vectorized(region_of(R"(
  %one: i64 = constant i64 1
  %two: i64 = constant i64 2
  %three: i64 = constant i64 3
  %z: i64 = constant i64 0
  %f: f32 = constant f32 0
  %r: i64[%k, %n] = map (%i: i64, %j: i64) {
    %start: i64 = add %i, %one
    %v: i64, %turns: i64, %last: f32 = while %start, %z, %f (%a: i64, %b: i64, %w: f32) {
      %go: bool = ne %a, %one
      yield %go
    } (%a1: i64, %b0: i64, %w1: f32) {
      %m2: i64 = mod %a1, %two
      %odd: bool = eq %m2, %one
      %next: i64 = if %odd {
        %t3: i64 = mul %a1, %three
        %up: i64 = add %t3, %one
        yield %up
      } {
        %down: i64 = floor_div %a1, %two
        yield %down
      }
      %fine: bool = gt %a1, %one
      %b1: i64 = guard %b0, %fine, %a1 {site = 0}
      %b2: i64 = add %b1, %one
      %at: i64 = mod %b1, %n
      %e: f32 = index %x, %at, %z
      yield %next, %b2, %e
    }
    yield %turns, %last
  })"),
                  {20, 4}, arguments(4, 1, 20, 0));
}

TEST_CASE("a loop whose bounds differ between positions") {
  const std::string map = R"(
  %one: i64 = constant i64 1
  %z: i64 = constant i64 0
  %f: f32 = constant f32 0
  %r: f32[%k, %n] = map (%i: i64, %j: i64) {
    %s: f32, %u: f32[%k] = for %j, %i, %one, %f, %y (%t1: i64, %a: f32, %b: f32[%k]) {
      %v: f32 = index %b, %t1
      %p: f32 = add %a, %v
      %w: f32[%k] = update %b, %p, %t1 {mode = set}
      yield %p, %w
    }
    yield %s, %u
  })";
  same_vectorized(region_of(map), {6, 4}, kUsual);
}

TEST_CASE("a loop that takes as many turns everywhere has no mask") {
  ir::Module m = same_vectorized(region_of(R"(
  %three: i64 = constant i64 3
  %one: i64 = constant i64 1
  %f: f32 = constant f32 0
  %r: f32[%n] = map (%i: i64) {
    %hi: i64 = add %i, %three
    %s: f32 = for %i, %hi, %one, %f (%t1: i64, %a: f32) {
      %v: f32 = index %y, %t1
      %p: f32 = add %a, %v
      yield %p
    }
    yield %s
  })"),
                                 {4}, kUsual);
  CHECK(count(m, ir::Op::For) == 1);
  int wheres = 0;
  ir::walk(m.functions[0], m.functions[0].body, [&](ir::NodeId id) {
    const ir::Node& n = m.functions[0][id];
    wheres += n.is(ScalarOp::Where);
  });
  CHECK(wheres <= 1); // of an empty batch: no turns
}

// ---- the rest
TEST_CASE("random numbers of keys that differ") {
  same_vectorized(region_of(R"(
  %key: key = convert %c
  %r: i64[%n, 3] = map (%i: i64) {
    %own: key = fold_in %key, %i
    %at: i64[3] = iota
    %bits: i64[3] = key_bits %own, %at
    yield %bits
  })"),
                  {4}, kUsual);
}

TEST_CASE("rows of a tensor as parameters") {
  ir::Module m = module_of("");
  ir::Function& f = m.functions[0];
  ir::Builder b(m, f, f.body);
  const ir::ValueId x = f.body.params[3];
  ir::Region body;
  ir::Builder inner(m, f, body);
  const ir::Dim n = f[x].type.dims[0], size = f[x].type.dims[1];
  const ir::ValueId row = inner.param(ir::Type::tensor(DType::F32, {size}));
  const ir::ReduceAttrs attrs{ReduceOp::Max, {0}};
  body.yields = {inner.one(ir::Op::Reduce, {row}, ir::Type::scalar(DType::F32), attrs)};
  Vectorizer v(m, f, {n}, b);
  v.bind(row, {x, {0}});
  REQUIRE(v.region(body));
  const ir::ValueId greatest = v.spread(v(body.yields[0]));
  CHECK(f[greatest].type == ir::Type::tensor(DType::F32, {n}));
  CHECK(f[f[greatest].producer].operands == std::vector<ir::ValueId>{x});
  CHECK(f[f[greatest].producer].as<ir::ReduceAttrs>().axes == std::vector<int64_t>{1});
}

TEST_CASE("what cannot be vectorized leaves nothing behind") {
  RegionCase region = region_of(R"(
  %r: f32[%n] = map (%i: i64) {
    %a: f32 = index %y, %i
    %e: f32 = exp %a
    %s: str = format %e {format = ["", "", ""]}
    yield %e
  })");
  region.with([&](ir::Module& module, ir::Function& f, ir::Builder& b) {
    const ir::Region body = f[region.map].regions[0];
    const size_t before = b.region().nodes.size();
    Vectorizer v(module, f, region.dims, b);
    v.bind_index(body.params[0], 0);
    CHECK(!v.region(body));
    CHECK(b.region().nodes.size() == before);
    return std::vector<ir::ValueId>{};
  });
}

TEST_CASE("random regions, position by position and at once") {
  int failed = 0;
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    RegionCase made = random_region(seed, 8, seed % 4 == 0);
    ir::Module m = same_vectorized(made, {4, 5, 3}, kUsual, seed % 10 == 0);
    failed += run(m, kUsual).error.has_value();
    if (seed % 3 == 0) same_vectorized(made, {1, 2, 3}, arguments(1, 2, 1, 0), false);
    if (seed % 3 == 1) same_vectorized(made, {0, 2, 3}, arguments(0, 2, 0, 1), false);
    if (seed % 3 == 2) same_vectorized(made, {3, 0, 3}, arguments(3, 0, 1, 3), false);
  }
  CHECK(failed > 0);
  CHECK(failed < 50);
}
