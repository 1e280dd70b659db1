// What LAPACK's objects need of a Fortran run time, so that none is linked: neither its files nor its start-up.
#include "vm/linalg/lapack.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <stdexcept>

// LAPACK's own way to report an argument that it refuses. The arguments are ours, so that is a fault of tl.
extern "C" void xerbla_(const char* routine, const int32_t* argument, size_t length) {
  throw std::logic_error(fmt::format("LAPACK's {} refuses its argument {}", std::string(routine, length), *argument));
}

// Fortran's a // b, cut or padded with blanks to the length of the target (libgfortran's name for it).
extern "C" void _gfortran_concat_string(size_t length, char* target, size_t a_length, const char* a, size_t b_length,
                                        const char* b) {
  size_t from_a = std::min(length, a_length), from_b = std::min(length - from_a, b_length);
  std::memcpy(target, a, from_a);
  std::memcpy(target + from_a, b, from_b);
  std::memset(target + from_a + from_b, ' ', length - from_a - from_b);
}
