// Tokens, comments, blocks; and the whole: parse, write, parse again.
#include "parser/format/writer.h"
#include "parser/format/format.h"
#include "parser/syntax/parse.h"
#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

namespace tl::syntax {

using namespace ast;

FormatWriter::FormatWriter(const SourceManager& sources, FileId file, const TokenList& tokens)
    : sources_(sources), text_(sources.text(file)), tokens_(tokens.tokens), closing_(tokens.tokens.size(), 0),
      comments_(tokens.comments) {
  for (size_t i = 0; i < tokens_.size(); ++i)
    if (Kind k = tokens_[i].kind; (k == RPAREN || k == RBRACKET || k == RBRACE) && tokens_[i].parent >= 0)
      closing_[static_cast<size_t>(tokens_[i].parent)] = i;
}

// ---- tokens --------------------------------------------------------------------------------------------------------

bool FormatWriter::skip(Kind kind) {
  if (!at(kind)) return false;
  ++next_;
  return true;
}

const Doc* FormatWriter::take(Kind kind) {
  if (!at(kind))
    throw std::logic_error(fmt::format("the formatter expects {}, not {}", kind_name(kind), kind_name(peek().kind)));
  return take();
}

const Doc* FormatWriter::take() {
  Span span = tokens_[next_++].span;
  return with_comments(std::string(sources_.text(span)), span.begin, span.end);
}

const Doc* FormatWriter::string() {
  Span span = peek().span;
  int depth = 0;
  do {
    depth += at(STRING_BEGIN) ? 1 : at(STRING_END) ? -1 : 0;
    span.end = tokens_[next_++].span.end;
  } while (depth > 0);
  // Comments inside belong to the literal.
  auto inside = [&](const Span& c) { return c.begin > span.begin && c.begin < span.end; };
  std::erase_if(comments_, inside);
  std::string text;
  for (char c : sources_.text(span))
    if (c != '\r') text += c;
  return with_comments(std::move(text), span.begin, span.end);
}

std::string FormatWriter::clean(Span span) const {
  std::string text(sources_.text(span));
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.pop_back();
  return text;
}

bool FormatWriter::newline_before(uint32_t offset) const {
  while (offset > 0 && (text_[offset - 1] == ' ' || text_[offset - 1] == '\t'))
    --offset;
  return offset == 0 || text_[offset - 1] == '\n';
}

bool FormatWriter::blank_before(uint32_t offset) const {
  int lines = 0;
  for (; offset > 0 && std::string_view(" \t\r\n").find(text_[offset - 1]) != std::string_view::npos; --offset)
    lines += text_[offset - 1] == '\n';
  return lines > 1;
}

// Comments before a token that nobody has printed yet come right before it; one behind it, past commas, to its line's
// end.
const Doc* FormatWriter::with_comments(std::string text, uint32_t begin, uint32_t end) {
  Parts parts;
  for (; next_comment_ < comments_.size() && comments_[next_comment_].begin < begin; ++next_comment_) {
    Span c = comments_[next_comment_];
    parts.push_back(docs_.fresh_line());
    parts.push_back(docs_.text(clean(c)));
    bool last = next_comment_ + 1 == comments_.size() || comments_[next_comment_ + 1].begin >= begin;
    parts.push_back(blank_before(last ? begin : comments_[next_comment_ + 1].begin) ? docs_.blank_line()
                                                                                    : docs_.hard_line());
  }
  parts.push_back(docs_.text(std::move(text)));
  if (next_comment_ < comments_.size()) {
    Span c = comments_[next_comment_];
    std::string_view between = text_.substr(end, c.begin - end);
    if (between.find_first_not_of(" \t,;") == std::string_view::npos) {
      parts.push_back(docs_.suffix(clean(c), sources_.line_column(c).column));
      ++next_comment_;
    }
  }
  return parts.size() == 1 ? parts[0] : docs_.concat(std::move(parts));
}

// What is inside brackets; comments before the closing one are inside too.
const Doc* FormatWriter::bracketed(const Doc* open, Parts inside, const Doc* comma, Kind close, bool broken) {
  inside.push_back(comma);
  uint32_t end = peek().span.begin;
  for (; next_comment_ < comments_.size() && comments_[next_comment_].begin < end; ++next_comment_) {
    inside.push_back(docs_.hard_line());
    inside.push_back(docs_.text(clean(comments_[next_comment_])));
  }
  return docs_.group(docs_.concat({open, docs_.nest(docs_.concat(std::move(inside))), docs_.soft_line(), take(close)}),
                     broken);
}

// ---- blocks --------------------------------------------------------------------------------------------------------

// The comments on lines of their own up to `before`. `first`: nothing is in this block yet.
void FormatWriter::own_lines(Parts& parts, uint32_t before, bool& first) {
  for (; next_comment_ < comments_.size() && comments_[next_comment_].begin < before; ++next_comment_) {
    Span c = comments_[next_comment_];
    if (!first) parts.push_back(blank_before(c.begin) ? docs_.blank_line() : docs_.hard_line());
    first = false;
    parts.push_back(docs_.text(clean(c)));
  }
}

void FormatWriter::statements(const std::vector<Stmt*>& all, Parts& parts, bool& first, uint32_t end) {
  for (const Stmt* s : all) {
    while (skip(END_STATEMENT)) {
    }
    uint32_t begin = peek().span.begin;
    own_lines(parts, begin, first);
    if (!first) parts.push_back(blank_before(begin) ? docs_.blank_line() : docs_.hard_line());
    first = false;
    parts.push_back(docs_.lines(statement(*s)));
  }
  while (skip(END_STATEMENT)) {
  }
  own_lines(parts, end, first);
}

bool FormatWriter::must_break(const Block& block) const {
  if (block.statements.size() > 1) return true;
  auto inside = [&](const Span& c) { return c.begin > block.span.begin && c.begin < block.span.end; };
  if (std::any_of(comments_.begin(), comments_.end(), inside)) return true;
  uint32_t first = block.span.begin + 1;
  while (first < block.span.end && (text_[first] == ' ' || text_[first] == '\t' || text_[first] == '\r'))
    ++first;
  return !block.statements.empty() && text_[first] == '\n';
}

void FormatWriter::block_parts(const Block& block, bool broken, Parts& parts) {
  uint32_t end = tokens_[closing_[next_]].span.begin;
  parts.push_back(take(LBRACE));
  if (!broken && block.statements.empty()) {
    while (skip(END_STATEMENT)) {
    }
    parts.push_back(take(RBRACE));
    return;
  }
  if (!broken) {
    while (skip(END_STATEMENT)) {
    }
    parts.push_back(docs_.nest(docs_.concat({docs_.line(), statement(*block.statements[0])})));
    while (skip(END_STATEMENT)) {
    }
    parts.push_back(docs_.line());
    parts.push_back(take(RBRACE));
    return;
  }
  Parts inside;
  bool first = true;
  statements(block.statements, inside, first, end);
  if (!first) parts.push_back(docs_.nest(docs_.concat({docs_.hard_line(), docs_.concat(std::move(inside))})));
  parts.push_back(docs_.hard_line());
  parts.push_back(take(RBRACE));
}

const Doc* FormatWriter::block(const Block& block) {
  Parts parts;
  bool broken = must_break(block);
  block_parts(block, broken, parts);
  const Doc* all = docs_.concat(std::move(parts));
  return broken ? docs_.lines(all) : docs_.group(all);
}

const Doc* FormatWriter::file(const File& file) {
  Parts parts;
  bool first = true;
  statements(file.statements, parts, first, UINT32_MAX);
  if (!at(END)) throw std::logic_error(fmt::format("the formatter stops before {}", kind_name(peek().kind)));
  return docs_.concat(std::move(parts));
}

} // namespace tl::syntax

namespace tl {
namespace {

// All comments, without blanks: what must not change. (One may end up on another line.)
std::string comments_of(const SourceManager& sources, FileId file) {
  Diagnostics ignored;
  std::string all;
  for (Span span : syntax::lex(sources, file, ignored).comments)
    for (char c : sources.text(span))
      if (c != ' ' && c != '\t' && c != '\r') all += c;
  return all;
}

// The tree as text, without what `##` comments say. (Quotes inside of strings are escaped, so ` doc "` is none.)
std::string tree_text(const ast::File& file) {
  std::string text = ast::to_text(file), out;
  for (size_t at = 0; at < text.size();) {
    size_t mark = text.compare(at, 6, " doc \"") == 0 ? 6 : text.compare(at, 6, "(doc \"") == 0 ? 6 : 0;
    if (mark == 0) {
      out += text[at++];
      continue;
    }
    for (at += mark; text[at] != '"'; ++at)
      at += text[at] == '\\';
    ++at;
  }
  return out;
}

ast::File parse_any(const SourceManager& sources, FileId file, Diagnostics& diagnostics) {
  ParseOptions options;
  options.is_library = true;
  return parse(sources, file, diagnostics, options);
}

} // namespace

// One round: the text of a file that parses, laid out anew.
static std::string lay_out_anew(const SourceManager& sources, FileId file, const ast::File& tree) {
  using namespace syntax;
  Diagnostics ignored;
  TokenList tokens = lay_out(lex(sources, file, ignored), sources, ignored);
  return print(FormatWriter(sources, file, tokens).file(tree), kFormatWidth);
}

std::optional<std::string> format_source(SourceManager& sources, FileId file, Diagnostics& diagnostics) {
  ast::File tree = parse_any(sources, file, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  std::string text = lay_out_anew(sources, file, tree);
  // A comment in the midst of a line moves to its end; without it the line may fit. So until nothing moves any more.
  for (int round = 0; round < 4; ++round) {
    FileId again = sources.add(sources.name(file) + " (formatted)", text);
    Diagnostics broken;
    ast::File reread = parse_any(sources, again, broken);
    if (broken.has_errors()) throw std::logic_error("the formatted text does not parse:\n" + render(broken, sources));
    // A `##` comment in the midst of something may end up behind all of it, which it then documents.
    if (tree_text(tree) != tree_text(reread)) throw std::logic_error("the formatted text means something else");
    if (comments_of(sources, file) != comments_of(sources, again))
      throw std::logic_error("the formatted text has other comments");
    std::string next = lay_out_anew(sources, again, reread);
    if (next == text) break;
    text = std::move(next);
  }
  return text;
}

} // namespace tl
