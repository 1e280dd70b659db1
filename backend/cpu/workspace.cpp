#include "backend/cpu/workspace.h"
#include <fmt/format.h>
#include <stdexcept>

namespace tl::cpu {
using Op = SizeFormula::Op;

std::optional<int64_t> constant_of(const SizeFormula& f) {
  if (f.steps.empty()) return 0;
  if (f.steps.size() == 1 && f.steps[0].op == Op::Const) return f.steps[0].value;
  return std::nullopt;
}

namespace {

SizeFormula join(SizeFormula x, const SizeFormula& y, Op op) {
  auto a = constant_of(x), b = constant_of(y);
  if (a && b) {
    SizeFormula both{{{Op::Const, *a}, {Op::Const, *b}, {op}}};
    return SizeFormula::constant(both.evaluate(nullptr));
  }
  if (x.steps.empty()) x = number(0);
  if (y.steps.empty())
    x.steps.push_back({Op::Const, 0});
  else
    x.steps.insert(x.steps.end(), y.steps.begin(), y.steps.end());
  x.steps.push_back({op});
  return x;
}

} // namespace

SizeFormula number(int64_t value) { return SizeFormula::constant(value); }
bool is_number(const SizeFormula& formula, int64_t value) { return constant_of(formula) == value; }

SizeFormula operator+(SizeFormula x, const SizeFormula& y) {
  if (is_number(x, 0)) return y;
  if (is_number(y, 0)) return x;
  return join(std::move(x), y, Op::Add);
}
SizeFormula operator-(SizeFormula x, const SizeFormula& y) { return join(std::move(x), y, Op::Sub); }
SizeFormula operator*(SizeFormula x, const SizeFormula& y) {
  if (is_number(x, 0) || is_number(y, 0)) return number(0);
  if (is_number(x, 1)) return y;
  if (is_number(y, 1)) return x;
  return join(std::move(x), y, Op::Mul);
}
SizeFormula ceil_div(SizeFormula x, const SizeFormula& y) { return join(std::move(x), y, Op::CeilDiv); }
SizeFormula floor_div(SizeFormula x, const SizeFormula& y) { return join(std::move(x), y, Op::FloorDiv); }
SizeFormula min(SizeFormula x, const SizeFormula& y) { return join(std::move(x), y, Op::Min); }
SizeFormula max(SizeFormula x, const SizeFormula& y) { return join(std::move(x), y, Op::Max); }

SizeFormula workspace_offset(const kir::Kernel& kernel, kir::ParamKind kind, size_t param) {
  SizeFormula offset = number(0);
  for (size_t i = 0; i < param; ++i) {
    const kir::Param& p = kernel.params[i];
    if (p.kind != kind || p.of_block) continue;
    offset = std::move(offset) + ceil_div(p.count * number(size_of(p.dtype)), number(64)) * number(64);
  }
  return offset;
}

uint32_t argument_index(const kir::Kernel& kernel, uint32_t param) {
  uint32_t index = 0;
  for (uint32_t i = 0; i < param; ++i)
    if (kernel.params[i].kind != kir::ParamKind::Shared && kernel.params[i].kind != kir::ParamKind::Local) ++index;
  return index;
}

SizeFormula formula_of(const kir::Kernel& kernel, const kir::Block& block, kir::ValueId value) {
  for (const kir::Instr& instr : block.instrs) {
    if (instr.results.empty() || instr.results[0] != value) continue;
    auto operand = [&](size_t i) { return formula_of(kernel, block, instr.operands[i]); };
    switch (instr.op) {
    case kir::KOp::Const: return number(instr.imm.as<int64_t>());
    case kir::KOp::Arg: return SizeFormula{{{Op::Arg, argument_index(kernel, instr.param)}}};
    case kir::KOp::Add: return operand(0) + operand(1);
    case kir::KOp::Sub: return operand(0) - operand(1);
    case kir::KOp::Mul: return operand(0) * operand(1);
    case kir::KOp::UDiv:
    case kir::KOp::FloorDivInt: return floor_div(operand(0), operand(1));
    default: break;
    }
    break;
  }
  throw std::logic_error(fmt::format("internal error: kernel {}: value {} of the header is no formula in the sizes",
                                     kernel.name, value.index));
}

} // namespace tl::cpu
