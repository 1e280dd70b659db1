#include "cli/editor/characters.h"
#include "abi/columns.h"
#include "abi/visible.h"
#include <cctype>

namespace tl::editor {
namespace {

// Neither a surrogate nor a number in more bytes than it needs (RFC 3629), which Character does not tell.
bool is_shortest(const Character& character) {
  static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  return character.code >= kLeast[character.length] && character.code < 0x110000 &&
         (character.code < 0xd800 || character.code >= 0xe000);
}

constexpr int kTabColumns = 2;
constexpr uint32_t kJoiner = 0x200d, kNonJoiner = 0x200c;

bool is_joiner(uint32_t code) { return code == kJoiner || code == kNonJoiner; }

// Alone, where no mark follows.
int shown_columns(const Character& character) {
  if (character.code == '\t' && character.length == 1) return kTabColumns;
  if (!character.plain && !is_joiner(character.code)) return 1; // `?`
  return tl::columns_of(character.code);
}

} // namespace

Cluster cluster_at(std::string_view text, size_t at) {
  const Character first = character_at(text, at);
  Cluster cluster{first.length, shown_columns(first)};
  if (first.code == '\n' || first.code == '\t') return cluster;
  while (at + cluster.length < text.size()) {
    const Character next = character_at(text, at + cluster.length);
    if (next.code == '\n' || shown_columns(next) > 0) break;
    cluster.length += next.length;
  }
  return cluster;
}

size_t cluster_before(std::string_view text, size_t end) {
  size_t begin = end;
  auto step_back = [&] {
    do
      --begin;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80);
  };
  if (begin > 0) step_back();
  while (begin > 0 && cluster_at(text, begin).columns == 0 && text[begin] != '\n' && text[begin - 1] != '\n' &&
         text[begin - 1] != '\t')
    step_back();
  return begin;
}

int columns_of(std::string_view text) {
  int sum = 0;
  for (size_t i = 0; i < text.size();) {
    const Cluster cluster = cluster_at(text, i);
    sum += cluster.columns;
    i += cluster.length;
  }
  return sum;
}

std::string shown(std::string_view cluster) {
  if (cluster == "\t") return std::string(kTabColumns, ' ');
  std::string result;
  for (size_t i = 0; i < cluster.size();) {
    const Character character = character_at(cluster, i);
    if (character.plain || is_joiner(character.code))
      result += cluster.substr(i, character.length);
    else
      result += '?';
    i += character.length;
  }
  return result;
}

std::string cleaned(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const Character character = character_at(text, i);
    const std::string_view bytes = text.substr(i, character.length);
    i += character.length;
    if (character.code == '\r') {
      if (i >= text.size() || text[i] != '\n') result += '\n';
      continue;
    }
    const bool is_control = (character.code < 0x20 && character.code != '\n' && character.code != '\t') ||
                            (character.code >= 0x7f && character.code < 0xa0);
    if (character.valid && !is_control && is_shortest(character)) result += bytes;
  }
  return result;
}

bool is_word(std::string_view cluster) {
  const auto first = static_cast<unsigned char>(cluster[0]);
  return first >= 0x80 || std::isalnum(first) || first == '_';
}

} // namespace tl::editor
