// Tables of numbers as text: one row a line, separated by commas, semicolons, tabs or blanks, perhaps under a line of
// names, perhaps quoted. Lines that are empty or start with # are skipped. The file is read twice: to count the rows,
// and for the numbers.
#include "vm/io/formats.h"
#include "vm/io/text_fields.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl {

namespace {

constexpr size_t kLongestField = 4096;
constexpr int64_t kMostColumns = 1 << 22;

// Fields, line by line.
class Rows {
public:
  Rows(const Source& source, const Dialect& dialect)
      : source_(source), separator_(dialect.separator), at_(dialect.start) {}

  // Reads the next line that holds a row; false at the end. Calls field(index, text) for each field.
  template <class Field> bool next(Field&& field) {
    while (true) {
      int c = peek();
      if (c == -1) return false;
      ++line_;
      while (c == ' ' || (c == '\t' && separator_ != '\t')) {
        ++next_;
        c = peek();
      }
      if (c == '#') {
        skip_line();
        continue;
      }
      if (c == '\n' || c == '\r' || c == -1) {
        end_line();
        continue;
      }
      break;
    }
    int64_t index = 0;
    while (true) {
      bool more = read_field();
      if (index == kMostColumns) fail(fmt::format("has more than {} fields", kMostColumns));
      field(index++, trimmed(text_));
      if (!more) break;
    }
    end_line();
    return true;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw IoError(fmt::format("'{}' is not a table of numbers: line {} {}", source_.path(), line_, what));
  }

private:
  int peek() {
    if (next_ == filled_) {
      at_ += filled_;
      filled_ = source_.read_some(at_, buffer_, sizeof buffer_);
      next_ = 0;
      if (filled_ == 0) return -1;
    }
    return static_cast<int>(buffer_[next_]);
  }
  void skip_line() {
    for (int c = peek(); c != -1 && c != '\n' && c != '\r'; c = peek())
      ++next_;
    end_line();
  }
  void end_line() {
    if (peek() == '\r') {
      ++next_;
      if (peek() == '\n') ++next_;
    } else if (peek() == '\n') {
      ++next_;
    }
  }
  void put(int c) {
    if (text_.size() == kLongestField) fail(fmt::format("has a field of more than {} characters", kLongestField));
    text_ += static_cast<char>(c);
  }
  bool ends(int c) const {
    return c == -1 || c == '\n' || c == '\r' || c == separator_ || (separator_ == kBlanks && c == '\t');
  }
  // Reads a field into text_; true if another follows on the line.
  bool read_field() {
    text_.clear();
    quoted_ = false;
    int c = peek();
    while (c == ' ' && separator_ != ' ') {
      ++next_;
      c = peek();
    }
    if (c == '"') {
      quoted_ = true;
      ++next_;
      while (true) {
        c = peek();
        if (c == -1) fail("has a quote that nothing closes");
        ++next_;
        if (c == '"') {
          if (peek() != '"') break;
          ++next_; // a doubled quote is one
        }
        if (c == '\n') ++line_;
        put(c);
      }
      c = peek();
      while (c == ' ' && separator_ != ' ') {
        ++next_;
        c = peek();
      }
      if (!ends(c)) fail("has text after a closing quote");
    }
    while (!ends(c)) {
      put(c);
      ++next_;
      c = peek();
    }
    if (c == -1 || c == '\n' || c == '\r') return false;
    if (separator_ != kBlanks) {
      ++next_;
      return true;
    }
    while (c == ' ' || c == '\t') {
      ++next_;
      c = peek();
    }
    return c != -1 && c != '\n' && c != '\r';
  }

  const Source& source_;
  char separator_;
  uint64_t at_;
  size_t next_ = 0, filled_ = 0;
  int64_t line_ = 0;
  std::string text_;
  bool quoted_ = false;
  std::byte buffer_[65536];
};

Dialect dialect_of(const Source& source) {
  std::string head(1 << 16, '\0');
  head.resize(source.read_some(0, reinterpret_cast<std::byte*>(head.data()), head.size()));
  return find_dialect(head);
}

struct Layout {
  Dialect dialect;
  bool has_header = false;
  int64_t rows = 0, columns = 0;
};

Layout read_layout(const Source& source, TextHeader header, DType type) {
  Layout layout;
  layout.dialect = dialect_of(source);
  Rows rows(source, layout.dialect);
  bool first = true;
  while (true) {
    int64_t fields = 0;
    bool names = false;
    bool found = rows.next([&](int64_t index, std::string_view field) {
      fields = index + 1;
      if (!first) return;
      Scalar ignored;
      names = names || (!is_missing(field) && !is_number(field) && !parse_element(type, field, ignored));
    });
    if (!found) break;
    if (first) layout.columns = fields;
    if (fields != layout.columns)
      rows.fail(fmt::format("has {} field{}, not {} as the first row", fields, fields == 1 ? "" : "s", layout.columns));
    if (first && (header == TextHeader::Yes || (header == TextHeader::Detect && names)))
      layout.has_header = true;
    else
      ++layout.rows;
    first = false;
  }
  if (first || (layout.rows == 0 && header != TextHeader::Yes))
    throw IoError(fmt::format("'{}' is text, but holds no row of numbers", source.path()));
  return layout;
}

void read_data(const Source& source, const Layout& layout, DType type, std::byte* out) {
  Rows rows(source, layout.dialect);
  auto width = static_cast<size_t>(size_of(type));
  int64_t row = layout.has_header ? -1 : 0;
  auto changed = [&]() { throw IoError(fmt::format("'{}' changed while it was read", source.path())); };
  while (true) {
    int64_t fields = 0;
    bool found = rows.next([&](int64_t column, std::string_view field) {
      fields = column + 1;
      if (row < 0) return;
      if (row >= layout.rows || column >= layout.columns) changed();
      Scalar value;
      if (!parse_element(type, field, value)) {
        std::string what = is_missing(field) ? "is missing" : fmt::format("is '{}'", field);
        rows.fail(fmt::format("field {} {}, which is no {}", column + 1, what, name_of(type)));
      }
      std::memcpy(out + static_cast<size_t>(row * layout.columns + column) * width, &value.bits, width);
    });
    if (!found) break;
    if (fields != layout.columns) changed();
    ++row;
  }
  if (row != layout.rows) changed();
}

} // namespace

bool is_text(const Source& source) {
  unsigned char head[4096];
  size_t n = source.read_some(0, reinterpret_cast<std::byte*>(head), sizeof head);
  bool plain = n > 0;
  for (size_t i = 0; i < n; ++i)
    plain = plain && (head[i] >= 0x20 ? head[i] != 0x7f : head[i] >= '\t' && head[i] <= '\r');
  return plain;
}

bool has_line_of_names(const Source& source) {
  bool names = false;
  Rows(source, dialect_of(source)).next([&](int64_t, std::string_view field) {
    names = names || (!is_missing(field) && !is_number(field));
  });
  return names;
}

OpenTensor open_text_table(const Source& source, const ReadOptions& options) {
  DType type = options.dtype.value_or(DType::F64);
  Layout layout = read_layout(source, options.load.header, type);
  OpenTensor result;
  result.header = {type, {layout.rows, layout.columns}};
  if (options.rank == size_t{1} && layout.columns == 1) result.header.dims = {layout.rows};
  if (options.rank == size_t{1} && layout.rows == 1 && layout.columns != 1) result.header.dims = {layout.columns};
  if (options.rank == size_t{0} && layout.rows == 1 && layout.columns == 1) result.header.dims = {};
  result.read = [&source, layout, type](std::byte* out) { read_data(source, layout, type, out); };
  return result;
}

void write_text_table(const Output& out, const std::string& path, const HostTensor& x, char separator) {
  if (x.dims.size() > 2)
    throw IoError(fmt::format("cannot save '{}': a table has rows and columns, not {}; reshape it first", path,
                              type_text(x.dtype, x.dims)));
  int64_t columns = x.dims.size() == 2 ? x.dims[1] : 1;
  std::string text;
  for (int64_t i = 0, count = x.count(); i < count; ++i) {
    Scalar value = x.get(i);
    text += x.dtype == DType::Bool ? (value.as<uint8_t>() ? "1" : "0") : format_scalar(x.dtype, value);
    text += (i + 1) % columns == 0 ? '\n' : separator;
    if (text.size() > 1 << 16) {
      out(text.data(), text.size());
      text.clear();
    }
  }
  out(text.data(), text.size());
}

} // namespace tl
