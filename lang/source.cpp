#include "lang/source.h"
#include <algorithm>

namespace tl {

Span join(Span a, Span b) {
  if (!a.valid()) return b;
  if (!b.valid()) return a;
  return {a.file, std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

FileId SourceManager::add(std::string name, std::string text) {
  FileId id{static_cast<uint32_t>(files_.size())};
  if (forgotten_.empty()) {
    files_.emplace_back();
  } else {
    id = forgotten_.back();
    forgotten_.pop_back();
  }
  File& file = files_[id.index];
  file.name = std::move(name);
  file.text = std::move(text);
  file.line_starts.push_back(0);
  for (size_t i = 0; i < file.text.size(); ++i)
    if (file.text[i] == '\n') file.line_starts.push_back(static_cast<uint32_t>(i + 1));
  return id;
}

void SourceManager::forget(FileId file) {
  files_[file.index] = {};
  forgotten_.push_back(file);
}

size_t character_count(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

LineColumn SourceManager::line_column(FileId id, uint32_t offset) const {
  const File& file = at(id);
  offset = std::min(offset, static_cast<uint32_t>(file.text.size()));
  auto after = std::upper_bound(file.line_starts.begin(), file.line_starts.end(), offset);
  uint32_t line = static_cast<uint32_t>(after - file.line_starts.begin());
  uint32_t begin = file.line_starts[line - 1];
  auto before = character_count(std::string_view(file.text).substr(begin, offset - begin));
  return {line, 1 + static_cast<uint32_t>(before)};
}

std::string_view SourceManager::line_text(FileId id, uint32_t line) const {
  const File& file = at(id);
  uint32_t begin = file.line_starts[line - 1];
  uint32_t end = line < file.line_starts.size() ? file.line_starts[line] : static_cast<uint32_t>(file.text.size());
  std::string_view text = std::string_view(file.text).substr(begin, end - begin);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

} // namespace tl
