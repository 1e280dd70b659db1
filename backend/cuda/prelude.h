// The CUDA C++ that comes before every generated kernel: no header needed.
#pragma once
#include <string_view>

namespace tl {

extern const std::string_view kCudaPrelude;

} // namespace tl
