// Blocks of a matrix transposed in registers. Internal to backend/cpu.
#pragma once
#include "backend/cpu/emit.h"

namespace tl::cpu {

// The columns of a square matrix of a vector's lanes of elements, whose rows begin at `rows`. Each row is loaded 16
// bytes at a time into the place that these have in a column, which costs no shuffle; what remains are shuffles within
// 16 bytes: log2(count) times interleaving vector i with vector i + count / 2, of as many vectors as 16 bytes hold
// elements. note: called for each load. mask: of the columns that there are; null: all.
Values load_transposed(llvm::IRBuilder<>& b, llvm::Type* element, const Values& rows,
                       const std::function<void(llvm::Instruction*)>& note, llvm::Value* mask = nullptr);

// Those of them that the 16 bytes number q of each row become, by themselves.
Values load_transposed_part(llvm::IRBuilder<>& b, llvm::Type* element, const Values& rows, size_t q);

// The same of rows whose 16 bytes number q are what piece(row, q) gives: a vector of as many elements of 4 or 8 bytes.
using Piece = std::function<llvm::Value*(size_t row, size_t q)>;
Values transposed(llvm::IRBuilder<>& b, llvm::Type* element, size_t lanes, const Piece& piece);

} // namespace tl::cpu
