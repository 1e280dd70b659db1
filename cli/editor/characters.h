// Text as a terminal shows it: what the cursor steps over as one, and how many columns it takes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tl::editor {

// A character and the marks on it.
struct Cluster {
  size_t length; // in bytes
  int columns;
};
Cluster cluster_at(std::string_view text, size_t at);
size_t cluster_before(std::string_view text, size_t end); // where the one that ends there begins; 0 at the start
int columns_of(std::string_view text);                    // of text without ends of lines

// A cluster as it may be written to a terminal: what would disturb it is `?`, a tab is blanks.
std::string shown(std::string_view cluster);

// What a text from outside may bring into a program: UTF-8 without control characters but \n and \t; \r\n and \r are
// \n.
std::string cleaned(std::string_view text);

bool is_word(std::string_view cluster); // part of a name or a number

} // namespace tl::editor
