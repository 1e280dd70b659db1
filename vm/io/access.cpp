#include "vm/io/access.h"
#include "vm/io/io.h"
#include <atomic>
#include <fmt/format.h>
#include <unistd.h>

namespace tl {
namespace {

std::atomic<uint64_t> limit{0}; // 0: nobody has said

uint64_t most_of_the_machine() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) / 5 * 4;
}

} // namespace

void limit_reading(uint64_t bytes) { limit = bytes; }

uint64_t reading_limit() {
  const uint64_t said = limit;
  return said ? said : most_of_the_machine();
}

void require_readable(const std::string& path, uint64_t bytes) {
  if (bytes > reading_limit())
    throw IoError(fmt::format("cannot read '{}': what it holds takes more than the memory limit of {} bytes", path,
                              reading_limit()),
                  "OutOfMemory");
}

} // namespace tl
