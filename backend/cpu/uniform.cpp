#include "backend/cpu/uniform.h"
#include "backend/kernel/kernel_ops.h"
#include <algorithm>

namespace tl::cpu {
using kir::Block;
using kir::Instr;
using kir::KOp;

namespace {

template <class Visit> void visit_instrs(const Block& block, const Visit& visit) {
  for (const Instr& instr : block.instrs) {
    visit(instr);
    for (const Block& inner : instr.blocks)
      visit_instrs(inner, visit);
  }
}

template <class Predicate> bool any_instr(const Block& block, const Predicate& predicate) {
  for (const Instr& instr : block.instrs) {
    if (predicate(instr)) return true;
    for (const Block& inner : instr.blocks)
      if (any_instr(inner, predicate)) return true;
  }
  return false;
}

class Marker {
public:
  explicit Marker(std::vector<bool>& varying) : varying_(varying) {}

  void block(const Block& block, bool in_vector) {
    for (const Instr& instr : block.instrs)
      instruction(instr, in_vector);
  }

private:
  bool is(kir::ValueId value) const { return varying_[value.index]; }
  bool any(const std::vector<kir::ValueId>& values) const {
    return std::any_of(values.begin(), values.end(), [&](kir::ValueId v) { return is(v); });
  }
  // Joins `fact` into the value; true if that changed it.
  bool join(kir::ValueId value, bool fact) {
    if (!fact || varying_[value.index]) return false;
    varying_[value.index] = true;
    return true;
  }

  void instruction(const Instr& instr, bool in_vector) {
    switch (instr.op) {
    case KOp::For: {
      const Block& body = instr.blocks[0];
      if (instr.vector && !in_vector) {
        join(body.params[0], true);
        block(body, true);
        return;
      }
      for (size_t i = 0; i < instr.results.size(); ++i)
        join(body.params[i + 1], is(instr.operands[i + 3]));
      bool changed = true;
      while (changed) {
        block(body, in_vector);
        changed = false;
        for (size_t i = 0; i < instr.results.size(); ++i)
          changed |= join(body.params[i + 1], is(body.yields[i]));
      }
      for (size_t i = 0; i < instr.results.size(); ++i)
        join(instr.results[i], is(body.params[i + 1]));
      return;
    }
    case KOp::While: {
      const Block &cond = instr.blocks[0], &body = instr.blocks[1];
      for (size_t i = 0; i < instr.results.size(); ++i)
        join(cond.params[i], is(instr.operands[i]));
      bool changed = true;
      while (changed) {
        block(cond, in_vector);
        bool divergent = is(cond.yields[0]);
        for (size_t i = 0; i < instr.results.size(); ++i)
          join(body.params[i], is(cond.params[i]));
        block(body, in_vector);
        changed = false;
        for (size_t i = 0; i < instr.results.size(); ++i)
          changed |= join(cond.params[i], divergent || is(body.yields[i]));
      }
      for (size_t i = 0; i < instr.results.size(); ++i)
        join(instr.results[i], is(cond.params[i]));
      return;
    }
    case KOp::If:
      for (const Block& side : instr.blocks)
        block(side, in_vector);
      for (size_t i = 0; i < instr.results.size(); ++i)
        join(instr.results[i], is(instr.operands[0]) || is(instr.blocks[0].yields[i]) || is(instr.blocks[1].yields[i]));
      return;
    case KOp::Reduce:
    case KOp::ReduceChunk:
      if (!in_vector) join(instr.blocks[0].params[0], true);
      block(instr.blocks[0], true);
      if (in_vector)
        for (kir::ValueId result : instr.results)
          join(result, any(instr.blocks[0].yields));
      return;
    case KOp::Contract:
      block(instr.blocks[0], in_vector);
      if (in_vector) join(instr.results[0], any(instr.blocks[0].yields));
      return;
    default:
      for (kir::ValueId result : instr.results)
        join(result, any(instr.operands));
    }
  }

  std::vector<bool>& varying_;
};

} // namespace

void mark_varying(const Block& block, bool in_vector, std::vector<bool>& varying) {
  Marker(varying).block(block, in_vector);
}

std::vector<bool> varying_values(const kir::Kernel& kernel) {
  std::vector<bool> varying(kernel.types.size(), false);
  if (kernel.is_gemm) {
    // The epilogue runs as a vector along j.
    varying[kernel.gemm.epilogue.params[2].index] = true;
    varying[kernel.gemm.epilogue.params[3].index] = true;
    mark_varying(kernel.gemm.epilogue, true, varying);
  }
  for (const kir::Phase& phase : kernel.phases)
    mark_varying(phase.body, false, varying);
  return varying;
}

int instruction_count(const Block& block) {
  int count = 0;
  visit_instrs(block, [&](const Instr&) { ++count; });
  return count;
}

int64_t unrolled_instructions(const Block& block, int64_t times) {
  constexpr int kLongDivision = 32; // of 64 bits: lane by lane, each with branches of LLVM's around it
  int count = 0;
  visit_instrs(block, [&](const Instr& instr) {
    const bool divides = instr.op == KOp::FloorDivInt || instr.op == KOp::ModInt;
    count += divides && size_of(instr.dtype) == 8 ? kLongDivision : 1;
  });
  return times * count;
}

bool has_effects_or_loops(const Block& block) {
  return any_instr(block, [](const Instr& instr) { return instr.op != KOp::If && !kir::is_pure(instr.op); });
}

bool has_loops_or_stores(const Block& block) {
  return any_instr(block, [](const Instr& instr) {
    return instr.op != KOp::If && instr.op != KOp::Load && !kir::is_pure(instr.op);
  });
}

bool has_vector_code(const Block& block) {
  return any_instr(block, [](const Instr& instr) {
    return (instr.op == KOp::For && instr.vector) || instr.op == KOp::Reduce || instr.op == KOp::ReduceChunk ||
           instr.op == KOp::Contract;
  });
}

bool has_chain(const Block& block) {
  return any_instr(block, [](const Instr& instr) {
    return instr.op == KOp::Contract || (instr.op == KOp::Reduce && instr.at_most == 0);
  });
}

int widest_element(const kir::Kernel& kernel, const Block& block) {
  int widest = 1;
  visit_instrs(block, [&](const Instr& instr) {
    bool memory = instr.op == KOp::Load || instr.op == KOp::Store;
    auto see = [&](kir::ValueId value) {
      DType type = kernel.types[value.index];
      if (type == DType::F16 || type == DType::BF16) type = DType::F32;
      if (memory || type != DType::I64) widest = std::max(widest, size_of(type));
    };
    for (kir::ValueId result : instr.results)
      see(result);
    if (instr.op == KOp::Store) see(instr.operands[1]);
  });
  return widest;
}

std::vector<const Instr*> definitions(const kir::Kernel& kernel) {
  std::vector<const Instr*> result(kernel.types.size(), nullptr);
  auto note = [&](const Instr& instr) {
    for (kir::ValueId value : instr.results)
      result[value.index] = &instr;
  };
  if (kernel.is_gemm) {
    visit_instrs(kernel.gemm.header, note);
    visit_instrs(kernel.gemm.epilogue, note);
  }
  for (const kir::Phase& phase : kernel.phases)
    visit_instrs(phase.body, note);
  return result;
}

std::vector<const Instr*> divisions(const Block& block) {
  std::vector<const Instr*> found;
  visit_instrs(block, [&](const Instr& instr) {
    if ((instr.op == KOp::UDiv || instr.op == KOp::URem) && instr.dtype == DType::I64) found.push_back(&instr);
  });
  return found;
}

int64_t unrolled_extent(const Instr& reduce, const std::vector<const Instr*>& definition) {
  if (reduce.op != KOp::Reduce) return 0;
  const Instr* extent = definition[reduce.operands[0].index];
  if (!extent || extent->op != KOp::Const) return 0;
  int64_t n = extent->imm.as<int64_t>();
  if (n < 1 || n > 4 * kSumLanes || unrolled_instructions(reduce.blocks[0], n) > 512) return 0;
  return n;
}

} // namespace tl::cpu
