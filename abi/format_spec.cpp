#include "abi/format_spec.h"
#include <fmt/format.h>

namespace tl {
namespace {

constexpr int64_t kLongest = 10000; // of width and precision: no line of output is longer

bool is_align(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view name_of(FormatCategory c) {
  switch (c) {
  case FormatCategory::Bool: return "bools";
  case FormatCategory::Int: return "integers";
  case FormatCategory::Float: return "floats";
  case FormatCategory::Str: return "text";
  }
  return "";
}

// Returns what is wrong, or nothing and fills `number`.
std::optional<std::string> parse_number(std::string_view text, size_t& at, int64_t& number) {
  number = 0;
  while (at < text.size() && is_digit(text[at])) {
    number = number * 10 + (text[at++] - '0');
    if (number > kLongest) return fmt::format("a width or precision above {} is not supported", kLongest);
  }
  return std::nullopt;
}

std::optional<std::string> parse_layout(std::string_view text, size_t& at, FormatCategory category, FormatSpec& spec) {
  auto peek = [&](size_t i) { return at + i < text.size() ? text[at + i] : '\0'; };
  bool fill_given = false;
  size_t first = text.empty() ? 0 : utf8_length(text);
  if (!text.empty() && is_align(peek(first))) {
    spec.fill = std::string(text.substr(0, first));
    spec.align = peek(first);
    at += first + 1;
    fill_given = true;
  } else if (is_align(peek(0))) {
    spec.align = text[at++];
  }
  if (peek(0) == '+' || peek(0) == '-' || peek(0) == ' ') {
    spec.sign = text[at++];
    spec.sign_given = true;
  }
  if (peek(0) == 'z') spec.no_negative_zero = true, ++at;
  if (peek(0) == '#') spec.alternate = true, ++at;
  if (!fill_given && peek(0) == '0') {
    spec.fill.assign(1, '0');
    if (!spec.align && category != FormatCategory::Str) spec.align = '=';
    ++at;
  }
  if (is_digit(peek(0)))
    if (auto wrong = parse_number(text, at, spec.width)) return wrong;
  if (peek(0) == ',' || peek(0) == '_') {
    spec.grouping = text[at++];
    if (peek(0) == ',' || peek(0) == '_') return "only one of `,` and `_` may group digits";
  }
  if (peek(0) == '.') {
    ++at;
    if (!is_digit(peek(0))) return "a precision needs digits after the `.`";
    if (auto wrong = parse_number(text, at, spec.precision)) return wrong;
  }
  return std::nullopt;
}

// What does not go with a value that is shown as text.
std::optional<std::string> misfit_of_text(const FormatSpec& spec, FormatCategory category) {
  const std::string_view name = name_of(category);
  if (spec.sign_given) return fmt::format("a sign does not fit {}", name);
  if (spec.alternate) return fmt::format("`#` does not fit {}", name);
  if (spec.no_negative_zero) return fmt::format("`z` does not fit {}", name);
  if (spec.grouping) return fmt::format("`{}` does not fit {}", spec.grouping, name);
  if (spec.align == '=') return fmt::format("alignment `=` does not fit {}", name);
  return std::nullopt;
}

std::optional<std::string> misfit_of_integer(const FormatSpec& spec, FormatCategory category) {
  const char t = spec.type;
  const std::string format = fmt::format("{} in format `{}`", name_of(category), t ? t : 'd');
  if (spec.precision >= 0) return fmt::format("a precision does not fit {}", format);
  if (spec.no_negative_zero) return fmt::format("`z` does not fit {}", format);
  if (t == 'c' && (spec.sign_given || spec.alternate)) return "a sign or `#` does not fit format `c`";
  if (t == 'c' && spec.grouping) return fmt::format("`{}` does not fit format `c`", spec.grouping);
  if (spec.grouping == ',' && (t == 'b' || t == 'o' || t == 'x' || t == 'X'))
    return fmt::format("`,` does not fit format `{}`; `_` does", t);
  return std::nullopt;
}

} // namespace

std::optional<std::string> parse_format(std::string_view text, FormatCategory category, FormatSpec& spec) {
  size_t at = 0;
  if (auto wrong = parse_layout(text, at, category, spec)) return wrong;
  if (at < text.size()) {
    spec.type = text[at++];
    if (at < text.size() ||
        !(is_float_format(spec.type) || is_int_format(spec.type) || spec.type == 'n' || spec.type == 's'))
      return fmt::format("`{}` is not a format specification", text);
  }
  const char t = spec.type;
  const bool is_text = category == FormatCategory::Str, is_bool = category == FormatCategory::Bool;
  if ((is_text && t && t != 's') || (t == 's' && !is_text && !is_bool))
    return fmt::format("`{}` does not fit {}", t, name_of(category));
  if (category == FormatCategory::Float && is_int_format(t))
    return fmt::format("`{}` is for integers, and these are floats", t);
  const bool as_float = is_float_format(t) || (category == FormatCategory::Float && (!t || t == 'n'));
  std::optional<std::string> wrong;
  if (is_text || (is_bool && (!t || t == 's')))
    wrong = misfit_of_text(spec, category);
  else if (!as_float)
    wrong = misfit_of_integer(spec, category);
  if (wrong) return wrong;
  if (spec.grouping && t == 'n') return fmt::format("`{}` does not fit format `n`", spec.grouping);
  return std::nullopt;
}

} // namespace tl
