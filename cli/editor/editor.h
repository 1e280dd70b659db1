// The editor behind the prompt: keys come in, the text and its cursor change. It knows no terminal.
#pragma once
#include "cli/editor/block.h"
#include "cli/editor/history.h"
#include "cli/editor/keys.h"
#include "cli/editor/picture.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tl::editor {

// What the text from `begin` to the cursor may become.
struct Completion {
  size_t begin = 0;
  std::vector<std::string> texts; // in the order in which they are shown
};

struct Language {
  std::function<bool(const std::string& text)> is_incomplete; // do more lines belong to it?
  std::function<Completion(const std::string& text, size_t cursor)> complete;
};

struct Look {
  std::string prompt = "> ", continuation = ". ";
  std::string colour; // of the prompts; empty: none
};

class Editor {
public:
  enum class Outcome {
    Goes,        // the text is being edited
    Beep,        // nothing could be done
    Entered,     // Enter, on a text that is complete, or whose last line was left empty
    Interrupted, // Ctrl-C
    Ended,       // Ctrl-D on an empty text, or the terminal is gone
    Clear,       // the screen is to be cleared
    Suspend,     // the process is to be stopped
  };

  Editor(Language language, Look look, History& history)
      : language_(std::move(language)), look_(std::move(look)), history_(history) {}

  void begin(); // with an empty text
  Outcome press(const Key& key);
  const std::string& text() const { return block_.text(); }
  size_t cursor() const { return block_.cursor(); }
  // `rows`: of the terminal, which the names that a Tab lists must fit in.
  Picture picture(size_t columns, size_t rows) const;

private:
  Outcome edit(const Key& key);
  Outcome enter();
  Outcome complete();
  Outcome kill(size_t to, bool before_cursor);
  Outcome type(const std::string& character);
  void start_line();
  bool older();
  bool newer();
  void recall(std::optional<size_t> entry);

  struct Search {
    std::string wanted;
    std::optional<size_t> found; // an entry
    bool failed = false;
    std::string text; // before it began
    size_t cursor = 0;
  };
  std::optional<Outcome> search(const Key& key); // nothing: the search has ended, and the key is for the text
  bool find(bool older, bool also_here);
  void show_found();

  Language language_;
  Look look_;
  History& history_;
  Block block_;
  std::string cut_;         // what Yank inserts
  bool may_append_ = false; // was the last key one that cut something out? Then this one adds to it
  bool cuts_ = false;
  std::vector<std::string> listed_; // by Tab
  // Where in the history: an entry, the text that was there before, and what the entries that are gone through begin
  // with.
  std::optional<size_t> entry_;
  std::string draft_, prefix_;
  std::optional<Search> search_;
};

} // namespace tl::editor
