// Pulls values of a Kernel node's region: "the instructions that compute element `index` of this value", emitted once
// per block and placed as far out as what they depend on allows.
#pragma once
#include "backend/kernel/lower.h"
#include "backend/kernel/scalar.h"
#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

namespace tl::kir {

using Index = std::vector<ValueId>; // one i64 per axis

[[noreturn]] void unsupported(const std::string& what); // std::logic_error: outside of docs/kernels.md

class Emitter {
public:
  // Makes the parameters of `kernel` from the node's operands and results.
  Emitter(const ir::Module& module, const ir::Function& function, const ir::Node& node, Kernel& kernel, Target target);

  const ir::Module& module;
  const ir::Function& function;
  const ir::Node& node; // the Kernel node
  const Target target;
  Builder b;

  const ir::Region& region() const { return node.regions[0]; }
  const ir::Node& producer(ir::ValueId v) const { return function[function[v].producer]; }
  const ir::Type& type(ir::ValueId v) const { return function[v].type; }
  bool inside(ir::ValueId v) const { return inside_[v.index]; } // made by the region, not captured
  LocId place_of(ir::ValueId v) const;                          // of what the region makes; else nowhere
  uint32_t param_of(ir::ValueId captured) const;                // throws if it is not an operand
  uint32_t output_param(size_t result) const { return static_cast<uint32_t>(node.operands.size() + result); }
  uint32_t add_workspace(ParamKind kind, DType dtype, SizeFormula count, std::string name);

  // --- the value of one element
  ValueId pull(ir::ValueId v, const Index& index);
  ValueId scalar(ir::ValueId v) { return pull(v, {}); }

  // --- sizes and offsets
  ValueId size(const ir::Dim& dim);
  ValueId product(std::span<const ir::Dim> dims);
  SizeFormula formula(std::span<const ir::Dim> dims) const; // their product
  // Row-major: components of a linear number, and back. linearise undoes decompose without arithmetic.
  // as_one[i]: all that is read lies along axes i and i + 1 as along one, whose number stays whole. Empty: none do.
  Index decompose(ValueId linear, std::span<const ir::Dim> dims, const std::vector<bool>& as_one = {});
  ValueId linearise(std::span<const ValueId> index, std::span<const ir::Dim> dims);
  // How the axes of a value relate to those of a result that is computed at its own index: by axis of the value, the
  // axis of the result, or nothing (all of it is read at one place). Only of views that keep axes apart.
  using AxisMap = std::vector<std::optional<size_t>>;
  // Calls `found` with each tensor from outside that `v` reads, `map` being that of v, and that is not `seen`; false:
  // also in other ways.
  bool each_access(ir::ValueId v, const AxisMap& map, const std::function<void(ir::ValueId, const AxisMap&)>& found,
                   std::set<std::pair<uint32_t, AxisMap>>& seen) const;

  // Do all tensors from outside that `v` reads lie along its axes `axis` and `axis` + 1 as along one axis?
  bool lies_as_one(ir::ValueId v, size_t axis) const;

  // --- what is known already
  struct Buffer { // value kept in memory: element `index` is at linearise(index[skip…]) of param
    uint32_t param = 0;
    size_t skip = 0;
    bool stable = false; // written in an earlier phase: may be read anywhere
    ValueId base;        // added to the offset, if valid
    int64_t apart = 1;   // so many elements are between its neighbours
    Index where = {};    // it holds the elements whose index begins so; others are computed
  };
  std::unordered_map<uint32_t, Buffer> buffers; // by ir::ValueId
  bool holds(const Buffer& buffer, const Index& index) const;
  ValueId buffer_offset(const Buffer& buffer, ir::ValueId v, const Index& index);
  struct Known { // value at one index
    Index index;
    ValueId value;
    bool elsewhere = false; // may it be computed at another one?
  };
  std::unordered_map<uint32_t, Known> known;         // by ir::ValueId: an accumulator, say
  std::unordered_map<uint32_t, size_t> concat_piece; // by NodeId: the piece that this loop is in
  std::unordered_map<uint32_t, ValueId> bound;       // parameters of regions, scalars of sequential code
  std::unordered_map<uint32_t, uint32_t> memory;     // tensors of sequential code -> parameter that holds them
  // Outside of vectors, elements of a fold that are folds themselves come one after the other, so that lanes are
  // elements of these.
  bool one_by_one = false;
  bool stages_stretches = true; // folded_block: do several stretches of memory go through workspace?
  bool checked_apart =
      false; // Guards of the kernel's own region are checked elsewhere: pulling only keeps them in range
  std::set<const ir::Node*> checked; // so are these, wherever they are read

  // An element of an input from somewhere else; nothing: from its memory.
  std::function<std::optional<ValueId>(ir::ValueId input, const Index& index)> load_from;
  bool loads_stay = false; // sequential code: an element may be out of range where the loop around it does not run

  // Loops over [lo, hi): the body is built inside.
  template <class Body> void loop(ValueId lo, ValueId hi, bool vector, Body body) {
    ValueId one = b.i64(1);
    std::vector<ValueId> params = b.open({DType::I64});
    if (vector) b.run_in_lanes();
    body(params[0]);
    Instr instr = make(KOp::For, {lo, hi, one});
    instr.vector = vector;
    instr.blocks.push_back(b.close());
    b.append(std::move(instr), {});
  }
  template <class Body> void vector_loop(ValueId lo, ValueId hi, Body body) { loop(lo, hi, true, body); }
  template <class Body> void serial_loop(ValueId lo, ValueId hi, Body body) { loop(lo, hi, false, body); }

  // Region parameters that a value depends on (of loops and Maps around it), ascending.
  const std::vector<uint32_t>& dependencies(ir::ValueId v);
  const std::vector<uint32_t>& dependencies(ir::NodeId id);

  // Does a Guard whose Check is elsewhere still have to become 0 where its condition is false?
  bool keeps_in_range(const ir::Node& guard) const;
  // The Check of a Guard at one index of its condition; returns the condition.
  ValueId guard(const ir::Node& guard, const Index& index);
  ValueId element_number(); // of the Maps being evaluated

  // The index of x for a Reduce's kept index and the linear number k of the folded axes.
  Index folded_index(const ir::Node& reduce, const Index& kept, ValueId k);
  Index with_folded(const ir::Node& reduce, const Index& kept, const Index& folded) const; // of x, from both
  std::vector<ir::Dim> folded_dims(const ir::Node& reduce) const;
  size_t last_stretch(const ir::Node& reduce) const;
  bool folds_stretches(const ir::Node& reduce) const;

  // The block of a Reduce or ReduceChunk over k in [begin, end), at most a chunk if `chunk`. Where an inner loop's
  // bounds depend on k, the lanes of a reduction cannot run side by side: then the elements of a chunk are computed one
  // after the other into workspace and folded from there; so are those of several stretches of memory, a stretch after
  // the other. Nothing: that is so, but [begin, end) may be longer than a chunk.
  std::optional<Block> folded_block(const ir::Node& reduce, const Index& kept, ValueId begin, ValueId end, bool chunk);
  // The results of a reduction's chunks, in workspace, folded like elements: a total, and the position for ArgMin and
  // ArgMax. finish gives the graph's value.
  struct ChunkAt {
    uint32_t parts, positions; // workspaces; positions for ArgMin and ArgMax
    ValueId offset;
  };
  std::vector<ValueId> fold_results(const ir::Node& reduce, ValueId count,
                                    const std::function<ChunkAt(ValueId number)>& at);
  ValueId finish(const ir::Node& reduce, const Index& kept, const std::vector<ValueId>& folded);
  ValueId chunk_count(ValueId elements);
  ValueId finish_total(const ir::Node& reduce, const Index& kept, ValueId total); // as the graph's value

  ValueId any_element(const ir::Node& reduce, size_t operand, const Index& kept);
  // A float sum whose mask took no element is +0.0, not the identity -0.0.
  ValueId unmasked_zero(const ir::Node& reduce, const Index& kept, ValueId sum);
  // What Reduces over these axes fold is known to be few elements, at most so many.
  struct ShortRows {
    std::vector<ir::Dim> inner;
    int64_t most = 0;
  };
  std::optional<ShortRows> short_rows;
  // Called inside a Reduce of the kernel's own region, with the index of the element being folded.
  std::function<void(const ir::Node&, const Index&)> in_reduce;

  // Works at the level where everything that (v, index) depends on is known. A check there is one of the first element
  // of the Maps around that do not matter to it.
  template <class Body> auto at_level_of(ir::ValueId v, const Index& index, Body body) {
    int level = std::max(natural_level(v, index), b.barrier());
    std::vector<Builder::Scope> aside = b.suspend(level);
    bool outside = !element_.empty() && b.level(element_.back()) > level;
    if (outside) element_.push_back(b.i64(0));
    auto result = body();
    if (outside) element_.pop_back();
    b.resume(std::move(aside));
    return result;
  }
  template <class Then, class Else> ValueId branch(ValueId condition, DType type, Then then, Else otherwise) {
    if (auto constant = b.constant_of(condition)) return *constant ? then() : otherwise();
    Instr instr = make(KOp::If, {condition});
    b.open({}, true);
    ValueId a = then();
    instr.blocks.push_back(b.close({a}));
    b.open({}, true);
    ValueId c = otherwise();
    instr.blocks.push_back(b.close({c}));
    return b.append(std::move(instr), {type})[0];
  }

private:
  ValueId compute(ir::ValueId v, const Index& index);
  ValueId captured(ir::ValueId v, const Index& index);
  ValueId view(const ir::Node& node, const Index& index);
  ValueId pad(const ir::Node& node, const Index& index);
  ValueId concat(const ir::Node& node, ir::NodeId id, const Index& index);
  ValueId reduce(const ir::Node& node, const Index& index);
  ValueId reduce_by_chunks(const ir::Node& node, const Index& index);
  ValueId contract(const ir::Node& node, const Index& index);
  ValueId map_element(const ir::Node& node, uint32_t result, const Index& index);
  ValueId scan_element(const ir::Node& node, const Index& index);
  ValueId update_element(const ir::Node& node, const Index& index);
  ValueId conditional(const ir::Node& node, uint32_t result, const Index& index);
  ValueId loop_result(const ir::Node& node, uint32_t result); // For, While over scalars
  Index reshape_index(std::span<const ir::Dim> from, std::span<const ir::Dim> to, const Index& index);
  MemoKey memo_key(ir::ValueId v, const Index& index);
  int natural_level(ir::ValueId v, const Index& index);
  void mark_inside(const ir::Region& region);

  uint32_t take_staging(DType dtype);
  std::vector<bool> inside_;
  std::unordered_map<uint32_t, uint32_t> operand_of_;                // ir::ValueId -> parameter
  std::unordered_map<uint32_t, std::vector<uint32_t>> dependencies_; // by NodeId
  std::vector<uint32_t> own_;                                        // a parameter depends on itself
  struct Part {                                                      // a number that was decomposed
    ValueId linear;
    std::vector<ir::Dim> dims; // none of them the constant 1
    Index components;
  };
  std::unordered_map<uint32_t, std::vector<Part>> parts_; // by components[0]
  std::vector<ValueId> element_;                          // numbers of the Maps being evaluated
};

// Sizes as a product of a constant and values, for comparing strides.
struct Monomial {
  int64_t factor = 1;
  std::vector<uint32_t> values; // sorted ids
  bool operator==(const Monomial&) const = default;
};
Monomial monomial(std::span<const ir::Dim> dims);
Monomial times(const Monomial& a, const Monomial& b);

} // namespace tl::kir
