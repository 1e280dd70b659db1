// Questions about names that several requests ask.
#pragma once
#include "parser/index/index.h"
#include <string_view>

namespace tl::lsp {

// May another file name it?
bool is_visible_elsewhere(const Symbol& symbol);

// Can it be one?
bool is_name(std::string_view text);

} // namespace tl::lsp
