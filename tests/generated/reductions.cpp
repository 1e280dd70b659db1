// Reductions and scans over every set of axes, with lengths around the lanes and chunks of the order of sums.
#include "ir/graph/op_info.h"
#include "sections.h"
#include <fmt/format.h>

namespace tl::generated {
namespace {

std::vector<DType> types_of(ReduceOp op) {
  switch (op) {
  case ReduceOp::Any:
  case ReduceOp::All: return {DType::Bool};
  case ReduceOp::Sum:
  case ReduceOp::Prod: return {DType::F32, DType::F64, DType::I64, DType::I32};
  default: return {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I64, DType::I32, DType::U8};
  }
}

} // namespace

void reductions(Tester& tester) {
  Random random(tester.options.seed);
  for (int o = 0; o <= static_cast<int>(ReduceOp::ArgMax); ++o) {
    const ReduceOp op = static_cast<ReduceOp>(o);
    const std::string name(name_of(op));
    for (DType type : types_of(op)) {
      const bool position = op == ReduceOp::ArgMin || op == ReduceOp::ArgMax;
      const std::string_view t = name_of(type), r = name_of(position ? DType::I64 : type);
      // A matrix along each axis and both; with a mask; with a computed element; and a row used on its elements.
      std::string body = fmt::format("  %all: {1} = reduce %x {{op = {2}, ints = [0, 1]}}\n"
                                     "  %rows: {1}[%a] = reduce %x {{op = {2}, ints = [1]}}\n"
                                     "  %columns: {1}[%b] = reduce %x {{op = {2}, ints = [0]}}\n"
                                     "  %masked: {1}[%a] = reduce %x, %m {{op = {2}, ints = [1]}}\n"
                                     "  %masked_all: {1} = reduce %x, %m {{op = {2}, ints = [0, 1]}}\n",
                                     t, r, name);
      std::vector<std::string> results{"all", "rows", "columns", "masked", "masked_all"};
      if (is_num(type)) {
        body += fmt::format("  %xx: {0}[%a, %b] = mul %x, %x\n"
                            "  %computed: {1}[%a] = reduce %xx {{op = {2}, ints = [1]}}\n",
                            t, r, name);
        results.push_back("computed");
        if (!position) {
          body += fmt::format("  %stretched: {0}[%a, %b] = broadcast %rows {{ints = [0]}}\n"
                              "  %difference: {0}[%a, %b] = sub %x, %stretched\n",
                              t);
          results.push_back("difference");
        }
      }
      Case test{fmt::format("{} {}", name, t),
                program({{"x", type, {"a", "b"}}, {"m", DType::Bool, {"a", "b"}}}, body, results),
                {}};
      std::vector<std::vector<int64_t>> shapes{{0, 5},    {3, 0},    {1, 1},     {2, 31},   {3, 32},
                                               {2, 33},   {33, 2},   {70, 70},   {1, 4095}, {1, 4096},
                                               {2, 4097}, {4097, 2}, {2, 10000}, {300, 70}};
      for (const auto& dims : shapes) {
        // Magnitudes apart, so that another order of sums shows; products stay finite.
        const double range = op == ReduceOp::Prod && is_float(type) ? 1.5 : 100;
        const bool special = dims[1] == 33;
        test.inputs.push_back(
            {mixed(type, dims, -range, range, special ? 40 : 0, 1, random), samples(DType::Bool, dims, 0, 1, random)});
      }
      tester.run(test);

      // Three axes.
      body = fmt::format("  %middle: {0}[%a, %c] = reduce %x {{op = {1}, ints = [1]}}\n"
                         "  %ends: {0}[%b] = reduce %x {{op = {1}, ints = [0, 2]}}\n"
                         "  %last: {0}[%a] = reduce %x {{op = {1}, ints = [1, 2]}}\n"
                         "  %first: {0}[%c] = reduce %x {{op = {1}, ints = [0, 1]}}\n",
                         r, name);
      Case cube{fmt::format("{} {} three axes", name, t),
                program({{"x", type, {"a", "b", "c"}}}, body, {"middle", "ends", "last", "first"}),
                {}};
      for (std::vector<int64_t> dims :
           {std::vector<int64_t>{3, 33, 17}, {1, 1, 1}, {2, 0, 3}, {33, 4, 130}, {2, 4097, 3}})
        cube.inputs.push_back({samples(type, dims, -2, 2, random)});
      tester.run(cube);
    }
  }
  for (const char* op : {"sum", "prod"})
    for (DType type : {DType::F32, DType::F64, DType::I64}) {
      const std::string_view t = name_of(type);
      Case test{fmt::format("scan {} {}", op, t),
                program({{"x", type, {"a", "b"}}},
                        fmt::format("  %r: {0}[%a, %b] = scan %x {{op = {1}, ints = [1]}}\n  %c: {0}[%a, %b] = scan %x "
                                    "{{op = {1}, ints = [0]}}\n",
                                    t, op),
                        {"r", "c"}),
                {}};
      for (std::vector<int64_t> dims : {std::vector<int64_t>{0, 3}, {3, 0}, {1, 1}, {5, 33}, {40, 300}})
        test.inputs.push_back({samples(type, dims, -1.5, 1.5, random)});
      tester.run(test);
    }
}

} // namespace tl::generated
