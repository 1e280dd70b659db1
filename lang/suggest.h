// "Did you mean": the name nearest to a misspelt one.
#pragma once
#include <string>
#include <string_view>

namespace tl {

// Insertions, deletions and replacements of a character, and exchanges of two neighbours, between two names (the
// optimal string alignment distance, Levenshtein's with transpositions).
size_t edit_distance(std::string_view a, std::string_view b);

// Keeps the nearest of the candidates: one edit off for names of up to 3 characters, two up to 6, else three.
class Nearest {
public:
  explicit Nearest(std::string name);
  void consider(const std::string& candidate);
  const std::string& best() const { return best_; } // empty: none is near

private:
  std::string name_, best_;
  size_t least_;
};

} // namespace tl
