#include "shown_values.h"
#include "abi/dtype.h"
#include "cli/editor/characters.h"
#include "parser/check/check.h"
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace tl::cli {
namespace {

constexpr size_t kMostElements = 100, kEdge = 3; // of a list; beyond, so many at both ends
constexpr size_t kStep = 2;
constexpr std::string_view kPlain = "\x1b[0m", kFaint = "\x1b[2m", kBad = "\x1b[1;31m", kWarning = "\x1b[1;33m",
                           kPlace = "\x1b[1m", kCarets = "\x1b[31m", kHint = "\x1b[36m";

// Columns of the widest line.
size_t width(std::string_view text) {
  size_t widest = 0;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    widest = std::max(widest, static_cast<size_t>(editor::columns_of(text.substr(begin, end - begin))));
    begin = end + 1;
  }
  return widest;
}

// Behind the text in quotes that begins there.
size_t end_of_quoted(std::string_view text, size_t begin) {
  size_t i = begin + 1;
  while (i < text.size() && text[i] != text[begin])
    i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

// `Name(a, b)`, `[a, b]`: what is before the bracket, the elements, and the bracket that closes.
struct Group {
  std::string_view head; // with the bracket
  std::vector<std::string_view> elements;
  char close = 0;
};

bool opens(char c) { return c == '(' || c == '['; }
bool closes(char c) { return c == ')' || c == ']'; }

std::optional<Group> group_of(std::string_view text) {
  const size_t open = text.find_first_of("([");
  if (open == std::string_view::npos || !closes(text.back())) return std::nullopt;
  if (text.substr(0, open).find_first_of(" \n") != std::string_view::npos) return std::nullopt; // a table
  Group group{text.substr(0, open + 1), {}, text.back()};
  size_t begin = open + 1;
  int depth = 0;
  for (size_t i = open; i < text.size();) {
    const char c = text[i];
    if ((c == '\'' || c == '"') && i > 0) {
      i = end_of_quoted(text, i);
      continue;
    }
    if (opens(c)) ++depth;
    if (closes(c)) --depth;
    const bool is_end = depth == 0;
    if (is_end && i + 1 != text.size()) return std::nullopt; // more follows: no one group
    if (is_end || (depth == 1 && text.substr(i, 2) == ", ")) {
      if (i > begin) group.elements.push_back(text.substr(begin, i - begin));
      begin = i + 2;
    }
    ++i;
  }
  return group;
}

// Where a list is cut, its middle is counted.
std::vector<std::string> shown_elements(const Group& group) {
  std::vector<std::string> elements(group.elements.begin(), group.elements.end());
  if (group.close != ']' || elements.size() <= kMostElements) return elements;
  const size_t left_out = elements.size() - 2 * kEdge;
  elements.erase(elements.begin() + kEdge, elements.end() - kEdge);
  elements.insert(elements.begin() + kEdge, fmt::format("… {} more …", left_out));
  return elements;
}

// Lines after the first one moved to the right.
std::string moved(std::string_view text, size_t indent) {
  std::string result;
  for (char c : text) {
    result += c;
    if (c == '\n') result.append(indent, ' ');
  }
  return result;
}

std::string laid_out(std::string_view text, size_t indent, size_t columns);

// Many on a line: what is short.
std::string filled(const Group& group, const std::vector<std::string>& elements, size_t indent, size_t columns) {
  const size_t inside = indent + 1;
  std::string result(group.head);
  size_t column = indent + width(group.head);
  for (size_t i = 0; i < elements.size(); ++i) {
    const size_t needed = width(elements[i]) + 1;
    if (i > 0 && column + 1 + needed > columns) {
      result += '\n' + std::string(inside, ' ');
      column = inside;
    } else if (i > 0) {
      result += ' ';
      ++column;
    }
    result += elements[i];
    if (i + 1 < elements.size()) result += ',';
    column += needed;
  }
  return result + group.close;
}

// One on a line. The fields of a struct stand below each other, the elements of a list and a tuple, too.
std::string stacked(const Group& group, const std::vector<std::string>& elements, size_t indent, size_t columns) {
  const bool is_struct = group.head.size() > 1;
  const size_t inside = indent + (is_struct ? kStep : 1);
  const std::string line = '\n' + std::string(inside, ' ');
  std::string result(group.head);
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i > 0 || is_struct) result += line;
    result += laid_out(elements[i], inside, columns - 1);
    if (i + 1 < elements.size()) result += ',';
  }
  return result + group.close;
}

// `text` begins in the column `indent`.
std::string laid_out(std::string_view text, size_t indent, size_t columns) {
  const std::optional<Group> group = group_of(text);
  if (!group) return moved(text, indent);
  const std::vector<std::string> elements = shown_elements(*group);
  const std::string flat = std::string(group->head) + fmt::format("{}", fmt::join(elements, ", ")) + group->close;
  const bool is_one = group->elements.size() <= 1 && group->head.back() == '['; // a tensor's numbers, mostly
  const bool fits = flat.find('\n') == std::string::npos && indent + width(flat) <= columns;
  if (fits || is_one) return moved(is_one ? text : flat, indent);
  const bool is_short = group->close == ']' && std::all_of(elements.begin(), elements.end(), [&](const auto& element) {
                          return element.find('\n') == std::string::npos && indent + 2 + width(element) < columns / 2;
                        });
  return is_short ? filled(*group, elements, indent, columns) : stacked(*group, elements, indent, columns);
}

// Numbers and text stay what `print` makes of them.
bool is_compound(const std::string& type) {
  const std::string name = type.substr(0, type.find('['));
  return !dtype_from_name(name) && name != "str";
}

// The piece behind `text`, up to the mark, which is taken off; nothing where there is none.
std::optional<std::string> take_until(std::string& text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string::npos) return std::nullopt;
  std::string piece = text.substr(0, at);
  text.erase(0, at + mark.size());
  return piece;
}

// Prints may come in pieces: what has not ended waits.
class Marked {
public:
  Marked(OutputSink out, ShowValue show) : out_(std::move(out)), show_(std::move(show)) {}

  void take(std::string_view piece) {
    waiting_ += piece;
    while (!waiting_.empty()) {
      if (waiting_.find(kShownValue) != 0) {
        const size_t at = waiting_.find(kShownValue[0]);
        if (at == 0 && waiting_.size() < kShownValue.size()) return;
        const size_t end = at == 0 ? 1 : std::min(at, waiting_.size());
        out_(std::string_view(waiting_).substr(0, end));
        waiting_.erase(0, end);
        continue;
      }
      if (waiting_.find(kShownEnd) == std::string::npos) return;
      std::string shown = *take_until(waiting_, kShownEnd);
      shown.erase(0, kShownValue.size());
      const std::string value = take_until(shown, kShownType).value_or("");
      show_(value, shown);
    }
  }

private:
  OutputSink out_;
  ShowValue show_;
  std::string waiting_;
};

std::string in_colour(std::string_view colour, std::string_view text) {
  return std::string(colour) + std::string(text) + std::string(kPlain);
}

// `place: error[Kind]: message`
std::string coloured_head(std::string_view line) {
  for (const auto& [word, colour] : {std::pair{"error[", kBad}, std::pair{"warning[", kWarning}}) {
    const size_t at = line.find(word), end = at == line.npos ? at : line.find(']', at);
    if (end == line.npos) continue;
    return in_colour(kPlace, line.substr(0, at)) + in_colour(colour, line.substr(at, end + 1 - at)) +
           std::string(line.substr(end + 1));
  }
  if (line.starts_with("tl: ")) return in_colour(kBad, "tl:") + std::string(line.substr(3));
  return std::string(line);
}

std::string coloured_line(std::string_view line) {
  const std::string_view text = line.substr(std::min(line.find_first_not_of(' '), line.size()));
  if (text.starts_with("hint: ")) return in_colour(kHint, line);
  if (text.starts_with("| ")) return in_colour(kCarets, line);
  return line.starts_with(' ') ? std::string(line) : coloured_head(line);
}

} // namespace

std::string shown_value(const std::string& value, const std::string& type, const ValueLook& look) {
  auto faint = [&](const std::string& text) { return look.is_coloured ? in_colour(kFaint, text) : text; };
  if (value.empty() && type != "str") return type + "\n";
  const std::string text = is_compound(type) ? laid_out(value, 0, look.columns) : value;
  const size_t last = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  const bool is_matrix = !is_compound(type) && type.find(',') != std::string::npos;
  const bool is_table = is_compound(type) && last > 0 && !group_of(value);
  const bool fits = width(std::string_view(text).substr(last)) + 3 + width(type) <= look.columns;
  return text +
         (is_matrix || is_table || (!fits && last > 0) || (!fits && type != "str" && text.size() > 20) ? "\n" : " ") +
         faint(": " + type) + "\n";
}

OutputSink without_values(OutputSink out, ShowValue show) {
  auto marked = std::make_shared<Marked>(std::move(out), std::move(show));
  return [marked](std::string_view piece) { marked->take(piece); };
}

OutputSink with_shown_values(const OutputSink& out, std::function<ValueLook()> look) {
  return without_values(out, [out, look = std::move(look)](const std::string& value, const std::string& type) {
    out(shown_value(value, type, look()));
  });
}

std::string coloured_message(const std::string& message) {
  std::string result;
  for (size_t begin = 0; begin < message.size();) {
    const size_t end = std::min(message.find('\n', begin), message.size());
    result += coloured_line(std::string_view(message).substr(begin, end - begin)) + '\n';
    begin = end + 1;
  }
  return result;
}

} // namespace tl::cli
