// What a diagnostic's hint says, done: edits of the text that have been tried.
#pragma once
#include "lsp/workspace.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tl::lsp {

struct Edit {
  Span span;
  std::string text;
};

struct Fix {
  std::vector<Edit> edits; // that do not overlap
  std::string title;
};

// Those that work, the likeliest first: of each, the text with it parses (or has fewer syntax errors, where it had
// some), the diagnostic is gone, and nothing is wrong with what has been written. `tries` is how many texts may still
// be checked for that; it is counted down.
std::vector<Fix> fixes_of(Workspace& workspace, Document& document, const Diagnostic& diagnostic, int& tries);

// The document checked with these edits; null where it does not parse, or has more errors than without.
std::unique_ptr<Analysis> tried(Workspace& workspace, Document& document, const std::vector<Edit>& edits);

// What the signature of a function leaves out, written: signatures.cpp. Nothing where it cannot be told.
std::optional<Fix> signature_of(Workspace& workspace, Document& document, const Symbol& symbol, int& tries);

// Before the line of `span`, with its indentation.
Edit line_before(Span span, const std::string& text, std::string_view source);

} // namespace tl::lsp
