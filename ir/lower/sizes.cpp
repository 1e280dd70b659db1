#include "ir/lower/function.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tl::ir {

// Sums of terms whose magnitudes add up to less than this are right to 2**61 in f64, with up to 64 roundings.
constexpr double kExactEnough = 0x1p108;

LocId FunctionLowerer::loc(Span span) {
  return shared_.location(span, callees_.empty() ? std::string() : callees_.back().name,
                          callees_.empty() ? LocId{} : callees_.back().caller);
}

ValueId FunctionLowerer::constant(DType type, double value) {
  return here().constant(type, convert_scalar(DType::F64, type, Scalar::of(value)));
}

// ---- scopes

size_t FunctionLowerer::push(Region& region, ScopeKind kind) {
  scopes_.push_back({&region, kind, {}});
  return scopes_.size() - 1;
}

FunctionLowerer::Snapshot FunctionLowerer::snapshot() const {
  Snapshot s{{}, {}, shared_.module.sites.size()};
  for (const Scope& scope : scopes_) {
    s.node_counts.push_back(scope.region->nodes.size());
    s.sizes.push_back(scope.sizes);
  }
  return s;
}

void FunctionLowerer::restore(const Snapshot& s) {
  scopes_.resize(s.node_counts.size());
  for (size_t i = 0; i < scopes_.size(); ++i) {
    scopes_[i].region->nodes.resize(s.node_counts[i]);
    scopes_[i].sizes = s.sizes[i];
  }
  shared_.module.sites.resize(s.sites);
}

bool FunctionLowerer::is_outer(ValueId value, uint32_t mark) const {
  if (value.index < mark) return true;
  auto found = hoisted_.find(value.index);
  return found != hoisted_.end() && found->second < scopes_.size();
}

// ---- sizes as values

// What is lowered twice, as the condition of a loop, binds its atoms twice.
void FunctionLowerer::bind_atom(AtomId atom, ValueId value) {
  std::map<Size, ValueId>& sizes = scopes_.back().sizes;
  auto [known, fresh] = sizes.emplace(Size::of(atom), value);
  if (fresh || known->second == value) return;
  std::erase_if(sizes, [&](const auto& computed) { return mentions(computed.first, atom); });
  sizes[Size::of(atom)] = value;
}

bool FunctionLowerer::mentions(const Size& size, AtomId atom) const {
  std::vector<AtomId> atoms;
  shared_.atoms.collect(size, atoms);
  return std::find(atoms.begin(), atoms.end(), atom) != atoms.end();
}

// Was it computed in this scope from atoms that have other values by now, bound further in?
bool FunctionLowerer::is_outdated(const Size& size, size_t scope) const {
  std::vector<AtomId> atoms;
  shared_.atoms.collect(size, atoms);
  for (size_t i = scope + 1; i < scopes_.size(); ++i)
    for (AtomId atom : atoms)
      if (scopes_[i].sizes.contains(Size::of(atom))) return true;
  return false;
}

bool FunctionLowerer::knows(const Size& size) {
  std::vector<AtomId> atoms;
  shared_.atoms.collect(size, atoms);
  return std::all_of(atoms.begin(), atoms.end(), [&](AtomId atom) {
    return std::any_of(scopes_.begin(), scopes_.end(),
                       [&](const Scope& scope) { return scope.sizes.contains(Size::of(atom)); });
  });
}

// An i64 value as a size.
Size FunctionLowerer::as_size(ValueId value) {
  NodeId producer = f_[value].producer;
  if (producer.valid() && f_[producer].op == Op::Constant)
    return Size(f_[producer].as<ConstantAttrs>().literal.as<int64_t>());
  SizeAtom atom;
  atom.kind = AtomKind::Value;
  atom.name = f_[value].name;
  AtomId id = shared_.atoms.add(std::move(atom));
  bind_atom(id, value);
  return Size::of(id);
}

Dim FunctionLowerer::dim(const Size& size) {
  // A negative one belongs to a path that a guard has failed; it stays a value.
  return size.is_constant() && size.constant() >= 0 ? Dim::of(size.constant()) : Dim::of(size_value(size));
}

std::vector<Dim> FunctionLowerer::dims(const std::vector<Size>& shape) {
  std::vector<Dim> result;
  for (const Size& size : shape)
    result.push_back(dim(size));
  return result;
}

// The scope that holds the value of a size, if one does, further in than all that hold another.
std::optional<size_t> FunctionLowerer::scope_of(const Size& size) const {
  for (size_t i = scopes_.size(); i-- > 0;)
    if (scopes_[i].sizes.contains(size)) return is_outdated(size, i) ? std::nullopt : std::optional(i);
  return std::nullopt;
}

// What the value that is being computed will tell of it.
const Size* FunctionLowerer::told_size(AtomId atom) const {
  for (const typed::Stmt* stmt : binding_)
    for (const auto& [named, size] : stmt->size_defs)
      if (named == atom) return &size;
  return nullptr;
}

// The outermost scope in which a size can be computed: in which all that it is computed from has a value.
size_t FunctionLowerer::scope_for(const Size& size) const {
  if (size.is_constant()) return 0;
  if (const auto known = scope_of(size)) return *known;
  if (shared_.atoms.needs_check(size))
    return scopes_.size() - 1; // further out it would fail although nobody comes here
  auto of_terms = [&](const Size& sum) {
    size_t scope = 0;
    for (const Size::Term& term : sum.terms)
      for (AtomId atom : term.atoms)
        scope = std::max(scope, scope_for(Size::of(atom)));
    return scope;
  };
  const std::optional<AtomId> itself = size.as_atom();
  if (!itself) return of_terms(size);
  if (const Size* told = told_size(*itself)) return scope_for(*told);
  if (shared_.atoms.is_leaf(*itself))
    throw std::logic_error("lowering: the size " + shared_.atoms.to_string(size) + " has no value in " + f_.name);
  const SizeAtom& atom = shared_.atoms[*itself]; // as compound_value computes it
  if (atom.kind == AtomKind::Modular) return of_terms(atom.a);
  if (atom.kind == AtomKind::Positive && !shared_.atoms.fits(atom.a)) {
    const auto [added, taken] = shared_.atoms.parts(atom.a);
    return std::max(scope_for(added), scope_for(taken));
  }
  return std::max(scope_for(atom.a), scope_for(atom.b));
}

// Computed once, as far outside as its parts are known: then every place inside sees the same value.
ValueId FunctionLowerer::size_value(const Size& size) {
  if (size.is_constant()) return i64(size.constant());
  if (const auto known = scope_of(size)) return scopes_[*known].sizes.at(size);
  const std::optional<AtomId> atom = size.as_atom();
  if (const Size* told = atom ? told_size(*atom) : nullptr) return size_value(*told);
  const size_t scope = scope_for(size);
  // Of the atoms alone, only a max(a, 0) may be more than an i64.
  const bool may_wrap = !atom || shared_.atoms[*atom].kind == AtomKind::Positive;
  ValueId value = may_wrap && !shared_.atoms.fits(size) ? checked_number(size, scope)
                  : atom                                ? compound_value(*atom, scope)
                                                        : polynomial(size, scope);
  scopes_[scope].sizes[size] = value;
  hoisted_[value.index] = scope;
  return value;
}

// Operands first: they may be computed in scopes further out.
ValueId FunctionLowerer::compound_value(AtomId id, size_t scope) {
  const SizeAtom atom = shared_.atoms[id];
  auto emit = [&](ScalarOp op, std::vector<ValueId> operands) { return at(scope).scalar(op, std::move(operands)); };
  auto operand = [&](const Size& s) { return s.is_constant() ? at(scope).i64(s.constant()) : size_value(s); };
  if (atom.kind == AtomKind::Positive) {
    ValueId zero = at(scope).i64(0);
    if (shared_.atoms.fits(atom.a)) return emit(ScalarOp::Max, {operand(atom.a), zero});
    // The difference of any two numbers may be none, and wraps: what is added to it unwraps it.
    auto [added, taken] = shared_.atoms.parts(atom.a);
    ValueId less = operand(taken), most = emit(ScalarOp::Max, {operand(added), less});
    ValueId difference = emit(ScalarOp::Sub, {most, less});
    // That it is a size is to be seen (by passes/vectorize).
    return taken.is_constant() && taken.constant() > 0 ? emit(ScalarOp::Max, {difference, zero}) : difference;
  }
  if (atom.kind == AtomKind::Modular) return polynomial(atom.a, scope);
  if (atom.kind == AtomKind::FloorDiv && !shared_.atoms.fits(atom.a) && atom.b.is_constant() &&
      atom.b.constant() >= 2 && atom.b.constant() <= kLongestAxis)
    return wide_quotient(atom.a, atom.b.constant(), scope);
  ValueId a = operand(atom.a);
  switch (atom.kind) {
  case AtomKind::Near:
    a = emit(ScalarOp::Max, {a, at(scope).i64(-kNear)});
    return emit(ScalarOp::Min, {a, at(scope).i64(kNear)});
  case AtomKind::FloorDiv: return emit(ScalarOp::FloorDiv, {a, operand(atom.b)});
  case AtomKind::Wrap: {
    ValueId negative = emit(ScalarOp::Lt, {a, at(scope).i64(0)});
    return emit(ScalarOp::Where, {negative, emit(ScalarOp::Add, {a, operand(atom.b)}), a});
  }
  case AtomKind::Named:
  case AtomKind::Value:
  case AtomKind::Element:
  case AtomKind::Fresh:
  case AtomKind::Positive:
  case AtomKind::Modular: break;
  }
  throw std::logic_error("lowering: the size " + atom.name + " has no value in " + f_.name);
}

// A factor of a term. One that is no i64 is what it is modulo 2**64: the sum of the terms may be one again.
ValueId FunctionLowerer::factor(AtomId id, size_t scope) {
  const Size itself = Size::of(id);
  const bool wraps = shared_.atoms[id].kind == AtomKind::Positive && !shared_.atoms.fits(itself);
  return wraps ? compound_value(id, scope) : size_value(itself);
}

// The sum of a size's terms, modulo 2**64.
ValueId FunctionLowerer::polynomial(const Size& size, size_t scope) {
  auto emit = [&](ScalarOp op, std::vector<ValueId> operands) { return at(scope).scalar(op, std::move(operands)); };
  // Positive terms first, so that n - 1 is one subtraction.
  std::vector<Size::Term> terms = size.terms;
  std::stable_partition(terms.begin(), terms.end(), [](auto& t) { return t.coefficient > 0 && !t.atoms.empty(); });
  ValueId sum;
  for (const Size::Term& term : terms) {
    bool subtract = sum.valid() && term.coefficient < 0 && term.coefficient != INT64_MIN;
    int64_t times = subtract ? -term.coefficient : term.coefficient;
    ValueId product;
    for (AtomId id : term.atoms) {
      ValueId value = factor(id, scope);
      product = product.valid() ? emit(ScalarOp::Mul, {product, value}) : value;
    }
    if (!product.valid())
      product = at(scope).i64(times);
    else if (times != 1)
      product = emit(ScalarOp::Mul, {product, at(scope).i64(times)});
    sum = sum.valid() ? emit(subtract ? ScalarOp::Sub : ScalarOp::Add, {sum, product}) : product;
  }
  return sum;
}

// A size that may be no i64, and fails where it is none. Its terms may be far from an i64 although it is one, as those
// of n * min(k, 1), which is n - n * max(1 - k, 0). So it is computed twice: modulo 2**64, which is exact, and in f64,
// which tells the numbers apart that are the same modulo 2**64.
ValueId FunctionLowerer::checked_number(const Size& size, size_t scope) {
  auto emit = [&](ScalarOp op, std::vector<ValueId> operands) { return at(scope).scalar(op, std::move(operands)); };
  auto number = [&](double value) { return at(scope).constant(DType::F64, Scalar::of(value)); };
  const std::optional<AtomId> atom = size.as_atom();
  const ValueId value = atom ? compound_value(*atom, scope) : polynomial(size, scope);
  const Approximation real = approximation(size, scope);
  const ValueId error = emit(ScalarOp::Sub, {real.value, as_f64(value, scope)});
  ValueId fits = emit(ScalarOp::Lt, {emit(ScalarOp::Abs, {error}), number(0x1p62)});
  if (real.magnitude.valid())
    fits = emit(ScalarOp::And, {fits, emit(ScalarOp::Lt, {real.magnitude, number(kExactEnough)})});
  const SiteAttrs overflow{site("SizeOverflow", "the size `" + shared_.atoms.to_string(size) + "` is no i64", at_)};
  return at(scope).one(Op::Guard, {value, fits}, Type::scalar(DType::I64), overflow, loc(at_));
}

// dividend // divisor, of a dividend that need not be an i64 but is below 2**64, as the distance between any two
// numbers is. The divisor is at least 2, so the quotient is an i64.
ValueId FunctionLowerer::wide_quotient(const Size& dividend, int64_t divisor, size_t scope) {
  auto emit = [&](ScalarOp op, std::vector<ValueId> operands) { return at(scope).scalar(op, std::move(operands)); };
  auto i64 = [&](int64_t value) { return at(scope).i64(value); };
  auto number = [&](double value) { return at(scope).constant(DType::F64, Scalar::of(value)); };
  const ValueId value = polynomial(dividend, scope);
  const Approximation real = approximation(dividend, scope);
  // From 2**63 on its upper half is divided, and what the double of that leaves.
  const ValueId is_negative = emit(ScalarOp::Lt, {value, i64(0)}), by = i64(divisor);
  const ValueId is_wide = emit(ScalarOp::And, {is_negative, emit(ScalarOp::Gt, {real.value, number(0x1p62)})});
  const ValueId half = emit(ScalarOp::BitAnd, {emit(ScalarOp::FloorDiv, {value, i64(2)}), i64(INT64_MAX)});
  const ValueId twice = emit(ScalarOp::Mul, {emit(ScalarOp::FloorDiv, {half, by}), i64(2)});
  const ValueId rest = emit(ScalarOp::Sub, {value, emit(ScalarOp::Mul, {twice, by})}); // below 2 * divisor
  const ValueId wide = emit(ScalarOp::Add, {twice, emit(ScalarOp::FloorDiv, {rest, by})});
  const ValueId quotient = emit(ScalarOp::Where, {is_wide, wide, emit(ScalarOp::FloorDiv, {value, by})});
  const ValueId unwrapped = emit(
      ScalarOp::Where, {is_wide, emit(ScalarOp::Add, {as_f64(value, scope), number(0x1p64)}), as_f64(value, scope)});
  const ValueId error = emit(ScalarOp::Abs, {emit(ScalarOp::Sub, {real.value, unwrapped})});
  ValueId fine = emit(ScalarOp::Lt, {error, number(0x1p62)});
  if (real.magnitude.valid())
    fine = emit(ScalarOp::And, {fine, emit(ScalarOp::Lt, {real.magnitude, number(kExactEnough)})});
  const std::string text = shared_.atoms.to_string(dividend);
  const SiteAttrs overflow{site("SizeOverflow", "`" + text + "`, which is divided for a size, is out of range", at_)};
  return at(scope).one(Op::Guard, {quotient, fine}, Type::scalar(DType::I64), overflow, loc(at_));
}

ValueId FunctionLowerer::as_f64(ValueId i64, size_t scope) {
  return at(scope).one(Op::Convert, {i64}, Type::scalar(DType::F64));
}

// A size in f64. `magnitude`: the sum of its terms' magnitudes, where that is not known to be below kExactEnough.
FunctionLowerer::Approximation FunctionLowerer::approximation(const Size& size, size_t scope) {
  auto emit = [&](ScalarOp op, std::vector<ValueId> operands) { return at(scope).scalar(op, std::move(operands)); };
  auto number = [&](double value) { return at(scope).constant(DType::F64, Scalar::of(value)); };
  auto sum_of = [&](ValueId a, ValueId b) { return a.valid() ? emit(ScalarOp::Add, {a, b}) : b; };
  std::vector<ValueId> products;
  ValueId magnitude; // of what atoms are computed from
  double most = 0;
  for (const Size::Term& term : size.terms) {
    double most_of_term = std::abs(static_cast<double>(term.coefficient));
    ValueId product;
    for (AtomId id : term.atoms) {
      const SizeAtom atom = shared_.atoms[id];
      ValueId value;
      if (atom.kind == AtomKind::Positive && !shared_.atoms.fits(Size::of(id))) {
        const Approximation inner = approximation(atom.a, scope);
        value = emit(ScalarOp::Max, {inner.value, number(0)});
        if (inner.magnitude.valid()) magnitude = sum_of(magnitude, inner.magnitude);
        most_of_term *= 0x1p66;
      } else {
        const auto [least, greatest] = shared_.atoms.range_of(Size::of(id));
        most_of_term *= std::max(std::abs(static_cast<double>(least)), std::abs(static_cast<double>(greatest)));
        value = as_f64(size_value(Size::of(id)), scope);
      }
      product = product.valid() ? emit(ScalarOp::Mul, {product, value}) : value;
    }
    if (!product.valid())
      product = number(static_cast<double>(term.coefficient));
    else if (term.coefficient != 1)
      product = emit(ScalarOp::Mul, {product, number(static_cast<double>(term.coefficient))});
    products.push_back(product);
    most += most_of_term;
  }
  ValueId sum;
  for (ValueId product : products)
    sum = sum_of(sum, product);
  // One product alone is as exact as it is large.
  if (products.size() > 1 && most >= kExactEnough)
    for (ValueId product : products)
      magnitude = sum_of(magnitude, emit(ScalarOp::Abs, {product}));
  return {sum, magnitude};
}

void FunctionLowerer::bind_fresh(const std::vector<typed::FreshAtom>& fresh, const tl::Type& whole,
                                 const Leaves& leaves) {
  for (const typed::FreshAtom& atom : fresh) {
    const Dim& d = type(leaves.at(leaf_index(whole, atom.path))).dims.at(atom.axis);
    bind_atom(atom.atom, here().size(d));
  }
}

void FunctionLowerer::bind_all(std::span<const typed::SizeBind> binds) {
  for (const typed::SizeBind& bind : binds)
    bind_atom(bind.atom, one(*bind.value));
}

// ---- types

Type FunctionLowerer::graph_type(const tl::Type& t) {
  if (t.is_str()) return Type::str();
  if (t.is_list()) {
    std::vector<Type> elements;
    if (!t.elements.empty())
      for (const tl::Type& leaf : leaf_types(t.elements[0])) {
        bool tensor = leaf.is_tensor();
        elements.push_back(tensor ? Type::tensor(leaf.dtype, std::vector<Dim>(leaf.rank())) : graph_type(leaf));
      }
    if (!t.elements.empty() && elements.empty()) elements.push_back(Type::scalar(DType::Bool)); // lists.cpp
    return Type::list(std::move(elements));
  }
  return Type::tensor(t.dtype, dims(t.shape));
}

ValueId FunctionLowerer::retyped(ValueId value, const std::vector<Dim>& wanted) {
  if (!type(value).is_tensor() || type(value).dims == wanted) return value;
  Type t = Type::tensor(type(value).dtype, wanted);
  return here().one(Op::Reshape, {value}, std::move(t));
}

ValueId FunctionLowerer::as_type(ValueId value, const tl::Type& t) {
  if (!t.is_tensor() || t.shape.empty()) return value;
  for (const Size& size : t.shape)
    if (!knows(size)) return value;
  const std::vector<Dim> wanted = dims(t.shape);
  for (size_t i = 0; keeps_checks() && i < wanted.size(); ++i)
    if (const Dim had = type(value).dims[i]; !(had == wanted[i]))
      value = proven(value, scalar(ScalarOp::Eq, {here().size(had), here().size(wanted[i])}), at_);
  return retyped(value, wanted);
}

Leaves FunctionLowerer::as_type(Leaves leaves, const tl::Type& t) {
  std::vector<tl::Type> types = leaf_types(t);
  for (size_t i = 0; i < leaves.size() && i < types.size(); ++i)
    leaves[i] = as_type(leaves[i], types[i]);
  return leaves;
}

void leaf_types(const tl::Type& type, std::vector<tl::Type>& into) {
  if (type.is_aggregate())
    for (const tl::Type& element : type.elements)
      leaf_types(element, into);
  else if (type.is_tensor() && is_complex(type.dtype))
    into.insert(into.end(), 2, tl::Type::tensor(part_of(type.dtype), type.shape));
  else if (type.is_tensor() || type.is_str() || type.is_list())
    into.push_back(type);
}

std::vector<tl::Type> leaf_types(const tl::Type& type) {
  std::vector<tl::Type> types;
  leaf_types(type, types);
  return types;
}

size_t leaf_index(const tl::Type& type, const std::vector<uint32_t>& path) {
  const tl::Type* t = &type;
  size_t index = 0;
  for (uint32_t step : path) {
    if (!t->is_aggregate() || step >= t->elements.size())
      throw std::logic_error("lowering: a path leads out of a tuple or struct");
    for (uint32_t i = 0; i < step; ++i)
      index += leaf_types(t->elements[i]).size();
    t = &t->elements[step];
  }
  return index;
}

// ---- checks

uint32_t FunctionLowerer::site(std::string kind, std::string message, Span span, std::string hint,
                               std::vector<std::pair<std::string, LocId>> notes) {
  const Callee& callee = callees_.back();
  LocId at = shared_.new_location(span, callee.name, callee.caller);
  shared_.module.sites.push_back({std::move(kind), std::move(message), std::move(hint), at, std::move(notes)});
  return static_cast<uint32_t>(shared_.module.sites.size() - 1);
}

ValueId FunctionLowerer::guard(ValueId value, ValueId condition, uint32_t site, std::vector<ValueId> payload,
                               Span span) {
  payload.insert(payload.begin(), {value, condition});
  Type t = type(value);
  return here().one(Op::Guard, std::move(payload), std::move(t), SiteAttrs{site}, loc(span));
}

// A build with TL_KEEP_CHECKS makes each check that was left out because the checker has proven it: none may fail.
bool FunctionLowerer::keeps_checks() {
#ifdef TL_KEEP_CHECKS
  return true;
#else
  return false;
#endif
}

ValueId FunctionLowerer::proven(ValueId value, ValueId condition, Span span) {
  return guard(value, condition, site("InternalError", "a check fails that was proven to hold", span), {}, span);
}

ValueId FunctionLowerer::proven_below(ValueId index, ValueId size, Span span) {
  ValueId fine = scalar(ScalarOp::And, {scalar(ScalarOp::Ge, {index, i64(0)}), scalar(ScalarOp::Lt, {index, size})});
  return proven(index, fine, span);
}

ValueId FunctionLowerer::checked(ValueId value, const std::vector<typed::SizeCheck>& checks) {
  for (const typed::SizeCheck& check : checks) {
    ValueId a = size_value(check.a), b = size_value(check.b);
    using Relation = typed::SizeCheck::Relation;
    const ScalarOp compare = check.relation == Relation::Equal     ? ScalarOp::Eq
                             : check.relation == Relation::AtLeast ? ScalarOp::Ge
                                                                   : ScalarOp::Le;
    std::vector<std::pair<std::string, LocId>> notes;
    for (const auto& [note, span] : check.notes)
      notes.emplace_back(note, loc(span));
    uint32_t s = site(check.kind, check.message, check.span, check.hint, std::move(notes));
    ValueId holds = scalar(compare, {a, b});
    value = guard(value, holds, s, {a, b}, check.span);
    // Nothing is made, and no kernel runs, over a size that is none.
    if (compare != ScalarOp::Eq && !check.a.is_constant() && !check.claimed)
      scopes_.back().sizes[check.a] = guard(a, holds, s, {a, b}, check.span);
  }
  return value;
}

// Of an elementwise operation: every operand that will be read under other sizes than its own, so that nothing is read
// where the check fails; at least one.
Leaves FunctionLowerer::checked_operands(Leaves values, const typed::Expr& e) {
  if (e.checks.empty()) return values;
  bool any = false;
  const std::vector<Size>& to = e.type.shape;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::vector<Size>& from = e.operands[i]->type.shape;
    bool differs = false;
    for (size_t k = 0; k < from.size(); ++k)
      differs = differs || (!from[k].is(1) && from[k] != to[to.size() - from.size() + k]);
    if (differs) values[i] = checked(values[i], e.checks);
    any = any || differs;
  }
  return any ? values : checked(std::move(values), e.checks, false);
}

// `all`: every leaf; otherwise the first tensor with axes (or the first leaf), which is enough where the result depends
// on all operands.
Leaves FunctionLowerer::checked(Leaves leaves, const std::vector<typed::SizeCheck>& checks, bool all) {
  if (checks.empty() || leaves.empty()) return leaves;
  if (all && (checks.size() == 1 || leaves.size() == 1)) {
    for (ValueId& leaf : leaves)
      leaf = checked(leaf, checks);
    return leaves;
  }
  if (all) { // checked once, and each leaf waits for that
    const ValueId holds = checked(here().constant(DType::Bool, Scalar::of(uint8_t{1})), checks);
    for (ValueId& leaf : leaves)
      leaf = proven(leaf, holds, checks[0].span);
    return leaves;
  }
  auto has_axes = [&](ValueId v) { return type(v).is_tensor() && !type(v).dims.empty(); };
  auto found = std::find_if(leaves.begin(), leaves.end(), has_axes);
  ValueId& guarded = found == leaves.end() ? leaves[0] : *found;
  guarded = checked(guarded, checks);
  return leaves;
}

Dim FunctionLowerer::checked(Dim d, std::vector<typed::SizeCheck> checks) {
  std::erase_if(checks, [](const typed::SizeCheck& check) { return check.claimed; }); // of values alone
  return checks.empty() ? d : Dim::of(checked(here().size(d), checks));
}

} // namespace tl::ir
