#include "abi/orders.h"
#include "ir/lower/function.h"
#include "lang/typed_walk.h"
#include <algorithm>

namespace tl::ir {
namespace {

// Does this index's range use one of the earlier indices?
bool depends(const LowerProgram& shared, const typed::ComprehensionIndex& index, const std::set<VarKey>& earlier) {
  std::set<AtomId> atoms;
  for (VarKey var : earlier)
    if (AtomId atom = shared.program.variables[var].atom; atom.valid()) atoms.insert(atom);
  auto mentions = [&](const Size& size) {
    std::vector<AtomId> used;
    shared.atoms.collect(size, used);
    return std::any_of(used.begin(), used.end(), [&](AtomId atom) { return atoms.contains(atom); });
  };
  bool found = false;
  for (const typed::SizeBind& bind : index.binds) {
    walk(
        *bind.value,
        [&](const typed::Expr& e) {
          const auto* variable = e.get_if<typed::VariableExpr>();
          bool uses = variable && earlier.contains(variable->var.index);
          typed::each_size(e, [&](const Size& size) { uses = uses || mentions(size); });
          if (const auto* call = e.get_if<typed::CallExpr>()) { // a closure brings what it reads
            const typed::Instance& callee = shared.program.instances[call->instance.index];
            for (typed::VarId var : callee.captures)
              uses = uses || earlier.contains(var.index);
            for (AtomId atom : callee.captured_atoms)
              uses = uses || atoms.contains(atom);
          }
          found = found || uses;
          if (uses) atoms.insert(bind.atom);
          return true;
        },
        nullptr);
  }
  return found || mentions(index.lo) || mentions(index.hi);
}

} // namespace

void FunctionLowerer::bind_index(const IndexRange& range, ValueId position) {
  const typed::Variable& var = shared_.program.variables[range.var()];
  ValueId value = range.lo.is(0) ? position : scalar(ScalarOp::Add, {position, size_value(range.lo)});
  env_[range.var()] = {value};
  if (var.atom.valid()) bind_atom(var.atom, value);
}

Leaves FunctionLowerer::comprehension(const typed::Expr& e) {
  Leaves result = e.as<typed::ComprehensionExpr>().is_reduction ? reduction(e) : tensor_comprehension(e);
  bind_fresh(e.fresh, e.type, result);
  return as_type(std::move(result), e.type);
}

Leaves FunctionLowerer::tensor_comprehension(const typed::Expr& e) {
  std::vector<tl::Type> elements = leaf_types(e.type);
  if (elements.empty()) return {};
  std::vector<IndexRange> ranges;
  std::vector<Dim> extents;
  for (const typed::ComprehensionIndex& index : e.as<typed::ComprehensionExpr>().indices) {
    bind_all(index.binds);
    ranges.push_back({&index, index.lo, elements[0].shape.at(ranges.size())});
  }
  bind_all(e.binds);
  for (const IndexRange& range : ranges)
    extents.push_back(axis(range.extent, range.index->span));
  extents[0] = checked(extents[0], e.checks);
  for (tl::Type& element : elements)
    element.shape.erase(element.shape.begin(), element.shape.begin() + static_cast<long>(ranges.size()));
  return map(ranges, extents, elements, [&] { return expr(*e.operands[0]); }, loc(e.span));
}

// How many numbers an index takes, which are an axis.
Dim FunctionLowerer::axis(const Size& extent, Span span) {
  const Dim count = dim(extent);
  if (count.is_constant() || shared_.atoms.range_of(extent).second <= kLongestAxis || axes_.contains(count.value))
    return count;
  // Of a distance that is no i64, what is left after wrapping is negative.
  const ValueId most = i64(kLongestAxis);
  ValueId fine =
      scalar(ScalarOp::And, {scalar(ScalarOp::Ge, {count.value, i64(0)}), scalar(ScalarOp::Le, {count.value, most})});
  uint32_t s =
      site("SizeOverflow", "a range of this length is no axis: there are at most {0} elements along one", span);
  ValueId checked = guard(count.value, fine, s, {most}, span);
  scopes_.back().sizes[extent] = checked;
  axes_.insert(checked);
  return Dim::of(checked);
}

// ---- reductions

Leaves FunctionLowerer::reduction(const typed::Expr& e) {
  const auto& comprehension = e.as<typed::ComprehensionExpr>();
  const ReduceOp op = comprehension.reduce;
  std::vector<IndexRange> ranges;
  std::set<VarKey> earlier;
  bool rectangular = true;
  for (const typed::ComprehensionIndex& index : comprehension.indices) {
    bool dependent = depends(shared_, index, earlier);
    rectangular = rectangular && !dependent;
    earlier.insert(index.var.index);
    if (!dependent) bind_all(index.binds);
    ranges.push_back({&index, index.lo, {}});
  }
  bind_all(e.binds);
  for (IndexRange& range : ranges) {
    const Size& hi = range.index->hi;
    range.extent = shared_.atoms.positive(hi - range.lo);
  }
  if (rectangular)
    if (std::optional<ValueId> sum = product_sum(e, ranges)) return {*sum};
  if (!rectangular && gives_position(op)) {
    if (!e.operands[0]->type.is_scalar())
      unsupported("argmin and argmax of tensors over a range that uses an earlier index", e.span);
    Best best = arg_over(e, ranges, 0);
    return {guard_not_empty(best.position, best.count, e.span)};
  }

  const bool needs_one = chooses(op);
  Leaves result = reduce_over(e, ranges, 0, needs_one || comprehension.is_mean);
  LocId at = loc(e.span);
  ValueId counted;
  if (needs_one || comprehension.is_mean) {
    counted = result.back();
    result.pop_back();
  }
  for (ValueId& leaf : result) {
    if (comprehension.is_mean) {
      ValueId count = convert(counted, type(leaf).dtype, at);
      leaf = elementwise(ScalarOp::Div, {leaf, count}, std::vector<Dim>(type(leaf).dims), at);
    }
    if (needs_one) leaf = guard_not_empty(leaf, counted, e.span);
    leaf = convert(leaf, gives_position(op) ? DType::I64 : part_of(e.type.dtype), at);
  }
  return result;
}

// Indices up to the first whose range uses one of them; the rest is a reduction for each of their positions.
std::pair<std::vector<FunctionLowerer::IndexRange>, std::vector<Dim>>
FunctionLowerer::independent(const typed::Expr& e, const std::vector<IndexRange>& ranges, size_t from) {
  std::set<VarKey> earlier;
  size_t to = from;
  while (to < ranges.size() && !depends(shared_, *ranges[to].index, earlier))
    earlier.insert(ranges[to++].var());
  std::vector<IndexRange> now(ranges.begin() + static_cast<long>(from), ranges.begin() + static_cast<long>(to));
  if (from > 0)
    for (const IndexRange& range : now)
      bind_all(range.index->binds);
  std::vector<Dim> extents;
  for (const IndexRange& range : now)
    extents.push_back(axis(range.extent, range.index->span));
  extents[0] =
      checked(extents[0], from == 0 ? std::vector<typed::SizeCheck>(e.checks) : std::vector<typed::SizeCheck>());
  return {now, extents};
}

// Does its element join tensors? Of one element after the other that is a branch each, and of whole tensors it is none.
bool FunctionLowerer::joins_tensors(const typed::Expr& e, const std::vector<IndexRange>& ranges) {
  const Snapshot before = snapshot();
  const Env env = env_;
  Region region;
  frames_.push_back({ranges, {}, push(region, ScopeKind::MapBody), static_cast<uint32_t>(f_.values.size())});
  for (const IndexRange& range : ranges)
    bind_index(range, here().param(Type::scalar(DType::I64)));
  expr(*e.operands[0]);
  const bool joins =
      std::any_of(region.nodes.begin(), region.nodes.end(), [&](NodeId node) { return f_[node].op == Op::Concat; });
  frames_.pop_back();
  restore(before);
  env_ = env;
  return joins;
}

// A reduction of tensors over a few known positions, written out: the operations of each position on whole tensors, and
// the results put together in the order of abi/orders.h. Nothing where that is not worth it.
std::optional<Leaves> FunctionLowerer::written_out(const typed::Expr& e, const std::vector<IndexRange>& ranges,
                                                   const std::vector<Dim>& extents,
                                                   const std::vector<tl::Type>& elements) {
  constexpr int64_t kMostPositions = 16;
  const auto& comprehension = e.as<typed::ComprehensionExpr>();
  int64_t positions = 1;
  for (const Dim& extent : extents) {
    if (!extent.is_constant() || extent.constant < 1 || extent.constant > kMostPositions) return std::nullopt;
    positions *= extent.constant;
  }
  const bool are_tensors =
      std::all_of(elements.begin(), elements.end(), [](const tl::Type& t) { return t.is_tensor() && t.rank() > 0; });
  if (positions > kMostPositions || comprehension.filter || gives_position(comprehension.reduce) || !are_tensors ||
      !joins_tensors(e, ranges))
    return std::nullopt;
  auto element = [&](int64_t position) {
    const Env env = env_;
    push(*scopes_.back().region, ScopeKind::Inline);
    for (size_t i = ranges.size(); i-- > 0; position /= extents[i].constant)
      bind_index(ranges[i], i64(position % extents[i].constant));
    Leaves leaves = filtered(e, elements, ranges);
    for (size_t i = 0; i < leaves.size(); ++i)
      leaves[i] = as_type(leaves[i], elements[i]);
    pop();
    env_ = env;
    return leaves;
  };
  // Lane `lane` after it has met those from `step` on.
  std::function<Leaves(int64_t, int64_t)> folded = [&](int64_t lane, int64_t step) -> Leaves {
    if (step == kSumLanes) return element(lane);
    Leaves left = folded(lane, 2 * step);
    if (lane + step >= positions) return left;
    const Leaves right = folded(lane + step, 2 * step);
    for (size_t i = 0; i < left.size(); ++i)
      left[i] = elementwise(info(comprehension.reduce).combine, {left[i], right[i]},
                            std::vector<Dim>(type(left[i]).dims), loc(e.span));
    return left;
  };
  return folded(0, 1);
}

Leaves FunctionLowerer::reduce_over(const typed::Expr& e, const std::vector<IndexRange>& ranges, size_t from,
                                    bool count) {
  LocId at = loc(e.span);
  const auto& comprehension = e.as<typed::ComprehensionExpr>();
  const ReduceOp op = comprehension.reduce;
  auto [now, extents] = independent(e, ranges, from);
  size_t to = from + now.size();
  std::vector<int64_t> axes;
  for (size_t i = 0; i < now.size(); ++i)
    axes.push_back(static_cast<int64_t>(i));

  // Sums and products in the accumulator's type.
  tl::Type element = e.operands[0]->type;
  if (is_wide(op)) {
    element.dtype = e.type.dtype;
    if (element.dtype == DType::F16 || element.dtype == DType::BF16) element.dtype = DType::F32;
  }
  std::vector<tl::Type> elements = leaf_types(element);
  const size_t leaves = elements.size();
  if (to < ranges.size()) {
    if (count) elements.push_back(tl::Type::scalar(DType::I64));
    Leaves inner = map(now, extents, elements, [&] { return reduce_over(e, ranges, to, count); }, at);
    Leaves result;
    for (size_t i = 0; i < inner.size(); ++i)
      result.push_back(reduce(i < leaves ? op : ReduceOp::Sum, inner[i], axes, {}, at));
    return result;
  }
  if (std::optional<Leaves> known = written_out(e, now, extents, elements)) {
    if (count) known->push_back(here().size(product(extents)));
    return *known;
  }
  if (comprehension.filter) elements.push_back(tl::Type::scalar(DType::Bool));
  Leaves mapped = map(now, extents, elements, [&] { return filtered(e, elements, now); }, at);
  ValueId mask = comprehension.filter ? mapped.back() : ValueId{};
  ValueId counted = mask;
  if (mask.valid() && type(mapped[0]).dims.size() > axes.size()) {
    Type t = Type::tensor(DType::Bool, type(mapped[0]).dims);
    mask = here().one(Op::Broadcast, {mask}, std::move(t), AxesAttrs{axes}, at);
  }
  Leaves result;
  for (size_t i = 0; i < leaves; ++i)
    result.push_back(reduce(op, mapped[i], axes, mask, at));
  if (count)
    result.push_back(counted.valid() ? reduce(ReduceOp::Sum, convert(counted, DType::I64, at), axes, {}, at)
                                     : here().size(product(extents)));
  return result;
}

// The rows of the first ranges, whose sizes differ: the best of the rows' best, and how much comes before its row.
FunctionLowerer::Best FunctionLowerer::arg_over(const typed::Expr& e, const std::vector<IndexRange>& ranges,
                                                size_t from) {
  LocId at = loc(e.span);
  const auto& comprehension = e.as<typed::ComprehensionExpr>();
  const ReduceOp position_op = comprehension.reduce;
  const ReduceOp value_op = info(position_op).combine == ScalarOp::Min ? ReduceOp::Min : ReduceOp::Max;
  auto [now, extents] = independent(e, ranges, from);
  size_t to = from + now.size();
  std::vector<int64_t> axes;
  for (size_t i = 0; i < now.size(); ++i)
    axes.push_back(static_cast<int64_t>(i));
  tl::Type element = e.operands[0]->type, whole = tl::Type::scalar(DType::I64);
  if (to == ranges.size()) {
    std::vector<tl::Type> elements{element};
    if (comprehension.filter) elements.push_back(tl::Type::scalar(DType::Bool));
    Leaves mapped = map(now, extents, elements, [&] { return filtered(e, elements, now); }, at);
    ValueId mask = comprehension.filter ? mapped[1] : ValueId{}, size = here().size(product(extents));
    ValueId count = mask.valid() ? reduce(ReduceOp::Sum, convert(mask, DType::I64, at), axes, {}, at) : size;
    return {reduce(value_op, mapped[0], axes, mask, at), reduce(position_op, mapped[0], axes, mask, at), size, count};
  }
  Leaves rows = map(
      now, extents, {element, whole, whole, whole},
      [&]() -> Leaves {
        Best row = arg_over(e, ranges, to);
        return {row.value, row.position, row.size, row.count};
      },
      at);
  for (ValueId& leaf : rows)
    leaf = with_leading_flat(leaf, now.size());
  const std::vector<Dim> flat = type(rows[0]).dims;
  auto each = [&](ScalarOp op, std::vector<ValueId> operands) {
    return elementwise(op, std::move(operands), flat, at);
  };
  auto total = [&](ValueId x) { return reduce(ReduceOp::Sum, x, {0}, {}, at); };
  ValueId some = each(ScalarOp::Gt, {rows[3], i64(0)}), row = reduce(position_op, rows[0], {0}, some, at);
  ValueId number = iota(flat[0], at), zero = i64(0);
  ValueId before = each(ScalarOp::Where, {each(ScalarOp::Lt, {number, row}), rows[2], zero});
  ValueId within = each(ScalarOp::Where, {each(ScalarOp::Eq, {number, row}), rows[1], zero});
  return {reduce(value_op, rows[0], {0}, some, at), total(each(ScalarOp::Add, {before, within})), total(rows[2]),
          total(rows[3])};
}

// The element, and whether it takes part. The element is evaluated only then, unless that makes no difference.
Leaves FunctionLowerer::filtered(const typed::Expr& e, const std::vector<tl::Type>& elements,
                                 const std::vector<IndexRange>&) {
  LocId at = loc(e.span);
  auto element = [&]() {
    Leaves leaves = expr(*e.operands[0]);
    for (size_t i = 0; i < leaves.size(); ++i)
      leaves[i] = convert(leaves[i], elements[i].dtype, at);
    return leaves;
  };
  const typed::ExprPtr& filter = e.as<typed::ComprehensionExpr>().filter;
  if (!filter) return element();
  ValueId taken = one(*filter);
  Snapshot before = snapshot();
  Env env = env_;
  size_t first = scopes_.back().region->nodes.size();
  Leaves value = element();
  const std::vector<NodeId>& made = scopes_.back().region->nodes;
  bool total = true;
  for (size_t i = first; i < made.size(); ++i) {
    const Node& n = f_[made[i]];
    bool fine = n.op == Op::Constant || n.op == Op::Elementwise || n.op == Op::Convert;
    if (n.op == Op::Index && !frames_.empty()) { // whole axes under the indices are in range whatever the filter says
      const MapFrame& frame = frames_.back();
      fine = true;
      for (size_t k = 1; k < n.operands.size(); ++k) {
        auto param = std::find(frame.params.begin(), frame.params.end(), n.operands[k]);
        fine = fine && param != frame.params.end() &&
               dim(frame.ranges[static_cast<size_t>(param - frame.params.begin())].extent) ==
                   type(n.operands[0]).dims[k - 1];
      }
    }
    total = total && fine;
  }
  if (!total) {
    restore(before);
    env_ = env;
    value = merge(taken, element, [] { return Leaves(); }, at);
  }
  value.push_back(taken);
  return value;
}

// ---- maps

Leaves FunctionLowerer::map(const std::vector<IndexRange>& ranges, const std::vector<Dim>& extents,
                            const std::vector<tl::Type>& elements, const Rest& body, LocId at) {
  for (const tl::Type& element : elements) // what is the same for all elements is checked once
    for (const Size& size : element.shape)
      if (knows(size)) axis(size, ranges[0].index->span);
  Snapshot before = snapshot();
  Env env = env_;
  auto mark = static_cast<uint32_t>(f_.values.size());
  Region region;
  frames_.push_back({ranges, {}, push(region, ScopeKind::MapBody), mark});
  std::vector<ValueId> params;
  for (const IndexRange& range : ranges)
    params.push_back(here().param(Type::scalar(DType::I64), shared_.program.variables[range.var()].name));
  frames_.back().params = params;
  for (size_t i = 0; i < ranges.size(); ++i)
    bind_index(ranges[i], params[i]);
  region.yields = body();
  for (size_t i = 0; i < region.yields.size(); ++i)
    region.yields[i] = as_type(region.yields[i], elements.at(i));
  pop();
  frames_.pop_back();
  env_ = env;

  // A body that is an element of a tensor under all indices in order is that tensor.
  if (region.nodes.size() == 1 && region.yields.size() == 1) {
    const Node& n = f_[region.nodes[0]];
    if (n.op == Op::Index && n.results[0] == region.yields[0] &&
        std::equal(n.operands.begin() + 1, n.operands.end(), params.begin(), params.end()) &&
        type(n.operands[0]).dims == extents)
      return {n.operands[0]};
  }
  Builder builder = here();
  if (auto values = scalarize(shared_.module, f_, builder, region, extents, at)) return *values;
  restore(before);
  return map_by_loop(ranges, extents, elements, body, at);
}

// One position after the other, each written into the tensors: for bodies that work on whole tensors.
Leaves FunctionLowerer::map_by_loop(const std::vector<IndexRange>& ranges, const std::vector<Dim>& extents,
                                    const std::vector<tl::Type>& elements, const Rest& body, LocId at) {
  Leaves tensors;
  for (const tl::Type& element : elements) {
    std::vector<Dim> shape = extents;
    for (const Size& size : element.shape) {
      if (!knows(size)) unsupported("elements of a comprehension whose sizes it decides itself", ranges[0].index->span);
      shape.push_back(dim(size));
    }
    tensors.push_back(splat(here().constant(element.dtype, {}), shape, at));
  }
  std::vector<ValueId> positions;
  auto write = [&](Leaves into) {
    Leaves values = body();
    for (size_t k = 0; k < values.size(); ++k) {
      values[k] = as_type(values[k], elements[k]);
      std::vector<ValueId> operands{into[k], values[k]};
      operands.insert(operands.end(), positions.begin(), positions.end());
      UpdateAttrs attrs;
      if (!elements[k].shape.empty()) {
        std::vector<Dim> part(positions.size(), Dim::of(1));
        part.insert(part.end(), type(values[k]).dims.begin(), type(values[k]).dims.end());
        operands[1] = retyped(values[k], part);
        while (operands.size() < 2 + part.size())
          operands.push_back(i64(0));
        attrs.steps.assign(part.size(), 1);
      }
      Type t = type(into[k]);
      into[k] = here().one(Op::Update, std::move(operands), std::move(t), std::move(attrs), at);
    }
    return into;
  };
  std::function<Leaves(size_t, Leaves)> level = [&](size_t depth, Leaves into) -> Leaves {
    if (depth == ranges.size()) return write(std::move(into));
    std::vector<ValueId> operands{i64(0), here().size(extents[depth]), i64(1)};
    operands.insert(operands.end(), into.begin(), into.end());
    Env env = env_;
    Region region;
    push(region, ScopeKind::Lazy);
    ValueId position = here().param(Type::scalar(DType::I64), shared_.program.variables[ranges[depth].var()].name);
    positions.push_back(position);
    bind_index(ranges[depth], position);
    std::vector<Type> types;
    Leaves carried;
    for (ValueId value : into) {
      types.push_back(type(value));
      carried.push_back(here().param(Type(types.back())));
    }
    region.yields = level(depth + 1, carried);
    pop();
    positions.pop_back();
    env_ = std::move(env);
    std::vector<Region> regions;
    regions.push_back(std::move(region));
    NodeId node = here().node(Op::For, std::move(operands), std::move(types), {}, at, std::move(regions));
    return f_[node].results;
  };
  return level(0, tensors);
}

} // namespace tl::ir
