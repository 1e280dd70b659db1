// Sums of products of two factors: Contract nodes. Where the sum is in the body of a comprehension, and its factors
// each use only some of the indices, it is taken out of the body: one product of tensors instead of many sums.
#include "ir/lower/function.h"
#include "lang/typed_walk.h"
#include <algorithm>

namespace tl::ir {
bool FunctionLowerer::known_at(const Size& size, size_t scopes) {
  std::vector<AtomId> atoms;
  shared_.atoms.collect(size, atoms);
  return std::all_of(atoms.begin(), atoms.end(), [&](AtomId atom) {
    for (size_t i = 0; i < scopes; ++i)
      if (scopes_[i].sizes.contains(Size::of(atom))) return true;
    return false;
  });
}

FunctionLowerer::Factor FunctionLowerer::factor(const typed::Expr& e, const std::vector<IndexRange>& labels,
                                                size_t outside, uint32_t mark) {
  Factor result;
  result.expr = &e;
  auto label_of = [&](VarKey var) {
    auto found = std::find_if(labels.begin(), labels.end(), [&](auto& label) { return label.var() == var; });
    return static_cast<size_t>(found - labels.begin());
  };
  // Of a variable; as many as there are labels for another one, and for other expressions.
  auto label_of_value = [&](const typed::Expr& value) {
    const auto* variable = value.get_if<typed::VariableExpr>();
    return variable ? label_of(variable->var.index) : labels.size();
  };
  std::map<AtomId, size_t> label_atoms;
  for (size_t i = 0; i < labels.size(); ++i)
    if (AtomId atom = shared_.program.variables[labels[i].var()].atom; atom.valid()) label_atoms[atom] = i;
  auto outer = [&](ValueId value) {
    if (value.index < mark) return true;
    auto found = hoisted_.find(value.index);
    return found != hoisted_.end() && found->second < outside;
  };
  walk(
      e,
      [&](const typed::Expr& part) {
        if (const auto* variable = part.get_if<typed::VariableExpr>()) {
          size_t label = label_of(variable->var.index);
          auto found = env_.find(variable->var.index);
          if (label < labels.size())
            result.uses.insert(label);
          else if (found != env_.end())
            for (ValueId leaf : found->second)
              result.free = result.free && outer(leaf);
        }
        typed::each_size(part, [&](const Size& size) {
          std::vector<AtomId> atoms;
          shared_.atoms.collect(size, atoms);
          for (AtomId atom : atoms) {
            if (label_atoms.contains(atom)) result.uses.insert(label_atoms[atom]);
            // Atoms that are known nowhere yet are the expression's own.
            else if (knows(Size::of(atom)) && !known_at(Size::of(atom), outside))
              result.free = false;
          }
        });
        return true;
      },
      nullptr);

  if (!e.is<typed::IndexExpr>() || !e.checks.empty()) return result;
  Factor base;
  if (!e.operands[0]->is<typed::VariableExpr>() || label_of_value(*e.operands[0]) < labels.size()) return result;
  std::set<size_t> seen;
  for (const typed::Subscript& s : e.as<typed::IndexExpr>().subscripts) {
    if (s.kind != typed::Subscript::Kind::At || !s.in_range) return result;
    const size_t label = label_of_value(*s.value);
    if (label == labels.size() || !seen.insert(label).second) return result;
  }
  result.bare = true;
  return result;
}

// The comprehensions around this place that a sum may be taken out of, innermost first: between them and this place
// there is no branch and no loop.
std::vector<size_t> FunctionLowerer::frames_to_leave() const {
  std::vector<size_t> result;
  size_t frame = frames_.size();
  for (size_t i = scopes_.size(); i-- > 0;) {
    if (scopes_[i].kind == ScopeKind::Inline) continue;
    if (scopes_[i].kind != ScopeKind::MapBody || frame == 0 || frames_[frame - 1].scope != i) break;
    result.push_back(--frame);
  }
  return result;
}

std::optional<ValueId> FunctionLowerer::product_sum(const typed::Expr& e, const std::vector<IndexRange>& ranges) {
  const typed::Expr& body = *e.operands[0];
  const auto& sum = e.as<typed::ComprehensionExpr>();
  bool product = sum.reduce == ReduceOp::Sum && !sum.is_mean && !sum.filter && body.is(ScalarOp::Mul) &&
                 body.type.is_scalar() && body.type.dtype == e.type.dtype && body.checks.empty() &&
                 is_num(body.type.dtype);
  if (!product) return std::nullopt;

  // Out of as many comprehensions as possible.
  std::vector<size_t> leave = frames_to_leave();
  for (; !leave.empty(); leave.pop_back()) {
    const MapFrame& outermost = frames_[leave.back()];
    std::vector<IndexRange> labels;
    std::vector<ValueId> params;
    for (size_t k = leave.size(); k-- > 0;) {
      const MapFrame& frame = frames_[leave[k]];
      labels.insert(labels.end(), frame.ranges.begin(), frame.ranges.end());
      params.insert(params.end(), frame.params.begin(), frame.params.end());
    }
    size_t kept = labels.size();
    labels.insert(labels.end(), ranges.begin(), ranges.end());
    bool known = true;
    for (const IndexRange& label : labels)
      known = known && known_at(label.lo, outermost.scope) && known_at(label.extent, outermost.scope);
    for (const typed::SizeCheck& check : e.checks)
      known = known && known_at(check.a, outermost.scope) && known_at(check.b, outermost.scope);
    if (!known) continue;
    Factor a = factor(*body.operands[0], labels, outermost.scope, outermost.mark);
    Factor b = factor(*body.operands[1], labels, outermost.scope, outermost.mark);
    std::set<size_t> all = a.uses;
    all.insert(b.uses.begin(), b.uses.end());
    // Worth it where no factor becomes a tensor as large as the whole iteration space.
    auto small = [&](const Factor& f) { return f.free && (f.bare || f.uses.size() < all.size()); };
    if (!small(a) || !small(b)) continue;

    // Work in the scope outside, as if the comprehensions had not begun.
    std::vector<Scope> inner(std::make_move_iterator(scopes_.begin() + static_cast<long>(outermost.scope)),
                             std::make_move_iterator(scopes_.end()));
    std::vector<MapFrame> frames(frames_.begin() + static_cast<long>(leave.back()), frames_.end());
    scopes_.resize(scopes_.size() - inner.size());
    frames_.resize(leave.back());
    ValueId result = contract(e, labels, kept, a, b);
    hoisted_[result.index] = scopes_.size() - 1;
    scopes_.insert(scopes_.end(), std::make_move_iterator(inner.begin()), std::make_move_iterator(inner.end()));
    frames_.insert(frames_.end(), frames.begin(), frames.end());

    std::vector<ValueId> operands{result};
    for (size_t i = 0; i < kept; ++i)
      if (all.contains(i)) operands.push_back(params[i]);
    if (operands.size() == 1) return result;
    return here().one(Op::Index, operands, Type::scalar(e.type.dtype), {}, loc(e.span));
  }
  auto everything = static_cast<uint32_t>(f_.values.size());
  return contract(e, ranges, 0, factor(*body.operands[0], ranges, scopes_.size(), everything),
                  factor(*body.operands[1], ranges, scopes_.size(), everything));
}

// Axes of the result: the labels before `kept` that a factor uses, in order; the others are summed.
ValueId FunctionLowerer::contract(const typed::Expr& e, const std::vector<IndexRange>& labels, size_t kept, Factor a,
                                  Factor b) {
  LocId at = loc(e.span);
  for (size_t i = kept; i < labels.size(); ++i)
    if (!a.uses.contains(i) && !b.uses.contains(i)) { // summed as often as the index has values
      a.uses.insert(i);
      a.bare = false;
    }
  ContractAttrs attrs;
  ValueId x = factor_tensor(a, labels, attrs.lhs, e.checks, at);
  ValueId y = factor_tensor(b, labels, attrs.rhs, e.checks, at);
  Type t = Type::tensor(type(x).dtype, {});
  for (size_t i = 0; i < kept; ++i)
    if (a.uses.contains(i) || b.uses.contains(i)) {
      attrs.result.push_back(static_cast<int64_t>(i));
      t.dims.push_back(dim(labels[i].extent));
    }
  return here().one(Op::Contract, {x, y}, std::move(t), std::move(attrs), at);
}

// The factor as a tensor over the labels it uses; appends the label of each of its axes. What it reads is read only
// where the checks hold.
ValueId FunctionLowerer::factor_tensor(const Factor& factor, const std::vector<IndexRange>& labels,
                                       std::vector<int64_t>& axes, const std::vector<typed::SizeCheck>& checks,
                                       LocId at) {
  const typed::Expr& e = *factor.expr;
  if (!factor.bare) {
    std::vector<IndexRange> used;
    std::vector<Dim> extents;
    for (size_t label : factor.uses) {
      used.push_back(labels[label]);
      extents.push_back(dim(labels[label].extent));
      axes.push_back(static_cast<int64_t>(label));
    }
    if (used.empty()) return checked(one(e), checks);
    extents[0] = checked(extents[0], checks); // nothing is read where a check fails
    return map(used, extents, {tl::Type::scalar(e.type.dtype)}, [&] { return expr(e); }, at)[0];
  }
  const typed::Expr& base = *e.operands[0];
  ValueId tensor = checked(one(base), checks);
  bool whole = true;
  std::vector<ValueId> starts;
  std::vector<Dim> extents;
  const std::vector<typed::Subscript>& subscripts = e.as<typed::IndexExpr>().subscripts;
  for (size_t axis = 0; axis < subscripts.size(); ++axis) {
    VarKey var = subscripts[axis].value->as<typed::VariableExpr>().var.index;
    size_t label = 0;
    while (labels[label].var() != var)
      ++label;
    axes.push_back(static_cast<int64_t>(label));
    extents.push_back(dim(labels[label].extent));
    const Size& lo = labels[label].lo;
    bool cut = !lo.is(0) || shared_.atoms.compare(labels[label].extent, base.type.shape[axis]) != Compare::Equal;
    // In range whatever the label's value: with lo = 0, a range that is no part of the axis is as long as it.
    whole = whole && !cut;
    starts.push_back(cut ? size_value(lo) : i64(0));
  }
  if (whole) return retyped(tensor, extents);
  return slice(tensor, starts, std::vector<int64_t>(starts.size(), 1), extents, at);
}

} // namespace tl::ir
