#include "vm/io/formats.h"
#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace tl {

uint64_t byte_count(const TensorHeader& header) {
  auto bytes = static_cast<uint64_t>(size_of(header.dtype));
  bool empty = false;
  for (int64_t d : header.dims) {
    empty = empty || d == 0;
    if (d != 0 && (__builtin_mul_overflow(bytes, static_cast<uint64_t>(d), &bytes) || bytes > uint64_t{INT64_MAX}))
      return UINT64_MAX;
  }
  return empty ? 0 : bytes;
}

void swap_parts(std::byte* data, int64_t count, DType type) {
  const DType part = part_of(type);
  swap_bytes(data, part == type ? count : 2 * count, size_of(part));
}

void swap_bytes(std::byte* data, int64_t count, int width) {
  for (int64_t i = 0; i < count && width > 1; ++i)
    std::reverse(data + i * width, data + (i + 1) * width);
}

void make_bools(std::byte* data, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    data[i] = std::byte(data[i] != std::byte{0});
}

void require_room(const Source& source, const TensorHeader& header, uint64_t offset) {
  uint64_t there = source.size() > offset ? source.size() - offset : 0;
  if (byte_count(header) > there)
    throw IoError(fmt::format("'{}' is truncated: its header says {}, but at most {} bytes of elements are there",
                              source.path(), type_text(header.dtype, header.dims), there));
}

size_t choose_name(const std::string& path, const std::vector<std::string>& names, const std::string& name) {
  std::string list;
  for (size_t i = 0; i < names.size() && i < 10; ++i)
    list += fmt::format("{}'{}'", i ? ", " : "", names[i]);
  if (names.size() > 10) list += fmt::format(" and {} more", names.size() - 10);
  if (name.empty()) {
    if (names.size() == 1) return 0;
    if (names.empty()) throw IoError(fmt::format("'{}' holds no tensor", path));
    throw IoError(fmt::format("'{}' holds {} tensors: say which, as in load(path, \"{}\"); there are {}", path,
                              names.size(), names[0], list));
  }
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return i;
  throw IoError(
      fmt::format("'{}' holds no tensor '{}'; {}", path, name, names.empty() ? "it holds none" : "there are " + list));
}

namespace {

template <class T> void convert_pixel(const T* in, int from, T* out, int to) {
  bool color = from >= 3, alpha = from % 2 == 0;
  if (to >= 3) {
    for (int c = 0; c < 3; ++c)
      out[c] = in[color ? c : 0];
  } else { // as Pillow rounds it
    out[0] = color ? static_cast<T>((in[0] * 19595U + in[1] * 38470U + in[2] * 7471U + 0x8000U) >> 16) : in[0];
  }
  if (to % 2 == 0) out[to - 1] = alpha ? in[from - 1] : std::numeric_limits<T>::max();
}

template <class T>
void convert_pixels(const HostTensor& whole, int64_t pixels, int from, std::byte* out, int channels) {
  auto* in = reinterpret_cast<const T*>(whole.data());
  auto* to = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < pixels; ++i)
    convert_pixel(in + i * from, from, to + i * channels, channels);
}

} // namespace

OpenTensor with_channels(OpenTensor image, int channels) {
  auto from = static_cast<int>(image.header.dims[2]);
  if (channels == 0 || channels == from) return image;
  int64_t pixels = image.header.dims[0] * image.header.dims[1];
  OpenTensor result;
  result.header = image.header;
  result.header.dims[2] = channels;
  result.read = [image = std::move(image), pixels, from, channels](std::byte* out) {
    HostTensor whole = HostTensor::make(image.header.dtype, image.header.dims);
    image.read(whole.data());
    if (image.header.dtype == DType::U16)
      convert_pixels<uint16_t>(whole, pixels, from, out, channels);
    else
      convert_pixels<uint8_t>(whole, pixels, from, out, channels);
  };
  return result;
}

int require_image(const std::string& path, const HostTensor& x, std::string_view kind, std::string_view channels,
                  int64_t largest) {
  int64_t c = x.dims.size() == 3 ? x.dims[2] : 1;
  bool fits = x.dtype == DType::U8 && (x.dims.size() == 2 || x.dims.size() == 3) && c >= 1 && c <= 4 &&
              channels.find(static_cast<char>('0' + c)) != std::string_view::npos;
  if (!fits) {
    std::string allowed;
    for (char digit : channels)
      allowed += fmt::format("{}{}", allowed.empty() ? "" : " or ", digit);
    bool gray = channels.find('1') != std::string_view::npos;
    throw IoError(fmt::format("cannot save '{}': a {} image is {}u8[h, w, c] with c = {}, not {}", path, kind,
                              gray ? "u8[h, w] or " : "", channels == "1234" ? "1 to 4" : allowed,
                              type_text(x.dtype, x.dims)));
  }
  if (x.count() == 0 || x.dims[0] > largest || x.dims[1] > largest)
    throw IoError(fmt::format("cannot save '{}': a {} image has 1 to {} rows and columns, not {}", path, kind, largest,
                              type_text(x.dtype, x.dims)));
  return static_cast<int>(c);
}

} // namespace tl
