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
  } else {
    const size_t bracket = type.find('[');
    out.dtype = find_dtype(type.substr(0, bracket));
    if (out.dtype) out.kind = bracket == type.npos ? Parameter::Scalar : Parameter::Tensor;
  }
  return out;
}

} // namespace tl::python
