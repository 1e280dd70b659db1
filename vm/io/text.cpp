#include "vm/io/text.h"
#include "abi/decimal.h"
#include "abi/device.h"
#include "vm/io/input_lines.h"
#include "vm/io/io.h"
#include "vm/io/list.h"
#include <algorithm>
#include <charconv>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <limits>

namespace tl {

size_t invalid_utf8(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  for (size_t i = 0; i < text.size();) {
    unsigned char c = byte(i);
    size_t length = c < 0x80                ? 1
                    : c >= 0xc2 && c < 0xe0 ? 2
                    : c >= 0xe0 && c < 0xf0 ? 3
                    : c >= 0xf0 && c < 0xf5 ? 4
                                            : 0;
    if (length == 0 || length > text.size() - i) return i;
    for (size_t k = 1; k < length; ++k)
      if ((byte(i + k) & 0xc0) != 0x80) return i;
    if (length > 2) {
      unsigned char second = byte(i + 1);
      if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second >= 0xa0) || (c == 0xf0 && second < 0x90) ||
          (c == 0xf4 && second >= 0x90))
        return i;
    }
    i += length;
  }
  return std::string_view::npos;
}

namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Where each character begins, and the end.
std::vector<size_t> characters(std::string_view text) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < text.size(); ++i)
    if (!is_continuation(text[i])) starts.push_back(i);
  starts.push_back(text.size());
  return starts;
}

int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); });
}

// For messages: no line breaks, not too long.
std::string shown(std::string_view text) {
  std::string result = "\"";
  size_t count = 0;
  for (char c : text) {
    if (!is_continuation(c) && ++count > 40) return result + "…\"";
    result += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  return result + "\"";
}

std::string at(std::string_view text, const TextIndex& starts, int64_t index) {
  const int64_t n = starts.count();
  int64_t k = index < 0 ? index + n : index;
  if (k < 0 || k >= n)
    throw IoError(fmt::format("index {} is out of range: the text has {} character{}", index, n, n == 1 ? "" : "s"),
                  "IndexOutOfRange");
  const size_t from = starts.start(k);
  return std::string(text.substr(from, starts.start(k + 1) - from));
}

std::string slice(std::string_view text, const TextIndex& starts, const std::vector<TextInput>& in,
                  const std::vector<int64_t>& given) {
  SliceBounds bounds;
  std::optional<int64_t>* parts[] = {&bounds.first, &bounds.last, &bounds.step};
  size_t next = 1;
  for (size_t k = 0; k < 3; ++k)
    if (given.at(k)) *parts[k] = std::get<int64_t>(in.at(next++));
  if (bounds.step == 0) throw IoError("the step of a slice is 0", "WrongIndex");
  auto [start, count, step] = bounds.resolve(starts.count());
  if (count <= 0) return "";
  if (step == 1) {
    const size_t from = starts.start(start);
    return std::string(text.substr(from, starts.start(start + count) - from));
  }
  std::string result;
  for (int64_t k = 0; k < count; ++k) {
    const size_t from = starts.start(start + k * step);
    result += text.substr(from, starts.start(start + k * step + 1) - from);
  }
  return result;
}

// Without `what`, an empty one is between all characters, as in Python.
std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string result;
  if (what.empty()) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (!is_continuation(text[i])) result += by;
      result += text[i];
    }
    return result + std::string(by);
  }
  size_t from = 0;
  for (size_t found; (found = text.find(what, from)) != std::string_view::npos; from = found + what.size()) {
    result += text.substr(from, found - from);
    result += by;
  }
  return result + std::string(text.substr(from));
}

std::string_view stripped(std::string_view text) {
  while (!text.empty() && is_space(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && is_space(text.back()))
    text.remove_suffix(1);
  return text;
}

std::string stripped_of(std::string_view text, std::string_view set) {
  std::vector<size_t> starts = characters(text), members = characters(set);
  auto is_member = [&](size_t i) {
    std::string_view c = text.substr(starts[i], starts[i + 1] - starts[i]);
    for (size_t m = 0; m + 1 < members.size(); ++m)
      if (set.substr(members[m], members[m + 1] - members[m]) == c) return true;
    return false;
  };
  size_t first = 0, last = starts.size() - 1;
  while (first < last && is_member(first))
    ++first;
  while (last > first && is_member(last - 1))
    --last;
  return std::string(text.substr(starts[first], starts[last] - starts[first]));
}

std::vector<std::string> split_at_space(std::string_view text) {
  std::vector<std::string> result;
  size_t i = 0;
  while (i < text.size()) {
    while (i < text.size() && is_space(text[i]))
      ++i;
    size_t begin = i;
    while (i < text.size() && !is_space(text[i]))
      ++i;
    if (i > begin) result.emplace_back(text.substr(begin, i - begin));
  }
  return result;
}

std::vector<std::string> split_at(std::string_view text, std::string_view separator) {
  if (separator.empty()) throw IoError("text cannot be split at an empty separator", "WrongArguments");
  std::vector<std::string> result;
  size_t from = 0;
  for (size_t found; (found = text.find(separator, from)) != std::string_view::npos; from = found + separator.size())
    result.emplace_back(text.substr(from, found - from));
  result.emplace_back(text.substr(from));
  return result;
}

constexpr char kNoText = '\xff'; // is nowhere in UTF-8

void require_utf8(std::string_view bytes) {
  if (invalid_utf8(bytes) != std::string::npos) throw IoError("these bytes are not text in UTF-8", "ParseError");
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> result;
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    result.emplace_back(line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return result;
}

template <class T> std::optional<T> whole_number(std::string_view text) {
  T value{};
  const char *begin = text.data(), *end = begin + text.size();
  if (begin != end && *begin == '+') {
    ++begin;
    if (begin != end && (*begin == '-' || *begin == '+')) return std::nullopt;
  }
  auto [stop, error] = std::from_chars(begin, end, value);
  if (stop != end || begin == end) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>)
    if (error == std::errc::result_out_of_range) { // to infinity or to zero, as rounding has it
      const std::string number(begin, end);
      static const locale_t c = ::newlocale(LC_ALL_MASK, "C", nullptr); // that of the process may write 1,5
      return sizeof(T) == 4 ? static_cast<T>(::strtof_l(number.c_str(), nullptr, c))
                            : static_cast<T>(::strtod_l(number.c_str(), nullptr, c));
    }
  if (error != std::errc()) return std::nullopt;
  return value;
}

template <class T> std::optional<Scalar> integer(std::string_view text) {
  auto value = whole_number<T>(text);
  return value ? std::optional(Scalar::of(*value)) : std::nullopt;
}

std::optional<Scalar> number(DType type, std::string_view text) {
  switch (type) {
  case DType::Bool:
    if (text == "true") return Scalar::of<uint8_t>(1);
    if (text == "false") return Scalar::of<uint8_t>(0);
    return std::nullopt;
  case DType::U8: return integer<uint8_t>(text);
  case DType::I8: return integer<int8_t>(text);
  case DType::U16: return integer<uint16_t>(text);
  case DType::I16: return integer<int16_t>(text);
  case DType::U32: return integer<uint32_t>(text);
  case DType::I32: return integer<int32_t>(text);
  case DType::Key:
  case DType::U64: return integer<uint64_t>(text);
  case DType::I64: return integer<int64_t>(text);
  case DType::Device: {
    auto device = device_from_text(text);
    return device ? std::optional(Scalar::of(*device)) : std::nullopt;
  }
  case DType::C64:
  case DType::C128: return std::nullopt;
  case DType::F32: return integer<float>(text); // straight to f32: by way of f64 it would be rounded twice
  case DType::F64:
  case DType::F16:
  case DType::BF16: {
    auto value = whole_number<double>(text);
    if (!value) return std::nullopt;
    return rounded_once(type, *value, text);
  }
  }
  return std::nullopt;
}

std::string repeated(std::string_view text, int64_t count) {
  constexpr uint64_t most = uint64_t{1} << 32;
  if (count > 0 && !text.empty() && static_cast<uint64_t>(count) > most / text.size())
    throw IoError(fmt::format("a text of {} times {} bytes is too large", count, text.size()), "OutOfMemory");
  std::string result;
  for (int64_t k = 0; k < count; ++k)
    result += text;
  return result;
}

} // namespace

TextIndex::TextIndex(std::string_view text) { grow(text); }

void TextIndex::grow(std::string_view text) {
  size_t from = text_.size();
  text_ = text;
  const int64_t more = count_characters(text.substr(from));
  const bool is_plain = starts_.empty() && count_ == static_cast<int64_t>(from); // each character one byte
  if (is_plain && more == static_cast<int64_t>(text.size() - from)) {
    count_ += more;
    return;
  }
  if (is_plain) from = 0;
  int64_t k = is_plain ? 0 : count_;
  count_ += more;
  for (size_t i = from; i < text.size(); ++i)
    if (!is_continuation(text[i]) && k++ % kStride == 0) starts_.push_back(i);
}

size_t TextIndex::start(int64_t character) const {
  if (starts_.empty()) return static_cast<size_t>(character);
  if (character >= count_) return text_.size();
  size_t at = starts_[static_cast<size_t>(character / kStride)];
  for (int64_t left = character % kStride; left > 0; --left)
    while (is_continuation(text_[++at])) {
    }
  return at;
}

TextOutput eval_text(TextOp op, DType type, const std::vector<TextInput>& in, const std::vector<int64_t>& ints,
                     const TextIndex* first) {
  auto text = [&](size_t k) { return std::get<std::string_view>(in.at(k)); };
  std::optional<TextIndex> own;
  auto index = [&]() -> const TextIndex& { return first ? *first : own.emplace(text(0)); };
  switch (op) {
  case TextOp::Compare: {
    int order = text(0).compare(text(1)); // bytes of UTF-8 are in the order of characters
    return Scalar::of(static_cast<int64_t>(order < 0 ? -1 : order > 0));
  }
  case TextOp::Length: return Scalar::of(index().count());
  case TextOp::At: return at(text(0), index(), std::get<int64_t>(in.at(1)));
  case TextOp::Slice: return slice(text(0), index(), in, ints);
  case TextOp::Find: {
    size_t found = text(0).find(text(1));
    if (found == std::string_view::npos) return Scalar::of(int64_t{-1});
    return Scalar::of(count_characters(text(0).substr(0, found)));
  }
  case TextOp::Replace: return replaced(text(0), text(1), text(2));
  case TextOp::Strip: return in.size() > 1 ? stripped_of(text(0), text(1)) : std::string(stripped(text(0)));
  case TextOp::Repeat: return repeated(text(0), std::get<int64_t>(in.at(1)));
  case TextOp::Split: return in.size() > 1 ? split_at(text(0), text(1)) : split_at_space(text(0));
  case TextOp::Lines: return lines_of(text(0));
  case TextOp::Join: {
    std::string result;
    const auto& parts = std::get<std::vector<std::string_view>>(in.at(0));
    for (size_t k = 0; k < parts.size(); ++k) {
      if (k) result += text(1);
      result += parts[k];
    }
    return result;
  }
  case TextOp::Parse: {
    auto value = number(type, stripped(text(0)));
    if (!value) {
      bool vowel = type == DType::I8 || type == DType::I16 || type == DType::I32 || type == DType::I64 ||
                   type == DType::F16 || type == DType::F32 || type == DType::F64;
      throw IoError(fmt::format("{} is not {} {}", shown(text(0)), vowel ? "an" : "a", name_of(type)), "ParseError");
    }
    return *value;
  }
  case TextOp::Bytes: return std::string(text(0));
  case TextOp::Decode: require_utf8(text(0)); return std::string(text(0));
  case TextOp::Pack: return pack_texts(std::get<std::vector<std::string_view>>(in.at(0)));
  case TextOp::Unpack: return unpack_texts(text(0));
  }
  return Scalar{};
}

std::string pack_texts(const std::vector<std::string_view>& texts) {
  // A carriage return counts, too: before the end of a line it would be a part of that end.
  const bool are_lines = std::all_of(texts.begin(), texts.end(), [](std::string_view text) {
    return text.find_first_of("\r\n") == std::string_view::npos;
  });
  std::string bytes;
  for (std::string_view text : texts) {
    bytes += text;
    bytes += are_lines ? '\n' : kNoText;
  }
  return bytes;
}

std::vector<std::string> unpack_texts(std::string_view bytes) {
  std::vector<std::string> texts;
  if (bytes.ends_with(kNoText)) {
    texts = split_at(bytes, std::string_view(&kNoText, 1));
    texts.pop_back(); // behind the last one
  } else {
    texts = lines_of(bytes);
  }
  for (const std::string& text : texts)
    require_utf8(text);
  return texts;
}

std::string read_input_line() {
  std::optional<std::string> line = next_input_line();
  if (!line) throw IoError("standard input has no more lines", "EndOfInput");
  if (const size_t at = invalid_utf8(*line); at != std::string::npos)
    throw IoError(fmt::format("a line of standard input is not text: byte {} is not UTF-8", at));
  return *std::move(line);
}

} // namespace tl
