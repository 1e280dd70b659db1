#include "lang/diagnostics.h"
#include "abi/columns.h"
#include "abi/json.h"
#include "abi/visible.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl {

void Diagnostics::report(Diagnostic diagnostic) {
  bool is_error = diagnostic.severity == Severity::Error;
  if (all_.size() >= most_kept) {
    ++left_out_;
    errors_ += is_error;
    return;
  }
  for (const Diagnostic& other : all_)
    if (other.kind == diagnostic.kind && other.span == diagnostic.span && other.message == diagnostic.message) return;
  errors_ += is_error;
  all_.push_back(std::move(diagnostic));
}

void Diagnostics::error(std::string kind, Span span, std::string message, std::string hint, std::vector<Label> labels) {
  report({Severity::Error, std::move(kind), std::move(message), span, std::move(labels), std::move(hint)});
}

void Diagnostics::warning(std::string kind, Span span, std::string message, std::string hint,
                          std::vector<Label> labels) {
  report({Severity::Warning, std::move(kind), std::move(message), span, std::move(labels), std::move(hint)});
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  std::vector<Diagnostic> out = all_;
  auto key = [](const Diagnostic& d) { return std::pair(d.span.file.index, d.span.begin); };
  std::stable_sort(out.begin(), out.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return out;
}

namespace {

// A line as it can be shown: nothing that disturbs a terminal.
struct ShownLine {
  std::vector<std::string> characters;
  std::vector<int> columns;      // of each character
  std::vector<uint32_t> offsets; // of each character in the line, and of its end
};

ShownLine show(std::string_view line) {
  ShownLine out;
  for (size_t i = 0; i < line.size();) {
    const Character character = character_at(line, i);
    const bool plain = character.plain || character.code == '\t';
    out.columns.push_back(plain && character.code != '\t' ? columns_of(character.code) : 1);
    out.characters.push_back(plain ? std::string(line.substr(i, character.length)) : "?");
    out.offsets.push_back(static_cast<uint32_t>(i));
    i += character.length;
  }
  out.offsets.push_back(static_cast<uint32_t>(line.size()));
  return out;
}

struct Mark {
  size_t first, last; // characters [first, last)
  std::string text;
};

constexpr size_t widest_line = 160, most_before_mark = 40;

// The part of a long line that begins a little before `mark` (all are bytes of the line).
struct Window {
  size_t begin = 0, end = 0;
};
Window window(std::string_view line, size_t mark) {
  Window out{0, line.size()};
  if (line.size() <= widest_line) return out;
  auto inside_character = [&](size_t at) { return (static_cast<unsigned char>(line[at]) & 0xC0) == 0x80; };
  out.begin = std::min(mark, line.size()) > most_before_mark ? std::min(mark, line.size()) - most_before_mark : 0;
  out.end = std::min(line.size(), out.begin + widest_line);
  // At most three steps each, also in bytes that are no UTF-8.
  for (int i = 0; i < 3 && out.begin > 0 && inside_character(out.begin); ++i)
    --out.begin;
  for (int i = 0; i < 3 && out.end < line.size() && inside_character(out.end); ++i)
    ++out.end;
  return out;
}

// The source line and a row of carets per mark; marks without a text share a row.
std::string show_line(const SourceManager& sources, FileId file, uint32_t line, size_t gutter,
                      const std::vector<Label>& labels) {
  uint32_t line_begin = sources.line_begin(file, line);
  std::string_view text = sources.line_text(file, line);
  uint32_t lowest = UINT32_MAX;
  for (const Label& label : labels)
    lowest = std::min(lowest, label.span.begin);
  Window part = window(text, lowest > line_begin ? lowest - line_begin : 0);
  ShownLine shown = show(text.substr(part.begin, part.end - part.begin));
  size_t part_begin = line_begin + part.begin;
  auto column = [&](uint32_t offset) {
    uint32_t in_part = offset > part_begin ? static_cast<uint32_t>(offset - part_begin) : 0;
    auto at = std::lower_bound(shown.offsets.begin(), shown.offsets.end(), in_part);
    return std::min(static_cast<size_t>(at - shown.offsets.begin()), shown.characters.size());
  };
  std::vector<Mark> marks;
  for (const Label& label : labels) {
    Mark mark{column(label.span.begin), column(label.span.end), label.text};
    mark.last = std::max(mark.last, mark.first + 1);
    marks.push_back(std::move(mark));
  }
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.first < b.first; });
  std::string out = fmt::format("{:>{}} | ", line, gutter);
  if (part.begin > 0) out += "… ";
  for (const std::string& character : shown.characters)
    out += character;
  if (part.end < text.size()) out += " …";
  out += '\n';

  std::string indent = fmt::format("{:>{}} | ", "", gutter) + (part.begin > 0 ? "  " : "");
  auto row = [&](const std::vector<Mark>& together) {
    std::string carets;
    size_t at = 0;
    auto fill = [&](size_t end, char with) {
      for (; at < end; ++at) {
        const bool is_inside = at < shown.characters.size();
        const bool is_tab = is_inside && shown.characters[at] == "\t" && with == ' ';
        carets.append(is_inside ? static_cast<size_t>(shown.columns[at]) : 1, is_tab ? '\t' : with);
      }
    };
    for (const Mark& mark : together) {
      fill(mark.first, ' ');
      const size_t before = carets.size();
      fill(mark.last, '^');
      if (carets.size() == before) carets += '^'; // a mark on the letter before it
    }
    out += indent + carets;
    if (!together.back().text.empty()) out += ' ' + visible(together.back().text);
    out += '\n';
  };
  std::vector<Mark> silent;
  for (const Mark& mark : marks)
    if (mark.text.empty()) silent.push_back(mark);
  bool silent_shown = silent.empty();
  for (const Mark& mark : marks) {
    if (mark.text.empty()) {
      if (!silent_shown) row(silent);
      silent_shown = true;
    } else {
      row({mark});
    }
  }
  return out;
}

std::string json_place(const SourceManager& sources, Span span) {
  if (!span.valid()) return R"("file":null,"line":null,"column":null,"end_line":null,"end_column":null)";
  LineColumn first = sources.line_column(span.file, span.begin), last = sources.line_column(span.file, span.end);
  return fmt::format(R"("file":{},"line":{},"column":{},"end_line":{},"end_column":{})",
                     json_string(sources.name(span.file)), first.line, first.column, last.line, last.column);
}

const char* severity_name(Severity severity) { return severity == Severity::Error ? "error" : "warning"; }

} // namespace

std::string render(const Diagnostic& diagnostic, const SourceManager& sources) {
  std::string out;
  if (diagnostic.span.valid()) {
    LineColumn place = sources.line_column(diagnostic.span);
    out = fmt::format("{}:{}:{}: ", visible(sources.name(diagnostic.span.file)), place.line, place.column);
  }
  out += fmt::format("{}[{}]: {}\n", severity_name(diagnostic.severity), diagnostic.kind, visible(diagnostic.message));

  // Every place once; the main one has its text in the headline.
  std::vector<Label> labels;
  bool main_labelled = false;
  for (const Label& label : diagnostic.labels) {
    if (!label.span.valid()) continue;
    main_labelled = main_labelled || label.span == diagnostic.span;
    labels.push_back(label);
  }
  if (diagnostic.span.valid() && !main_labelled) labels.insert(labels.begin(), {diagnostic.span, ""});
  FileId main_file = diagnostic.span.file;
  auto key = [&](const Label& l) {
    return std::tuple(l.span.file != main_file, l.span.file.index, sources.line_column(l.span).line);
  };
  std::stable_sort(labels.begin(), labels.end(), [&](const Label& a, const Label& b) { return key(a) < key(b); });

  uint32_t last_line = 0;
  for (const Label& label : labels)
    last_line = std::max(last_line, sources.line_column(label.span).line);
  size_t gutter = std::max<size_t>(3, fmt::format("{}", last_line).size() + 1);
  FileId file = main_file;
  uint32_t previous = 0;
  for (size_t i = 0; i < labels.size();) {
    FileId this_file = labels[i].span.file;
    uint32_t line = sources.line_column(labels[i].span).line;
    std::vector<Label> here;
    for (; i < labels.size() && labels[i].span.file == this_file && sources.line_column(labels[i].span).line == line;
         ++i)
      here.push_back(labels[i]);
    if (this_file != file)
      out += fmt::format("{:>{}}--> {}\n", "", gutter, visible(sources.name(this_file)));
    else if (previous != 0 && line > previous + 1)
      out += fmt::format("{:>{}} …\n", "", gutter);
    out += show_line(sources, this_file, line, gutter, here);
    file = this_file;
    previous = line;
  }
  if (!diagnostic.hint.empty()) out += fmt::format("{:>{}} hint: {}\n", "", gutter, visible(diagnostic.hint));
  return out;
}

std::string render(const Diagnostics& diagnostics, const SourceManager& sources) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics.sorted())
    out += render(diagnostic, sources);
  return out;
}

std::string render_json(const Diagnostic& diagnostic, const SourceManager& sources) {
  std::string labels;
  for (const Label& label : diagnostic.labels)
    labels += fmt::format("{}{{{},\"text\":{}}}", labels.empty() ? "" : ",", json_place(sources, label.span),
                          json_string(label.text));
  return fmt::format("{{{},\"severity\":\"{}\",\"kind\":{},\"message\":{},\"hint\":{},\"labels\":[{}]}}\n",
                     json_place(sources, diagnostic.span), severity_name(diagnostic.severity),
                     json_string(diagnostic.kind), json_string(diagnostic.message), json_string(diagnostic.hint),
                     labels);
}

} // namespace tl
