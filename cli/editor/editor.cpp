#include "cli/editor/editor.h"
#include "cli/editor/characters.h"
#include "cli/editor/indent.h"
#include <algorithm>

namespace tl::editor {
namespace {

constexpr std::string_view kBlank = " \t\n";

Editor::Outcome done(bool something) { return something ? Editor::Outcome::Goes : Editor::Outcome::Beep; }

std::string common_beginning(const std::vector<std::string>& texts) {
  std::string common = texts[0];
  for (const std::string& other : texts) {
    auto [a, b] = std::mismatch(common.begin(), common.end(), other.begin(), other.end());
    common.erase(a, common.end());
  }
  if (common.size() < texts[0].size()) // names may differ inside a character
    while (!common.empty() && (static_cast<unsigned char>(texts[0][common.size()]) & 0xc0) == 0x80)
      common.pop_back();
  return common;
}

} // namespace

void Editor::begin() {
  block_.clear();
  listed_.clear();
  entry_.reset();
  search_.reset();
  cuts_ = false;
}

Editor::Outcome Editor::press(const Key& key) {
  if (key.name == KeyName::Wake || key.name == KeyName::Nothing) return Outcome::Goes;
  if (key.name == KeyName::End) return Outcome::Ended;
  listed_.clear();
  if (search_)
    if (auto outcome = search(key)) return *outcome;
  may_append_ = cuts_;
  cuts_ = false;
  const Outcome outcome = edit(key);
  const bool in_history =
      key.name == KeyName::Up || key.name == KeyName::Down || key.name == KeyName::Older || key.name == KeyName::Newer;
  if (!in_history) entry_.reset(); // going through the history begins anew
  return outcome;
}

Editor::Outcome Editor::edit(const Key& key) {
  switch (key.name) {
  case KeyName::Text: return type(key.text);
  case KeyName::Paste:
    if (!key.text.empty()) block_.insert(key.text);
    return Outcome::Goes;
  case KeyName::Enter: return enter();
  case KeyName::NewLine: start_line(); return Outcome::Goes;
  case KeyName::Tab: return complete();
  case KeyName::Backspace: return done(block_.erase_left());
  case KeyName::Delete: return done(block_.erase_right());
  case KeyName::DeleteOrEnd:
    if (block_.text().empty()) return Outcome::Ended;
    return done(block_.erase_right());
  case KeyName::Left: return done(block_.left());
  case KeyName::Right: return done(block_.right());
  case KeyName::WordLeft: return done(block_.word_left());
  case KeyName::WordRight: return done(block_.word_right());
  case KeyName::LineBegin: block_.move_to(block_.line_begin()); return Outcome::Goes;
  case KeyName::LineEnd: block_.move_to(block_.line_end()); return Outcome::Goes;
  case KeyName::TextBegin: block_.move_to(0); return Outcome::Goes;
  case KeyName::TextEnd: block_.move_to(block_.text().size()); return Outcome::Goes;
  case KeyName::Up: return done(block_.up() || older());
  case KeyName::Down: return done(block_.down() || newer());
  case KeyName::Older: return done(older());
  case KeyName::Newer: return done(newer());
  case KeyName::KillWordLeft: return kill(block_.word_left_of_cursor(), true);
  case KeyName::KillWordRight: return kill(block_.word_right_of_cursor(), false);
  case KeyName::KillToBegin: return kill(block_.line_begin(), true);
  case KeyName::KillToEnd: {
    const bool at_end = block_.cursor() == block_.line_end() && block_.cursor() < block_.text().size();
    return kill(at_end ? block_.cursor() + 1 : block_.line_end(), false); // the line's end itself
  }
  case KeyName::Yank:
    if (cut_.empty()) return Outcome::Beep;
    block_.insert(cut_);
    return Outcome::Goes;
  case KeyName::Transpose: return done(block_.transpose());
  case KeyName::Undo: return done(block_.undo());
  case KeyName::Redo: return done(block_.redo());
  case KeyName::SearchOlder:
  case KeyName::SearchNewer: search_ = Search{{}, {}, false, block_.text(), block_.cursor()}; return Outcome::Goes;
  case KeyName::Clear: return Outcome::Clear;
  case KeyName::Interrupt: return Outcome::Interrupted;
  case KeyName::Suspend: return Outcome::Suspend;
  case KeyName::Cancel:
  case KeyName::Nothing:
  case KeyName::Wake: return Outcome::Goes;
  case KeyName::End: break;
  }
  return Outcome::Ended;
}

// A bracket that closes, first on its line, stands below the line that it closes.
Editor::Outcome Editor::type(const std::string& character) {
  const bool closes = character == ")" || character == "]" || character == "}";
  const size_t begin = block_.line_begin();
  const std::string_view before = std::string_view(block_.text()).substr(begin, block_.cursor() - begin);
  if (closes && !before.empty() && before.find_first_not_of(' ') == std::string_view::npos) {
    const std::string blanks(indentation_of_closing(std::string_view(block_.text()).substr(0, begin)), ' ');
    block_.replace(begin, block_.cursor(), blanks + character);
  } else {
    block_.type(character);
  }
  return Outcome::Goes;
}

void Editor::start_line() {
  const std::string_view before = std::string_view(block_.text()).substr(0, block_.cursor());
  const std::string blanks(indentation_after(before), ' ');
  const size_t end = block_.text().find_first_not_of(' ', block_.cursor()); // blanks here would be added to them
  block_.replace(block_.cursor(), std::min(end, block_.text().size()), "\n" + blanks);
}

// An empty last line ends a text of several lines, whatever is open in it.
Editor::Outcome Editor::enter() {
  const std::string& text = block_.text();
  const size_t last = text.rfind('\n');
  const bool gives_up = last != std::string::npos && block_.is_on_last_line() &&
                        text.find_first_not_of(kBlank, last) == std::string::npos;
  if (!gives_up && language_.is_incomplete(text)) {
    start_line();
    return Outcome::Goes;
  }
  block_.move_to(text.size());
  return Outcome::Entered;
}

Editor::Outcome Editor::complete() {
  const size_t begin = block_.line_begin();
  const std::string_view before = std::string_view(block_.text()).substr(begin, block_.cursor() - begin);
  if (before.find_first_not_of(kBlank) == std::string_view::npos) {
    block_.insert("  ");
    return Outcome::Goes;
  }
  const Completion completion = language_.complete(block_.text(), block_.cursor());
  if (completion.texts.empty()) return Outcome::Beep;
  const std::string common = common_beginning(completion.texts);
  const std::string word = block_.text().substr(completion.begin, block_.cursor() - completion.begin);
  if (common != word && common.size() >= word.size()) {
    block_.replace(completion.begin, block_.cursor(), common);
    return Outcome::Goes;
  }
  if (completion.texts.size() == 1) return Outcome::Beep;
  listed_ = completion.texts;
  return Outcome::Goes;
}

// What is cut out one after the other is one text for Yank.
Editor::Outcome Editor::kill(size_t to, bool before_cursor) {
  std::string cut = block_.cut_to(to);
  if (cut.empty()) return Outcome::Beep;
  if (!may_append_) cut_.clear();
  cut_ = before_cursor ? cut + cut_ : cut_ + cut;
  cuts_ = true;
  return Outcome::Goes;
}

// ---- the history

bool Editor::older() {
  if (!entry_) {
    draft_ = block_.text();
    prefix_ = draft_.substr(0, block_.cursor());
  }
  const std::vector<std::string>& entries = history_.entries();
  for (size_t i = entry_.value_or(entries.size()); i-- > 0;)
    if (entries[i].starts_with(prefix_) && entries[i] != block_.text()) {
      recall(i);
      return true;
    }
  return false;
}

bool Editor::newer() {
  if (!entry_) return false;
  const std::vector<std::string>& entries = history_.entries();
  for (size_t i = *entry_ + 1; i < entries.size(); ++i)
    if (entries[i].starts_with(prefix_) && entries[i] != block_.text()) {
      recall(i);
      return true;
    }
  recall(std::nullopt);
  return true;
}

void Editor::recall(std::optional<size_t> entry) {
  block_.set(entry ? history_.entries()[*entry] : draft_);
  entry_ = entry;
}

// ---- search in the history

// From the entry that was found, or the newest one; `also_here`: that one itself may be it.
bool Editor::find(bool older, bool also_here) {
  const std::vector<std::string>& entries = history_.entries();
  const auto count = static_cast<std::ptrdiff_t>(entries.size());
  std::ptrdiff_t at = search_->found ? static_cast<std::ptrdiff_t>(*search_->found) : count;
  if (!also_here || at == count) at += older ? -1 : 1;
  const std::string here = search_->found ? entries[*search_->found] : "";
  for (; at >= 0 && at < count; at += older ? -1 : 1) {
    const std::string& entry = entries[static_cast<size_t>(at)];
    if (entry.find(search_->wanted) == std::string::npos || (!also_here && entry == here)) continue;
    search_->found = static_cast<size_t>(at);
    search_->failed = false;
    return true;
  }
  search_->failed = true;
  return false;
}

void Editor::show_found() {
  const std::string& entry = history_.entries()[*search_->found];
  if (block_.text() != entry) block_.set(entry);
  block_.move_to(entry.find(search_->wanted));
}

std::optional<Editor::Outcome> Editor::search(const Key& key) {
  auto found = [&](bool something) {
    if (something) show_found();
    return done(something);
  };
  switch (key.name) {
  case KeyName::Text:
  case KeyName::Paste: search_->wanted += key.text; return found(find(true, true));
  case KeyName::Backspace:
    if (search_->wanted.empty()) return Outcome::Beep;
    search_->wanted.erase(cluster_before(search_->wanted, search_->wanted.size()));
    search_->found.reset();
    if (search_->wanted.empty()) {
      search_->failed = false;
      block_.set(search_->text);
      block_.move_to(search_->cursor);
      return Outcome::Goes;
    }
    return found(find(true, true));
  case KeyName::SearchOlder:
  case KeyName::SearchNewer:
    if (search_->wanted.empty()) return Outcome::Beep;
    return found(find(key.name == KeyName::SearchOlder, false));
  case KeyName::Interrupt:
  case KeyName::Cancel:
    if (block_.text() != search_->text) block_.set(search_->text);
    block_.move_to(search_->cursor);
    search_.reset();
    return Outcome::Goes;
  case KeyName::Clear: return Outcome::Clear;
  case KeyName::Suspend: return Outcome::Suspend;
  default: search_.reset(); return std::nullopt;
  }
}

// ---- what it looks like

Picture Editor::picture(size_t columns, size_t rows) const {
  View view{look_.prompt, look_.continuation, look_.colour, block_.text(), block_.cursor(), {}};
  if (search_) view.prompt = (search_->failed ? "not found \"" : "search \"") + search_->wanted + "\": ";
  if (!listed_.empty()) view.below = in_columns(listed_, columns, std::max<size_t>(rows / 2, 2));
  return editor::picture(view, columns);
}

} // namespace tl::editor
