#include "parser/syntax/cursor.h"
#include <algorithm>
#include <cctype>
#include <vector>

namespace tl {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); }

size_t word_begin(std::string_view text, bool with_dots) {
  size_t begin = text.size();
  while (begin > 0 && (is_word(text[begin - 1]) || (with_dots && text[begin - 1] == '.')))
    --begin;
  return begin;
}

namespace {

// What is open at a place. A text is one of quotes, its holes are the expressions in it, and behind the `:` of a hole
// stands a format, which is text again.
struct Open {
  enum class Kind : uint8_t { Bracket, Text, LongText, Hole, Format } kind;
  size_t at;
};

class Scan {
public:
  explicit Scan(std::string_view text) : text_(text) {
    for (size_t i = 0; i < text.size();)
      i = in_text() ? step_in_text(i) : step_in_code(i);
  }

  Around result() const {
    Around result;
    result.in_comment = in_comment_;
    for (const Open& open : open_) {
      const bool is_text = open.kind == Open::Kind::Text || open.kind == Open::Kind::LongText;
      if (is_text) result.in_long_text = open.kind == Open::Kind::LongText;
      if (is_text && in_text()) result.quote = open.at;
      if (open.kind == Open::Kind::Hole) result.hole = open.at;
    }
    if (!open_.empty() && open_.back().kind == Open::Kind::Bracket && text_[open_.back().at] == '(')
      result.call = open_.back().at;
    return result;
  }

private:
  bool in_text() const {
    return !open_.empty() && open_.back().kind != Open::Kind::Bracket && open_.back().kind != Open::Kind::Hole;
  }
  bool is_long(size_t i) const { return text_.substr(i, 3) == "\"\"\""; }

  size_t step_in_text(size_t i) {
    const Open::Kind kind = open_.back().kind;
    const char c = text_[i];
    if (c == '\n' && drops_short_text()) return i; // it ends with its line
    if (kind == Open::Kind::Format) {
      if (c == '}') open_.resize(open_.size() - 2); // the hole, too
      return i + 1;
    }
    if (c == '\\') return i + 2;
    if (c == '{' && i + 1 < text_.size() && text_[i + 1] == '{') return i + 2;
    if (c == '{') open_.push_back({Open::Kind::Hole, i});
    if (kind == Open::Kind::LongText && is_long(i)) return open_.pop_back(), i + 3;
    if (kind == Open::Kind::Text && c == '"') open_.pop_back();
    return i + 1;
  }

  size_t step_in_code(size_t i) {
    const char c = text_[i];
    if (c == '\n' && drops_short_text()) return i;
    if (c == '#') {
      const size_t end = text_.find('\n', i);
      in_comment_ = end == std::string_view::npos;
      return std::min(end, text_.size());
    }
    if (c == '"' && is_long(i)) return open_.push_back({Open::Kind::LongText, i}), i + 3;
    if (c == '"') open_.push_back({Open::Kind::Text, i});
    if (c == '(' || c == '[' || c == '{') open_.push_back({Open::Kind::Bracket, i});
    const bool closes = c == '}' || ((c == ')' || c == ']') && !open_.empty() && open_.back().kind != Open::Kind::Hole);
    if (closes && !open_.empty()) open_.pop_back();
    if (c == ':' && !open_.empty() && open_.back().kind == Open::Kind::Hole) open_.push_back({Open::Kind::Format, i});
    return i + 1;
  }

  // A text of one line that is open where the line ends, and all in it. False: there is none.
  bool drops_short_text() {
    const auto is_short = [](const Open& open) { return open.kind == Open::Kind::Text; };
    const auto first = std::find_if(open_.begin(), open_.end(), is_short);
    if (first == open_.end()) return false;
    open_.erase(first, open_.end());
    return true;
  }

  std::string_view text_;
  std::vector<Open> open_;
  bool in_comment_ = false;
};

} // namespace

Around around_end(std::string_view text) { return Scan(text).result(); }

std::string_view closing_hole(std::string_view before, std::string_view after) {
  const Around around = around_end(before);
  if (!around.hole) return "";
  const std::string_view rest = after.substr(0, after.find('\n'));
  if (rest.find('}') != rest.npos) return "";
  return rest.find('"') == rest.npos && !around.in_long_text ? "}\"" : "}";
}

std::string_view missing_block(std::string_view before, std::string_view after) {
  std::string_view line = before.substr(before.rfind('\n') + 1); // all of it where there is no other
  if (after.substr(0, after.find('\n')).find('{') != after.npos || around_end(before).hole) return "";
  int depth = 0; // brackets that are open: in some, these words are a comprehension's
  bool is_head = false;
  for (size_t i = 0; i < line.size();) {
    const char c = line[i];
    if (c == '#' || c == '"') return "";
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == '{') is_head = false;
    size_t end = i;
    while (end < line.size() && is_word(line[end]))
      ++end;
    const std::string_view word = line.substr(i, end - i);
    is_head = is_head || (depth <= 0 && (word == "if" || word == "for" || word == "while"));
    i = std::max(end, i + 1);
  }
  return is_head && depth <= 0 ? " {}" : "";
}

bool follows_import(std::string_view before) {
  const size_t end = before.find_last_not_of(" \t");
  if (end == std::string_view::npos || end + 1 == before.size()) return false;
  const std::string_view text = before.substr(0, end + 1);
  return text.substr(word_begin(text, false)) == "import";
}

} // namespace tl
