#include "parameter.h"

namespace tl::python {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  return text;
}

// The end of `text`, without the brackets, split at commas that are in no others.
std::vector<std::string_view> elements(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t from = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '(' || c == '[' || c == '<') ++depth;
    if (c == ')' || c == ']' || (c == '>' && !(i && text[i - 1] == '-'))) --depth;
    if (c != ',' || (depth && i < text.size())) continue;
    parts.push_back(trimmed(text.substr(from, i - from)));
    from = i + 1;
  }
  return parts;
}

} // namespace

Parameter parse_parameter(std::string_view name, std::string_view type) {
  type = trimmed(type);
  Parameter out;
  out.name = name;
  out.type = type;
  if (type == "str") {
    out.kind = Parameter::Text;
  } else if (type.substr(0, 5) == "List<" && type.back() == '>') {
    out.kind = Parameter::List;
    out.inside.push_back(parse_parameter("", type.substr(5, type.size() - 6)));
  } else if (type.size() > 1 && type.front() == '(' && type.back() == ')') {
    out.kind = Parameter::Tuple;
    for (std::string_view part : elements(type.substr(1, type.size() - 2)))
      if (!part.empty()) out.inside.push_back(parse_parameter("", part));
  } else {
    const size_t bracket = type.find('[');
    out.dtype = find_dtype(type.substr(0, bracket));
    if (out.dtype) out.kind = bracket == type.npos ? Parameter::Scalar : Parameter::Tensor;
  }
  return out;
}

} // namespace tl::python
