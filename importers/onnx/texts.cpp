// Names, and how values and sizes are written.
#include "importers/onnx/importer.h"
#include "vm/io/io.h"
#include <cctype>
#include <fmt/format.h>

namespace tl::onnx {
namespace {

constexpr size_t kLongSize = 28;        // a longer size gets a name
constexpr int64_t kLargestLiteral = 16; // more floats than these are weights
constexpr int64_t kLargestIndexLiteral = 64;

// The last parts of a path, as few as two.
std::string_view last_parts(std::string_view name, size_t parts) {
  size_t at = name.size();
  while (parts-- > 0) {
    const size_t slash = at == 0 ? std::string_view::npos : name.rfind('/', at - 1);
    if (slash == std::string_view::npos) return name;
    at = slash;
  }
  return name.substr(at + 1);
}

// What a person would call it: "/encoder/layer.0/Add_output_0" is encoder_layer_0_add.
std::string identifier(std::string_view name) {
  if (name.ends_with("_output_0")) name.remove_suffix(9);
  if (name.ends_with(":0")) name.remove_suffix(2);
  std::string result;
  for (char c : name) {
    if (is_word(c))
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!result.empty() && result.back() != '_')
      result += '_';
  }
  while (!result.empty() && result.back() == '_')
    result.pop_back();
  const size_t first = result.find_first_not_of('_');
  result = first == std::string::npos ? "" : result.substr(first);
  constexpr size_t kLongest = 60;
  if (result.size() > kLongest) result = result.substr(result.find('_', result.size() - kLongest) + 1);
  if (result.empty()) return "v";
  if (std::isdigit(static_cast<unsigned char>(result[0]))) result.insert(0, "v");
  return result;
}

// Does it bind as tightly as a name, so that it may stand as an operand?
bool is_tight(std::string_view text) {
  const size_t sign = text.starts_with('-') ? 1 : 0;
  if (text.size() > sign && std::isdigit(static_cast<unsigned char>(text[sign])) &&
      text.find_first_not_of("0123456789.e-+_") == std::string::npos)
    return text.find_first_of("+-", sign) == std::string::npos || text.find('e') != std::string::npos;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[')
      ++depth;
    else if (c == ')' || c == ']')
      --depth;
    else if (depth == 0 && !is_word(c) && c != '.')
      return false;
  }
  return true;
}

} // namespace

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string short_name(std::string_view name) { return identifier(last_parts(name, 2)); }

std::string Importer::fresh_name(std::string_view wish) {
  return fresh_name(wish, block_->is_constant ? constant_names_ : names_);
}

std::string Importer::fresh_name(std::string_view wish, Names& among) {
  auto take = [&](const std::string& name) {
    if (!among.taken.insert(name).second) return false;
    among.given.push_back(name);
    return true;
  };
  for (size_t parts = 2; parts < 5; ++parts)
    if (std::string name = identifier(last_parts(wish, parts)); take(name)) return name;
  const std::string name = short_name(wish);
  for (int& next = among.suffixes[name];;)
    if (std::string other = fmt::format("{}_{}", name, ++next); take(other)) return other;
}

std::string Importer::number_text(DType dtype, const Number& number) {
  if (!number.is_constant()) {
    if (number.is_integer()) {
      std::string size = size_text(number.top);
      if (dtype == DType::I64) return size;
      if (dtype == DType::Bool) return fmt::format("{} != 0", size);
      return fmt::format("{}({})", name_of(dtype), size);
    }
    return fmt::format("{0}({1}) / {0}({2})", name_of(dtype), size_text(number.top), size_text(number.bottom));
  }
  return format_scalar(dtype, number.scalar(dtype));
}

std::string Importer::literal(DType dtype, const Contents& contents) {
  if (contents.items.empty()) {
    std::string dims;
    for (int64_t d : contents.dims)
      dims += fmt::format("{}{}", dims.empty() ? "" : ", ", d);
    return fmt::format("zeros([{}], {})", dims, name_of(dtype));
  }
  size_t next = 0;
  auto nested = [&](auto& self, size_t axis) -> std::string {
    if (axis == contents.dims.size()) return number_text(dtype, contents.items[next++]);
    std::string text;
    for (int64_t i = 0; i < contents.dims[axis]; ++i)
      text += (i ? ", " : "") + self(self, axis + 1);
    return "[" + text + "]";
  };
  std::string text = nested(nested, 0);
  const bool is_usual = dtype == DType::Bool || dtype == DType::I64 || dtype == DType::F32;
  if (is_usual || !contents.is_constant()) return text; // else each element says its type
  return fmt::format("{}({})", name_of(dtype), text);
}

std::string Importer::text(Value& value) {
  if (value.is_none) throw Refused("an optional value that is not there is read");
  if (value.sequence && value.text.empty()) {
    if (!value.sequence->items->empty()) list_type(*value.sequence); // can it be a list?
    std::string items;
    for (const ValuePtr& item : *value.sequence->items)
      items += (items.empty() ? "" : ", ") + typed_text(*item);
    return fmt::format("list({})", items);
  }
  if (!value.text.empty() && !value.is_constant) return is_tight(value.text) ? value.text : "(" + value.text + ")";
  const bool pending = value.is_constant && !value.text.empty() && !value.constant;
  if (pending && block_->is_constant) return value.text; // a variable there
  const Contents* known = pending ? nullptr : contents(value);
  const bool inlined = known && (!known->is_constant() || known->dims.empty() ||
                                 static_cast<int64_t>(known->items.size()) <=
                                     (is_float(value.dtype) ? kLargestLiteral : kLargestIndexLiteral));
  if (inlined) {
    std::string result = literal(value.dtype, *known);
    return is_tight(result) ? result : "(" + result + ")";
  }
  if (value.is_constant) return weight(value);
  throw Refused(fmt::format("the value of `{}` is not known", value.name));
}

std::string Importer::typed_text(Value& value) {
  std::string result = text(value);
  const bool is_open =
      value.contents && value.text.empty() && value.dims.empty() && (is_float(value.dtype) || is_int(value.dtype));
  return is_open ? fmt::format("{}({})", name_of(value.dtype), result) : result;
}

std::string Importer::list_type(const Sequence& sequence) {
  if (!sequence.element) throw Refused("how many axes the elements of a sequence have is not known");
  std::string dims;
  for (const Size& d : *sequence.element)
    dims += fmt::format("{}{}", dims.empty() ? "" : ", ", d.is_constant() ? std::to_string(d.constant()) : "_");
  return fmt::format("List<{}{}>", name_of(sequence.dtype), dims.empty() ? "" : "[" + dims + "]");
}

std::string Importer::size_text(const Size& size) {
  if (size.is_too_large()) throw Refused("a size is too large for an integer of 64 bits");
  if (size.is_constant() || (size.as_atom() && sizes_.is_leaf(*size.as_atom()))) return sizes_.to_string(size);
  auto named = block_->sizes.find(size);
  if (named != block_->sizes.end()) return named->second;
  // What is divided or compared inside gets a name first, so that texts stay short.
  std::map<AtomId, Size> by;
  for (const Size::Term& term : size.terms)
    for (AtomId id : term.atoms) {
      if (sizes_.is_leaf(id) || size.as_atom() == id) continue;
      if (const std::string inner = sizes_.to_string(Size::of(id));
          inner.size() <= kLongSize / 2 && inner.find("…") == std::string::npos)
        continue;
      const Size alone = Size::of(id);
      std::string name = size_text(alone);
      if (is_tight(name)) by[id] = Size::of(sizes_.add({AtomKind::Value, name, {}, false, {}, {}}));
    }
  std::string text = by.empty() ? sizes_.to_string(size) : sizes_.to_string(sizes_.substitute(size, by));
  if (text.size() <= kLongSize && text.find("…") == std::string::npos) return text;
  if (size.as_atom() && !sizes_.is_leaf(*size.as_atom())) { // one division: name what is inside
    const SizeAtom atom = sizes_[*size.as_atom()];
    const std::string a = size_text(atom.a), b = size_text(atom.b);
    auto tight = [](const std::string& t) { return is_tight(t) ? t : "(" + t + ")"; };
    if (atom.kind == AtomKind::FloorDiv) text = fmt::format("{} // {}", tight(a), tight(b));
    if (atom.kind == AtomKind::Positive) text = fmt::format("max({}, 0)", a);
  }
  if (text.find("…") != std::string::npos) throw Refused("a size is too intricate");
  std::string name = fresh_name("size");
  write(fmt::format("let {} = {}", name, text));
  note_size(name);
  block_->sizes[size] = name;
  return name;
}

std::string Importer::dims_text(const Dims& dims) {
  std::string text;
  for (const Size& size : dims)
    text += (text.empty() ? "" : ", ") + size_text(size);
  return "[" + text + "]";
}

} // namespace tl::onnx
