#include "abi/json.h"
#include "abi/visible.h"
#include <fmt/format.h>

namespace tl {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const Character c = character_at(text, i);
    if (!c.valid)
      out += "\\ufffd";
    else if (c.code == '"' || c.code == '\\')
      out += fmt::format("\\{}", static_cast<char>(c.code));
    else if (c.code == '\n')
      out += "\\n";
    else if (!c.plain && c.code <= 0xffff) // all that are not
      out += fmt::format("\\u{:04x}", c.code);
    else
      out += text.substr(i, c.length);
    i += c.length;
  }
  return out + '"';
}

} // namespace tl
