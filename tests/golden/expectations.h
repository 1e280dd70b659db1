// What a golden file says about itself, in comments beside the lines they are about:
//
// Each is on a line of its own, but `#>`, which may follow code.
//
//   #> text         a line of the program's standard output; all of them in order are all of it
//   #! Kind: text   the next line that is no such comment has a diagnostic of this kind (whose message contains text)
//   #= WORD N       the op WORD occurs N times in the graph; `#= kernels N` counts kernels
//   #? N            the exit code
//   #% FLAGS        flags of tl itself, as in `#% --cpu-devices 4`; `#% --after PASS` says which graph is looked at
//   #: ARGS         arguments of the program; FOLDER stands for the file's own folder
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tl::golden {

struct ExpectedError {
  uint32_t line = 0; // of the diagnostic
  std::string kind, text;
};

struct ExpectedCount {
  std::string op;
  int count = 0;
};

struct Expectations {
  std::vector<std::string> output;
  std::vector<ExpectedError> errors;
  std::vector<ExpectedCount> counts;
  std::optional<int> exit_code;
  std::vector<std::string> arguments, flags;
  std::string after; // a pass, `cse:2` for its second run
};

// Throws std::runtime_error for a comment of this kind that cannot be read.
Expectations read_expectations(std::string_view text);

// The text with its `#>` comments saying `output`: what is there is rewritten in place, what is too much is removed,
// what is missing goes below the last.
std::string with_output(std::string_view text, const std::vector<std::string>& output);

std::vector<std::string> split_lines(std::string_view text);

// A diagnostic as tl prints it: `file:line:column: error[Kind]: message`.
struct Reported {
  uint32_t line = 0;
  std::string kind, message;
};
std::vector<Reported> read_diagnostics(std::string_view text);

// How often an op occurs in the text form of a graph.
int count_op(std::string_view dump, std::string_view op);

} // namespace tl::golden
