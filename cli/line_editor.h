// Whole inputs for the REPL: from a terminal, with editing and history (cli/editor), from a dumb one, or from a pipe.
#pragma once
#include "cli/editor/editor.h"
#include <atomic>
#include <functional>
#include <memory>
#include <string>

namespace tl::cli {

class LineEditor {
public:
  enum class Answer { Input, Interrupted, End };
  struct Setup {
    std::string history_file; // empty: none
    std::function<editor::Completion(const std::string& text, size_t cursor)> complete;
    const std::atomic<bool>* interrupted; // set by a signal that came from elsewhere than the keyboard
  };

  explicit LineEditor(Setup setup);
  ~LineEditor();

  bool is_terminal() const; // with prompts
  // Lines until the input can end there. End: there is no more. Of a terminal's input that is not all there when it is
  // gone nothing is given; of a pipe's, what has come.
  Answer read(std::string& input);
  // In the history. What went wrong with its file, or an empty text.
  std::string remember(const std::string& input);

private:
  struct State;
  Answer read_lines(std::string& input);
  Answer edit(std::string& input);
  void resize();

  std::unique_ptr<State> state_;
};

} // namespace tl::cli
