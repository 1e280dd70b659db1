#include "cli/editor/indent.h"
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace tl::editor {
namespace {

constexpr size_t kStep = 2, kNone = SIZE_MAX;

// What is open at the end of a text, outside of strings and comments.
struct Open {
  std::vector<size_t> brackets; // where they are
  bool in_string = false;       // that may span lines
  std::string last_line;        // without comments; strings are `"`
  size_t last_begin = 0;        // of the last line
  size_t closed = kNone;        // the bracket that the last line closed last
};

Open open_at_end(std::string_view text) {
  Open open;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      open.last_line.clear();
      open.last_begin = i + 1;
      open.closed = kNone;
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '"') {
      const bool is_long = text.substr(i, 3) == "\"\"\"";
      const std::string_view quote = is_long ? "\"\"\"" : "\"";
      size_t end = i + quote.size();
      while (end < text.size() && text.substr(end, quote.size()) != quote && (is_long || text[end] != '\n'))
        end += text[end] == '\\' ? 2 : 1;
      open.in_string = is_long && end >= text.size();
      if (open.in_string) return open;
      if (const size_t inner = text.substr(i, end - i).rfind('\n'); inner != std::string_view::npos) {
        open.last_line.clear();
        open.last_begin = i + inner + 1;
      }
      open.last_line += '"';
      i = end < text.size() && text[end] == '\n' ? end - 1 : end + quote.size() - 1;
    } else {
      if (c == '(' || c == '[' || c == '{') open.brackets.push_back(i);
      if ((c == ')' || c == ']' || c == '}') && !open.brackets.empty()) {
        open.closed = open.brackets.back();
        open.brackets.pop_back();
      }
      open.last_line += c;
    }
  }
  return open;
}

size_t blanks_at(std::string_view text, size_t begin) {
  size_t end = begin;
  while (end < text.size() && text[end] == ' ')
    ++end;
  return end - begin;
}

size_t line_of(std::string_view text, size_t at) {
  const size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return before == std::string_view::npos ? 0 : before + 1;
}

// Does it end in what needs another operand?
bool goes_on(std::string_view line) {
  const size_t end = line.find_last_not_of(" \t");
  return end != std::string_view::npos && std::string_view("=+-*/%@<>").find(line[end]) != std::string_view::npos;
}

} // namespace

size_t indentation_after(std::string_view text) {
  const Open open = open_at_end(text);
  if (open.in_string) return 0;
  const size_t here = blanks_at(text, open.last_begin);
  if (!open.brackets.empty() && open.brackets.back() >= open.last_begin) return here + kStep;
  if (!goes_on(open.last_line))
    return open.closed < open.last_begin ? blanks_at(text, line_of(text, open.closed)) : here;
  // Only the first line of a chain of operators moves what follows it.
  const size_t before = open.last_begin == 0 ? 0 : line_of(text, open.last_begin - 1);
  const bool is_first = open.last_begin == 0 || !goes_on(text.substr(before, open.last_begin - 1 - before));
  return is_first ? here + kStep : here;
}

size_t indentation_of_closing(std::string_view text) {
  const Open open = open_at_end(text);
  return open.brackets.empty() ? 0 : blanks_at(text, line_of(text, open.brackets.back()));
}

} // namespace tl::editor
