// URIs of documents, and names of files.
#pragma once
#include <string>
#include <string_view>

namespace tl::lsp {

// The path of a `file:` URI; of another ("untitled:1"), or of what is none, "<untitled:1>", which is no file.
std::string name_of_uri(std::string_view uri);
std::string uri_of_name(std::string_view name);

} // namespace tl::lsp
