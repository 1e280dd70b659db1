#include "parser/check/library_parts.h"
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tl {
namespace {

bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_word_start(c) || (c >= '0' && c <= '9'); }

// The word at `at`, which may be empty.
std::string_view word_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_word(text[end]))
    ++end;
  return text.substr(at, end - at);
}

size_t after_line(std::string_view text, size_t at) {
  size_t end = text.find('\n', at);
  return end == std::string_view::npos ? text.size() : end + 1;
}

// A declaration or another statement: bytes [begin, end) of a file.
struct Part {
  size_t file = 0, begin = 0, end = 0;
  bool kept = false;
};

class Reach {
public:
  explicit Reach(const std::vector<LibraryFile>& library) : library_(library) {
    for (size_t file = 0; file < library.size(); ++file)
      cut(file);
  }

  void use(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i)
      if (is_word_start(text[i])) {
        std::string_view word = word_at(text, i);
        i += word.size();
        if (words_.insert(word).second) new_words_.push_back(word);
        for (const auto& [builtin, function] : kWrittenInLibrary)
          if (word == builtin && words_.insert(function).second) new_words_.push_back(function);
      }
  }

  std::vector<std::string> finish() {
    open("prelude");
    while (!new_words_.empty()) {
      std::string_view word = new_words_.back();
      new_words_.pop_back();
      open(word);
      if (auto declared = declared_.find(word); declared != declared_.end())
        for (size_t part : declared->second)
          keep(part);
    }
    std::vector<std::string> texts(library_.size());
    std::vector<size_t> ends(library_.size(), 0); // of what texts have so far
    for (const Part& part : parts_)
      if (part.kept) {
        std::string_view text = library_[part.file].text;
        const auto first = text.begin() + static_cast<ptrdiff_t>(ends[part.file]);
        const auto begin = text.begin() + static_cast<ptrdiff_t>(part.begin);
        texts[part.file].append(static_cast<size_t>(std::count(first, begin, '\n')), '\n');
        texts[part.file] += text.substr(part.begin, part.end - part.begin);
        ends[part.file] = part.end;
      }
    return texts;
  }

private:
  void cut(size_t file) {
    std::string_view text = library_[file].text;
    bool continues = false;
    for (size_t begin = 0; begin < text.size(); begin = after_line(text, begin)) {
      char first = text[begin];
      if (is_word_start(first)) {
        std::string_view word = word_at(text, begin);
        Part part{file, begin, after_line(text, begin), false};
        if (word == "fn" || word == "struct" || word == "const")
          declared_[word_at(text, begin + word.size() + 1)].push_back(parts_.size());
        else
          statements_[file].push_back(parts_.size());
        parts_.push_back(part);
        continues = true;
      } else if (first == '#') {
        continues = false;
      } else if (continues) {
        parts_.back().end = after_line(text, begin);
      }
    }
  }

  // A module that is named: its statements run.
  void open(std::string_view module) {
    for (size_t file = 0; file < library_.size(); ++file)
      if (library_[file].name == module && variables_.insert(file).second) {
        for (size_t part : statements_[file])
          keep(part);
        for (const auto& [name, parts] : declared_) // named before the module was
          if (words_.count(name))
            for (size_t part : parts)
              keep(part);
      }
  }

  void keep(size_t index) {
    Part& part = parts_[index];
    if (part.kept || !variables_.count(part.file)) return;
    part.kept = true;
    use(library_[part.file].text.substr(part.begin, part.end - part.begin));
  }

  const std::vector<LibraryFile>& library_;
  std::vector<Part> parts_;
  std::unordered_map<std::string_view, std::vector<size_t>> declared_; // parts by the name that they declare
  std::unordered_map<size_t, std::vector<size_t>> statements_;         // other parts, by file
  std::unordered_set<std::string_view> words_;
  std::vector<std::string_view> new_words_;
  std::unordered_set<size_t> variables_; // files
};

} // namespace

std::vector<std::string> reachable_parts(const std::vector<std::string_view>& program,
                                         const std::vector<LibraryFile>& library) {
  Reach reach(library);
  for (std::string_view text : program)
    reach.use(text);
  return reach.finish();
}

} // namespace tl
