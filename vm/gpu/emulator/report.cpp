#include "vm/gpu/emulator/report.h"
#include <cstdio>
#include <cstdlib>
#include <string>

namespace tl::emulator {

void complain(std::string_view text) {
  std::string line = "tl emulator: " + std::string(text) + "\n";
  std::fflush(stdout);
  std::fwrite(line.data(), 1, line.size(), stderr); // one call: lines of threads do not mix
}

void stop(std::string_view text) {
  complain(text);
  std::abort();
}

} // namespace tl::emulator
