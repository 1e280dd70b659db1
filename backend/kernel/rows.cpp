// Row kernels (softmax, layer norm, sums over the last axis): a tile is one row; the row's passes follow each other
// while it is in cache.
//
// Passes over a row are its Reduces, in order, and then one loop for all element-level outputs. A value that is dear
// and read by more than one pass is kept: in the row of an output of its type where that is safe, else in a row of
// workspace.
#include "backend/kernel/forms.h"
#include "lang/save_and_restore.h"
#include <set>

namespace tl::kir {
namespace {

constexpr int64_t kTogether = 128; // short rows of a tile

class Rows {
public:
  // `most`: rows of at most so many elements are side by side in vectors; 0: a row's elements are.
  Rows(Emitter& e, const KernelShape& shape, const Layout& layout, int64_t most = 0)
      : e_(e), shape_(shape), layout_(layout), most_(most) {}

  // `times`: 1 or 0, as a formula: is there anything to do?
  void run(const SizeFormula& times = SizeFormula::constant(1)) {
    const ir::Region& region = e_.region();
    for (ir::NodeId id : region.nodes)
      if (e_.function[id].op == ir::Op::Reduce) reduces_.push_back(&e_.function[id]);
    for (size_t i = 0; i < region.yields.size(); ++i)
      (is_element(region.yields[i]) ? element_outputs_ : row_outputs_).push_back(i);
    plan();
    SizeFormula inner = e_.formula(shape_.inner);
    if (most_ > 0) {
      const SizeFormula together = SizeFormula::constant(kTogether);
      phase(
          e_, kir::times(ceil_div(e_.formula(shape_.outer), together), times), [&](ValueId tile) { rows_of(tile); },
          kir::times(together, inner));
      return;
    }
    phase(e_, kir::times(e_.formula(shape_.outer), times), [&](ValueId tile) { row(tile); }, inner);
    if (e_.target != Target::Cpu) e_.b.kernel.phases.back().row = inner;
  }

private:
  bool is_element(ir::ValueId v) const { return level_of(e_.type(v), shape_) == Level::Element; }

  // Element-level values that a pass reads, from its roots down to row-level and captured ones.
  void visit(ir::ValueId v, std::set<uint32_t>& seen, std::set<uint32_t>& captured) const {
    if (!e_.inside(v)) {
      captured.insert(v.index);
      return;
    }
    if (!e_.function[v].producer.valid() || e_.producer(v).op == ir::Op::Reduce || !seen.insert(v.index).second) return;
    for (ir::ValueId operand : e_.producer(v).operands)
      visit(operand, seen, captured);
  }

  bool is_dear_node(const ir::Node& n) const {
    switch (n.op) {
    // GPUs compute faster than they store and load.
    case ir::Op::Elementwise:
      return e_.target == Target::Cpu && is_dear(n.as<ir::ElementwiseAttrs>().op, e_.type(n.operands[0]).dtype);
    case ir::Op::Map: {
      for (ir::NodeId id : n.regions[0].nodes) {
        const ir::Node& inner = e_.function[id];
        if (!inner.regions.empty() || inner.op == ir::Op::Reduce || inner.op == ir::Op::Contract || is_dear_node(inner))
          return true;
      }
      return false;
    }
    case ir::Op::Contract:
    case ir::Op::Gather: return true;
    default: return false;
    }
  }

  // Is there something dear in what v computes, down to values that are kept already?
  bool is_dear_value(ir::ValueId v, std::set<uint32_t>& seen) const {
    if (!e_.inside(v) || !e_.function[v].producer.valid() || !is_element(v) || !seen.insert(v.index).second)
      return false;
    const ir::Node& n = e_.producer(v);
    if (n.op == ir::Op::Reduce) return false;
    if (is_dear_node(n)) return true;
    for (ir::ValueId operand : n.operands)
      if (!kept_.count(operand.index) && is_dear_value(operand, seen)) return true;
    return false;
  }

  struct Pass {
    std::vector<ir::ValueId> roots;
    std::set<uint32_t> seen;
  };

  void plan() {
    for (const ir::Node* r : reduces_)
      passes_.push_back({r->operands, {}});
    Pass last;
    for (size_t i : element_outputs_)
      last.roots.push_back(e_.region().yields[i]);
    if (!last.roots.empty()) passes_.push_back(std::move(last));
    std::map<uint32_t, size_t> readers, first;
    for (size_t p = 0; p < passes_.size(); ++p) {
      std::set<uint32_t> captured;
      for (ir::ValueId v : passes_[p].roots)
        visit(v, passes_[p].seen, captured);
      for (uint32_t v : passes_[p].seen) {
        ++readers[v];
        first.emplace(v, p);
      }
    }
    // The edge of what several passes share: read directly by something that fewer passes compute.
    auto is_edge = [&](ir::ValueId v) {
      for (const Pass& pass : passes_) {
        if (!pass.seen.count(v.index)) continue;
        if (std::find(pass.roots.begin(), pass.roots.end(), v) != pass.roots.end()) return true;
        for (uint32_t user : pass.seen) {
          if (readers[user] >= 2) continue;
          const std::vector<ir::ValueId>& operands = e_.producer(ir::ValueId{user}).operands;
          if (std::find(operands.begin(), operands.end(), v) != operands.end()) return true;
        }
      }
      return false;
    };
    for (ir::NodeId id : e_.region().nodes) // operands first
      for (ir::ValueId v : e_.function[id].results)
        if (std::set<uint32_t> seen; readers[v.index] >= 2 && is_element(v) && is_edge(v) && is_dear_value(v, seen))
          keep(v, first[v.index]);
    drop_stored_outputs();
  }

  // Outputs that are kept in their own rows are stored by the pass that computes them.
  void drop_stored_outputs() {
    std::erase_if(element_outputs_, [&](size_t i) {
      auto it = kept_.find(e_.region().yields[i].index);
      return it != kept_.end() && it->second.buffer.param == e_.output_param(i);
    });
  }

  void keep(ir::ValueId v, size_t first) {
    const ir::Type& type = e_.type(v);
    Kept kept{first, {}};
    std::optional<size_t> output = most_ > 0 ? std::nullopt : free_output(v, first);
    if (most_ > 0) { // a row's elements lie a tile's rows apart
      const SizeFormula count = SizeFormula::constant(kTogether * most_);
      kept.buffer.param = e_.add_workspace(ParamKind::Local, type.dtype, count, "rows");
      kept.buffer.skip = shape_.outer.size();
      kept.buffer.apart = kTogether;
    } else if (output) {
      taken_.insert(*output);
      kept.buffer = {.param = e_.output_param(*output), .skip = 0, .stable = false, .base = {}};
    } else {
      uint32_t param = e_.add_workspace(ParamKind::Local, type.dtype, e_.formula(shape_.inner), "row");
      kept.buffer = {.param = param, .skip = shape_.outer.size(), .stable = false, .base = {}};
    }
    kept_.emplace(v.index, kept);
    kept_order_.push_back(v);
  }

  // An output whose row may hold v until it is overwritten by the final loop: v itself, or one of v's type. An output
  // may be in the memory of an input of its type, so no later pass may read such an input.
  std::optional<size_t> free_output(ir::ValueId v, size_t first) {
    for (size_t i : element_outputs_)
      if (e_.region().yields[i] == v && !input_read_after(first, v)) return i;
    for (size_t i : element_outputs_) {
      ir::ValueId yield = e_.region().yields[i];
      // Another output that is kept itself keeps its own row.
      if (taken_.count(i) || e_.type(yield) != e_.type(v) || input_read_after(first, v)) continue;
      bool kept_itself = false;
      for (const Pass& pass : passes_)
        kept_itself |= &pass != &passes_.back() && pass.seen.count(yield.index);
      if (!kept_itself) return i;
    }
    return std::nullopt;
  }
  // Does a pass after `first` read an operand that could lend its memory to v's output, when v and what is kept already
  // come from their buffers?
  bool input_read_after(size_t first, ir::ValueId v) const {
    std::set<uint32_t> seen{v.index};
    for (const auto& [kept, where] : kept_)
      seen.insert(kept);
    std::set<uint32_t> captured;
    for (size_t p = first + 1; p < passes_.size(); ++p)
      for (ir::ValueId root : passes_[p].roots)
        visit(root, seen, captured);
    auto may_overlap = [&](uint32_t c) {
      const ir::Type &a = e_.type(ir::ValueId{c}), &b = e_.type(v);
      return a.dims == b.dims && size_of(a.dtype) == size_of(b.dtype);
    };
    return std::any_of(captured.begin(), captured.end(), may_overlap);
  }

  void rows_of(ValueId tile) {
    Builder& b = e_.b;
    e_.short_rows = {shape_.inner, most_};
    const ValueId first = b.mul(tile, b.i64(kTogether));
    const ValueId end = b.min(b.add(first, b.i64(kTogether)), e_.product(shape_.outer));
    e_.vector_loop(first, end, [&](ValueId row) {
      for (auto& [value, kept] : kept_)
        kept.buffer.base = b.sub(row, first);
      const Index outer = e_.decompose(row, shape_.outer);
      fold(outer);
      if (!element_outputs_.empty())
        e_.serial_loop(b.i64(0), e_.product(shape_.inner), [&](ValueId k) {
          Index full = outer;
          const Index rest = e_.decompose(k, shape_.inner);
          full.insert(full.end(), rest.begin(), rest.end());
          store_outputs(e_, element_outputs_, full);
        });
      store_outputs(e_, row_outputs_, outer);
      e_.buffers.clear();
    });
    e_.short_rows.reset();
  }

  // The row's Reduces, in order.
  void fold(const Index& outer) {
    e_.in_reduce = [&](const ir::Node& n, const Index& full) {
      for (size_t p = 0; p < reduces_.size(); ++p)
        if (reduces_[p] == &n) store_kept(p, full);
    };
    for (size_t p = 0; p < reduces_.size(); ++p) {
      e_.pull(reduces_[p]->results[0], outer);
      publish(p, outer);
    }
    e_.in_reduce = nullptr;
  }

  void row(ValueId tile) {
    Builder& b = e_.b;
    Index outer = e_.decompose(tile, shape_.outer);
    fold(outer);
    if (!element_outputs_.empty()) {
      std::span<const ir::Dim> inner = shape_.inner;
      std::span<const ir::Dim> slow = inner.first(layout_.split), fast = inner.subspan(layout_.split);
      auto rows = [&](const Index& prefix) {
        auto element = [&](ValueId j) {
          Index full = prefix, rest = e_.decompose(j, fast);
          full.insert(full.end(), rest.begin(), rest.end());
          overwrite(full);
          store_outputs(e_, element_outputs_, full);
        };
        ValueId count = e_.product(fast);
        if (layout_.vector)
          e_.vector_loop(b.i64(0), count, element);
        else
          e_.serial_loop(b.i64(0), count, element);
      };
      if (slow.empty())
        rows(outer);
      else
        e_.serial_loop(b.i64(0), e_.product(slow), [&](ValueId i) {
          Index full = outer, rest = e_.decompose(i, slow);
          full.insert(full.end(), rest.begin(), rest.end());
          rows(full);
        });
    }
    store_outputs(e_, row_outputs_, outer);
    e_.buffers.clear();
  }

  void store_kept(size_t pass, const Index& full) {
    for (ir::ValueId v : kept_order_) {
      const Kept& kept = kept_.at(v.index);
      if (kept.pass == pass) e_.b.store(kept.buffer.param, e_.buffer_offset(kept.buffer, v, full), e_.pull(v, full));
    }
  }
  void publish(size_t pass, const Index& outer) {
    for (ir::ValueId v : kept_order_) {
      const Kept& kept = kept_.at(v.index);
      if (kept.pass != pass) continue;
      e_.buffers[v.index] = kept.buffer;
      e_.buffers[v.index].where = outer;
    }
  }
  // Results overwrite the rows of outputs: values that are kept there are there at their own index alone from now on.
  void overwrite(const Index& full) {
    for (ir::ValueId v : kept_order_)
      if (e_.b.kernel.params[kept_.at(v.index).buffer.param].kind == ParamKind::Output)
        e_.buffers[v.index].where = full;
  }

  struct Kept {
    size_t pass; // the first that computes it
    Emitter::Buffer buffer;
  };

  Emitter& e_;
  const KernelShape& shape_;
  Layout layout_;
  int64_t most_;
  std::vector<const ir::Node*> reduces_;
  std::vector<size_t> element_outputs_, row_outputs_;
  std::vector<Pass> passes_;
  std::map<uint32_t, Kept> kept_;
  std::vector<ir::ValueId> kept_order_;
  std::set<size_t> taken_;
};

} // namespace

void lower_rows(Emitter& e, const KernelShape& shape, const Layout& layout, const SizeFormula& times) {
  const SaveAndRestore one_by_one(e.one_by_one, layout.one_by_one);
  Rows(e, shape, layout).run(times);
}

void lower_short_rows(Emitter& e, const KernelShape& shape, const Layout& layout, int64_t most, bool others) {
  const SizeFormula is_short = others ? is_at_most(e.formula(shape.inner), most) : SizeFormula::constant(1);
  Rows(e, shape, layout, most).run(is_short); // each way has its phase, and one of them no tiles
  if (others) Rows(e, shape, layout).run(minus(SizeFormula::constant(1), is_short));
}

} // namespace tl::kir
