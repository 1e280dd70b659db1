// Tables of numbers as text: one row a line, separated by commas, semicolons, tabs or blanks, perhaps under a line of
// names, perhaps quoted. Lines that are empty or start with # are skipped. The file is read twice: to count the rows,
// and for the numbers.
#include "abi/scalar_op.h"
#include "vm/io/formats.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace tl {

namespace {

constexpr size_t kLongestField = 4096;
constexpr int64_t kMostColumns = 1 << 22;
constexpr char kBlanks = ' '; // as a separator: any run of spaces and tabs

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

bool is_missing(std::string_view field) {
  if (field.empty()) return true;
  if (field.size() > 8) return false;
  std::string text = lower(field);
  for (const char* word : {"nan", "-nan", "na", "n/a", "#n/a", "<na>", "null", "none", "?", "-"})
    if (text == word) return true;
  return false;
}

template <class T> bool parse_float(std::string_view field, T& value) {
  if (!field.empty() && field[0] == '+') field.remove_prefix(1);
  auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (stop != field.data() + field.size()) return false;
  if (error == std::errc::result_out_of_range) { // to infinity or to zero, as rounding has it
    std::string text(field);
    if constexpr (sizeof(T) == 4)
      value = std::strtof(text.c_str(), nullptr);
    else
      value = std::strtod(text.c_str(), nullptr);
    return true;
  }
  return error == std::errc();
}

bool is_number(std::string_view field) {
  double value;
  return parse_float(field, value);
}

struct Dialect {
  char separator = ',';
  uint64_t start = 0; // after a byte order mark
  bool has_header = false;
};

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

// The separator that both of the first rows have; or else the second, or the first, which may hold names.
Dialect find_dialect(const Source& source) {
  std::vector<char> head(1 << 16);
  head.resize(source.read_some(0, reinterpret_cast<std::byte*>(head.data()), head.size()));
  std::string_view text(head.data(), head.size());
  Dialect dialect;
  if (text.starts_with("\xef\xbb\xbf")) dialect.start = 3;
  text.remove_prefix(dialect.start);
  std::string_view rows[2];
  int count = 0;
  while (!text.empty() && count < 2) {
    size_t end = std::min(text.find_first_of("\r\n"), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    if (!line.empty() && line[0] != '#') rows[count++] = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  auto has = [](std::string_view row, char separator) { // outside of quotes
    bool quoted = false;
    for (char c : row) {
      if (c == '"') quoted = !quoted;
      if (c == separator && !quoted) return true;
    }
    return false;
  };
  dialect.separator = kBlanks;
  for (char c : {'\t', ';', ','})
    if (count > 0 && has(rows[0], c) && (count == 1 || has(rows[1], c))) {
      dialect.separator = c;
      return dialect;
    }
  for (std::string_view row : {rows[1], rows[0]})
    for (char c : {';', ','})
      if (has(row, c)) {
        dialect.separator = c;
        return dialect;
      }
  return dialect;
}

// One field as an element. False: it is none.
bool parse(DType type, std::string_view field, Scalar& out) {
  if (is_float(type)) {
    if (is_missing(field)) {
      out = convert_scalar(DType::F64, type, Scalar::of(std::nan("")));
      return true;
    }
    if (type == DType::F32) { // straight: by way of f64 it would be rounded twice
      float value = 0;
      if (!parse_float(field, value)) return false;
      out = Scalar::of(value);
      return true;
    }
    double value = 0;
    if (!parse_float(field, value)) return false;
    out = convert_scalar(DType::F64, type, Scalar::of(value));
    return true;
  }
  if (type == DType::Bool) {
    std::string word = lower(field);
    if (word != "0" && word != "1" && word != "true" && word != "false") return false;
    out = Scalar::of(uint8_t{word == "1" || word == "true"});
    return true;
  }
  if (!field.empty() && field[0] == '+') field.remove_prefix(1);
  const char *begin = field.data(), *end = begin + field.size();
  if (type == DType::U64 || type == DType::Key) {
    uint64_t value = 0;
    auto [stop, error] = std::from_chars(begin, end, value);
    out = Scalar::of(value);
    return stop == end && error == std::errc() && !field.empty();
  }
  int64_t value = 0;
  auto [stop, error] = std::from_chars(begin, end, value);
  if (stop != end || error != std::errc() || field.empty()) return false;
  out = convert_scalar(DType::I64, type, Scalar::of(value));
  return convert_scalar(type, DType::I64, out).as<int64_t>() == value;
}

struct Layout {
  Dialect dialect;
  int64_t rows = 0, columns = 0;
};

Layout read_layout(const Source& source, TextHeader header, DType type) {
  Layout layout;
  layout.dialect = find_dialect(source);
  Rows rows(source, layout.dialect);
  bool first = true;
  while (true) {
    int64_t fields = 0;
    bool names = false;
    bool found = rows.next([&](int64_t index, std::string_view field) {
      fields = index + 1;
      if (!first) return;
      Scalar ignored;
      names = names || (!is_missing(field) && !is_number(field) && !parse(type, field, ignored));
    });
    if (!found) break;
    if (first) layout.columns = fields;
    if (fields != layout.columns)
      rows.fail(fmt::format("has {} field{}, not {} as the first row", fields, fields == 1 ? "" : "s", layout.columns));
    if (first && (header == TextHeader::Yes || (header == TextHeader::Detect && names)))
      layout.dialect.has_header = true;
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
  int64_t row = layout.dialect.has_header ? -1 : 0;
  auto changed = [&]() { throw IoError(fmt::format("'{}' changed while it was read", source.path())); };
  while (true) {
    int64_t fields = 0;
    bool found = rows.next([&](int64_t column, std::string_view field) {
      fields = column + 1;
      if (row < 0) return;
      if (row >= layout.rows || column >= layout.columns) changed();
      Scalar value;
      if (!parse(type, field, value)) {
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
