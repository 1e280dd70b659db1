// What each piece of a document is, for colours: by its words, and names by what they mean.
#include "lsp/features.h"
#include "parser/syntax/highlight.h"
#include <algorithm>
#include <map>
#include <optional>

namespace tl::lsp {
namespace {

enum class TokenType {
  Namespace,
  Type,
  Struct,
  TypeParameter,
  Parameter,
  Variable,
  Property,
  Function,
  Keyword,
  Comment,
  String,
  Number
};

// Bits of a token.
constexpr int kDeclaration = 1, kReadonly = 2, kModification = 4, kDefaultLibrary = 8;

struct Token {
  uint32_t end = 0;
  TokenType type{};
  int modifiers = 0;
};

std::optional<TokenType> type_of(TextClass kind) {
  switch (kind) {
  case TextClass::Keyword: return TokenType::Keyword;
  case TextClass::Type: return TokenType::Type;
  case TextClass::Call: return TokenType::Function;
  case TextClass::Number: return TokenType::Number;
  case TextClass::String: return TokenType::String;
  case TextClass::Comment: return TokenType::Comment;
  case TextClass::Plain: break;
  }
  return std::nullopt;
}

TokenType type_of(SymbolKind kind) {
  switch (kind) {
  case SymbolKind::Parameter: return TokenType::Parameter;
  case SymbolKind::Function: return TokenType::Function;
  case SymbolKind::Struct: return TokenType::Struct;
  case SymbolKind::Field: return TokenType::Property;
  case SymbolKind::TypeParameter: return TokenType::TypeParameter;
  case SymbolKind::Module: return TokenType::Namespace;
  case SymbolKind::Variable:
  case SymbolKind::Const:
  case SymbolKind::Size: break;
  }
  return TokenType::Variable;
}

Token token_of(Workspace& workspace, Analysis& analysis, const Mention& mention) {
  const Symbol* symbol = workspace.analyzer().symbol(analysis, mention.symbol);
  Token token{mention.span.end, type_of(mention.kind), 0};
  if (mention.is_declaration) token.modifiers |= kDeclaration;
  if (mention.is_write) token.modifiers |= kModification;
  if (symbol && token.type == TokenType::Variable && !symbol->is_mutable) token.modifiers |= kReadonly;
  if (!symbol || symbol->span.file != analysis.file)
    if (!symbol || is_library_file(workspace.analyzer().sources().name(symbol->span.file)))
      token.modifiers |= kDefaultLibrary;
  return token;
}

// By where they begin.
std::map<uint32_t, Token> tokens_of(Workspace& workspace, Analysis& analysis) {
  std::map<uint32_t, Token> tokens;
  uint32_t at = 0;
  for (const TextPiece& piece : highlight(analysis.text)) {
    const auto end = static_cast<uint32_t>(at + piece.text.size());
    if (const auto type = type_of(piece.kind)) tokens[at] = {end, *type, 0};
    at = end;
  }
  for (const Mention& mention : workspace.analyzer().index(analysis).mentions) {
    const auto it = tokens.find(mention.span.begin);
    const bool is_unknown = !mention.symbol.valid() && it != tokens.end() && it->second.type != TokenType::Function;
    if (is_unknown || (it != tokens.end() && it->second.type == TokenType::String)) continue; // an element type; a path
    tokens[mention.span.begin] = token_of(workspace, analysis, mention);
  }
  return tokens;
}

} // namespace

Json semantic_legend() {
  return {{"tokenTypes",
           {"namespace", "type", "struct", "typeParameter", "parameter", "variable", "property", "function", "keyword",
            "comment", "string", "number"}},
          {"tokenModifiers", {"declaration", "readonly", "modification", "defaultLibrary"}}};
}

Json semantic_tokens(Workspace& workspace, const Json& params) {
  Document& document = workspace.document(params);
  const Text& text = document.text;
  Json data = Json::array();
  Position last;
  // A token is in one line.
  auto add = [&](uint32_t begin, uint32_t end, const Token& token) {
    const Position first = text.position(begin, workspace.encoding), behind = text.position(end, workspace.encoding);
    if (first.line != behind.line || first.character == behind.character) return;
    const uint32_t column = first.line == last.line ? first.character - last.character : first.character;
    for (const uint32_t number : {first.line - last.line, column, behind.character - first.character,
                                  static_cast<uint32_t>(token.type), static_cast<uint32_t>(token.modifiers)})
      data.push_back(number);
    last = first;
  };
  for (const auto& [begin, token] : tokens_of(workspace, workspace.analysis(document))) {
    uint32_t at = begin;
    for (uint32_t line = text.position(begin, Encoding::Utf8).line; at < token.end; ++line) {
      add(at, std::min(token.end, text.line_end(line)), token);
      if (line + 1 >= text.line_count()) break;
      at = text.line_begin(line + 1);
    }
  }
  return {{"data", data}};
}

} // namespace tl::lsp
