#include "lsp/names.h"
#include "parser/syntax/highlight.h"
#include "parser/syntax/names.h"

namespace tl::lsp {

bool is_visible_elsewhere(const Symbol& symbol) {
  return symbol.kind == SymbolKind::Field || symbol.owner >= 0 ||
         (symbol.extent.end == UINT32_MAX && symbol.kind != SymbolKind::Module);
}

bool is_name(std::string_view text) {
  return is_name_text(text) && text != "_" && highlight(text).front().kind != TextClass::Keyword;
}

} // namespace tl::lsp
