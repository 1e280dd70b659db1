// Sums and products of sizes, with what becomes of coefficients that are no i64; for the sources of size.h.
#pragma once
#include "lang/size.h"

namespace tl {

// What becomes of coefficients that are no i64: too_large(), or what they are modulo 2**64.
enum class Coefficients : uint8_t { Exact, Wrapping };

Size sum(const Size& a, const Size& b, Coefficients how);
Size product(const Size& a, const Size& b, Coefficients how);
Size without_term(const Size& s, size_t index);

} // namespace tl
