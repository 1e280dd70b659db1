// The file formats, each in a file of its own. Internal to vm/io.
//
// Reading: `is_x` looks at the first bytes; `open_x` reads the header, checks it against the size of the source, and
// returns how to read the elements. The source must outlive what is returned. All throw IoError.
#pragma once
#include "vm/io/io.h"
#include "vm/io/source.h"

namespace tl {

struct OpenTensor {
  TensorHeader header;
  std::function<void(std::byte* out)> read; // the elements, row-major, as they are in memory
  // The elements are in this source, at this offset, as they are in memory.
  const Source* raw = nullptr;
  uint64_t raw_offset = 0;
  std::shared_ptr<Source> member; // what `read` and `raw` refer to, where that is a part of a file
};

bool is_npy(const Source& source);
OpenTensor open_npy(const Source& source);
bool is_npz(const Source& source);
OpenTensor open_npz(const Source& source, const std::string& name);
std::vector<std::string> npz_names(const Source& source);
bool is_safetensors(const Source& source);
OpenTensor open_safetensors(const Source& source, const std::string& name);
std::vector<std::string> safetensors_names(const Source& source);
bool is_idx(const Source& source);
OpenTensor open_idx(const Source& source);
bool is_png(const Source& source);
OpenTensor open_png(const Source& source);
bool is_jpeg(const Source& source);
OpenTensor open_jpeg(const Source& source);
bool is_pnm(const Source& source);
OpenTensor open_pnm(const Source& source);
bool is_text(const Source& source);
OpenTensor open_text_table(const Source& source, const ReadOptions& options);
bool has_line_of_names(const Source& source); // is the first row of a table of text not all numbers?

std::string read_whole(const Source& source); // as much as may be read of a file; throws IoError beyond

void write_bytes(int descriptor, const void* data, size_t count); // all of them; throws std::system_error

// write_file_atomically() of io.h, which takes Unnamed: a file that has no name until it is whole, where the file
// system knows such files.
enum class WhileWritten : uint8_t { Unnamed, Named };
void write_file_atomically(const std::string& path, const std::function<void(int descriptor)>& write, WhileWritten how);

// Where bytes of a file being written go.
using Output = std::function<void(const void* data, size_t count)>;

std::string npy_header(DType dtype, std::span<const int64_t> dims); // of version 1.0, or 2.0 if it is long
void write_npy(const Output& out, const std::string& path, const HostTensor& x);
void write_npz(const Output& out, const std::string& path, std::span<const NamedTensor> tensors);
void write_safetensors(const Output& out, const std::string& path, std::span<const NamedTensor> tensors);
void write_idx(const Output& out, const std::string& path, const HostTensor& x);
void write_text_table(const Output& out, const std::string& path, const HostTensor& x, char separator);
// Columns under a line of their names; `city.code` and `city.values` are one of texts, `when.seconds` one of times.
void write_table(const Output& out, const std::string& path, std::span<const NamedTensor> tensors, char separator);
// x: u8[h, w] or u8[h, w, c]
void write_png(const Output& out, const std::string& path, const HostTensor& x);
void write_jpeg(const Output& out, const std::string& path, const HostTensor& x);
void write_pnm(const Output& out, const std::string& path, const HostTensor& x, std::string_view ending);

// ---- what several formats need ----

constexpr size_t kMostAxes = 64; // of a tensor in a file: NumPy's limit

// Bytes of the elements; UINT64_MAX if a product of the sizes that are not 0 overflows. Sizes are not negative.
uint64_t byte_count(const TensorHeader& header);
void swap_bytes(std::byte* data, int64_t count, int width);  // of each element
void swap_parts(std::byte* data, int64_t count, DType type); // the same, of complex numbers of each part
void make_bools(std::byte* data, int64_t count);             // any byte but 0 becomes 1
// Throws that the file is truncated unless the elements fit between `offset` and its end.
void require_room(const Source& source, const TensorHeader& header, uint64_t offset);
// Which of the names in a file is meant: `name`, or the only one. Throws IoError that lists them.
size_t choose_name(const std::string& path, const std::vector<std::string>& names, const std::string& name);
// An image with another number of channels: gray by the weights of ITU-R 601, alpha dropped or opaque.
OpenTensor with_channels(OpenTensor image, int channels);
// Throws unless x is u8[h, w] or u8[h, w, c], with sides from 1 to `largest` and c one of `channels`; the channels.
int require_image(const std::string& path, const HostTensor& x, std::string_view kind, std::string_view channels,
                  int64_t largest);

} // namespace tl
