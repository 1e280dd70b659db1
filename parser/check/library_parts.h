// The standard library, as much of it as a program can reach.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tl {

// Texts of library files without every function, struct and constant whose name occurs neither in `program` (the texts
// of the program's own files) nor in a declaration that is kept, and without the comments between declarations: what is
// left keeps its lines. Words are all that is looked at, so too much may be kept, but never too
// little. A declaration of a library file begins at the start of a line, and what continues it does not (as `tl fmt`
// writes it); other statements are kept. `names` are the library's modules: one that no word names is empty.
struct LibraryFile {
  std::string name; // of the module: "prelude", which is always there, or "nn"
  std::string_view text;
};
std::vector<std::string> reachable_parts(const std::vector<std::string_view>& program,
                                         const std::vector<LibraryFile>& library);

// Built-in functions whose work, of some arguments, a function of the library does, or whose result is its struct.
constexpr std::pair<std::string_view, std::string_view> kWrittenInLibrary[] = {
    {"gather", "gather_parts"},       {"all_reduce", "sum_on_each"},
    {"data_parallel", "run_on_each"}, {"data_parallel", "run_on_ranks"},
    {"read_table", "Texts"},          {"read_table", "Times"},
    {"read_table", "shown"},          {"print", "shown"},
    {"read_table", "shown_text"},     {"print", "shown_text"},
    {"read_table", "shown_time"},     {"print", "shown_time"},
    {"export", "complex_of_pairs"},   {"export", "complex_pairs"}};

} // namespace tl
