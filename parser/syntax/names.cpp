#include "parser/syntax/names.h"
#include "abi/visible.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <vector>

namespace tl {
namespace {

struct Range {
  uint32_t first, last;
  uint32_t value = 0; // of an order; of the plain character that the first one stands for
};
struct Pair {
  uint32_t whole, first, second;
};
struct Lookalike {
  uint32_t code;
  char latin;
};

#define TL_LETTER(first, last)
#define TL_MARK(first, last)
#define TL_ORDER(first, last, order)
#define TL_COMPOSED(whole, first, second)
#define TL_LOOKALIKE(code, latin)
#define TL_DRESSED(first, last, plain)

constexpr Range kLetters[] = {
#undef TL_LETTER
#define TL_LETTER(first, last) {first, last},
#include "parser/syntax/letters.def"
#undef TL_LETTER
#define TL_LETTER(first, last)
};
constexpr Range kMarks[] = {
#undef TL_MARK
#define TL_MARK(first, last) {first, last},
#include "parser/syntax/letters.def"
#undef TL_MARK
#define TL_MARK(first, last)
};
constexpr Range kOrders[] = {
#undef TL_ORDER
#define TL_ORDER(first, last, order) {first, last, order},
#include "parser/syntax/letters.def"
#undef TL_ORDER
#define TL_ORDER(first, last, order)
};
constexpr Pair kComposed[] = {
#undef TL_COMPOSED
#define TL_COMPOSED(whole, first, second) {whole, first, second},
#include "parser/syntax/letters.def"
#undef TL_COMPOSED
#define TL_COMPOSED(whole, first, second)
};
constexpr Lookalike kLookalikes[] = {
#undef TL_LOOKALIKE
#define TL_LOOKALIKE(code, latin) {code, latin},
#include "parser/syntax/letters.def"
#undef TL_LOOKALIKE
#define TL_LOOKALIKE(code, latin)
};
constexpr Range kDressed[] = {
#undef TL_DRESSED
#define TL_DRESSED(first, last, plain) {first, last, plain},
#include "parser/syntax/letters.def"
};

#undef TL_LETTER
#undef TL_MARK
#undef TL_ORDER
#undef TL_COMPOSED
#undef TL_LOOKALIKE
#undef TL_DRESSED

template <size_t N> const Range* find(const Range (&ranges)[N], uint32_t code) {
  const Range* at = std::lower_bound(std::begin(ranges), std::end(ranges), code,
                                     [](const Range& range, uint32_t value) { return range.last < value; });
  return at != std::end(ranges) && at->first <= code ? at : nullptr;
}

bool is_latin(uint32_t code) {
  return (code < 0x80 && code != '_' && !(code >= '0' && code <= '9')) || (code >= 0xc0 && code < 0x250);
}
bool is_greek(uint32_t code) { return (code >= 0x370 && code < 0x400) || (code >= 0x1f00 && code < 0x2000); }
bool is_cyrillic(uint32_t code) { return (code >= 0x400 && code < 0x530) || (code >= 0xa640 && code < 0xa6a0); }

bool begins_name(uint32_t code) {
  if (code < 0x80) return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') || code == '_';
  return find(kLetters, code);
}
bool continues_name(uint32_t code) { return begins_name(code) || (code >= '0' && code <= '9') || find(kMarks, code); }

const Lookalike* lookalike(uint32_t code) {
  const auto* at = std::lower_bound(std::begin(kLookalikes), std::end(kLookalikes), code,
                                    [](const Lookalike& one, uint32_t value) { return one.code < value; });
  return at != std::end(kLookalikes) && at->code == code ? at : nullptr;
}

std::vector<uint32_t> codes_of(std::string_view text) {
  std::vector<uint32_t> codes;
  for (size_t i = 0; i < text.size();) {
    const Character character = character_at(text, i);
    codes.push_back(character.code);
    i += character.length;
  }
  return codes;
}

std::string number_of(uint32_t code) { return fmt::format("U+{:04X}", code); }

// ---- normalisation form C (Unicode, chapter 3.11) ----

// Syllables of Hangul are composed by a formula.
constexpr uint32_t kSyllables = 0xac00, kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11a7;
constexpr uint32_t kLeadCount = 19, kVowelCount = 21, kTailCount = 28, kSyllableCount = 11172;

uint32_t order_of(uint32_t code) {
  const Range* range = code < 0x80 ? nullptr : find(kOrders, code);
  return range ? range->value : 0;
}

void decompose(uint32_t code, std::vector<uint32_t>& out) {
  if (const uint32_t syllable = code - kSyllables; syllable < kSyllableCount) {
    out.push_back(kLeads + syllable / (kVowelCount * kTailCount));
    out.push_back(kVowels + syllable / kTailCount % kVowelCount);
    if (syllable % kTailCount != 0) out.push_back(kTails + syllable % kTailCount);
    return;
  }
  const auto* at = code < 0x80 ? std::end(kComposed)
                               : std::lower_bound(
                                     std::begin(kComposed), std::end(kComposed), code,
                                     [](const Pair& pair, uint32_t value) { return pair.whole < value; });
  if (at == std::end(kComposed) || at->whole != code) return out.push_back(code);
  decompose(at->first, out);
  out.push_back(at->second);
}

// The character that two are; 0: they stay two.
uint32_t compose(uint32_t first, uint32_t second) {
  if (first - kLeads < kLeadCount && second - kVowels < kVowelCount)
    return kSyllables + ((first - kLeads) * kVowelCount + (second - kVowels)) * kTailCount;
  if (first - kSyllables < kSyllableCount && (first - kSyllables) % kTailCount == 0 && second > kTails &&
      second < kTails + kTailCount)
    return first + (second - kTails);
  const auto* at = std::find_if(std::begin(kComposed), std::end(kComposed),
                                [&](const Pair& pair) { return pair.first == first && pair.second == second; });
  return at == std::end(kComposed) ? 0 : at->whole;
}

std::vector<uint32_t> composed(const std::vector<uint32_t>& codes) {
  std::vector<uint32_t> parts;
  for (const uint32_t code : codes)
    decompose(code, parts);
  for (auto begin = parts.begin(); begin != parts.end();) { // each run of marks, by their order
    const auto end = std::find_if(begin + 1, parts.end(), [](uint32_t code) { return order_of(code) == 0; });
    std::stable_sort(order_of(*begin) == 0 ? begin + 1 : begin, end,
                     [](uint32_t a, uint32_t b) { return order_of(a) < order_of(b); });
    begin = end;
  }
  std::vector<uint32_t> out;
  size_t base = SIZE_MAX; // the last character that may take marks
  for (const uint32_t code : parts) {
    const uint32_t order = order_of(code);
    // Behind the base, a mark of the same order or a character of none keeps this one apart.
    const bool is_next =
        base != SIZE_MAX && (base + 1 == out.size() || (order_of(out.back()) < order && order_of(out.back()) != 0));
    if (const uint32_t whole = is_next ? compose(out[base], code) : 0; whole != 0) {
      out[base] = whole;
      continue;
    }
    out.push_back(code);
    if (order == 0) base = out.size() - 1;
  }
  return out;
}

// ---- letters that look like others ----

struct Place {
  size_t begin, size;
  uint32_t code;
};

// The first letter that looks like a Latin one in a word which does not show by another letter that it is none.
std::optional<Place> hidden_letter(std::string_view word) {
  std::optional<Place> found;
  bool has_latin = false, has_own = false;
  for (size_t i = 0; i < word.size();) {
    const Character character = character_at(word, i);
    if (!found && lookalike(character.code)) found = Place{i, character.length, character.code};
    has_latin = has_latin || is_latin(character.code);
    has_own = has_own || ((is_greek(character.code) || is_cyrillic(character.code)) && !lookalike(character.code));
    i += character.length;
  }
  return found && (has_latin || !has_own) ? found : std::nullopt;
}

std::string in_latin(std::string_view word) {
  std::string text;
  for (const uint32_t code : codes_of(word)) {
    const Lookalike* one = lookalike(code);
    text += one ? std::string(1, one->latin) : utf8_of(code);
  }
  return text;
}

// What is written instead of a character that others have, by what it is.
struct Substitute {
  std::string_view character, hint;
};
constexpr Substitute kSubstitutes[] = {
    {"^", "a power is `**`, exclusive or is `bit_xor(a, b)`"},
    {"&", "write `and`, or `bit_and(a, b)` for the bits of integers"},
    {"~", "write `not`, or `bit_not(a)` for the bits of integers"},
    {"?", "a choice is `if c { a } else { b }`"},
    {"\\", "a line continues after an operator or comma, or inside ( )"},
    {"`", "strings stand in straight double quotes"},
    {"“", "strings stand in straight double quotes"},
    {"”", "strings stand in straight double quotes"},
    {"„", "strings stand in straight double quotes"},
    {"≤", "write `<=`"},
    {"≥", "write `>=`"},
    {"≠", "write `!=`"},
    {"≈", "write `allclose(a, b)`"},
    {"×", "write `*`, or `@` for the product of matrices"},
    {"·", "write `*`, or `@` for the product of matrices"},
    {"⋅", "write `*`, or `@` for the product of matrices"},
    {"⊗", "write `outer(a, b)`, or `kron(a, b)`"},
    {"÷", "write `/`, or `//` for the integer below"},
    {"−", "write the minus sign of the keyboard, `-`"},
    {"–", "write the minus sign of the keyboard, `-`"},
    {"→", "write `->`"},
    {"←", "write `=`"},
    {"…", "write `...`, or `..` for a range"},
    {"∧", "write `and`"},
    {"∨", "write `or`"},
    {"¬", "write `not`"},
    {"∈", "write `in`"},
    {"∞", "write `inf`"},
    {"√", "write `sqrt(x)`"},
    {"∑", "write `sum(…)`"},
    {"∏", "write `prod(…)`"},
    {"∂", "a derivative is `grad(f)`; a name may be `dx`"},
    {"∇", "a gradient is `grad(f)`"},
    {"∆", "a name may begin with the Greek letter `Δ`"},
};

bool is_blank(uint32_t code) {
  return code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x202f || code == 0x205f ||
         code == 0x3000;
}

} // namespace

std::string utf8_of(uint32_t code) {
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  static constexpr uint32_t kFirst[] = {0, 0xc0, 0xe0, 0xf0};
  const uint32_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  std::string text(1, static_cast<char>(kFirst[more] | (code >> (6 * more))));
  for (uint32_t i = more; i-- > 0;)
    text += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
  return text;
}

size_t word_length(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const Character character = character_at(text, at);
    if (!character.valid || !(at == 0 ? begins_name(character.code) : continues_name(character.code))) break;
    at += character.length;
  }
  return at;
}

std::string composed(std::string_view text) {
  std::string out;
  for (const uint32_t code : composed(codes_of(text)))
    out += utf8_of(code);
  return out;
}

std::optional<NameProblem> problem_of_word(std::string_view word) {
  if (is_ascii(word)) return std::nullopt;
  if (const std::string whole = composed(word); whole != word)
    return NameProblem{fmt::format("`{}` is not in Unicode's composed form, so it looks like another name", word),
                       fmt::format("write `{}`, with composed letters", whole)};
  const std::optional<Place> hidden = hidden_letter(word);
  if (!hidden) return std::nullopt;
  const char* script = is_greek(hidden->code) ? "Greek" : "Cyrillic";
  const std::string_view letter = word.substr(hidden->begin, hidden->size);
  const std::string place = letter == word ? "" : fmt::format(" in `{}`", word);
  return NameProblem{
      fmt::format("`{}`{} is the {} letter {}, which looks like the Latin `{}`", letter, place, script,
                  number_of(hidden->code), lookalike(hidden->code)->latin),
      fmt::format("write `{}` in Latin letters, or a name with other {} letters", in_latin(word), script)};
}

bool is_name_text(std::string_view text) {
  return !text.empty() && word_length(text) == text.size() && !problem_of_word(text);
}

bool is_ascii(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; });
}

StrayCharacter stray_character(std::string_view text) {
  for (const Substitute& one : kSubstitutes)
    if (text == one.character) return {fmt::format("`{}`", text), std::string(one.hint)};
  const Character character = character_at(text, 0);
  const uint32_t code = character.code;
  if (code < 0x80) return {fmt::format("`{}`", text), ""};
  if (is_blank(code)) return {fmt::format("the blank {}", number_of(code)), "write a space"};
  if (!character.plain || code == 0xad || code == 0x34f || code == 0x3164 || (code >= 0xfe00 && code < 0xfe10))
    return {fmt::format("the invisible character {}", number_of(code)), "remove it"};
  StrayCharacter stray{fmt::format("`{}` ({})", text, number_of(code)), ""};
  if (const Range* range = find(kDressed, code))
    stray.hint = fmt::format("write `{}`", utf8_of(range->value + (code - range->first)));
  else if (find(kMarks, code))
    stray.hint = "a mark stands behind the letter that it is on";
  return stray;
}

} // namespace tl
