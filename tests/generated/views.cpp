// Views, indexing and updates, alone and fused with arithmetic, on several element types.
#include "sections.h"
#include <fmt/format.h>

namespace tl::generated {
namespace {

// x: T[a, b] and v: T[b], w: T[a], i: i64[p] in [0, min(a, b)); T stands for the element type. One result, %r.
struct Snippet {
  const char* name;
  const char* body;
};

constexpr const char* kConstants =
    "  %z: i64 = constant i64 0\n  %one: i64 = constant i64 1\n  %two: i64 = constant i64 2\n"
    "  %alast: i64 = sub %a, %one\n  %blast: i64 = sub %b, %one\n"
    "  %bhalf: i64 = floor_div %b, %two\n  %ahalf: i64 = floor_div %a, %two\n"
    "  %aplus: i64 = add %a, %two\n  %bplus: i64 = add %b, %two\n"
    "  %atwice: i64 = mul %a, %two\n  %btwice: i64 = mul %b, %two\n  %ab: i64 = mul %a, %b\n"
    "  %aplusb: i64 = add %a, %b\n";

const std::vector<Snippet> kSnippets = {
    {"transpose", "  %r: T[%b, %a] = transpose %x {ints = [1, 0]}\n"},
    {"broadcast row", "  %r: T[%a, %b] = broadcast %v {ints = [1]}\n"},
    {"broadcast column", "  %r: T[%a, %b] = broadcast %w {ints = [0]}\n"},
    {"broadcast between", "  %r: T[%a, 3, %b] = broadcast %x {ints = [0, 2]}\n"},
    {"broadcast a size of one",
     "  %e: T[%a, 1] = slice %x, %z, %z {ints = [1, 1]}\n  %r: T[%a, %b] = broadcast %e {ints = [0, 1]}\n"},
    {"reshape", "  %r: T[%ab] = reshape %x\n"},
    {"reshape of a transpose", "  %y: T[%b, %a] = transpose %x {ints = [1, 0]}\n  %r: T[%ab] = reshape %y\n"},
    {"slice", "  %r: T[%ahalf, %bhalf] = slice %x, %z, %one {ints = [2, 1]}\n"},
    {"reverse", "  %r: T[%a, %b] = slice %x, %alast, %blast {ints = [-1, -1]}\n"},
    {"slice back by two", "  %r: T[%a, %bhalf] = slice %x, %z, %blast {ints = [1, -2]}\n"},
    {"pad", "  %c: T = constant T 1\n  %r: T[%aplus, %bplus] = pad %x, %c, %one, %two\n"},
    {"concat rows", "  %r: T[%atwice, %b] = concat %x, %x {ints = [0]}\n"},
    {"concat columns",
     "  %y: T[%a, %b] = broadcast %v {ints = [1]}\n  %r: T[%a, %btwice] = concat %x, %y {ints = [1]}\n"},
    {"concat vectors", "  %r: T[%aplusb] = concat %w, %v {ints = [0]}\n"},
    {"index a row", "  %r: T[%b] = index %x, %alast\n"},
    {"index an element", "  %r: T = index %x, %alast, %bhalf\n"},
    {"gather rows", "  %r: T[%p, %b] = gather %x, %i {ints = [0]}\n"},
    {"gather columns", "  %r: T[%a, %p] = gather %x, %i {ints = [1]}\n"},
    {"gather by a matrix",
     "  %ii: i64[%p, 2] = broadcast %i {ints = [0]}\n  %r: T[%p, 2, %b] = gather %x, %ii {ints = [0]}\n"},
    {"update a slice", "  %y: T[%ahalf, %bhalf] = slice %x, %z, %one {ints = [1, 2]}\n"
                       "  %r: T[%a, %b] = update %x, %y, %one, %z {mode = set, ints = [1, 1]}\n"},
    {"update backwards", "  %y: T[%a, %bhalf] = slice %x, %z, %z {ints = [1, 1]}\n"
                         "  %r: T[%a, %b] = update %x, %y, %alast, %blast {mode = set, ints = [-1, -2]}\n"},
    {"update by itself backwards", "  %y: T[%b, %a] = transpose %x {ints = [1, 0]}\n"
                                   "  %r: T[%b, %a] = update %y, %y, %blast, %alast {mode = set, ints = [-1, -1]}\n"},
    {"update an element", "  %e: T = index %v, %z\n  %r: T[%a, %b] = update %x, %e, %alast, %z {mode = set}\n"},
    {"scatter",
     "  %y: T[%p, %b] = gather %x, %i {ints = [0]}\n  %y2: T[%p, %b] = slice %y, %z, %blast {ints = [1, -1]}\n"
     "  %r: T[%a, %b] = scatter %x, %i, %y2 {mode = set}\n"},
    {"map", "  %r: T[%b, %a] = map (%k: i64, %l: i64) {\n    %e: T = index %x, %l, %k\n    %f: T = index %v, %k\n"
            "    %g: bool = eq %e, %f\n    %h: T = where %g, %e, %f\n    yield %h\n  }\n"},
    {"where of views",
     "  %y: T[%b, %a] = transpose %x {ints = [1, 0]}\n  %u: T[%b, %a] = slice %y, %blast, %z {ints = [-1, 1]}\n"
     "  %q: bool[%b, %a] = eq %y, %u\n  %g: T[%b, %a] = broadcast %w {ints = [1]}\n  %r: T[%b, %a] = where %q, %g, "
     "%u\n"},
    {"iota", "  %n: i64[%b] = iota\n  %s: T = index %v, %z\n  %c: T[%b] = convert %n\n  %g: bool[%b] = eq %c, %v\n  "
             "%r: T[%b] = where %g, %c, %s\n"},
};

// Numbers only.
const std::vector<Snippet> kNumberSnippets = {
    {"add to a slice", "  %y: T[%ahalf, %bhalf] = slice %x, %z, %one {ints = [1, 2]}\n"
                       "  %r: T[%a, %b] = update %x, %y, %one, %z {mode = add, ints = [1, 1]}\n"},
    {"add to an element", "  %e: T = index %v, %z\n  %r: T[%a, %b] = update %x, %e, %alast, %z {mode = add}\n"},
    {"scatter add",
     "  %y: T[%p, %b] = gather %x, %i {ints = [0]}\n  %r: T[%a, %b] = scatter %x, %i, %y {mode = add}\n"},
    {"scatter add of a vector",
     "  %y: T[%p] = gather %w, %i {ints = [0]}\n  %r: T[%a] = scatter %w, %i, %y {mode = add}\n"},
    {"arithmetic before and after", "  %y: T[%a, %b] = mul %x, %x\n  %u: T[%b, %a] = transpose %y {ints = [1, 0]}\n"
                                    "  %g: T[%b, %a] = broadcast %w {ints = [1]}\n  %r: T[%b, %a] = sub %u, %g\n"},
    {"sum along a transpose", "  %d: f64[%a, %b] = convert %x\n  %y: f64[%b, %a] = transpose %d {ints = [1, 0]}\n  %q: "
                              "f64[%b] = reduce %y {op = sum, ints = [1]}\n  %r: T[%b] = convert %q\n"},
    {"normalised rows",
     "  %d: f32[%a, %b] = convert %x\n  %m: f32[%a] = reduce %d {op = max, ints = [1]}\n  %mm: f32[%a, %b] = broadcast "
     "%m {ints = [0]}\n"
     "  %e: f32[%a, %b] = sub %d, %mm\n  %f: f32[%a, %b] = exp %e\n  %s: f32[%a] = reduce %f {op = sum, ints = [1]}\n"
     "  %ss: f32[%a, %b] = broadcast %s {ints = [0]}\n  %r: f32[%a, %b] = div %f, %ss\n"},
    {"two maps apart", "  %y: T[%a, %b] = add %x, %x\n  %e: T = index %y, %alast, %z\n  %u: T[%a, %b] = sub %x, %e\n  "
                       "%r: T[%a, %b] = mul %u, %y\n"},
};

std::string with_type(std::string text, DType type) {
  // T as a word of its own.
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    bool word = (i && (isalnum(text[i - 1]) || text[i - 1] == '%' || text[i - 1] == '_')) ||
                (i + 1 < text.size() && (isalnum(text[i + 1]) || text[i + 1] == '_'));
    if (text[i] == 'T' && !word)
      out += name_of(type);
    else
      out += text[i];
  }
  return out;
}

void snippet(Tester& tester, const Snippet& s, DType type, Random& random) {
  std::string body = s.body;
  // The literal 1 of bool is `true`.
  if (type == DType::Bool)
    for (size_t at; (at = body.find("constant T 1")) != std::string::npos;)
      body.replace(at, 12, "constant T true");
  Case test{fmt::format("{} {}", s.name, name_of(type)),
            program({{"x", type, {"a", "b"}}, {"v", type, {"b"}}, {"w", type, {"a"}}, {"i", DType::I64, {"p"}}},
                    with_type(kConstants + body, type), {"r"}),
            {}};
  struct Sizes {
    int64_t a, b, p;
  };
  for (Sizes n : {Sizes{1, 1, 1}, {2, 3, 0}, {7, 33, 9}, {64, 17, 100}, {3, 1030, 2}, {130, 130, 61}}) {
    HostTensor i = HostTensor::make(DType::I64, {n.p});
    for (int64_t k = 0; k < n.p; ++k)
      i.set(k, Scalar::of(static_cast<int64_t>(random() % static_cast<uint64_t>(std::min(n.a, n.b)))));
    test.inputs.push_back({samples(type, {n.a, n.b}, -3, 3, random), samples(type, {n.b}, -3, 3, random),
                           samples(type, {n.a}, -3, 3, random), i});
  }
  tester.run(test);
}

} // namespace

void views(Tester& tester) {
  Random random(tester.options.seed);
  const std::vector<DType> all{DType::F32, DType::Bool, DType::I8,   DType::F16,
                               DType::I64, DType::F64,  DType::BF16, DType::U16};
  size_t turn = 0;
  auto run = [&](const Snippet& s, bool numbers) {
    for (DType type : all) {
      // f32 always, the others in turn.
      ++turn;
      if (!tester.options.full && type != DType::F32 && turn % 3) continue;
      if (type == DType::Bool && (numbers || std::string(s.name) == "iota")) continue;
      snippet(tester, s, type, random);
    }
  };
  for (const Snippet& s : kSnippets)
    run(s, false);
  for (const Snippet& s : kNumberSnippets)
    run(s, true);
  // Empty tensors in every view that allows them.
  Case empty{
      "views of nothing",
      program(
          {{"x", DType::F32, {"a", "b"}}, {"v", DType::F32, {"b"}}},
          "  %t1: f32[%b, %a] = transpose %x {ints = [1, 0]}\n  %c: f32 = constant f32 2\n  %z: i64 = constant i64 0\n "
          " %one: i64 = constant i64 1\n"
          "  %p: i64 = add %a, %one\n  %q: i64 = add %b, %one\n  %t2: f32[%p, %q] = pad %x, %c, %one, %z\n"
          "  %t3: f32[%a, %b] = broadcast %v {ints = [1]}\n  %two: i64 = constant i64 2\n  %aa: i64 = mul %a, %two\n"
          "  %t4: f32[%aa, %b] = concat %x, %t3 {ints = [0]}\n  %n: i64 = mul %a, %b\n  %t5: f32[%n] = reshape %x\n",
          {"t1", "t2", "t3", "t4", "t5"}),
      {}};
  for (std::vector<int64_t> n : {std::vector<int64_t>{0, 0}, {0, 3}, {3, 0}, {1, 1}})
    empty.inputs.push_back({samples(DType::F32, n, -1, 1, random), samples(DType::F32, {n[1]}, -1, 1, random)});
  tester.run(empty);
}

} // namespace tl::generated
