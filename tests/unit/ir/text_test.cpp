// The text form of graphs: what is printed reads back to the same text.
#include "ir/graph/text.h"
#include "ir/graph/verify.h"
#include <doctest/doctest.h>

using namespace tl;
using namespace tl::ir;

namespace {

const char* const kEverything = R"(location 1 "a.tl" 3:5 20..31 in "scale" caller 0
location 2 "a.tl" 9:1 80..95 in "main" caller 1
site 0 "IndexOutOfRange" "index {0} is out of \"range\"\nfor {1}" hint "use %" @1 note "n is axis 0" @2
tensor 0 f32[2, 2] = 1 -0 nan 1e-45
tensor 1 bool[2] = true false
tensor 2 bf16[1] = 0x7fc1
doc "Blurs."
param "x" f32 tensor 2 type "f32[n, 3]" doc "an image"
param "k" i64 type "i64" doc "" default "5"
result f32 tensor 1
result str
entry @main

func @scale(%n: i64, %x: f32[%n, 3]) {
  %2: f32 = constant f32 -2.5
  %3: f32[%n, 3] = mul %x, %2 @1
  yield %3
}

func @main(%t: token, %a0: i64) {
  %x.2: f32[2, 2] = const_tensor {tensor = 0}
  %x.3: str = const_str "say \"hi\"\n"
  %4: i64 = constant i64 -9223372036854775808
  %5: bool = lt %4, %4
  %6: i64, %7: f32[%6, 3] = if %5 {
    %8: i64 = constant i64 1
    %9: f32 = constant f32 inf
    %10: f32[%8, 3] = broadcast %9
    yield %8, %10
  } {
    %11: i64 = constant i64 2
    %12: f32 = constant f32 nan
    %13: f32[%11, 3] = broadcast %12
    yield %11, %13
  } @2
  %14: f32[%6, 3] = call %6, %7 {function = @scale} @2
  %15: f32[%6] = map (%i: i64) {
    %16: i64 = constant i64 0
    %17: f32 = index %14, %i, %16
    yield %17
  }
  %18: f32 = reduce %15 {op = sum, ints = [0]}
  %19: f32[%6] = guard %15, %5, %4 {site = 0}
  %20: str = format %18, %x.3 {format = ["a {", ".3", "} ", "", ""]}
  %21: token = print %t, %20
  %22: token = assert %21, %5, %18 {site = 0, format = ["x", ">4", ""]}
  %23: f32[2, 2] = contract %x.2, %x.2 {ints = [0, 1, 1, 2], labels = [0, 2]}
  %24: f32[2, 2] = update %x.2, %18, %4, %4 {mode = add}
  yield %22, %19, %20
}
)";

} // namespace

TEST_CASE("text round-trips") {
  // Numbers count definitions: what is written with others is printed with these.
  Module module = parse_text(kEverything);
  std::string once = to_text(module);
  CHECK(to_text(parse_text(once)) == once);
  CHECK_THROWS_WITH(parse_text("tensor 0 f32[3037000500, 2] = 1 2"), doctest::Contains("more numbers than the text"));
  CHECK_THROWS_WITH(parse_text("func @f() {\n  %0: str = const_str \"\\xq1\"\n  yield %0\n}"),
                    doctest::Contains("two hexadecimal digits"));
  const std::string numbered = to_text(parse_text("func @wide.0.0(%x: f32) {\n  yield %x\n}"));
  CHECK(to_text(parse_text(numbered)) == numbered);
  CHECK(module.locations.size() == 3);
  CHECK(module.locations[2].caller.index == 1);
  CHECK(module.sites[0].message == "index {0} is out of \"range\"\nfor {1}");
  CHECK(module.sites[0].notes.at(0).second.index == 2);
  CHECK(module.tensors[0].get(1).as<float>() == 0.0f);
  CHECK(module.tensors[0].get(1).bits == 0x80000000u);
  CHECK(module.tensors[2].get(0).bits == 0x7fc1u);
  CHECK(module.interface.params.at(1).default_text == "5");
  CHECK(module.entry == 1);
  const Function& main = module.functions[1];
  // A user's name stays; two of one name are told apart by numbers, which are not part of it.
  CHECK(main[main.body.params[0]].name == "t");
  CHECK(once.find("%x.2: f32[2, 2] = const_tensor") != std::string::npos);
  CHECK(once.find("say \\\"hi\\\"\\n") != std::string::npos);
  CHECK(once.find("constant i64 -9223372036854775808") != std::string::npos);
}

TEST_CASE("text says where it is wrong") {
  auto error = [](const char* text) -> std::string {
    try {
      parse_text(text);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "fine";
  };
  CHECK(error("func @f() {\n  %1: f32 = frobnicate\n  yield\n}") == "line 2: no operation is named frobnicate");
  CHECK(error("func @f() {\n  yield %1\n}") == "line 2: %1 is not defined");
  CHECK(error("func @f() {\n  %1: i64 = constant i64 x\n  yield\n}") == "line 2: x is not a i64");
  CHECK(error("func @f() {\n  %1: i64 = constant i64 1\n  %1: i64 = constant i64 1\n  yield\n}") ==
        "line 3: %1 is defined twice");
  CHECK(error("func @f() {\n  call {function = @g}\n  yield\n}") == "line 2: no function is named @g");
  CHECK(error("func @f() {\n  %1: str = const_str \"abc\n") != "fine");
}

TEST_CASE("the verifier accepts what is right and names what is wrong") {
  CHECK(verify(parse_text("func @f(%t: token, %n: i64, %x: f32[%n]) {\n %y: f32[%n] = mul %x, %x\n yield %t, %y\n}"))
            .empty());
  auto fault = [](const std::string& body) {
    std::vector<std::string> faults =
        verify(parse_text("func @f(%t: token, %n: i64, %m: i64, %x: f32[%n], %y: f32[%m]) {\n" + body + "\n}"));
    return faults.empty() ? std::string() : faults[0];
  };
  CHECK(fault("yield %t").empty());
  auto has = [](const std::string& text, const char* part) {
    INFO(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(has(fault("%z: f32[%n] = add %x, %y\n yield %t, %z"), "operand 1 is f32[%m], the result is f32[%n]"));
  CHECK(has(fault("%z: f64[%n] = add %x, %x\n yield %t, %z"), "wrong element type"));
  CHECK(has(fault("yield"), "token 0 is used 0 times"));
  CHECK(has(fault("%s: str = const_str \"a\"\n%u: token = print %t, %s\n%v: token = print %t, %s\nyield %v"), "token"));
  CHECK(fault("%c: bool = constant bool true\n%u: token = if %c {\n%s: str = const_str \"a\"\n"
              "%v: token = print %t, %s\nyield %v\n} {\nyield %t\n}\nyield %u")
            .empty());
  CHECK(has(fault("%c: bool = constant bool true\n%z: f32 = if %c {\n%a: f32 = constant f32 1\nyield %a\n} {\n"
                  "yield %a\n}\nyield %t"),
            "out of its scope"));
  CHECK(has(fault("%z: f32[%m] = transpose %x {ints = [0]}\nyield %t"), "not f32[%n]"));
  CHECK(has(fault("%z: f32 = reduce %x {op = any, ints = [0]}\nyield %t"), "any is not for f32"));
  CHECK(has(fault("%z: f32 = contract %x, %y {ints = [0, 0], labels = []}\nyield %t"), "label 0 has two sizes"));
  CHECK(has(fault("%i: i64 = constant i64 0\n%z: f32[%n] = update %x, %y, %i {ints = [0], mode = set}\nyield %t"),
            "step of 0"));
}

TEST_CASE("the verifier knows what fails for certain") {
  auto reshaped = [](const std::string& condition) {
    return verify(parse_text(R"(location 1 "a.tl" 1:1 0..1 in "" caller 0
site 0 "ShapeMismatch" "{0} is not {1}" hint "" @1
func @f(%t: token, %n: i64, %x: f32[2]) {
  %two: i64 = constant i64 2
  %three: i64 = constant i64 3
  %c: bool = )" + condition + R"(
  %g: f32[2] = guard %x, %c, %two, %three {site = 0}
  %e: f32[2] = exp %g
  %y: f32[3] = reshape %e
  yield %t, %y
})"));
  };
  CHECK(reshaped("eq %two, %three").empty());     // so no run gets to the reshape
  CHECK(reshaped("constant bool false").empty()); // folded
  CHECK_FALSE(reshaped("constant bool true").empty());
  CHECK_FALSE(reshaped("le %two, %three").empty());
  CHECK_FALSE(reshaped("eq %n, %three").empty()); // it may hold
}

TEST_CASE("the verifier takes a size behind a check for the size") {
  auto sum = [](const std::string& size) {
    return verify(parse_text(R"(location 1 "a.tl" 1:1 0..1 in "" caller 0
site 0 "ShapeMismatch" "{0} is not {1}" hint "" @1
func @f(%t: token, %n: i64, %m: i64, %x: f32[%n]) {
  %c: bool = eq %n, %m
  %checked: i64 = guard )" + size +
                             R"(, %c, %n, %m {site = 0}
  %y: f32[%checked] = reshape %x
  %z: f32 = contract %x, %y {ints = [0, 0], labels = []}
  yield %t, %z
})"));
  };
  auto mismatch = [](const std::vector<std::string>& faults) {
    for (const std::string& fault : faults)
      if (fault.find("two sizes") != std::string::npos) return true;
    return false;
  };
  CHECK_FALSE(mismatch(sum("%n")));
  CHECK(mismatch(sum("%m")));
}

TEST_CASE("tokens go through effects alone") {
  auto fault = [](const std::string& body) {
    std::vector<std::string> faults = verify(parse_text("func @f(%t: token, %x: f32) {\n" + body + "\n}"));
    return faults.empty() ? std::string() : faults[0];
  };
  CHECK(fault("%s: str = const_str \"a\"\n%u: token = print %t, %s\nyield %u").empty());
  CHECK(fault("%u: token = await %t\nyield %u").find("though it is no effect") != std::string::npos);
  CHECK(fault("%s: str = const_str \"a\"\n%u: str = print %s\nyield %t").find("take a token first") !=
        std::string::npos);
}

TEST_CASE("the verifier follows sizes through calls") {
  const std::string callee = "func @f(%k: i64, %x: f32[%k]) {\n  yield %x, %k\n}\n";
  auto faults = [&](const std::string& type) {
    return verify(parse_text(callee + "func @main(%t: token, %n: i64, %x: f32[%n]) {\n  %y: " + type +
                             ", %m: i64 = call %n, %x {function = @f}\n  yield %t, %y, %m\n}\n"));
  };
  CHECK(faults("f32[%n]").empty()); // the size that was passed
  CHECK(faults("f32[%m]").empty()); // the same, given back
  CHECK_FALSE(faults("f32[3]").empty());
  CHECK_FALSE(faults("f64[%n]").empty());
  // A size that the callee gives back and that is a constant in its types.
  auto given = [&](const std::string& size) {
    return verify(
        parse_text("func @g() {\n  %k: i64 = constant i64 " + size +
                   "\n  %c: f32 = constant f32 1\n  %x: f32[2] = broadcast %c {ints = []}\n  yield %x, %k\n}\n"
                   "func @main(%t: token) {\n  %y: f32[%m], %m: i64 = call {function = @g}\n  yield %t, %y\n}\n"));
  };
  CHECK(given("2").empty());
  CHECK_FALSE(given("3").empty());
}

TEST_CASE("the verifier follows carried sizes") {
  const char* loop = R"(func @f(%t: token, %n: i64, %x: f32[%n]) {
  %0: i64 = constant i64 0
  %1: i64 = constant i64 1
  %k: i64, %y: f32[%k] = for %0, %n, %1, %n, %x (%i: i64, %m: i64, %c: f32[%m]) {
    %2: i64 = add %m, %1
    %3: f32 = constant f32 0
    %4: f32[%2] = pad %c, %3, %0
    yield %2, %4
  }
  yield %t, %y
})";
  CHECK(verify(parse_text(loop)).empty());
  std::string wrong = loop;
  wrong.replace(wrong.find("yield %2, %4"), 12, "yield %m, %4");
  CHECK_FALSE(verify(parse_text(wrong)).empty());
}
