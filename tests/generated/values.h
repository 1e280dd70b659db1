// Operands for generated programs: samples of a domain, and the values at which functions break.
#pragma once
#include "abi/tensor.h"
#include <random>
#include <vector>

namespace tl::generated {

using Random = std::mt19937_64;

// NaN, infinities, zeros, extremes, subnormals; the ends of integer types.
std::vector<Scalar> special_values(DType type);
// A value of [lo, hi], clipped to what the type holds.
Scalar sample(DType type, double lo, double hi, Random& random);
// All samples.
HostTensor samples(DType type, std::vector<int64_t> dims, double lo, double hi, Random& random);
// Special values repeated each `repeat` times (so that operands with different repeats meet in all pairs), samples
// after the first `specials` elements.
HostTensor mixed(DType type, std::vector<int64_t> dims, double lo, double hi, int64_t specials, int64_t repeat,
                 Random& random);
HostTensor scalar(DType type, Scalar value);

// A number of any type.
Scalar from_double(DType type, double value);
bool is_nan(DType type, Scalar value);

} // namespace tl::generated
