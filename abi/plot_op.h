// What the module plot draws; `vm/plot` does it, for both engines.
#pragma once
#include <cstdint>
#include <string_view>

namespace tl {

// Line:    [x: f64[n],] y: f64[n]…      (each y has n where there is x)
// Scatter: x: f64[n], y: f64[n]
// Hist:    x: f64[n], bins: i64
// Image:   u8 or f64, [h, w], [h, w, 3] or [h, w, 4]
enum class PlotKind : uint8_t { Line, Scatter, Hist, Image };
constexpr int kPlotKindCount = 4;
constexpr std::string_view name_of(PlotKind kind) {
  constexpr std::string_view names[kPlotKindCount] = {"line", "scatter", "hist", "image"};
  return names[static_cast<int>(kind)];
}

} // namespace tl
