// One layer of a panel, from its description and its numbers.
#pragma once
#include "vm/plot/description.h"
#include "vm/plot/figure.h"

namespace tl::plot {

// The numbers of all layers, taken from the front.
class Numbers {
public:
  explicit Numbers(const HostTensor& all) : all_(all) {}
  // Throws IoError where there are no more so many.
  std::vector<double> take(int64_t count);

private:
  const HostTensor& all_;
  int64_t next_ = 0;
};

// What a panel's layers have in common.
struct Shared {
  std::vector<std::string> categories; // of the x axis
  size_t bars = 0, bar = 0;            // how many layers of bars there are, and how many of them have been drawn
  size_t histograms = 0;
  bool has_time = false, goes_down = false; // of the axes
  Range numbers;                            // with colours
};

ColourMap colour_map_of(const Properties& properties);
Layer make_layer(const LayerText& text, Numbers& numbers, size_t index, Shared& shared);
// Bars of how many numbers lie in each interval. Without a range it is that of the numbers.
std::vector<Box> histogram(const std::vector<double>& values, int64_t bins,
                           std::optional<std::pair<double, double>> range, bool density);

} // namespace tl::plot
