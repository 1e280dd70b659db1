// Tables of text whose columns have names.
#include "vm/io/table.h"
#include "vm/io/access.h"
#include "vm/io/text.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <exception>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unordered_map>

namespace tl {

namespace {

constexpr size_t kLooked = 64 << 20; // bytes that tell what a column holds
constexpr size_t kMostColumns = 1 << 16;

bool ends_line(char c) { return c == '\n' || c == '\r'; }

// How many fields a line has that blanks separate.
size_t count_words(std::string_view line) {
  size_t count = 0;
  for (size_t at = 0; at < line.size();) {
    at = line.find_first_not_of(" \t", at);
    if (at == std::string_view::npos) break;
    ++count;
    at = std::min(line.find_first_of(" \t", at), line.size());
  }
  return count;
}

// A text of one column may have blanks in it: they separate only where the first two rows have as many of them.
Dialect dialect_of_table(std::string_view text) {
  const std::string_view head = text.substr(0, 1 << 16);
  Dialect dialect = find_dialect(head);
  if (dialect.separator != kBlanks) return dialect;
  const size_t first = end_of_row(head);
  const size_t second = std::min(head.find_first_not_of("\r\n", first), head.size());
  const size_t words = count_words(head.substr(0, first));
  const std::string_view row = head.substr(second, end_of_row(head.substr(second)));
  if (words < 2 || (!row.empty() && count_words(row) != words)) dialect.separator = ',';
  return dialect;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// The name that a struct's field has for a column.
std::string field_name(std::string_view name, size_t column) {
  std::string field;
  for (char c : name) {
    const bool fits = is_letter(c) || (c >= '0' && c <= '9');
    if (fits || (!field.empty() && field.back() != '_')) field += fits ? c : '_';
  }
  while (field.size() > 1 && field.back() == '_')
    field.pop_back();
  if (field.empty() || field == "_") return fmt::format("column_{}", column + 1);
  return is_letter(field[0]) ? field : "_" + field;
}

// The kinds that all fields so far are.
struct Kinds {
  bool number = true, integer = true, truth = true, time = true, some = false, missing = false;

  void look(std::string_view field, bool is_quoted) {
    if (field.empty() && !is_quoted) {
      missing = true;
      return;
    }
    if (number || truth || time) {
      const bool is_none = is_missing(field);
      Scalar ignored;
      missing |= is_none;
      some |= !is_none;
      if (!is_none) {
        integer = integer && parse_element(DType::I64, field, ignored);
        number = number && (integer || is_number(field));
        truth = truth && (field == "true" || field == "false" || field == "True" || field == "False" ||
                          field == "TRUE" || field == "FALSE");
        time = time && parse_time(field);
      }
    }
  }
  ColumnContent content() const {
    if (!some) return missing ? ColumnContent::F64 : ColumnContent::Text;
    if (number) return integer && !missing ? ColumnContent::I64 : ColumnContent::F64;
    if (time) return ColumnContent::Time;
    return truth && !missing ? ColumnContent::Bool : ColumnContent::Text;
  }
};

} // namespace

// Goes through the text, row by row and field by field.
class Table::Rows {
public:
  Rows(const Table& table, size_t at)
      : begin_(table.text_.data()), at_(begin_ + at), end_(begin_ + table.text_.size()),
        separator_(table.dialect_.separator), has_quotes_(table.has_quotes_), by_newline_(table.ends_by_newline_),
        path_(table.path_) {
    for (char c : {separator_, '\n', '\r', separator_ == kBlanks ? '\t' : '\n'})
      is_end_[static_cast<unsigned char>(c)] = true;
  }

  // To the first field of the next row that there is; false at the end.
  bool next() {
    while (at_ != end_) {
      const char* first = at_;
      while (first != end_ && (*first == ' ' || (*first == '\t' && separator_ != '\t')))
        ++first;
      if (first == end_) return false;
      if (*first != '#' && !ends_line(*first)) {
        row_ = at_;
        if (separator_ == kBlanks) at_ = first;
        return true;
      }
      at_ = first;
      skip_plain();
      end_row();
    }
    return false;
  }

  // The next field of the row, without blanks around it. False: it was the last one.
  bool field(std::string_view& text, bool& is_quoted) {
    is_quoted = false;
    if (has_quotes_ && separator_ != kBlanks)
      while (at_ != end_ && *at_ == ' ')
        ++at_;
    if (at_ != end_ && *at_ == '"') {
      is_quoted = true;
      text = quoted();
    } else {
      const char* first = at_;
      skip_field();
      text = trimmed({first, static_cast<size_t>(at_ - first)});
    }
    return separate();
  }

  // Over so many fields of the row, which has more.
  void skip_fields(size_t count) {
    std::string_view ignored;
    bool is_quoted;
    for (size_t k = 0; k < count; ++k)
      if (has_quotes_ || separator_ == kBlanks)
        field(ignored, is_quoted);
      else
        skip_field(), ++at_;
  }

  // How many fields the row has; it is at its end then.
  size_t count_fields() {
    size_t count = 1;
    if (has_quotes_ || separator_ == kBlanks) {
      std::string_view ignored;
      bool is_quoted;
      while (field(ignored, is_quoted))
        ++count;
      return count;
    }
    for (; at_ != end_ && !ends_line(*at_); ++at_)
      count += *at_ == separator_;
    return count;
  }

  // The rest of the row, whose number of fields is known.
  void skip() {
    if (has_quotes_) {
      std::string_view ignored;
      bool is_quoted;
      while (field(ignored, is_quoted)) {
      }
    } else {
      skip_plain();
    }
    end_row();
  }
  void end_row() {
    if (at_ != end_ && *at_ == '\r') ++at_;
    if (at_ != end_ && *at_ == '\n') ++at_;
  }

  // Of the row whose fields were counted.
  bool ends_with_separator() const { return at_ != begin_ && at_[-1] == separator_; }

  size_t offset() const { return static_cast<size_t>(at_ - begin_); }

  [[noreturn]] void fail(const std::string& what) const {
    int64_t line = 1;
    for (const char* c = begin_; c < row_; ++c) // "\r\n" ends one line
      line += *c == '\n' || (*c == '\r' && (c + 1 == end_ || c[1] != '\n'));
    throw IoError(fmt::format("'{}', line {}: {}", path_, line, what));
  }

private:
  bool is_end(char c) const { return is_end_[static_cast<unsigned char>(c)]; }
  void skip_field() {
    while (at_ != end_ && !is_end(*at_))
      ++at_;
  }
  void skip_plain() {
    if (by_newline_) {
      const void* end = std::memchr(at_, '\n', static_cast<size_t>(end_ - at_));
      at_ = end ? static_cast<const char*>(end) : end_;
      return;
    }
    while (at_ != end_ && !ends_line(*at_))
      ++at_;
  }
  // What stands between quotes; two of them are one.
  std::string_view quoted() {
    const char* first = ++at_;
    scratch_.clear();
    while (true) {
      const auto* quote = static_cast<const char*>(std::memchr(at_, '"', static_cast<size_t>(end_ - at_)));
      if (!quote) fail("a quote that nothing closes");
      at_ = quote + 1;
      if (at_ == end_ || *at_ != '"') break;
      scratch_.append(first, at_); // with one of them
      first = ++at_;
    }
    const std::string_view last(first, static_cast<size_t>(at_ - 1 - first));
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t') && separator_ != kBlanks && *at_ != separator_)
      ++at_;
    if (at_ != end_ && !is_end(*at_)) fail("text after a closing quote");
    if (scratch_.empty()) return last;
    return scratch_.append(last);
  }
  bool separate() {
    if (at_ == end_ || ends_line(*at_)) return false;
    if (separator_ != kBlanks) {
      ++at_;
      return true;
    }
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t'))
      ++at_;
    return at_ != end_ && !ends_line(*at_);
  }

  const char *const begin_, *at_, *const end_;
  const char* row_ = nullptr;
  const char separator_;
  const bool has_quotes_, by_newline_;
  const std::string& path_;
  std::array<bool, 256> is_end_{}; // of a field
  std::string scratch_;
};

Table::Table(const Source& source) : path_(source.path()) {
  mapped_ = source.map(0, source.size());
  if (mapped_) {
    text_ = {reinterpret_cast<const char*>(mapped_.get()), source.size()};
  } else {
    own_ = read_whole(source);
    text_ = own_;
  }
  dialect_ = dialect_of_table(text_);
  has_quotes_ = text_.find('"') != std::string_view::npos;
  for (size_t at = 0; ends_by_newline_ && (at = text_.find('\r', at)) != std::string_view::npos; ++at)
    ends_by_newline_ = at + 1 < text_.size() && text_[at + 1] == '\n';
  Rows rows(*this, dialect_.start);
  if (!rows.next()) throw IoError(fmt::format("'{}' is no table: it has no line of names", path_));
  find_names(rows);
  for (; rows.next(); rows.end_row(), ++rows_) {
    if (rows_ % kBlock == 0) blocks_.push_back(rows.offset());
    const size_t count = rows.count_fields();
    if (count != names_.size())
      rows.fail(fmt::format("{} field{}, and the table has {} column{}{}", count, count == 1 ? "" : "s", names_.size(),
                            names_.size() == 1 ? "" : "s",
                            count == names_.size() + 1 && rows.ends_with_separator()
                                ? " (the line ends with a separator, and that of the names does not)"
                                : ""));
  }
  texts_.resize(names_.size());
}

void Table::find_names(Rows& rows) {
  bool more = true;
  while (more) {
    std::string_view name;
    bool is_quoted;
    more = rows.field(name, is_quoted);
    if (names_.size() == kMostColumns) rows.fail(fmt::format("more than {} columns", kMostColumns));
    if (invalid_utf8(name) != std::string_view::npos) rows.fail("a name that is not UTF-8");
    names_.emplace_back(name);
    std::string field = field_name(name, fields_.size());
    const std::string first = field;
    for (int k = 2; std::find(fields_.begin(), fields_.end(), field) != fields_.end(); ++k)
      field = fmt::format("{}_{}", first, k);
    fields_.push_back(std::move(field));
  }
  rows.end_row();
}

template <class MakeUse> void Table::each(size_t column, const MakeUse& make_use) const {
  const size_t most = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 8);
  const size_t parts = std::clamp<size_t>(blocks_.size() / 4, 1, most), per_part = (blocks_.size() + parts - 1) / parts;
  std::vector<std::exception_ptr> failures(parts);
  auto run = [&](size_t part) {
    try {
      const size_t first = part * per_part, last = std::min(first + per_part, blocks_.size());
      if (first >= last) return;
      auto use = make_use();
      Rows rows(*this, blocks_[first]);
      const int64_t end = std::min(static_cast<int64_t>(last) * kBlock, rows_);
      std::string_view field;
      bool is_quoted;
      for (int64_t row = static_cast<int64_t>(first) * kBlock; row < end && rows.next(); ++row) {
        rows.skip_fields(column);
        const bool more = rows.field(field, is_quoted);
        use(rows, row, field, is_quoted);
        more ? rows.skip() : rows.end_row();
      }
    } catch (...) {
      failures[part] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  size_t begun = 1, alone = parts; // those from `alone` on are done here
  try {
    for (; begun < parts; ++begun)
      threads.emplace_back(run, begun);
  } catch (const std::system_error&) { // the system grants no more
    alone = begun;
  }
  run(0);
  for (size_t part = alone; part < parts; ++part)
    run(part);
  for (std::thread& thread : threads)
    thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

std::vector<ColumnContent> Table::contents() const {
  std::vector<Kinds> kinds(names_.size());
  Rows rows(*this, blocks_.empty() ? text_.size() : blocks_[0]);
  std::string_view field;
  bool is_quoted;
  while (rows.next() && rows.offset() < kLooked) {
    for (Kinds& column : kinds) {
      rows.field(field, is_quoted);
      column.look(field, is_quoted);
    }
    rows.end_row();
  }
  std::vector<ColumnContent> contents;
  for (const Kinds& column : kinds)
    contents.push_back(column.content());
  return contents;
}

void Table::wrong(const Rows& rows, size_t column, std::string_view field, std::string_view what) const {
  rows.fail(fmt::format("{} in the column '{}', which is no {}",
                        field.empty() ? "a missing value" : fmt::format("'{}'", field), names_[column], what));
}

void Table::read(size_t column, DType type, std::byte* out) const {
  const auto width = static_cast<size_t>(size_of(type));
  each(column, [&] {
    return [&](const Rows& rows, int64_t row, std::string_view field, bool) {
      Scalar value;
      if (!parse_element(type, field, value)) wrong(rows, column, field, name_of(type));
      std::memcpy(out + static_cast<size_t>(row) * width, &value.bits, width);
    };
  });
}

void Table::read_times(size_t column, DType type, std::byte* out) const {
  const auto width = static_cast<size_t>(size_of(type));
  each(column, [&] {
    return [&](const Rows& rows, int64_t row, std::string_view field, bool) {
      double value = std::nan("");
      if (!is_missing(field)) {
        const std::optional<double> time = parse_time(field);
        if (!time) wrong(rows, column, field, "time, as 2026-01-31 or 2026-01-31T12:30:00Z are");
        value = *time;
      }
      const Scalar element = convert_scalar(DType::F64, type, Scalar::of(value));
      std::memcpy(out + static_cast<size_t>(row) * width, &element.bits, width);
    };
  });
}

namespace {

// The different texts that one thread has met.
struct Met {
  std::unordered_map<std::string_view, int32_t> numbers;
  std::deque<std::string> copies; // of those that are not in the file as they are
  std::vector<std::string_view> values;
  int64_t first = -1, last = -1; // rows
};

} // namespace

std::shared_ptr<const Table::Texts> Table::texts(size_t column) const {
  std::lock_guard lock(mutex_);
  if (texts_[column]) return texts_[column];
  auto texts = std::make_shared<Texts>();
  texts->codes.resize(static_cast<size_t>(rows_));
  std::mutex of_all;
  std::deque<Met> all;
  each(column, [&] {
    std::lock_guard adding(of_all);
    Met& met = all.emplace_back();
    return [&](const Rows& rows, int64_t row, std::string_view field, bool is_quoted) {
      if (met.first < 0) met.first = row;
      met.last = row;
      int32_t& code = texts->codes[static_cast<size_t>(row)];
      code = -1;
      if (field.empty() && !is_quoted) return;
      auto found = met.numbers.find(field);
      if (found == met.numbers.end()) {
        if (invalid_utf8(field) != std::string_view::npos) rows.fail("text that is not UTF-8");
        const bool is_inside = field.data() >= text_.data() && field.data() < text_.data() + text_.size();
        if (!is_inside) field = met.copies.emplace_back(field);
        found = met.numbers.emplace(field, static_cast<int32_t>(met.values.size())).first;
        met.values.push_back(field);
      }
      code = found->second;
    };
  });
  std::vector<std::string_view> sorted;
  for (const Met& met : all)
    sorted.insert(sorted.end(), met.values.begin(), met.values.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  texts->values.assign(sorted.begin(), sorted.end());
  for (const Met& met : all) {
    std::vector<int32_t> place;
    for (std::string_view value : met.values)
      place.push_back(static_cast<int32_t>(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin()));
    for (int64_t row = met.first; row >= 0 && row <= met.last; ++row)
      if (int32_t& code = texts->codes[static_cast<size_t>(row)]; code >= 0) code = place[static_cast<size_t>(code)];
  }
  return texts_[column] = texts;
}

// ---- what the rest of vm/io sees ------------------------------------------------------------------------------------

std::shared_ptr<const Table> table_in(const Source& source) {
  struct Last {
    std::mutex mutex;
    std::array<int64_t, 5> file{};
    std::shared_ptr<const Table> table;
  };
  static auto* last = new Last;
  struct stat is{};
  const bool is_regular = ::stat(source.path().c_str(), &is) == 0 && S_ISREG(is.st_mode);
  if (!is_regular) return std::make_shared<const Table>(source);
  const std::array<int64_t, 5> file{static_cast<int64_t>(is.st_dev), static_cast<int64_t>(is.st_ino), is.st_size,
                                    is.st_mtim.tv_sec, is.st_mtim.tv_nsec};
  std::lock_guard lock(last->mutex);
  if (!last->table || last->file != file) {
    last->table = nullptr;
    last->table = std::make_shared<const Table>(source);
    last->file = file;
  }
  return last->table;
}

namespace {

// A column, and which part of it.
struct Part {
  enum class What : uint8_t { Elements, Codes, Values, Seconds } what = What::Elements;
  size_t column = 0;
};

std::optional<Part> find_part(const Table& table, const std::string& name) {
  for (const auto* names : {&table.names(), &table.fields()})
    if (auto at = std::find(names->begin(), names->end(), name); at != names->end())
      return Part{Part::What::Elements, static_cast<size_t>(at - names->begin())};
  constexpr std::pair<std::string_view, Part::What> kParts[] = {
      {".code", Part::What::Codes}, {".values", Part::What::Values}, {".seconds", Part::What::Seconds}};
  for (const auto& [ending, what] : kParts)
    if (name.ends_with(ending))
      if (auto whole = find_part(table, name.substr(0, name.size() - ending.size()));
          whole && whole->what == Part::What::Elements)
        return Part{what, whole->column};
  return std::nullopt;
}

Part require_part(const Source& source, const Table& table, const std::string& name) {
  if (auto part = find_part(table, name)) return *part;
  throw IoError(fmt::format("'{}' has no column '{}'; it has {}", source.path(), name, fmt::join(table.names(), ", ")));
}

} // namespace

OpenTensor open_table_column(const Source& source, const ReadOptions& options) {
  std::shared_ptr<const Table> table = table_in(source);
  const Part part = require_part(source, *table, options.name);
  OpenTensor result;
  result.header = {options.dtype.value_or(DType::F64), {table->rows()}};
  const DType type = result.header.dtype;
  switch (part.what) {
  case Part::What::Elements:
    result.read = [table, part, type](std::byte* out) { table->read(part.column, type, out); };
    break;
  case Part::What::Seconds:
    result.read = [table, part, type](std::byte* out) { table->read_times(part.column, type, out); };
    break;
  case Part::What::Codes:
    result.read = [table, part, type](std::byte* out) {
      for (int64_t code : table->texts(part.column)->codes) {
        const Scalar element = convert_scalar(DType::I64, type, Scalar::of(code));
        std::memcpy(out, &element.bits, static_cast<size_t>(size_of(type)));
        out += size_of(type);
      }
    };
    break;
  case Part::What::Values: {
    const std::vector<std::string>& values = table->texts(part.column)->values;
    std::string bytes = pack_texts({values.begin(), values.end()});
    result.header = {DType::U8, {static_cast<int64_t>(bytes.size())}};
    result.read = [bytes = std::move(bytes)](std::byte* out) { std::memcpy(out, bytes.data(), bytes.size()); };
  }
  }
  return result;
}

std::vector<std::string> table_names(const Source& source) { return table_in(source)->names(); }

bool has_table_column(const Source& source, const std::string& name) {
  return find_part(*table_in(source), name).has_value();
}

} // namespace tl
