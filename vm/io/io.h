// Tensors from and to files, and text for people: what both engines and the command line share, so that they read,
// write and print alike.
//
//   HostTensor x = load_tensor("x.npy");
//   save_tensor("y.png", y);
//   format_scalar(DType::F32, Scalar::of(0.1f), ">8.3");   // "     0.1"
//   format_tensor(x);                                      // "[[1. 2.]\n [3. 4.]]"
//
// Functions are thread-safe unless they share an object. Files are read by content and written by extension.
#pragma once
#include "vm/abi/bytecode.h"
#include "vm/abi/tensor.h"
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

// A file whose header was read and found sound (its size fits the header), and whose elements were not read yet.
class TensorReader {
public:
  // Throws IoError: missing, a directory, no permission, of no known format, malformed, truncated.
  explicit TensorReader(const std::string& path);
  ~TensorReader();
  TensorReader(TensorReader&&) noexcept;
  TensorReader& operator=(TensorReader&&) noexcept;

  const TensorHeader& header() const;
  // Writes the elements to `out` (room for all of them), row-major in the machine's byte order. Call at most once.
  void read(std::byte* out);

  struct Impl;

private:
  std::unique_ptr<Impl> impl_;
};

TensorHeader peek_header(const std::string& path); // element type and sizes, without the elements
HostTensor load_tensor(const std::string& path);

// Throws IoError (kind FileMismatch) unless the header has this element type and rank; the message names both.
void require_type(const std::string& path, const TensorHeader& header, DType dtype, size_t rank);

// Writes `.npy` (any type but bf16, which the format lacks; keys as u64) or `.png` (u8[h, w] or u8[h, w, c], c from 1
// to 4). Replaces atomically: readers see the old file or the new one. Creates no folders.
void save_tensor(const std::string& path, DType dtype, std::span<const int64_t> dims, const std::byte* data);
inline void save_tensor(const std::string& path, const HostTensor& x) { save_tensor(path, x.dtype, x.dims, x.data()); }

// Writes a file the same atomic way. /dev/stdout and the like are written directly.
void write_file_atomically(const std::string& path, const std::function<void(int descriptor)>& write);

// The bytes of a .npy file (version 1.0) before its elements.
std::string npy_header(DType dtype, std::span<const int64_t> dims);

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
std::string format_string(std::string_view text, std::string_view spec = {});

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

// "f32[2, 3]", "i64".
std::string type_text(DType dtype, std::span<const int64_t> dims);

} // namespace tl
