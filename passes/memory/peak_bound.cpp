#include "passes/memory/peak_bound.h"
#include "lang/size_terms.h"
#include <algorithm>
#include <cmath>

namespace tl::peak {
namespace {

constexpr size_t kMostTerms = 5;   // of a bound
constexpr size_t kMostMoments = 2; // of which one is the largest
constexpr size_t kMostLength = 30; // of what is shown as it is
constexpr double kFew = 10, kMany = 10'000;

// a + b * factor
template <class P> P sum(P a, const P& b, double factor = 1) {
  for (const auto& [product, coefficient] : b) {
    double& now = a[product];
    now += coefficient * factor;
    if (now == 0) a.erase(product);
  }
  return a;
}

template <class P> P constant(double value) { return value == 0 ? P() : P{{{}, value}}; }

template <class P> std::optional<double> as_constant(const P& p) {
  if (p.empty()) return 0;
  return p.size() == 1 && p.begin()->first.empty() ? std::optional(p.begin()->second) : std::nullopt;
}

// What is sure of its lower bound where no size is less than 1.
template <class P> double least_value(const P& p) {
  double value = 0;
  for (const auto& [product, coefficient] : p) {
    if (!product.empty() && coefficient < 0) return -INFINITY;
    value += coefficient;
  }
  return value;
}

template <class P> P without_negative(P p) {
  std::erase_if(p, [](const auto& term) { return term.second < 0; });
  return p;
}

template <class P> P product_of(const P& a, const P& b) {
  P result;
  for (const auto& [x, c] : a)
    for (const auto& [y, d] : b) {
      auto atoms = x;
      atoms.insert(atoms.end(), y.begin(), y.end());
      std::sort(atoms.begin(), atoms.end());
      double& now = result[atoms];
      now += c * d;
      if (now == 0) result.erase(atoms);
    }
  return result;
}

// The largest coefficients of both.
template <class P> P join(P a, const P& b) {
  for (const auto& [product, coefficient] : b) {
    double& now = a[product];
    now = std::max(now, coefficient);
  }
  return a;
}

// Is a at least b? Each term of b that a has less of is less than something left over in a that it divides.
template <class P> bool covers(const P& a, const P& b) {
  P rest = sum(a, b, -1);
  for (auto& [product, lacking] : rest) {
    if (lacking >= 0) continue;
    for (auto& [larger, left] : rest) {
      if (left <= 0 || !std::includes(larger.begin(), larger.end(), product.begin(), product.end())) continue;
      const double taken = std::min(left, -lacking);
      left -= taken, lacking += taken;
    }
    if (lacking < 0) return false;
  }
  return true;
}

template <class P> P from_size(const Size& size) {
  P p;
  for (const auto& term : size.terms)
    p[term.atoms] = static_cast<double>(term.coefficient);
  return p;
}

} // namespace

size_t length_of(const SizeAtoms& atoms, const Size& size) {
  constexpr size_t kEnough = 1000;
  size_t length = 0;
  for (const auto& term : size.terms) {
    if (term.atoms.empty()) continue;
    for (AtomId id : term.atoms) {
      if (length > kEnough) return length;
      length += atoms.is_leaf(id) ? 1 : length_of(atoms, atoms[id].a) + length_of(atoms, atoms[id].b);
    }
  }
  return length;
}

double Bounds::value(const Polynomial& p, double size) const {
  double result = 0;
  for (const auto& [product, coefficient] : p) {
    double of_term = coefficient;
    for (AtomId id : product) // of two bounds the one in the user's names is the better one
      of_term *= atoms_[id].kind == AtomKind::Fresh ? 2 * size : size;
    result += of_term;
  }
  return result;
}

double Bounds::weight(const Polynomial& p) const { return value(p, 1000); }

const Bounds::Polynomial& Bounds::lower(const Polynomial& a, const Polynomial& b) const {
  return value(a, kMany) <= value(b, kMany) ? a : b;
}

Bounds::Range Bounds::times(const Range& a, const Range& b) const {
  const bool signs = least_value(a.lo) < 0 || least_value(b.lo) < 0;
  if (!signs) return {product_of(a.lo, b.lo), product_of(a.hi, b.hi)};
  auto is_exact = [](const Range& r) { return r.lo == r.hi; };
  auto scaled = [](const Range& r, const Range& by) { // by something that is known and not negative
    return Range{product_of(r.lo, by.hi), product_of(r.hi, by.hi)};
  };
  if (is_exact(a) && least_value(a.lo) >= 0) return scaled(b, a);
  if (is_exact(b) && least_value(b.lo) >= 0) return scaled(a, b);
  auto magnitude = [](const Range& r) {
    Polynomial most;
    for (const Polynomial* p : {&r.lo, &r.hi})
      for (const auto& [product, coefficient] : *p) {
        double& now = most[product];
        now = std::max(now, std::abs(coefficient));
      }
    return most;
  };
  const Polynomial hi = product_of(magnitude(a), magnitude(b));
  return {sum(Polynomial(), hi, -1), hi};
}

// a // b, less than 1 below a / b; 0 where b is 0, and b counts as positive.
Bounds::Range Bounds::divided(const Range& a, const Range& b) const {
  const double divisor = std::max(1.0, least_value(b.lo));
  if (auto exact = as_constant(b.hi); exact && *exact == divisor && as_constant(b.lo))
    return {sum(sum(Polynomial(), a.lo, 1 / divisor), constant<Polynomial>(-(divisor - 1) / divisor)),
            sum(Polynomial(), a.hi, 1 / divisor)};
  Range result;
  for (const auto& [product, coefficient] : a.lo)
    if (coefficient < 0) result.lo[product] = coefficient;
  result.hi = sum(Polynomial(), without_negative(a.hi), 1 / divisor);
  return result;
}

Bounds::Range Bounds::least(const Range& a, const Range& b) const {
  Polynomial lo = constant<Polynomial>(std::min(least_value(a.lo), least_value(b.lo)));
  if (std::min(least_value(a.lo), least_value(b.lo)) == -INFINITY) {
    lo.clear();
    for (const Polynomial* p : {&a.lo, &b.lo})
      for (const auto& [product, coefficient] : *p)
        if (double& now = lo[product]; coefficient < now) now = coefficient;
    std::erase_if(lo, [](const auto& term) { return term.second == 0; });
  }
  return {lo, lower(a.hi, b.hi)};
}

Bounds::Range Bounds::most(const Range& a, const Range& b) const {
  const double of_a = least_value(a.lo), of_b = least_value(b.lo);
  Range result{of_a > of_b || (of_a == of_b && weight(a.lo) >= weight(b.lo)) ? a.lo : b.lo, {}};
  result.hi = covers(a.hi, b.hi)   ? a.hi
              : covers(b.hi, a.hi) ? b.hi
                                   : join(without_negative(a.hi), without_negative(b.hi));
  return result;
}

Bounds::Range Bounds::range_of(const SizeAtom& atom) {
  switch (atom.kind) {
  case AtomKind::FloorDiv: return divided(range(atom.a), range(atom.b));
  case AtomKind::Positive: {
    Range a = range(atom.a);
    const bool never = least_value(a.lo) >= 0;
    return {never ? a.lo : Polynomial(), never ? a.hi : without_negative(a.hi)};
  }
  case AtomKind::Wrap: {
    Range a = range(atom.a);
    if (least_value(a.lo) < 0) a.hi = sum(without_negative(a.hi), range(atom.b).hi);
    return a;
  }
  default: return range(atom.a);
  }
}

Bounds::Range Bounds::range_of_leaf(AtomId id) {
  const Polynomial itself{{{id}, 1}};
  const Range leaf{itself, itself};
  if (!stands_for_.contains(id)) return leaf;
  if (!open_.insert(id).second) {
    met_.insert(id);
    return leaf;
  }
  std::set<AtomId> same{id}; // which are each other
  std::vector<AtomId> names{id};
  Range result;
  bool known = true;
  for (size_t k = 0; k < names.size(); ++k)
    for (const Size& size : stands_for_.at(names[k])) {
      if (auto atom = size.as_atom(); atom && stands_for_.contains(*atom)) {
        if (same.insert(*atom).second) names.push_back(*atom);
        continue;
      }
      const Range each = range(size);
      const Polynomial hi = without_negative(each.hi);
      result.hi = covers(result.hi, hi)   ? std::move(result.hi)
                  : covers(hi, result.hi) ? hi
                                          : join(std::move(result.hi), hi);
    }
  for (const auto& [product, coefficient] : result.hi)
    for (AtomId inner : product) {
      if (open_.contains(inner)) met_.insert(inner);
      known = known && !open_.contains(inner) && !same.contains(inner);
    }
  open_.erase(id);
  return known ? result : leaf;
}

Bounds::Range Bounds::range(AtomId id) {
  if (auto known = ranges_.find(id); known != ranges_.end()) return known->second;
  std::set<AtomId> outside; // what hangs on a name that is still open is known for now only
  std::swap(met_, outside);
  Range result = atoms_.is_leaf(id) ? range_of_leaf(id) : range_of(SizeAtom(atoms_[id]));
  met_.erase(id);
  if (met_.empty()) ranges_.emplace(id, result);
  met_.insert(outside.begin(), outside.end());
  return result;
}

std::optional<Bounds::Choice> Bounds::choice_of(const Size::Term& term) const {
  for (AtomId id : term.atoms) {
    if (atoms_[id].kind != AtomKind::Positive) continue;
    Size others(term.coefficient);
    bool skipped = false;
    for (AtomId other : term.atoms)
      if (other == id && !skipped)
        skipped = true;
      else
        others = others * Size::of(other);
    return Choice{id, atoms_[id].a, std::move(others)};
  }
  return std::nullopt;
}

Bounds::Range Bounds::range(const Size& size) {
  Range result;
  for (const auto& term : size.terms) {
    Range product{constant<Polynomial>(1), constant<Polynomial>(1)};
    for (AtomId id : term.atoms)
      product = times(product, range(id));
    const auto factor = static_cast<double>(term.coefficient);
    result.hi = sum(std::move(result.hi), factor > 0 ? product.hi : product.lo, factor);
    result.lo = sum(std::move(result.lo), factor > 0 ? product.lo : product.hi, factor);
  }
  // What takes max(x, 0) away takes x away, as min(a, b), which is a - max(a - b, 0), is no more than b. And max(y, 0)
  // less that is no more than max(y - x, 0), as the rows that a window has are no more than its length.
  for (size_t i = 0; i < size.terms.size(); ++i) {
    const std::optional<Choice> less = choice_of(size.terms[i]);
    if (!less || size.terms[i].coefficient > 0 || least_value(range(Size(0) - less->others).lo) < 0) continue;
    const Size rest = without_term(size, i);
    auto consider = [&](const Size& other) { result.hi = Polynomial(lower(result.hi, range(other).hi)); };
    for (const auto& term : rest.terms) {
      const std::optional<Choice> more = choice_of(term);
      if (!more || more->others + less->others != Size(0)) continue;
      Size other = rest + more->others * atoms_.positive(more->of - less->of);
      other = other - more->others * Size::of(more->atom);
      consider(other);
    }
    consider(rest + less->others * less->of);
    break; // the other choices are in what was just looked at
  }
  return result;
}

// At most kMostTerms terms, if it can be: what makes least of a difference there goes into a term that it divides.
void Bounds::shorten(Polynomial& p) const {
  while (p.size() > kMostTerms) {
    double best = INFINITY;
    Product small, large;
    for (const auto& [a, c] : p)
      for (const auto& [b, d] : p) {
        if (&a == &b || !std::includes(b.begin(), b.end(), a.begin(), a.end())) continue;
        const double now = weight({{b, c}}) - weight({{a, c}});
        if (now < best) best = now, small = a, large = b;
      }
    if (best == INFINITY) return;
    p[large] += p[small];
    p.erase(small);
  }
}

// With whole coefficients: rounded up, of large ones the first three digits.
Size Bounds::to_size(const Polynomial& p) {
  Size result;
  double more = 0;
  for (const auto& [product, coefficient] : p) {
    if (product.empty()) {
      more += coefficient;
      continue;
    }
    Size whole;
    whole.terms.push_back({product, 1});
    constexpr double kClose = 1.02, kSlip = 1e-9;
    double times = std::ceil(coefficient - kSlip);
    if (times > coefficient * kClose) {
      times = std::floor(coefficient + kSlip);
      const double left = coefficient - times, parts = std::floor(1 / left + kSlip);
      if (left > kSlip) result = result + (parts > 1 ? atoms_.floor_div(whole, static_cast<int64_t>(parts)) : whole);
      more += left > kSlip;
    }
    for (double digit = 1; times >= digit * 1000; digit *= 10)
      if (times < digit * 10'000) times = std::ceil(times / digit / 10) * digit * 10;
    if (times >= 9e18) return Size::too_large();
    result = result + whole * Size(static_cast<int64_t>(times));
  }
  for (double digit = 1; more >= digit * 1000; digit *= 10)
    if (more < digit * 10'000) more = std::ceil(more / digit / 10) * digit * 10;
  return result + Size(static_cast<int64_t>(std::ceil(std::min(more, 9e18))));
}

Size Bounds::above(const Size& size) {
  Polynomial hi = without_negative(range(size).hi);
  shorten(hi);
  return to_size(hi);
}

Size Bounds::above(const SizeFormula& formula, const std::function<Size(size_t)>& argument) {
  using Op = SizeFormula::Op;
  std::vector<Range> stack;
  for (const SizeFormula::Step& step : formula.steps) {
    if (step.op == Op::Const || step.op == Op::Arg) {
      stack.push_back(range(step.op == Op::Const ? Size(step.value) : argument(static_cast<size_t>(step.value))));
      continue;
    }
    const Range b = std::move(stack.back());
    stack.pop_back();
    Range& a = stack.back();
    switch (step.op) {
    case Op::Add: a = {sum(a.lo, b.lo), sum(a.hi, b.hi)}; break;
    case Op::Sub: a = {sum(a.lo, b.hi, -1), sum(a.hi, b.lo, -1)}; break;
    case Op::Mul: a = times(a, b); break;
    case Op::FloorDiv: a = divided(a, b); break;
    case Op::CeilDiv: {
      const double divisor = std::max(1.0, least_value(b.lo));
      Range more = divided(a, b);
      const bool known = as_constant(b.hi) == divisor;
      const Polynomial hi =
          known ? sum(more.hi, constant<Polynomial>((divisor - 1) / divisor)) : sum(more.hi, constant<Polynomial>(1));
      if (known) more.lo = sum(more.lo, constant<Polynomial>((divisor - 1) / divisor)); // never below a / b
      a = {more.lo, hi};
      break;
    }
    case Op::Min: a = least(a, b); break;
    case Op::Max: a = most(a, b); break;
    case Op::Const:
    case Op::Arg: break;
    }
  }
  return stack.empty() ? Size() : to_size(without_negative(stack.back().hi));
}

void Bounds::shorten(PeakMemory::Device& device) {
  size_t length = 0;
  for (const auto& moment : device.moments)
    length += length_of(atoms_, moment.bytes);
  if (length > kMostLength) {
    struct Candidate {
      Polynomial bytes;
      size_t moment;
    };
    std::vector<Candidate> candidates;
    for (size_t k = 0; k < device.moments.size(); ++k) {
      Polynomial bytes = without_negative(range(device.moments[k].bytes).hi);
      shorten(bytes);
      if (std::any_of(candidates.begin(), candidates.end(), [&](const auto& c) { return covers(c.bytes, bytes); }))
        continue;
      std::erase_if(candidates, [&](const auto& c) { return covers(bytes, c.bytes); });
      candidates.push_back({std::move(bytes), k});
    }
    while (candidates.size() > kMostMoments) { // the two that are most alike are one
      double best = INFINITY;
      size_t first = 0, second = 1;
      for (size_t i = 0; i < candidates.size(); ++i)
        for (size_t j = i + 1; j < candidates.size(); ++j) {
          const Polynomial both = join(candidates[i].bytes, candidates[j].bytes);
          double more = 0;
          for (double size : {kFew, kMany})
            more = std::max(more, value(both, size) /
                                      std::max(value(candidates[i].bytes, size), value(candidates[j].bytes, size)));
          if (more < best) best = more, first = i, second = j;
        }
      Candidate &a = candidates[first], &b = candidates[second];
      if (weight(b.bytes) > weight(a.bytes)) a.moment = b.moment;
      a.bytes = join(std::move(a.bytes), b.bytes);
      shorten(a.bytes);
      candidates.erase(candidates.begin() + static_cast<long>(second));
      const Polynomial joined = candidates[first].bytes;
      const size_t own = candidates[first].moment;
      std::erase_if(candidates, [&](const auto& c) { return c.moment != own && covers(joined, c.bytes); });
    }
    std::vector<PeakMemory::Moment> moments;
    for (const Candidate& candidate : candidates) {
      moments.push_back(std::move(device.moments[candidate.moment]));
      moments.back().bytes = to_size(candidate.bytes);
    }
    device.moments = std::move(moments);
    device.at_most = true;
  }
  constexpr size_t kMostOfPart = 6;
  auto readable = [&](Size& size) {
    if (length_of(atoms_, size) > kMostOfPart) size = above(size);
  };
  for (auto& moment : device.moments)
    for (auto& part : moment.parts) {
      readable(part.bytes);
      for (Size& dim : part.dims)
        readable(dim);
    }
}

} // namespace tl::peak
