#include "abi/reduce_op.h"
#include <limits>

namespace tl {

std::optional<ReduceOp> reduce_from_name(std::string_view name) {
  for (size_t i = 0; i < std::size(kReduceOps); ++i)
    if (kReduceOps[i].name == name) return static_cast<ReduceOp>(i);
  return std::nullopt;
}

static Scalar extreme(DType type, bool greatest) {
  if (type == DType::Bool) return Scalar::of(uint8_t{greatest});
  if (is_float(type)) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return convert_scalar(DType::F64, type, Scalar::of(greatest ? kInfinity : -kInfinity));
  }
  const int bits = size_of(type) * 8;
  const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1, top = uint64_t{1} << (bits - 1);
  if (is_unsigned(type)) return Scalar{greatest ? all : 0};
  return Scalar{greatest ? all & ~top : top};
}

Scalar identity_of(ReduceOp op, DType type) {
  switch (info(op).identity) {
  case ReduceOpInfo::Identity::Zero:
    return is_float(type) ? convert_scalar(DType::F64, type, Scalar::of(-0.0)) : Scalar{};
  case ReduceOpInfo::Identity::One: return convert_scalar(DType::F64, type, Scalar::of(1.0));
  case ReduceOpInfo::Identity::Least: return extreme(type, false);
  case ReduceOpInfo::Identity::Greatest: return extreme(type, true);
  }
  return {};
}

} // namespace tl
