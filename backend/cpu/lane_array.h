// The lanes of the order of sums as an array in memory, of scalars or of vectors. Internal to backend/cpu.
#pragma once
#include "backend/cpu/emit.h"

namespace tl::cpu {

class LaneArray {
public:
  // For `count` elements. Bools are kept as bytes; ArgMin and ArgMax keep positions beside the values.
  LaneArray(Emitter& emitter, const kir::Instr& reduction, int64_t count)
      : e_(&emitter), reduction_(&reduction),
        kept_(reduction.dtype == DType::Bool ? emitter.b.getInt8Ty() : emitter.value_type(reduction.dtype)) {
    auto make = [&](llvm::Type* type, const char* name) {
      return e_->local_variable(llvm::ArrayType::get(type, static_cast<uint64_t>(count)), name);
    };
    values_ = make(kept_, "lanes");
    if (gives_position(reduction.reduce)) positions_ = make(e_->b.getInt64Ty(), "positions");
  }

  // Bytes an element takes.
  static int bytes(const kir::Instr& reduction) {
    return size_of(reduction.dtype) + (gives_position(reduction.reduce) ? size_of(DType::I64) : 0);
  }

  // The element at `place`, or the vector of as many as there are lanes from there on.
  Partial read(llvm::Value* place, bool varying) const {
    Partial x{load(kept_, values_, place, varying)};
    if (reduction_->dtype == DType::Bool) x.v = e_->b.CreateTrunc(x.v, e_->shaped(DType::Bool, varying));
    if (positions_) x.index = load(e_->b.getInt64Ty(), positions_, place, varying);
    return x;
  }
  // The vector from there on, or where `is_there` is false the identity.
  Partial read_if(llvm::Value* is_there, llvm::Value* place) const {
    const Partial none = e_->identity(*reduction_, true);
    const Partial there = read(place, true);
    auto choose = [&](llvm::Value* x, llvm::Value* otherwise) -> llvm::Value* {
      return x ? e_->b.CreateSelect(is_there, x, otherwise) : nullptr;
    };
    return {choose(there.v, none.v), choose(there.index, none.index)};
  }
  void write(llvm::Value* place, Partial x) const {
    if (reduction_->dtype == DType::Bool) x.v = e_->b.CreateZExt(x.v, e_->like(x.v, kept_));
    e_->b.CreateStore(x.v, at(kept_, values_, place));
    if (positions_) e_->b.CreateStore(x.index, at(e_->b.getInt64Ty(), positions_, place));
  }

private:
  llvm::Value* at(llvm::Type* type, llvm::Value* array, llvm::Value* place) const {
    return e_->b.CreateInBoundsGEP(type, array, place);
  }
  llvm::Value* load(llvm::Type* type, llvm::Value* array, llvm::Value* place, bool varying) const {
    llvm::Type* loaded = varying ? llvm::FixedVectorType::get(type, e_->lanes_.width) : type;
    return e_->b.CreateLoad(loaded, at(type, array, place));
  }

  Emitter* e_;
  const kir::Instr* reduction_;
  llvm::Type* kept_;
  llvm::Value *values_ = nullptr, *positions_ = nullptr;
};

} // namespace tl::cpu
