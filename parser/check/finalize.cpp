// The last walk over a finished function: it closes element types that are still open, gives literals their values and
// makes the instances of generic calls.
#include "parser/check/finalize.h"
#include "abi/decimal.h"
#include "lang/typed_walk.h"
#include "parser/check/builtins/complex.h"
#include "parser/check/instances.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/strings.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace tl::checker {

namespace {

struct IntRange {
  uint64_t max, min_magnitude; // greatest value, magnitude of the least
};

IntRange range_of(DType type) {
  int bits = size_of(type) * 8;
  if (is_unsigned(type)) return {bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1, 0};
  return {(uint64_t{1} << (bits - 1)) - 1, uint64_t{1} << (bits - 1)};
}

} // namespace

// Gives a literal of this type its value.
static void finish_literal(typed::LiteralExpr& literal, DType whole, std::string& problem) {
  const DType type = part_of(whole);
  const bool negative = literal.negative, is_int_form = literal.form == LiteralForm::Int;
  Scalar& number = literal.value;
  const std::string& text = literal.text;
  if (type == DType::Bool && literal.is_fill) {
    number = Scalar::of<uint8_t>(number.bits != 0); // zeros and ones
  } else if (type == DType::Bool) {
    problem = "a number is not a bool";
  } else if (is_int_form && !is_float(type)) {
    auto magnitude = number.as<uint64_t>();
    IntRange range = range_of(type);
    if (magnitude > (negative ? range.min_magnitude : range.max))
      problem = fmt::format("{}{} does not fit in {}", negative ? "-" : "", magnitude, name_of(type));
    uint64_t bits = negative ? 0 - magnitude : magnitude;
    if (size_of(type) < 8) bits &= (uint64_t{1} << (size_of(type) * 8)) - 1;
    number.bits = bits;
  } else {
    double value = is_int_form ? static_cast<double>(number.as<uint64_t>()) : number.as<double>();
    if (type == DType::F64) {
      number = Scalar::of(negative ? -value : value);
    } else if (type == DType::F32) {
      // From the text, so that it is rounded once.
      auto single = static_cast<float>(is_int_form ? static_cast<float>(number.as<uint64_t>()) : value);
      if (!is_int_form && !text.empty()) std::from_chars(text.data(), text.data() + text.size(), single);
      if (std::isinf(single) && std::isfinite(value)) problem = fmt::format("{} does not fit in f32", text);
      number = Scalar::of(negative ? -single : single);
    } else {
      number =
          rounded_once(type, negative ? -value : value, is_int_form ? fmt::format("{}", number.as<uint64_t>()) : text);
      if (std::isinf(convert_scalar(type, DType::F64, number).as<double>()) && std::isfinite(value))
        problem = fmt::format("{} does not fit in {}", text.empty() ? fmt::format("{}", value) : text, name_of(type));
    }
    if (!is_int_form && std::isinf(value) && !text.empty() && text != "inf")
      problem = fmt::format("{} does not fit in {}", text, name_of(type));
    const bool is_zero = text.substr(0, text.find_first_of("eE")).find_first_of("123456789") == text.npos;
    if (!is_int_form && !is_zero && problem.empty() && convert_scalar(type, DType::F64, number).as<double>() == 0)
      problem = fmt::format("{} is nearer to 0 than any {}: it would be 0", text, name_of(type));
  }
  literal = {.value = number, .is_imaginary = literal.is_imaginary};
}

namespace {
// One of its sizes is more than an i64 holds.
bool has_no_size(const Type& type) {
  return std::any_of(type.shape.begin(), type.shape.end(), [](const Size& s) { return s.is_too_large(); }) ||
         std::any_of(type.elements.begin(), type.elements.end(), has_no_size);
}

// An axis that a built-in function makes longer than one may be.
const Size* too_long(const typed::Expr& e) {
  if (!e.is<typed::BuiltinExpr>() || !e.type.is_tensor()) return nullptr;
  for (const Size& size : e.type.shape) {
    if (!size.is_constant() || size.constant() <= kLongestAxis) continue;
    const bool has_it = std::any_of(e.operands.begin(), e.operands.end(), [&](const ExprPtr& operand) {
      return operand->type.is_tensor() && std::count(operand->type.shape.begin(), operand->type.shape.end(), size) > 0;
    });
    if (!has_it) return &size; // else it has been said
  }
  return nullptr;
}
} // namespace

static void finalize(Context& cx, typed::Expr& e) {
  typed::each_part(
      e, [&](typed::Expr& part) { finalize(cx, part); }, [&](typed::Block& block) { finalize(cx, block); });
  if (auto* branches = e.get_if<typed::IfExpr>())
    for (auto& join : branches->joins)
      cx.open.settle(join.type);
  cx.open.settle(e.type);
  bool no_size = false;
  typed::each_size(e, [&](const Size& size) { no_size = no_size || size.is_too_large(); });
  for (const ExprPtr& operand : e.operands)
    no_size = no_size && !has_no_size(operand->type); // which has said so
  if (no_size) error(cx, "SizeOverflow", e.span, "a size of this is no i64");
  if (const Size* axis = too_long(e))
    error(
        cx, "SizeOverflow", e.span,
        fmt::format("an axis cannot have {} elements: there are at most {} along one", axis->constant(), kLongestAxis));
  if (e.type.is_tensor() && e.type.rank() > 0 && e.type.dtype == DType::Device)
    error(cx, "TypeMismatch", e.span, "devices do not make a tensor", "`list(…)` makes a list of them");
  if (std::string wrong = refuses_complex(e); !wrong.empty()) error(cx, "TypeMismatch", e.span, wrong);
  if (e.is<typed::InterpExpr>()) check_formats(cx, e);
  if (auto* literal = e.get_if<typed::LiteralExpr>(); literal && literal->form != LiteralForm::Value) {
    std::string problem;
    const std::string text = literal->text;
    const double written = literal->form == LiteralForm::Float ? literal->value.as<double>() : 0;
    finish_literal(*literal, e.type.dtype, problem);
    if (!problem.empty()) {
      std::string hint;
      if (std::isinf(written))
        hint = "what is infinite is `inf`";
      else if (written != 0 && e.type.dtype == DType::F32)
        hint = fmt::format("`f64({})` is a number of 64 bits", text.empty() ? source_text(cx, e.span) : text);
      error(cx, "LiteralOutOfRange", e.span, problem, hint);
    }
  }
  if (auto* call = e.get_if<typed::CallExpr>(); call && !call->instance.valid() && call->pending) {
    PendingCall& pending = cx.function->calls[*call->pending];
    for (auto& [name, type] : pending.bindings.types)
      cx.open.settle(type);
    for (auto& param : pending.bindings.params)
      cx.open.settle(param.type);
    FunctionInfo& function = *pending.function;
    Bindings bindings = pending.bindings;
    const size_t defined = pending.defined; // the reference ends here
    const bool in_const = pending.in_const;
    call->instance = instance_for(cx, function, bindings, e.span);
    if (cx.function->is_top_level) cx.instances.top_level_calls.push_back({call->instance, e.span, defined});
    if (in_const) cx.instances.const_calls.push_back({call->instance, e.span});
    call->pending.reset();
  }
}

static void finalize_pattern(Context& cx, const typed::Pattern& pattern) {
  if (pattern.var.valid()) cx.open.settle(cx.program.variables[pattern.var.index].type);
  for (const auto& element : pattern.elements)
    finalize_pattern(cx, element);
}

void finalize(Context& cx, typed::Stmt& s) {
  finalize_pattern(cx, s.pattern);
  for (auto& target : s.targets)
    cx.open.settle(target.type);
  typed::each_part_of_statement(
      s, [&](typed::Expr& part) { finalize(cx, part); }, [&](typed::Block& block) { finalize(cx, block); });
  for (auto& join : s.head)
    cx.open.settle(join.type);
  for (auto& join : s.after)
    cx.open.settle(join.type);
}

void finalize(Context& cx, typed::Block& block) {
  if (block.diverges && block.result && block.result->is<typed::UnitExpr>()) block.result = nullptr; // never there
  for (auto& s : block.statements)
    finalize(cx, s);
  if (block.result) finalize(cx, *block.result);
}

} // namespace tl::checker
