#include "parser/check/open_types.h"

namespace tl::checker {

Type OpenTypes::new_open(LiteralKind kind) {
  variables_.push_back({static_cast<uint32_t>(variables_.size()), std::nullopt, kind});
  Type type = Type::scalar(DType::I64);
  type.open = static_cast<uint32_t>(variables_.size() - 1);
  return resolved(type);
}

DType OpenTypes::Variable::standard() const {
  switch (kind) {
  case LiteralKind::Int: return DType::I64;
  case LiteralKind::Complex: return prefers_f64 ? DType::C128 : DType::C64;
  case LiteralKind::Float:
  case LiteralKind::Builder:
  case LiteralKind::Any: break;
  }
  return prefers_f64 ? DType::F64 : DType::F32;
}

// Can what is written so be of this type?
static bool fits(LiteralKind kind, DType type) {
  switch (kind) {
  case LiteralKind::Int: return is_num(type) || is_complex(type);
  case LiteralKind::Float: return is_float(type) || is_complex(type);
  case LiteralKind::Complex: return is_complex(type);
  case LiteralKind::Builder:
  case LiteralKind::Any: break;
  }
  return type != DType::Key;
}

bool OpenTypes::may_be(const Type& type, DType dtype) const {
  const Type now = resolved(type);
  if (!now.open) return now.dtype == dtype;
  const Variable& variable = variables_[now.open];
  return fits(variable.kind, dtype) && !(variable.integer && !is_int(dtype));
}

// What two that are one have to be: an imaginary literal makes floats complex, a float literal makes integers floats;
// zeros stays what it is beside an integer literal.
static LiteralKind both(LiteralKind a, LiteralKind b) {
  for (LiteralKind strong : {LiteralKind::Complex, LiteralKind::Float})
    if (a == strong || b == strong) return strong;
  if (a == LiteralKind::Any || b == LiteralKind::Any) return a == LiteralKind::Any ? b : a;
  return a == LiteralKind::Int ? b : a;
}

uint32_t OpenTypes::root(uint32_t variable) const {
  while (variables_[variable].parent != variable)
    variable = variables_[variable].parent = variables_[variables_[variable].parent].parent; // path halving
  return variable;
}

Type OpenTypes::resolved(Type type) const {
  if (type.open) {
    uint32_t r = root(type.open);
    if (variables_[r].fixed) {
      type.dtype = *variables_[r].fixed;
      type.open = 0;
    } else {
      type.dtype = variables_[r].standard();
      type.open = r;
    }
  }
  for (Type& element : type.elements)
    element = resolved(std::move(element));
  return type;
}

void OpenTypes::settle(Type& type) {
  if (type.open) {
    Variable& variable = variables_[root(type.open)];
    if (!variable.fixed) variable.fixed = variable.standard();
    type.dtype = *variable.fixed;
    type.open = 0;
  }
  for (Type& element : type.elements)
    settle(element);
}

bool OpenTypes::unify(const Type& left, const Type& right) {
  Type a = resolved(left), b = resolved(right);
  if (!a.open && !b.open) return a.dtype == b.dtype;
  if (a.open && b.open) {
    if (a.open == b.open) return true;
    Variable &x = variables_[a.open], &y = variables_[b.open];
    const bool integer = x.integer || y.integer;
    const LiteralKind kind = both(x.kind, y.kind);
    if (integer && (kind == LiteralKind::Float || kind == LiteralKind::Complex)) return false;
    x.integer = integer;
    x.kind = kind;
    x.prefers_f64 = x.prefers_f64 || y.prefers_f64;
    y.parent = a.open;
    return true;
  }
  const Type& open = a.open ? a : b;
  DType fixed = a.open ? b.dtype : a.dtype;
  Variable& v = variables_[open.open];
  if (!fits(v.kind, fixed) || (v.integer && !is_int(fixed))) return false;
  v.fixed = fixed;
  return true;
}

void OpenTypes::close_to(const Type& type, const Type& wanted) {
  if (type.kind != wanted.kind) return;
  if (type.is_tensor() && resolved(type).open) (void)unify(type, wanted);
  for (size_t i = 0; i < type.elements.size() && i < wanted.elements.size(); ++i)
    close_to(type.elements[i], wanted.elements[i]);
}

bool OpenTypes::constrain_float(const Type& type) {
  Type t = resolved(type);
  if (!t.open) return is_float(t.dtype);
  if (variables_[t.open].integer || variables_[t.open].kind == LiteralKind::Complex) return false;
  variables_[t.open].kind = LiteralKind::Float;
  return true;
}

bool OpenTypes::constrain_int(const Type& type) {
  Type t = resolved(type);
  if (!t.open) return is_int(t.dtype);
  Variable& v = variables_[t.open];
  if (v.kind == LiteralKind::Float || v.kind == LiteralKind::Complex) return false;
  v.kind = LiteralKind::Int;
  v.integer = true;
  return true;
}

bool OpenTypes::is_complex(const Type& type) const { return type.is_tensor() && tl::is_complex(resolved(type).dtype); }

OpenTypes::State OpenTypes::state_of(const Type& open) const {
  const uint32_t variable = root(open.open);
  return {variable, variables_[variable]};
}

void OpenTypes::restore(const State& state) { variables_[state.variable] = state.was; }

void OpenTypes::prefer_f64(const Type& type) { variables_[root(type.open)].prefers_f64 = true; }

Type OpenTypes::element_of(const Type& type) const {
  Type t = resolved(type);
  t.shape.clear();
  return t;
}

} // namespace tl::checker
