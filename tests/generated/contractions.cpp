// Sums of products: matrix products in every layout, with batches, with two summed axes, with what may be fused to
// them; sizes around the chunk of the order of contractions and the tiles of the packed product.
#include "sections.h"
#include <fmt/format.h>

namespace tl::generated {
namespace {

struct Pattern {
  const char* name;
  std::vector<std::string> a, b; // sizes
  const char* labels;            // of a's axes, then b's
  std::vector<std::string> result;
  const char* result_labels;
};

const std::vector<Pattern> kPatterns = {
    {"dot", {"k"}, {"k"}, "0, 0", {}, ""},
    {"matrix vector", {"i", "k"}, {"k"}, "0, 1, 1", {"i"}, "0"},
    {"vector matrix", {"k"}, {"k", "j"}, "1, 1, 0", {"j"}, "0"},
    {"outer", {"i"}, {"j"}, "0, 1", {"i", "j"}, "0, 1"},
    {"product", {"i", "k"}, {"k", "j"}, "0, 2, 2, 1", {"i", "j"}, "0, 1"},
    {"transposed a", {"k", "i"}, {"k", "j"}, "2, 0, 2, 1", {"i", "j"}, "0, 1"},
    {"transposed b", {"i", "k"}, {"j", "k"}, "0, 2, 1, 2", {"i", "j"}, "0, 1"},
    {"transposed result", {"i", "k"}, {"k", "j"}, "0, 2, 2, 1", {"j", "i"}, "1, 0"},
    {"batched", {"q", "i", "k"}, {"q", "k", "j"}, "0, 1, 3, 0, 3, 2", {"q", "i", "j"}, "0, 1, 2"},
    {"inner batch", {"i", "q", "k"}, {"j", "q", "k"}, "1, 0, 3, 2, 0, 3", {"q", "i", "j"}, "0, 1, 2"},
    {"two summed", {"i", "k", "q"}, {"k", "q", "j"}, "0, 2, 3, 2, 3, 1", {"i", "j"}, "0, 1"},
    {"all summed", {"i", "k"}, {"i", "k"}, "0, 1, 0, 1", {}, ""},
    {"rows with rows", {"i", "k"}, {"i", "k"}, "0, 1, 0, 1", {"i"}, "0"},
    {"summed in one alone", {"i", "k"}, {"j"}, "0, 2, 1", {"i", "j"}, "0, 1"},
    {"summed in each alone", {"i", "k"}, {"q", "j"}, "0, 2, 3, 1", {"j", "i"}, "1, 0"},
    {"two kept", {"q", "i", "k"}, {"k", "j"}, "0, 1, 3, 3, 2", {"q", "i", "j"}, "0, 1, 2"},
};

struct Sizes {
  int64_t i, j, k;
};
const std::vector<Sizes> kSizes = {{1, 1, 1},     {0, 3, 4},     {3, 4, 0},    {5, 7, 511},
                                   {5, 7, 512},   {6, 9, 513},   {17, 33, 65}, {64, 64, 64},
                                   {1, 100, 100}, {100, 1, 600}, {13, 70, 40}, {130, 70, 1030}};

std::vector<int64_t> sizes_of(const std::vector<std::string>& dims, const Sizes& s) {
  std::vector<int64_t> sizes;
  for (const std::string& d : dims)
    sizes.push_back(d == "i" ? s.i : d == "j" ? s.j : d == "k" ? s.k : 3);
  return sizes;
}

} // namespace

void contractions(Tester& tester) {
  Random random(tester.options.seed);
  for (DType type : {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::I64, DType::U8})
    for (const Pattern& p : kPatterns) {
      const bool main_type = type == DType::F32;
      const bool plain = std::string(p.name) == "product" || std::string(p.name) == "dot";
      if (!main_type && !plain && !tester.options.full) continue;
      std::string result = type_text(type, p.result);
      std::string body =
          fmt::format("  %r: {} = contract %a, %b {{ints = [{}], labels = [{}]}}\n", result, p.labels, p.result_labels);
      Case test{
          fmt::format("{} {}", p.name, name_of(type)), program({{"a", type, p.a}, {"b", type, p.b}}, body, {"r"}), {}};
      for (const Sizes& s : kSizes)
        test.inputs.push_back(
            {samples(type, sizes_of(p.a, s), -2, 2, random), samples(type, sizes_of(p.b, s), -2, 2, random)});
      tester.run(test);

      if (p.result.size() < 2 || !is_float(type)) continue;
      // A bias along the last axis, a scalar, a product with another tensor of the result's sizes, and a maximum.
      const std::string last = p.result.back();
      body += fmt::format(
          "  %bias: {0} = broadcast %v {{ints = [{1}]}}\n"
          "  %r1: {0} = add %r, %bias\n  %r2: {0} = mul %r1, %s\n  %r3: {0} = max %r2, %other\n  %r4: {0} = tanh %r3\n",
          result, p.result.size() - 1);
      Case fused{
          fmt::format("{} {} epilogue", p.name, name_of(type)),
          program({{"a", type, p.a}, {"b", type, p.b}, {"v", type, {last}}, {"s", type, {}}, {"other", type, p.result}},
                  body, {"r4"}),
          {}};
      for (const Sizes& s : {kSizes[0], kSizes[2], kSizes[5], kSizes[6], kSizes[10]})
        fused.inputs.push_back({samples(type, sizes_of(p.a, s), -1, 1, random),
                                samples(type, sizes_of(p.b, s), -1, 1, random),
                                samples(type, sizes_of({last}, s), -1, 1, random), samples(type, {}, 0, 1, random),
                                samples(type, sizes_of(p.result, s), -1, 1, random)});
      tester.run(fused);
    }
  // Operands behind views: slices with steps, a broadcast, an indexed batch.
  Case test{"product of views",
            program({{"a", DType::F32, {"q", "i", "k"}}, {"b", DType::F32, {"k"}}},
                    "  %z: i64 = constant i64 0\n  %one: i64 = constant i64 1\n  %two: i64 = constant i64 2\n"
                    "  %last: i64 = sub %k, %one\n  %half: i64 = floor_div %k, %two\n"
                    "  %m: f32[%i, %k] = index %a, %one\n"
                    "  %l: f32[%i, %half] = slice %m, %z, %last {ints = [1, -2]}\n"
                    "  %c: f32[%k, 5] = broadcast %b {ints = [0]}\n"
                    "  %d: f32[%half, 5] = slice %c, %z, %z {ints = [2, 1]}\n"
                    "  %r: f32[%i, 5] = contract %l, %d {ints = [0, 2, 2, 1], labels = [0, 1]}\n"
                    "  %lt: f32[%half, %i] = transpose %l {ints = [1, 0]}\n"
                    "  %r2: f32[%i, %i] = contract %l, %lt {ints = [0, 2, 2, 1], labels = [0, 1]}\n",
                    {"r", "r2"}),
            {}};
  for (const Sizes& s : {Sizes{1, 1, 2}, {7, 1, 33}, {40, 1, 1200}})
    test.inputs.push_back(
        {samples(DType::F32, {2, s.i, s.k}, -1, 1, random), samples(DType::F32, {s.k}, -1, 1, random)});
  tester.run(test);
}

} // namespace tl::generated
