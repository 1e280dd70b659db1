// Vector loops around reductions, a panel of columns at a time: sums over leading axes, and over axes between others.
//
// The loop nest "for each vector of columns: for each k" reads 64 bytes of every row. Here the loops are exchanged:
// for a panel of up to `columns` elements, rows are read one after the other, each from the panel's first column to
// its last, and the 32 lanes of the order of sums are rows of partial results beside each other. Rows of one lane are
// 32 apart; several of them are read side by side, so that the partial results are loaded and stored once for all.
// Every lane still folds its elements by ascending k: the bits are those of reduce_in_lanes.
//
// Of few rows the lanes have an element or two: there is nothing to gather in memory. Lane by lane, in the order in
// which they meet, a few vectors of columns are folded in registers.
#include "backend/cpu/emit.h"
#include "backend/cpu/lane_array.h"
#include "backend/kernel/kernel_ops.h"
#include <algorithm>
#include <set>

namespace tl::cpu {
using kir::Block;
using kir::Instr;
using kir::KOp;
using llvm::Value;

namespace {

constexpr uint64_t kLongRow = 128; // columns
constexpr int64_t kFewRows = 256;
constexpr int64_t kDepth = 6; // of the tree in which the lanes of the order meet, their leaves with it
static_assert(int64_t{1} << (kDepth - 1) == kSumLanes);
constexpr int kPartialBytes = 128 << 10; // of all partial results of a panel: they stay in the second cache

void needed_by(const Block& block, std::set<uint32_t>& values) {
  for (const Instr& instr : block.instrs) {
    for (kir::ValueId operand : instr.operands)
      values.insert(operand.index);
    for (const Block& nested : instr.blocks)
      needed_by(nested, values);
  }
  for (kir::ValueId value : block.yields)
    values.insert(value.index);
}

bool is_reduction(const Instr& instr) { return instr.op == KOp::Reduce || instr.op == KOp::ReduceChunk; }

} // namespace

// The reductions of the body and what they need of it; nothing where exchanging the loops is not possible.
std::optional<Emitter::Panel> Emitter::panel_of(const Block& body) const {
  Panel panel;
  for (const Instr& instr : body.instrs)
    if (is_reduction(instr)) panel.reductions.push_back(&instr);
  if (panel.reductions.empty()) return std::nullopt;
  std::set<uint32_t> needed;
  for (const Instr* reduction : panel.reductions) {
    const Block& element = reduction->blocks[0];
    bool whole = reduction->op == KOp::Reduce;
    if (reduction->operands != panel.reductions[0]->operands || !varying_[reduction->results[0].index] ||
        unrolled_extent(*reduction, definition_) > 0 || has_loops_or_stores(element) ||
        instruction_count(element) > 40 || (whole && element.yields.size() > 1))
      return std::nullopt;
    if (whole) {
      const Instr* extent = definition_[reduction->operands[0].index];
      if (!extent || extent->op != KOp::Const || extent->imm.as<int64_t>() > kSumChunk) return std::nullopt;
    }
    needed_by(element, needed);
    for (kir::ValueId operand : reduction->operands)
      needed.insert(operand.index);
    panel.instructions += instruction_count(element);
  }
  for (size_t i = body.instrs.size(); i-- > 0;) {
    const Instr& instr = body.instrs[i];
    bool needs = false;
    for (kir::ValueId result : instr.results)
      needs |= needed.count(result.index) != 0;
    if (!needs) continue;
    bool plain = instr.blocks.empty() && (kir::is_pure(instr.op) || instr.op == KOp::Load);
    if (!plain) return std::nullopt;
    for (kir::ValueId operand : instr.operands)
      needed.insert(operand.index);
    panel.before.push_back(&instr);
  }
  std::reverse(panel.before.begin(), panel.before.end());
  return panel;
}

// Emits the code for one panel; the accumulating itself once for many columns and once for what fits into one vector.
class PanelEmitter {
public:
  PanelEmitter(Emitter& e, const Block& body, const Emitter::Panel& panel)
      : e_(e), b_(e.b), body_(body), panel_(panel), narrow_(e.widths(body).second), wide_(2 * narrow_), single_(wide_) {
    int bytes = 0;
    for (const Instr* reduction : panel.reductions)
      bytes += LaneArray::bytes(*reduction);
    columns_ = wide_;
    while (2 * columns_ * bytes * kSumLanes <= kPartialBytes)
      columns_ *= 2;
    few_wide_ = (panel.reductions.size() == 1 && !gives_position(panel.reductions[0]->reduce) ? 2 : 1) * wide_;
    for (const Instr* reduction : panel.reductions) {
      partial_.emplace_back(e, *reduction, columns_ * kSumLanes);
      waiting_.emplace_back(e, *reduction, few_wide_ * kDepth);
    }
    side_by_side_ = panel.instructions <= 12 ? 4 : panel.instructions <= 24 ? 2 : 1;
  }

  void run(Value* lo, Value* hi) {
    auto* total = llvm::dyn_cast<llvm::ConstantInt>(b_.CreateSub(hi, lo));
    if (total && total->getSExtValue() <= static_cast<int64_t>(narrow_)) single_ = narrow_;
    const bool whole = panel_.reductions[0]->op == KOp::Reduce;
    begin_ = whole ? b_.getInt64(0) : e_.scalar(panel_.reductions[0]->operands[0]);
    end_ = e_.scalar(panel_.reductions[0]->operands[whole ? 0 : 1]);
    Value* is_few = b_.CreateAnd(b_.CreateICmpSLE(b_.CreateSub(end_, begin_), b_.getInt64(kFewRows)),
                                 b_.CreateICmpSGT(b_.CreateSub(hi, lo), b_.getInt64(single_)));
    auto few = [&] {
      few_rows(lo, hi);
      return Values{};
    };
    e_.branch(is_few, few, {});
    auto many = [&] {
      panels(lo, hi, total);
      return Values{};
    };
    e_.branch(b_.CreateNot(is_few), many, {});
  }

private:
  void panels(Value* lo, Value* hi, llvm::ConstantInt* total) {
    e_.loop(lo, hi, columns_, {}, [&](Value* first, const Values&) {
      first_ = first;
      count_ = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(hi, first), b_.getInt64(columns_));
      Value* is_narrow = b_.CreateICmpSLE(count_, b_.getInt64(single_));
      auto* after = e_.new_block("folded");
      llvm::BasicBlock* sides[2] = {e_.new_block("one_vector"), e_.new_block("vectors")};
      if (total)
        b_.CreateBr(sides[total->getSExtValue() > static_cast<int64_t>(single_)]);
      else
        b_.CreateCondBr(is_narrow, sides[0], sides[1]);
      for (int side = 0; side < 2; ++side) {
        b_.SetInsertPoint(sides[side]);
        if (total && side != (total->getSExtValue() > static_cast<int64_t>(single_))) {
          b_.CreateUnreachable();
          continue;
        }
        one_vector_ = side == 0;
        one_panel();
        b_.CreateBr(after);
      }
      b_.SetInsertPoint(after);
      return Values{};
    });
  }

  void few_rows(Value* lo, Value* hi) {
    Value* main = b_.CreateSub(hi, b_.CreateAnd(b_.CreateSub(hi, lo), b_.getInt64(few_wide_ - 1)));
    e_.loop(lo, main, few_wide_, {}, [&](Value* column, const Values&) {
      fold_in_registers(few_wide_, column, nullptr);
      return Values{};
    });
    Value *rest = b_.CreateSub(hi, main), *is_narrow = b_.CreateICmpSLE(rest, b_.getInt64(narrow_));
    auto masked = [&](unsigned width) {
      return [this, width, main, rest] {
        e_.lanes_ = {width, nullptr};
        fold_in_registers(width, main, e_.tail_mask(rest));
        return Values{};
      };
    };
    e_.branch(b_.CreateAnd(b_.CreateICmpSGT(rest, b_.getInt64(0)), is_narrow), masked(narrow_), {});
    e_.branch(b_.CreateNot(is_narrow), masked(few_wide_), {});
  }

  // All rows of as many columns as `width` says.
  void fold_in_registers(unsigned width, Value* column, Value* mask) {
    e_.lanes_ = {width, mask};
    e_.set(body_.params[0], Val::line(column, b_.getInt64(1)));
    for (const Instr* before : panel_.before)
      e_.instruction(*before);
    // Processors follow a few streams by themselves, not one for each row.
    e_.ahead_ = 2;
    Partials folded = tree(false);
    e_.ahead_ = 0;
    if (Value* nan = folded[0].nan) { // where there is any, all is done again
      Values values = e_.branch(e_.any(nan), [&] { return values_of(tree(true)); }, values_of(folded));
      folded = partials_of(values);
    }
    Value* not_empty = panel_.reductions[0]->op == KOp::Reduce ? b_.CreateICmpSGT(end_, begin_) : nullptr;
    finish(folded, not_empty);
    e_.lanes_ = {};
  }

  using Partials = std::vector<Partial>;
  // Without what says whether there was a NaN.
  static Values values_of(const Partials& partials) {
    Values values;
    for (const Partial& x : partials) {
      values.push_back(x.v);
      if (x.index) values.push_back(x.index);
    }
    return values;
  }
  Partials partials_of(const Values& values) const {
    Partials partials;
    for (size_t i = 0, next = 0; i < panel_.reductions.size(); ++i) {
      partials.push_back({values[next++]});
      if (gives_position(panel_.reductions[i]->reduce)) partials.back().index = values[next++];
    }
    return partials;
  }

  // The lanes of the order one after the other, as the leaves of the tree in which they meet, from the left: what is
  // folded from one waits until its sibling is there, too. Unless `exact`, floats are compared as if there were no NaN,
  // and the first result's `nan` says in which columns there was any (null: nothing is compared).
  Partials tree(bool exact) {
    const unsigned width = e_.lanes_.width;
    Value *zero = b_.getInt64(0), *one = b_.getInt64(1);
    auto is_compared = [&](const Instr& instr) {
      return !exact && is_float(instr.dtype) && (instr.reduce == ReduceOp::Min || instr.reduce == ReduceOp::Max);
    };
    auto fold = [&](size_t i, Partial x, Partial y, bool ascending) -> Partial {
      const Instr& instr = *panel_.reductions[i];
      if (!is_compared(instr)) return e_.combine(instr, x, y, ascending);
      const bool least = instr.reduce == ReduceOp::Min;
      return {b_.CreateSelect(least ? b_.CreateFCmpOLT(y.v, x.v) : b_.CreateFCmpOGT(y.v, x.v), y.v, x.v)};
    };
    bool finds_nan = false;
    Partials none;
    for (const Instr* reduction : panel_.reductions) {
      none.push_back(e_.identity(*reduction, true));
      finds_nan |= is_compared(*reduction);
    }
    auto place = [&](Value* level) { return b_.CreateMul(level, b_.getInt64(width)); };
    // Of lanes that are used, up to a power of two: what is beyond has nothing to meet.
    Value* used = at_most(b_.CreateSub(end_, begin_), kSumLanes);
    Value* unused_bits = b_.CreateBinaryIntrinsic(
        llvm::Intrinsic::ctlz, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(used, one), zero),
        b_.getFalse());
    Value* leaves = b_.CreateShl(one, b_.CreateSub(b_.getInt64(64), unused_bits));
    Value* shift = at_most(unused_bits, 63); // of one leaf, any
    Values start{zero};
    if (finds_nan) start.push_back(e_.splat(b_.getFalse()));
    auto leaf = [&](Value* number, const Values& before) -> Values {
      Value* lane = b_.CreateLShr(b_.CreateUnaryIntrinsic(llvm::Intrinsic::bitreverse, number), shift);
      Value* nan = finds_nan ? before[1] : nullptr;
      auto elements_at = [&](Value* k) {
        Partials y;
        for (const Instr* reduction : panel_.reductions) {
          y.push_back(e_.element(*reduction, Val::uniform(k), nullptr, true));
          if (is_compared(*reduction)) nan = b_.CreateOr(nan, b_.CreateFCmpUNO(y.back().v, y.back().v));
        }
        return y;
      };
      auto with_nan = [&](Values values) {
        if (finds_nan) values.push_back(nan);
        return values;
      };
      auto own = [&] {
        Value* first = b_.CreateAdd(begin_, lane);
        Values init = with_nan(values_of(elements_at(first)));
        return e_.loop(b_.CreateAdd(first, b_.getInt64(kSumLanes)), end_, kSumLanes, init,
                       [&](Value* k, const Values& now) {
                         if (finds_nan) nan = now.back();
                         Partials x = partials_of(now);
                         const Partials y = elements_at(k);
                         for (size_t i = 0; i < x.size(); ++i)
                           x[i] = fold(i, x[i], y[i], true);
                         return with_nan(values_of(x));
                       });
      };
      Values now = e_.branch(b_.CreateICmpSLT(lane, b_.CreateSub(end_, begin_)), own, with_nan(values_of(none)));
      if (finds_nan) nan = now.back(), now.pop_back();
      // As many siblings are complete as the number of the leaf ends with ones.
      Value* complete = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, b_.CreateNot(number), b_.getFalse());
      now.push_back(before[0]);
      now = e_.loop(zero, complete, 1, now, [&](Value*, const Values& carried) {
        Value* level = b_.CreateSub(carried.back(), one);
        Partials x = partials_of(carried);
        for (size_t i = 0; i < x.size(); ++i)
          x[i] = fold(i, waiting_[i].read(place(level), true), x[i], false);
        Values next = values_of(x);
        next.push_back(level);
        return next;
      });
      const Partials x = partials_of(now);
      for (size_t i = 0; i < x.size(); ++i)
        waiting_[i].write(place(now.back()), x[i]);
      return with_nan({b_.CreateAdd(now.back(), one)});
    };
    const Values after = e_.loop(zero, leaves, 1, start, leaf);
    Partials folded;
    for (const LaneArray& waiting : waiting_)
      folded.push_back(waiting.read(zero, true));
    if (finds_nan) folded[0].nan = after[1];
    return folded;
  }

  Value* rounded_down(Value* x, int64_t to) { return b_.CreateAnd(x, b_.getInt64(~static_cast<uint64_t>(to - 1))); }
  Value* at_most(Value* x, int64_t bound) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, b_.getInt64(static_cast<uint64_t>(bound)));
  }

  // at(column) for all columns of the panel, in lanes.
  void each_column(const std::function<void(Value* column)>& at) {
    Value* zero = b_.getInt64(0);
    auto run = [&](unsigned width, Value* column, Value* mask) {
      e_.lanes_ = {width, mask};
      e_.set(body_.params[0], Val::line(b_.CreateAdd(first_, column), b_.getInt64(1)));
      at(column);
      e_.lanes_ = {};
      return Values{};
    };
    if (one_vector_) {
      run(single_, zero, mask_);
      return;
    }
    e_.loop(zero, main_, wide_, {}, [&](Value* column, const Values&) { return run(wide_, column, nullptr); });
    e_.loop(main_, count_, narrow_, {}, [&](Value* column, const Values&) {
      e_.lanes_ = {narrow_, nullptr};
      return run(narrow_, column, e_.tail_mask(b_.CreateSub(count_, column)));
    });
  }

  // The partial results in [begin, end), both multiples of the pitch: what lies between columns may be folded as well.
  void each_partial(Value* begin, Value* end, const std::function<void(size_t i, Value* place)>& at) {
    unsigned width = one_vector_ ? single_ : wide_;
    e_.loop(begin, end, width, {}, [&](Value* place, const Values&) -> Values {
      e_.lanes_ = {width, nullptr};
      for (size_t i = 0; i < partial_.size(); ++i)
        at(i, place);
      e_.lanes_ = {};
      return {};
    });
  }

  // The elements of `rows` rows, k and every 32nd after it, into the partial results of their lane; of the first rows
  // there are none before.
  void fold_rows(Value* k, Value* lane, int64_t rows) {
    Value* row = b_.CreateMul(lane, pitch_);
    Value* is_begun = b_.CreateICmpSGE(k, b_.CreateAdd(begin_, b_.getInt64(kSumLanes)));
    each_column([&](Value* column) {
      for (const Instr* before : panel_.before)
        e_.instruction(*before);
      Value* place = b_.CreateAdd(row, column);
      std::vector<Partial> now;
      for (const LaneArray& lanes : partial_)
        now.push_back(lanes.read_if(is_begun, place));
      for (int64_t r = 0; r < rows; ++r)
        for (size_t i = 0; i < now.size(); ++i) {
          const Instr& reduction = *panel_.reductions[i];
          Val at = Val::uniform(b_.CreateAdd(k, b_.getInt64(static_cast<uint64_t>(r * kSumLanes))));
          now[i] = e_.combine(reduction, now[i], e_.element(reduction, at, nullptr, true), true);
        }
      for (size_t i = 0; i < now.size(); ++i)
        partial_[i].write(place, now[i]);
    });
  }

  void one_panel() {
    Value *zero = b_.getInt64(0), *one = b_.getInt64(1);
    mask_ = nullptr;
    if (one_vector_) {
      pitch_ = b_.getInt64(single_);
      e_.lanes_ = {single_, nullptr};
      mask_ = e_.tail_mask(count_);
      e_.lanes_ = {};
    } else {
      pitch_ = rounded_down(b_.CreateAdd(count_, b_.getInt64(wide_ - 1)), wide_);
      main_ = rounded_down(count_, wide_);
    }
    const bool whole = panel_.reductions[0]->op == KOp::Reduce;
    Value *begin = begin_, *end = end_;
    Value* length = b_.CreateSub(end, begin);
    Value* used = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, at_most(length, kSumLanes), one);
    each_partial(zero, b_.CreateSelect(b_.CreateICmpSGT(length, zero), zero, pitch_), // of no rows
                 [&](size_t i, Value* place) { partial_[i].write(place, e_.identity(*panel_.reductions[i], true)); });
    Value* rest = begin;
    if (side_by_side_ > 1 && !one_vector_) {
      // Short rows are memory that is read from one end to the other: not in several places at once.
      Value* is_long = b_.CreateICmpSGE(count_, b_.getInt64(kLongRow));
      Value* groups = rounded_down(length, side_by_side_ * kSumLanes);
      rest = b_.CreateAdd(begin, b_.CreateSelect(is_long, groups, zero));
      e_.loop(begin, rest, side_by_side_ * kSumLanes, {}, [&](Value* group, const Values&) {
        return e_.loop(zero, b_.getInt64(kSumLanes), 1, {}, [&](Value* lane, const Values&) -> Values {
          fold_rows(b_.CreateAdd(group, lane), lane, side_by_side_);
          return {};
        });
      });
    }
    e_.loop(rest, end, 1, {}, [&](Value* k, const Values&) -> Values {
      fold_rows(k, b_.CreateAnd(b_.CreateSub(k, begin), b_.getInt64(kSumLanes - 1)), 1);
      return {};
    });
    // Lanes meet by halving, as far as they are used: all of them in registers.
    Value* all_used = b_.CreateICmpEQ(used, b_.getInt64(kSumLanes));
    each_partial(zero, b_.CreateSelect(all_used, pitch_, zero), [&](size_t i, Value* place) {
      std::vector<Partial> lanes;
      for (int64_t lane = 0; lane < kSumLanes; ++lane)
        lanes.push_back(partial_[i].read(b_.CreateAdd(place, b_.CreateMul(b_.getInt64(lane), pitch_)), true));
      for (size_t step = kSumLanes / 2; step > 0; step /= 2)
        for (size_t lane = 0; lane < step; ++lane)
          lanes[lane] = e_.combine(*panel_.reductions[i], lanes[lane], lanes[lane + step]);
      partial_[i].write(place, lanes[0]);
    });
    Value* left = b_.CreateSelect(all_used, one, used);
    for (int64_t step = kSumLanes / 2; step > 0; step /= 2) {
      Value* distance = b_.CreateMul(b_.getInt64(static_cast<uint64_t>(step)), pitch_);
      each_partial(zero, b_.CreateSub(b_.CreateMul(left, pitch_), distance), [&](size_t i, Value* place) {
        Partial other = partial_[i].read(b_.CreateAdd(place, distance), true);
        partial_[i].write(place, e_.combine(*panel_.reductions[i], partial_[i].read(place, true), other));
      });
      left = at_most(left, step);
    }
    results(whole ? b_.CreateICmpSGT(length, zero) : nullptr);
  }

  void results(Value* taken) {
    each_column([&](Value* column) {
      Partials folded;
      for (const LaneArray& partial : partial_)
        folded.push_back(partial.read(column, true));
      finish(folded, taken);
    });
  }

  // The loop's body, with what its reductions came to.
  void finish(const Partials& folded, Value* taken) {
    size_t next = 0;
    for (const Instr& instr : body_.instrs) {
      if (!is_reduction(instr)) {
        e_.instruction(instr);
        continue;
      }
      e_.finish_reduce(instr, e_.with_first(instr, folded[next++], begin_), taken, true);
    }
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const Block& body_;
  const Emitter::Panel& panel_;
  const unsigned narrow_, wide_; // lanes of a vector with a mask, and of one without
  unsigned single_;              // where the columns fit into one vector
  int64_t columns_ = 0;          // of a panel at most
  int64_t side_by_side_ = 0;     // rows
  int64_t few_wide_ = 0;         // columns that are folded in registers
  std::vector<LaneArray> partial_, waiting_;
  bool one_vector_ = false; // the columns fit into one
  Value *first_ = nullptr, *count_ = nullptr, *main_ = nullptr, *mask_ = nullptr;
  Value* pitch_ = nullptr;                  // of a lane's partial results
  Value *begin_ = nullptr, *end_ = nullptr; // rows
};

void Emitter::panel_for(const Instr& instr, const Panel& panel) {
  PanelEmitter(*this, instr.blocks[0], panel).run(scalar(instr.operands[0]), scalar(instr.operands[1]));
}

} // namespace tl::cpu
