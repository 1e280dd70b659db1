#include "parser/format/doc.h"
#include "lang/source.h"
#include <algorithm>

namespace tl::syntax {

// ---- making --------------------------------------------------------------------------------------------------------

Doc& DocArena::make(Doc::Kind kind) {
  Doc& doc = docs_.emplace_back();
  doc.kind = kind;
  return doc;
}

const Doc* DocArena::wrap(Doc::Kind kind, const Doc* part) {
  Doc& doc = make(kind);
  doc.hard = part->hard;
  doc.open = part->open;
  doc.empty = part->empty;
  doc.parts = {part};
  return &doc;
}

const Doc* DocArena::mark(Doc::Kind kind, bool hard) {
  Doc& doc = make(kind);
  doc.hard = hard;
  doc.empty = true;
  return &doc;
}

const Doc* DocArena::text(std::string text) {
  Doc& doc = make(Doc::Kind::Text);
  doc.empty = text.empty();
  doc.text = std::move(text);
  return &doc;
}

const Doc* DocArena::concat(std::vector<const Doc*> parts) {
  Doc& doc = make(Doc::Kind::Concat);
  doc.empty = true;
  for (const Doc* part : parts) {
    doc.hard = doc.hard || part->hard || (doc.open && !part->empty);
    doc.open = part->open || (doc.open && part->empty);
    doc.empty = doc.empty && part->empty;
  }
  doc.parts = std::move(parts);
  return &doc;
}

const Doc* DocArena::group(const Doc* part, bool broken) {
  Doc& doc = const_cast<Doc&>(*wrap(Doc::Kind::Group, part));
  doc.hard = doc.hard || broken;
  return &doc;
}

const Doc* DocArena::fill(std::vector<const Doc*> parts) {
  Doc& doc = const_cast<Doc&>(*concat(std::move(parts)));
  doc.kind = Doc::Kind::Fill;
  return &doc;
}

const Doc* DocArena::suffix(std::string text, uint32_t column) {
  Doc& doc = make(Doc::Kind::Suffix);
  doc.open = doc.empty = true;
  doc.text = std::move(text);
  doc.column = column;
  return &doc;
}

const Doc* DocArena::choice(Doc::Kind kind, std::string text) {
  Doc& doc = make(kind);
  doc.empty = true;
  doc.text = std::move(text);
  return &doc;
}

const Doc* DocArena::hugged(const Doc* part) {
  Doc& doc = const_cast<Doc&>(*wrap(Doc::Kind::Concat, part));
  doc.hard = false;
  return &doc;
}

const Doc* DocArena::value(const Doc* part, bool hugs, bool on_new_line) {
  Doc& doc = const_cast<Doc&>(*wrap(Doc::Kind::Value, part));
  doc.hard = doc.hard || on_new_line;
  doc.hugs = hugs && !on_new_line;
  return &doc;
}

// ---- printing ------------------------------------------------------------------------------------------------------

namespace {

enum class Mode : uint8_t { Flat, Broken };

struct Command {
  size_t indent;
  Mode mode;
  const Doc* doc;
};

class Printer {
public:
  explicit Printer(size_t width) : width_(width) {}

  std::string run(const Doc* doc) {
    stack_.push_back({0, Mode::Broken, doc});
    while (!stack_.empty()) {
      Command command = stack_.back();
      stack_.pop_back();
      print(command);
    }
    end_line();
    align();
    std::string out;
    for (const Row& row : rows_) {
      out += row.code;
      if (!row.comment.empty()) {
        if (!row.code.empty()) out.append(row.gap, ' ');
        out += row.comment;
      }
      out += '\n';
    }
    return out;
  }

private:
  // A line of the output, and the comment at its end.
  struct Row {
    std::string code, comment;
    uint32_t column = 0; // of the comment in the source
    size_t gap = 2;
    std::vector<std::string> below; // further comments, which get lines of their own
  };

  size_t width_;
  std::vector<Command> stack_;
  std::vector<Row> rows_;
  Row row_;
  size_t position_ = 0;

  void end_line() {
    while (!row_.code.empty() && row_.code.back() == ' ')
      row_.code.pop_back();
    if (row_.code.empty() && row_.comment.empty() && (rows_.empty() || stack_.empty())) return;
    const std::string indent(std::min(row_.code.find_first_not_of(' '), row_.code.size()), ' ');
    const std::vector<std::string> below = std::move(row_.below);
    rows_.push_back(std::move(row_));
    for (const std::string& comment : below)
      rows_.push_back({indent + comment, {}, 0, 2, {}});
    row_ = {};
  }

  void newline(size_t indent) {
    end_line();
    row_ = {};
    row_.code.assign(indent, ' ');
    position_ = indent;
  }

  void write(const std::string& text) {
    size_t start = 0;
    for (size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
      row_.code.append(text, start, end - start);
      rows_.push_back(std::move(row_)); // inside a string blanks at the end of a line mean something
      row_ = {};
      position_ = 0;
    }
    row_.code.append(text, start);
    position_ += character_count(std::string_view(text).substr(start));
  }

  void print(const Command& command) {
    const auto& [indent, mode, doc] = command;
    switch (doc->kind) {
    case Doc::Kind::Text: write(doc->text); break;
    case Doc::Kind::Concat:
      for (size_t i = doc->parts.size(); i-- > 0;)
        stack_.push_back({indent, mode, doc->parts[i]});
      break;
    case Doc::Kind::Nest: stack_.push_back({indent + 2, mode, doc->parts[0]}); break;
    case Doc::Kind::Group: {
      bool flat = !doc->hard && (mode == Mode::Flat || fits(position_, {indent, Mode::Flat, doc->parts[0]}));
      stack_.push_back({indent, flat ? Mode::Flat : Mode::Broken, doc->parts[0]});
      break;
    }
    case Doc::Kind::Fill: fill(command); break;
    case Doc::Kind::Line:
    case Doc::Kind::SoftLine:
      if (mode == Mode::Broken)
        newline(indent);
      else if (doc->kind == Doc::Kind::Line)
        write(" ");
      break;
    case Doc::Kind::HardLine: newline(indent); break;
    case Doc::Kind::BlankLine:
      newline(0);
      newline(indent);
      break;
    case Doc::Kind::FreshLine:
      if (row_.code.find_first_not_of(' ') != std::string::npos || !row_.comment.empty()) newline(indent);
      break;
    case Doc::Kind::Suffix:
      if (row_.comment.empty()) {
        row_.comment = doc->text;
        row_.column = doc->column;
      } else if (doc->text.starts_with("##")) { // on a line of its own it would document what follows
        (row_.below.empty() ? row_.comment : row_.below.back()) += "  " + doc->text;
      } else {
        row_.below.push_back(doc->text);
      }
      break;
    case Doc::Kind::IfBroken:
      if (mode == Mode::Broken) write(doc->text);
      break;
    case Doc::Kind::IfFlat:
      if (mode == Mode::Flat) write(doc->text);
      break;
    case Doc::Kind::Lines: stack_.push_back({indent, Mode::Broken, doc->parts[0]}); break;
    case Doc::Kind::Value: value(command); break;
    }
  }

  void value(const Command& command) {
    const auto& [indent, mode, doc] = command;
    const Doc* part = doc->parts[0];
    bool new_line = false, flat = mode == Mode::Flat;
    if (!flat && doc->hard) {
      new_line = !doc->hugs;
    } else if (!flat) {
      flat = fits(position_ + 1, {indent, Mode::Flat, part});
      if (!flat) {
        bool flat_below = fits(indent + 2, {indent + 2, Mode::Flat, part});
        new_line = flat_below || !doc->hugs;
        flat = flat_below;
      }
    }
    if (new_line)
      newline(indent + 2);
    else
      write(" ");
    stack_.push_back({new_line ? indent + 2 : indent, flat ? Mode::Flat : Mode::Broken, part});
  }

  // Parts and lines by turns.
  void fill(const Command& command) {
    const auto& [indent, mode, doc] = command;
    if (mode == Mode::Flat) {
      for (size_t i = doc->parts.size(); i-- > 0;)
        stack_.push_back({indent, mode, doc->parts[i]});
      return;
    }
    size_t at = position_;
    std::vector<Command> commands;
    for (size_t i = 0; i < doc->parts.size(); ++i) {
      const Doc* part = doc->parts[i];
      if (i % 2 == 0) {
        commands.push_back({indent, Mode::Broken, part});
        at += flat_width(part);
        continue;
      }
      size_t next = i + 1 < doc->parts.size() ? flat_width(doc->parts[i + 1]) : 0;
      bool breaks = doc->parts[i - 1]->open || at + 1 + next > width_;
      commands.push_back({indent, breaks ? Mode::Broken : Mode::Flat, part});
      at = breaks ? indent : at + 1;
    }
    stack_.insert(stack_.end(), commands.rbegin(), commands.rend());
  }

  static size_t flat_width(const Doc* doc) {
    if (doc->kind == Doc::Kind::Text) return character_count(doc->text);
    if (doc->kind == Doc::Kind::Line) return 1;
    size_t all = 0;
    for (const Doc* part : doc->parts)
      all += flat_width(part);
    return all;
  }

  // Does this fit behind column `at`, with what follows it up to where a newline may be?
  bool fits(size_t at, const Command& first) const {
    std::vector<Command> todo{first};
    size_t rest = stack_.size();
    while (at <= width_) {
      if (todo.empty()) {
        if (rest == 0) return true;
        todo.push_back(stack_[--rest]);
        continue;
      }
      auto [indent, mode, doc] = todo.back();
      todo.pop_back();
      bool following = rest < stack_.size();
      switch (doc->kind) {
      case Doc::Kind::Text: {
        size_t end = doc->text.find('\n');
        at += character_count(std::string_view(doc->text).substr(0, end));
        if (end != std::string::npos) return at <= width_;
        break;
      }
      case Doc::Kind::Concat:
      case Doc::Kind::Fill:
        for (size_t i = doc->parts.size(); i-- > 0;)
          todo.push_back({indent, mode, doc->parts[i]});
        break;
      case Doc::Kind::Nest: todo.push_back({indent, mode, doc->parts[0]}); break;
      case Doc::Kind::Group:
        todo.push_back({indent, doc->hard || following ? Mode::Broken : mode, doc->parts[0]});
        break;
      case Doc::Kind::Value:
        if (mode == Mode::Broken && following) return true;
        ++at;
        todo.push_back({indent, mode, doc->parts[0]});
        break;
      case Doc::Kind::Line:
      case Doc::Kind::SoftLine:
        if (mode == Mode::Broken) return true;
        at += doc->kind == Doc::Kind::Line;
        break;
      case Doc::Kind::HardLine:
      case Doc::Kind::BlankLine:
      case Doc::Kind::FreshLine: return true;
      case Doc::Kind::Suffix: break; // comments may be wider
      case Doc::Kind::IfBroken:
        if (mode == Mode::Broken) at += character_count(doc->text);
        break;
      case Doc::Kind::IfFlat:
        if (mode == Mode::Flat) at += character_count(doc->text);
        break;
      case Doc::Kind::Lines: todo.push_back({indent, Mode::Broken, doc->parts[0]}); break;
      }
    }
    return false;
  }

  void align() {
    for (size_t i = 0; i < rows_.size();) {
      size_t end = i;
      size_t widest = 0;
      while (end < rows_.size() && !rows_[end].comment.empty() && rows_[end].column == rows_[i].column)
        widest = std::max(widest, character_count(rows_[end++].code));
      for (size_t k = i; k < end; ++k)
        rows_[k].gap = widest + 2 - character_count(rows_[k].code);
      i = std::max(end, i + 1);
    }
  }
};

} // namespace

std::string print(const Doc* doc, size_t width) { return Printer(width).run(doc); }

} // namespace tl::syntax
