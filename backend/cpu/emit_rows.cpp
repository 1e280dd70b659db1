// Rows of few elements as one line, which vectors run through: the lanes of a vector are in a few neighbouring rows, so
// the row of each is that of the first and a small number more. What is read of rows and columns is then near, too: one
// load and a permutation of it.
#include "backend/cpu/counters.h"
#include "backend/cpu/emit.h"
#include <bit>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/TargetParser/Triple.h>
#include <numeric>

namespace tl::cpu {
using kir::Block;
using kir::Instr;
using kir::KOp;
using kir::ValueId;
using llvm::Value;
namespace in = llvm::Intrinsic;

namespace {

constexpr int64_t kLongest = 64;          // divisor of a line
constexpr unsigned kScale = 16;           // quotients are products with a number of so many bits
constexpr int64_t kRow = 16, kSparse = 1; // longest rows: of what is near, and where elements are read one by one
constexpr int kMostInstructions = 60;

// A phase of a tile per row, or per part of a row where it is long: the parts that short rows do not have.
struct RowPhase {
  const Instr* loop = nullptr;
  ValueId row, part; // the tile's row, and which part of it: 0; of rows whose length is known there are no parts
  ValueId length;
};

class Matcher {
public:
  Matcher(const kir::Phase& phase, const std::vector<const Instr*>& definition)
      : body_(phase.body), definition_(definition) {}

  std::optional<RowPhase> match() const {
    if (body_.instrs.empty()) return std::nullopt;
    const Instr& last = body_.instrs.back();
    if (last.op != KOp::For || !last.vector || last.blocks[0].params.size() != 1) return std::nullopt;
    for (size_t i = 0; i + 1 < body_.instrs.size(); ++i)
      if (!body_.instrs[i].blocks.empty() || body_.instrs[i].op == KOp::Store || body_.instrs[i].op == KOp::Check ||
          body_.instrs[i].op == KOp::CopyTransposed)
        return std::nullopt;
    if (instruction_count(last.blocks[0]) > kMostInstructions || has_loops(last.blocks[0])) return std::nullopt;
    const Instr *from = get(last.operands[0], KOp::Const), *to = get(last.operands[1], KOp::Const);
    if (from && to && from->imm.as<int64_t>() == 0) return RowPhase{&last, body_.params[0], {}, last.operands[1]};
    // for tile % parts * size .. min(that + size, length) with tiles = rows * parts, parts = ceil(length / size)
    const Instr *lo = get(last.operands[0], KOp::Mul), *hi = get(last.operands[1], KOp::Select);
    const Instr* part = lo ? any_of(*lo, KOp::URem) : nullptr;
    if (!part || !hi || part->operands[0] != body_.params[0]) return std::nullopt;
    RowPhase result;
    result.loop = &last;
    result.part = part->results[0];
    result.length = hi->operands[2];
    const Instr* parts = get(part->operands[1], KOp::UDiv);
    const Instr* rounded = parts ? get(parts->operands[0], KOp::Add) : nullptr;
    if (!rounded || (rounded->operands[0] != result.length && rounded->operands[1] != result.length))
      return std::nullopt;
    for (const Instr& instr : body_.instrs)
      if (instr.op == KOp::UDiv && instr.operands[0] == body_.params[0] && instr.operands[1] == part->operands[1])
        result.row = instr.results[0];
    const Instr* length = definition_[result.length.index];
    if (!result.row.valid() || !length || length->op != KOp::Arg || uses_elsewhere(part->operands[1], *part))
      return std::nullopt;
    return result;
  }

private:
  const Instr* get(ValueId value, KOp op) const {
    const Instr* instr = definition_[value.index];
    return instr && instr->op == op ? instr : nullptr;
  }
  const Instr* any_of(const Instr& instr, KOp op) const {
    const Instr* first = get(instr.operands[0], op);
    return first ? first : get(instr.operands[1], op);
  }
  static bool has_loops(const Block& block) {
    for (const Instr& instr : block.instrs) {
      const bool unrolled = instr.op == KOp::If || instr.op == KOp::Contract;
      if (instr.op == KOp::CopyTransposed || (!instr.blocks.empty() && !unrolled)) return true;
      for (const Block& inner : instr.blocks)
        if (has_loops(inner)) return true;
    }
    return false;
  }
  // The tile, and how many parts there are, serve to find row and part alone.
  bool uses_elsewhere(ValueId parts, const Instr& part) const {
    for (const Instr& instr : body_.instrs)
      for (ValueId operand : instr.operands)
        if ((operand == body_.params[0] || operand == parts) && &instr != &part &&
            !(instr.op == KOp::UDiv && instr.operands[0] == body_.params[0] && instr.operands[1] == parts))
          return true;
    return false;
  }

  const Block& body_;
  const std::vector<const Instr*>& definition_;
};

} // namespace

// floor((remainder + lane) / divisor) for 0 <= remainder < divisor <= kLongest, both i64 and the same for all lanes.
// Of m / divisor with m < kLongest + 64 the product with ceil(2^16 / divisor) is off by less than 1 / divisor.
Steps Emitter::steps_of(Value* remainder, Value* divisor) {
  llvm::Type* i32 = b.getInt32Ty();
  Value* scale = b.CreateAdd(b.CreateUDiv(b.getInt64((1U << kScale) - 1), divisor), b.getInt64(1));
  Value *first = b.CreateTrunc(remainder, i32), *factor = b.CreateTrunc(scale, i32);
  Steps steps;
  steps.lanes = b.CreateLShr(b.CreateMul(b.CreateAdd(splat(first), lane_ids(i32)), splat(factor)), kScale);
  Value* count = lanes_.count ? b.CreateTrunc(lanes_.count, i32) : b.getInt32(lanes_.width);
  steps.last = b.CreateLShr(b.CreateMul(b.CreateAdd(first, b.CreateSub(count, b.getInt32(1))), factor), kScale);
  return steps;
}

// Neighbouring numbers divided by a small constant. False: it is something else.
bool Emitter::divide_neighbours(const Instr& instr) {
  const Val x = get(instr.operands[0]), y = get(instr.operands[1]);
  auto* by = y.varying ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(y.v);
  auto* stride = x.is_line() ? llvm::dyn_cast<llvm::ConstantInt>(x.stride) : nullptr;
  if (row_length_ || !by || !stride || !stride->isOne()) return false;
  if (by->getSExtValue() < 2 || by->getSExtValue() > kLongest) return false;
  // Of lanes that are off the first may be below zero.
  Value *quotient = b.CreateSDiv(x.base, by), *remainder = b.CreateSub(x.base, b.CreateMul(quotient, by));
  Value* is_below = b.CreateICmpSLT(remainder, b.getInt64(0));
  quotient = b.CreateSub(quotient, b.CreateZExt(is_below, b.getInt64Ty()));
  remainder = b.CreateSelect(is_below, b.CreateAdd(remainder, by), remainder);
  const Steps steps = steps_of(remainder, by);
  const bool divides = instr.op == KOp::UDiv;
  Val result = divides ? Val::line(quotient, b.getInt64(0)) : Val::line(remainder, stride);
  result.terms.push_back(divides ? Term{steps, nullptr, false} : Term{steps, by, true});
  set(instr.results[0], result);
  return true;
}

// The number of a row, as short_rows gives it, divided: its axes. False: it is something else.
bool Emitter::divide_line(const Instr& instr) {
  const Val x = get(instr.operands[0]), y = get(instr.operands[1]);
  auto* stride = x.is_sum() ? llvm::dyn_cast<llvm::ConstantInt>(x.stride) : nullptr;
  if (!row_length_ || y.varying || !stride || !stride->isZero() || x.terms.size() != 1) return false;
  const Term& term = x.terms[0];
  if (term.times || term.negative) return false;
  llvm::Type* i32 = b.getInt32Ty();
  Value *one = b.getInt64(1), *most = b.getInt64(kLongest), *zero = b.getInt64(0);
  Value* divisor = b.CreateBinaryIntrinsic(in::umax, y.v, one);
  Value *quotient = b.CreateUDiv(x.base, divisor), *rest = b.CreateSub(x.base, b.CreateMul(quotient, divisor));
  // Of more than kLongest at most one multiple is passed: as if it were that, and as far from the next multiple.
  Value* small = b.CreateBinaryIntrinsic(in::umin, divisor, most);
  Value* from = b.CreateBinaryIntrinsic(in::smax, b.CreateSub(rest, b.CreateSub(divisor, small)), b.CreateNeg(most));
  Value* scale = b.CreateTrunc(b.CreateAdd(b.CreateUDiv(b.getInt64((1U << kScale) - 1), small), one), i32);
  from = b.CreateTrunc(from, i32);
  Steps steps;
  Value* places = b.CreateAdd(splat(from), term.steps.lanes);
  places = b.CreateBinaryIntrinsic(in::smax, places, llvm::Constant::getNullValue(places->getType()));
  steps.lanes = b.CreateLShr(b.CreateMul(places, splat(scale)), kScale);
  Value* last = b.CreateBinaryIntrinsic(in::smax, b.CreateAdd(from, term.steps.last), b.getInt32(0));
  steps.last = b.CreateLShr(b.CreateMul(last, scale), kScale);
  Val result = Val::line(quotient, zero);
  if (instr.op == KOp::UDiv) {
    result.terms.push_back({steps, nullptr, false});
  } else {
    result.base = rest;
    result.terms = {term, {steps, divisor, true}};
  }
  set(instr.results[0], result);
  return true;
}

bool Emitter::can_permute(unsigned bits) const {
  if (!llvm::Triple(module_.getTargetTriple()).isX86()) return false;
  return bits == 32 || (machine_.avx512 && bits == 64);
}

// Of registers of integers, one after the other, the elements at `places` (of the same type, 0 to all of them): where
// can_permute(). One register or two.
Value* Emitter::permute(const Values& sources, Value* places) {
  auto* type = llvm::cast<llvm::FixedVectorType>(places->getType());
  const unsigned lanes = type->getNumElements(), bits = type->getScalarSizeInBits();
  if (sources.size() == 2 && !machine_.avx512) {
    Value* in_first = b.CreateICmpULT(places, b.CreateVectorSplat(lanes, b.getIntN(bits, lanes)));
    return b.CreateSelect(in_first, permute({sources[0]}, places), permute({sources[1]}, places));
  }
  if (sources.size() == 2) {
    const auto id = bits == 32 ? in::x86_avx512_vpermi2var_d_512 : in::x86_avx512_vpermi2var_q_512;
    return b.CreateIntrinsic(id, {}, {sources[0], places, sources[1]});
  }
  const auto id = bits == 64        ? in::x86_avx512_permvar_di_512
                  : machine_.avx512 ? in::x86_avx512_permvar_si_512
                                    : in::x86_avx2_permd;
  return b.CreateIntrinsic(id, {}, {sources[0], places});
}

// Elements that are at most a vector apart, as one load of all between them. Null: they are not, or the processor
// cannot permute a vector by another.
Value* Emitter::load_near(llvm::FixedVectorType* vector, Value* memory, const Val& offset, uint32_t param) {
  const unsigned bits = vector->getElementType()->getScalarSizeInBits(), width = lanes_.width;
  if (offset.terms.size() != 1 || lanes_.mask != lanes_.tail) return nullptr;
  auto* stride = llvm::dyn_cast<llvm::ConstantInt>(offset.stride);
  const Term& term = offset.terms[0];
  Value *first = offset.base, *places = term.steps.lanes, *last = term.steps.last;
  llvm::Type* i32 = b.getInt32Ty();
  if (!stride) return nullptr;
  if (row_length_ && stride->isOne() && term.negative &&
      term.times == row_length_) { // the column: at most kRow of them
    // base + lane - length * steps is base - remainder + column
    Value* length = b.CreateTrunc(row_length_, i32);
    Value* remainder = b.CreateTrunc(column_base_, i32);
    places = b.CreateSub(b.CreateAdd(splat(remainder), lane_ids(i32)), b.CreateMul(places, splat(length)));
    first = b.CreateSub(first, column_base_);
    last = b.CreateSub(length, b.getInt32(1));
  } else if (!stride->isZero() || term.times || term.negative) {
    return nullptr;
  }
  const unsigned whole = machine_.vector_bytes() * 8 / bits; // lanes of a register
  if ((width != whole && width != 2 * whole) || !can_permute(bits)) return nullptr;
  llvm::Type* element = b.getIntNTy(bits);
  auto* numbers = llvm::FixedVectorType::get(element, width);
  Value* mask = b.CreateICmpULE(lane_ids(i32), splat(last));
  Value* place = b.CreateInBoundsGEP(element, memory, first);
  auto* raw = b.CreateMaskedLoad(numbers, place, llvm::Align(bits / 8), mask, llvm::Constant::getNullValue(numbers));
  note_alias(raw, param);
  places = b.CreateZExt(places, numbers);
  if (width == whole) return b.CreateBitCast(permute({raw}, places), vector);
  auto lanes_from = [&](Value* x, unsigned from, unsigned count) {
    std::vector<int> lanes(count);
    std::iota(lanes.begin(), lanes.end(), static_cast<int>(from));
    return b.CreateShuffleVector(x, lanes);
  };
  const Values sources{lanes_from(raw, 0, whole), lanes_from(raw, whole, whole)};
  Value *low = permute(sources, lanes_from(places, 0, whole)),
        *high = permute(sources, lanes_from(places, whole, whole));
  std::vector<int> both(width);
  std::iota(both.begin(), both.end(), 0);
  Value* result = b.CreateShuffleVector(low, high, both);
  return b.CreateBitCast(result, vector);
}

// Emits a phase of which a tile is a row up to three times: for short rows as one line, or a row as one vector, and as
// `otherwise` emits it. False: it is none.
bool Emitter::short_rows(const kir::Phase& phase, const std::function<void()>& otherwise) {
  const std::optional<RowPhase> rows = Matcher(phase, definition_).match();
  if (!rows) return false;
  const Block& body = rows->loop->blocks[0];
  const auto [width, narrow] = widths(body);
  const Instr& size = *definition_[rows->length.index];
  const bool is_known = size.op == KOp::Const;
  constexpr uint64_t most_known = 16;
  const auto known = is_known ? size.imm.as<uint64_t>() : 0;
  if (is_known && (known < 2 || known > most_known)) return false;
  const unsigned lanes = is_known ? static_cast<unsigned>(std::bit_ceil(known)) : narrow; // of a row as one vector
  Value* length = is_known ? b.getInt64(known) : param_[size.param];
  Value *first = function_->getArg(1), *last = function_->getArg(2);
  // What comes before the loop over a row's elements, but for what `give` knows.
  auto before_elements = [&](const Val& row, const std::function<bool(const Instr&)>& give) {
    set(rows->row, row);
    if (rows->part.valid()) set(rows->part, Val::uniform(b.getInt64(0)));
    for (const Instr& instr : phase.body.instrs) {
      if (&instr == rows->loop) break;
      const bool is_of_parts =
          rows->part.valid() && !instr.operands.empty() && instr.operands[0] == phase.body.params[0];
      if (!is_of_parts && !give(instr)) instruction(instr);
    }
  };

  auto line = [&, width = width] {
    Value *begin = b.CreateMul(first, length), *end = b.CreateMul(last, length);
    Value* by = b.CreateBinaryIntrinsic(in::umax, length, b.getInt64(1));
    Value *more = b.CreateUDiv(b.getInt64(width), by), *further = b.CreateURem(b.getInt64(width), by);
    row_length_ = length;
    auto step = [&](const Values& at) { // the row and the column of the first lane
      const Steps steps = steps_of(at[1], by);
      Val row = Val::line(at[0], b.getInt64(0)), column = Val::line(at[1], b.getInt64(1));
      row.terms.push_back({steps, nullptr, false});
      column.terms.push_back({steps, length, true});
      column_base_ = at[1];
      before_elements(row, [](const Instr&) { return false; });
      set(body.params[0], column);
      block(body);
      Value* next = b.CreateAdd(at[1], further);
      Value* wraps = b.CreateICmpSGE(next, by);
      lanes_ = {};
      return Values{b.CreateAdd(b.CreateAdd(at[0], more), b.CreateZExt(wraps, b.getInt64Ty())),
                    b.CreateSub(next, b.CreateSelect(wraps, by, b.getInt64(0)))};
    };
    Value* whole = b.CreateAnd(b.CreateSub(end, begin), b.getInt64(~static_cast<uint64_t>(width - 1)));
    Value* rest = b.CreateAdd(begin, whole);
    Values at = loop(begin, rest, width, {first, b.getInt64(0)}, [&](Value*, const Values& carried) {
      lanes_ = {width};
      return step(carried);
    });
    loop(rest, end, width, at, [&](Value* index, const Values& carried) {
      lanes_ = {width};
      lanes_.count = b.CreateSub(end, index);
      lanes_.mask = lanes_.tail = tail_mask(lanes_.count);
      return step(carried);
    });
    row_length_ = nullptr;
  };
  auto brief = [&] {
    Counters counters(*this, phase.body, rows->row);
    lanes_ = {lanes};
    Value* mask = known == lanes ? nullptr : tail_mask(length);
    lanes_ = {};
    auto row = [&](Value* number, const Values& state) {
      before_elements(Val::uniform(number), [&](const Instr& instr) { return counters.give(instr, state); });
      lanes_ = {lanes};
      lanes_.count = mask ? length : nullptr;
      lanes_.mask = lanes_.tail = mask;
      set(body.params[0], Val::line(b.getInt64(0), b.getInt64(1)));
      block(body);
      lanes_ = {};
    };
    const Values begin = counters.begin(first);
    if (!counters.have_runs()) {
      loop(first, last, 1, begin, [&](Value* number, const Values& state) {
        row(number, state);
        return counters.next(state);
      });
      return;
    }
    // From one place where a quotient changes to the next: what rows have in common is computed once.
    Values all{first};
    all.insert(all.end(), begin.begin(), begin.end());
    Value* runs = counters.runs(begin, b.CreateSub(last, first));
    loop(b.getInt64(0), runs, 1, all, [&](Value*, const Values& carried) {
      const Values state(carried.begin() + 1, carried.end());
      Value* count = b.CreateBinaryIntrinsic(in::smin, counters.run(state), b.CreateSub(last, carried[0]));
      loop(b.getInt64(0), count, 1, {}, [&](Value* further, const Values&) {
        row(b.CreateAdd(carried[0], further), counters.within_run(state, further));
        return Values{};
      });
      Values next = counters.next(state, count);
      next.insert(next.begin(), b.CreateAdd(carried[0], count));
      return next;
    });
  };

  auto *choose = b.GetInsertBlock(), *exit = new_block("end");
  auto variant = [&](const char* name, const std::function<void()>& emit) {
    auto* begin = new_block(name);
    b.SetInsertPoint(begin);
    emit();
    b.CreateBr(exit);
    return begin;
  };
  scattered_ = 0;
  llvm::BasicBlock* as_line = has_chain(body) ? nullptr : variant("line", line);
  const int64_t longest = !as_line || scattered_ >= 100 ? 0 : scattered_ > 0 ? kSparse : std::min<int64_t>(kRow, width);
  llvm::BasicBlock *as_vector = variant("brief", brief), *as_loop = variant("rows", otherwise);
  b.SetInsertPoint(choose);
  auto at_most = [&](int64_t most) { return b.CreateICmpSLE(length, b.getInt64(static_cast<uint64_t>(most))); };
  if (as_line) {
    auto* longer = new_block("longer");
    b.CreateCondBr(at_most(longest), as_line, longer);
    b.SetInsertPoint(longer);
  }
  b.CreateCondBr(at_most(lanes), as_vector, as_loop);
  b.SetInsertPoint(exit);
  return true;
}

} // namespace tl::cpu
