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

// What stands between the commas outside of brackets.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += (c == '(' || c == '[' || c == '<') - (c == ')' || c == ']' || (c == '>' && (!i || text[i - 1] != '-')));
    if (c != ',' || depth > 0) continue;
    if (const std::string_view part = trimmed(text.substr(begin, i - begin)); !part.empty()) parts.push_back(part);
    begin = i + 1;
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
  } else if (type.size() > 2 && type.front() == '(' && type.back() == ')') {
    out.kind = Parameter::Tuple;
    for (const std::string_view part : split(type.substr(1, type.size() - 2)))
      out.inside.push_back(parse_parameter(name, part));
  } else if (type.substr(0, 5) == "List<" && type.back() == '>') {
    out.kind = Parameter::List;
    out.inside.push_back(parse_parameter(name, type.substr(5, type.size() - 6)));
  } else {
    const size_t bracket = type.find('[');
    out.dtype = find_dtype(type.substr(0, bracket));
    if (out.dtype) out.kind = bracket == type.npos ? Parameter::Scalar : Parameter::Tensor;
  }
  return out;
}

std::vector<Parameter> parameters_of_lambda(std::string_view expression) {
  std::vector<Parameter> found;
  const size_t end = expression.find('|', 1);
  if (end == expression.npos || expression[0] != '|') return found;
  for (const std::string_view part : split(expression.substr(1, end - 1))) {
    const size_t colon = part.find(':');
    const std::string_view type = colon == part.npos ? std::string_view() : part.substr(colon + 1);
    found.push_back(parse_parameter(trimmed(part.substr(0, colon)), type));
  }
  return found;
}

} // namespace tl::python
