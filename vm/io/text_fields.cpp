#include "vm/io/text_fields.h"
#include "abi/decimal.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace tl {

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

template <class T> bool parse_float(std::string_view field, T& value) {
  if (!field.empty() && field[0] == '+') field.remove_prefix(1);
  auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (stop != field.data() + field.size()) return false;
  if (error == std::errc::result_out_of_range) { // to infinity or to zero, as rounding has it
    std::string text(field);
    if constexpr (sizeof(T) == 4)
      value = std::strtof(text.c_str(), nullptr);
    else
      value = std::strtod(text.c_str(), nullptr);
    return true;
  }
  return error == std::errc();
}

// The number that so many digits are, which begin `text`; they are taken from it.
bool take_digits(std::string_view& text, size_t count, int& value) {
  if (text.size() < count) return false;
  value = 0;
  for (size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return true;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

// `2026-01-31` as days since 1970-01-01. (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms")
bool take_day(std::string_view& text, int64_t& day) {
  int year = 0, month = 0, of_month = 0;
  if (!take_digits(text, 4, year) || !take(text, '-') || !take_digits(text, 2, month) || !take(text, '-') ||
      !take_digits(text, 2, of_month))
    return false;
  const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month < 1 || month > 12 || of_month < 1 || of_month > kDays[month - 1] + (month == 2 && is_leap)) return false;
  const int64_t from_march = month <= 2 ? year - 1 : year;
  const int64_t era = (from_march >= 0 ? from_march : from_march - 399) / 400, of_era = from_march - era * 400;
  const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + of_month - 1;
  day = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
  return true;
}

// `12:30`, `12:30:05`, `12:30:05.25` as seconds
bool take_clock(std::string_view& text, double& seconds) {
  int hour = 0, minute = 0, second = 0;
  if (!take_digits(text, 2, hour) || !take(text, ':') || !take_digits(text, 2, minute) || hour > 23 || minute > 59)
    return false;
  double fraction = 0;
  if (take(text, ':')) {
    if (!take_digits(text, 2, second) || second > 59) return false;
    if (take(text, '.')) {
      int digit = 0;
      double unit = 1;
      const size_t before = text.size();
      while (take_digits(text, 1, digit))
        fraction = fraction * 10 + digit, unit *= 10;
      if (text.size() == before) return false;
      fraction /= unit;
    }
  }
  seconds = hour * 3600 + minute * 60 + second + fraction;
  return true;
}

// `Z`, `+02:00`, `-0530`, or nothing, as seconds east of UTC
bool take_zone(std::string_view& text, double& seconds) {
  seconds = 0;
  if (text.empty() || take(text, 'Z')) return true;
  const bool is_west = text[0] == '-';
  int hour = 0, minute = 0;
  if ((!take(text, '+') && !take(text, '-')) || !take_digits(text, 2, hour)) return false;
  take(text, ':');
  if (!text.empty() && !take_digits(text, 2, minute)) return false;
  if (hour > 23 || minute > 59) return false;
  seconds = (is_west ? -1 : 1) * (hour * 3600 + minute * 60);
  return true;
}

} // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

bool is_missing(std::string_view field) {
  if (field.empty()) return true;
  if (field.size() > 8 || (field[0] >= '0' && field[0] <= '9')) return false;
  std::string text = lower(field);
  for (const char* word : {"nan", "-nan", "na", "n/a", "#n/a", "<na>", "null", "none", "?", "-"})
    if (text == word) return true;
  return false;
}

bool is_number(std::string_view field) {
  double value;
  return parse_float(field, value);
}

size_t end_of_row(std::string_view text) {
  bool is_quoted = false;
  char before = ',';
  for (size_t at = 0; at < text.size(); before = text[at++]) {
    const char c = text[at];
    if (!is_quoted && (c == '\r' || c == '\n')) return at;
    // Elsewhere than where a field begins, or behind another one that ended it, a quote is a letter.
    if (c == '"') is_quoted = !is_quoted && std::string_view(",;\t \"").find(before) != std::string_view::npos;
  }
  // What nothing closes is no quote (or longer than what is looked at).
  return is_quoted ? std::min(text.find_first_of("\r\n"), text.size()) : text.size();
}

Dialect find_dialect(std::string_view text) {
  Dialect dialect;
  if (text.starts_with("\xef\xbb\xbf")) dialect.start = 3;
  text.remove_prefix(dialect.start);
  std::string_view rows[2];
  int count = 0;
  while (!text.empty() && count < 2) {
    const bool is_comment = trimmed(text.substr(0, 64)).starts_with('#'); // a quote in it is a letter
    const size_t end = is_comment ? std::min(text.find_first_of("\r\n"), text.size()) : end_of_row(text);
    std::string_view line = trimmed(text.substr(0, end));
    if (!line.empty() && line[0] != '#') rows[count++] = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  auto has = [](std::string_view row, char separator) { // outside of quotes
    bool quoted = false;
    for (char c : row) {
      if (c == '"') quoted = !quoted;
      if (c == separator && !quoted) return true;
    }
    return false;
  };
  dialect.separator = kBlanks;
  for (char c : {'\t', ';', ','})
    if (count > 0 && has(rows[0], c) && (count == 1 || has(rows[1], c))) {
      dialect.separator = c;
      return dialect;
    }
  for (std::string_view row : {rows[1], rows[0]})
    for (char c : {';', ','})
      if (has(row, c)) {
        dialect.separator = c;
        return dialect;
      }
  return dialect;
}

bool parse_element(DType type, std::string_view field, Scalar& out) {
  if (is_float(type)) {
    if (is_missing(field)) {
      out = convert_scalar(DType::F64, type, Scalar::of(std::nan("")));
      return true;
    }
    if (type == DType::F32) { // straight: by way of f64 it would be rounded twice
      float value = 0;
      if (!parse_float(field, value)) return false;
      out = Scalar::of(value);
      return true;
    }
    double value = 0;
    if (!parse_float(field, value)) return false;
    out = rounded_once(type, value, field);
    return true;
  }
  if (type == DType::Bool) {
    std::string word = lower(field);
    if (word != "0" && word != "1" && word != "true" && word != "false") return false;
    out = Scalar::of(uint8_t{word == "1" || word == "true"});
    return true;
  }
  if (!field.empty() && field[0] == '+') field.remove_prefix(1);
  const char *begin = field.data(), *end = begin + field.size();
  if (type == DType::U64 || type == DType::Key) {
    uint64_t value = 0;
    auto [stop, error] = std::from_chars(begin, end, value);
    out = Scalar::of(value);
    return stop == end && error == std::errc() && !field.empty();
  }
  int64_t value = 0;
  auto [stop, error] = std::from_chars(begin, end, value);
  if (stop != end || error != std::errc() || field.empty()) return false;
  out = convert_scalar(DType::I64, type, Scalar::of(value));
  return convert_scalar(type, DType::I64, out).as<int64_t>() == value;
}

std::optional<double> parse_time(std::string_view field) {
  int64_t day = 0;
  double clock = 0, zone = 0;
  if (!take_day(field, day)) return std::nullopt;
  if (!field.empty() && ((!take(field, 'T') && !take(field, ' ')) || !take_clock(field, clock) ||
                         !take_zone(field, zone) || !field.empty()))
    return std::nullopt;
  return static_cast<double>(day * 86400) + clock - zone;
}

} // namespace tl
