#include "backend/kernel/kernel_ir.h"
#include "backend/kernel/kernel_ops.h"
#include "ir/graph/op_info.h"
#include "ir/graph/text_scalar.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>

namespace tl::kir {
namespace {

constexpr std::string_view kNames[] = {"const",     "arg",          "load",     "store",
                                       "add",       "sub",          "mul",      "neg",
                                       "div",       "floor_div",    "mod",      "udiv",
                                       "urem",      "fma",          "sqrt",     "abs",
                                       "floor",     "ceil",         "round",    "trunc",
                                       "copy_sign", "and",          "or",       "xor",
                                       "not",       "shl",          "lshr",     "ashr",
                                       "mul_hi",    "eq",           "ne",       "lt",
                                       "le",        "select",       "convert",  "bitcast",
                                       "round16",   "for",          "while",    "if",
                                       "reduce",    "reduce_chunk", "contract", "copy_transposed",
                                       "scatter",   "check"};
static_assert(std::size(kNames) == static_cast<size_t>(KOp::Check) + 1);

std::string_view name_of(ParamKind kind) {
  switch (kind) {
  case ParamKind::Input: return "input";
  case ParamKind::Size: return "size";
  case ParamKind::Output: return "output";
  case ParamKind::Shared: return "shared";
  case ParamKind::Local: return "local";
  }
  return "";
}

class Printer {
public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel) {}

  std::string print() {
    out_ = "kernel " + kernel_.name + "(";
    for (size_t i = 0; i < kernel_.params.size(); ++i)
      out_ += (i ? ", " : "") + kernel_.params[i].name;
    out_ += ")\n";
    for (size_t i = 0; i < kernel_.params.size(); ++i) {
      const Param& p = kernel_.params[i];
      out_ += fmt::format("  ${}: {} {}", i, name_of(p.kind), tl::name_of(p.dtype));
      if (p.kind == ParamKind::Shared || p.kind == ParamKind::Local) out_ += fmt::format("[{}]", to_text(p.count));
      if (p.exclusive) out_ += " exclusive";
      if (p.of_block) out_ += " of a block";
      out_ += "\n";
    }
    if (kernel_.is_gemm) {
      const Gemm& g = kernel_.gemm;
      out_ += fmt::format("  gemm {} ${} ${} -> ${}", tl::name_of(g.type), g.a, g.b, g.c);
      if (!g.is_plain) out_ += fmt::format(" batch axes = {}, sum axes = {}", g.batch_axes, g.sum_axes);
      if (g.column_axes > 0) out_ += fmt::format(", column axes = {}", g.column_axes);
      if (g.row_axes > 0) out_ += fmt::format(", row axes = {}", g.row_axes);
      if (g.close_batches) out_ += ", close batches";
      if (g.dots) out_ += ", dots";
      if (!g.b_columns_evenly) out_ += ", b by its axes";
      if (!g.a_sums_evenly) out_ += ", a by its axes";
      out_ += "\n  header ";
      block(g.header, 1);
      out_ += "\n  epilogue ";
      block(g.epilogue, 1);
      out_ += "\n";
    }
    for (const Phase& phase : kernel_.phases) {
      out_ += fmt::format("  phase tiles = {}, grain = {} ", to_text(phase.tiles), to_text(phase.grain));
      if (!phase.row.steps.empty()) out_ += fmt::format("row = {} ", to_text(phase.row));
      if (phase.shares_columns) out_ += "shares columns ";
      block(phase.body, 1);
      out_ += "\n";
    }
    return std::move(out_);
  }

private:
  std::string list(const std::vector<ValueId>& ids) const {
    std::string text;
    for (ValueId id : ids)
      text += fmt::format("{}%{}", text.empty() ? "" : ", ", id.index);
    return text;
  }
  std::string typed(const std::vector<ValueId>& ids) const {
    std::string text;
    for (ValueId id : ids) {
      std::string type = id.index < kernel_.types.size() ? std::string(tl::name_of(kernel_.types[id.index])) : "?";
      text += fmt::format("{}%{}: {}", text.empty() ? "" : ", ", id.index, type);
    }
    return text;
  }
  void block(const Block& b, int depth) {
    out_ += "(" + typed(b.params) + ") {\n";
    std::string indent(static_cast<size_t>(depth + 1) * 2, ' ');
    for (const Instr& instr : b.instrs) {
      out_ += indent;
      print(instr, depth + 1);
      out_ += "\n";
    }
    if (!b.yields.empty()) out_ += indent + "yield " + list(b.yields) + "\n";
    out_ += std::string(static_cast<size_t>(depth) * 2, ' ') + "}";
  }
  void print(const Instr& instr, int depth) {
    if (!instr.results.empty()) out_ += typed(instr.results) + " = ";
    out_ += name_of(instr.op);
    if (instr.vector) out_ += " vector";
    switch (instr.op) {
    case KOp::Const:
      out_ += " " + ir::scalar_text(instr.dtype, instr.imm);
      // The text is a key: two NaNs, or zeros of both signs, must not look alike.
      if (is_float(instr.dtype)) out_ += fmt::format(" 0x{:x}", instr.imm.bits);
      break;
    case KOp::Arg:
    case KOp::Load:
    case KOp::Store: out_ += fmt::format(" ${}", instr.param); break;
    case KOp::Reduce:
    case KOp::ReduceChunk:
      out_ += fmt::format(" {} {}", tl::name_of(instr.reduce), tl::name_of(instr.dtype));
      if (instr.at_most > 0) out_ += fmt::format(" at_most {}", instr.at_most);
      break;
    case KOp::Contract:
    case KOp::Round16: out_ += fmt::format(" {}", tl::name_of(instr.dtype)); break;
    case KOp::CopyTransposed: out_ += fmt::format(" ${} ${}", instr.param, instr.source); break;
    case KOp::Scatter:
      out_ += fmt::format(" ${} stage {} ${}", instr.param, static_cast<int>(instr.stage), instr.source);
      break;
    case KOp::Check: out_ += fmt::format(" site {}", instr.site); break;
    default: break;
    }
    if (!instr.operands.empty()) out_ += " " + list(instr.operands);
    for (const Block& b : instr.blocks) {
      out_ += " ";
      block(b, depth);
    }
  }

  const Kernel& kernel_;
  std::string out_;
};

} // namespace

std::string_view name_of(KOp op) { return kNames[static_cast<size_t>(op)]; }

std::string to_text(const SizeFormula& formula) {
  using Op = SizeFormula::Op;
  std::vector<std::string> stack;
  for (const SizeFormula::Step& step : formula.steps) {
    if (step.op == Op::Const)
      stack.push_back(std::to_string(step.value));
    else if (step.op == Op::Arg)
      stack.push_back(fmt::format("arg{}", step.value));
    else {
      if (stack.size() < 2) return "malformed";
      std::string b = stack.back();
      stack.pop_back();
      std::string& a = stack.back();
      switch (step.op) {
      case Op::Add: a = fmt::format("({} + {})", a, b); break;
      case Op::Sub: a = fmt::format("({} - {})", a, b); break;
      case Op::Mul: a = fmt::format("{} * {}", a, b); break;
      case Op::CeilDiv: a = fmt::format("ceil({} / {})", a, b); break;
      case Op::FloorDiv: a = fmt::format("floor({} / {})", a, b); break;
      case Op::Min: a = fmt::format("min({}, {})", a, b); break;
      default: a = fmt::format("max({}, {})", a, b); break;
      }
    }
  }
  return stack.empty() ? "0" : stack.back();
}

std::string to_text(const Kernel& kernel) { return Printer(kernel).print(); }

bool is_pure(KOp op) {
  switch (op) {
  case KOp::Store:
  case KOp::For:
  case KOp::While:
  case KOp::If:
  case KOp::Reduce:
  case KOp::ReduceChunk:
  case KOp::Contract:
  case KOp::CopyTransposed:
  case KOp::Scatter:
  case KOp::Check:
  case KOp::Load: return false;
  case KOp::Const:
  case KOp::Arg:
  case KOp::Add:
  case KOp::Sub:
  case KOp::Mul:
  case KOp::Neg:
  case KOp::Div:
  case KOp::FloorDivInt:
  case KOp::ModInt:
  case KOp::UDiv:
  case KOp::URem:
  case KOp::Fma:
  case KOp::Sqrt:
  case KOp::Abs:
  case KOp::Floor:
  case KOp::Ceil:
  case KOp::RoundEven:
  case KOp::Trunc:
  case KOp::CopySign:
  case KOp::And:
  case KOp::Or:
  case KOp::Xor:
  case KOp::Not:
  case KOp::Shl:
  case KOp::LShr:
  case KOp::AShr:
  case KOp::MulHiU32:
  case KOp::Eq:
  case KOp::Ne:
  case KOp::Lt:
  case KOp::Le:
  case KOp::Select:
  case KOp::Convert:
  case KOp::Bitcast:
  case KOp::Round16: return true;
  }
  throw std::logic_error("kernel: no operation");
}

DType value_type(DType memory) {
  if (memory == DType::F16 || memory == DType::BF16) return DType::F32;
  if (memory == DType::Device) return DType::I64;
  return memory == DType::Key ? DType::U64 : memory;
}

} // namespace tl::kir
