// Tables of text under a line of names, from tensors.
#include "vm/io/formats.h"
#include "vm/io/text.h"
#include "vm/io/text_fields.h"
#include <cmath>
#include <fmt/format.h>

namespace tl {

namespace {

// `2026-01-31`, or with the time of the day: `2026-01-31T12:30:05.25`. (Hinnant's civil_from_days)
std::string time_text(double seconds, bool has_clock) {
  auto whole = static_cast<int64_t>(std::floor(seconds));
  // A moment before 1970 lies a little beside its microsecond: it is rounded, perhaps to the next second.
  int64_t micros = std::llround((seconds - static_cast<double>(whole)) * 1e6);
  if (micros == 1000000) ++whole, micros = 0;
  const int64_t day = whole >= 0 ? whole / 86400 : -((86399 - whole) / 86400), of_day = whole - day * 86400;
  const int64_t shifted = day + 719468, era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  const int64_t of_era = shifted - era * 146097;
  const int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t from_march = (5 * of_year + 2) / 153, month = from_march < 10 ? from_march + 3 : from_march - 9;
  std::string text = fmt::format("{:04}-{:02}-{:02}", year_of_era + era * 400 + (month <= 2 ? 1 : 0), month,
                                 of_year - (153 * from_march + 2) / 5 + 1);
  if (!has_clock) return text;
  text += fmt::format("T{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60);
  if (micros) {
    text += fmt::format(".{:06}", micros);
    text.resize(text.find_last_not_of('0') + 1);
  }
  return text;
}

// As a field: quoted where it would be read as something else. `separators`: what a reader may take for one.
std::string field_text(std::string_view text, std::string_view separators) {
  const bool is_plain = !text.empty() && text.find_first_of("\"\r\n") == std::string_view::npos &&
                        text.find_first_of(separators) == std::string_view::npos && trimmed(text) == text &&
                        text[0] != '#';
  if (is_plain) return std::string(text);
  std::string quoted = "\"";
  for (char c : text)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

constexpr double kFirst = -62167219200, kBehindLast = 253402300800; // the years 0000 to 9999, as ISO 8601 has them

// A column as it is written.
class Written {
public:
  // Takes one tensor, or two of a column of text, from `at` on.
  Written(const std::string& path, std::span<const NamedTensor> tensors, size_t& at, std::string_view separators)
      : column_(tensors[at].tensor) {
    const std::string& leaf = tensors[at++].name;
    std::string name = leaf;
    auto is_part = [&](std::string_view ending) {
      if (!leaf.ends_with(ending)) return false;
      name = leaf.substr(0, leaf.size() - ending.size());
      return true;
    };
    if (column_.dims.size() != 1)
      throw IoError(fmt::format("cannot save '{}': '{}' is {}, and the columns of a table are vectors", path, leaf,
                                type_text(column_.dtype, column_.dims)));
    if (is_part(".code") && at < tensors.size() && tensors[at].name == name + ".values")
      read_values(tensors[at++].tensor, separators);
    else if (is_part(".seconds"))
      look_at_times();
    name_ = field_text(name, separators);
  }

  int64_t rows() const { return column_.dims[0]; }
  const std::string& name() const { return name_; }
  std::string field(int64_t row) const {
    const Scalar value = column_.get(row);
    if (is_text_) {
      const auto code = convert_scalar(column_.dtype, DType::I64, value).as<int64_t>();
      return code < 0 || code >= static_cast<int64_t>(values_.size()) ? "" : values_[static_cast<size_t>(code)];
    }
    if (column_.dtype == DType::Bool) return value.as<uint8_t>() ? "true" : "false";
    const double number = is_float(column_.dtype) ? float_of(value) : 0;
    if (std::isnan(number)) return "";
    return is_time_ ? time_text(number, has_clock_) : format_scalar(column_.dtype, value);
  }

private:
  double float_of(Scalar value) const { return convert_scalar(column_.dtype, DType::F64, value).as<double>(); }
  void read_values(const HostTensor& packed, std::string_view separators) {
    is_text_ = true;
    for (const std::string& text :
         unpack_texts({reinterpret_cast<const char*>(packed.data()), static_cast<size_t>(packed.count())}))
      values_.push_back(field_text(text, separators));
  }
  void look_at_times() {
    is_time_ = is_float(column_.dtype);
    for (int64_t row = 0; is_time_ && row < rows(); ++row) {
      const double seconds = float_of(column_.get(row));
      is_time_ = std::isnan(seconds) || (seconds >= kFirst && seconds < kBehindLast);
      has_clock_ = has_clock_ || (!std::isnan(seconds) && std::fmod(seconds, 86400) != 0);
    }
  }

  const HostTensor& column_;
  std::string name_;
  std::vector<std::string> values_;
  bool is_text_ = false, is_time_ = false, has_clock_ = false;
};

} // namespace

void write_table(const Output& out, const std::string& path, std::span<const NamedTensor> tensors, char separator) {
  // Other separators than its own count where a reader has to guess which one it is: a line of names with `;` in it.
  const bool is_one = tensors.size() == 1 || (tensors.size() == 2 && tensors[1].name.ends_with(".values"));
  const std::string_view separators = is_one ? " ,;\t" : separator == ',' ? ",;\t" : "\t";
  std::vector<Written> columns;
  for (size_t at = 0; at < tensors.size();)
    columns.emplace_back(path, tensors, at, separators);
  std::string text;
  for (const Written& column : columns) {
    if (column.rows() != columns[0].rows())
      throw IoError(fmt::format("cannot save '{}': its column '{}' has {} rows, and '{}' has {}", path,
                                columns[0].name(), columns[0].rows(), column.name(), column.rows()));
    text += column.name();
    text += &column == &columns.back() ? '\n' : separator;
  }
  for (int64_t row = 0; row < columns[0].rows(); ++row) {
    for (const Written& column : columns) {
      const std::string field = column.field(row);
      text += field.empty() && columns.size() == 1 ? "\"\"" : field; // an empty line is no row
      text += &column == &columns.back() ? '\n' : separator;
    }
    if (text.size() > 1 << 16) {
      out(text.data(), text.size());
      text.clear();
    }
  }
  out(text.data(), text.size());
}

} // namespace tl
