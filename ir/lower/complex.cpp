// Complex numbers. The graph has none: a tensor of them is two leaves, its real parts and its imaginary parts, and here
// is what operations do with those. What acts on both alike (views, selections, sums) is done to one after the other.
#include "abi/linalg_op.h"
#include "abi/repr.h"
#include "ir/lower/function.h"
#include <algorithm>
#include <sstream>

namespace tl::ir {
namespace {

bool is_complex(const tl::Type& type) { return type.is_tensor() && tl::is_complex(type.dtype); }

bool is_complex_operand(const typed::ExprPtr& operand) { return is_complex(operand->type); }

} // namespace

bool FunctionLowerer::works_on_complex(const typed::Expr& e) {
  return is_complex(e.type) || std::any_of(e.operands.begin(), e.operands.end(), is_complex_operand);
}

// Is it the imaginary part of what was a real number?
bool FunctionLowerer::is_zero(ValueId value) const {
  for (NodeId node = f_[value].producer; node.valid(); node = f_[f_[node].operands[0]].producer) {
    if (f_[node].op == Op::Constant) return f_[node].as<ConstantAttrs>().literal == Scalar{};
    if (f_[node].op != Op::Broadcast && f_[node].op != Op::Reshape && f_[node].op != Op::Convert) return false;
  }
  return false;
}

FunctionLowerer::Complex FunctionLowerer::complex_literal(const typed::Expr& e) {
  const auto& literal = e.as<typed::LiteralExpr>();
  const DType part = part_of(e.type.dtype);
  const ValueId number = here().constant(part, literal.value), zero = here().constant(part, {});
  return literal.is_imaginary ? Complex{zero, number} : Complex{number, zero};
}

Leaves FunctionLowerer::complex_convert(const typed::Expr& e, const Leaves& x) {
  const LocId at = loc(e.span);
  const DType part = part_of(e.type.dtype);
  if (x.size() == 2) return {convert(x[0], part, at), convert(x[1], part, at)};
  const ValueId zero = splat(here().constant(part, {}), std::vector<Dim>(type(x.at(0)).dims), at);
  return {convert(x[0], part, at), zero};
}

// ---- arithmetic

namespace {

// Elementwise operations on values of one shape.
struct Arithmetic {
  std::function<ValueId(ScalarOp, std::vector<ValueId>)> apply;
  ValueId operator()(ScalarOp op, ValueId a, ValueId b) const { return apply(op, {a, b}); }
  ValueId negated(ValueId a) const { return apply(ScalarOp::Neg, {a}); }
  ValueId select(ValueId c, ValueId a, ValueId b) const { return apply(ScalarOp::Where, {c, a, b}); }
};

} // namespace

FunctionLowerer::Complex FunctionLowerer::complex_arithmetic(ScalarOp op, Complex a, Complex b,
                                                             const std::vector<Dim>& shape, LocId at) {
  const Arithmetic on{
      [&](ScalarOp each, std::vector<ValueId> operands) { return elementwise(each, std::move(operands), shape, at); }};
  const bool a_is_real = is_zero(a.im), b_is_real = is_zero(b.im);
  switch (op) {
  case ScalarOp::Add:
    return {on(op, a.re, b.re), b_is_real   ? splat_to(a.im, shape, at)
                                : a_is_real ? splat_to(b.im, shape, at)
                                            : on(op, a.im, b.im)};
  case ScalarOp::Sub:
    return {on(op, a.re, b.re), b_is_real   ? splat_to(a.im, shape, at)
                                : a_is_real ? on.negated(splat_to(b.im, shape, at))
                                            : on(op, a.im, b.im)};
  case ScalarOp::Mul:
    if (b_is_real) return {on(op, a.re, b.re), on(op, a.im, b.re)};
    if (a_is_real) return {on(op, a.re, b.re), on(op, a.re, b.im)};
    return {on(ScalarOp::Sub, on(op, a.re, b.re), on(op, a.im, b.im)),
            on(ScalarOp::Add, on(op, a.re, b.im), on(op, a.im, b.re))};
  case ScalarOp::Div: break;
  default: throw std::logic_error("lowering: no operation of complex numbers");
  }
  if (b_is_real) return {on(op, a.re, b.re), on(op, a.im, b.re)};
  // Smith, "Algorithm 116: Complex division" (1962), without branches: what is divided by is the greater part of b, so
  // that no square overflows.
  const ValueId size_re = on.apply(ScalarOp::Abs, {b.re}), size_im = on.apply(ScalarOp::Abs, {b.im});
  const ValueId by_re = on(ScalarOp::Ge, size_re, size_im);
  const ValueId large = on.select(by_re, b.re, b.im), small = on.select(by_re, b.im, b.re);
  const ValueId x = on.select(by_re, a.re, a.im), y = on.select(by_re, a.im, a.re);
  // A quotient by zero is that of the parts.
  const ValueId zero = splat(here().constant(type(large).dtype, {}), std::vector<Dim>(shape), at);
  const ValueId ratio = on.select(on(ScalarOp::Eq, large, zero), zero, on(ScalarOp::Div, small, large));
  const ValueId divisor = on(ScalarOp::Add, large, on(ScalarOp::Mul, small, ratio));
  const ValueId re = on(ScalarOp::Add, x, on(ScalarOp::Mul, y, ratio));
  const ValueId im = on(ScalarOp::Sub, y, on(ScalarOp::Mul, x, ratio));
  return {on(ScalarOp::Div, re, divisor), on(ScalarOp::Div, on.select(by_re, im, on.negated(im)), divisor)};
}

Leaves FunctionLowerer::complex_scalar(const typed::Expr& e, const std::vector<Leaves>& operands) {
  const LocId at = loc(e.span);
  const std::vector<Dim> shape = dims(e.type.shape);
  Leaves flat;
  for (const Leaves& operand : operands)
    flat.insert(flat.end(), operand.begin(), operand.end());
  flat = checked(std::move(flat), e.checks, true);
  std::vector<Complex> values; // of a condition, only the first part
  size_t next = 0;
  for (const typed::ExprPtr& operand : e.operands) {
    const tl::Type& t = operand->type;
    auto part = [&] { return t.rank() ? broadcast(flat[next++], t.shape, e.type.shape, at) : flat[next++]; };
    Complex& value = values.emplace_back();
    value.re = part();
    if (is_complex(t)) value.im = part();
  }
  auto each = [&](ScalarOp op, std::vector<ValueId> of) { return elementwise(op, std::move(of), shape, at); };
  const ScalarOp op = e.as<typed::ScalarExpr>().op;
  switch (op) {
  case ScalarOp::Neg: return {each(op, {values[0].re}), each(op, {values[0].im})};
  case ScalarOp::Eq:
    return {each(ScalarOp::And, {each(op, {values[0].re, values[1].re}), each(op, {values[0].im, values[1].im})})};
  case ScalarOp::Ne:
    return {each(ScalarOp::Or, {each(op, {values[0].re, values[1].re}), each(op, {values[0].im, values[1].im})})};
  case ScalarOp::Where:
    return {each(op, {values[0].re, values[1].re, values[2].re}), each(op, {values[0].re, values[1].im, values[2].im})};
  default: break;
  }
  const Complex result = complex_arithmetic(op, values.at(0), values.at(1), shape, at);
  return {result.re, result.im};
}

// ---- what is made of elements

Leaves FunctionLowerer::complex_tensor_literal(const typed::Expr& e) {
  const LocId at = loc(e.span);
  const std::vector<Dim> shape = dims(e.type.shape);
  Leaves parts[2];
  for (const typed::ExprPtr& operand : e.operands) {
    const Leaves element = expr(*operand);
    for (size_t k = 0; k < 2; ++k)
      parts[k].push_back(element.at(k));
  }
  bind_all(e.binds);
  Leaves result;
  for (Leaves& part : parts) {
    if (part.empty()) {
      result.push_back(splat(here().constant(part_of(e.type.dtype), {}), shape, at));
      continue;
    }
    part = checked(std::move(part), e.checks, true);
    std::vector<Dim> row = shape;
    row[0] = Dim::of(1);
    for (ValueId& value : part)
      value = retyped(value, row);
    result.push_back(concat(std::move(part), 0, shape, at));
  }
  return result;
}

// One tensor, with the real and then the imaginary parts along a new axis.
ValueId FunctionLowerer::parts_together(ValueId re, ValueId im, size_t axis, LocId at) {
  std::vector<Dim> row = type(re).dims;
  row.insert(row.begin() + static_cast<long>(axis), Dim::of(1));
  std::vector<Dim> both = row;
  both[axis] = Dim::of(2);
  return concat({retyped(re, row), retyped(im, row)}, static_cast<int64_t>(axis), both, at);
}

tl::Type FunctionLowerer::pairs_of(tl::Type type) {
  type.dtype = part_of(type.dtype);
  type.shape.emplace_back(2);
  return type;
}

ValueId FunctionLowerer::part_of_pairs(ValueId x, int64_t part, LocId at) {
  std::vector<Dim> one = type(x).dims;
  std::vector<ValueId> starts(one.size(), i64(0));
  starts.back() = i64(part);
  one.back() = Dim::of(1);
  const ValueId chosen = slice(x, starts, std::vector<int64_t>(one.size(), 1), one, at);
  one.pop_back();
  return retyped(chosen, one);
}

Leaves FunctionLowerer::as_in_files(const tl::Type& type, const Leaves& leaves, std::string& names, LocId at) {
  Leaves result;
  std::istringstream lines(names);
  std::string marked;
  bool any = false;
  auto next = leaves.begin();
  auto visit = [&](auto& self, const tl::Type& t) -> void {
    if (t.is_aggregate()) {
      for (const tl::Type& element : t.elements)
        self(self, element);
      return;
    }
    std::string name;
    std::getline(lines, name);
    const bool is_pair = is_complex(t);
    any = any || is_pair;
    marked += (result.empty() ? "" : "\n") + std::string(is_pair ? kComplexParts : "") + name;
    if (is_pair) {
      result.push_back(parts_together(next[0], next[1], this->type(next[0]).dims.size(), at));
      next += 2;
    } else
      result.push_back(*next++);
  };
  visit(visit, type);
  result.insert(result.end(), next, leaves.end());
  if (any) names = std::move(marked);
  return result;
}

Leaves FunctionLowerer::as_shown(const typed::Expr& e, const std::vector<Leaves>& operands, FormatTemplate& format) {
  const LocId at = loc(e.span);
  Leaves shown;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!is_complex_operand(e.operands[i])) {
      shown.push_back(operands[i].at(0));
      continue;
    }
    shown.push_back(parts_together(operands[i].at(0), operands[i].at(1), 0, at));
    format.specs[i].insert(0, kComplexParts);
  }
  return shown;
}

// ---- built-in functions

namespace {

bool is_product(const typed::Expr& e) {
  return e.is(Builtin::Matmul) || e.is(Builtin::Dot) || (e.is(Builtin::Einsum) && e.operands.size() == 2);
}

} // namespace

Leaves FunctionLowerer::complex_builtin(const typed::Expr& e, const std::vector<Leaves>& operands) {
  switch (e.as<typed::BuiltinExpr>().builtin) {
  case Builtin::Complex: return complex_of_parts(e, operands);
  case Builtin::RealPart: return {operands.at(0).at(0)};
  case Builtin::ImaginaryPart: return {operands.at(0).at(1)};
  case Builtin::Eye: {
    const ValueId one = eye(e);
    return {one, splat(here().constant(type(one).dtype, {}), std::vector<Dim>(type(one).dims), loc(e.span))};
  }
  case Builtin::FftRows: return fourier(e, LinalgOp::Fft, operands.at(0));
  case Builtin::InverseFftRows: return fourier(e, LinalgOp::InverseFft, operands.at(0));
  case Builtin::RealFftRows: return fourier(e, LinalgOp::RealFft, operands.at(0));
  case Builtin::RealFftTransposedRows:
    return fourier(e, LinalgOp::RealFftTransposed, checked(operands.at(0), e.checks, true));
  case Builtin::Load: // which know their leaves
  case Builtin::Save:
  case Builtin::Wait: return builtin_operation(e, operands);
  default: break;
  }
  // One part of each operand that has two.
  auto parts = [&](std::initializer_list<size_t> which) {
    std::vector<Leaves> chosen;
    auto next = which.begin();
    for (size_t i = 0; i < operands.size(); ++i)
      chosen.push_back(is_complex_operand(e.operands[i]) ? Leaves{operands[i].at(which.size() == 1 ? *next : *next++)}
                                                         : operands[i]);
    return builtin_operation(e, chosen).at(0);
  };
  if (!is_complex(e.type)) return {parts({0})}; // on which device it is
  if (!is_product(e)) return {parts({0}), parts({1})};
  const LocId at = loc(e.span);
  auto both = [&](ScalarOp op, ValueId a, ValueId b) {
    return elementwise(op, {a, b}, std::vector<Dim>(type(a).dims), at);
  };
  const ValueId re = parts({0, 0});
  if (is_zero(operands[1].at(1))) return {re, parts({1, 0})};
  if (is_zero(operands[0].at(1))) return {re, parts({0, 1})};
  return {both(ScalarOp::Sub, re, parts({1, 1})), both(ScalarOp::Add, parts({0, 1}), parts({1, 0}))};
}

Leaves FunctionLowerer::complex_of_parts(const typed::Expr& e, const std::vector<Leaves>& operands) {
  const LocId at = loc(e.span);
  const std::vector<Dim> shape = dims(e.type.shape);
  Leaves parts = checked({operands.at(0).at(0), operands.at(1).at(0)}, e.checks, true);
  for (size_t i = 0; i < 2; ++i)
    parts[i] = splat_to(broadcast(parts[i], e.operands[i]->type.shape, e.type.shape, at), shape, at);
  return parts;
}

// The transforms along an axis: of the columns of matrices, whose other axis is what lies behind it.
Leaves FunctionLowerer::fourier(const typed::Expr& e, LinalgOp op, const Leaves& z) {
  const LocId at = loc(e.span);
  const auto axis = static_cast<size_t>(e.attrs<typed::AxisAttrs>().axis);
  const std::vector<Dim> shape = dims(e.type.shape), given = dims(e.operands[0]->type.shape);
  auto matrices = [&](const std::vector<Dim>& sizes) {
    const auto behind = sizes.begin() + static_cast<std::ptrdiff_t>(axis) + 1;
    std::vector<Dim> result(sizes.begin(), behind);
    result.push_back(product({behind, sizes.end()}));
    return result;
  };
  const std::vector<Dim> from = matrices(given), to = matrices(shape);
  std::vector<ValueId> operands;
  for (ValueId part : z)
    operands.push_back(retyped(splat_to(part, given, at), from));
  const Type t = Type::tensor(type(operands[0]).dtype, to);
  const LinalgAttrs attrs{op, site("NoConvergence", "a Fourier transform has no failures", e.span)};
  const std::vector<Type> types(static_cast<size_t>(info(op).results), t);
  Leaves result = f_[here().node(Op::Linalg, std::move(operands), types, attrs, at)].results;
  for (ValueId& part : result)
    part = retyped(part, shape);
  return result;
}

} // namespace tl::ir
