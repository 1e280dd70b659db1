// A program of what was entered at a prompt, piece by piece.
#pragma once
#include <string>
#include <vector>

namespace tl::cli {

struct EnteredPiece {
  std::string key; // of :load: a file's, whose later text replaces its earlier one
  std::string text;
  bool shows = false; // its last statement is a value that was only shown
};

// Values that were only shown become comments. Of functions and structs that were declared again the last stays, since
// a program has each name once.
std::string saved_program(const std::vector<EnteredPiece>& pieces);

} // namespace tl::cli
