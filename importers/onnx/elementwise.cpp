// Operators on elements, with what is computed of known ones.
#include "importers/onnx/operators.h"
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <numeric>

namespace tl::onnx {
namespace {

// A real number as a ratio of small integers, where it is one (in the precision of f32).
std::optional<std::pair<int64_t, int64_t>> ratio_of(double value) {
  if (!std::isfinite(value) || std::fabs(value) > 1e9) return std::nullopt;
  for (int64_t bottom = 1; bottom <= 1024; ++bottom) {
    const double top = std::nearbyint(value * static_cast<double>(bottom));
    if (static_cast<float>(top / static_cast<double>(bottom)) == static_cast<float>(value))
      return std::pair{static_cast<int64_t>(top), bottom};
  }
  return std::nullopt;
}

std::optional<Number> as_ratio(const Number& number) {
  if (!number.is_real) return number;
  auto ratio = ratio_of(number.real);
  if (!ratio) return std::nullopt;
  return Number{ratio->first, ratio->second, 0, false};
}

std::optional<Number> ratio(const Size& top, const Size& bottom) {
  if (bottom.is(0)) return std::nullopt;
  if (auto whole = divide_exactly(top, bottom)) return Number::of(*whole);
  if (top.is_constant() && bottom.is_constant()) {
    const int64_t common = std::gcd(top.constant(), bottom.constant());
    return Number{top.constant() / common, bottom.constant() / common, 0, false};
  }
  return Number{top, bottom, 0, false};
}

using Fold = std::function<std::optional<Number>(Importer&, DType, const std::vector<Number>&)>;

// Of real numbers, rounded to the type; of sizes by polynomials.
Number rounded(DType dtype, double value) {
  return Number::of_real(dtype == DType::F32 ? static_cast<double>(static_cast<float>(value)) : value);
}

// Nothing where it is no number of the type: the program computes what wraps.
std::optional<Number> fitting(DType dtype, std::optional<Number> number) {
  if (!number || number->top.is_too_large() || number->bottom.is_too_large()) return std::nullopt;
  const std::optional<int64_t> value = number->integer();
  if (dtype == DType::I32 && value && *value != static_cast<int32_t>(*value)) return std::nullopt;
  return number;
}

bool all_constant(const std::vector<Number>& items) {
  return std::all_of(items.begin(), items.end(), [](const Number& n) { return n.is_constant(); });
}

template <class Real, class Sizes> Fold arithmetic(Real real, Sizes sizes) {
  return [=](Importer& in, DType dtype, const std::vector<Number>& items) -> std::optional<Number> {
    if (is_float(dtype) && all_constant(items)) return rounded(dtype, real(items[0].value(), items[1].value()));
    if (dtype != DType::I64 && dtype != DType::I32 && !is_float(dtype)) return std::nullopt;
    auto a = as_ratio(items[0]), b = as_ratio(items[1]);
    if (!a || !b) return std::nullopt;
    return fitting(dtype, sizes(in, *a, *b));
  };
}

const Fold kAdd = arithmetic([](double a, double b) { return a + b; },
                             [](Importer&, const Number& a, const Number& b) {
                               return ratio(a.top * b.bottom + b.top * a.bottom, a.bottom * b.bottom);
                             });
const Fold kSub = arithmetic([](double a, double b) { return a - b; },
                             [](Importer&, const Number& a, const Number& b) {
                               return ratio(a.top * b.bottom - b.top * a.bottom, a.bottom * b.bottom);
                             });
const Fold kMul =
    arithmetic([](double a, double b) { return a * b; },
               [](Importer&, const Number& a, const Number& b) { return ratio(a.top * b.top, a.bottom * b.bottom); });

bool not_negative(Importer& in, const Size& size) { return in.sizes().proves_not_negative(size, in.facts()); }

// Of integers it rounds to zero.
const Fold kDiv = [](Importer& in, DType dtype, const std::vector<Number>& items) -> std::optional<Number> {
  if (is_float(dtype)) {
    if (all_constant(items)) return rounded(dtype, items[0].value() / items[1].value());
    auto a = as_ratio(items[0]), b = as_ratio(items[1]);
    if (!a || !b) return std::nullopt;
    return ratio(a->top * b->bottom, a->bottom * b->top);
  }
  const Size &a = items[0].top, &b = items[1].top;
  if (!items[0].is_integer() || !items[1].is_integer() || b.is(0)) return std::nullopt;
  if (b.is(-1)) return fitting(dtype, Number::of(a * Size(-1)));
  if (a.is_constant() && b.is_constant()) return Number::of(a.constant() / b.constant());
  if (auto whole = divide_exactly(a, b)) return Number::of(*whole);
  if (!not_negative(in, a) || !not_negative(in, b)) return std::nullopt;
  return Number::of(in.sizes().floor_div(a, b));
};

const Fold kMod = [](Importer& in, DType dtype, const std::vector<Number>& items) -> std::optional<Number> {
  if (is_float(dtype) || !items[0].is_integer() || !items[1].is_integer() || items[1].top.is(0)) return std::nullopt;
  return Number::of(in.sizes().mod(items[0].top, items[1].top));
};

Fold extreme(bool greatest) {
  return [=](Importer& in, DType dtype, const std::vector<Number>& items) -> std::optional<Number> {
    const Number &a = items[0], &b = items[1];
    if (is_float(dtype)) {
      if (!all_constant(items)) return std::nullopt;
      if (std::isnan(a.value())) return a;
      return (greatest ? a.value() >= b.value() : a.value() <= b.value()) ? a : b;
    }
    if (!a.is_integer() || !b.is_integer()) return std::nullopt;
    return Number::of(greatest ? in.sizes().max(a.top, b.top, in.facts()) : in.sizes().min(a.top, b.top, in.facts()));
  };
}
const Fold kMax = extreme(true), kMin = extreme(false);

const Fold kEqual = [](Importer& in, DType, const std::vector<Number>& items) -> std::optional<Number> {
  const Number &a = items[0], &b = items[1];
  if (a.is_real || b.is_real)
    return all_constant(items) ? std::optional(Number::of(a.value() == b.value())) : std::nullopt;
  const Compare comparison = in.sizes().compare(a.top * b.bottom, b.top * a.bottom, in.facts()); // no size is -1
  if (comparison == Compare::Unknown) return std::nullopt;
  return Number::of(comparison == Compare::Equal);
};

// a < b, or a <= b; swapped: of b and a.
Fold ordered(bool or_equal, bool swapped) {
  return [=](Importer& in, DType, const std::vector<Number>& items) -> std::optional<Number> {
    const Number &a = items[swapped], &b = items[!swapped];
    if (a.is_real || b.is_real) {
      if (!all_constant(items)) return std::nullopt;
      return Number::of(or_equal ? a.value() <= b.value() : a.value() < b.value());
    }
    if (!a.is_integer() || !b.is_integer()) return std::nullopt;
    const Size room = b.top - a.top - Size(or_equal ? 0 : 1);
    if (not_negative(in, room)) return Number::of(1);
    if (not_negative(in, Size(-1) - room)) return Number::of(0);
    return std::nullopt;
  };
}
const Fold kLess = ordered(false, false), kLessOrEqual = ordered(true, false);
const Fold kGreater = ordered(false, true), kGreaterOrEqual = ordered(true, true);

template <class F> Fold logical(F f) {
  return [=](Importer&, DType, const std::vector<Number>& items) -> std::optional<Number> {
    if (!all_constant(items)) return std::nullopt;
    return Number::of(f(items[0].value() != 0, items.size() > 1 && items[1].value() != 0));
  };
}

template <class F> Fold of_real(F f) {
  return [=](Importer&, DType dtype, const std::vector<Number>& items) -> std::optional<Number> {
    if (!items[0].is_constant() || !is_float(dtype)) return std::nullopt;
    return rounded(dtype, f(items[0].value()));
  };
}

const Fold kNeg = [](Importer&, DType dtype, const std::vector<Number>& items) -> std::optional<Number> {
  if (items[0].is_real) return rounded(dtype, -items[0].real);
  if (dtype != DType::I64 && dtype != DType::I32 && !is_float(dtype)) return std::nullopt;
  return fitting(dtype, Number{items[0].top * Size(-1), items[0].bottom, 0, false});
};

// Up or down to a whole number.
Fold whole(bool up) {
  return [=](Importer& in, DType dtype, const std::vector<Number>& items) -> std::optional<Number> {
    const Number& x = items[0];
    if (x.is_real) return rounded(dtype, up ? std::ceil(x.real) : std::floor(x.real));
    if (x.bottom.is(1)) return x;
    if (!not_negative(in, x.bottom)) return std::nullopt;
    if (up) return Number::of(in.sizes().floor_div(x.top + x.bottom - Size(1), x.bottom));
    return Number::of(in.sizes().floor_div(x.top, x.bottom));
  };
}

// ---- writing --------------------------------------------------------------------------------------------------------

std::optional<Contents> fold(Op& op, const Fold& rule, DType dtype, const std::vector<const Contents*>& inputs) {
  std::vector<int64_t> dims;
  for (const Contents* input : inputs) {
    if (!input) return std::nullopt;
    const auto& longer = input->dims.size() > dims.size() ? input->dims : dims;
    const auto& shorter = input->dims.size() > dims.size() ? dims : input->dims;
    std::vector<int64_t> joined = longer;
    for (size_t i = 0; i < shorter.size(); ++i) {
      int64_t& at = joined[longer.size() - shorter.size() + i];
      if (at == 1)
        at = shorter[i];
      else if (shorter[i] != 1 && shorter[i] != at)
        op.refuse("the sizes of its inputs do not fit");
    }
    dims = joined;
  }
  int64_t count = 1;
  for (int64_t d : dims) {
    count *= d;
    if (count > kLargestContents) return std::nullopt;
  }
  Contents result{dims, {}};
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Number> items;
    for (const Contents* input : inputs) {
      int64_t at = 0, step = 1, rest = i;
      for (size_t k = dims.size(); k-- > 0;) {
        const int64_t here = rest % dims[k];
        rest /= dims[k];
        const size_t off = dims.size() - input->dims.size();
        if (k < off) continue;
        if (input->dims[k - off] != 1) at += here * step;
        step *= input->dims[k - off];
      }
      items.push_back(input->items[static_cast<size_t>(at)]);
    }
    std::optional<Number> value = rule(op.in, dtype, items);
    if (!value) return std::nullopt;
    result.items.push_back(std::move(*value));
  }
  return result;
}

// `count`: of the operands that the rule looks at.
bool try_fold(Op& op, const Fold& rule, size_t count, DType operands, DType result) {
  if (op.inputs() < count) return false;
  std::vector<const Contents*> inputs;
  for (size_t i = 0; i < op.inputs(); ++i)
    inputs.push_back(op.contents(i));
  auto known = fold(op, rule, operands, inputs);
  if (!known) return false;
  op.know(0, result, std::move(*known));
  return true;
}

// One operand and its type.
void unary(Op& op, const Row& row) { op.define(0, filled(op, row.form), op[0].dtype, op[0].dims); }
void to_bool(Op& op, const Row& row) { op.define(0, filled(op, row.form), DType::Bool, op[0].dims); }
void binary(Op& op, const Row& row) {
  Dims dims = op.broadcast();
  op.define(0, filled(op, row.form), op[0].dtype, dims);
}
template <const Fold& rule> void folding_unary(Op& op, const Row& row) {
  if (!try_fold(op, rule, 1, op[0].dtype, op[0].dtype)) unary(op, row);
}
template <const Fold& rule> void folding_binary(Op& op, const Row& row) {
  if (!try_fold(op, rule, 2, op[0].dtype, op[0].dtype)) binary(op, row);
}
template <const Fold& rule> void comparison(Op& op, const Row& row) {
  if (try_fold(op, rule, 2, op[0].dtype, DType::Bool)) return;
  Dims dims = op.broadcast();
  op.define(0, filled(op, row.form), DType::Bool, dims);
}

const Fold kFloor = whole(false), kCeil = whole(true);
const Fold kSqrt = of_real([](double x) { return std::sqrt(x); });
const Fold kReciprocal = [](Importer&, DType dtype, const std::vector<Number>& items) -> std::optional<Number> {
  if (items[0].is_constant()) return rounded(dtype, 1 / items[0].value());
  if (items[0].is_real) return std::nullopt;
  return ratio(items[0].bottom, items[0].top);
};
const Fold kAbs = [](Importer& in, DType dtype, const std::vector<Number>& items) -> std::optional<Number> {
  if (is_float(dtype) && items[0].is_constant()) return rounded(dtype, std::fabs(items[0].value()));
  if (items[0].is_integer() && not_negative(in, items[0].top)) return items[0];
  if (auto value = items[0].integer()) return Number::of(*value < 0 ? -*value : *value);
  return std::nullopt;
};
const Fold kAnd = logical([](bool a, bool b) { return a && b; });
const Fold kOr = logical([](bool a, bool b) { return a || b; });
const Fold kXor = logical([](bool a, bool b) { return a != b; });
const Fold kNot = logical([](bool a, bool) { return !a; });

void divide(Op& op, const Row& row) {
  if (try_fold(op, kDiv, 2, op[0].dtype, op[0].dtype)) return;
  Dims dims = op.broadcast();
  const DType dtype = op[0].dtype;
  const std::string a = op.text(0), b = op.text(1);
  if (is_float(dtype)) return void(op.define(0, filled(op, row.form), dtype, dims));
  if (is_unsigned(dtype)) return void(op.define(0, fmt::format("{} // {}", a, b), dtype, dims));
  op.in.use_module("onnx");
  op.define(0, fmt::format("onnx.div({}, {})", a, b), dtype, dims);
}

void power(Op& op, const Row&) {
  Dims dims = op.broadcast();
  const DType dtype = op[0].dtype;
  std::string exponent = op.text(1);
  const Contents* known = op.contents(1);
  if (op[1].dtype != dtype && !(known && known->dims.empty() && is_float(dtype)))
    exponent = fmt::format("{}({})", name_of(dtype), exponent);
  op.define(0, fmt::format("pow({}, {})", op.text(0), exponent), dtype, dims);
}

void modulo(Op& op, const Row&) {
  if (op.integer("fmod", 0) == 0 && try_fold(op, kMod, 2, op[0].dtype, op[0].dtype)) return;
  Dims dims = op.broadcast();
  if (op.integer("fmod", 0) == 0)
    return void(op.define(0, fmt::format("{} % {}", op.text(0), op.text(1)), op[0].dtype, dims));
  op.in.use_module("onnx");
  if (op.rank(1) <= op.rank(0)) {
    Dims other = op[1].dims;
    for (size_t i = 0; i < other.size(); ++i)
      if (const Size& n = op[0].dims[op.rank(0) - other.size() + i]; !n.is(1) && !other[i].is(1)) other[i] = n;
    op.retype(1, other);
  }
  op.define(0, fmt::format("fmod({}, {})", op.text(0), op.text(1)), op[0].dtype, dims);
}

// Any number of operands.
template <const Fold& rule> void chain(Op& op, const Row& row) {
  if (op.inputs() == 1) return op.alias(0, op.value(0));
  if (op.inputs() == 2 && try_fold(op, rule, 2, op[0].dtype, op[0].dtype)) return;
  Dims dims = op.broadcast();
  std::string text = op.text(0);
  for (size_t i = 1; i < op.inputs(); ++i)
    text = row.form == "+" ? fmt::format("{} + {}", text, op.text(i))
                           : fmt::format("{}({}, {})", row.form, text, op.text(i));
  op.define(0, text, op[0].dtype, dims);
}

void mean_of(Op& op, const Row&) {
  Dims dims = op.broadcast();
  std::string text = op.text(0);
  for (size_t i = 1; i < op.inputs(); ++i)
    text += " + " + op.text(i);
  op.define(0, fmt::format("({}) / {}.0", text, op.inputs()), op[0].dtype, dims);
}

void where(Op& op, const Row&) {
  const Contents* condition = op.contents(0);
  if (condition && condition->is_constant()) {
    const Fold choose = [](Importer&, DType, const std::vector<Number>& items) {
      return std::optional(items[0].value() != 0 ? items[1] : items[2]);
    };
    if (try_fold(op, choose, 3, op[1].dtype, op[1].dtype)) return;
  }
  Dims dims = op.broadcast();
  op.define(0,
            fmt::format("where({}, {}, {})", op.text(0), op.operand(1, op.rank(0)),
                        op.operand(2, std::max(op.rank(0), op.rank(1)))),
            op[1].dtype, dims);
}

void clip(Op& op, const Row&) {
  const DType dtype = op[0].dtype;
  auto bound = [&](const char* name, size_t input) -> std::string {
    if (op.has(input)) return op.text(input);
    if (op.version >= 11 || !op.attribute(name)) return "";
    return op.in.number_text(dtype, Number::of_real(op.real(name, 0)));
  };
  const std::string least = bound("min", 1), most = bound("max", 2), x = op.text(0);
  std::string text = x;
  if (!least.empty()) text = fmt::format("max({}, {})", text, least);
  if (!most.empty()) text = fmt::format("min({}, {})", text, most);
  if (least.empty() && most.empty()) return op.alias(0, op.value(0));
  op.define(0, text, dtype, op[0].dims);
}

std::optional<Contents> converted(Op& op, const Contents& from, DType before, DType after) {
  Contents result{from.dims, {}};
  for (const Number& item : from.items) {
    std::optional<Number> value;
    if (before == after)
      value = item;
    else if (is_float(after)) {
      if (after == DType::F32 || after == DType::F64) value = item.is_constant() ? rounded(after, item.value()) : item;
    } else if (after == DType::Bool) {
      if (item.is_constant()) value = Number::of(item.value() != 0);
    } else if (after == DType::I64 || after == DType::I32) {
      if (item.is_integer())
        value = fitting(after, item);
      else if (item.is_constant() && std::fabs(item.value()) < 2e9)
        value = Number::of(static_cast<int64_t>(item.value()));
      else if (!item.is_real && not_negative(op.in, item.top) && not_negative(op.in, item.bottom))
        value = Number::of(op.in.sizes().floor_div(item.top, item.bottom));
    } else if (auto whole = item.integer(); whole && *whole >= 0 && *whole < 128) {
      value = item;
    }
    if (!value) return std::nullopt;
    result.items.push_back(std::move(*value));
  }
  return result;
}

void cast_to(Op& op, DType dtype) {
  if (op[0].dtype == dtype) return op.alias(0, op.value(0));
  if (const Contents* known = op.contents(0))
    if (auto result = converted(op, *known, op[0].dtype, dtype)) return op.know(0, dtype, std::move(*result));
  op.define(0, fmt::format("{}({})", name_of(dtype), op.text(0)), dtype, op[0].dims);
}

void cast(Op& op, const Row&) {
  const auto to = static_cast<int32_t>(op.integer("to", 0));
  const std::optional<DType> dtype = dtype_of(to);
  if (!dtype) op.refuse(fmt::format("it converts to {}, which tl does not have", data_type_name(to)));
  cast_to(op, *dtype);
}
// The same bits. A conversion between integers of one width keeps them.
void bit_cast(Op& op, const Row& row) {
  const auto to = dtype_of(static_cast<int32_t>(op.integer("to", 0)));
  if (to && size_of(*to) != size_of(op[0].dtype)) op.refuse("it converts to elements of another width");
  if (!to || is_float(*to) || (is_float(op[0].dtype) && op[0].dtype != *to) ||
      (*to == DType::Bool && op[0].dtype != DType::Bool))
    op.refuse("tl has the bits of integers alone");
  cast(op, row);
}
void cast_like(Op& op, const Row&) { cast_to(op, op[1].dtype); }

void is_infinite(Op& op, const Row&) {
  const bool below = op.integer("detect_negative", 1) != 0, above = op.integer("detect_positive", 1) != 0;
  const std::string x = op.text(0);
  std::string text = below && above ? fmt::format("isinf({})", x)
                     : below        ? fmt::format("{} == -inf", x)
                     : above        ? fmt::format("{} == inf", x)
                                    : fmt::format("isinf({0}) and {0} != {0}", x);
  op.define(0, text, DType::Bool, op[0].dims);
}

void shift(Op& op, const Row&) {
  Dims dims = op.broadcast();
  const std::string way = op.string("direction", "");
  if (way != "LEFT" && way != "RIGHT") op.refuse("its direction is neither LEFT nor RIGHT");
  op.in.use_module("onnx");
  op.define(0, fmt::format("onnx.bit_shift({}, {}, direction = \"{}\")", op.text(0), op.text(1), way), op[0].dtype,
            dims);
}

void gelu(Op& op, const Row&) {
  const bool about = op.string("approximate", "none") == "tanh";
  if (about) op.in.use_module("nn");
  op.define(0, fmt::format("{}({})", about ? "nn.gelu_tanh" : "gelu", op.text(0)), op[0].dtype, op[0].dims);
}

// A function of the module nn.
void layer(Op& op, const Row& row) {
  op.in.use_module(row.form.substr(0, row.form.find('.')));
  unary(op, row);
}

void swiglu(Op& op, const Row& row) {
  op.in.use_module("nn");
  const Dims dims = op.broadcast();
  op.define(0, filled(op, row.form), op[0].dtype, dims);
}

void binarizer(Op& op, const Row& row) {
  const DType dtype = op[0].dtype;
  op.define(0, fmt::format("{}({})", name_of(dtype), filled(op, row.form)), dtype, op[0].dims);
}

void prelu(Op& op, const Row&) {
  Dims dims = op.broadcast();
  const std::string zero = op.in.number_text(op[0].dtype, Number::of(0));
  op.define(0, fmt::format("where({0} < {2}, {0} * {1}, {0})", op.text(0), op.text(1), zero), op[0].dtype, dims);
}

void identity(Op& op, const Row&) { op.alias(0, op.any_value(0)); }

void dropout(Op& op, const Row&) {
  const Contents* training = op.contents(2);
  if (op.has(2) &&
      (!training || !training->is_constant() || training->items.empty() || training->items[0].value() != 0))
    op.refuse("it drops at random: only inference is imported");
  op.alias(0, op.value(0));
  if (op.wants(1))
    op.define(1, fmt::format("full({}, true)", op.in.dims_text(op[0].dims)),
              op.version < 10 ? op[0].dtype : DType::Bool, op[0].dims);
}

} // namespace

std::vector<Row> elementwise_rows() {
  return {
      {"Abs", 6, "abs({0})", folding_unary<kAbs>},
      {"Acos", 7, "acos({0})", unary},
      {"Acosh", 9, "acosh({0})", unary},
      {"Add", 7, "{0} + {1}", folding_binary<kAdd>},
      {"And", 7, "{0} and {1}", comparison<kAnd>},
      {"Asin", 7, "asin({0})", unary},
      {"Asinh", 9, "asinh({0})", unary},
      {"Atan", 7, "atan({0})", unary},
      {"Atanh", 9, "atanh({0})", unary},
      {"Binarizer", 1, "{0} > {threshold:0.0}", binarizer, "ai.onnx.ml"},
      {"BitCast", 26, "", bit_cast},
      {"BitShift", 11, "", shift},
      {"BitwiseAnd", 18, "bit_and({0}, {1})", binary},
      {"BitwiseNot", 18, "bit_not({0})", unary},
      {"BitwiseOr", 18, "bit_or({0}, {1})", binary},
      {"BitwiseXor", 18, "bit_xor({0}, {1})", binary},
      {"Cast", 6, "", cast},
      {"CastLike", 15, "", cast_like},
      {"Ceil", 6, "ceil({0})", folding_unary<kCeil>},
      {"Celu", 12, "nn.celu({0}, alpha = {alpha:1.0})", layer},
      {"Clip", 6, "", clip},
      {"Cos", 7, "cos({0})", unary},
      {"Cosh", 9, "cosh({0})", unary},
      {"Div", 7, "{0} / {1}", divide},
      {"Dropout", 7, "", dropout},
      {"Elu", 6, "nn.elu({0}, alpha = {alpha:1.0})", layer},
      {"Equal", 7, "{0} == {1}", comparison<kEqual>},
      {"Erf", 9, "erf({0})", unary},
      {"Exp", 6, "exp({0})", unary},
      {"Floor", 6, "floor({0})", folding_unary<kFloor>},
      {"Gelu", 20, "", gelu},
      {"Greater", 7, "{0} > {1}", comparison<kGreater>},
      {"GreaterOrEqual", 12, "{0} >= {1}", comparison<kGreaterOrEqual>},
      {"HardSigmoid", 6, "nn.hard_sigmoid({0}, alpha = {alpha:0.2}, beta = {beta:0.5})", layer},
      {"HardSwish", 14, "nn.hard_swish({0})", layer},
      {"Identity", 1, "", identity},
      {"IsInf", 10, "", is_infinite},
      {"IsNaN", 9, "isnan({0})", to_bool},
      {"LeakyRelu", 6, "nn.leaky_relu({0}, alpha = {alpha:0.01})", layer},
      {"Less", 7, "{0} < {1}", comparison<kLess>},
      {"LessOrEqual", 12, "{0} <= {1}", comparison<kLessOrEqual>},
      {"Log", 6, "log({0})", unary},
      {"Max", 6, "max", chain<kMax>},
      {"Mean", 6, "", mean_of},
      {"Min", 6, "min", chain<kMin>},
      {"Mish", 18, "nn.mish({0})", layer},
      {"Mod", 10, "", modulo},
      {"Mul", 7, "{0} * {1}", folding_binary<kMul>},
      {"Neg", 6, "-{0}", folding_unary<kNeg>},
      {"Not", 1, "not {0}", folding_unary<kNot>},
      {"Or", 7, "{0} or {1}", comparison<kOr>},
      {"PRelu", 7, "", prelu},
      {"Pow", 7, "", power},
      {"Reciprocal", 6, "1.0 / {0}", folding_unary<kReciprocal>},
      {"Relu", 6, "relu({0})", unary},
      {"Round", 11, "round({0})", unary},
      {"Selu", 6, "nn.selu({0}, alpha = {alpha:1.6732632}, gamma = {gamma:1.050701})", layer},
      {"Shrink", 9, "nn.shrink({0}, bias = {bias:0.0}, lambd = {lambd:0.5})", layer},
      {"Sigmoid", 6, "sigmoid({0})", unary},
      {"Sign", 9, "sign({0})", unary},
      {"Sin", 7, "sin({0})", unary},
      {"Sinh", 9, "sinh({0})", unary},
      {"Softplus", 1, "softplus({0})", unary},
      {"Softsign", 1, "nn.softsign({0})", layer},
      {"Sqrt", 6, "sqrt({0})", folding_unary<kSqrt>},
      {"Sub", 7, "{0} - {1}", folding_binary<kSub>},
      {"Sum", 6, "+", chain<kAdd>},
      {"SwiGLU", 28, "nn.swish({0}, alpha = {alpha:1.0}) * {1}", swiglu},
      {"Swish", 24, "nn.swish({0}, alpha = {alpha:1.0})", layer},
      {"Tan", 7, "tan({0})", unary},
      {"Tanh", 6, "tanh({0})", unary},
      {"ThresholdedRelu", 10, "nn.thresholded_relu({0}, alpha = {alpha:1.0})", layer},
      {"Where", 9, "", where},
      {"Xor", 7, "{0} != {1}", comparison<kXor>},
  };
}

} // namespace tl::onnx
