// Debian has fmt's functions in a shared library only. Executables carry these, from its headers.
#define FMT_HEADER_ONLY 1
#include <fmt/format.h>

namespace {
using Args = fmt::basic_format_args<fmt::basic_format_context<fmt::appender, char>>;
[[gnu::used]] std::string (*const vformat)(fmt::string_view, Args) = &fmt::vformat;
[[gnu::used]] void (*const vprint)(std::FILE*, fmt::string_view, Args) = &fmt::vprint;
[[gnu::used]] auto* const is_printable = &fmt::detail::is_printable;
[[gnu::used]] auto* const throw_format_error = &fmt::detail::throw_format_error;
[[gnu::used]] auto* const thousands_sep = &fmt::detail::thousands_sep_impl<char>;
} // namespace
