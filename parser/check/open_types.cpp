#include "parser/check/open_types.h"

namespace tl::checker {

Type OpenTypes::new_open(LiteralKind kind) {
  variables_.push_back({static_cast<uint32_t>(variables_.size()), std::nullopt, kind});
  Type type = Type::scalar(DType::I64);
  type.open = static_cast<uint32_t>(variables_.size() - 1);
  return resolved(type);
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
  type = resolved(type);
  if (type.open) {
    variables_[type.open].fixed = type.dtype;
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
  Variable& v = variables_[open.open];
  bool fits = v.kind == LiteralKind::Float ? is_float(fixed)
              : v.kind == LiteralKind::Int ? is_num(fixed)
                                           : fixed != DType::Key;
  fits = fits && (!v.integer || is_int(fixed));
  if (fits) v.fixed = fixed;
  return fits;
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
  if (variables_[t.open].integer) return false;
  variables_[t.open].kind = LiteralKind::Float;
  return true;
}

bool OpenTypes::constrain_int(const Type& type) {
  Type t = resolved(type);
  if (!t.open) return is_int(t.dtype);
  Variable& v = variables_[t.open];
  if (v.kind == LiteralKind::Float) return false;
  v.kind = LiteralKind::Int;
  v.integer = true;
  return true;
}

void OpenTypes::prefer_f64(const Type& type) { variables_[root(type.open)].prefers_f64 = true; }

Type OpenTypes::element_of(const Type& type) const {
  Type t = resolved(type);
  t.shape.clear();
  return t;
}

} // namespace tl::checker
