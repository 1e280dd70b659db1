#include "expectations.h"
#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace tl::golden {
namespace {

std::string_view trim_end(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}
std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  return trim_end(text);
}

constexpr size_t none = std::string_view::npos;

// Where the comment of a line begins, outside of strings.
size_t find_comment(std::string_view line) {
  bool in_string = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && in_string)
      ++i;
    else if (line[i] == '"')
      in_string = !in_string;
    else if (line[i] == '#' && !in_string)
      return i;
  }
  return none;
}

size_t find_output_mark(std::string_view line) {
  const size_t at = find_comment(line);
  return at != none && line.substr(at).starts_with("#>") ? at : none;
}

// An expectation that nobody would read, as it is in the wrong place.
bool is_misplaced(std::string_view line, size_t number) {
  const size_t at = find_comment(line);
  if (at == none) return false;
  const std::string_view comment = line.substr(at);
  const bool alone = trim(line.substr(0, at)).empty();
  if (alone) return number > 1 && comment.starts_with("#!") && !comment.starts_with("#! ");
  for (std::string_view mark : {"#! ", "#= ", "#? ", "#% ", "#: "})
    if (comment.starts_with(mark)) return true;
  return false;
}

int read_number(std::string_view text, size_t line) {
  int value = 0;
  text = trim(text);
  auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size())
    throw std::runtime_error("line " + std::to_string(line) + ": a number is expected");
  return value;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false, quoted = false;
  for (char c : text) {
    if (c == '"') {
      quoted = !quoted;
      in_word = true;
    } else if (c == ' ' && !quoted) {
      if (in_word) words.push_back(word);
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) words.push_back(word);
  return words;
}

bool is_kind(std::string_view text) {
  if (text.empty() || text[0] < 'A' || text[0] > 'Z') return false;
  for (char c : text)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) return false;
  return true;
}

} // namespace

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == none) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

Expectations read_expectations(std::string_view text) {
  Expectations out;
  std::vector<ExpectedError> waiting; // for the line that they are about
  uint32_t number = 0;
  for (const std::string& line : split_lines(text)) {
    ++number;
    std::string_view whole = trim(line);
    if (is_misplaced(line, number))
      throw std::runtime_error("line " + std::to_string(number) +
                               ": an expectation stands on a line of its own, and `#!` has a space behind it");
    if (whole.starts_with("#! ")) {
      std::string_view rest = trim(whole.substr(3));
      size_t colon = rest.find(':');
      std::string kind(trim(rest.substr(0, colon)));
      if (!is_kind(kind)) throw std::runtime_error("line " + std::to_string(number) + ": `#!` names no kind of error");
      waiting.push_back({0, kind, colon == none ? "" : std::string(trim(rest.substr(colon + 1)))});
      continue;
    }
    for (ExpectedError& error : waiting) {
      error.line = number;
      out.errors.push_back(error);
    }
    waiting.clear();
    if (whole.starts_with("#=")) {
      std::vector<std::string> words = split_words(trim(whole.substr(2)));
      if (words.size() != 2) throw std::runtime_error("line " + std::to_string(number) + ": write `#= WORD N`");
      out.counts.push_back({words[0] == "kernels" ? "kernel" : words[0], read_number(words[1], number)});
    } else if (whole.starts_with("#?")) {
      if (out.exit_code) throw std::runtime_error("line " + std::to_string(number) + ": a second exit code");
      out.exit_code = read_number(whole.substr(2), number);
    } else if (whole.starts_with("#%")) {
      for (std::string& word : split_words(trim(whole.substr(2))))
        out.flags.push_back(std::move(word));
    } else if (whole.starts_with("#:")) {
      for (std::string& word : split_words(trim(whole.substr(2))))
        out.arguments.push_back(std::move(word));
    } else if (size_t mark = find_output_mark(line); mark != none) {
      std::string_view rest = std::string_view(line).substr(mark + 2);
      if (rest.starts_with(' ')) rest.remove_prefix(1);
      out.output.emplace_back(trim_end(rest));
    }
  }
  for (ExpectedError& error : waiting) {
    error.line = number + 1; // the end of the file
    out.errors.push_back(error);
  }
  if (auto at = std::find(out.flags.begin(), out.flags.end(), "--after"); at != out.flags.end()) {
    if (at + 1 == out.flags.end()) throw std::runtime_error("`#% --after` names no pass");
    out.after = at[1];
    out.flags.erase(at, at + 2);
  }
  return out;
}

std::string with_output(std::string_view text, const std::vector<std::string>& output) {
  auto mark_with = [](const std::string& line) {
    return line.empty() ? std::string("#>") : "#> " + std::string(trim_end(line));
  };
  std::vector<std::string> lines = split_lines(text), result;
  size_t used = 0, after_last = 0;
  for (const std::string& line : lines) {
    size_t mark = find_output_mark(line);
    if (mark == none) {
      result.push_back(line);
      continue;
    }
    std::string before = line.substr(0, mark);
    if (used < output.size()) {
      result.push_back(before + mark_with(output[used++]));
    } else if (!trim(before).empty()) {
      result.emplace_back(trim_end(before));
    } else {
      continue;
    }
    after_last = result.size();
  }
  if (after_last == 0) after_last = result.size();
  std::vector<std::string> more;
  for (; used < output.size(); ++used)
    more.push_back(mark_with(output[used]));
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(after_last), more.begin(), more.end());
  std::string all;
  for (const std::string& line : result)
    all += line + '\n';
  return all;
}

std::vector<Reported> read_diagnostics(std::string_view text) {
  std::vector<Reported> out;
  for (const std::string& line : split_lines(text)) {
    std::string_view rest = line;
    size_t at = std::min(rest.find(": error["), rest.find(": warning["));
    uint32_t number = 0;
    if (at == none) {
      if (!rest.starts_with("error[") && !rest.starts_with("warning[")) continue; // one without a place
    } else {
      // file:line:column
      std::string_view place = rest.substr(0, at);
      size_t column = place.rfind(':');
      size_t start = column == none ? none : place.rfind(':', column - 1);
      if (start == none) continue;
      std::string_view digits = place.substr(start + 1, column - start - 1);
      if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc()) continue;
      rest.remove_prefix(at + 2);
    }
    size_t open = rest.find('['), close = rest.find("]: ");
    if (open == none || close == none || close < open) continue;
    out.push_back({number, std::string(rest.substr(open + 1, close - open - 1)), std::string(rest.substr(close + 3))});
  }
  return out;
}

int count_op(std::string_view dump, std::string_view op) {
  int count = 0;
  for (const std::string& line : split_lines(dump)) {
    std::string_view rest = trim(line);
    if (!rest.starts_with('%')) continue;
    size_t equal = rest.find(" = ");
    if (equal == none) continue;
    rest.remove_prefix(equal + 3);
    count += rest.substr(0, rest.find_first_of(" {(")) == op;
  }
  return count;
}

} // namespace tl::golden
