#include "lsp/values.h"
#include "parser/syntax/highlight.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace tl::lsp {
namespace {

constexpr std::string_view kMark = "#>>", kBlanks = " \t\r";
constexpr const char *kBegin = "\x01>", *kEnd = "\x01<"; // lines around a value
constexpr size_t kLongest = 80;                          // characters of a title

bool is_in_block(const ast::File& file, uint32_t offset) {
  return std::any_of(file.statements.begin(), file.statements.end(),
                     [&](const ast::Stmt* s) { return s->span.begin <= offset && offset < s->span.end; });
}

// One line: what a tensor has on several, with blanks between.
void add_line(std::string& text, std::string_view line) {
  const size_t begin = line.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return;
  if (!text.empty()) text += ' ';
  text += line.substr(begin, line.find_last_not_of(kBlanks) + 1 - begin);
}

std::string shortened(const std::string& text) {
  if (character_count(text) <= kLongest) return text;
  size_t end = 0;
  for (size_t count = 0; count < kLongest; ++end)
    count += (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  return text.substr(0, end) + "…";
}

} // namespace

std::vector<ValueLine> value_lines(const Analysis& analysis) {
  std::vector<ValueLine> lines;
  const std::string_view text = analysis.text;
  uint32_t at = 0;
  for (const TextPiece& piece : highlight(text)) {
    const uint32_t begin = at;
    at += static_cast<uint32_t>(piece.text.size());
    if (piece.kind != TextClass::Comment || !piece.text.starts_with(kMark)) continue;
    const size_t before = begin == 0 ? std::string_view::npos : text.find_last_not_of(kBlanks, begin - 1);
    const size_t first = piece.text.find_first_not_of(kBlanks, kMark.size());
    if ((before != std::string_view::npos && text[before] != '\n') || first == std::string_view::npos) continue;
    const size_t last = piece.text.find_last_not_of(kBlanks);
    lines.push_back({{analysis.file, begin, begin + static_cast<uint32_t>(last + 1)},
                     std::string(piece.text.substr(first, last + 1 - first))});
  }
  return lines;
}

std::string program_with_value(const Analysis& analysis, const ValueLine& line) {
  struct Edit {
    Span span;
    std::string text;
  };
  const char* end = is_in_block(analysis.tree, line.span.begin) ? "" : "; exit(0)";
  std::vector<Edit> edits{
      {line.span, fmt::format(R"(print("\u{{1}}>"); print({}); print("\u{{1}}<"){})", line.expression, end)}};
  const std::filesystem::path folder = std::filesystem::absolute(analysis.name).parent_path();
  for (const ast::Stmt* statement : analysis.tree.statements)
    if (const auto* import = ast::as<ast::Import>(statement); import && import->is_file)
      edits.push_back({import->path_span, fmt::format("\"{}\"", (folder / import->path).lexically_normal().string())});
  std::sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.span.begin > b.span.begin; });
  std::string text = analysis.text;
  for (const Edit& edit : edits)
    text.replace(edit.span.begin, edit.span.length(), edit.text);
  return text;
}

void Values::begin(const std::string& uri, const std::string& expression) {
  const std::lock_guard lock(mutex_);
  running_ = Running{uri, expression, "", "", false, 0};
}

void Values::forget(const std::string& uri) {
  const std::lock_guard lock(mutex_);
  std::erase_if(found_, [&](const auto& one) { return one.first.first == uri; });
}

void Values::stop() {
  const std::lock_guard lock(mutex_);
  running_.reset();
}

bool Values::take(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (!running_) return false;
  Running& now = *running_;
  if (line == kBegin) {
    now.is_inside = true;
    ++now.times;
    now.value.clear();
  } else if (line == kEnd) {
    now.is_inside = false;
  } else if (now.is_inside && line.find(": error[") == std::string::npos) {
    add_line(now.value, line);
  } else {
    if (now.trouble.empty() && line.find("error[") != std::string::npos) now.trouble = line.substr(line.find("error["));
    return false;
  }
  return true;
}

bool Values::end(const std::string& how) {
  const std::lock_guard lock(mutex_);
  if (!running_) return false;
  const Running& now = *running_;
  std::string shown = "= " + shortened(now.value);
  if (now.times > 1) shown += fmt::format(" (the last of {})", now.times);
  if (now.times == 0 || now.is_inside) // it has not come to its end
    shown = now.trouble.empty() ? fmt::format("not reached: {}", how) : shortened(now.trouble);
  found_[{now.uri, now.expression}] = shown;
  running_.reset();
  return true;
}

std::optional<std::string> Values::of(const std::string& uri, const std::string& expression) const {
  const std::lock_guard lock(mutex_);
  const auto found = found_.find({uri, expression});
  return found == found_.end() ? std::nullopt : std::optional(found->second);
}

} // namespace tl::lsp
