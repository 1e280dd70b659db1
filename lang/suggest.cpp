#include "lang/suggest.h"
#include <algorithm>
#include <vector>

namespace tl {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

Nearest::Nearest(std::string name)
    : name_(std::move(name)), least_(name_.size() <= 3   ? 2
                                     : name_.size() <= 6 ? 3
                                                         : 4) {}

void Nearest::consider(const std::string& candidate) {
  size_t distance = edit_distance(name_, candidate);
  if (distance >= least_ || distance >= candidate.size() || candidate == name_) return;
  best_ = candidate;
  least_ = distance;
}

} // namespace tl
