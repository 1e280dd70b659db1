// What is documented, by topic and by word: for `tl doc`.
#pragma once
#include "parser/doc/library.h"
#include <optional>
#include <string>
#include <vector>

namespace tl::cli {

// A section of the prelude ("random numbers"), a module, or a file: its entries in the order of the text.
struct DocTopic {
  std::string title, doc;
  bool is_module = false;
  std::vector<Documented> entries;
};

std::vector<DocTopic> library_topics(); // the prelude's first
// What a program declares, structs first; nothing where it has syntax errors, which are shown. Throws UsageError: it
// cannot be read.
std::optional<DocTopic> file_topic(const std::string& path);

std::string index_of(const std::vector<DocTopic>& topics); // a line for each, with its names
std::string summary_of(const DocTopic& topic);             // a line for each entry
// Those whose titles have all words of `name`, or words that begin so; one that is called so stands alone.
std::vector<DocTopic> topics_named(const std::vector<DocTopic>& topics, const std::string& name, bool by_beginnings);
// Entries with all these words in their names or texts, a line for each, the likeliest first. Empty: there are none.
std::string found_in(const std::vector<DocTopic>& topics, const std::string& words);

} // namespace tl::cli
