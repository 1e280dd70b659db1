// CUDA C++ of every kernel that the other sections compiled. All are printed; NVRTC, where it is installed, compiles a
// share of them spread evenly, or all with --full.
#include "backend/cuda/nvrtc.h"
#include "backend/cuda/print.h"
#include "sections.h"
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

namespace tl::generated {

void cuda(Tester& tester) {
  std::string why;
  const bool compiler = nvrtc_available(&why);
  const size_t count = tester.kernels().size(), wanted = tester.options.full ? count : std::min<size_t>(count, 150);
  size_t at = 0, compiled = 0;
  for (const auto& [text, kernel] : tester.kernels()) {
    const std::string name = fmt::format("cuda {}", kernel.name);
    std::string source;
    ++at;
    try {
      source = to_cuda(kernel);
    } catch (const std::exception& e) {
      tester.fail(name, e.what(), text);
      continue;
    }
    const bool chosen = at * wanted / count != (at - 1) * wanted / count;
    if (compiler && chosen) {
      ++compiled;
      NvrtcResult result = nvrtc_compile(source, kernel.name, "sm_90");
      if (!result.ok) {
        tester.fail(name, result.log, source);
        continue;
      }
    }
    tester.pass();
  }
  fmt::print("cuda: {} kernels printed, {} compiled{}\n", count, compiled, compiler ? "" : " (" + why + ")");
}

} // namespace tl::generated
