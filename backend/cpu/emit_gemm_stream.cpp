// One row of C: B is read once, as it lies, and nothing is packed.
#include "backend/cpu/gemm_emitter.h"
#include "backend/cpu/transpose.h"

namespace tl::cpu {

void GemmEmitter::emit_stream(const std::string& symbol) {
  begin(symbol);
  Value* block_columns = e.formula(plan.block_columns);
  sums_row = e.formula(plan.sums_row);
  Value* column_blocks = e.formula(plan.column_blocks);
  Value* chunk_sums = local;
  sums = b.CreateInBoundsGEP(b.getInt8Ty(), local, e.formula(plan.panel_bytes), "sums");
  i0 = number(0);
  rows = number(1);
  repeat(e.function_->getArg(1), e.function_->getArg(2), 1, [&](Value* tile) {
    which_batch = b.CreateUDiv(tile, column_blocks);
    j0 = multiply(b.CreateURem(tile, column_blocks), block_columns);
    columns = minimum(block_columns, b.CreateSub(n, j0));
    const Values position = positions(batch_axes, which_batch);
    c_start = offset(batch_axes, position, C);
    if (!plan.scattered) c_start = b.CreateAdd(c_start, j0);
    Value* a = at(a_start_of_all, offset(batch_axes, position, A));
    Value* source = b.CreateAdd(offset(batch_axes, position, B), multiply(j0, b_col));
    Value* c = plan.in_c ? at(e.pointer(gemm.c), c_start) : sums;
    if (plan.b_contiguous)
      stream_rows(a, source, c, chunk_sums);
    else
      stream_columns(a, source, c, chunk_sums);
    if (!plan.in_c) epilogue(whole_tile(), [&](Value* i, Value* j) { return sum_of_tile(i, j); });
  });
  e.end_function();
}

// A column beyond the last is the last. As many streams as a vector has lanes: of more, memory does not see where they
// go, and registers do not hold two blocks.
void GemmEmitter::stream_columns(Value* a, Value* source, Value* c, Value* scratch) {
  const auto count = static_cast<size_t>(plan.lanes);
  lanes(plan.lanes);
  repeat(number(0), columns, plan.lanes, [&](Value* j) {
    Value* last = b.CreateSub(b.CreateSub(columns, number(1)), j);
    Values column; // where each begins
    for (int64_t i = 0; i < plan.lanes; ++i)
      column.push_back(
          at(b_start_of_all, b.CreateAdd(source, multiply(b.CreateAdd(j, minimum(number(i), last)), b_col))));
    // Processors follow long streams by themselves; short ones end before they do.
    Value *next_columns = multiply(number(plan.lanes), b_col), *is_short = b.CreateICmpSLE(k, number(kContractChunk));
    auto block_at = [&](Value* kk, Value* mask, bool prefetch) {
      Values places;
      for (Value* each : column) {
        places.push_back(at(each, kk));
        if (prefetch) e.prefetch(at(places.back(), next_columns), 2);
      }
      return load_transposed(b, element, places, [](llvm::Instruction*) {}, mask);
    };
    Value* first = plan.a_contiguous ? chunks_by_lanes(b.CreateAdd(last, number(1))) : number(0);
    Value* start = nothing_before();
    if (plan.a_contiguous) {
      Value* from = at(b_start_of_all, b.CreateAdd(source, multiply(j, b_col)));
      start = long_columns(a, from, minimum(last, number(plan.lanes - 1)), first, scratch);
    }
    Value* pairs = b.CreateSub(k, b.CreateURem(b.CreateSub(k, first), number(2 * kContractChunk)));
    start = e.loop(first, pairs, 2 * kContractChunk, {start}, [&](Value* k0, const Values& before) {
      const Values begins{k0, b.CreateAdd(k0, number(kContractChunk))};
      std::vector<Values> places(2);
      for (size_t i = 0; i < 2; ++i)
        for (Value* each : column)
          places[i].push_back(at(each, begins[i]));
      const Values two =
          two_chains(places, [&](size_t i, Value* kk) { return factor_of(a, b.CreateAdd(begins[i], kk)); });
      return Values{add_chunk(add_chunk(before[0], two[0]), two[1])};
    })[0];
    first = pairs;
    // After those there may be no chunk left; of no chunk at all one is as good as empty.
    Value* to = b.CreateSelect(b.CreateICmpSGT(k, number(0)), k, number(1));
    Value* total = e.loop(first, to, kContractChunk, {start}, [&](Value* k0, const Values& before) {
      Value* end = minimum(k, b.CreateAdd(k0, number(kContractChunk)));
      Value* whole = b.CreateAdd(k0, b.CreateAnd(b.CreateSub(end, k0), number(-plan.lanes)));
      auto blocks = [&](const Values& from, bool prefetch) {
        return e.loop(k0, whole, plan.lanes, from, [&](Value* kk, const Values& now) {
          Values factors;
          for (size_t r = 0; r < count; ++r)
            factors.push_back(factor_of(a, b.CreateAdd(kk, number(static_cast<int64_t>(r)))));
          const Values x = block_at(kk, nullptr, prefetch);
          Value* sum = now[0];
          for (size_t r = 0; r < count; ++r)
            sum = add_product(factors[r], x[r], sum);
          return Values{sum};
        });
      };
      Values here{llvm::Constant::getNullValue(vector)};
      here = e.branch(is_short, [&] { return blocks(here, true); }, here);
      here = e.branch(b.CreateNot(is_short), [&] { return blocks(here, false); }, here);
      auto rest = [&] { // a block that ends before it is full
        const Values x = block_at(whole, e.tail_mask(b.CreateSub(end, whole)), false);
        std::function<Values(size_t, Value*)> from = [&](size_t r, Value* now) -> Values {
          Value* kk = b.CreateAdd(whole, number(static_cast<int64_t>(r)));
          Value* next = add_product(factor_of(a, kk), x[r], now);
          if (r + 2 >= count) return {next};
          return e.branch(b.CreateICmpSLT(b.CreateAdd(kk, number(1)), end), [&] { return from(r + 1, next); }, {next});
        };
        return from(0, here[0]);
      };
      here = e.branch(b.CreateICmpSLT(whole, end), rest, here);
      return Values{add_chunk(before[0], here[0])};
    })[0];
    b.CreateMaskedStore(total, at(c, j), align, e.tail_mask(b.CreateAdd(last, number(1))));
  });
  lanes(0);
}

Values GemmEmitter::two_chains(const std::vector<Values>& places, const FactorAt& factor) {
  Value* zero = llvm::Constant::getNullValue(vector);
  return e.loop(number(0), number(kContractChunk), plan.lanes, {zero, zero}, [&](Value* kk, const Values& before) {
    Values sums = before;
    for (size_t i = 0; i < places.size(); ++i) {
      Values here;
      for (Value* place : places[i])
        here.push_back(at(place, kk));
      for (size_t done = 0, q = 0; done < here.size(); ++q)
        for (Value* x : load_transposed_part(b, element, here, q)) {
          sums[i] = add_product(factor(i, b.CreateAdd(kk, number(static_cast<int64_t>(done)))), x, sums[i]);
          ++done;
        }
    }
    return sums;
  });
}

Value* GemmEmitter::chunks_by_lanes(Value* columns) {
  const int64_t beside = plan.lanes * 2 / chunks_at_once();
  Value *all = b.CreateUDiv(k, number(kContractChunk)), *rest = b.CreateURem(all, number(chunks_at_once()));
  // In vectors: two for so many columns, and one to pack A. Else each chunk is one.
  Value* cost = b.CreateAdd(multiply(ceiling(columns, beside), number(2)), number(1));
  Value* whole = b.CreateSelect(b.CreateICmpSLT(cost, number(chunks_at_once())), b.CreateSub(all, rest), number(0));
  return multiply(b.CreateSelect(b.CreateICmpSLT(cost, rest), all, whole), number(kContractChunk));
}

Value* GemmEmitter::long_columns(Value* a, Value* column, Value* last, Value* end, Value* scratch) {
  const int64_t group = chunks_at_once(), each = group / 2, beside = plan.lanes / each;
  Value* chunk_sums = at(scratch, number(group * kContractChunk)); // [chunk][column]
  auto group_of = [&](Value* k0, const Values& before) -> Values {
    Value *here = b.CreateUDiv(b.CreateSub(end, k0), number(kContractChunk)), *final = b.CreateSub(here, number(1));
    auto chunk_of = [&](Value* from, int64_t chunk) {
      return at(from, b.CreateAdd(k0, multiply(minimum(number(chunk), final), number(kContractChunk))));
    };
    Values of_a;
    for (int64_t lane = 0; lane < plan.lanes; ++lane)
      of_a.push_back(chunk_of(a, lane % group));
    std::vector<int> once;
    for (int64_t chunk = 0; chunk < group; ++chunk)
      once.push_back(static_cast<int>(chunk));
    repeat(number(0), number(kContractChunk), plan.lanes, [&](Value* kk) {
      Values places;
      for (Value* place : of_a)
        places.push_back(at(place, kk));
      Value* to = at(scratch, multiply(kk, number(group)));
      for (Value* x : load_transposed(b, element, places, [](llvm::Instruction*) {})) {
        b.CreateAlignedStore(b.CreateShuffleVector(x, once), to, align);
        to = at(to, number(group));
      }
    });
    std::vector<int> again;
    for (int64_t lane = 0; lane < plan.lanes; ++lane)
      again.push_back(static_cast<int>(lane % each));
    auto* part = llvm::FixedVectorType::get(element, static_cast<unsigned>(each));
    repeat(number(0), b.CreateAdd(last, number(1)), beside, [&](Value* j) {
      std::vector<Values> places(2);
      for (int64_t i = 0; i < 2; ++i)
        for (int64_t lane = 0; lane < plan.lanes; ++lane) {
          Value* which = minimum(b.CreateAdd(j, number(lane / each)), last);
          places[static_cast<size_t>(i)].push_back(
              chunk_of(at(column, multiply(which, b_col)), i * each + lane % each));
        }
      const Values sums = two_chains(places, [&](size_t i, Value* kk) {
        Value* place = b.CreateAdd(multiply(kk, number(group)), number(static_cast<int64_t>(i) * each));
        return b.CreateShuffleVector(b.CreateAlignedLoad(part, at(scratch, place), align), again);
      });
      for (int64_t chunk = 0; chunk < group; ++chunk) {
        std::vector<int> of_chunk;
        for (int64_t which = 0; which < beside; ++which)
          of_chunk.push_back(static_cast<int>(which * each + chunk % each));
        Value* place = at(chunk_sums, b.CreateAdd(j, number(chunk * plan.lanes)));
        b.CreateAlignedStore(b.CreateShuffleVector(sums[static_cast<size_t>(chunk / each)], of_chunk), place, align);
      }
    });
    return {e.loop(number(0), minimum(here, number(group)), 1, before, [&](Value* chunk, const Values& now) -> Values {
      Value* sum = b.CreateAlignedLoad(vector, at(chunk_sums, multiply(chunk, number(plan.lanes))), align);
      return {add_chunk(now[0], sum)};
    })[0]};
  };
  return e.loop(number(0), end, group * kContractChunk, {nothing_before()}, group_of)[0];
}

void GemmEmitter::stream_rows(Value* a, Value* source, Value* c, Value* chunk_sums) {
  constexpr int64_t rows_at_once = 8;
  lanes(plan.lanes);
  auto each_vector = [&](const std::function<void(Value*, Value*)>& body) { // at column, mask or null
    Value* whole = b.CreateAnd(columns, number(-plan.lanes));
    repeat(number(0), whole, plan.lanes, [&](Value* j) { body(j, nullptr); });
    repeat(whole, columns, plan.lanes, [&](Value* j) { body(j, e.tail_mask(b.CreateSub(columns, j))); });
  };
  auto add_rows = [&](Value* kk, int64_t count) {
    Values factors, row;
    for (int64_t r = 0; r < count; ++r) {
      Value* at_row = b.CreateAdd(kk, number(r));
      factors.push_back(factor_of(a, at_row));
      Value* place = is_even(B) ? multiply(at_row, b_row) : from_table(b_table, at_row);
      row.push_back(at(b_start_of_all, b.CreateAdd(source, place)));
    }
    each_vector([&](Value* j, Value* mask) {
      Value* sum = b.CreateAlignedLoad(vector, at(chunk_sums, j), align);
      for (size_t r = 0; r < row.size(); ++r) {
        Value* from = at(row[r], j);
        Value* x = mask ? b.CreateMaskedLoad(vector, from, align, mask, llvm::Constant::getNullValue(vector))
                        : static_cast<Value*>(b.CreateAlignedLoad(vector, from, align));
        sum = add_product(factors[r], x, sum);
      }
      b.CreateAlignedStore(sum, at(chunk_sums, j), align);
    });
  };
  repeat(number(0), maximum(k, number(1)), kContractChunk, [&](Value* k0) {
    Value* end = minimum(k, b.CreateAdd(k0, number(kContractChunk)));
    Value* whole = b.CreateAdd(k0, b.CreateAnd(b.CreateSub(end, k0), number(-rows_at_once)));
    each_vector([&](Value* j, Value*) {
      b.CreateAlignedStore(llvm::Constant::getNullValue(vector), at(chunk_sums, j), align);
    });
    repeat(k0, whole, rows_at_once, [&](Value* kk) { add_rows(kk, rows_at_once); });
    repeat(whole, end, 1, [&](Value* kk) { add_rows(kk, 1); });
    Value* first = b.CreateICmpEQ(k0, number(0));
    each_vector([&](Value* j, Value* mask) {
      Value* wanted = b.CreateNot(e.splat(first));
      if (mask) wanted = b.CreateAnd(wanted, mask);
      Value* before = b.CreateMaskedLoad(vector, at(c, j), align, wanted, nothing_before());
      Value* total = add_chunk(before, b.CreateAlignedLoad(vector, at(chunk_sums, j), align));
      if (mask)
        b.CreateMaskedStore(total, at(c, j), align, mask);
      else
        b.CreateAlignedStore(total, at(c, j), align);
    });
  });
  lanes(0);
}

} // namespace tl::cpu
