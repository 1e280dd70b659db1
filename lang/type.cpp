#include "lang/type.h"
#include <fmt/format.h>

namespace tl {

std::string to_string(const Type& type, const SizeAtoms& atoms) {
  switch (type.kind) {
  case TypeKind::Error: return "?";
  case TypeKind::Unit: return "()";
  case TypeKind::Str: return "str";
  case TypeKind::Range: return "range";
  case TypeKind::None: return "none";
  case TypeKind::Element: return fmt::format("the type {}", name_of(type.dtype));
  case TypeKind::Function: return "function";
  case TypeKind::List: return "List";
  case TypeKind::Struct: return "struct";
  case TypeKind::Tensor: {
    std::string text(name_of(type.dtype));
    if (type.shape.empty()) return text;
    std::vector<std::string> sizes;
    for (const Size& size : type.shape)
      sizes.push_back(atoms.to_string(size));
    return fmt::format("{}[{}]", text, fmt::join(sizes, ", "));
  }
  case TypeKind::Tuple: {
    std::vector<std::string> elements;
    for (const Type& element : type.elements)
      elements.push_back(to_string(element, atoms));
    return fmt::format("({}{})", fmt::join(elements, ", "), elements.size() == 1 ? "," : "");
  }
  }
  return "?";
}

} // namespace tl
