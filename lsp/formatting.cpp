// What `tl fmt` writes, as an edit.
#include "lsp/features.h"
#include "parser/format/format.h"
#include <algorithm>

namespace tl::lsp {
namespace {

// What ends its lines: of a text with both, what ends the first.
bool has_carriage_returns(const std::string& text) {
  const size_t end = text.find('\n');
  return end != std::string::npos && end > 0 && text[end - 1] == '\r';
}

std::string with_carriage_returns(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') result += '\r';
    result += c;
  }
  return result;
}

} // namespace

Json formatting(Workspace& workspace, const Json& params) {
  const Document& document = workspace.document(params);
  const std::string& before = document.text.bytes();
  SourceManager sources;
  Diagnostics diagnostics;
  std::optional<std::string> after = format_source(sources, sources.add(document.name, before), diagnostics);
  if (!after) return nullptr; // the diagnostics say why
  if (has_carriage_returns(before)) after = with_carriage_returns(*after);
  if (*after == before) return Json::array();
  // Only the lines that differ, so that cursors and marks stay where they are.
  auto [first, first_after] = std::mismatch(before.begin(), before.end(), after->begin(), after->end());
  size_t begin = static_cast<size_t>(first - before.begin());
  while (begin > 0 && before[begin - 1] != '\n')
    --begin;
  size_t end = before.size(), end_after = after->size();
  while (end > begin && end_after > begin && before[end - 1] == (*after)[end_after - 1])
    --end, --end_after;
  while (end < before.size() && end > 0 && before[end - 1] != '\n')
    ++end, ++end_after;
  return Json::array(
      {{{"range", workspace.range(document.text, static_cast<uint32_t>(begin), static_cast<uint32_t>(end))},
        {"newText", after->substr(begin, end_after - begin)}}});
}

} // namespace tl::lsp
