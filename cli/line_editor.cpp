#include "line_editor.h"
#include "cli/editor/terminal.h"
#include "parser/syntax/cursor.h"
#include "parser/syntax/parse.h"
#include "vm/io/input_lines.h"
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <optional>
#include <unistd.h>

namespace tl::cli {
namespace {

using editor::Byte;
using editor::Editor;

constexpr std::string_view kBlank = " \t\r\n";
constexpr const char *kPrompt = "tl> ", *kContinuation = "  > ", *kPromptColour = "\x1b[1;32m";

bool is_blank(std::string_view text) { return text.find_first_not_of(kBlank) == std::string_view::npos; }
bool is_command(std::string_view text) { return !is_blank(text) && text[text.find_first_not_of(kBlank)] == ':'; }

// Comments and blank lines alone, of which nothing goes on.
bool is_comment(std::string_view input) {
  for (size_t begin = 0; begin < input.size();) {
    const size_t end = std::min(input.find('\n', begin), input.size());
    const std::string_view line = input.substr(begin, end - begin);
    if (!is_blank(line) && line[line.find_first_not_of(kBlank)] != '#') return false;
    begin = end + 1;
  }
  return true;
}

// In a text that came as a whole the next line, past comments and blank ones, may begin with `.name` or `else`. What
// has not arrived is not waited for: somebody may be waiting for an answer to what has.
bool goes_on() {
  for (size_t ahead = 0;; ++ahead) {
    std::optional<std::string> line = arrived_input_line(ahead);
    if (!line) return false;
    if (is_blank(*line)) continue;
    const std::string text = line->substr(line->find_first_not_of(kBlank));
    if (text[0] == '#') continue;
    return (text.size() > 1 && text[0] == '.' && is_word(text[1]) && !std::isdigit(text[1])) ||
           (text.rfind("else", 0) == 0 && (text.size() == 4 || !is_word(text[4])));
  }
}

bool wants_more(const std::string& text) {
  if (is_blank(text)) return false;
  return !is_command(text) && (is_incomplete(text) || (!is_comment(text) && goes_on()));
}

constexpr int kLook = 500; // milliseconds after which flags that signals set are looked at, whatever else happens

Byte next_byte(int milliseconds) {
  switch (wait_for_input(milliseconds < 0 ? kLook : milliseconds)) {
  case InputState::Ready: return {Byte::Kind::Value, next_input_byte()};
  case InputState::Late: return {milliseconds < 0 ? Byte::Kind::Wake : Byte::Kind::Late, 0};
  case InputState::Signal: return {Byte::Kind::Wake, 0};
  case InputState::End: break;
  }
  return {Byte::Kind::End, 0};
}

} // namespace

struct LineEditor::State {
  Setup setup;
  editor::History history;
  std::optional<editor::Terminal> terminal; // none: lines come as they are
  editor::KeyReader keys{next_byte};
  Editor editor;
  bool is_terminal;
  editor::TerminalSize size; // that the picture was drawn for

  State(Setup given, bool at_terminal)
      : setup(std::move(given)), history(at_terminal ? setup.history_file : ""),
        editor({wants_more, setup.complete},
               {kPrompt, kContinuation, editor::has_colours(STDOUT_FILENO) ? kPromptColour : ""}, history),
        is_terminal(at_terminal) {
    if (at_terminal && editor::has_escapes()) terminal.emplace();
  }
};

LineEditor::LineEditor(Setup setup)
    : state_(std::make_unique<State>(std::move(setup), isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))) {}
LineEditor::~LineEditor() = default;

bool LineEditor::is_terminal() const { return state_->is_terminal; }

std::string LineEditor::remember(const std::string& input) {
  return state_->is_terminal ? state_->history.add(input) : "";
}

LineEditor::Answer LineEditor::read(std::string& input) {
  if (!state_->terminal || !state_->terminal->enter()) return read_lines(input);
  const Answer answer = edit(input);
  state_->terminal->leave();
  return answer;
}

// An empty line ends an input at a terminal, whatever is open in it.
LineEditor::Answer LineEditor::read_lines(std::string& input) {
  input.clear();
  while (true) {
    const bool is_first = input.empty();
    if (is_terminal()) {
      std::fputs(is_first ? kPrompt : kContinuation, stdout);
      std::fflush(stdout);
    }
    const std::optional<std::string> line = next_input_line();
    if (!line) {
      if (is_terminal()) std::fputc('\n', stdout);
      if (state_->setup.interrupted->load()) return Answer::Interrupted;
      return is_first || is_terminal() ? Answer::End : Answer::Input;
    }
    if (is_first && is_blank(*line)) continue;
    input += (is_first ? "" : "\n") + *line;
    const bool gives_up = is_terminal() && !is_first && is_blank(*line);
    if (gives_up || !wants_more(input)) return Answer::Input;
  }
}

LineEditor::Answer LineEditor::edit(std::string& input) {
  State& s = *state_;
  auto picture = [&] { return s.editor.picture(s.size.columns, s.size.rows); };
  s.editor.begin();
  s.terminal->forget();
  s.size = editor::terminal_size();
  (void)s.terminal->take_resized();
  s.terminal->draw(picture());
  while (true) {
    editor::Key key = s.keys.next();
    if (key.name == editor::KeyName::Wake && s.setup.interrupted->load()) key.name = editor::KeyName::Interrupt;
    const bool is_late = key.name == editor::KeyName::Wake;
    if (s.terminal->take_resized() || editor::terminal_size() != s.size) // the signal may be late
      resize();
    else if (is_late)
      continue;
    const Editor::Outcome outcome = s.editor.press(key);
    switch (outcome) {
    case Editor::Outcome::Goes: break;
    case Editor::Outcome::Beep: s.terminal->beep(); break;
    case Editor::Outcome::Clear: s.terminal->clear_screen(); break;
    case Editor::Outcome::Suspend:
      s.terminal->finish(picture());
      s.terminal->stop();
      break;
    case Editor::Outcome::Entered:
      s.terminal->finish(picture());
      input = s.editor.text();
      if (!is_blank(input)) return Answer::Input;
      s.editor.begin();
      break;
    case Editor::Outcome::Interrupted: s.terminal->finish(picture()); return Answer::Interrupted;
    case Editor::Outcome::Ended: s.terminal->finish(picture()); return Answer::End;
    }
    if (wait_for_input(0) != InputState::Ready) s.terminal->draw(picture()); // what is pasted is drawn once
  }
}

// The terminal has broken the rows that go on anew, and has the cursor where it was in the text.
void LineEditor::resize() {
  State& s = *state_;
  s.size = editor::terminal_size();
  s.terminal->redraw_from(s.editor.picture(s.size.columns, s.size.rows).cursor_row);
}

} // namespace tl::cli
