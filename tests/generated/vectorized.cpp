// Random regions as the vectorizer makes them: masks, padded and clamped reads, loops that end at different turns. That
// they mean what the regions mean is for tests/unit/passes; here every engine gives the interpreter's bits.
#include "region_case.h"
#include "sections.h"
#include <fmt/format.h>

namespace tl::generated {

void vectorized(Tester& tester) {
  const int count = tester.options.full ? 200 : 25;
  for (int i = 0; i < count; ++i) {
    const auto seed = static_cast<uint32_t>(tester.options.seed * 1000 + static_cast<uint64_t>(i));
    std::optional<ir::Module> module = test::random_region(seed, 8, i % 4 == 0).vectorized();
    if (!module) {
      tester.fail(fmt::format("vectorized {}", seed), "not vectorized");
      continue;
    }
    Random random(seed);
    std::vector<std::vector<Argument>> inputs;
    for (int64_t n : {1, 4, 9})
      inputs.push_back({samples(DType::F32, {n, 5}, -2, 2, random), samples(DType::F32, {n + 2}, -2, 2, random),
                        scalar(DType::I64, Scalar::of(n / 2))});
    tester.run(fmt::format("vectorized {}", seed), *module, inputs);
  }
}

} // namespace tl::generated
