#include "lang/type.h"
#include <fmt/format.h>

namespace tl {

std::optional<uint32_t> Record::find(std::string_view field) const {
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == field) return static_cast<uint32_t>(i);
  return std::nullopt;
}

namespace {

void trained_leaves(const Type& type, bool trained, std::vector<bool>& into) {
  if (type.is_aggregate()) {
    for (size_t i = 0; i < type.elements.size(); ++i)
      trained_leaves(type.elements[i], trained && !(type.record && type.record->fields[i].is_state), into);
  } else if (type.is_list()) {
    std::vector<bool> inside;
    if (!type.elements.empty()) trained_leaves(type.elements[0], trained, inside);
    into.push_back(std::find(inside.begin(), inside.end(), true) != inside.end());
  } else if (type.is_tensor()) {
    into.insert(into.end(), is_complex(type.dtype) ? 2 : 1, trained && is_float(part_of(type.dtype)));
  } else if (type.is_str()) {
    into.push_back(false);
  }
}

} // namespace

std::vector<bool> trained_leaves(const Type& type) {
  std::vector<bool> result;
  trained_leaves(type, true, result);
  return result;
}

Type* part_of(Type& type, const std::vector<uint32_t>& path) {
  Type* part = &type;
  for (uint32_t step : path) {
    if (step >= part->elements.size()) return nullptr;
    part = &part->elements[step];
  }
  return part;
}

const Type* part_of(const Type& type, const std::vector<uint32_t>& path) {
  return part_of(const_cast<Type&>(type), path);
}

std::string to_string(const Type& type, const SizeAtoms& atoms) {
  switch (type.kind) {
  case TypeKind::Error: return "?";
  case TypeKind::Unit: return "()";
  case TypeKind::Str: return "str";
  case TypeKind::Range: return "range";
  case TypeKind::None: return "none";
  case TypeKind::Element: return fmt::format("the type {}", name_of(type.dtype));
  case TypeKind::Function: return "function";
  case TypeKind::List:
    return type.elements.empty() ? "List<?>" : fmt::format("List<{}>", to_string(type.elements[0], atoms));
  case TypeKind::Struct: {
    const Record& record = *type.record;
    std::string text = record.name;
    std::vector<std::string> types, sizes;
    for (const auto& place : record.types) {
      const Type* part = place ? part_of(type, place->path) : nullptr;
      types.push_back(!part                                   ? "_"
                      : part->is_tensor() && !place->is_whole ? std::string(name_of(part->dtype))
                                                              : to_string(*part, atoms));
    }
    for (const auto& place : record.sizes) {
      const Type* part = place ? part_of(type, place->path) : nullptr;
      sizes.push_back(part && place->axis < part->shape.size() ? atoms.to_string(part->shape[place->axis]) : "_");
    }
    if (!types.empty()) text += fmt::format("<{}>", fmt::join(types, ", "));
    if (!sizes.empty()) text += fmt::format("[{}]", fmt::join(sizes, ", "));
    return text;
  }
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
