#include "backend/cpu/transpose.h"

namespace tl::cpu {
using kir::Instr;
using llvm::Value;

Values load_transposed(llvm::IRBuilder<>& b, llvm::Type* element, const Values& rows,
                       const std::function<void(llvm::Instruction*)>& note) {
  const size_t lanes = rows.size(), per_part = 128 / element->getScalarSizeInBits(), parts = lanes / per_part;
  auto* part_type = llvm::FixedVectorType::get(element, static_cast<unsigned>(per_part));
  const llvm::Align align(element->getScalarSizeInBits() / 8);
  std::vector<int> low, high; // interleave within each part
  for (size_t part = 0; part < lanes; part += per_part)
    for (size_t i = 0; i < per_part / 2; ++i) {
      for (size_t x : {part + i, lanes + part + i})
        low.push_back(static_cast<int>(x));
      for (size_t x : {part + per_part / 2 + i, lanes + part + per_part / 2 + i})
        high.push_back(static_cast<int>(x));
    }
  // joined[q][i]: of row part * per_part + i, for each part, the 16 bytes number q. A row's are loaded
  // together: rows that are a power of two apart share few places of the nearest cache.
  std::vector<Values> joined(parts, Values(per_part, nullptr));
  for (size_t row = 0; row < lanes; ++row) {
    const size_t part = row / per_part;
    std::vector<int> widen(lanes, llvm::PoisonMaskElem), merge(lanes);
    for (size_t lane = 0; lane < lanes; ++lane) {
      const bool here = lane / per_part == part;
      if (here) widen[lane] = static_cast<int>(lane % per_part);
      merge[lane] = static_cast<int>(here ? lanes + lane : lane);
    }
    for (size_t q = 0; q < parts; ++q) {
      auto* piece =
          b.CreateAlignedLoad(part_type, b.CreateConstInBoundsGEP1_64(element, rows[row], q * per_part), align);
      note(piece);
      Value *wide = b.CreateShuffleVector(piece, widen), *&into = joined[q][row % per_part];
      into = into ? b.CreateShuffleVector(into, wide, merge) : wide;
    }
  }
  Values columns;
  for (Values& group : joined) {
    for (size_t stage = 1; stage < per_part; stage *= 2) {
      Values next;
      for (size_t i = 0; i < per_part / 2; ++i) {
        next.push_back(b.CreateShuffleVector(group[i], group[i + per_part / 2], low));
        next.push_back(b.CreateShuffleVector(group[i], group[i + per_part / 2], high));
      }
      group = std::move(next);
    }
    columns.insert(columns.end(), group.begin(), group.end());
  }
  return columns;
}

void Emitter::copy_transposed(const Instr& instr) {
  DType memory = kernel_.params.at(instr.param).dtype;
  llvm::Type* element = memory_type(memory);
  Value *offset = scalar(instr.operands[0]), *stride = scalar(instr.operands[1]), *rows = scalar(instr.operands[2]),
        *columns = scalar(instr.operands[3]), *pitch = scalar(instr.operands[4]), *zero = b.getInt64(0);
  llvm::Align align(static_cast<uint64_t>(size_of(memory)));
  auto from = [&](Value* r, Value* c) {
    Value* place = b.CreateAdd(offset, b.CreateAdd(b.CreateMul(r, stride), c));
    return b.CreateInBoundsGEP(element, pointer(instr.source), place);
  };
  auto to = [&](Value* r, Value* c) {
    return b.CreateInBoundsGEP(element, pointer(instr.param), b.CreateAdd(b.CreateMul(c, pitch), r));
  };
  // Blocks of as many rows and columns as a vector has elements; narrow elements one by one.
  int64_t side = size_of(memory) >= 4 ? static_cast<int64_t>(machine_.vector_bytes()) / size_of(memory) : 1;
  Value *whole_rows = zero, *whole_columns = zero;
  if (side > 1) {
    whole_rows = b.CreateAnd(rows, b.getInt64(~static_cast<uint64_t>(side - 1)));
    whole_columns = b.CreateAnd(columns, b.getInt64(~static_cast<uint64_t>(side - 1)));
    loop(zero, whole_rows, side, {}, [&](Value* r, const Values&) {
      return loop(zero, whole_columns, side, {}, [&](Value* c, const Values&) -> Values {
        Values places;
        for (int64_t i = 0; i < side; ++i)
          places.push_back(from(b.CreateAdd(r, b.getInt64(static_cast<uint64_t>(i))), c));
        const Values block =
            load_transposed(b, element, places, [&](llvm::Instruction* load) { note_alias(load, instr.source); });
        for (int64_t i = 0; i < side; ++i) {
          Value* column = b.CreateAdd(c, b.getInt64(static_cast<uint64_t>(i)));
          note_alias(b.CreateAlignedStore(block[static_cast<size_t>(i)], to(r, column), align), instr.param);
        }
        return {};
      });
    });
  }
  loop(zero, rows, 1, {}, [&](Value* r, const Values&) {
    Value* done = b.CreateSelect(b.CreateICmpSLT(r, whole_rows), whole_columns, zero);
    return loop(done, columns, 1, {}, [&](Value* c, const Values&) -> Values {
      auto* raw = note_alias(b.CreateAlignedLoad(element, from(r, c), align), instr.source);
      note_alias(b.CreateAlignedStore(raw, to(r, c), align), instr.param);
      return {};
    });
  });
}

} // namespace tl::cpu
