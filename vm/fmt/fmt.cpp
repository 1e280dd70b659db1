// The functions that fmt's headers declare, made from the headers themselves; numbers are grouped by commas, not by a
// locale.
#define FMT_HEADER_ONLY 1
#define FMT_STATIC_THOUSANDS_SEPARATOR ','
#include <fmt/format.h>

namespace {
using Args = fmt::basic_format_args<fmt::basic_format_context<fmt::appender, char>>;
[[gnu::used]] std::string (*const vformat)(fmt::string_view, Args) = &fmt::vformat;
[[gnu::used]] void (*const vprint)(std::FILE*, fmt::string_view, Args) = &fmt::vprint;
[[gnu::used]] void (*const vprint_stdout)(fmt::string_view, Args) = &fmt::vprint;
[[gnu::used]] bool (*const is_printable)(uint32_t) = &fmt::detail::is_printable;
[[gnu::used]] auto* const throw_format_error = &fmt::detail::throw_format_error;
[[gnu::used]] auto* const thousands_sep = &fmt::detail::thousands_sep_impl<char>;
[[gnu::used]] auto* const decimal_point = &fmt::detail::decimal_point_impl<char>;
} // namespace
