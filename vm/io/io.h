// Tensors from and to files, and text for people: what both engines and the command line share, so that they read,
// write and print alike.
//
//   HostTensor x = load_tensor("x.npy");
//   save_tensor("y.png", y);
//   format_scalar(DType::F32, Scalar::of(0.1f), ">8.3");   // "     0.1"
//   format_tensor(x);                                      // "[[1. 2.]\n [3. 4.]]"
//
// Functions are thread-safe unless they share an object. Files are known by their content, gzipped or not, and written
// by their ending. What a file claims is checked against its size before memory is taken for it.
#pragma once
#include "abi/format_template.h"
#include "abi/load_options.h"

#include "abi/tensor.h"
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tl {

// A file that cannot be read or written, in the user's words: "cannot open 'x.npy': no such file".
// `kind` names the diagnostic: "IoError", or "FileMismatch" for a file of another element type or rank.
struct IoError : std::runtime_error {
  explicit IoError(const std::string& message, std::string kind = "IoError")
      : std::runtime_error(message), kind(std::move(kind)) {}
  std::string kind;
};

// ---- files ----------------------------------------------------------------------------------------------------------

struct TensorHeader {
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
};

struct ReadOptions {
  LoadOptions load; // format, header line of a table, channels of an image
  std::string name; // of one tensor among several; empty: the only one
  // What is wanted: tables of text are read as this element type (f64 unless told), and a table of one column or row
  // also as rank 1. Every other file says itself what it holds.
  std::optional<DType> dtype;
  std::optional<size_t> rank;
};

// A file whose header was read and found sound (its size fits the header), and whose elements were not read yet.
class TensorReader {
public:
  // Throws IoError: missing, a directory, no permission, of no known format, malformed, truncated, no such tensor.
  explicit TensorReader(const std::string& path, const ReadOptions& options = {});
  ~TensorReader();
  TensorReader(TensorReader&&) noexcept;
  TensorReader& operator=(TensorReader&&) noexcept;

  const TensorHeader& header() const;
  // Writes the elements to `out` (room for all of them), row-major in the machine's byte order. Call at most once.
  void read(std::byte* out);
  // The file's own pages, where it holds many elements as they are in memory (writing to them does not change the
  // file); else a tensor without bytes.
  HostTensor map() const;
  HostTensor take(); // mapped, or else read

  struct Impl;

private:
  std::unique_ptr<Impl> impl_;
};

TensorHeader peek_header(const std::string& path); // element type and sizes, without the elements
HostTensor load_tensor(const std::string& path, const ReadOptions& options = {});
// Of the tensors in a .npz or .safetensors file, or the columns of a table under a line of names, in the order of the
// file; other files have none.
std::vector<std::string> tensor_names(const std::string& path);
std::vector<std::string> archive_names(const std::string& path); // the same; IoError for other files
std::string tensor_names_text(const std::string& path); // one a line; a name that holds a line's end is an IoError

// The columns of a table of text, under the names that a struct has for them (vm/io/table.h). Throws IoError.
enum class ColumnContent : uint8_t { Bool, I64, F64, Text, Time }; // the narrowest of what its fields are
struct TableColumn {
  std::string field;
  ColumnContent content;
};
std::vector<TableColumn> table_columns(const std::string& path);

// Throws IoError (kind FileMismatch) unless the header has this element type and rank (keys are kept as u64); the
// message names both.
void require_type(const std::string& path, const TensorHeader& header, DType dtype, size_t rank);

struct NamedTensor {
  std::string name; // empty: it is the only one
  HostTensor tensor;
};
void set_names(std::vector<NamedTensor>& tensors, const std::string& names); // one a line, as many as tensors

// Writes by the ending of the path: .npy .npz .safetensors .idx .csv .tsv .txt .png .jpg .jpeg .ppm .pgm .pnm; and all
// but images, .npz and .safetensors gzipped with .gz after it. Several tensors go into .npz and .safetensors, vectors
// of one length also into .csv and .tsv, as columns under their names (vm/io/table.h). Element types that the format
// lacks are an IoError that names them; keys are written as u64. Images are u8[h, w] or u8[h, w, c]. Replaces
// atomically: readers see the old file or the new one. Creates no folders.
void save_tensors(const std::string& path, std::span<const NamedTensor> tensors);
void require_known_ending(const std::string& path); // IoError: no format of files is written under this ending
void save_tensor(const std::string& path, const HostTensor& x);
// A .safetensors file of them in memory, which is read under this path from here on. Before other threads are there.
void hold_tensors(const std::string& path, std::span<const NamedTensor> tensors);

bool file_exists(const std::string& path);
// Has a .npz or .safetensors file a tensor of this name, or of one that goes on with a dot after it? Throws IoError.
bool holds_tensor(const std::string& path, const std::string& name);
std::string read_text(const std::string& path); // UTF-8, without a byte order mark; else an IoError
void write_text(const std::string& path, std::string_view text);

// Writes a file the same atomic way. /dev/stdout and the like are written directly.
void write_file_atomically(const std::string& path, const std::function<void(int descriptor)>& write);

// ---- text -----------------------------------------------------------------------------------------------------------
// Format specifications are Python's: [[fill]align][sign][z][#][0][width][grouping][.precision][type].

// What is wrong with a specification for values of this type (a scalar, or each element of a tensor); nothing if it
// fits.
std::optional<std::string> check_format(std::string_view spec, DType dtype);
std::optional<std::string> check_format_of_string(std::string_view spec);

// With an empty specification: integers in decimal, `true` and `false`, floats by the shortest digits that read back
// to the same value of their own type (0.1, 2.0, 1e+16, nan, inf). Throws std::invalid_argument for a bad
// specification.
std::string format_scalar(DType dtype, Scalar value, std::string_view spec = {});
// A complex number of two such parts (f32 or f64): "1.0-2.5i". The specification's precision is that of each part, its
// width that of both together, as in Python.
std::string format_complex(DType part, Scalar re, Scalar im, std::string_view spec = {});
std::string format_string(std::string_view text, std::string_view spec = {}); // or kRepr

// As NumPy prints an array: brackets, aligned columns, eight decimals at most, 75 columns a line, `...` beyond 1000
// elements. With a specification each element has it, padded to a common width. Rank 0 prints as a scalar.
std::string format_tensor(DType dtype, std::span<const int64_t> dims, const std::byte* data,
                          std::string_view spec = {});
inline std::string format_tensor(const HostTensor& x, std::string_view spec = {}) {
  return format_tensor(x.dtype, x.dims, x.data(), spec);
}

// One value for a hole of a format template.
using FormatValue = std::function<std::string(std::string_view spec)>;
std::string fill_template(const FormatTemplate& format, std::span<const FormatValue> values);

// One line for `debug`: "f32[2, 3] min 0.0 mean 1.5 max 3.0", and ", 2 NaN" where there are some.
std::string debug_summary(DType dtype, std::span<const int64_t> dims, const std::byte* data);

struct ProgressBar {
  bool is_last = false, terminal = false;
  double seconds = 0, still = 0; // since it began, and since it was drawn
};

// What `progress` writes once `done` of `total` steps are: on a terminal a bar over the one before (`is_last`: and the
// end of its line) with the rate and the time left, else a line for each tenth. Mostly nothing, where steps are many.
std::string progress_text(int64_t done, int64_t total, std::string_view beside, const ProgressBar& bar);

// "f32[2, 3]", "i64".
std::string type_text(DType dtype, std::span<const int64_t> dims);

} // namespace tl
