#include "cli/editor/history.h"
#include "cli/editor/characters.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tl::editor {
namespace {

constexpr const char* kFirstLine = "_HiStOrY_V2_";
constexpr size_t kMostEntries = 2000;

// Writes all of it under a lock, so that sessions that end at the same time do not mix their lines.
bool write_locked(int descriptor, const std::string& text) {
  ::flock(descriptor, LOCK_EX);
  for (size_t at = 0; at < text.size();) {
    const ssize_t count = ::write(descriptor, text.data() + at, text.size() - at);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) at += static_cast<size_t>(count);
  }
  return true;
}

bool is_octal(char c) { return c >= '0' && c <= '7'; }

} // namespace

std::string to_history_line(const std::string& entry) {
  std::string line;
  for (char c : entry) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f || c == '\\')
      line += c == '\\' ? "\\\\" : fmt::format("\\{:03o}", byte);
    else
      line += c;
  }
  return line;
}

// All that vis(3) may have written: \ooo, \M-c and \M^c with the eighth bit, \^c, C's letters, \s for a blank.
std::string from_history_line(const std::string& line) {
  std::string entry;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\' || i + 1 == line.size()) {
      entry += line[i];
      continue;
    }
    const char c = line[++i];
    if (is_octal(c)) {
      int value = c - '0';
      for (int k = 0; k < 2 && i + 1 < line.size() && is_octal(line[i + 1]); ++k)
        value = value * 8 + (line[++i] - '0');
      entry += static_cast<char>(value);
    } else if (c == 'M' && i + 2 < line.size()) {
      const bool is_control = line[i + 1] == '^';
      const char letter = line[i + 2];
      const int value = is_control ? (letter == '?' ? 0x7f : letter & 0x1f) : letter;
      entry += static_cast<char>(value | 0x80);
      i += 2;
    } else if (c == '^' && i + 1 < line.size()) {
      const char letter = line[++i];
      entry += letter == '?' ? '\x7f' : static_cast<char>(letter & 0x1f);
    } else {
      static constexpr const char *kLetters = "nrtsabvf", *kMeaning = "\n\r\t \a\b\v\f";
      const char* at = std::strchr(kLetters, c);
      entry += at ? kMeaning[at - kLetters] : c;
    }
  }
  return entry;
}

History::History(std::string file) : file_(std::move(file)) {
  if (file_.empty()) return;
  struct stat status{};
  if (::stat(file_.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return; // a pipe would be waited for
  std::ifstream in(file_);
  std::string line;
  bool is_coded = false, is_first = true;
  size_t lines = 0;
  while (std::getline(in, line)) {
    if (std::exchange(is_first, false) && line == kFirstLine) {
      is_coded = true;
      continue;
    }
    if (line == kFirstLine) continue;
    ++lines;
    std::string entry = cleaned(is_coded ? from_history_line(line) : line);
    if (!entry.empty() && (entries_.empty() || entries_.back() != entry)) entries_.push_back(std::move(entry));
  }
  if (entries_.size() > kMostEntries)
    entries_.erase(entries_.begin(), entries_.end() - static_cast<std::ptrdiff_t>(kMostEntries));
  is_to_be_rewritten_ = lines > 2 * kMostEntries || (lines > 0 && !is_coded);
}

std::string History::rewrite() const {
  const std::string draft = fmt::format("{}.{}", file_, ::getpid());
  const int descriptor = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return std::strerror(errno);
  std::string text = std::string(kFirstLine) + '\n';
  for (const std::string& entry : entries_)
    text += to_history_line(entry) + '\n';
  const bool written = write_locked(descriptor, text);
  ::close(descriptor);
  if (written && ::rename(draft.c_str(), file_.c_str()) == 0) return "";
  const std::string problem = std::strerror(errno);
  ::unlink(draft.c_str());
  return problem;
}

std::string History::append(const std::string& entry) const {
  const int descriptor = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
  if (descriptor < 0) return std::strerror(errno);
  struct stat status{};
  const bool is_new = ::fstat(descriptor, &status) == 0 && status.st_size == 0 && S_ISREG(status.st_mode);
  const std::string text = (is_new ? std::string(kFirstLine) + '\n' : "") + to_history_line(entry) + '\n';
  const std::string problem = write_locked(descriptor, text) ? "" : std::strerror(errno);
  ::close(descriptor);
  return problem;
}

std::string History::add(const std::string& entry) {
  if (entry.empty() || (!entries_.empty() && entries_.back() == entry)) return "";
  entries_.push_back(entry);
  if (file_.empty() || is_broken_) return "";
  const std::string problem = is_to_be_rewritten_ ? rewrite() : append(entry);
  is_to_be_rewritten_ = false;
  is_broken_ = !problem.empty();
  return problem.empty() ? "" : fmt::format("the history cannot be written to '{}': {}", file_, problem);
}

} // namespace tl::editor
