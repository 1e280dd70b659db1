// JPEG images as u8[height, width, 1 or 3]. As with libpng, errors leave by longjmp: functions that call setjmp hold
// only plain data made before it.
#include "vm/io/formats.h"
#include <csetjmp>
#include <cstdio>
#include <fmt/format.h>
// After <cstdio>: it needs FILE.
#include <jerror.h>
#include <jpeglib.h>

namespace tl {

namespace {

constexpr int kQuality = 95;
constexpr int kMostScans = 500; // a progressive image has about ten; thousands are an attack on time

struct ErrorManager {
  jpeg_error_mgr base; // first, so that a pointer to it is one to this
  jmp_buf jump;
  char text[JMSG_LENGTH_MAX] = {};
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* errors = reinterpret_cast<ErrorManager*>(info->err);
  info->err->format_message(info, errors->text);
  longjmp(errors->jump, 1);
}

// A warning means that the picture is not what was stored, harmless ones aside.
void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  int code = info->err->msg_code;
  if (code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR) return;
  on_error(info);
}

void use(ErrorManager& errors) {
  jpeg_std_error(&errors.base);
  errors.base.error_exit = on_error;
  errors.base.emit_message = on_message;
}

[[noreturn]] void malformed(const Source& source, const char* what) {
  throw IoError(fmt::format("'{}' is not a sound JPEG file: {}", source.path(), what));
}

// ---- reading ----

struct Reader {
  ErrorManager errors;
  jpeg_decompress_struct info{};
  std::vector<unsigned char> bytes; // the whole file
  explicit Reader(const Source& source) {
    use(errors);
    info.err = &errors.base;
    bytes.resize(1 << 16); // grows with what is there, not with what a header claims
    size_t filled = 0;
    while (true) {
      size_t got = source.read_some(filled, reinterpret_cast<std::byte*>(bytes.data()) + filled, bytes.size() - filled);
      filled += got;
      if (filled < bytes.size()) break;
      bytes.resize(2 * bytes.size());
    }
    bytes.resize(filled);
  }
  ~Reader() { jpeg_destroy_decompress(&info); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
};

void limit_scans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMostScans)
    ERREXITS(info, JERR_BAD_PROGRESSION, "");
}

bool start(Reader& reader) {
  if (setjmp(reader.errors.jump)) return false;
  jpeg_create_decompress(&reader.info);
  jpeg_mem_src(&reader.info, reader.bytes.data(), static_cast<unsigned long>(reader.bytes.size()));
  jpeg_read_header(&reader.info, TRUE);
  switch (reader.info.jpeg_color_space) {
  case JCS_GRAYSCALE: reader.info.out_color_space = JCS_GRAYSCALE; break;
  case JCS_CMYK:
  case JCS_YCCK: reader.info.out_color_space = JCS_CMYK; break;
  default: reader.info.out_color_space = JCS_RGB; break;
  }
  reader.info.dct_method = JDCT_ISLOW;
  return true;
}

// `rows`: where each row goes; `cmyk`: one row of four channels, null unless the image has them.
bool decode(Reader& reader, unsigned char* out, unsigned char* cmyk) {
  jpeg_progress_mgr progress{};
  if (setjmp(reader.errors.jump)) return false;
  jpeg_decompress_struct& info = reader.info;
  progress.progress_monitor = limit_scans;
  info.progress = &progress;
  jpeg_start_decompress(&info);
  size_t width = info.output_width, row_bytes = width * (cmyk ? 3 : static_cast<size_t>(info.output_components));
  while (info.output_scanline < info.output_height) {
    unsigned char* row = out + row_bytes * info.output_scanline;
    unsigned char* target = cmyk ? cmyk : row;
    jpeg_read_scanlines(&info, &target, 1);
    if (!cmyk) continue;
    for (size_t x = 0; x < width; ++x) {
      const unsigned char* p = cmyk + 4 * x;
      for (size_t c = 0; c < 3; ++c) { // Adobe's programs store them inverted
        unsigned ink = info.saw_Adobe_marker ? p[c] : 255u - p[c], key = info.saw_Adobe_marker ? p[3] : 255u - p[3];
        row[3 * x + c] = static_cast<unsigned char>((ink * key + 127) / 255);
      }
    }
  }
  jpeg_finish_decompress(&info);
  info.progress = nullptr;
  return true;
}

TensorHeader header_of(const Source& source, Reader& reader) {
  if (!start(reader)) malformed(source, reader.errors.text);
  // Every block of 64 pixels takes a bit or more; arithmetic coding somewhat less.
  uint64_t pixels = uint64_t{reader.info.image_height} * reader.info.image_width;
  if (pixels / 4096 > reader.bytes.size())
    malformed(source, "it is truncated: its header claims more than the file can hold");
  int channels = reader.info.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  return {DType::U8, {reader.info.image_height, reader.info.image_width, channels}};
}

void read_data(const Source& source, const TensorHeader& header, std::byte* out) {
  Reader reader(source);
  if (header_of(source, reader).dims != header.dims) malformed(source, "it changed while it was read");
  std::vector<unsigned char> cmyk;
  if (reader.info.out_color_space == JCS_CMYK) cmyk.resize(4 * size_t{reader.info.image_width});
  if (!decode(reader, reinterpret_cast<unsigned char*>(out), cmyk.empty() ? nullptr : cmyk.data()))
    malformed(source, reader.errors.text);
}

// ---- writing ----

struct Writer {
  ErrorManager errors;
  jpeg_compress_struct info{};
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  Writer() {
    use(errors);
    info.err = &errors.base;
  }
  ~Writer() {
    jpeg_destroy_compress(&info);
    std::free(bytes);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
};

bool encode(Writer& writer, const unsigned char* data, unsigned height, unsigned width, int channels) {
  if (setjmp(writer.errors.jump)) return false;
  jpeg_compress_struct& info = writer.info;
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &writer.bytes, &writer.size);
  info.image_height = height;
  info.image_width = width;
  info.input_components = channels;
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, kQuality, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < height) {
    auto* row = const_cast<unsigned char*>(data) + size_t{info.next_scanline} * width * static_cast<size_t>(channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

} // namespace

bool is_jpeg(const Source& source) {
  std::byte magic[3];
  return source.read_some(0, magic, 3) == 3 && magic[0] == std::byte{0xff} && magic[1] == std::byte{0xd8} &&
         magic[2] == std::byte{0xff};
}

OpenTensor open_jpeg(const Source& source) {
  Reader reader(source);
  OpenTensor result;
  result.header = header_of(source, reader);
  result.read = [&source, header = result.header](std::byte* out) { read_data(source, header, out); };
  return result;
}

void write_jpeg(const Output& out, const std::string& path, const HostTensor& x) {
  int channels = require_image(path, x, "JPEG", "13", JPEG_MAX_DIMENSION);
  Writer writer;
  if (!encode(writer, reinterpret_cast<const unsigned char*>(x.data()), static_cast<unsigned>(x.dims[0]),
              static_cast<unsigned>(x.dims[1]), channels))
    throw IoError(fmt::format("cannot make a JPEG image: {}", writer.errors.text));
  out(writer.bytes, writer.size);
}

} // namespace tl
