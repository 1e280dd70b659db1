// Element types that are still open: union-find over variables that literals, and builders like zeros, introduce.
// Also the last walk over a finished function, which closes them, gives literals their values and makes the instances
// of generic calls.
#include "lang/typed_walk.h"
#include "parser/check/context.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace tl::checker {

Type Checker::new_open(LiteralKind kind) {
  open_.push_back({static_cast<uint32_t>(open_.size()), std::nullopt, kind});
  Type type = Type::scalar(DType::I64);
  type.open = static_cast<uint32_t>(open_.size() - 1);
  return resolved(type);
}

uint32_t Checker::root(uint32_t var) const {
  while (open_[var].parent != var)
    var = open_[var].parent = open_[open_[var].parent].parent; // path halving
  return var;
}

// The type with what is known by now; an open one shows its default.
Type Checker::resolved(Type type) const {
  if (type.open) {
    uint32_t r = root(type.open);
    if (open_[r].fixed) {
      type.dtype = *open_[r].fixed;
      type.open = 0;
    } else {
      type.dtype = open_[r].standard();
      type.open = r;
    }
  }
  for (Type& element : type.elements)
    element = resolved(std::move(element));
  return type;
}

void Checker::settle(Type& type) {
  type = resolved(type);
  if (type.open) {
    open_[type.open].fixed = type.dtype;
    type.open = 0;
  }
  for (Type& element : type.elements)
    settle(element);
}

bool Checker::unify(const Type& left, const Type& right) {
  Type a = resolved(left), b = resolved(right);
  if (!a.open && !b.open) return a.dtype == b.dtype;
  if (a.open && b.open) {
    if (a.open == b.open) return true;
    OpenVar &x = open_[a.open], &y = open_[b.open];
    bool integer = x.integer || y.integer;
    if (integer && (x.kind == LiteralKind::Float || y.kind == LiteralKind::Float)) return false;
    x.integer = integer;
    if (y.kind == LiteralKind::Float || x.kind == LiteralKind::Int) {
      // A float literal makes integers floats; zeros stays what it is beside an integer literal.
      if (x.kind != LiteralKind::Float) x.kind = y.kind;
    }
    x.prefers_f64 = x.prefers_f64 || y.prefers_f64;
    y.parent = a.open;
    return true;
  }
  const Type& open = a.open ? a : b;
  DType fixed = a.open ? b.dtype : a.dtype;
  OpenVar& v = open_[open.open];
  bool fits = v.kind == LiteralKind::Float ? is_float(fixed)
              : v.kind == LiteralKind::Int ? is_num(fixed)
                                           : fixed != DType::Key;
  fits = fits && (!v.integer || is_int(fixed));
  if (fits) v.fixed = fixed;
  return fits;
}

void Checker::close_to(const Type& type, const Type& wanted) {
  if (type.kind != wanted.kind) return;
  if (type.is_tensor() && resolved(type).open) (void)unify(type, wanted);
  for (size_t i = 0; i < type.elements.size() && i < wanted.elements.size(); ++i)
    close_to(type.elements[i], wanted.elements[i]);
}

bool Checker::constrain_float(const Type& type) {
  Type t = resolved(type);
  if (!t.open) return is_float(t.dtype);
  if (open_[t.open].integer) return false;
  open_[t.open].kind = LiteralKind::Float;
  return true;
}

bool Checker::constrain_int(const Type& type) {
  Type t = resolved(type);
  if (!t.open) return is_int(t.dtype);
  OpenVar& v = open_[t.open];
  if (v.kind == LiteralKind::Float) return false;
  v.kind = LiteralKind::Int;
  v.integer = true;
  return true;
}

Type Checker::element_of(const Type& type) const {
  Type t = resolved(type);
  t.shape.clear();
  return t;
}

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

// A literal's node holds, until now: index 1 (integer: magnitude in literal) or 2 (float: a double there, and its
// text), flag: negative.
static void finish_literal(typed::Expr& e, std::string& problem) {
  DType type = e.type.dtype;
  bool negative = e.flag;
  if (type == DType::Bool && e.text == "builder") {
    e.literal = Scalar::of<uint8_t>(e.literal.bits != 0); // zeros and ones
  } else if (type == DType::Bool) {
    problem = "a number is not a bool";
  } else if (e.index == 1 && !is_float(type)) {
    auto magnitude = e.literal.as<uint64_t>();
    IntRange range = range_of(type);
    if (magnitude > (negative ? range.min_magnitude : range.max))
      problem = fmt::format("{}{} does not fit in {}", negative ? "-" : "", magnitude, name_of(type));
    uint64_t bits = negative ? 0 - magnitude : magnitude;
    if (size_of(type) < 8) bits &= (uint64_t{1} << (size_of(type) * 8)) - 1;
    e.literal.bits = bits;
  } else {
    double value = e.index == 1 ? static_cast<double>(e.literal.as<uint64_t>()) : e.literal.as<double>();
    if (type == DType::F64) {
      e.literal = Scalar::of(negative ? -value : value);
    } else if (type == DType::F32) {
      // From the text, so that it is rounded once.
      auto single = static_cast<float>(e.index == 1 ? static_cast<float>(e.literal.as<uint64_t>()) : value);
      if (e.index == 2 && !e.text.empty()) std::from_chars(e.text.data(), e.text.data() + e.text.size(), single);
      if (std::isinf(single) && std::isfinite(value)) problem = fmt::format("{} does not fit in f32", e.text);
      e.literal = Scalar::of(negative ? -single : single);
    } else {
      e.literal = convert_scalar(DType::F64, type, Scalar::of(negative ? -value : value));
      if (std::isinf(convert_scalar(type, DType::F64, e.literal).as<double>()) && std::isfinite(value))
        problem =
            fmt::format("{} does not fit in {}", e.text.empty() ? fmt::format("{}", value) : e.text, name_of(type));
    }
    if (e.index == 2 && std::isinf(value) && !e.text.empty() && e.text != "inf")
      problem = fmt::format("{} does not fit in {}", e.text, name_of(type));
  }
  e.index = 0;
  e.flag = false;
  e.text.clear();
}

namespace {
// One of its sizes is more than an i64 holds.
bool has_no_size(const Type& type) {
  return std::any_of(type.shape.begin(), type.shape.end(), [](const Size& s) { return s.is_too_large(); }) ||
         std::any_of(type.elements.begin(), type.elements.end(), has_no_size);
}
} // namespace

void Checker::finalize(typed::Expr& e) {
  typed::each_part(
      e, [&](typed::Expr& part) { finalize(part); }, [&](typed::Block& block) { finalize(block); });
  for (auto& join : e.joins)
    settle(join.type);
  settle(e.type);
  bool no_size = false;
  typed::each_size(e, [&](const Size& size) { no_size = no_size || size.is_too_large(); });
  for (const ExprPtr& operand : e.operands)
    no_size = no_size && !has_no_size(operand->type); // which has said so
  if (no_size) error("SizeOverflow", e.span, "a size of this is no i64");
  if (e.type.is_tensor() && e.type.rank() > 0 && e.type.dtype == DType::Device)
    error("TypeMismatch", e.span, "devices do not make a tensor", "`list(…)` makes a list of them");
  if (e.kind == ExprKind::Interp) check_formats(e);
  if (e.kind == ExprKind::Literal && e.index != 0) {
    std::string problem;
    finish_literal(e, problem);
    if (!problem.empty()) error("LiteralOutOfRange", e.span, problem);
  }
  if (e.kind == ExprKind::Call && !e.instance.valid() && e.index != 0) {
    PendingCall& pending = ctx_->calls[e.index - 1];
    for (auto& [name, type] : pending.bindings.types)
      settle(type);
    for (auto& param : pending.bindings.params)
      settle(param.type);
    FunctionInfo& function = *pending.function;
    Bindings bindings = pending.bindings;
    e.instance = instance_for(function, bindings, e.span);
    e.index = 0;
  }
}

void Checker::finalize_pattern(const typed::Pattern& pattern) {
  if (pattern.var.valid()) settle(p_.variables[pattern.var.index].type);
  for (const auto& element : pattern.elements)
    finalize_pattern(element);
}

void Checker::finalize(typed::Stmt& s) {
  finalize_pattern(s.pattern);
  for (auto& target : s.targets)
    settle(target.type);
  typed::each_part_of_statement(
      s, [&](typed::Expr& part) { finalize(part); }, [&](typed::Block& block) { finalize(block); });
  for (auto& join : s.head)
    settle(join.type);
  for (auto& join : s.after)
    settle(join.type);
}

void Checker::finalize(typed::Block& block) {
  if (block.diverges && block.result && block.result->kind == ExprKind::Unit) block.result = nullptr; // never there
  for (auto& s : block.statements)
    finalize(s);
  if (block.result) finalize(*block.result);
}

// Speculation: check something, look at the outcome, and take it back.
Snapshot Checker::snapshot() const {
  return {ctx_->reports.size(), ctx_->facts, ctx_->current, ctx_->reachable, ctx_->loops, scope_, states_.size()};
}

void Checker::rollback(const Snapshot& s) {
  ctx_->reports.resize(s.reports);
  ctx_->facts = s.facts;
  ctx_->current = s.current;
  ctx_->reachable = s.reachable;
  ctx_->loops = s.loops;
  scope_ = s.scope;
  // Instances that went wrong on the way were perhaps made for what does not hold: they are made again where needed.
  for (size_t i = s.instances; i < states_.size(); ++i) {
    InstanceState& state = states_[i];
    if (state.reports.empty() || !state.info || state.stage != InstanceState::Stage::Done) continue;
    state.reports.clear();
    state.info->instances.erase(p_.instances[i].key);
  }
}

} // namespace tl::checker
