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

Around around_end(std::string_view text) {
  Around result;
  std::vector<size_t> open;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '#') {
      result.in_comment = text.find('\n', i) == std::string_view::npos;
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '"') {
      size_t end = i + 1;
      while (end < text.size() && text[end] != '"' && text[end] != '\n')
        end += text[end] == '\\' ? 2 : 1;
      if (end >= text.size()) result.quote = i;
      i = end;
    } else if (c == '(' || c == '[' || c == '{') {
      open.push_back(i);
    } else if ((c == ')' || c == ']' || c == '}') && !open.empty()) {
      open.pop_back();
    }
  }
  if (!open.empty() && text[open.back()] == '(') result.call = open.back();
  return result;
}

bool follows_import(std::string_view before) {
  const size_t end = before.find_last_not_of(" \t");
  if (end == std::string_view::npos || end + 1 == before.size()) return false;
  const std::string_view text = before.substr(0, end + 1);
  return text.substr(word_begin(text, false)) == "import";
}

} // namespace tl
