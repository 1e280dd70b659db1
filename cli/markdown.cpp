#include "markdown.h"
#include "parser/syntax/highlight.h"
#include <cctype>
#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>
#include <fmt/format.h>
#include <memory>
#include <set>

namespace tl::cli {
namespace {

const char* css_class(TextClass kind) {
  switch (kind) {
  case TextClass::Plain: return "";
  case TextClass::Keyword: return "k";
  case TextClass::Type: return "t";
  case TextClass::Call: return "c";
  case TextClass::Number: return "n";
  case TextClass::String: return "s";
  case TextClass::Comment: return "d";
  }
  return "";
}

struct Free {
  void operator()(cmark_node* node) const { cmark_node_free(node); }
  void operator()(cmark_parser* parser) const { cmark_parser_free(parser); }
  void operator()(cmark_iter* iterator) const { cmark_iter_free(iterator); }
  void operator()(char* text) const { cmark_get_default_mem_allocator()->free(text); }
};

// Puts another node in the place of this one.
void replace(cmark_node* node, cmark_node_type type, const std::string& literal) {
  cmark_node* other = cmark_node_new(type);
  cmark_node_set_literal(other, literal.c_str());
  cmark_node_replace(node, other);
  cmark_node_free(node);
}

std::string literal(cmark_node* node) {
  const char* text = cmark_node_get_literal(node);
  return text ? text : "";
}

std::string plain_text(cmark_node* node) {
  std::string text = literal(node);
  for (cmark_node* child = cmark_node_first_child(node); child; child = cmark_node_next(child))
    text += plain_text(child);
  return text;
}

// Letters, digits, `_` and `.` stay, runs of others become one `-`.
std::string id_of(std::string_view title, std::set<std::string>& taken) {
  std::string id;
  for (char c : title) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.')
      id += c;
    else if (!id.empty() && id.back() != '-')
      id += '-';
  }
  while (!id.empty() && id.back() == '-')
    id.pop_back();
  if (id.empty()) id = "section";
  std::string unique = id;
  for (int n = 2; !taken.insert(unique).second; ++n)
    unique = fmt::format("{}-{}", id, n);
  return unique;
}

void write_code_block(cmark_node* node) {
  const std::string info = cmark_node_get_fence_info(node);
  if (info == "tl" || info.starts_with("tl "))
    replace(node, CMARK_NODE_HTML_BLOCK, code_block(literal(node), info == "tl error" ? "tl refused" : "tl"));
  else
    replace(node, CMARK_NODE_HTML_BLOCK,
            fmt::format("<pre class=\"output\"><code>{}</code></pre>\n", escape_html(literal(node))));
}

bool stands_in(cmark_node* node, cmark_node_type type) {
  for (; node; node = cmark_node_parent(node))
    if (cmark_node_get_type(node) == type) return true;
  return false;
}

} // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
    case '&': out += "&amp;"; break;
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '"': out += "&quot;"; break;
    default: out += c;
    }
  }
  return out;
}

std::string code_block(std::string_view code, std::string_view css) {
  std::string out = fmt::format("<pre class=\"{}\"><code>", css);
  for (const TextPiece& piece : highlight(code)) {
    if (piece.kind == TextClass::Plain)
      out += escape_html(piece.text);
    else
      out += fmt::format("<span class=\"{}\">{}</span>", css_class(piece.kind), escape_html(piece.text));
  }
  return out + "</code></pre>\n";
}

Html markdown_to_html(const std::string& text, const LinkOf& link_of) {
  cmark_gfm_core_extensions_ensure_registered();
  const std::unique_ptr<cmark_parser, Free> parser(cmark_parser_new(CMARK_OPT_DEFAULT));
  cmark_parser_attach_syntax_extension(parser.get(), cmark_find_syntax_extension("table"));
  cmark_parser_feed(parser.get(), text.data(), text.size());
  const std::unique_ptr<cmark_node, Free> root(cmark_parser_finish(parser.get()));

  // First all nodes, then the changes: an iterator does not survive them.
  std::vector<cmark_node*> nodes;
  const std::unique_ptr<cmark_iter, Free> iterator(cmark_iter_new(root.get()));
  while (true) {
    cmark_event_type event = cmark_iter_next(iterator.get());
    if (event == CMARK_EVENT_DONE) break;
    if (event == CMARK_EVENT_ENTER) nodes.push_back(cmark_iter_get_node(iterator.get()));
  }
  Html html;
  std::set<std::string> ids;
  for (cmark_node* node : nodes) {
    const cmark_node_type type = cmark_node_get_type(node);
    if (type == CMARK_NODE_HTML_INLINE) { // `List<f32>` outside of code
      replace(node, CMARK_NODE_TEXT, literal(node));
    } else if (type == CMARK_NODE_HTML_BLOCK) {
      replace(node, CMARK_NODE_HTML_BLOCK, fmt::format("<p>{}</p>\n", escape_html(literal(node))));
    } else if (type == CMARK_NODE_CODE_BLOCK) {
      write_code_block(node);
    } else if (type == CMARK_NODE_HEADING) {
      Heading heading{cmark_node_get_heading_level(node), {}, plain_text(node)};
      heading.id = id_of(heading.title, ids);
      cmark_node* anchor = cmark_node_new(CMARK_NODE_HTML_INLINE);
      cmark_node_set_literal(
          anchor,
          fmt::format("<a class=\"anchor\" id=\"{0}\" href=\"#{0}\" aria-label=\"link\"></a>", heading.id).c_str());
      cmark_node_prepend_child(node, anchor);
      html.headings.push_back(std::move(heading));
    } else if (type == CMARK_NODE_LINK) {
      std::string url = cmark_node_get_url(node);
      size_t end = url.find(".md");
      if (end != std::string::npos && url.find(':') == std::string::npos)
        cmark_node_set_url(node, (url.substr(0, end) + ".html" + url.substr(end + 3)).c_str());
    } else if (type == CMARK_NODE_CODE && !stands_in(node, CMARK_NODE_LINK) && !stands_in(node, CMARK_NODE_HEADING)) {
      const std::string code = literal(node);
      const Target target = link_of(code);
      if (target.url.empty()) continue;
      const std::string shown =
          target.title.empty() ? fmt::format("<code>{}</code>", escape_html(code)) : escape_html(target.title);
      replace(node, CMARK_NODE_HTML_INLINE, fmt::format("<a href=\"{}\">{}</a>", escape_html(target.url), shown));
    }
  }
  const std::unique_ptr<char, Free> out(
      cmark_render_html(root.get(), CMARK_OPT_UNSAFE, cmark_parser_get_syntax_extensions(parser.get())));
  html.body = out.get();
  return html;
}

} // namespace tl::cli
