// A table as text: a line of names, and a line for each row. Internal to vm/io; what others need is in io.h.
//
// The text is kept in whole. A column is parsed when it is read; rows are only counted before, and each must have as
// many fields as there are names. Lines that are empty or begin with # are skipped. In a struct, a column has the
// name of its field: letters of ASCII, digits and _ as they are, anything else as _.
#pragma once
#include "vm/io/formats.h"
#include "vm/io/text_fields.h"
#include <mutex>

namespace tl {

class Table {
public:
  explicit Table(const Source& source); // throws IoError

  int64_t rows() const { return rows_; }
  const std::vector<std::string>& names() const { return names_; }   // as they are in the file
  const std::vector<std::string>& fields() const { return fields_; } // as a struct has them

  // What the fields of each column are, of the first 64 MB; the narrowest of what fits all.
  std::vector<ColumnContent> contents() const;
  // The elements of a column. Throws IoError where one is not of the type, with its line.
  void read(size_t column, DType type, std::byte* out) const;
  // Its moments as seconds since 1970 (UTC), NaN where there is none.
  void read_times(size_t column, DType type, std::byte* out) const;
  // Its texts, each once, sorted by their bytes, and for each row which of them it is; -1: the field is empty.
  struct Texts {
    std::vector<std::string> values;
    std::vector<int32_t> codes;
  };
  std::shared_ptr<const Texts> texts(size_t column) const; // thread-safe; kept

private:
  class Rows;
  // Calls use(rows, row, field, is_quoted) for the fields of a column: by several threads where there are many, each of
  // which has made a `use` of its own. The first row that throws counts.
  template <class MakeUse> void each(size_t column, const MakeUse& make_use) const;
  void find_names(Rows& rows);
  [[noreturn]] void wrong(const Rows& rows, size_t column, std::string_view field, std::string_view what) const;

  std::string path_;
  std::shared_ptr<std::byte[]> mapped_; // or
  std::string own_;
  std::string_view text_;
  Dialect dialect_;
  bool has_quotes_ = false;
  bool ends_by_newline_ = true; // every line; else some by '\r' alone
  int64_t rows_ = 0;
  // Where every kBlock-th row begins, from the first on.
  static constexpr int64_t kBlock = 1 << 14;
  std::vector<size_t> blocks_;
  std::vector<std::string> names_, fields_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const Texts>> texts_; // by column
};

// The table in a file. The last one is kept, so that its columns can be asked for one after the other.
std::shared_ptr<const Table> table_in(const Source& source);

// The name of a part of a struct's field, "fare", "city.code", "city.values", "when.seconds", as OpenTensor reads it.
OpenTensor open_table_column(const Source& source, const ReadOptions& options);
std::vector<std::string> table_names(const Source& source);
bool has_table_column(const Source& source, const std::string& name);

} // namespace tl
