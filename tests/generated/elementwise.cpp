// Every row of the op table for every element type that fits it: on vectors, on host scalars, and with broadcasts.
#include "abi/scalar_op.h"
#include "sections.h"
#include <fmt/format.h>

namespace tl::generated {
namespace {

std::vector<DType> types_of(TypeRule rule) {
  std::vector<DType> types;
  for (int i = 0; i < kDTypeCount; ++i) {
    DType t = static_cast<DType>(i);
    bool fits = false;
    switch (rule) {
    case TypeRule::NumSame:
    case TypeRule::OrdBool: fits = is_num(t); break;
    case TypeRule::FloatSame:
    case TypeRule::FloatBool: fits = is_float(t); break;
    case TypeRule::IntSame: fits = is_int(t); break;
    case TypeRule::BoolSame: fits = t == DType::Bool; break;
    case TypeRule::EqBool: fits = is_num(t) || t == DType::Bool || t == DType::Key; break;
    case TypeRule::Select: fits = t != DType::Device && !is_complex(t); break;
    case TypeRule::Bits:
    case TypeRule::KeyFold: fits = t == DType::Key; break;
    }
    if (fits) types.push_back(t);
  }
  return types;
}

DType operand_type(TypeRule rule, DType type, int operand) {
  if (rule == TypeRule::Select && operand == 0) return DType::Bool;
  if ((rule == TypeRule::Bits || rule == TypeRule::KeyFold) && operand == 1) return DType::I64;
  return type;
}

} // namespace

void elementwise(Tester& tester) {
  Random random(tester.options.seed);
  int turn = 0;
  for (int o = 0; o < kScalarOpCount; ++o) {
    const ScalarOp op = static_cast<ScalarOp>(o);
    const ScalarOpInfo& row = info(op);
    for (DType type : types_of(row.rule)) {
      ++turn;
      const bool broadcasts = row.arity > 1 && (tester.options.full || type == DType::F32 || type == DType::I32 ||
                                                row.rule == TypeRule::BoolSame);
      std::vector<Operand> operands;
      std::string vectors, scalars, mixed_a, mixed_b, stretched, stretches;
      for (int i = 0; i < row.arity; ++i) {
        DType t = operand_type(row.rule, type, i);
        operands.push_back({fmt::format("x{}", i), t, {"n"}});
        auto append = [&](std::string& text, const std::string& name) { text += (text.empty() ? "%" : ", %") + name; };
        append(vectors, fmt::format("x{}", i));
        append(scalars, fmt::format("s{}", i));
        append(mixed_a, fmt::format("{}{}", i == 0 ? "x" : "s", i));
        append(mixed_b, fmt::format("{}{}", i == row.arity - 1 ? "x" : "s", i));
        // A column, a row, a column.
        append(stretched, fmt::format("b{}", i));
        if (broadcasts)
          stretches += i == 1 ? fmt::format("  %b1: {0}[%m, %n] = broadcast %x1 {{ints = [1]}}\n", name_of(t))
                              : fmt::format("  %b{0}: {1}[%m, %n] = broadcast %c{0} {{ints = [0]}}\n", i, name_of(t));
      }
      for (int i = 0; i < row.arity; ++i)
        operands.push_back({fmt::format("s{}", i), operand_type(row.rule, type, i), {}});
      for (int i = 0; broadcasts && i < row.arity; i += 2)
        operands.push_back({fmt::format("c{}", i), operand_type(row.rule, type, i), {"m"}});
      const std::string_view result = name_of(result_type(op, type));
      std::string body =
          fmt::format("  %r: {0}[%n] = {1} {2}\n  %h: {0} = {1} {3}\n", result, row.name, vectors, scalars);
      std::vector<std::string> results{"r", "h"};
      if (broadcasts) {
        body += fmt::format("  %ma: {0}[%n] = {1} {2}\n  %mb: {0}[%n] = {1} {3}\n{4}  %br: {0}[%m, %n] = {1} {5}\n",
                            result, row.name, mixed_a, mixed_b, stretches, stretched);
        results.insert(results.end(), {"ma", "mb", "br"});
      }
      Case test{fmt::format("{} {}", row.name, name_of(type)), program(operands, body, results), {}};
      // Odd lengths around the vector widths, in turn; one with all pairs of special values.
      std::vector<int64_t> lengths{0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 70};
      if (tester.options.full) {
        lengths.clear();
        for (int64_t n = 0; n <= 70; ++n)
          lengths.push_back(n);
      } else {
        std::vector<int64_t> some{lengths[static_cast<size_t>(turn) % lengths.size()],
                                  lengths[static_cast<size_t>(turn * 5 + 3) % lengths.size()]};
        lengths = some;
      }
      lengths.push_back(701);
      for (int64_t n : lengths) {
        std::vector<Argument> inputs;
        const int64_t specials = n > 100 ? (row.arity == 1 ? 40 : 400) : (turn + n) % 3 ? 0 : n;
        auto operand = [&](int i, std::vector<int64_t> dims, int64_t special_count, int64_t repeat) {
          inputs.push_back(
              mixed(operand_type(row.rule, type, i), std::move(dims), row.lo, row.hi, special_count, repeat, random));
        };
        for (int i = 0; i < row.arity; ++i)
          operand(i, {n}, specials, i == 0 ? 1 : 17);
        for (int i = 0; i < row.arity; ++i)
          operand(i, {}, n % 2, 1 + static_cast<int64_t>(random() % 17));
        const int64_t m = n > 100 ? 3 : n % 5;
        for (int i = 0; broadcasts && i < row.arity; i += 2)
          operand(i, {m}, 0, 1);
        test.inputs.push_back(std::move(inputs));
      }
      tester.run(test);
    }
  }
}

void conversions(Tester& tester) {
  Random random(tester.options.seed);
  for (int f = 0; f < kDTypeCount; ++f) {
    const DType from = static_cast<DType>(f);
    if (!has_zero(from) || is_complex(from)) continue;
    std::string body;
    std::vector<std::string> results;
    for (int t = 0; t < kDTypeCount; ++t) {
      const DType to = static_cast<DType>(t);
      if (!has_zero(to) || is_complex(to) || to == from) continue;
      body += fmt::format("  %r{0}: {1}[%n] = convert %x\n  %h{0}: {1} = convert %s\n", t, name_of(to));
      results.push_back(fmt::format("r{}", t));
      results.push_back(fmt::format("h{}", t));
    }
    Case test{fmt::format("convert from {}", name_of(from)),
              program({{"x", from, {"n"}}, {"s", from, {}}}, body, results),
              {}};
    for (int64_t n : {0, 1, 13, 500}) {
      double range = n == 13 ? 300 : n == 1 ? 1e30 : 1e5;
      HostTensor x = mixed(from, {n}, -range, range, n / 4, 1, random);
      test.inputs.push_back({x, mixed(from, {}, -range, range, n % 2, 1, random)});
    }
    tester.run(test);
  }
}

} // namespace tl::generated
