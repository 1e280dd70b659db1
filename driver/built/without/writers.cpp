// Stands in for what vm/io writes in executables of programs that save no tensors.
#include "vm/io/io.h"
#include <cstdlib>

namespace tl {

void save_tensors(const std::string&, std::span<const NamedTensor>) { std::abort(); }
void save_tensor(const std::string&, const HostTensor&) { std::abort(); }
void require_known_ending(const std::string&) { std::abort(); }

} // namespace tl
