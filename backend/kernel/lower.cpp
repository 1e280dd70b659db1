#include "backend/kernel/lower.h"
#include "backend/kernel/forms.h"
#include "ir/graph/rewrite.h"
#include "lang/place.h"
#include "passes/fuse/alias.h"
#include <fmt/format.h>
#include <set>

namespace tl {
namespace {

using namespace kir;

constexpr int64_t kRowInOneTile = 65536; // a space of one row up to this size is not worth several phases

void loaded_params(const Block& block, std::set<uint32_t>& params) {
  for (const Instr& instr : block.instrs) {
    if (instr.op == KOp::Load) params.insert(instr.param);
    for (const Block& nested : instr.blocks)
      loaded_params(nested, params);
  }
}

// Says which outputs share memory with nothing that the kernel reads.
void mark_exclusive(Kernel& kernel, const ir::Function& function, const ir::Node& node) {
  std::set<uint32_t> loaded;
  for (const Phase& p : kernel.phases)
    loaded_params(p.body, loaded);
  std::vector<OutputAlias> aliases = output_aliases(function, node);
  for (size_t i = 0; i < aliases.size(); ++i) {
    const OutputAlias& alias = aliases[i];
    bool apart = alias.mode == AliasMode::None || alias.keep_operand || !loaded.count(alias.operand);
    kernel.params[node.operands.size() + i].exclusive = apart;
  }
}

constexpr auto map_form = &lower_checked_map;

struct Job {
  const ir::Module& module;
  const ir::Function& function;
  const ir::Node& node;
  const Target target;

  template <class Form> Kernel build(Form form) const {
    Kernel kernel;
    kernel.loc = node.loc;
    kernel.name = name();
    Emitter emitter(module, function, node, kernel, target);
    form(emitter);
    remove_dead(kernel);
    return kernel;
  }

  template <class Form> Kernel with_guards(Form form, const Layout& layout) const {
    return build([&](Emitter& e) {
      if constexpr (!std::is_same_v<Form, decltype(&lower_checked_map)>) check_guards(e, layout.vector);
      form(e, layout);
    });
  }

  // Tries layouts from the longest vector loop on, until one has no division per element. Loops whose inner bounds
  // differ from lane to lane become serial. `layout`: where it begins, and what it chose.
  template <class Form> Kernel best_split(const std::vector<ir::Dim>& dims, Form form, Layout& layout) const {
    size_t last = dims.empty() ? 0 : dims.size() - 1;
    const std::vector<ir::Dim> ordered = loop_order(dims, layout);
    bool tiny_last = !dims.empty() && ordered.back().is_constant() && ordered.back().constant < 8;
    while (true) {
      Kernel kernel = with_guards(form, layout);
      Findings findings = inspect(kernel);
      if (findings.nonuniform && layout.vector) {
        layout.vector = false;
        continue;
      }
      if (findings.nonuniform) unsupported("lanes with bounds of their own");
      if (!findings.divisions || layout.split >= last) return kernel;
      // A vector loop over 3 channels wastes most of its lanes: divisions are dearer only on paper.
      if (layout.split + 1 == last && tiny_last) {
        Layout flat = layout;
        flat.split = 0;
        if (layout.split == 0) return kernel;
        layout = flat;
        return with_guards(form, layout);
      }
      ++layout.split;
    }
  }

  // Where much is read for each result, vectors run along the axis that costs least, whatever the result's order is.
  template <class Form> Kernel best_layout(const std::vector<ir::Dim>& dims, Form form, Layout& layout) const {
    const Layout first = layout;
    Kernel best = best_split(dims, form, layout);
    Findings findings = inspect(best);
    if (target != Target::Cpu || !layout.vector || !findings.folds || !findings.gathers) return best;
    for (size_t axis = 0; axis + 1 < dims.size(); ++axis) {
      if (dims[axis] == ir::Dim::of(1)) continue;
      Layout other = first;
      other.last = axis;
      Kernel kernel = best_split(dims, form, other);
      const Findings found = inspect(kernel);
      if (!found.folds || found.traffic >= 0.75 * findings.traffic) continue;
      best = std::move(kernel);
      findings = found;
      layout = other;
    }
    return best;
  }
  template <class Form> Kernel best_layout(const std::vector<ir::Dim>& dims, Form form) const {
    Layout layout;
    return best_layout(dims, form, layout);
  }

  std::string name() const {
    // After the value that it computes, else the function that it is in; in the standard library after the function
    // that the program calls.
    LocId place = node.loc.index < module.locations.size() ? user_place(node.loc, module.locations) : LocId{};
    std::string text = function[node.results[0]].name;
    LocId called = node.loc;
    for (LocId loc = node.loc; loc != place; loc = module.locations[loc.index].caller)
      called = loc;
    if (text.empty() || called != place) text = module.locations[called.index].function;
    if (text.empty()) text = function.name;
    uint32_t line = module.locations[place.index].line;
    for (char& c : text)
      if (!isalnum(static_cast<unsigned char>(c))) c = '_';
    if (text.empty() || isdigit(static_cast<unsigned char>(text[0]))) text = "k" + text;
    return line ? fmt::format("{}_{}", text, line) : text;
  }

  // A map that reads elements far apart, in blocks in which they are close; nothing: it does not.
  std::optional<Kernel> transposed(const KernelShape& shape, const Kernel& map) const {
    if (target != Target::Cpu || shape.outer.size() < 2 || !inspect(map).gathers) return std::nullopt;
    size_t ways = 1;
    for (size_t way = 0; way < ways; ++way) {
      bool across = false;
      Kernel kernel = build([&](Emitter& e) {
        ways = transposed_ways(e);
        if (way >= ways) return;
        check_guards(e, true);
        across = lower_transposed(e, way);
      });
      if (across && !inspect(kernel).nonuniform) return kernel;
    }
    return std::nullopt;
  }

  // Elements that are loops are work enough for a task when they are few.
  Kernel map(const std::vector<ir::Dim>& dims, Layout& layout) const {
    constexpr int64_t few = 256;
    Kernel kernel = best_layout(dims, map_form, layout);
    if (target != Target::Cpu || !inspect(kernel).folds) return kernel;
    layout.block = few;
    return with_guards(map_form, layout);
  }

  // A nest of folds that lie along memory, where its vectors would run across it: lanes are elements of one fold. Short
  // folds are dear that way, so which one it is may be for the run to decide; nothing: there are no such folds.
  // `split`: of the loops that go from fold to fold.
  template <class Form>
  std::optional<Kernel> folding(const Kernel& across, const Layout& layout, size_t split, Form form) const {
    constexpr int64_t least = 16, least_one_by_one = 32; // elements of a fold
    const Findings found = inspect(across);
    if (target != Target::Cpu || !layout.vector || !found.folds || !found.gathers) return std::nullopt;
    std::vector<const ir::Node*> folds, inner; // all; those that are no folds of folds
    bool fits = true;
    ir::walk(function, node.regions[0], [&](ir::NodeId id) {
      const ir::Node& n = function[id];
      if (n.op == ir::Op::Reduce) folds.push_back(&n);
      if (n.op == ir::Op::Reduce && !folds_folds(n)) inner.push_back(&n);
      fits = fits && n.op != ir::Op::Contract && n.op != ir::Op::For && n.op != ir::Op::While;
    });
    if (!fits || folds.empty()) return std::nullopt;
    std::optional<Layout> along;
    for (bool one_by_one : {false, true}) {
      if (one_by_one && inner.size() == folds.size()) break;
      const Layout other{.split = split, .vector = false, .one_by_one = one_by_one};
      const Kernel only =
          with_guards([&](Emitter& e, const Layout& l) { form(e, l, SizeFormula::constant(1)); }, other);
      const Findings of_other = inspect(only);
      // Folds that come one after the other are counted in loops of unknown length, but then nothing may lie apart.
      if (of_other.nonuniform || (one_by_one ? of_other.gathers : of_other.traffic >= 0.75 * found.traffic)) continue;
      along = other;
      break;
    }
    if (!along) return std::nullopt;
    const int64_t shortest = along->one_by_one ? least_one_by_one : least;
    const std::vector<const ir::Node*>& which = along->one_by_one ? inner : folds;
    Kernel result = build([&](Emitter& e) {
      SizeFormula longest = SizeFormula::constant(0);
      bool is_known = true, is_long = false;
      for (const ir::Node* fold : which) {
        int64_t length = 1;
        const std::vector<ir::Dim> dims = e.folded_dims(*fold);
        for (const ir::Dim& dim : dims) {
          is_known = is_known && dim.is_constant();
          length = dim.is_constant() ? length * std::min(dim.constant, shortest) : length;
          fits = fits && (dim.is_constant() || !e.inside(dim.value));
        }
        is_long = is_long || length >= shortest;
        if (fits) longest = at_least(std::move(longest), e.formula(dims));
      }
      fits = fits && (!is_known || is_long);
      if (!fits) return;
      check_guards(e, true);
      if (is_known) return form(e, *along, SizeFormula::constant(1));
      const SizeFormula is_short = is_at_most(std::move(longest), shortest - 1);
      form(e, layout, is_short); // each way has its phase, and one of them no tiles
      form(e, *along, minus(SizeFormula::constant(1), is_short));
    });
    if (!fits) return std::nullopt;
    return result;
  }
  // Is there a fold in what it folds?
  bool folds_folds(const ir::Node& reduce) const {
    std::set<ir::NodeId> here, seen;
    ir::walk(function, node.regions[0], [&](ir::NodeId id) { here.insert(id); });
    std::vector<ir::ValueId> left = reduce.operands;
    while (!left.empty()) {
      const ir::NodeId id = function[left.back()].producer;
      left.pop_back();
      if (!here.contains(id) || !seen.insert(id).second) continue;
      const ir::Node& n = function[id];
      bool found = n.op == ir::Op::Reduce;
      for (const ir::Region& region : n.regions)
        ir::walk(function, region, [&](ir::NodeId inner) { found = found || function[inner].op == ir::Op::Reduce; });
      if (found) return true;
      left.insert(left.end(), n.operands.begin(), n.operands.end());
    }
    return false;
  }

  // Is what is folded one stretch of memory after the other, each longer than the lanes of a sum?
  bool folds_along_memory(const KernelShape& shape) const {
    if (target != Target::Cpu) return false;
    int64_t axis = static_cast<int64_t>(shape.outer.size() + shape.inner.size()) - 1, length = 1;
    size_t i = shape.inner.size();
    for (; i > 0 && shape.reduced[i - 1] == axis; --i, --axis) {
      if (!shape.inner[i - 1].is_constant()) return true;
      length *= shape.inner[i - 1].constant;
    }
    return length >= kSumLanes;
  }

  Kernel columns(const KernelShape& shape) const {
    auto form = [&](Emitter& e, const Layout& layout) { lower_chunked(e, shape, layout); };
    Layout layout{.vector = !folds_along_memory(shape)};
    Kernel kernel = best_layout(shape.outer, form, layout);
    const Findings found = inspect(kernel);
    auto apart = [&](const Findings& f) { return layout.vector && (f.divisions || f.gathers); };
    if (apart(found)) return kernel;
    bool may = false;
    build([&](Emitter& e) { may = may_be_flat(e, shape, layout); });
    if (!may) return kernel;
    layout.flat = true;
    Kernel flat = with_guards(form, layout);
    const Findings of_flat = inspect(flat);
    return apart(of_flat) || of_flat.nonuniform ? kernel : flat;
  }

  // How long rows are, at most, that go side by side through vectors. What is done once for a row, or takes several
  // passes, costs more than to find elements that lie apart, and to store them; a sum does where rows are a fraction of
  // a register.
  int64_t longest_short_row(const KernelShape& shape, int64_t inner) const {
    size_t passes = 0;
    bool is_light = true, stores_rows = false;
    for (ir::NodeId id : node.regions[0].nodes)
      if (const ir::Node& n = function[id]; n.op == ir::Op::Reduce) {
        ++passes;
        is_light = is_light && !gives_position(n.as<ir::ReduceAttrs>().op);
      }
    for (ir::ValueId yield : node.regions[0].yields)
      stores_rows = stores_rows || level_of(function[yield].type, shape) == Level::Element;
    if (stores_rows) return 12;
    return !is_light || passes > 1 ? 24 : inner < 0 ? 8 : 4;
  }

  Kernel rows(const KernelShape& shape, int64_t inner) const {
    Layout layout;
    Kernel kernel =
        best_layout(shape.inner, [&](Emitter& e, const Layout& chosen) { lower_rows(e, shape, chosen); }, layout);
    auto form = [&](Emitter& e, const Layout& chosen, const SizeFormula& times) {
      lower_rows(e, shape, chosen, times);
    };
    if (auto folds = folding(kernel, layout, 0, form)) return *folds;
    const int64_t most = longest_short_row(shape, inner);
    const bool single = std::ranges::all_of(shape.outer, [](const ir::Dim& dim) { return dim == ir::Dim::of(1); });
    if (target != Target::Cpu || single || !layout.vector || inner > most) return kernel;
    auto side_by_side = [&](bool others) {
      auto form = [&](Emitter& e, const Layout& chosen) { lower_short_rows(e, shape, chosen, most, others); };
      return with_guards(form, layout);
    };
    Kernel few = side_by_side(false);
    const Findings found = inspect(few);
    if (found.divisions || found.nonuniform) return kernel;
    return inner < 0 ? side_by_side(true) : few;
  }

  Kernel nest() const {
    KernelShape shape = kernel_shape(function, node);
    int64_t inner = 1; // -1: not a constant
    for (const ir::Dim& dim : shape.inner)
      inner = inner >= 0 && dim.is_constant() ? inner * dim.constant : -1;
    switch (shape.form) {
    case NestForm::Map: {
      Layout layout;
      Kernel kernel = map(shape.outer, layout);
      if (auto blocked = transposed(shape, kernel)) return *blocked;
      if (auto folds = folding(kernel, layout, shape.outer.size(), lower_map)) return *folds;
      return kernel;
    }
    case NestForm::Rows:
      if (!shape.outer.empty() || (inner >= 0 && inner <= kRowInOneTile)) return rows(shape, inner);
      [[fallthrough]];
    case NestForm::Columns: return columns(shape);
    case NestForm::Scan: return best_layout({}, lower_scan);
    }
    unsupported("an unknown form");
  }

  Kernel contract() const {
    bool done = false;
    Kernel kernel = build([&](Emitter& e) { done = lower_gemm(e); });
    if (done) return kernel;
    const std::vector<ir::Dim>& dims = function[node.results[0]].type.dims;
    constexpr int64_t vector = 16; // elements of a row, each of them a lane
    if (target == Target::Cpu && dims.size() > 1 && dims.back().is_constant() && dims.back().constant <= vector)
      return with_guards(map_form, {.split = dims.size() - 1});
    Layout layout;
    return map(dims, layout);
  }

  Kernel update() const {
    const ir::Node& last = function[function[node.regions[0].yields[0]].producer];
    if (last.op == ir::Op::Scatter) return best_layout({}, lower_scatter);
    if (last.op != ir::Op::Update) unsupported("an update kernel without Update or Scatter");
    return best_layout(function[last.operands[1]].type.dims, lower_update);
  }

  Kernel loop() const {
    for (Layout layout; layout.vector; layout.vector = false) {
      Kernel kernel = build([&](Emitter& e) { lower_loop(e, layout); });
      if (!inspect(kernel).nonuniform) return kernel;
    }
    return build([](Emitter& e) { lower_loop(e, {.vector = false}); });
  }

  Kernel lower() const {
    switch (node.as<ir::KernelAttrs>().kind) {
    case ir::KernelKind::Nest: return nest();
    case ir::KernelKind::Contract: return contract();
    case ir::KernelKind::Update: return update();
    case ir::KernelKind::Loop: return loop();
    }
    unsupported("an unknown kind");
  }
};

} // namespace

kir::Kernel lower_kernel(const ir::Module& module, const ir::Function& function, ir::NodeId kernel_node,
                         Target target) {
  const ir::Node& node = function[kernel_node];
  if (node.op != ir::Op::Kernel) unsupported("not a Kernel node");
  Kernel kernel = Job{module, function, node, target}.lower();
  mark_exclusive(kernel, function, node);
  return kernel;
}

} // namespace tl
