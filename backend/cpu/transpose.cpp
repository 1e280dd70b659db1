#include "backend/cpu/transpose.h"

namespace tl::cpu {
using kir::Instr;
using llvm::Value;

Values transposed(llvm::IRBuilder<>& b, Values x, int bytes) {
  const auto per_part = static_cast<size_t>(16 / bytes), parts = x.size() / per_part;
  auto interleave = [&](Values group, const std::vector<int>& low, const std::vector<int>& high) {
    for (size_t stage = 1; stage < group.size(); stage *= 2) {
      Values next;
      for (size_t i = 0; i < group.size() / 2; ++i) {
        next.push_back(b.CreateShuffleVector(group[i], group[i + group.size() / 2], low));
        next.push_back(b.CreateShuffleVector(group[i], group[i + group.size() / 2], high));
      }
      group = std::move(next);
    }
    return group;
  };
  std::vector<int> low, high, low_parts, high_parts;
  const int lanes = static_cast<int>(x.size()), per = static_cast<int>(per_part);
  for (int part = 0; part < lanes; part += per)
    for (int i = 0; i < per / 2; ++i) {
      low.insert(low.end(), {part + i, lanes + part + i});
      high.insert(high.end(), {part + per / 2 + i, lanes + part + per / 2 + i});
    }
  for (int part = 0; part < lanes / 2; part += per)
    for (auto [to, from] : {std::pair{&low_parts, part}, std::pair{&high_parts, lanes / 2 + part}})
      for (int half : {0, lanes})
        for (int i = 0; i < per; ++i)
          to->push_back(half + from + i);
  for (size_t part = 0; part < parts; ++part) {
    const auto begin = x.begin() + static_cast<long>(part * per_part);
    const Values done = interleave({begin, begin + static_cast<long>(per_part)}, low, high);
    std::copy(done.begin(), done.end(), begin);
  }
  Values result(x.size());
  for (size_t i = 0; i < per_part; ++i) {
    Values group;
    for (size_t part = 0; part < parts; ++part)
      group.push_back(x[part * per_part + i]);
    group = interleave(std::move(group), low_parts, high_parts);
    for (size_t part = 0; part < parts; ++part)
      result[part * per_part + i] = group[part];
  }
  return result;
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
    auto* vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(side));
    loop(zero, whole_rows, side, {}, [&](Value* r, const Values&) {
      return loop(zero, whole_columns, side, {}, [&](Value* c, const Values&) -> Values {
        Values block;
        for (int64_t i = 0; i < side; ++i) {
          Value* row = b.CreateAdd(r, b.getInt64(static_cast<uint64_t>(i)));
          block.push_back(note_alias(b.CreateAlignedLoad(vector, from(row, c), align), instr.source));
        }
        block = transposed(b, std::move(block), size_of(memory));
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
