// Lines `#>> expr`, whose value is shown beside them: where they are, the program that prints one, what it has printed.
#pragma once
#include "lsp/analysis.h"
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tl::lsp {

struct ValueLine {
  Span span; // the comment
  std::string expression;
};
std::vector<ValueLine> value_lines(const Analysis& analysis); // comments alone on their lines

// The document's text with a statement in place of the comment that prints the value between marks; at the top level
// the program ends there. Line numbers are the document's, imports are found from anywhere.
std::string program_with_value(const Analysis& analysis, const ValueLine& line);

// What lines have given, by document and expression, until the document changes. From any thread.
class Values {
public:
  void begin(const std::string& uri, const std::string& expression); // a program runs for this one
  void forget(const std::string& uri);
  void stop(); // another program runs
  // Of a line that the running program prints: does it belong to a value?
  bool take(const std::string& line);
  bool end(const std::string& how); // the program has ended; false: it was no line's
  std::optional<std::string> of(const std::string& uri, const std::string& expression) const;

private:
  struct Running {
    std::string uri, expression, value, trouble;
    bool is_inside = false;
    int times = 0;
  };
  mutable std::mutex mutex_;
  std::optional<Running> running_;
  std::map<std::pair<std::string, std::string>, std::string> found_;
};

} // namespace tl::lsp
