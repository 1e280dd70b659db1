// Fields of a table of text: what separates them, and what they say. Internal to vm/io.
#pragma once
#include "abi/scalar_op.h"
#include <optional>
#include <string_view>

namespace tl {

constexpr char kBlanks = ' '; // as a separator: any run of spaces and tabs

struct Dialect {
  char separator = ',';
  size_t start = 0; // after a byte order mark
};

// By the first rows of the text: the separator that both of the first two have; or else the second, or the first, which
// may hold names.
Dialect find_dialect(std::string_view head);

// Where the first row ends: at the first end of a line that is not between quotes.
size_t end_of_row(std::string_view text);

std::string_view trimmed(std::string_view text); // without blanks around it
bool is_missing(std::string_view field);         // empty, NA, nan, null …
bool is_number(std::string_view field);
// One field as an element; false: it is none. What is missing is NaN, and no integer.
bool parse_element(DType type, std::string_view field, Scalar& out);
// A day, or a moment, of ISO 8601 as seconds since 1970-01-01 00:00 UTC: `2026-01-31`, `2026-01-31 12:30`,
// `…T12:30:05.25Z`, `…+02:00`. Without a zone it is taken as UTC.
std::optional<double> parse_time(std::string_view field);

} // namespace tl
