// A region once for every position, by the interpreter, against the region vectorized.
#pragma once
#include "bytecode_machine.h"
#include "region_case.h"

namespace tl::test {

inline Outcome run(const ir::Module& module, const std::vector<Argument>& arguments) {
  return ir::interpret(module, arguments, [](std::string_view) {});
}

// Both ways, to the bit; with `passes`, the vectorized graph through all passes too. `sizes`: of the batch. Gives the
// vectorized module.
inline ir::Module same_vectorized(const RegionCase& region, const std::vector<int64_t>& sizes,
                                  const std::vector<Argument>& arguments, bool passes = true) {
  ir::Module unrolled = region.unrolled(sizes);
  require_sound(region.unrolled(std::vector<int64_t>(sizes.size(), 1)), "one position");
  std::optional<ir::Module> vectorized = region.vectorized();
  REQUIRE_MESSAGE(vectorized, ir::to_text(region.module));
  require_sound(*vectorized, "vectorized");
  const std::string text = ir::to_text(*vectorized);
  CAPTURE(text);
  const Outcome expected = run(unrolled, arguments), got = run(*vectorized, arguments);
  const std::string message = got.error ? got.error->message : expected.error ? expected.error->message : "";
  CAPTURE(message);
  REQUIRE(got.error.has_value() == expected.error.has_value());
  if (passes && !got.error) {
    ir::Module after = optimised(*vectorized, arguments);
    CHECK(by_bytecode(after, arguments) == interpreted(*vectorized, arguments));
  }
  if (got.error) return *vectorized;
  const size_t yields = got.results.size();
  size_t count = 1;
  for (int64_t n : sizes)
    count *= static_cast<size_t>(n);
  REQUIRE(expected.results.size() == count * yields);
  for (size_t k = 0; k < yields; ++k) {
    const HostTensor& whole = std::get<HostTensor>(got.results[k]);
    for (size_t p = 0; p < count; ++p) {
      const HostTensor& part = std::get<HostTensor>(expected.results[p * yields + k]);
      std::vector<int64_t> dims = sizes;
      dims.insert(dims.end(), part.dims.begin(), part.dims.end());
      REQUIRE(whole.dims == dims);
      for (int64_t e = 0; e < part.count(); ++e) {
        CAPTURE(p);
        CAPTURE(e);
        REQUIRE(whole.get(static_cast<int64_t>(p) * part.count() + e).bits == part.get(e).bits);
      }
    }
  }
  return *vectorized;
}

} // namespace tl::test
