#include "vm/nan_check.h"
#include "vm/interpreter.h"
#include <cmath>
#include <fmt/format.h>

namespace tl {

template <class T, class IsNan> static int64_t find(const std::byte* data, int64_t count, IsNan is_nan) {
  for (int64_t k = 0; k < count; ++k) {
    T x;
    std::memcpy(&x, data + k * static_cast<int64_t>(sizeof x), sizeof x);
    if (is_nan(x)) return k;
  }
  return -1;
}

int64_t first_nan(DType type, const std::byte* data, int64_t count) {
  switch (type) {
  case DType::F64: return find<double>(data, count, [](double x) { return std::isnan(x); });
  case DType::F32: return find<float>(data, count, [](float x) { return std::isnan(x); });
  case DType::F16: return find<uint16_t>(data, count, [](uint16_t x) { return (x & 0x7FFF) > 0x7C00; });
  case DType::BF16: return find<uint16_t>(data, count, [](uint16_t x) { return (x & 0x7FFF) > 0x7F80; });
  default: return -1;
  }
}

int64_t Interpreter::nan_in(const Value& v) {
  if (v.kind == Value::Kind::Scalar)
    return v.failure ? -1 : first_nan(v.dtype, reinterpret_cast<const std::byte*>(&v.scalar.bits), 1);
  if (v.kind != Value::Kind::Tensor) return -1;
  const Value here = readable(v, 0);
  engine_.wait(here.node);
  auto count = v.dims.count();
  return here.node->failure || !count ? -1 : first_nan(v.dtype, here.node->data + here.offset, *count);
}

void Interpreter::stop_at_nan(const Value& made, const Instruction& i) {
  int64_t at = nan_in(made);
  if (at < 0) return;
  std::string message = "this is NaN, and no operand is";
  if (auto dims = made.dims.view(); made.kind == Value::Kind::Tensor && !dims.empty()) {
    std::string index;
    for (size_t axis = dims.size(); axis-- > 0; at /= dims[axis])
      index = fmt::format("{}{}{}", at % dims[axis], index.empty() ? "" : ", ", index);
    message = fmt::format("element [{}] of {} is NaN, and no operand is", index, type_text(made.dtype, dims));
  }
  RuntimeError error{"NotANumber", std::move(message), "", i.loc, 3, {}};
  Engine::add_calls(error, call_chain());
  stop(fail(std::move(error)));
}

} // namespace tl
