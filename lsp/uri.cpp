#include "lsp/uri.h"
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>

namespace tl::lsp {
namespace {

constexpr std::string_view kFile = "file://";

std::string decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
      result += static_cast<char>(code);
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

} // namespace

std::string name_of_uri(std::string_view uri) {
  if (!uri.starts_with(kFile)) return fmt::format("<{}>", uri);
  const std::string_view rest = uri.substr(kFile.size());
  const size_t path = rest.find('/'); // behind the name of a machine, which is usually empty
  if (path == std::string_view::npos) return fmt::format("<{}>", uri);
  return std::filesystem::path(decoded(rest.substr(path))).lexically_normal().string();
}

std::string uri_of_name(std::string_view name) {
  if (name.starts_with('<') && name.ends_with('>')) return std::string(name.substr(1, name.size() - 2));
  std::string uri(kFile);
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || std::string_view("/-._~").find(c) != std::string_view::npos)
      uri += c;
    else
      uri += fmt::format("%{:02X}", byte);
  }
  return uri;
}

} // namespace tl::lsp
