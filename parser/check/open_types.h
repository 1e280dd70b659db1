// Element types that are still open. A literal, and a builder such as `zeros`, introduces a variable for its element
// type; what the value meets decides it, by union-find, or its default does (docs: `i64`, `f32`).
#pragma once
#include "lang/type.h"
#include <optional>
#include <vector>

namespace tl::checker {

enum class LiteralKind : uint8_t {
  Int,     // may become any number; i64 if nothing wants it
  Float,   // may become any float or complex number; f32
  Complex, // imaginary: may become any complex number; c64
  Builder, // zeros, ones: any element type; f32
  Any,     // a type parameter of a struct: what its fields are; f32
};

// The variables that Type::open numbers; 0 is none.
class OpenTypes {
public:
  // A scalar type of a new variable.
  Type new_open(LiteralKind kind);
  // The type with what is known by now; an open one shows its default.
  Type resolved(Type type) const;
  // Closes the type by its default.
  void settle(Type& type);
  // Are its elements of this type, or may what is open become that?
  bool may_be(const Type& type, DType dtype) const;
  // Is it a complex number, whatever else may still become of it?
  bool is_complex(const Type& type) const;
  // Makes the element types of the two one, and says whether they can be. Shapes are not looked at.
  bool unify(const Type& a, const Type& b);
  // Element types of `type` that are still open become those of `wanted`, where these fit.
  void close_to(const Type& type, const Type& wanted);
  // It has to be a float (an integer); false where it cannot be.
  bool constrain_float(const Type& type);
  bool constrain_int(const Type& type);
  // It is converted to f64 somewhere: what nothing decides is f64 then, not f32.
  void prefer_f64(const Type& type);
  // The element type as a scalar type.
  Type element_of(const Type& type) const;
  // What is known of an open type now, and back to that: what has become of it since then is forgotten.
  struct State;
  State state_of(const Type& open) const;
  void restore(const State& state);
  LiteralKind kind_of(const Type& open) const { return variables_[root(open.open)].kind; }

private:
  struct Variable {
    uint32_t parent = 0;
    std::optional<DType> fixed;
    LiteralKind kind = LiteralKind::Int;
    bool integer = false; // no literal may make it a float
    bool prefers_f64 = false;
    DType standard() const;
  };
  uint32_t root(uint32_t variable) const;
  mutable std::vector<Variable> variables_{1}; // paths to roots get shorter when they are asked for
};

struct OpenTypes::State {
  uint32_t variable = 0;
  Variable was;
};

} // namespace tl::checker
