// Reductions that several tiles share: over leading axes (columns), or over everything.
//
// Reductions come in layers: those of one layer depend only on earlier layers. A layer is two phases:
//   parts     tile = one chunk of kSumChunk of the folded index and a block of columns; its fold goes to workspace
//   combine   tile = a block of columns; its chunks are folded like elements, in the total type
// The outputs are computed in the last combine.
#include "backend/kernel/forms.h"
#include "ir/graph/op_info.h"
#include <set>

namespace tl::kir {
namespace {

// Columns of one tile: on the CPU a panel of partial results, which reads long stretches of every row; few where each
// is folded by itself.
constexpr int64_t columns_of(Target target, const Layout& layout) {
  return target != Target::Cpu ? 256 : layout.vector ? 1024 : 16;
}

struct Folded {
  ir::ValueId value;
  const ir::Node* node;
  int layer = 0;
  uint32_t parts = 0, positions = 0, result = 0; // workspaces
};

class Chunked {
public:
  Chunked(Emitter& e, const KernelShape& shape, const Layout& layout)
      : e_(e), outer_(shape.outer), inner_(shape.inner), layout_(layout), columns_(columns_of(e.target, layout)) {}

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
    std::map<uint32_t, int> layers;
    for (Folded& r : reduces_)
      r.layer = layers[r.value.index] = layer_below(*r.node, layers);
    int last = 0;
    for (const Folded& r : reduces_)
      last = std::max(last, r.layer);

    bool constant = true;
    int64_t n = 1;
    for (const ir::Dim& dim : inner_) {
      constant &= dim.is_constant();
      n *= dim.constant;
    }
    if (constant && n <= kSumChunk) { // one chunk: no parts
      columns_phase([&](const Index& index, ValueId) { outputs(index); }, SizeFormula::constant(n));
      return;
    }
    chunks_ = at_least_one(ceil_div(e_.formula(inner_), SizeFormula::constant(kSumChunk)));
    SizeFormula columns = e_.formula(outer_);
    for (Folded& r : reduces_) {
      DType acc = value_type(e_.type(r.node->operands[0]).dtype);
      r.parts = e_.add_workspace(ParamKind::Shared, total_type(r.node->as<ir::ReduceAttrs>().op, acc),
                                 times(chunks_, columns), "parts");
      if (gives_position(r.node->as<ir::ReduceAttrs>().op))
        r.positions = e_.add_workspace(ParamKind::Shared, DType::I64, times(chunks_, columns), "positions");
      r.result = e_.add_workspace(ParamKind::Shared, e_.type(r.value).dtype, columns, "folded");
    }
    for (int layer = 0; layer <= last; ++layer) {
      parts_phase(layer);
      columns_phase(
          [&](const Index& index, ValueId column) {
            for (Folded& r : reduces_)
              if (r.layer == layer) combine_chunks(r, index, column);
            if (layer == last) outputs(index);
          },
          SizeFormula::constant(64));
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

  // One more than the deepest Reduce that this one's operands read.
  int layer_below(const ir::Node& n, const std::map<uint32_t, int>& layers) {
    int layer = 0;
    for (ir::ValueId v : n.operands) {
      if (!e_.inside(v)) continue;
      if (auto it = layers.find(v.index); it != layers.end())
        layer = std::max(layer, it->second + 1);
      else if (e_.function[v].producer.valid())
        layer = std::max(layer, layer_below(e_.producer(v), layers));
    }
    return layer;
  }

  ValueId column_number(const Index& index) { return e_.linearise(index, outer_); }

  void columns_phase(const std::function<void(const Index&, ValueId)>& body, SizeFormula work) {
    phase(
        e_, space_tiles(e_, outer_, layout_, columns_),
        [&](ValueId tile) {
          loop_over_tile(e_, tile, outer_, layout_, columns_,
                         [&](const Index& index) { body(index, column_number(index)); });
        },
        times(work, SizeFormula::constant(outer_.empty() ? 1 : columns_)));
  }

  void parts_phase(int layer) {
    Builder& b = e_.b;
    SizeFormula blocks = space_tiles(e_, outer_, layout_, columns_);
    phase(
        e_, times(chunks_, blocks),
        [&](ValueId tile) {
          ValueId chunk = tile, block = b.i64(0);
          if (!outer_.empty()) {
            ValueId count = block_count();
            chunk = b.udiv(tile, count);
            block = b.urem(tile, count);
          }
          ValueId n = e_.product(inner_), begin = b.mul(chunk, b.i64(kSumChunk));
          ValueId end = b.min(b.add(begin, b.i64(kSumChunk)), n);
          loop_over_tile(e_, block, outer_, layout_, columns_, [&](const Index& index) {
            ValueId offset = b.add(b.mul(chunk, e_.product(outer_)), column_number(index));
            for (Folded& r : reduces_)
              if (r.layer == layer) fold_chunk(r, index, begin, end, offset);
          });
        },
        SizeFormula::constant(outer_.empty() ? 1 : columns_));
  }

  // As many blocks as loop_over_tile counts.
  ValueId block_count() {
    Builder& b = e_.b;
    std::span<const ir::Dim> dims = outer_;
    ValueId columns = e_.product(dims.subspan(layout_.split));
    ValueId blocks = b.udiv(b.add(columns, b.i64(columns_ - 1)), b.i64(columns_));
    return b.mul(e_.product(dims.first(layout_.split)), blocks);
  }

  void fold_chunk(Folded& r, const Index& index, ValueId begin, ValueId end, ValueId offset) {
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
    std::vector<ValueId> results = b.append(std::move(instr), types);
    b.store(r.parts, offset, results[0]);
    if (results.size() > 1) b.store(r.positions, offset, results[1]);
  }

  void combine_chunks(Folded& r, const Index& index, ValueId column) {
    Builder& b = e_.b;
    Builder::At here(b, r.node->loc);
    ValueId columns = e_.product(outer_);
    auto at = [&](ValueId chunk) {
      return Emitter::ChunkAt{r.parts, r.positions, b.add(b.mul(chunk, columns), column)};
    };
    ValueId value = e_.finish(*r.node, index, e_.fold_results(*r.node, e_.chunk_count(e_.product(inner_)), at));
    b.store(r.result, column, value);
    // Read back in this very iteration, and freely in later phases.
    e_.buffers[r.value.index] = {.param = r.result, .skip = 0, .stable = false, .base = {}};
  }

  void outputs(const Index& index) {
    std::vector<size_t> all;
    for (size_t i = 0; i < e_.region().yields.size(); ++i)
      all.push_back(i);
    store_outputs(e_, all, index);
  }

  Emitter& e_;
  std::vector<ir::Dim> outer_, inner_;
  Layout layout_;
  const int64_t columns_; // of one tile
  SizeFormula chunks_;
  std::vector<Folded> reduces_;
  std::set<uint32_t> needed_; // ir::ValueId
};

} // namespace

void lower_chunked(Emitter& e, const KernelShape& shape, const Layout& layout) { Chunked(e, shape, layout).run(); }

} // namespace tl::kir
