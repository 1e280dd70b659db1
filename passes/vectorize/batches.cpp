// Makes loops whose turns do not depend on each other operations on tensors of many turns: `[median(x[i]) for i in
// 0..n]`, and `for i in 0..n { y[i] = sort(x[i]) }`. To issue an operation takes longer than to do it on few elements.
//
// Needs: no transforms of functions. Loops that can be native code are that already.
// Gives: such a loop goes over batches of turns, as long as the greatest tensor of one has kElements elements; where
//        that would be fewer than kLeast turns, which only the run may know, it stays. Each turn has its bits. Where
//        several turns fail, the failure that is reported may be another one than turn after turn would give.
#include "ir/graph/op_info.h"
#include "ir/graph/rewrite.h"
#include "passes/edit.h"
#include "passes/emit.h"
#include "passes/passes.h"
#include "passes/vectorize/vectorize.h"
#include <algorithm>
#include <map>
#include <set>

namespace tl {
using namespace ir;
namespace {

constexpr int64_t kElements = int64_t{1} << 16, kLeast = 8;

// Loops inside each other, each of which has nothing but the next one that carries values.
struct Nest {
  std::vector<ValueId> positions;
  std::vector<Dim> extents;    // of the inner ones
  std::vector<NodeId> nodes;   // of all bodies, in order, without loops of the nest and updates
  std::vector<ValueId> values; // what is written at the positions, for each carried tensor
};

class Batches {
public:
  Batches(Module& module, Function& function) : module_(module), f_(function) {}

  void run() {
    region(f_.body);
    if (replaced_.empty()) return;
    auto renew = [&](std::vector<ValueId>& values) {
      for (ValueId& value : values)
        if (auto found = replaced_.find(value); found != replaced_.end()) value = found->second;
    };
    renew(f_.body.yields);
    walk(f_, f_.body, [&](NodeId id) {
      renew(f_[id].operands);
      for (Region& inner : f_[id].regions)
        renew(inner.yields);
    });
  }

private:
  void region(Region& r) {
    std::vector<NodeId> out;
    for (NodeId id : r.nodes) {
      Nest nest;
      if (f_[id].op == Op::For && match(id, nest) && batch(id, nest, out)) continue;
      const bool is_tensor_work = f_[id].op == Op::Kernel || f_[id].op == Op::Map;
      for (size_t i = 0; i < f_[id].regions.size() && !is_tensor_work; ++i) {
        Region inner = std::move(f_[id].regions[i]); // adding nodes moves the others
        region(inner);
        f_[id].regions[i] = std::move(inner);
      }
      out.push_back(id);
    }
    r.nodes = std::move(out);
  }

  // ---- which loops

  bool match(NodeId loop, Nest& nest) {
    inside_.clear();
    const Region whole{{}, {loop}, {}};
    walk(f_, whole, [&](NodeId id) {
      if (id != loop) inside_.insert(f_[id].results.begin(), f_[id].results.end());
      for (const Region& inner : f_[id].regions)
        inside_.insert(inner.params.begin(), inner.params.end());
    });
    return level(loop, nest) && is_pure(nest);
  }

  bool level(NodeId loop, Nest& nest) {
    const Node& node = f_[loop];
    const Region& body = node.regions[0];
    const bool is_inner = !nest.positions.empty();
    if (integer_of(f_, node.operands[2]) != 1 || node.results.empty()) return false;
    if (is_inner && (integer_of(f_, node.operands[0]) != 0 || inside_.contains(node.operands[1]))) return false;
    if (is_inner) nest.extents.push_back(extent(node.operands[1]));
    nest.positions.push_back(body.params[0]);
    const std::vector<ValueId> carried(body.params.begin() + 1, body.params.end());
    const Node* last = producer_of(f_, body.yields[0]);
    if (last && last->op == Op::For && last->results == body.yields &&
        std::equal(carried.begin(), carried.end(), last->operands.begin() + 3, last->operands.end())) {
      const NodeId inner = f_[body.yields[0]].producer;
      for (NodeId id : body.nodes)
        if (id != inner) nest.nodes.push_back(id);
      return reads_none(body, carried, {inner}) && level(inner, nest);
    }
    std::set<NodeId> updates;
    for (size_t k = 0; k < carried.size(); ++k) {
      const NodeId update = f_[body.yields[k]].producer;
      if (!update.valid() || !is_write(f_[update], carried[k], nest) || !updates.insert(update).second) return false;
      nest.values.push_back(f_[update].operands[1]);
    }
    for (NodeId id : body.nodes)
      if (!updates.contains(id)) nest.nodes.push_back(id);
    return reads_none(body, carried, updates);
  }
  // A size, which no turn changes.
  Dim extent(ValueId value) const {
    const auto number = integer_of(f_, value);
    return number ? Dim::of(std::max<int64_t>(*number, 0)) : Dim::of(value);
  }

  // Is nothing but these nodes given the values?
  bool reads_none(const Region& body, const std::vector<ValueId>& values, const std::set<NodeId>& but) const {
    bool none = true;
    walk(f_, body, [&](NodeId id) {
      auto reads = [&](const std::vector<ValueId>& read) {
        return std::any_of(read.begin(), read.end(),
                           [&](ValueId v) { return std::count(values.begin(), values.end(), v) > 0; });
      };
      if (!but.contains(id)) none = none && !reads(f_[id].operands);
      for (const Region& inner : f_[id].regions)
        none = none && !reads(inner.yields);
    });
    return none;
  }

  // x[i, j] = value, or x[i, j, :, :].
  bool is_write(const Node& node, ValueId carried, const Nest& nest) const {
    if (node.op != Op::Update || node.operands[0] != carried) return false;
    const auto& [mode, steps] = node.as<UpdateAttrs>();
    const std::vector<Dim>&into = f_[carried].type.dims, &part = f_[node.operands[1]].type.dims;
    const size_t depth = nest.positions.size();
    if (mode != UpdateMode::Set || into.size() < depth || node.operands.size() != 2 + into.size()) return false;
    if (!std::equal(nest.positions.begin(), nest.positions.end(), node.operands.begin() + 2)) return false;
    if (steps.empty()) return into.size() == depth;
    for (size_t i = 0; i < into.size(); ++i) {
      if (steps[i] != 1 || !(part[i] == (i < depth ? Dim::of(1) : into[i]))) return false;
      if (i >= depth && integer_of(f_, node.operands[2 + i]) != 0) return false;
    }
    return true;
  }

  // The Vectorizer does not refuse branches and loops that end by themselves, but does work that the loop does not:
  // both branches of all turns. That sizes are the same in all turns is needed to know how many fit.
  bool is_pure(const Nest& nest) {
    sizes_.clear();
    bool pure = true, has_tensors = false;
    const Region whole{{}, nest.nodes, {}};
    walk(f_, whole, [&](NodeId id) {
      const Node& node = f_[id];
      pure = pure && !is_effect(f_, node) && node.op != Op::While && node.op != Op::Kernel &&
             (node.op != Op::If || (is_cheap(node.regions[0]) && is_cheap(node.regions[1])));
      for (ValueId result : node.results) {
        const Type& type = f_[result].type;
        pure = pure && type.is_tensor();
        has_tensors = has_tensors || !type.dims.empty();
        std::vector<Dim> dims = type.dims;
        for (Dim& dim : dims) {
          if (!dim.is_constant()) dim.value = before_loop(dim.value);
          pure = pure && (dim.is_constant() || dim.value.valid());
        }
        if (pure) sizes_.insert(product(dims));
      }
    });
    return pure && has_tensors;
  }
  // The size before the loop that this one is if its checks hold, or none.
  ValueId before_loop(ValueId size) const {
    while (inside_.contains(size)) {
      const Node* node = producer_of(f_, size);
      if (!node || node->op != Op::Guard) return {};
      size = node->operands[0];
    }
    return size;
  }
  bool is_cheap(const Region& branch) const {
    return std::all_of(branch.nodes.begin(), branch.nodes.end(), [&](NodeId id) {
      const Op op = f_[id].op;
      return op == Op::Constant || op == Op::Elementwise || op == Op::Convert || op == Op::Broadcast ||
             op == Op::Reshape || op == Op::Index || op == Op::Reduce || op == Op::Guard || op == Op::Iota;
    });
  }
  // A product of sizes: the constant, and the others in order.
  using Product = std::pair<std::vector<ValueId>, int64_t>;
  static Product product(const std::vector<Dim>& dims) {
    Product result{{}, 1};
    for (const Dim& dim : dims) {
      if (dim.is_constant())
        result.second *= std::max<int64_t>(dim.constant, 1);
      else
        result.first.push_back(dim.value);
    }
    std::sort(result.first.begin(), result.first.end());
    return result;
  }

  // ---- what they become

  bool batch(NodeId loop, const Nest& nest, std::vector<NodeId>& out) {
    const Node node = f_[loop];
    const Product inner = product(nest.extents);
    int64_t most = 1;
    for (const Product& size : sizes_)
      if (size.first.empty()) most = std::max(most, size.second);
    if (most > kElements / kLeast || inner.second > kElements / kLeast / most) return false;

    Region made;
    Emit e(module_, f_, made, node.loc);
    ValueId greatest = e.i64(most);
    bool is_known = inner.first.empty();
    auto times = [&](ValueId number, const Product& sizes) {
      for (ValueId size : sizes.first)
        number = e.op(ScalarOp::Mul, {number, e.op(ScalarOp::Clamp, {size, e.i64(1), e.i64(kElements)})});
      return e.op(ScalarOp::Clamp, {number, e.i64(1), e.i64(kElements)});
    };
    for (const Product& size : sizes_) {
      if (size.first.empty()) continue;
      is_known = false;
      greatest = e.op(ScalarOp::Max, {greatest, times(e.i64(std::min(size.second, kElements)), size)});
    }
    greatest = times(e.mul(greatest, e.i64(inner.second)), {inner.first, 1});
    const ValueId turns = e.op(ScalarOp::FloorDiv, {e.i64(kElements), greatest});

    Region batched;
    Emit inside(module_, f_, batched, node.loc);
    if (!batches(is_known ? e : inside, node, nest, turns, batched.yields)) return false;
    std::vector<ValueId> results = batched.yields;
    if (!is_known) {
      Region as_before;
      Builder builder(module_, f_, as_before);
      Cloner cloner(module_, f_, f_);
      as_before.yields = std::vector<ValueId>(f_[cloner.clone(loop, builder)].results);
      std::vector<Type> types;
      for (ValueId result : node.results)
        types.push_back(f_[result].type);
      const ValueId enough = e.op(ScalarOp::Ge, {turns, e.i64(kLeast)});
      std::vector<Region> branches{std::move(batched), std::move(as_before)};
      const NodeId choice = e.builder().node(Op::If, {enough}, std::move(types), {}, node.loc, std::move(branches));
      results = f_[choice].results;
    }
    for (size_t k = 0; k < results.size(); ++k)
      replaced_[node.results[k]] = results[k];
    out.insert(out.end(), made.nodes.begin(), made.nodes.end());
    return true;
  }
  bool batches(Emit& e, const Node& node, const Nest& nest, ValueId turns, std::vector<ValueId>& results) {
    const ValueId from = node.operands[0];
    const ValueId count = e.op(ScalarOp::Max, {e.sub(node.operands[1], from), e.i64(0)});
    const ValueId parts = e.op(ScalarOp::FloorDiv, {e.sub(e.add(count, turns), e.i64(1)), turns});
    const std::vector<ValueId> initial(node.operands.begin() + 3, node.operands.end());
    bool done = true;
    results = e.loop(e.i64(0), parts, e.i64(1), initial,
                     [&](Emit& inside, ValueId part, const std::vector<ValueId>& carried) {
                       const ValueId before = inside.mul(part, turns), first = inside.add(from, before);
                       const ValueId size = inside.op(ScalarOp::Min, {turns, inside.sub(count, before)});
                       std::vector<Dim> dims{Dim::of(size)};
                       dims.insert(dims.end(), nest.extents.begin(), nest.extents.end());
                       std::vector<ValueId> next = carried;
                       done = turn(inside, nest, dims, first, next);
                       return next;
                     });
    return done;
  }

  bool turn(Emit& e, const Nest& nest, const std::vector<Dim>& dims, ValueId first, std::vector<ValueId>& carried) {
    Region body;
    Builder builder(module_, f_, body);
    Cloner cloner(module_, f_, f_);
    for (size_t i = 0; i < nest.positions.size(); ++i)
      builder.param(Type::scalar(DType::I64));
    for (size_t i = 0; i < nest.positions.size(); ++i)
      cloner.map(nest.positions[i], i > 0 ? body.params[i] : builder.scalar(ScalarOp::Add, {body.params[0], first}));
    for (NodeId id : nest.nodes)
      cloner.clone(id, builder);
    Vectorizer vectorizer(module_, f_, dims, e.builder());
    for (size_t i = 0; i < nest.positions.size(); ++i)
      vectorizer.bind_index(body.params[i], static_cast<uint32_t>(i));
    if (!vectorizer.region(body)) return false;
    for (size_t k = 0; k < carried.size(); ++k) {
      std::vector<Dim> part = dims;
      const std::vector<Dim>& into = f_[carried[k]].type.dims;
      part.insert(part.end(), into.begin() + static_cast<ptrdiff_t>(dims.size()), into.end());
      std::vector<ValueId> starts(part.size(), e.i64(0));
      starts[0] = first;
      const ValueId value = e.reshape(vectorizer.spread(vectorizer(cloner(nest.values[k]))), part);
      carried[k] =
          e.update(carried[k], value, std::move(starts), std::vector<int64_t>(part.size(), 1), UpdateMode::Set);
    }
    return true;
  }

  Module& module_;
  Function& f_;
  std::set<ValueId> inside_; // the loop that is looked at
  std::set<Product> sizes_;  // of the tensors of a turn
  std::map<ValueId, ValueId> replaced_;
};

} // namespace

Module batches(Module module) {
  for (Function& function : module.functions)
    Batches(module, function).run();
  return module;
}

} // namespace tl
