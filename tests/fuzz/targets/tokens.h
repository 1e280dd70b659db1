// How texts of tl programs are changed: by tokens. libFuzzer's own changes are to bytes, and few of those parse.
#pragma once
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace tl::fuzz {

// The text in tokens, roughly: words, numbers, texts, comments, runs of spaces, operators. Joined they are the text.
std::vector<std::string_view> tokens(std::string_view text);

// The text with one to four changes: tokens and lines deleted, doubled, moved, replaced by others of the text or of the
// language, numbers by those at the ends of their types.
std::string mutate_tokens(std::string_view text, std::minstd_rand& rng);

// A run of lines of `other` in the midst of `text`.
std::string cross_lines(std::string_view text, std::string_view other, std::minstd_rand& rng);

} // namespace tl::fuzz
