// The reader of compiled programs (abi/program/program_file.h): broken bytes are refused. (What they say is
// believed: the machine code beside them is too.)
#include "abi/program/program_file.h"
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t alignment = 64;
  auto* bytes = static_cast<std::byte*>(std::aligned_alloc(alignment, (size / alignment + 1) * alignment));
  if (size != 0) std::memcpy(bytes, data, size);
  try {
    tl::read_program({bytes, size});
  } catch (const std::runtime_error&) {
  }
  std::free(bytes);
  return 0;
}
