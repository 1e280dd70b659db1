// A line from a terminal, with editing and history (libedit), or from a pipe.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tl::cli {

class LineEditor {
public:
  enum class Answer { Line, Interrupted, End };

  // On a terminal, where `edits()`: with prompts, and with a history kept in `history_file` (none: an empty name).
  // `complete` gives what a word may become. Else lines come as they are.
  LineEditor(std::string history_file, std::function<std::vector<std::string>(const std::string&)> complete);
  ~LineEditor();

  bool edits() const;
  // Without the end of the line. Interrupted: Ctrl-C was pressed at the prompt.
  Answer read(const std::string& prompt, std::string& line);
  void remember(const std::string& input); // in the history

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tl::cli
