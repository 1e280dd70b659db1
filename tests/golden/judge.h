// What is wrong with a golden file, and with one run of it: each in one line.
#pragma once
#include "expectations.h"
#include "process.h"
#include <string>
#include <string_view>
#include <vector>

namespace tl::golden {

// The folders, which name the command: what a file in one is run by.
inline const std::vector<std::string> kKinds = {"lex", "parse", "check", "ir", "pass", "run", "error"};
inline bool shows_graph(std::string_view kind) { return kind == "ir" || kind == "pass"; }

// Comments that nothing would look at in a file of this kind, and a file that expects nothing: such a file would pass
// whatever tl does. `name`: of the file, without its folder.
std::vector<std::string> idle_expectations(std::string_view kind, std::string_view name, const Expectations& expected);

// Of a run. For `ir` and `pass` the output is the graph that is looked at.
std::vector<std::string> faults(std::string_view kind, std::string_view name, const Expectations& expected,
                                const Ran& ran, double seconds);

// The pass whose graph a file of kind `ir` or `pass` looks at, as `--after` names it, and whether the file says so
// itself.
std::string pass_of(std::string_view kind, const Expectations& expected);

// What `tl dump --after-all` prints, cut into graphs.
struct Graphs {
  bool found = false;
  std::string before, after; // the pass
};
Graphs graphs_around(std::string_view dump, std::string_view pass);

// What the graph that a pass made has to show, it must not show before: else the file would pass without the pass.
std::vector<std::string> faults_of_pass(const Expectations& expected, const Graphs& graphs);

// Does one of these, as `--after` names them, name the pass?
bool shows_pass(const std::vector<std::string>& shown, std::string_view pass);

// The same but for blanks, and for numbers that differ by no more than `tolerance` of the larger one.
bool are_close(const std::vector<std::string>& expected, const std::vector<std::string>& found, double tolerance);

// Where two texts differ first, and what each says there.
std::string difference(const std::vector<std::string>& expected, const std::vector<std::string>& found);
// The lines of a program's output, without blanks at their ends.
std::vector<std::string> output_lines(std::string_view out);

} // namespace tl::golden
