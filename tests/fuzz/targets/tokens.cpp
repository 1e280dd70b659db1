// Changes of tokens, and libFuzzer's entries to them: what is linked with this is fuzzed with them.
#include "tokens.h"
#include <algorithm>
#include <cctype>
#include <cstring>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace tl::fuzz {
namespace {

constexpr std::string_view kLanguage[] = {"let",       "var",     "const",      "fn",
                                          "struct",    "import",  "if",         "else",
                                          "for",       "in",      "while",      "break",
                                          "continue",  "return",  "true",       "false",
                                          "and",       "or",      "not",        "assert",
                                          "test",      "on",      "export",     "_",
                                          "(",         ")",       "[",          "]",
                                          "{",         "}",       ",",          ":",
                                          ";",         ".",       "..",         "...",
                                          "->",        "=",       "+=",         "|",
                                          "||",        "@",       "**",         "//",
                                          "%",         "<",       ">",          "==",
                                          "-",         "+",       "*",          "/",
                                          "?",         "f32",     "f64",        "f16",
                                          "bf16",      "i64",     "i32",        "u8",
                                          "u64",       "bool",    "key",        "range",
                                          "List",      "str",     "device",     "any",
                                          "num",       "float",   "int",        "sum",
                                          "min",       "max",     "list",       "grad",
                                          "vmap",      "jvp",     "vjp",        "map",
                                          "fold",      "scan",    "zeros",      "full",
                                          "arange",    "print",   "debug",      "enumerate",
                                          "zip",       "len",     "sort",       "argsort",
                                          "cumsum",    "einsum",  "concat",     "stack",
                                          "reshape",   "where",   "nonzero",    "unique",
                                          "load",      "save",    "push",       "n",
                                          "x",         "e",       "pi",         "\"{x}\"",
                                          "\"",        "\\",      "\r",         "\r\n",
                                          "\t",        "\f",      "\n",         "\xef\xbb\xbf",
                                          "\xc3\xa9",  "#",       "##",         "\"\"\"",
                                          "{{",        "0..3",    "[1.0, 2.0]", "()",
                                          "(1,)",      "i64[_]",  "f32[n, m]",  "f32[..s]",
                                          "axis = -1", "<T: num>"};
constexpr std::string_view kNumbers[] = {"0",
                                         "1",
                                         "-1",
                                         "2",
                                         "3",
                                         "7",
                                         "64",
                                         "255",
                                         "256",
                                         "65536",
                                         "2147483648",
                                         "4294967296",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "-9223372036854775808",
                                         "18446744073709551616",
                                         "0.0",
                                         "0.5",
                                         "1e308",
                                         "1e-320",
                                         "1e999",
                                         "nan",
                                         "inf",
                                         "0x7fffffffffffffff",
                                         "3037000500",
                                         "140737488355328"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

template <class T, size_t N> const T& any_of(const T (&all)[N], std::minstd_rand& rng) { return all[rng() % N]; }

size_t token_end(std::string_view text, size_t at) {
  const char c = text[at];
  size_t end = at + 1;
  if (is_word(c)) {
    while (end < text.size() && is_word(text[end]))
      ++end;
  } else if (c == ' ') {
    while (end < text.size() && text[end] == ' ')
      ++end;
  } else if (c == '#') {
    while (end < text.size() && text[end] != '\n')
      ++end;
  } else if (c == '"') {
    while (end < text.size() && text[end] != '"' && text[end] != '\n')
      end += text[end] == '\\' && end + 1 < text.size() ? 2 : 1;
    if (end < text.size() && text[end] == '"') ++end;
  }
  return std::min(end, text.size());
}

std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    all.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return all;
}

std::string joined(const std::vector<std::string_view>& parts) {
  std::string text;
  for (std::string_view part : parts)
    text += part;
  return text;
}

void change_lines(std::vector<std::string_view>& all, std::minstd_rand& rng) {
  const size_t from = rng() % all.size();
  const size_t count = 1 + rng() % std::min<size_t>(3, all.size() - from);
  const std::vector<std::string_view> taken(all.begin() + static_cast<long>(from),
                                            all.begin() + static_cast<long>(from + count));
  const unsigned how = rng() % 3; // delete, double, move
  if (how != 1) all.erase(all.begin() + static_cast<long>(from), all.begin() + static_cast<long>(from + count));
  if (how != 0) all.insert(all.begin() + static_cast<long>(rng() % (all.size() + 1)), taken.begin(), taken.end());
}

void change_tokens(std::vector<std::string_view>& all, std::minstd_rand& rng) {
  const size_t at = rng() % all.size();
  const auto place = all.begin() + static_cast<long>(at);
  switch (rng() % 7) {
  case 0: all.erase(place); break;
  case 1: all.insert(place, all[rng() % all.size()]); break;
  case 2: *place = all[rng() % all.size()]; break;
  case 3: *place = any_of(kLanguage, rng); break;
  case 4: all.insert(place, any_of(kLanguage, rng)); break;
  case 5: std::swap(*place, all[rng() % all.size()]); break;
  default: // a number, where there is one near
    for (size_t i = 0; i < all.size(); ++i) {
      std::string_view& token = all[(at + i) % all.size()];
      if (!std::isdigit(static_cast<unsigned char>(token[0]))) continue;
      token = any_of(kNumbers, rng);
      break;
    }
  }
}

} // namespace

std::vector<std::string_view> tokens(std::string_view text) {
  std::vector<std::string_view> all;
  for (size_t at = 0; at < text.size();) {
    const size_t end = token_end(text, at);
    all.push_back(text.substr(at, end - at));
    at = end;
  }
  return all;
}

std::string mutate_tokens(std::string_view text, std::minstd_rand& rng) {
  std::string now(text);
  for (unsigned left = 1 + rng() % 4; left > 0; --left) {
    std::vector<std::string_view> parts = rng() % 4 == 0 ? lines(now) : tokens(now);
    if (parts.empty()) return std::string(any_of(kLanguage, rng));
    rng() % 4 == 0 ? change_lines(parts, rng) : change_tokens(parts, rng);
    now = joined(parts);
  }
  return now;
}

std::string cross_lines(std::string_view text, std::string_view other, std::minstd_rand& rng) {
  std::vector<std::string_view> into = lines(text);
  const std::vector<std::string_view> from = lines(other);
  if (from.empty()) return std::string(text);
  const size_t begin = rng() % from.size();
  const size_t count = 1 + rng() % std::min<size_t>(20, from.size() - begin);
  into.insert(into.begin() + static_cast<long>(rng() % (into.size() + 1)), from.begin() + static_cast<long>(begin),
              from.begin() + static_cast<long>(begin + count));
  return joined(into);
}

} // namespace tl::fuzz

namespace {

size_t give(const std::string& text, uint8_t* out, size_t most) {
  const size_t size = std::min(text.size(), most);
  if (size != 0) std::memcpy(out, text.data(), size);
  return size;
}

std::string_view view(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  std::minstd_rand rng(seed + 1);
  if (rng() % 8 == 0) return LLVMFuzzerMutate(data, size, most); // also bytes, which no token has
  return give(tl::fuzz::mutate_tokens(view(data, size), rng), data, most);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b, size_t b_size,
                                            uint8_t* out, size_t most, unsigned seed) {
  std::minstd_rand rng(seed + 1);
  return give(tl::fuzz::cross_lines(view(a, a_size), view(b, b_size), rng), out, most);
}
