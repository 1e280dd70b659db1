#include "backend/cpu/transpose.h"

namespace tl::cpu {
using kir::Instr;
using llvm::Value;

namespace {

// Rows of 16 bytes become columns: rows [0, per_part) are to be the first part of each, and so on.
class Parts {
public:
  Parts(llvm::IRBuilder<>& b, llvm::Type* element, size_t lanes)
      : b(b), lanes(lanes), per_part(128 / element->getScalarSizeInBits()) {
    for (size_t part = 0; part < lanes; part += per_part)
      for (size_t i = 0; i < per_part / 2; ++i) {
        for (size_t x : {part + i, lanes + part + i})
          low.push_back(static_cast<int>(x));
        for (size_t x : {part + per_part / 2 + i, lanes + part + per_part / 2 + i})
          high.push_back(static_cast<int>(x));
      }
  }

  // Adds what row `row` has, 16 bytes, to the vector that holds it.
  void join(Values& joined, size_t row, Value* piece) {
    const size_t part = row / per_part;
    std::vector<int> widen(lanes, llvm::PoisonMaskElem), merge(lanes);
    for (size_t lane = 0; lane < lanes; ++lane) {
      const bool here = lane / per_part == part;
      if (here) widen[lane] = static_cast<int>(lane % per_part);
      merge[lane] = static_cast<int>(here ? lanes + lane : lane);
    }
    Value *wide = b.CreateShuffleVector(piece, widen), *&into = joined[row % per_part];
    into = into ? b.CreateShuffleVector(into, wide, merge) : wide;
  }

  Values interleaved(Values group) {
    for (size_t stage = 1; stage < per_part; stage *= 2) {
      Values next;
      for (size_t i = 0; i < per_part / 2; ++i) {
        next.push_back(b.CreateShuffleVector(group[i], group[i + per_part / 2], low));
        next.push_back(b.CreateShuffleVector(group[i], group[i + per_part / 2], high));
      }
      group = std::move(next);
    }
    return group;
  }

  llvm::IRBuilder<>& b;
  size_t lanes, per_part;
  std::vector<int> low, high; // interleave within each part
};

} // namespace

Values transposed(llvm::IRBuilder<>& b, llvm::Type* element, size_t lanes, const Piece& piece) {
  Parts parts(b, element, lanes);
  // joined[q][i]: of row part * per_part + i, for each part, the 16 bytes number q. A row's are loaded
  // together: rows that are a power of two apart share few places of the nearest cache.
  std::vector<Values> joined(lanes / parts.per_part, Values(parts.per_part, nullptr));
  for (size_t row = 0; row < lanes; ++row)
    for (size_t q = 0; q < joined.size(); ++q)
      parts.join(joined[q], row, piece(row, q));
  Values columns;
  for (const Values& group : joined) {
    const Values here = parts.interleaved(group);
    columns.insert(columns.end(), here.begin(), here.end());
  }
  return columns;
}

Values load_transposed_part(llvm::IRBuilder<>& b, llvm::Type* element, const Values& rows, size_t q) {
  Parts parts(b, element, rows.size());
  auto* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(parts.per_part));
  Values joined(parts.per_part, nullptr);
  for (size_t row = 0; row < rows.size(); ++row) {
    Value* place = b.CreateConstInBoundsGEP1_64(element, rows[row], q * parts.per_part);
    parts.join(joined, row, b.CreateAlignedLoad(type, place, llvm::Align(element->getScalarSizeInBits() / 8)));
  }
  return parts.interleaved(joined);
}

Values load_transposed(llvm::IRBuilder<>& b, llvm::Type* element, const Values& rows,
                       const std::function<void(llvm::Instruction*)>& note, Value* mask) {
  const size_t lanes = rows.size(), per_part = 128 / element->getScalarSizeInBits();
  auto* part_type = llvm::FixedVectorType::get(element, static_cast<unsigned>(per_part));
  const llvm::Align align(element->getScalarSizeInBits() / 8);
  Value* whole = nullptr; // the row under the mask
  return transposed(b, element, lanes, [&](size_t row, size_t q) -> Value* {
    if (!mask) {
      auto* load =
          b.CreateAlignedLoad(part_type, b.CreateConstInBoundsGEP1_64(element, rows[row], q * per_part), align);
      note(load);
      return load;
    }
    if (q == 0) {
      auto* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
      auto* load = b.CreateMaskedLoad(type, rows[row], align, mask, llvm::Constant::getNullValue(type));
      note(load);
      whole = load;
    }
    std::vector<int> of_part;
    for (size_t i = 0; i < per_part; ++i)
      of_part.push_back(static_cast<int>(q * per_part + i));
    return b.CreateShuffleVector(whole, of_part);
  });
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
  // Blocks of as many rows and columns as a vector has elements. The last columns are a block with some of those before
  // (or the only one, under a mask). The last rows are a block that is not full: what it stores beyond them lies before
  // what is stored after it, or at the end, where the workspace has room (kTransposeSlack).
  const int64_t side =
      size_of(memory) >= 4 ? static_cast<int64_t>(machine_.vector_bytes()) / size_of(memory) : 16 / size_of(memory);
  auto number = [&](int64_t x) { return b.getInt64(static_cast<uint64_t>(x)); };
  auto note = [&](llvm::Instruction* load) { note_alias(load, instr.source); };
  Value *one = number(1), *sides = number(side), *few_columns = b.CreateICmpSLT(columns, sides);
  Value *last_row = b.CreateSub(rows, one), *rest = b.CreateURem(rows, sides), *whole_rows = b.CreateSub(rows, rest);
  auto at_least = [&](Value* x, Value* y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y); };
  auto at_most = [&](Value* x, Value* y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); };
  auto block = [&](Value* r, Value* c, Value* mask) {
    Values places;
    for (int64_t i = 0; i < side; ++i)
      places.push_back(from(at_most(b.CreateAdd(r, number(i)), last_row), c));
    const Values block = load_transposed(b, element, places, note, mask);
    auto store = [&](int64_t i) {
      note_alias(b.CreateAlignedStore(block[static_cast<size_t>(i)], to(r, b.CreateAdd(c, number(i))), align),
                 instr.param);
      return Values{};
    };
    for (int64_t i = 0; i < side; ++i) {
      if (mask && i > 0)
        branch(b.CreateICmpSLT(number(i), columns), [&] { return store(i); }, {});
      else
        store(i);
    }
  };
  auto blocks = [&](Value* c, Value* mask) {
    auto rest_of_rows = [&] {
      block(whole_rows, c, mask);
      return Values{};
    };
    branch(b.CreateICmpNE(rest, zero), rest_of_rows, {});
    loop(zero, whole_rows, side, {}, [&](Value* r, const Values&) {
      block(r, c, mask);
      return Values{};
    });
  };
  auto narrow = [&] {
    const Lanes before = lanes_;
    lanes_ = {static_cast<unsigned>(side), nullptr};
    Value* mask = tail_mask(columns);
    lanes_ = before;
    blocks(zero, mask);
    return Values{};
  };
  branch(b.CreateAnd(few_columns, b.CreateICmpSGT(columns, zero)), narrow, {});
  auto wide = [&] {
    Value* last_column = at_least(b.CreateSub(columns, sides), zero);
    return loop(zero, columns, side, {}, [&](Value* c, const Values&) {
      blocks(at_most(c, last_column), nullptr);
      return Values{};
    });
  };
  branch(b.CreateNot(few_columns), wide, {});
}

} // namespace tl::cpu
