#include "lang/suggest.h"
#include <algorithm>
#include <vector>

namespace tl {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1); // rows i - 2, i - 1 and i
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
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
