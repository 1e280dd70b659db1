// Reductions that several tiles share: over leading axes (columns), or over everything.
//
// Reductions come in layers: those of one layer depend only on earlier layers. A layer is two phases:
//   parts     tile = one chunk of kSumChunk of the folded index and a block of columns; its fold goes to workspace
//   combine   tile = a block of columns; its chunks are folded like elements, in the total type
// The outputs are computed in the last combine. On CPUs a single chunk is the result: its phase does what the combine
// would do, which has no tiles then.
//
// Where columns are few, a vector of them would be mostly empty. If what is folded lies before them, a number of rows
// is one stretch of memory: kSumLanes rows are folded into as many rows of partial results, the lanes of the order,
// which lie side by side just so.
//
// Where the last axis is folded and short, and others before the columns, too, each row of memory has a stretch of
// every column: row by row these are folded into the lanes of their columns, which are in workspace, if those of one
// column are far apart.
#include "backend/kernel/forms.h"
#include "ir/graph/op_info.h"
#include "lang/save_and_restore.h"
#include <set>

namespace tl::kir {
namespace {

// Columns of one tile: on the CPU a panel of partial results, which reads long stretches of every row; few where each
// is folded by itself. On GPUs one for each thread, or, of many rows, few, whose rows the threads of a block share.
constexpr int64_t kShared = 8, kFewRows = 64;
constexpr int64_t columns_of(Target target, const Layout& layout) {
  return target != Target::Cpu ? 256 : layout.vector ? 1024 : 64;
}

constexpr int64_t kFlatColumns = 48;     // at most
constexpr int64_t kLongestStretch = 128; // that is folded into lanes in workspace
constexpr int64_t kNear = 1 << 19;       // bytes

// How columns of a chunk are folded: each by itself, or in few columns as one stretch; all, stretch by stretch; each by
// itself, along its stretches.
enum class Way { Columns, Stretches, Along };

struct Folded {
  ir::ValueId value;
  const ir::Node* node;
  int layer = 0;
  uint32_t parts = 0, positions = 0, result = 0; // workspaces
};

class Chunked {
public:
  Chunked(Emitter& e, const KernelShape& shape, const Layout& layout)
      : e_(e), outer_(shape.outer), inner_(shape.inner), reduced_(shape.reduced), layout_(layout),
        columns_(columns_of(e.target, layout)) {}

  void run() {
    for (ir::ValueId yield : e_.region().yields)
      find_needed(yield);
    for (ir::NodeId id : e_.region().nodes) {
      const ir::Node& n = e_.function[id];
      if (n.op == ir::Op::Reduce && needed_.count(n.results[0].index)) reduces_.push_back({n.results[0], &n});
    }
    if (reduces_.empty()) {
      columns_phase([&](const Index& index, ValueId) { outputs(index); }, SizeFormula::constant(1));
      return;
    }
    std::map<uint32_t, int> layers; // of Reduces one more than their own
    for (Folded& r : reduces_) {
      r.layer = layer_below(*r.node, layers);
      layers[r.value.index] = r.layer + 1;
    }
    int last = 0;
    for (const Folded& r : reduces_)
      last = std::max(last, r.layer);

    bool constant = true;
    int64_t n = 1;
    for (const ir::Dim& dim : inner_) {
      constant &= dim.is_constant();
      n *= dim.constant;
    }
    auto one_chunk = [&] {
      columns_phase([&](const Index& index, ValueId) { outputs(index); }, SizeFormula::constant(n));
    };
    if (e_.target != Target::Cpu && !outer_.empty() && layout_.vector && !(constant && n <= kFewRows)) {
      if (!constant) { // no tiles where rows are many
        const SizeFormula few = is_at_most(e_.formula(inner_), kFewRows);
        once_ = few;
        one_chunk();
        once_ = minus(SizeFormula::constant(1), few);
      }
      columns_ = kShared;
      shares_columns_ = true;
    }
    if (constant && n <= kSumChunk) return one_chunk(); // no parts
    chunks_ = at_least_one(kir::ceil_div(e_.formula(inner_), SizeFormula::constant(kSumChunk)));
    SizeFormula columns = e_.formula(outer_);
    for (Folded& r : reduces_) {
      DType acc = value_type(e_.type(r.node->operands[0]).dtype);
      r.parts = e_.add_workspace(ParamKind::Shared, total_type(r.node->as<ir::ReduceAttrs>().op, acc),
                                 times(chunks_, columns), "parts");
      if (gives_position(r.node->as<ir::ReduceAttrs>().op))
        r.positions = e_.add_workspace(ParamKind::Shared, DType::I64, times(chunks_, columns), "positions");
      r.result = e_.add_workspace(ParamKind::Shared, e_.type(r.value).dtype, columns, "folded");
    }
    last_ = last;
    for (int layer = 0; layer <= last; ++layer) {
      parts_phases(layer);
      columns_phase(
          [&](const Index& index, ValueId column) {
            for (Folded& r : reduces_)
              if (r.layer == layer) combine_chunks(r, index, column);
            if (layer == last) outputs(index);
          },
          SizeFormula::constant(64));
      if (e_.target == Target::Cpu) {
        SizeFormula& tiles = e_.b.kernel.phases.back().tiles;
        tiles = times(tiles, at_most_one(minus(chunks_, SizeFormula::constant(1))));
      }
      for (Folded& r : reduces_)
        if (r.layer == layer) e_.buffers[r.value.index] = {.param = r.result, .skip = 0, .stable = true, .base = {}};
    }
  }

private:
  // What the outputs need: no conditions of Guards that are checked apart, unless a value depends on them.
  void find_needed(ir::ValueId v) {
    if (!e_.inside(v) || !e_.function[v].producer.valid() || !needed_.insert(v.index).second) return;
    const ir::Node& n = e_.producer(v);
    if (n.op == ir::Op::Guard && e_.checked_apart && !e_.keeps_in_range(n)) return find_needed(n.operands[0]);
    find_needed(n);
  }
  void find_needed(const ir::Node& n) {
    for (ir::ValueId operand : n.operands)
      find_needed(operand);
    for (const ir::Region& region : n.regions)
      for (ir::NodeId id : region.nodes)
        find_needed(e_.function[id]);
  }

  // One more than the deepest Reduce that this one's operands read; `layers` has what was found of values.
  int layer_below(const ir::Node& n, std::map<uint32_t, int>& layers) {
    int layer = 0;
    for (ir::ValueId v : n.operands) {
      if (!e_.inside(v)) continue;
      auto it = layers.find(v.index);
      if (it == layers.end()) {
        const int below = e_.function[v].producer.valid() ? layer_below(e_.producer(v), layers) : 0;
        it = layers.emplace(v.index, below).first;
      }
      layer = std::max(layer, it->second);
    }
    return layer;
  }

  // Columns in the order of the loops, so that partial results lie side by side.
  ValueId column_number(Index index) {
    if (layout_.last) {
      const auto moved = index.begin() + static_cast<ptrdiff_t>(*layout_.last);
      std::rotate(moved, moved + 1, index.end());
    }
    return e_.linearise(index, loop_order(outer_, layout_));
  }

  void columns_phase(const std::function<void(const Index&, ValueId)>& body, SizeFormula work) {
    phase(
        e_, tiles(space_tiles(e_, outer_, layout_, columns_)),
        [&](ValueId tile) {
          loop_over_tile(e_, tile, outer_, layout_, columns_,
                         [&](const Index& index) { body(index, column_number(index)); });
        },
        times(std::move(work), SizeFormula::constant(outer_.empty() ? 1 : columns_)));
    e_.b.kernel.phases.back().shares_columns = shares_columns_;
  }

  // Where stretches of memory are folded, how long they are and how far apart says which way it is: each has its phase.
  void parts_phases(int layer) {
    if (!layout_.flat || layout_.vector) return parts_phase(layer, Way::Columns);
    const SizeFormula one = SizeFormula::constant(1), is_short = is_at_most(stretch_formula(), kLongestStretch);
    const SizeFormula is_near = have_near_stretches();
    for (const Way way : {Way::Columns, Way::Stretches, Way::Along}) {
      const SizeFormula is_it = way == Way::Along     ? minus(one, is_short)
                                : way == Way::Columns ? times(is_short, is_near)
                                                      : times(is_short, minus(one, is_near));
      parts_phase(layer, way);
      SizeFormula& tiles = e_.b.kernel.phases.back().tiles;
      tiles = times(tiles, is_it);
    }
  }

  void parts_phase(int layer, Way way) {
    Builder& b = e_.b;
    SizeFormula blocks = space_tiles(e_, outer_, layout_, columns_);
    phase(
        e_, tiles(times(chunks_, blocks)),
        [&](ValueId tile) {
          ValueId chunk = tile, block = b.i64(0);
          if (!outer_.empty()) {
            ValueId count = block_count();
            chunk = b.udiv(tile, count);
            block = b.urem(tile, count);
          }
          ValueId n = e_.product(inner_), begin = b.mul(chunk, b.i64(kSumChunk));
          ValueId end = b.min(b.add(begin, b.i64(kSumChunk)), n);
          auto by_columns = [&] {
            const SaveAndRestore with(e_.stages_stretches, way != Way::Along);
            loop_over_tile(e_, block, outer_, layout_, columns_, [&](const Index& index) {
              std::vector<std::vector<ValueId>> folded;
              for (Folded& r : reduces_)
                if (r.layer == layer) folded.push_back(fold_chunk(r, index, begin, end));
              chunk_done(layer, index, chunk, folded);
            });
          };
          if (way == Way::Stretches) return stretches_chunk(layer, block, chunk, begin, end);
          if (!layout_.flat || !layout_.vector) return by_columns();
          either(
              b.le(e_.product(columns()), b.i64(kFlatColumns)), [&] { flat_chunk(layer, block, chunk, begin, end); },
              by_columns);
        },
        SizeFormula::constant(outer_.empty() ? 1 : columns_));
    e_.b.kernel.phases.back().shares_columns = shares_columns_;
  }
  template <class Then, class Else> void either(ValueId condition, Then then, Else otherwise) {
    Instr choice = make(KOp::If, {condition});
    e_.b.open({}, true);
    then();
    choice.blocks.push_back(e_.b.close());
    e_.b.open({}, true);
    otherwise();
    choice.blocks.push_back(e_.b.close());
    e_.b.append(std::move(choice), {});
  }
  SizeFormula tiles(SizeFormula all) const { return once_ ? times(std::move(all), *once_) : all; }

  // As many blocks as loop_over_tile counts.
  ValueId block_count() {
    Builder& b = e_.b;
    const std::vector<ir::Dim> ordered = loop_order(outer_, layout_);
    const std::span<const ir::Dim> dims = ordered;
    ValueId columns = e_.product(dims.subspan(layout_.split));
    ValueId blocks = b.udiv(b.add(columns, b.i64(columns_ - 1)), b.i64(columns_));
    return b.mul(e_.product(dims.first(layout_.split)), blocks);
  }

  std::vector<ValueId> fold_chunk(Folded& r, const Index& index, ValueId begin, ValueId end) {
    Builder& b = e_.b;
    const ir::Node& n = *r.node;
    Builder::At here(b, n.loc);
    DType acc = value_type(e_.type(n.operands[0]).dtype);
    Instr instr = make(KOp::ReduceChunk, {begin, end});
    instr.reduce = n.as<ir::ReduceAttrs>().op;
    instr.dtype = acc;
    instr.blocks.push_back(*e_.folded_block(n, index, begin, end, true));
    std::vector<DType> types{total_type(n.as<ir::ReduceAttrs>().op, acc)};
    if (gives_position(n.as<ir::ReduceAttrs>().op)) types.push_back(DType::I64);
    return b.append(std::move(instr), types);
  }

  // What a chunk of one column came to, for each reduction of the layer: a part, or all.
  void chunk_done(int layer, const Index& index, ValueId chunk, const std::vector<std::vector<ValueId>>& folded) {
    Builder& b = e_.b;
    auto each = [&](const std::function<void(Folded&, const std::vector<ValueId>&)>& body) {
      size_t next = 0;
      for (Folded& r : reduces_)
        if (r.layer == layer) {
          Builder::At here(b, r.node->loc);
          body(r, folded[next++]);
        }
    };
    auto part = [&] {
      ValueId offset = b.add(b.mul(chunk, e_.product(outer_)), column_number(index));
      each([&](Folded& r, const std::vector<ValueId>& x) {
        b.store(r.parts, offset, x[0]);
        if (x.size() > 1) b.store(r.positions, offset, x[1]);
      });
    };
    if (e_.target != Target::Cpu) return part();
    auto all = [&] {
      each([&](Folded& r, const std::vector<ValueId>& x) { result_of(r, index, x); });
      if (layer == last_) outputs(index);
      for (Folded& r : reduces_)
        if (r.layer == layer) e_.buffers.erase(r.value.index);
    };
    either(b.le(e_.product(inner_), b.i64(kSumChunk)), all, part);
  }

  void result_of(Folded& r, const Index& index, const std::vector<ValueId>& folded) {
    e_.b.store(r.result, e_.linearise(index, outer_), e_.finish(*r.node, index, folded));
    // Read back in this very iteration, and freely in later phases.
    e_.buffers[r.value.index] = {.param = r.result, .skip = 0, .stable = false, .base = {}};
  }

  // --- few columns
  std::span<const ir::Dim> columns() const { return std::span(outer_).subspan(layout_.split); }

  // What elements read of each column, in the region or from outside: it comes once for each row of a stretch.
  void find_of_columns(ir::ValueId v, std::vector<ir::ValueId>& found, std::set<uint32_t>& seen) const {
    if (!seen.insert(v.index).second) return;
    if (e_.type(v).dims == outer_) {
      found.push_back(v);
      return;
    }
    if (!e_.inside(v) || !e_.function[v].producer.valid()) return;
    for (ir::ValueId operand : e_.producer(v).operands)
      find_of_columns(operand, found, seen);
  }

  void flat_chunk(int layer, ValueId row, ValueId chunk, ValueId begin, ValueId end) {
    Builder& b = e_.b;
    const Index prefix = e_.decompose(row, std::span(outer_).first(layout_.split));
    const ValueId width = e_.product(columns()), zero = b.i64(0), stretch = b.mul(b.i64(kSumLanes), width);
    std::vector<Folded*> folded;
    std::vector<ir::ValueId> of_columns;
    std::set<uint32_t> seen;
    for (Folded& r : reduces_)
      if (r.layer == layer) {
        folded.push_back(&r);
        find_of_columns(r.node->operands[0], of_columns, seen);
      }
    auto workspace = [&](DType type, const char* name) {
      return e_.add_workspace(ParamKind::Local, type, SizeFormula::constant(kSumLanes * kFlatColumns), name);
    };
    auto index_of = [&](ValueId column) {
      Index index = prefix, rest = e_.decompose(column, columns());
      index.insert(index.end(), rest.begin(), rest.end());
      return index;
    };
    std::vector<uint32_t> repeated;
    for (ir::ValueId v : of_columns) {
      repeated.push_back(workspace(e_.type(v).dtype, "repeated"));
      e_.serial_loop(zero, b.i64(kSumLanes), [&](ValueId lane) {
        e_.vector_loop(zero, width, [&](ValueId column) {
          b.store(repeated.back(), b.add(b.mul(lane, width), column), e_.pull(v, index_of(column)));
        });
      });
    }
    std::vector<uint32_t> lanes;
    for (Folded* r : folded) {
      const DType acc = acc_of(*r);
      lanes.push_back(workspace(acc, "lanes"));
      e_.vector_loop(zero, stretch, [&](ValueId at) { b.store(lanes.back(), at, identity(*r)); });
    }
    std::vector<ir::Dim> dims = inner_;
    dims.insert(dims.end(), columns().begin(), columns().end());
    const ValueId last = b.mul(end, width),
                  groups = b.udiv(b.add(b.sub(end, begin), b.i64(kSumLanes - 1)), b.i64(kSumLanes));
    e_.serial_loop(zero, groups, [&](ValueId group) {
      const ValueId first = b.mul(b.add(begin, b.mul(group, b.i64(kSumLanes))), width);
      e_.vector_loop(first, b.min(b.add(first, stretch), last), [&](ValueId at) {
        const ValueId lane = b.sub(at, first);
        Index full = prefix, rest = e_.decompose(at, dims);
        full.insert(full.end(), rest.begin(), rest.end());
        Index kept = prefix;
        kept.insert(kept.end(), rest.begin() + static_cast<ptrdiff_t>(inner_.size()), rest.end());
        for (size_t i = 0; i < of_columns.size(); ++i)
          e_.known[of_columns[i].index] = {kept, b.load(repeated[i], lane, false), true};
        for (size_t i = 0; i < folded.size(); ++i) {
          const ir::Node& n = *folded[i]->node;
          Builder::At here(b, n.loc);
          const ValueId x = e_.pull(n.operands[0], full);
          b.store(lanes[i], lane, fold(*folded[i], b.load(lanes[i], lane, false), x));
        }
        for (ir::ValueId v : of_columns)
          e_.known.erase(v.index);
      });
    });
    for (size_t i = 0; i < folded.size(); ++i) {
      for (int64_t step = kSumLanes / 2; step > 0; step /= 2) {
        const ValueId half = b.mul(b.i64(step), width);
        e_.vector_loop(zero, half, [&](ValueId at) {
          const ValueId other = b.load(lanes[i], b.add(at, half), false);
          b.store(lanes[i], at, fold(*folded[i], b.load(lanes[i], at, false), other));
        });
      }
    }
    e_.vector_loop(zero, width, [&](ValueId column) {
      std::vector<std::vector<ValueId>> results;
      for (size_t i = 0; i < folded.size(); ++i) {
        const DType acc = acc_of(*folded[i]), total = total_type(folded[i]->node->as<ir::ReduceAttrs>().op, acc);
        results.push_back({convert(b, acc, total, b.load(lanes[i], column, false))});
      }
      chunk_done(layer, index_of(column), chunk, results);
    });
  }

  // --- short stretches
  size_t last_stretch() const { return inner_.size() - e_.last_stretch(*reduces_[0].node); } // where it begins
  SizeFormula stretch_formula() const { return e_.formula(std::span(inner_).subspan(last_stretch())); }
  // Does a cache keep what a chunk's stretches lie in, from one column to the next?
  SizeFormula have_near_stretches() const {
    const size_t before = last_stretch() - 1; // the folded axis along which stretches follow each other
    const auto kept = static_cast<size_t>(reduced_[before]) - before;
    const SizeFormula elements = at_most(e_.formula(inner_), SizeFormula::constant(kSumChunk));
    const SizeFormula spread = times(elements, e_.formula(std::span(outer_).subspan(kept)));
    return is_at_most(spread, kNear / size_of(acc_of(reduces_[0])));
  }

  void stretches_chunk(int layer, ValueId block, ValueId chunk, ValueId begin, ValueId end) {
    Builder& b = e_.b;
    const ValueId width = b.i64(kSumLanes);
    std::vector<Folded*> folded;
    std::vector<uint32_t> lanes;
    for (Folded& r : reduces_)
      if (r.layer == layer) {
        const SizeFormula count = SizeFormula::constant(columns_ * kSumLanes);
        folded.push_back(&r);
        lanes.push_back(e_.add_workspace(ParamKind::Local, acc_of(r), count, "lanes"));
      }
    auto each_column = [&](const std::function<void(const Index&, ValueId)>& body) {
      loop_over_tile(e_, block, outer_, layout_, columns_, [&](const Index& index) {
        body(index, b.mul(b.urem(column_number(index), b.i64(columns_)), width));
      });
    };
    e_.vector_loop(b.i64(0), b.i64(columns_ * kSumLanes), [&](ValueId at) {
      for (size_t i = 0; i < folded.size(); ++i)
        b.store(lanes[i], at, identity(*folded[i]));
    });
    const std::span<const ir::Dim> dims = inner_;
    const ValueId length = b.max(e_.product(dims.subspan(last_stretch())), b.i64(1));
    auto element = [&](const Index& kept, const Index& slow, ValueId place, ValueId lane) {
      Index parts = slow;
      const Index fast = e_.decompose(place, dims.subspan(last_stretch()));
      parts.insert(parts.end(), fast.begin(), fast.end());
      for (size_t i = 0; i < folded.size(); ++i) {
        const ir::Node& n = *folded[i]->node;
        Builder::At here(b, n.loc);
        const ValueId x = e_.pull(n.operands[0], e_.with_folded(n, kept, parts));
        b.store(lanes[i], lane, fold(*folded[i], b.load(lanes[i], lane, false), x));
      }
    };
    e_.serial_loop(b.udiv(begin, length), ceil_div(end, length), [&](ValueId stretch) {
      const ValueId start = b.mul(stretch, length);
      const ValueId first = b.max(start, begin), last = b.min(b.add(start, length), end);
      const Index slow = e_.decompose(stretch, dims.first(last_stretch()));
      // A piece of it: what fills the lanes once.
      e_.serial_loop(b.udiv(first, width), ceil_div(last, width), [&](ValueId piece) {
        const ValueId lane_0 = b.mul(piece, width);
        const ValueId lo = b.max(first, lane_0), hi = b.min(last, b.add(lane_0, width));
        each_column([&](const Index& kept, ValueId slot) {
          e_.vector_loop(lo, hi,
                         [&](ValueId k) { element(kept, slow, b.sub(k, start), b.add(slot, b.sub(k, lane_0))); });
        });
      });
    });
    each_column([&](const Index& kept, ValueId slot) {
      std::vector<std::vector<ValueId>> results;
      for (size_t i = 0; i < folded.size(); ++i)
        results.push_back(fold_lanes(*folded[i], lanes[i], slot));
      chunk_done(layer, kept, chunk, results);
    });
  }

  // Lanes that lie side by side, each with what was folded into it, as a chunk of so many elements.
  std::vector<ValueId> fold_lanes(const Folded& r, uint32_t lanes, ValueId first) {
    Builder& b = e_.b;
    Builder::At here(b, r.node->loc);
    Instr instr = make(KOp::ReduceChunk, {b.i64(0), b.i64(kSumLanes)});
    instr.reduce = r.node->as<ir::ReduceAttrs>().op;
    instr.dtype = acc_of(r);
    const ValueId lane = b.open({DType::I64})[0];
    b.run_in_lanes();
    instr.blocks.push_back(b.close({b.load(lanes, b.add(first, lane), false)}));
    return b.append(std::move(instr), {total_type(r.node->as<ir::ReduceAttrs>().op, acc_of(r))});
  }

  ValueId ceil_div(ValueId x, ValueId y) { return e_.b.udiv(e_.b.add(x, e_.b.sub(y, e_.b.i64(1))), y); }
  ValueId identity(const Folded& r) {
    return e_.b.constant(acc_of(r), identity_of(r.node->as<ir::ReduceAttrs>().op, acc_of(r)));
  }

  DType acc_of(const Folded& r) const { return value_type(e_.type(r.node->operands[0]).dtype); }
  ValueId fold(const Folded& r, ValueId x, ValueId y) {
    return combine(e_.b, r.node->as<ir::ReduceAttrs>().op, acc_of(r), x, y);
  }

  void combine_chunks(Folded& r, const Index& index, ValueId column) {
    Builder& b = e_.b;
    Builder::At here(b, r.node->loc);
    ValueId columns = e_.product(outer_);
    auto at = [&](ValueId chunk) {
      return Emitter::ChunkAt{r.parts, r.positions, b.add(b.mul(chunk, columns), column)};
    };
    result_of(r, index, e_.fold_results(*r.node, e_.chunk_count(e_.product(inner_)), at));
  }

  void outputs(const Index& index) {
    std::vector<size_t> all;
    for (size_t i = 0; i < e_.region().yields.size(); ++i)
      all.push_back(i);
    store_outputs(e_, all, index);
  }

  Emitter& e_;
  std::vector<ir::Dim> outer_, inner_;
  std::vector<int64_t> reduced_;
  Layout layout_;
  int64_t columns_; // of one tile
  bool shares_columns_ = false;
  std::optional<SizeFormula> once_; // 1, or 0 where other phases do the work
  SizeFormula chunks_;
  int last_ = 0; // layer
  std::vector<Folded> reduces_;
  std::set<uint32_t> needed_; // ir::ValueId
};

} // namespace

// Reductions without masks or positions over neighbouring axes, right behind those that the layout has as rows, or over
// the last axis and others.
bool may_be_flat(const Emitter& e, const KernelShape& shape, const Layout& layout) {
  if (e.target != Target::Cpu || layout.last || layout.split >= shape.outer.size()) return false;
  for (size_t i = 0; layout.vector && i < shape.reduced.size(); ++i)
    if (shape.reduced[i] != static_cast<int64_t>(layout.split + i)) return false;
  for (ir::NodeId id : e.region().nodes) {
    const ir::Node& n = e.function[id];
    if (n.op == ir::Op::Reduce && (n.operands.size() > 1 || gives_position(n.as<ir::ReduceAttrs>().op))) return false;
  }
  return true;
}

void lower_chunked(Emitter& e, const KernelShape& shape, const Layout& layout) { Chunked(e, shape, layout).run(); }

} // namespace tl::kir
