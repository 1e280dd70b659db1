// Source text and places in it. Every later structure points back here by Span, never by copying text.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace tl {

// One file of a SourceManager. A default FileId is "nowhere".
struct FileId {
  uint32_t index = UINT32_MAX;
  bool valid() const { return index != UINT32_MAX; }
  bool operator==(const FileId&) const = default;
};

// Bytes [begin, end) of a file.
struct Span {
  FileId file;
  uint32_t begin = 0, end = 0;
  bool valid() const { return file.valid(); }
  uint32_t length() const { return end - begin; }
  bool operator==(const Span&) const = default;
};

// The smallest span that holds both; an invalid one is ignored. Both must be of one file.
Span join(Span a, Span b);

// How many UTF-8 characters these bytes begin: what columns and widths count.
size_t character_count(std::string_view text);

// Both count from 1; columns count UTF-8 characters, a tab as one.
struct LineColumn {
  uint32_t line = 1, column = 1;
  bool operator==(const LineColumn&) const = default;
};

// Owns the texts of all files of a compilation. Files are only ever added, so views into texts stay valid.
class SourceManager {
public:
  FileId add(std::string name, std::string text);
  // Nothing refers to this file any more: its id may be that of another.
  void forget(FileId file);
  size_t file_count() const { return files_.size(); }
  const std::string& name(FileId file) const { return at(file).name; }
  std::string_view text(FileId file) const { return at(file).text; }
  std::string_view text(Span span) const { return text(span.file).substr(span.begin, span.end - span.begin); }
  // The place of a byte; an offset past the end is the place just after the last byte.
  LineColumn line_column(FileId file, uint32_t offset) const;
  LineColumn line_column(Span span) const { return line_column(span.file, span.begin); }
  uint32_t line_count(FileId file) const { return static_cast<uint32_t>(at(file).line_starts.size()); }
  // The text of a line (from 1) without its end of line, and the offset of its first byte.
  std::string_view line_text(FileId file, uint32_t line) const;
  uint32_t line_begin(FileId file, uint32_t line) const { return at(file).line_starts[line - 1]; }

private:
  struct File {
    std::string name, text;
    std::vector<uint32_t> line_starts;
  };
  const File& at(FileId file) const { return files_[file.index]; }
  std::deque<File> files_;
  std::vector<FileId> forgotten_;
};

// A file of the standard library is called this in messages and locations.
inline std::string library_file_name(const std::string& module) { return "std:" + module + ".tl"; }
inline std::string library_module(const std::string& file) { return file.substr(4, file.size() - 7); }
inline bool is_library_file(const std::string& name) { return name.starts_with("std:"); }

} // namespace tl
