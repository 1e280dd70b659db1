// What was entered before, in a file that all sessions share.
#pragma once
#include <string>
#include <vector>

namespace tl::editor {

// The file's form is that of libedit (`_HiStOrY_V2_`, then an entry a line, written as vis(3) does), in which earlier
// versions of tl wrote it, and which they read. Only the owner may read it.
class History {
public:
  explicit History(std::string file); // empty: none; one that is missing or cannot be read is an empty one

  const std::vector<std::string>& entries() const { return entries_; } // the oldest first
  // At the end, and in the file at once, unless it is empty or what is there last. What went wrong with the file, the
  // first time that something does; else an empty text.
  std::string add(const std::string& entry);

private:
  std::string rewrite() const; // the whole file; what went wrong, as with append
  std::string append(const std::string& entry) const;

  std::string file_;
  std::vector<std::string> entries_;
  bool is_broken_ = false;
  bool is_to_be_rewritten_ = false; // it is long, or of another form
};

std::string to_history_line(const std::string& entry);
std::string from_history_line(const std::string& line);

} // namespace tl::editor
