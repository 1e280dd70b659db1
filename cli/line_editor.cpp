#include "line_editor.h"
#include "vm/io/input_lines.h"
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <histedit.h>
#include <optional>
#include <unistd.h>

namespace tl::cli {

struct LineEditor::State {
  EditLine* editor = nullptr; // null: not a terminal
  History* history = nullptr;
  HistEvent event{};
  std::string history_file, prompt;
  std::function<std::vector<std::string>(const std::string&)> complete;

  ~State() {
    if (history && !history_file.empty()) ::history(history, &event, H_SAVE, history_file.c_str());
    if (history) history_end(history);
    if (editor) el_end(editor);
  }
};

namespace {

constexpr int kHistorySize = 2000;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':' || c == '.'; }

} // namespace

LineEditor::LineEditor(std::string history_file, std::function<std::vector<std::string>(const std::string&)> complete)
    : state_(std::make_unique<State>()) {
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return;
  state_->history_file = std::move(history_file);
  state_->complete = std::move(complete);
  EditLine* editor = state_->editor = el_init("tl", stdin, stdout, stderr);
  if (!editor) return;
  state_->history = history_init();
  ::history(state_->history, &state_->event, H_SETSIZE, kHistorySize);
  ::history(state_->history, &state_->event, H_SETUNIQUE, 1);
  if (!state_->history_file.empty()) ::history(state_->history, &state_->event, H_LOAD, state_->history_file.c_str());
  el_set(editor, EL_CLIENTDATA, state_.get());
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_HIST, ::history, state_->history);
  el_set(editor, EL_SIGNAL, 0); // Ctrl-C ends the reading
  auto prompt = [](EditLine* e) -> char* {
    void* state = nullptr;
    el_get(e, EL_CLIENTDATA, &state);
    return static_cast<State*>(state)->prompt.data();
  };
  char* (*prompt_function)(EditLine*) = prompt;
  el_set(editor, EL_PROMPT, prompt_function);
  auto complete_word = [](EditLine* e, int) -> unsigned char {
    void* data = nullptr;
    el_get(e, EL_CLIENTDATA, &data);
    auto* state = static_cast<State*>(data);
    const LineInfo* line = el_line(e);
    const char* begin = line->cursor;
    while (begin > line->buffer && is_word(begin[-1]))
      --begin;
    std::string word(begin, line->cursor);
    if (word.empty()) return el_insertstr(e, "  ") == 0 ? CC_REFRESH : CC_ERROR;
    std::vector<std::string> found = state->complete(word);
    if (found.empty()) return CC_REFRESH_BEEP;
    std::string common = found[0];
    for (const std::string& other : found) {
      auto [a, b] = std::mismatch(common.begin(), common.end(), other.begin(), other.end());
      common.erase(a, common.end());
    }
    if (common.size() > word.size())
      return el_insertstr(e, common.substr(word.size()).c_str()) == 0 ? CC_REFRESH : CC_ERROR;
    if (found.size() == 1) return CC_REFRESH_BEEP;
    std::fputc('\n', stdout);
    for (const std::string& name : found)
      std::printf("%s  ", name.c_str());
    std::fputc('\n', stdout);
    return CC_REDISPLAY;
  };
  unsigned char (*complete_function)(EditLine*, int) = complete_word;
  el_set(editor, EL_ADDFN, "tl-complete", "complete a name", complete_function);
  el_set(editor, EL_BIND, "^I", "tl-complete", nullptr);
  el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_source(editor, nullptr);
}

LineEditor::~LineEditor() = default;

bool LineEditor::edits() const { return state_->editor != nullptr; }

LineEditor::Answer LineEditor::read(const std::string& prompt, std::string& line) {
  line.clear();
  if (!state_->editor) {
    std::optional<std::string> next = next_input_line();
    line = next.value_or("");
    return next ? Answer::Line : Answer::End;
  }
  state_->prompt = prompt;
  int count = 0;
  errno = 0;
  const char* text = el_gets(state_->editor, &count);
  if (!text || count <= 0) {
    bool interrupted = errno == EINTR;
    if (interrupted) el_reset(state_->editor);
    std::fputc('\n', stdout);
    return interrupted ? Answer::Interrupted : Answer::End;
  }
  line.assign(text, static_cast<size_t>(count));
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r'))
    line.pop_back();
  return Answer::Line;
}

void LineEditor::remember(const std::string& input) {
  if (state_->history && !input.empty()) ::history(state_->history, &state_->event, H_ENTER, input.c_str());
}

} // namespace tl::cli
