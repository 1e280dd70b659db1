#include "backend/kernel/loops.h"
#include <cmath>
#include <set>

namespace tl::kir {
namespace {

// The values of constants, and how often loops run.
class Trips {
public:
  explicit Trips(const Kernel& kernel) {
    for (const Phase& p : kernel.phases)
      constants(p.body);
  }
  std::optional<double> count(ValueId v) const {
    auto it = constants_.find(v.index);
    return it == constants_.end() ? std::nullopt : std::optional(static_cast<double>(it->second));
  }
  std::optional<double> between(ValueId lo, ValueId hi) const {
    const auto a = count(lo), b = count(hi);
    return a && b ? std::optional(std::max(0.0, *b - *a)) : std::nullopt;
  }

private:
  void constants(const Block& b) {
    for (const Instr& instr : b.instrs) {
      if (instr.op == KOp::Const && instr.dtype == DType::I64)
        constants_[instr.results[0].index] = instr.imm.as<int64_t>();
      for (const Block& nested : instr.blocks)
        constants(nested);
    }
  }
  std::map<uint32_t, int64_t> constants_;
};

constexpr double kLanes = 16, kUnknownTrips = 64;

// Follows what depends on the index of a vector loop.
class Inspector {
public:
  explicit Inspector(const Trips& trips) : trips_(trips) {}

  Findings findings;

  void vary(ValueId v) {
    varying_.insert(v.index);
    side_by_side_.insert(v.index);
  }

  // `times`: how often the block runs in each lane of the vector loop around it.
  void block(const Block& b, bool in_vector, double times) {
    for (const Instr& instr : b.instrs) {
      bool varies = false;
      for (ValueId v : instr.operands)
        varies |= in_vector && varying_.count(v.index);
      double inner = times;
      switch (instr.op) {
      case KOp::UDiv:
      case KOp::URem: findings.divisions |= varies; break;
      case KOp::Load:
      case KOp::Store: {
        const bool apart =
            in_vector && varying_.count(instr.operands[0].index) && !side_by_side_.count(instr.operands[0].index);
        findings.gathers |= instr.op == KOp::Load && apart;
        if (in_vector) findings.traffic += times * (apart ? kLanes : 1);
        break;
      }
      case KOp::Add:
      case KOp::Sub: {
        bool left = side_by_side_.count(instr.operands[0].index), right = varying_.count(instr.operands[1].index);
        if (instr.op == KOp::Add && !left)
          left = side_by_side_.count(instr.operands[1].index), right = varying_.count(instr.operands[0].index);
        if (left && !right) side_by_side_.insert(instr.results[0].index);
        break;
      }
      case KOp::For:
        if (instr.vector) {
          vary(instr.blocks[0].params[0]);
          const double lanes = std::max(1.0, trips_.between(instr.operands[0], instr.operands[1]).value_or(kLanes));
          block(instr.blocks[0], true, std::ceil(lanes / kLanes) * kLanes / lanes);
          continue;
        }
        for (size_t i = 0; i < 3; ++i)
          findings.nonuniform |= in_vector && varying_.count(instr.operands[i].index);
        varies = in_vector;
        inner *= trips_.between(instr.operands[0], instr.operands[1]).value_or(kUnknownTrips);
        break;
      case KOp::Reduce:
      case KOp::ReduceChunk:
      case KOp::Contract:
        findings.nonuniform |= varies;
        varies = in_vector;
        inner *= instr.op == KOp::ReduceChunk ? kUnknownTrips : trips_.count(instr.operands[0]).value_or(kUnknownTrips);
        break;
      case KOp::While:
        inner *= kUnknownTrips;
        varies = in_vector;
        break;
      case KOp::If: varies = in_vector; break;
      default: break;
      }
      findings.folds |= in_vector && !instr.blocks.empty() && instr.op != KOp::If;
      for (const Block& nested : instr.blocks) {
        // Outside of vector loops the elements of a Reduce are lanes.
        bool lanes = !in_vector && (instr.op == KOp::Reduce || instr.op == KOp::ReduceChunk);
        if (lanes) vary(nested.params[0]);
        // Carried values may differ between lanes; the index of a counted loop does not.
        bool counted = instr.op == KOp::For || instr.op == KOp::Reduce || instr.op == KOp::ReduceChunk ||
                       instr.op == KOp::Contract;
        for (size_t i = counted ? 1 : 0; i < nested.params.size(); ++i)
          if (in_vector) varying_.insert(nested.params[i].index);
        block(nested, in_vector || lanes, inner);
      }
      if (varies)
        for (ValueId v : instr.results)
          varying_.insert(v.index);
    }
  }

private:
  const Trips& trips_;
  std::set<uint32_t> varying_, side_by_side_; // of these: index + something that is the same for all
};

// Nanoseconds, roughly: enough to decide how many tiles are worth a task.
class CostModel {
public:
  explicit CostModel(const Kernel& kernel) : trips_(kernel) {}

  double block(const Block& b, bool vector, double unknown) const {
    double cost = 0;
    for (const Instr& instr : b.instrs) {
      double inner = 0;
      bool folds = instr.op == KOp::Reduce || instr.op == KOp::ReduceChunk || instr.op == KOp::Contract;
      for (const Block& nested : instr.blocks)
        inner += block(nested, vector || instr.vector || folds, unknown);
      switch (instr.op) {
      case KOp::Const:
      case KOp::Arg: break;
      case KOp::Load:
      case KOp::Store: cost += vector ? 0.25 : 1; break;
      case KOp::Div:
      case KOp::Sqrt: cost += vector ? 0.4 : 3; break;
      case KOp::UDiv:
      case KOp::URem:
      case KOp::FloorDivInt:
      case KOp::ModInt: cost += vector ? 2 : 5; break;
      case KOp::For: cost += inner * trips_.between(instr.operands[0], instr.operands[1]).value_or(unknown); break;
      case KOp::Reduce:
      case KOp::Contract: cost += inner * trips_.count(instr.operands[0]).value_or(unknown); break;
      case KOp::ReduceChunk: cost += inner * static_cast<double>(kSumChunk); break;
      case KOp::CopyTransposed:
        cost += 0.5 * trips_.count(instr.operands[2]).value_or(64) * trips_.count(instr.operands[3]).value_or(64);
        break;
      case KOp::Scatter:
      case KOp::While: cost += inner * 100; break;
      case KOp::If: cost += inner; break;
      default: cost += vector ? 0.05 : 0.4; break;
      }
    }
    return cost;
  }

private:
  Trips trips_;
};

SizeFormula binary(SizeFormula a, const SizeFormula& b, SizeFormula::Op op) {
  a.steps.insert(a.steps.end(), b.steps.begin(), b.steps.end());
  a.steps.push_back({op});
  return a;
}

std::optional<int64_t> constant_of(const SizeFormula& f) {
  if (f.steps.size() == 1 && f.steps[0].op == SizeFormula::Op::Const) return f.steps[0].value;
  return std::nullopt;
}

} // namespace

SizeFormula times(SizeFormula a, const SizeFormula& b) {
  auto x = constant_of(a), y = constant_of(b);
  if (x && y) return SizeFormula::constant(*x * *y);
  if (y == 1) return a;
  if (x == 1) return b;
  return binary(std::move(a), b, SizeFormula::Op::Mul);
}

SizeFormula at_least(SizeFormula a, const SizeFormula& b) {
  auto x = constant_of(a), y = constant_of(b);
  if (x && y) return SizeFormula::constant(std::max(*x, *y));
  return binary(std::move(a), b, SizeFormula::Op::Max);
}
SizeFormula at_least_one(SizeFormula a) { return at_least(std::move(a), SizeFormula::constant(1)); }

SizeFormula minus(SizeFormula a, const SizeFormula& b) { return binary(std::move(a), b, SizeFormula::Op::Sub); }
SizeFormula at_most(SizeFormula a, const SizeFormula& b) { return binary(std::move(a), b, SizeFormula::Op::Min); }
SizeFormula at_most_one(SizeFormula a) { return at_most(std::move(a), SizeFormula::constant(1)); }

SizeFormula floor_div(SizeFormula a, const SizeFormula& b) {
  return binary(std::move(a), b, SizeFormula::Op::FloorDiv);
}

SizeFormula is_at_most(SizeFormula a, int64_t bound) {
  SizeFormula whole = floor_div(std::move(a), SizeFormula::constant(bound + 1));
  return minus(SizeFormula::constant(1), at_most_one(std::move(whole)));
}

SizeFormula ceil_div(SizeFormula a, const SizeFormula& b) {
  auto x = constant_of(a), y = constant_of(b);
  if (x && y) return SizeFormula::constant((*x + *y - 1) / *y);
  if (y == 1) return a;
  return binary(std::move(a), b, SizeFormula::Op::CeilDiv);
}

Findings inspect(const Kernel& kernel) {
  const Trips trips(kernel);
  Inspector inspector(trips);
  for (const Phase& p : kernel.phases)
    inspector.block(p.body, false, 1);
  return inspector.findings;
}

bool is_nonuniform(const Block& block, ValueId index) {
  const Trips none{Kernel{}};
  Inspector inspector(none);
  inspector.vary(index);
  inspector.block(block, true, 1);
  return inspector.findings.nonuniform;
}

std::vector<ir::Dim> loop_order(std::span<const ir::Dim> dims, const Layout& layout) {
  std::vector<ir::Dim> ordered(dims.begin(), dims.end());
  if (layout.last) {
    const auto moved = ordered.begin() + static_cast<ptrdiff_t>(*layout.last);
    std::rotate(moved, moved + 1, ordered.end());
  }
  return ordered;
}

SizeFormula space_tiles(const Emitter& e, std::span<const ir::Dim> axes, const Layout& layout, int64_t block) {
  const std::vector<ir::Dim> ordered = loop_order(axes, layout);
  const std::span<const ir::Dim> dims = ordered;
  SizeFormula blocks = ceil_div(e.formula(dims.subspan(layout.split)), SizeFormula::constant(block));
  return times(e.formula(dims.first(layout.split)), blocks);
}

void loop_over_tile(Emitter& e, ValueId tile, std::span<const ir::Dim> axes, const Layout& layout, int64_t block,
                    const std::function<void(const Index&)>& body) {
  const std::vector<ir::Dim> ordered = loop_order(axes, layout);
  const std::span<const ir::Dim> dims = ordered;
  if (dims.empty()) return body({});
  std::span<const ir::Dim> outer = dims.first(layout.split), inner = dims.subspan(layout.split);
  Builder& b = e.b;
  ValueId count = e.product(inner), lo = b.i64(0), hi = count, row = tile;
  auto constant = b.constant_of(count);
  if (!constant || *constant > block) {
    ValueId number = tile;
    if (!outer.empty()) {
      ValueId blocks = b.udiv(b.add(count, b.i64(block - 1)), b.i64(block));
      row = b.udiv(tile, blocks);
      number = b.urem(tile, blocks);
    }
    lo = b.mul(number, b.i64(block));
    hi = b.min(b.add(lo, b.i64(block)), count);
  }
  Index index = e.decompose(row, outer);
  auto at = [&](ValueId j) {
    Index full = index, rest = e.decompose(j, inner);
    full.insert(full.end(), rest.begin(), rest.end());
    if (layout.last) std::rotate(full.begin() + static_cast<ptrdiff_t>(*layout.last), full.end() - 1, full.end());
    body(full);
  };
  if (constant == 1)
    at(b.i64(0));
  else if (layout.vector)
    e.vector_loop(lo, hi, at);
  else
    e.serial_loop(lo, hi, at);
}

void phase(Emitter& e, SizeFormula tiles, const std::function<void(ValueId)>& body,
           std::optional<SizeFormula> work_per_tile) {
  ValueId tile = e.b.open({DType::I64})[0];
  body(tile);
  Phase p;
  p.body = e.b.close();
  p.tiles = std::move(tiles);
  e.b.kernel.phases.push_back(std::move(p));
  // Loops of unknown length: their work is given as a formula, or taken to be a block.
  Phase& made = e.b.kernel.phases.back();
  double unknown = work_per_tile ? 1 : static_cast<double>(block_of(e.target));
  double ns = std::max(1.0, CostModel(e.b.kernel).block(made.body, false, unknown));
  auto worth = static_cast<int64_t>(std::max(1.0, 100000.0 / ns));
  made.grain = SizeFormula::constant(worth);
  if (work_per_tile && !constant_of(*work_per_tile)) made.grain = ceil_div(made.grain, at_least_one(*work_per_tile));
}

void space_phase(Emitter& e, std::span<const ir::Dim> dims, const Layout& layout,
                 const std::function<void(const Index&)>& body, const SizeFormula& times) {
  const int64_t block = layout.block > 0 ? layout.block : block_of(e.target);
  phase(e, kir::times(space_tiles(e, dims, layout, block), times),
        [&](ValueId tile) { loop_over_tile(e, tile, dims, layout, block, body); });
  if (e.target == Target::Cpu) return;
  const std::vector<ir::Dim> ordered = loop_order(dims, layout);
  e.b.kernel.phases.back().row =
      at_most(e.formula(std::span(ordered).subspan(layout.split)), SizeFormula::constant(block));
}

void store_outputs(Emitter& e, const std::vector<size_t>& results, const Index& index) {
  std::vector<ValueId> values;
  std::vector<Index> places; // a row's value may have axes of size 1 behind those of the rows
  for (size_t r : results) {
    places.push_back(index);
    while (places.back().size() < e.type(e.region().yields[r]).dims.size())
      places.back().push_back(e.b.i64(0));
    values.push_back(e.pull(e.region().yields[r], places.back()));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    Builder::At here(e.b, e.place_of(e.region().yields[results[i]]));
    ValueId offset = e.linearise(places[i], e.type(e.region().yields[results[i]]).dims);
    e.b.store(e.output_param(results[i]), offset, values[i]);
  }
}

void check_guards(Emitter& e, bool vector, const std::vector<ir::Dim>* sizes) {
  for (ir::NodeId id : e.region().nodes) {
    const ir::Node& n = e.function[id];
    if (n.op != ir::Op::Guard) continue;
    const std::vector<ir::Dim>& dims = e.type(n.operands[1]).dims;
    if (sizes && dims == *sizes) continue;
    const Layout layout{.split = 0, .vector = vector};
    space_phase(e, dims, layout, [&](const Index& index) { e.guard(n, index); });
  }
  e.checked_apart = true;
}

void check_guards_at(Emitter& e, const Index& index, const std::vector<ir::Dim>& sizes) {
  for (ir::NodeId id : e.region().nodes)
    if (const ir::Node& n = e.function[id]; n.op == ir::Op::Guard && e.type(n.operands[1]).dims == sizes)
      e.guard(n, index);
}

} // namespace tl::kir
