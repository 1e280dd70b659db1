// Markdown -> HTML, for the pages of `tl doc --html`.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tl::cli {

struct Heading {
  int level;
  std::string id, title;
};

struct Html {
  std::string body;
  std::vector<Heading> headings; // in order; ids are unique in the page
};

// Where a piece of inline code leads: `sum(x)` to its entry in the reference, `docs/files.md` to that page by its
// title.
struct Target {
  std::string url;   // empty: nowhere
  std::string title; // what the link says; empty: the code
};
using LinkOf = std::function<Target(std::string_view code)>;

// GitHub's Markdown with tables. Code of tl is coloured; HTML in the text is shown as text, not taken as HTML.
Html markdown_to_html(const std::string& text, const LinkOf& link_of);

std::string escape_html(std::string_view text);
// `<pre>` with coloured code of tl; css_class: "tl", "tl refused".
std::string code_block(std::string_view code, std::string_view css_class = "tl");

} // namespace tl::cli
