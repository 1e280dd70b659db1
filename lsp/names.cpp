#include "lsp/names.h"
#include "parser/syntax/highlight.h"
#include <algorithm>
#include <cctype>

namespace tl::lsp {

bool is_visible_elsewhere(const Symbol& symbol) {
  return symbol.kind == SymbolKind::Field || symbol.owner >= 0 ||
         (symbol.extent.end == UINT32_MAX && symbol.kind != SymbolKind::Module);
}

bool is_name(std::string_view text) {
  const bool is_word = !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
                       std::all_of(text.begin(), text.end(),
                                   [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)); });
  return is_word && text != "_" && highlight(text).front().kind != TextClass::Keyword;
}

} // namespace tl::lsp
