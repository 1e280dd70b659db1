// Netpbm images, P1 to P6 (.pbm, .pgm, .ppm), as u8[height, width, 1 or 3]. Samples are brought to 0 … 255.
#include "vm/io/formats.h"
#include <fmt/format.h>

namespace tl {

namespace {

struct Layout {
  TensorHeader header;
  int kind = 0; // the digit after P
  uint32_t largest = 1;
  uint64_t data_offset = 0;
};

[[noreturn]] void malformed(const Source& source, const char* what) {
  throw IoError(fmt::format("'{}' is not a sound PNM image: {}", source.path(), what));
}

bool is_blank(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The source's bytes, one after another.
class Bytes {
public:
  Bytes(const Source& source, uint64_t at) : source_(source), at_(at) {}
  int get() { // -1 at the end
    if (next_ == filled_) {
      at_ += filled_;
      filled_ = source_.read_some(at_, buffer_, sizeof buffer_);
      next_ = 0;
      if (filled_ == 0) return -1;
    }
    return static_cast<int>(buffer_[next_++]);
  }
  uint64_t position() const { return at_ + next_; }
  const Source& source() const { return source_; }

private:
  const Source& source_;
  uint64_t at_;
  size_t next_ = 0, filled_ = 0;
  std::byte buffer_[16384];
};

// A number after blanks and comments; eats one byte after it.
uint32_t number(Bytes& in) {
  int c = in.get();
  while (is_blank(c) || c == '#') {
    if (c == '#')
      while (c != '\n' && c != -1)
        c = in.get();
    c = in.get();
  }
  if (c == -1) malformed(in.source(), "it is truncated");
  uint32_t n = 0;
  for (; c >= '0' && c <= '9'; c = in.get()) {
    n = 10 * n + static_cast<uint32_t>(c - '0');
    if (n > 100'000'000) malformed(in.source(), "a number in it is too large");
  }
  if (!is_blank(c) && c != -1) malformed(in.source(), "there is no number where one must be");
  return n;
}

// A digit of P1, where no blank need be between them.
uint32_t bit(Bytes& in) {
  int c = in.get();
  while (is_blank(c))
    c = in.get();
  if (c == -1) malformed(in.source(), "it is truncated");
  if (c != '0' && c != '1') malformed(in.source(), "a pixel is neither 0 nor 1");
  return c == '1';
}

Layout read_layout(const Source& source) {
  Bytes in(source, 0);
  in.get();
  Layout layout;
  layout.kind = in.get() - '0';
  uint32_t width = number(in), height = number(in);
  bool bits = layout.kind == 1 || layout.kind == 4;
  if (!bits) layout.largest = number(in);
  if (layout.largest < 1 || layout.largest > 65535) malformed(source, "its largest sample is not from 1 to 65535");
  int channels = layout.kind % 3 == 0 ? 3 : 1;
  layout.header = {DType::U8, {height, width, channels}};
  layout.data_offset = in.position();
  uint64_t row = uint64_t{width} * static_cast<uint64_t>(channels);
  uint64_t least = layout.kind == 4 ? (row + 7) / 8 : row;
  if (layout.kind >= 5 && layout.largest > 255) least *= 2;
  uint64_t there = source.size() - std::min(source.size(), layout.data_offset);
  if (height && least > there / height) malformed(source, "it is truncated: its header claims more than is there");
  return layout;
}

uint8_t scaled(const Layout& layout, const Source& source, uint32_t sample) {
  if (sample > layout.largest) malformed(source, "a sample is larger than the header allows");
  return static_cast<uint8_t>((sample * 255 + layout.largest / 2) / layout.largest);
}

void read_data(const Source& source, const Layout& layout, std::byte* out) {
  int64_t count = element_count(layout.header.dims), width = layout.header.dims[1];
  if (layout.kind >= 5 && layout.largest == 255)
    return source.read(layout.data_offset, out, static_cast<size_t>(count));
  Bytes in(source, layout.data_offset);
  auto raw = [&] {
    int c = in.get();
    if (c == -1) malformed(source, "it is truncated");
    return static_cast<uint32_t>(c);
  };
  auto put = [&](int64_t i, uint32_t value) { out[i] = std::byte(value); };
  uint32_t byte = 0;
  for (int64_t i = 0; i < count; ++i) {
    switch (layout.kind) {
    case 1: put(i, bit(in) ? 0 : 255); break; // 1 is black
    case 4:
      if (i % width % 8 == 0) byte = raw();
      put(i, byte >> (7 - i % width % 8) & 1 ? 0 : 255);
      break;
    case 2:
    case 3: put(i, scaled(layout, source, number(in))); break;
    default: {
      uint32_t sample = raw();
      if (layout.largest > 255) sample = sample << 8 | raw();
      put(i, scaled(layout, source, sample));
    }
    }
  }
}

} // namespace

bool is_pnm(const Source& source) {
  std::byte magic[3];
  if (source.read_some(0, magic, 3) != 3 || magic[0] != std::byte{'P'}) return false;
  return magic[1] >= std::byte{'1'} && magic[1] <= std::byte{'6'} &&
         (is_blank(static_cast<int>(magic[2])) || magic[2] == std::byte{'#'});
}

OpenTensor open_pnm(const Source& source) {
  Layout layout = read_layout(source);
  OpenTensor result;
  result.header = layout.header;
  if (layout.kind >= 5 && layout.largest == 255) {
    result.raw = &source;
    result.raw_offset = layout.data_offset;
  }
  result.read = [&source, layout](std::byte* out) { read_data(source, layout, out); };
  return result;
}

void write_pnm(const Output& out, const std::string& path, const HostTensor& x, std::string_view ending) {
  bool gray = ending == ".pgm", color = ending == ".ppm";
  int channels = require_image(path, x, gray ? "PGM" : color ? "PPM" : "PNM", gray ? "1" : color ? "3" : "13", 1 << 30);
  std::string head = fmt::format("P{}\n{} {}\n255\n", channels == 1 ? 5 : 6, x.dims[1], x.dims[0]);
  out(head.data(), head.size());
  out(x.data(), static_cast<size_t>(x.count()));
}

} // namespace tl
