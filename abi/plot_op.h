// What the module plot draws; `vm/plot` does it, for both engines.
#pragma once
#include <cstdint>
#include <string_view>

namespace tl {

// Line:      [x: f64[n],] y: f64[n]…      (each y has n where there is x)
// Described: f64[n], the numbers of all layers, one after the other
// Image:     u8 or f64, [h, w], [h, w, 3] or [h, w, 4]
// Each comes with a description, a sequence of properties: a key, kKeyEnd, a value, kValueEnd. vm/plot/description.cpp
// says which there are.
enum class PlotKind : uint8_t { Line, Described, Image };
constexpr int kPlotKindCount = 3;
constexpr char kKeyEnd = '\x1f', kValueEnd = '\x1e';
constexpr std::string_view name_of(PlotKind kind) {
  constexpr std::string_view names[kPlotKindCount] = {"line", "described", "image"};
  return names[static_cast<int>(kind)];
}

} // namespace tl
