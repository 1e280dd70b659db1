#include "abi/kernel.h"
#include <algorithm>

namespace tl {

static int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0; // as everywhere in tl: total, and a check beside it where the user wrote the division
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

int64_t SizeFormula::evaluate(KernelArgs args) const {
  if (steps.empty()) return 0;
  if (steps.size() == 1 && steps[0].op == Op::Const) return steps[0].value;
  constexpr size_t kInline = 32;
  int64_t small[kInline];
  std::vector<int64_t> large;
  int64_t* stack = small;
  if (steps.size() > kInline) {
    large.resize(steps.size());
    stack = large.data();
  }
  size_t top = 0;
  for (const Step& step : steps) {
    if (step.op == Op::Const) {
      stack[top++] = step.value;
      continue;
    }
    if (step.op == Op::Arg) {
      std::memcpy(&stack[top++], args[step.value], sizeof(int64_t));
      continue;
    }
    int64_t b = stack[--top], a = stack[top - 1];
    auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
    int64_t result = 0;
    switch (step.op) {
    case Op::Add: result = static_cast<int64_t>(ua + ub); break;
    case Op::Sub: result = static_cast<int64_t>(ua - ub); break;
    case Op::Mul: result = static_cast<int64_t>(ua * ub); break;
    case Op::CeilDiv:
      result = static_cast<int64_t>(0 - static_cast<uint64_t>(floor_div(static_cast<int64_t>(0 - ua), b)));
      break;
    case Op::FloorDiv: result = floor_div(a, b); break;
    case Op::Min: result = std::min(a, b); break;
    case Op::Max: result = std::max(a, b); break;
    case Op::Const:
    case Op::Arg: break;
    }
    stack[top - 1] = result;
  }
  return stack[0];
}

} // namespace tl
