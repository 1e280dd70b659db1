// Values in Python's format specifications, as CPython's formatter_unicode.c applies them, in the C locale.
#include "abi/device.h"
#include "abi/format_spec.h"
#include "abi/repr.h"
#include "vm/io/io.h"
#include "vm/io/number.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace tl {

namespace {

std::string repeat(std::string_view text, int64_t times) {
  std::string out;
  for (int64_t i = 0; i < times; ++i)
    out += text;
  return out;
}

// A number laid out: sign, prefix such as 0x, digits before the point, and the rest (".5e+10").
struct Parts {
  std::string sign, prefix, digits, rest;
};

// Digits in groups from the right, filled up with zeros to `least` characters; never starts with a separator.
std::string grouped(std::string_view digits, char separator, int64_t group, int64_t least) {
  std::string out;
  auto remaining = static_cast<int64_t>(digits.size());
  if (!separator) return repeat("0", least - remaining) + std::string(digits);
  while (true) {
    int64_t length = std::min(group, std::max({remaining, least, int64_t{1}}));
    int64_t taken = std::max<int64_t>(0, std::min(remaining, length));
    std::string piece = repeat("0", length - taken);
    piece += digits.substr(static_cast<size_t>(remaining - taken), static_cast<size_t>(taken));
    out.insert(0, piece);
    remaining -= taken;
    least -= length;
    if (remaining <= 0 && least <= 0) return out;
    out.insert(out.begin(), separator);
    least -= 1;
  }
}

std::string pad(const std::string& left, const std::string& right, const FormatSpec& spec, char default_align) {
  auto length = static_cast<int64_t>(code_points(left) + code_points(right));
  int64_t missing = std::max<int64_t>(0, spec.width - length);
  switch (spec.align ? spec.align : default_align) {
  case '<': return left + right + repeat(spec.fill, missing);
  case '^': return repeat(spec.fill, missing / 2) + left + right + repeat(spec.fill, missing - missing / 2);
  case '=': return left + repeat(spec.fill, missing) + right;
  default: return repeat(spec.fill, missing) + left + right;
  }
}

std::string lay_out(const Parts& parts, const FormatSpec& spec, int64_t group) {
  std::string digits;
  if (!parts.digits.empty()) {
    auto others = static_cast<int64_t>(parts.sign.size() + parts.prefix.size() + parts.rest.size());
    int64_t least = spec.fill == "0" && spec.align == '=' ? spec.width - others : 0;
    digits = grouped(parts.digits, spec.grouping, group, least);
  }
  return pad(parts.sign + parts.prefix, digits + parts.rest, spec, '>');
}

std::string sign_of(bool negative, const FormatSpec& spec) {
  if (negative) return "-";
  return spec.sign == '+' ? "+" : spec.sign == ' ' ? " " : "";
}

std::string utf8(uint64_t code) {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = 0xfffd; // total: the replacement character
  auto byte = [](uint64_t b) { return static_cast<char>(b); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xc0 | code >> 6), byte(0x80 | (code & 63))};
  if (code < 0x10000) return {byte(0xe0 | code >> 12), byte(0x80 | (code >> 6 & 63)), byte(0x80 | (code & 63))};
  return {byte(0xf0 | code >> 18), byte(0x80 | (code >> 12 & 63)), byte(0x80 | (code >> 6 & 63)),
          byte(0x80 | (code & 63))};
}

std::string format_integer(Integer value, const FormatSpec& spec) {
  if (spec.type == 'c') return pad("", utf8(value.negative ? 0xfffd : value.magnitude), spec, '>');
  unsigned base = spec.type == 'b' ? 2 : spec.type == 'o' ? 8 : spec.type == 'x' || spec.type == 'X' ? 16 : 10;
  Parts parts;
  const char* symbols = spec.type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  uint64_t rest = value.magnitude;
  do
    parts.digits += symbols[rest % base];
  while (rest /= base);
  std::reverse(parts.digits.begin(), parts.digits.end());
  parts.sign = sign_of(value.negative, spec);
  if (spec.alternate && base != 10) parts.prefix = {'0', spec.type};
  return lay_out(parts, spec, base == 10 ? 3 : 4);
}

// As CPython's format_float_short lays digits out. kind: 'r' shortest, else e, f or g.
void lay_out_digits(const Decimal& decimal, char kind, int precision, bool add_dot_0, bool alternate, Parts& parts) {
  int point = decimal.point, end = static_cast<int>(decimal.digits.size()), exponent = 0;
  bool use_exponent = false;
  if (kind == 'e') use_exponent = true, end = precision + 1;
  if (kind == 'f') end = point + precision;
  if (kind == 'g') {
    use_exponent = point <= -4 || point > precision - (add_dot_0 ? 1 : 0);
    if (alternate) end = precision;
  }
  if (kind == 'r') use_exponent = point <= -4 || point > 16;
  if (use_exponent) {
    exponent = point - 1;
    point = 1;
  }
  end = std::max(end, !use_exponent && add_dot_0 ? point + 1 : point);
  int begin = point <= 0 ? point - 1 : 0;
  auto digit = [&](int i) {
    return i >= 0 && i < static_cast<int>(decimal.digits.size()) ? decimal.digits[static_cast<size_t>(i)] : '0';
  };
  for (int i = begin; i < point; ++i)
    parts.digits += digit(i);
  if (end > point || alternate) parts.rest += '.';
  for (int i = point; i < end; ++i)
    parts.rest += digit(i);
  if (use_exponent) parts.rest += fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
}

// `shortest` is used when the specification asks for no digits of its own.
std::string format_double(double value, const Decimal* shortest, const FormatSpec& spec) {
  char kind = spec.type ? spec.type : 'r';
  bool percent = kind == '%', upper = kind == 'E' || kind == 'F' || kind == 'G';
  if (percent) kind = 'f', value *= 100;
  if (upper) kind = static_cast<char>(kind - 'A' + 'a');
  if (kind == 'n') kind = 'g';
  bool add_dot_0 = kind == 'r';
  int precision = static_cast<int>(spec.precision);
  if (kind == 'r' && precision >= 0) kind = 'g';
  if (precision < 0) precision = 6;
  if (kind == 'g' && precision == 0) precision = 1;
  Decimal decimal = kind == 'r'   ? *shortest
                    : kind == 'f' ? fixed_decimal(value, precision)
                                  : significant_decimal(value, kind == 'e' ? precision + 1 : precision);
  Parts parts;
  if (decimal.special)
    parts.rest = decimal.special;
  else
    lay_out_digits(decimal, kind, precision, add_dot_0, spec.alternate, parts);
  if (percent) parts.rest += '%';
  if (upper)
    for (char& c : parts.rest)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  bool zero = !decimal.special && decimal.digits == "0";
  parts.sign = sign_of(decimal.negative && !(zero && spec.no_negative_zero), spec);
  return lay_out(parts, spec, 3);
}

FormatCategory category_of(DType type) {
  return type == DType::Bool ? FormatCategory::Bool : is_float(type) ? FormatCategory::Float : FormatCategory::Int;
}

} // namespace

std::optional<std::string> check_format(std::string_view text, DType dtype) {
  FormatSpec spec;
  return parse_format(text, dtype == DType::Device ? FormatCategory::Str : category_of(dtype), spec);
}

std::optional<std::string> check_format_of_string(std::string_view text) {
  FormatSpec spec;
  return parse_format(text, FormatCategory::Str, spec);
}

namespace {

// Characters beyond ASCII that Python does not print: controls, formats, private use, and spaces of other widths.
// Unassigned ones are left as they are: which these are depends on Python's version.
constexpr std::pair<uint32_t, uint32_t> kUnprintable[] = {
    {0x80, 0xa0},       {0xad, 0xad},        {0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},
    {0x70f, 0x70f},     {0x890, 0x891},      {0x8e2, 0x8e2},     {0x1680, 0x1680},   {0x180e, 0x180e},
    {0x2000, 0x200f},   {0x2028, 0x202f},    {0x205f, 0x2064},   {0x2066, 0x206f},   {0x3000, 0x3000},
    {0xe000, 0xf8ff},   {0xfeff, 0xfeff},    {0xfff9, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
    {0x13430, 0x13438}, {0x1bca0, 0x1bca3},  {0x1d173, 0x1d17a}, {0xe0001, 0xe0001}, {0xe0020, 0xe007f},
    {0xf0000, 0xffffd}, {0x100000, 0x10fffd}};

bool is_printable(uint32_t c) {
  if (c < 0x80) return c >= 0x20 && c != 0x7f;
  return std::none_of(std::begin(kUnprintable), std::end(kUnprintable),
                      [&](auto range) { return range.first <= c && c <= range.second; });
}

uint32_t code_point(std::string_view character) { // of one in UTF-8
  auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  uint32_t c = first & (0x7fu >> character.size());
  for (char next : character.substr(1))
    c = c << 6 | (static_cast<unsigned char>(next) & 0x3f);
  return c;
}

// Between single quotes, or double ones if it has single ones and no double ones.
std::string repr(std::string_view text) {
  const bool has_single = text.find('\'') != text.npos, has_double = text.find('"') != text.npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string result(1, quote);
  for (size_t at = 0; at < text.size();) {
    std::string_view character = text.substr(at, utf8_length(text.substr(at)));
    at += character.size();
    const uint32_t c = code_point(character);
    if (character[0] == quote || character[0] == '\\')
      result += fmt::format("\\{}", character);
    else if (is_printable(c))
      result += character;
    else if (c == '\n' || c == '\r' || c == '\t')
      result += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    else if (c < 0x100)
      result += fmt::format("\\x{:02x}", c);
    else
      result += c < 0x10000 ? fmt::format("\\u{:04x}", c) : fmt::format("\\U{:08x}", c);
  }
  return result + quote;
}

} // namespace

std::string format_string(std::string_view text, std::string_view spec_text) {
  if (spec_text.empty()) return std::string(text);
  if (spec_text == kRepr) return repr(text);
  FormatSpec spec;
  if (auto wrong = parse_format(spec_text, FormatCategory::Str, spec)) throw std::invalid_argument(*wrong);
  if (spec.precision >= 0) {
    size_t end = 0;
    for (int64_t i = 0; i < spec.precision && end < text.size(); ++i)
      end += utf8_length(text.substr(end));
    text = text.substr(0, end);
  }
  return pad("", std::string(text), spec, '<');
}

std::string format_scalar(DType dtype, Scalar value, std::string_view spec_text) {
  if (dtype == DType::I64 && spec_text.empty()) return std::to_string(value.as<int64_t>());
  if (dtype == DType::Device) return format_string(device_name(value.as<int64_t>()), spec_text);
  FormatCategory category = category_of(dtype);
  FormatSpec spec;
  if (auto wrong = parse_format(spec_text, category, spec)) throw std::invalid_argument(*wrong);
  if (category == FormatCategory::Float) {
    Decimal shortest;
    if (!spec.type && spec.precision < 0) shortest = shortest_decimal(dtype, value);
    return format_double(float_value(dtype, value), &shortest, spec);
  }
  Integer integer = integer_value(dtype, value);
  if (category == FormatCategory::Bool && (!spec.type || spec.type == 's')) {
    std::string_view word = integer.magnitude ? "true" : "false";
    if (spec.precision >= 0) word = word.substr(0, static_cast<size_t>(spec.precision));
    return pad("", std::string(word), spec, '<');
  }
  if (!is_float_format(spec.type)) return format_integer(integer, spec);
  auto magnitude = static_cast<double>(integer.magnitude);
  return format_double(integer.negative ? -magnitude : magnitude, nullptr, spec);
}

std::string format_complex(DType part, Scalar re, Scalar im, std::string_view spec_text) {
  FormatSpec whole;
  if (auto wrong = parse_format(spec_text, FormatCategory::Float, whole)) throw std::invalid_argument(*wrong);
  FormatSpec spec = whole; // of each part
  spec.width = -1;
  auto shown = [&](Scalar value) {
    const Decimal shortest = shortest_decimal(part, value);
    return format_double(float_value(part, value), &shortest, spec);
  };
  std::string text = shown(re);
  spec.sign = '+';
  return pad("", text + shown(im) + "i", whole, '>');
}

std::string fill_template(const FormatTemplate& format, std::span<const FormatValue> values) {
  std::string text;
  for (size_t i = 0; i < format.literals.size(); ++i) {
    text += format.literals[i];
    if (i < format.specs.size()) text += values[i](format.specs[i]);
  }
  return text;
}

} // namespace tl
