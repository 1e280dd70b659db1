// PNG images as u8[height, width, channels], those of 16 bits a channel as u16.
//
// libpng reports errors by longjmp out of its callbacks. So every function that calls setjmp here holds only plain data
// made before it, and what must be freed belongs to its caller.
#include "vm/io/formats.h"
#include <bit>
#include <csetjmp>
#include <cstring>
#include <fmt/format.h>
#include <png.h>

namespace tl {

namespace {

struct ErrorText {
  char text[200] = {};
  void set(const char* message) { std::snprintf(text, sizeof text, "%s", message); }
};

void on_error(png_structp png, png_const_charp message) {
  static_cast<ErrorText*>(png_get_error_ptr(png))->set(message);
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {}

// ---- reading ----

struct Reader {
  const Source* source = nullptr;
  uint64_t offset = 0;
  ErrorText error;
  png_structp png = nullptr;
  png_infop info = nullptr;

  explicit Reader(const Source& s) : source(&s) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &error, on_error, on_warning);
    if (png) info = png_create_info_struct(png);
    if (!info) throw std::bad_alloc();
  }
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
};

void read_bytes(png_structp png, png_bytep out, size_t count) {
  auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
  size_t got = 0;
  bool failed = false;
  try { // no exception may pass through libpng
    got = reader->source->read_some(reader->offset, reinterpret_cast<std::byte*>(out), count);
  } catch (const std::exception&) {
    failed = true;
  }
  if (failed) png_error(png, "it cannot be read");
  if (got != count) png_error(png, "it is truncated");
  reader->offset += count;
}

// Reads the header and asks for 8 or 16 bits a channel, palettes and transparency expanded. False: reader.error says
// why.
bool start(Reader& reader, png_uint_32* height, png_uint_32* width, int* channels, int* bits) {
  png_structp png = reader.png;
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_read_fn(png, &reader, read_bytes);
  png_read_info(png, reader.info);
  if constexpr (std::endian::native == std::endian::little) png_set_swap(png);
  png_set_expand(png); // palette to RGB, 1, 2 and 4 bits to 8, a transparent colour to alpha
  png_set_interlace_handling(png);
  png_read_update_info(png, reader.info);
  *height = png_get_image_height(png, reader.info);
  *width = png_get_image_width(png, reader.info);
  *channels = png_get_channels(png, reader.info);
  *bits = png_get_bit_depth(png, reader.info);
  return true;
}

bool finish(Reader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

[[noreturn]] void malformed(const Source& source, const char* what) {
  throw IoError(fmt::format("'{}' is not a sound PNG file: {}", source.path(), what));
}

TensorHeader start_or_throw(const Source& source, Reader& reader) {
  png_uint_32 height = 0, width = 0;
  int channels = 0, bits = 0;
  if (!start(reader, &height, &width, &channels, &bits)) malformed(source, reader.error.text);
  // Compression gives at most about 1 : 1032, and a packed pixel has at least one bit.
  uint64_t least = uint64_t{height} * ((uint64_t{width} + 7) / 8) / 1032;
  if (least > source.size()) malformed(source, "it is truncated: its header claims more than the file can hold");
  return {bits == 16 ? DType::U16 : DType::U8, {height, width, channels}};
}

// ---- writing ----

struct Writer {
  std::vector<std::byte> bytes;
  ErrorText error;
  png_structp png = nullptr;
  png_infop info = nullptr;

  Writer() {
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &error, on_error, on_warning);
    if (png) info = png_create_info_struct(png);
    if (!info) throw std::bad_alloc();
  }
  ~Writer() { png_destroy_write_struct(&png, &info); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
};

void write_bytes(png_structp png, png_bytep data, size_t count) {
  auto* writer = static_cast<Writer*>(png_get_io_ptr(png));
  bool failed = false;
  try {
    auto* begin = reinterpret_cast<std::byte*>(data);
    writer->bytes.insert(writer->bytes.end(), begin, begin + count);
  } catch (const std::exception&) {
    failed = true;
  }
  if (failed) png_error(png, "no memory");
}
void flush_nothing(png_structp) {}

bool write_all(Writer& writer, png_uint_32 height, png_uint_32 width, int channels, png_bytepp rows) {
  constexpr int kinds[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGBA};
  png_structp png = writer.png;
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_write_fn(png, &writer, write_bytes, flush_nothing);
  png_set_IHDR(png, writer.info, width, height, 8, kinds[channels - 1], PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, writer.info);
  png_write_image(png, rows);
  png_write_end(png, nullptr);
  return true;
}

std::vector<png_bytep> row_pointers(const std::byte* data, int64_t height, int64_t row_bytes) {
  std::vector<png_bytep> rows(static_cast<size_t>(height));
  auto* begin = reinterpret_cast<png_bytep>(const_cast<std::byte*>(data));
  for (int64_t y = 0; y < height; ++y)
    rows[static_cast<size_t>(y)] = begin + y * row_bytes;
  return rows;
}

} // namespace

bool is_png(const Source& source) {
  std::byte magic[8];
  return source.read_some(0, magic, 8) == 8 && png_sig_cmp(reinterpret_cast<png_bytep>(magic), 0, 8) == 0;
}

static void read_png_data(const Source& source, const TensorHeader& header, std::byte* out) {
  Reader reader(source);
  TensorHeader again = start_or_throw(source, reader);
  if (again.dims != header.dims || again.dtype != header.dtype) malformed(source, "it changed while it was read");
  auto rows =
      row_pointers(out, header.dims[0], header.dims[1] * header.dims[2] * static_cast<int64_t>(size_of(header.dtype)));
  if (!finish(reader, rows.data())) malformed(source, reader.error.text);
}

OpenTensor open_png(const Source& source) {
  Reader reader(source);
  OpenTensor result;
  result.header = start_or_throw(source, reader);
  result.read = [&source, header = result.header](std::byte* out) { read_png_data(source, header, out); };
  return result;
}

void write_png(const Output& out, const std::string& path, const HostTensor& x) {
  int channels = require_image(path, x, "PNG", "1234", 1000000); // libpng's limit for either side
  Writer writer;
  auto rows = row_pointers(x.data(), x.dims[0], x.dims[1] * channels);
  if (!write_all(writer, static_cast<png_uint_32>(x.dims[0]), static_cast<png_uint_32>(x.dims[1]), channels,
                 rows.data()))
    throw IoError(fmt::format("cannot make a PNG image: {}", writer.error.text));
  out(writer.bytes.data(), writer.bytes.size());
}

} // namespace tl
