#include "cli/editor/block.h"
#include "cli/editor/characters.h"
#include <algorithm>

namespace tl::editor {
namespace {

constexpr size_t kMostStates = 1000, kMostBytes = 16u << 20; // that can be undone

} // namespace

size_t Block::line_begin() const {
  const size_t at = cursor_ == 0 ? std::string::npos : text_.rfind('\n', cursor_ - 1);
  return at == std::string::npos ? 0 : at + 1;
}

size_t Block::line_end() const { return std::min(text_.find('\n', cursor_), text_.size()); }

void Block::move_to(size_t cursor) {
  cursor_ = cursor;
  goal_ = -1;
  last_ = Change::None;
}

bool Block::left() {
  if (cursor_ == 0) return false;
  move_to(cluster_before(text_, cursor_));
  return true;
}

bool Block::right() {
  if (cursor_ == text_.size()) return false;
  move_to(cursor_ + cluster_at(text_, cursor_).length);
  return true;
}

size_t Block::word_left_of_cursor() const {
  const std::string_view text = text_;
  size_t at = cursor_;
  auto before_is_word = [&] {
    const size_t begin = cluster_before(text, at);
    return is_word(text.substr(begin, at - begin));
  };
  while (at > 0 && !before_is_word())
    at = cluster_before(text, at);
  while (at > 0 && before_is_word())
    at = cluster_before(text, at);
  return at;
}

size_t Block::word_right_of_cursor() const {
  const std::string_view text = text_;
  size_t at = cursor_;
  auto word_here = [&] { return is_word(text.substr(at, cluster_at(text, at).length)); };
  while (at < text.size() && !word_here())
    at += cluster_at(text, at).length;
  while (at < text.size() && word_here())
    at += cluster_at(text, at).length;
  return at;
}

bool Block::word_left() {
  if (cursor_ == 0) return false;
  move_to(word_left_of_cursor());
  return true;
}

bool Block::word_right() {
  if (cursor_ == text_.size()) return false;
  move_to(word_right_of_cursor());
  return true;
}

// To the line that begins there.
bool Block::vertical(size_t line, bool is_there) {
  if (!is_there) return false;
  const std::string_view text = text_;
  const int goal = goal_ >= 0 ? goal_ : columns_of(text.substr(line_begin(), cursor_ - line_begin()));
  const size_t end = std::min(text_.find('\n', line), text_.size());
  size_t at = line;
  for (int column = 0; at < end;) {
    const Cluster cluster = cluster_at(text, at);
    if (column + cluster.columns > goal) break;
    column += cluster.columns;
    at += cluster.length;
  }
  move_to(at);
  goal_ = goal;
  return true;
}

bool Block::up() {
  const size_t begin = line_begin();
  if (begin == 0) return false;
  const size_t before = begin < 2 ? std::string::npos : text_.rfind('\n', begin - 2);
  return vertical(before == std::string::npos ? 0 : before + 1, true);
}

bool Block::down() {
  const size_t end = line_end();
  return vertical(end + 1, end < text_.size());
}

// What is to be undone as one begins where a change is not of the kind of the one before it.
void Block::before(Change change) {
  redo_.clear();
  goal_ = -1;
  if (change != last_ || change == Change::Other) {
    undo_.push_back({text_, cursor_});
    size_t bytes = 0, keep = 0;
    while (keep < undo_.size() && keep < kMostStates && bytes < kMostBytes)
      bytes += undo_[undo_.size() - ++keep].text.size();
    undo_.erase(undo_.begin(), undo_.end() - static_cast<std::ptrdiff_t>(keep));
  }
  last_ = change;
}

void Block::settle() {
  size_t at = cursor_ == 0 ? 0 : cluster_before(text_, cursor_); // what is before that one has not changed
  while (at < cursor_)
    at += cluster_at(text_, at).length;
  cursor_ = at;
}

void Block::type(std::string_view character) {
  before(Change::Typing);
  text_.insert(cursor_, character);
  cursor_ += character.size();
  settle();
}

void Block::insert(std::string_view text) {
  before(Change::Other);
  text_.insert(cursor_, text);
  cursor_ += text.size();
  settle();
}

bool Block::erase_left() {
  if (cursor_ == 0) return false;
  before(Change::Erasing);
  const size_t begin = cluster_before(text_, cursor_);
  text_.erase(begin, cursor_ - begin);
  cursor_ = begin;
  settle();
  return true;
}

bool Block::erase_right() {
  if (cursor_ == text_.size()) return false;
  before(Change::Erasing);
  text_.erase(cursor_, cluster_at(text_, cursor_).length);
  settle();
  return true;
}

std::string Block::cut_to(size_t other) {
  const size_t begin = std::min(cursor_, other), end = std::max(cursor_, other);
  if (begin == end) return "";
  before(Change::Other);
  std::string cut = text_.substr(begin, end - begin);
  text_.erase(begin, end - begin);
  cursor_ = begin;
  settle();
  return cut;
}

void Block::replace(size_t begin, size_t end, std::string_view text) {
  before(Change::Other);
  text_.replace(begin, end - begin, text);
  cursor_ = begin + text.size();
  settle();
}

bool Block::transpose() {
  const size_t begin = line_begin(), end = line_end();
  size_t middle = cursor_;
  if (middle == end && middle > begin) middle = cluster_before(text_, middle);
  if (middle <= begin || middle >= end) return false;
  const size_t first = cluster_before(text_, middle), length = cluster_at(text_, middle).length;
  before(Change::Other);
  const std::string left = text_.substr(first, middle - first), right = text_.substr(middle, length);
  text_.replace(first, left.size() + length, right + left);
  cursor_ = first + left.size() + length;
  settle();
  return true;
}

void Block::set(std::string text) {
  before(Change::Other);
  text_ = std::move(text);
  cursor_ = text_.size();
}

void Block::clear() { *this = {}; }

bool Block::restore(std::vector<State>& from, std::vector<State>& to) {
  if (from.empty()) return false;
  to.push_back({std::move(text_), cursor_});
  text_ = std::move(from.back().text);
  cursor_ = from.back().cursor;
  from.pop_back();
  goal_ = -1;
  last_ = Change::None;
  return true;
}

bool Block::undo() { return restore(undo_, redo_); }
bool Block::redo() { return restore(redo_, undo_); }

} // namespace tl::editor
