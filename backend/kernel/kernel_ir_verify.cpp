#include "abi/factors.h"
#include "backend/kernel/kernel_ops.h"
#include <fmt/format.h>

namespace tl::kir {
namespace {

// Walks a kernel once and keeps the first fault.
class Verifier {
public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel), defined_(kernel.types.size(), 0) {}

  std::string run() {
    bool workspace = false;
    for (const Param& p : kernel_.params) {
      bool is_workspace = p.kind == ParamKind::Shared || p.kind == ParamKind::Local;
      if (workspace && !is_workspace) fail("an argument after a workspace");
      workspace = is_workspace;
      if (p.kind == ParamKind::Size && p.dtype != DType::I64) fail("a size that is not i64");
    }
    if (kernel_.is_gemm)
      gemm();
    else if (kernel_.phases.empty())
      fail("no phase");
    for (const Phase& phase : kernel_.phases) {
      if (phase.body.params.size() != 1 || !phase.body.yields.empty())
        fail("a phase takes the tile and yields nothing");
      block(phase.body, {DType::I64});
      formula(phase.tiles);
      formula(phase.grain);
      if (!phase.row.steps.empty()) formula(phase.row);
    }
    return fault_;
  }

private:
  void fail(const std::string& what) {
    if (fault_.empty()) fault_ = fmt::format("{}: {}", kernel_.name, what);
  }
  void require(bool ok, const Instr& instr, std::string_view what) {
    if (!ok) fail(fmt::format("{}: {}", name_of(instr.op), what));
  }

  void formula(const SizeFormula& f) {
    int depth = 0;
    for (const SizeFormula::Step& step : f.steps) {
      bool leaf = step.op == SizeFormula::Op::Const || step.op == SizeFormula::Op::Arg;
      if (step.op == SizeFormula::Op::Arg &&
          (step.value < 0 || step.value >= static_cast<int64_t>(kernel_.params.size()) ||
           kernel_.params[static_cast<size_t>(step.value)].kind != ParamKind::Size))
        fail("a formula over what is not a size");
      depth += leaf ? 1 : -1;
      if (depth < 1) fail("a malformed formula");
    }
    if (depth > 1) fail("a malformed formula");
  }

  void gemm() {
    const Gemm& g = kernel_.gemm;
    for (uint32_t p : {g.a, g.b, g.c})
      if (p >= kernel_.params.size()) return fail("gemm: no such parameter");
    if (!is_float(g.type) && (!is_int(g.type) || size_of(g.type) < 4))
      fail("gemm: neither a float type nor an integer one of at least 32 bits");
    for (uint32_t p : {g.a, g.b})
      if (!is_factor_type(kernel_.params[p].dtype, g.type))
        fail("gemm: a factor of a type that is not the product's and no narrower one");
    block(g.header, {});
    const size_t of_columns = g.row_axes > 0 || g.dots ? 3 : 2;
    const size_t of_axes = 4 * g.batch_axes + 3 * g.sum_axes + of_columns * g.column_axes + 3 * g.row_axes;
    if (g.header.yields.size() != (g.is_plain ? 12 : 13 + of_axes))
      fail("gemm: the header yields 12 values, or those of its axes too");
    for (ValueId v : g.header.yields)
      if (type(v) != DType::I64) fail("gemm: the header yields i64");
    block(g.epilogue, {DType::I64, DType::I64, DType::I64, value_type(g.type)});
    if (g.epilogue.yields.size() != 1 || type(g.epilogue.yields[0]) != value_type(kernel_.params[g.c].dtype))
      fail("gemm: the epilogue yields a value of the result's type");
  }

  DType type(ValueId id) {
    if (id.index < kernel_.types.size()) return kernel_.types[id.index];
    fail(fmt::format("no value %{}", id.index));
    return DType::I64;
  }
  DType use(ValueId id) {
    if (id.index >= defined_.size() || !defined_[id.index])
      fail(fmt::format("%{} is used before it is defined", id.index));
    else if (defined_[id.index] == 2)
      fail(fmt::format("%{} is used out of its block", id.index));
    return type(id);
  }
  void define(ValueId id) {
    if (id.index >= defined_.size()) return fail(fmt::format("no type for %{}", id.index));
    if (defined_[id.index]) fail(fmt::format("%{} is defined twice", id.index));
    defined_[id.index] = 1;
    scope_.push_back(id);
  }

  // Values of a block are gone at its end.
  void block(const Block& b, const std::vector<DType>& params) {
    size_t mark = scope_.size();
    if (b.params.size() != params.size()) fail("wrong number of block parameters");
    for (size_t i = 0; i < b.params.size(); ++i) {
      define(b.params[i]);
      if (i < params.size() && type(b.params[i]) != params[i]) fail("type of a block parameter");
    }
    for (const Instr& instr : b.instrs) {
      check(instr);
      if (!fault_.empty()) return;
    }
    for (ValueId v : b.yields)
      use(v);
    for (; scope_.size() > mark; scope_.pop_back())
      defined_[scope_.back().index] = 2;
  }

  std::vector<DType> types_of(const std::vector<ValueId>& ids, size_t from = 0) {
    std::vector<DType> types;
    for (size_t i = from; i < ids.size(); ++i)
      types.push_back(type(ids[i]));
    return types;
  }

  void check(const Instr& in) {
    std::vector<DType> t;
    for (ValueId v : in.operands)
      t.push_back(use(v));
    auto count = [&](size_t operands, size_t results, size_t blocks) {
      require(in.operands.size() == operands, in, "number of operands");
      require(in.results.size() == results, in, "number of results");
      require(in.blocks.size() == blocks, in, "number of blocks");
      return fault_.empty();
    };
    auto result = [&](DType expected) {
      require(type(in.results[0]) == expected && in.dtype == expected, in, "type of the result");
    };
    auto same = [&](size_t n, bool allowed) {
      if (!count(n, 1, 0)) return;
      for (size_t i = 0; i < n; ++i)
        require(t[i] == t[0], in, "operands of different types");
      require(allowed || n == 0, in, fmt::format("not for {}", tl::name_of(t[0])));
      if (fault_.empty()) result(t[0]);
    };
    auto param = [&]() -> const Param* {
      require(in.param < kernel_.params.size(), in, "no such parameter");
      return fault_.empty() ? &kernel_.params[in.param] : nullptr;
    };
    bool num = !t.empty() && is_num(t[0]), flt = !t.empty() && is_float(t[0]);
    bool integer = !t.empty() && (is_int(t[0]) || t[0] == DType::Key),
         logical = integer || (!t.empty() && t[0] == DType::Bool);

    switch (in.op) {
    case KOp::Const:
      if (count(0, 1, 0)) result(in.dtype);
      require(in.dtype != DType::F16 && in.dtype != DType::BF16, in, "f16 and bf16 are f32 as values");
      break;
    case KOp::Arg:
      if (count(0, 1, 0)) result(DType::I64);
      if (const Param* p = param()) require(p->kind == ParamKind::Size, in, "not a size");
      break;
    case KOp::Load:
      if (!count(1, 1, 0)) break;
      require(t[0] == DType::I64, in, "the offset is i64");
      if (const Param* p = param()) result(value_type(p->dtype));
      break;
    case KOp::Store:
      if (!count(2, 0, 0)) break;
      require(t[0] == DType::I64, in, "the offset is i64");
      if (const Param* p = param()) {
        require(t[1] == value_type(p->dtype), in, "type of the stored value");
        require(p->kind != ParamKind::Input && p->kind != ParamKind::Size, in, "into an input");
      }
      break;
    case KOp::Add:
    case KOp::Sub:
    case KOp::Mul: same(2, num || integer); break;
    case KOp::Neg: same(1, num || integer); break;
    case KOp::Div:
    case KOp::CopySign: same(2, flt); break;
    case KOp::FloorDivInt:
    case KOp::ModInt: same(2, integer); break;
    case KOp::UDiv:
    case KOp::URem: same(2, integer); break;
    case KOp::Fma: same(3, flt); break;
    case KOp::Sqrt:
    case KOp::Abs:
    case KOp::Floor:
    case KOp::Ceil:
    case KOp::RoundEven:
    case KOp::Trunc: same(1, flt); break;
    case KOp::And:
    case KOp::Or:
    case KOp::Xor: same(2, logical); break;
    case KOp::Not: same(1, logical); break;
    case KOp::Shl:
    case KOp::LShr:
    case KOp::AShr: same(2, integer); break;
    case KOp::MulHiU32: same(2, integer && size_of(t[0]) == 4); break;
    case KOp::Eq:
    case KOp::Ne:
    case KOp::Lt:
    case KOp::Le:
      if (!count(2, 1, 0)) break;
      require(t[0] == t[1], in, "operands of different types");
      result(DType::Bool);
      break;
    case KOp::Select:
      if (!count(3, 1, 0)) break;
      require(t[0] == DType::Bool && t[1] == t[2], in, "types of the operands");
      result(t[1]);
      break;
    case KOp::Convert:
      if (count(1, 1, 0)) result(in.dtype);
      break;
    case KOp::Bitcast:
      if (!count(1, 1, 0)) break;
      require(size_of(in.dtype) == size_of(t[0]), in, "different widths");
      result(in.dtype);
      break;
    case KOp::Round16:
      if (!count(1, 1, 0)) break;
      require(t[0] == DType::F32 && type(in.results[0]) == DType::F32, in, "f32 to f32");
      require(in.dtype == DType::F16 || in.dtype == DType::BF16, in, "dtype is f16 or bf16");
      break;
    case KOp::For: {
      require(in.operands.size() >= 3 && in.blocks.size() == 1, in, "number of operands and blocks");
      if (!fault_.empty()) break;
      require(t[0] == DType::I64 && t[1] == DType::I64 && t[2] == DType::I64, in, "bounds are i64");
      std::vector<DType> carried = types_of(in.operands, 3), params = carried;
      require(types_of(in.results) == carried, in, "results are the carried values");
      params.insert(params.begin(), DType::I64);
      if (in.vector) {
        require(carried.empty(), in, "a vector loop carries nothing");
        require(!in_vector_, in, "vector loops do not nest");
      }
      bool outer = in_vector_;
      in_vector_ |= in.vector;
      block(in.blocks[0], params);
      in_vector_ = outer;
      require(types_of(in.blocks[0].yields) == carried, in, "yields are the carried values");
      break;
    }
    case KOp::While:
      require(in.blocks.size() == 2 && types_of(in.results) == t, in, "results are the carried values");
      if (!fault_.empty()) break;
      for (const Block& b : in.blocks)
        block(b, t);
      require(types_of(in.blocks[0].yields) == std::vector{DType::Bool}, in, "the condition yields a bool");
      require(types_of(in.blocks[1].yields) == t, in, "yields are the carried values");
      break;
    case KOp::If:
      require(in.operands.size() == 1 && t[0] == DType::Bool && in.blocks.size() == 2, in, "one bool and two blocks");
      for (const Block& b : in.blocks) {
        block(b, {});
        require(types_of(b.yields) == types_of(in.results), in, "yields are the results");
      }
      break;
    case KOp::Reduce:
    case KOp::ReduceChunk: {
      bool arg = gives_position(in.reduce);
      if (!count(in.op == KOp::Reduce ? 1 : 2, arg ? 2 : 1, 1)) break;
      for (DType type : t)
        require(type == DType::I64, in, "bounds are i64");
      require(in.at_most >= 0 && in.at_most <= kSumLanes && (in.at_most == 0 || in.op == KOp::Reduce), in,
              "few elements, of a whole reduction");
      block(in.blocks[0], {DType::I64});
      std::vector<DType> yields = types_of(in.blocks[0].yields);
      require(yields.size() == 1 || (yields.size() == 2 && yields[1] == DType::Bool), in,
              "yields a value, or value and mask");
      if (!fault_.empty()) break;
      require(yields[0] == in.dtype, in, "yields the accumulator's type");
      DType expected = in.op == KOp::Reduce ? in.dtype : total_type(in.reduce, in.dtype);
      require(type(in.results[0]) == expected, in, "type of the result");
      if (arg) require(type(in.results[1]) == DType::I64, in, "the position is i64");
      break;
    }
    case KOp::Contract:
      if (!count(1, 1, 1)) break;
      require(t[0] == DType::I64, in, "the count is i64");
      block(in.blocks[0], {DType::I64});
      require(types_of(in.blocks[0].yields) == std::vector{in.dtype, in.dtype}, in, "yields two factors");
      result(in.dtype);
      break;
    case KOp::CopyTransposed:
      if (!count(5, 0, 0)) break;
      require(t == std::vector(5, DType::I64), in, "sizes are i64");
      if (const Param* p = param()) {
        require(p->kind == ParamKind::Local, in, "into workspace");
        require(in.source < kernel_.params.size() && kernel_.params[in.source].dtype == p->dtype, in,
                "types of memory");
      }
      break;
    case KOp::Scatter: {
      require(in.operands.size() == 5 && (in.blocks.size() == 2 || in.blocks.size() == 3), in, "operands and blocks");
      const Param* p = fault_.empty() ? param() : nullptr;
      if (!p) break;
      require(t == std::vector(5, DType::I64), in, "sizes are i64");
      require(in.source + 2 < kernel_.params.size(), in, "there are three workspaces");
      const DType value = value_type(p->dtype);
      block(in.blocks[0], {DType::I64});
      block(in.blocks[1], {DType::I64, DType::I64});
      if (in.blocks.size() == 3) block(in.blocks[2], {value, value});
      if (!fault_.empty()) break;
      require(types_of(in.blocks[0].yields) == std::vector{DType::I64}, in, "yields a row");
      for (size_t k = 1; k < in.blocks.size(); ++k)
        require(types_of(in.blocks[k].yields) == std::vector{value}, in, "yields a value");
      break;
    }
    case KOp::Check:
      if (count(4, 0, 0))
        require(t == std::vector{DType::Bool, DType::I64, DType::I64, DType::I64}, in, "types of the operands");
      break;
    }
    for (ValueId v : in.results)
      define(v);
  }

  const Kernel& kernel_;
  std::vector<char> defined_; // 1: in scope, 2: its block has ended
  std::vector<ValueId> scope_;
  bool in_vector_ = false;
  std::string fault_;
};

} // namespace

std::string verify(const Kernel& kernel) { return Verifier(kernel).run(); }

} // namespace tl::kir
