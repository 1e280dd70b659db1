// IDX files, as the MNIST images come in: two zeros, a type, the rank, big-endian sizes, big-endian elements.
#include "vm/io/formats.h"
#include <fmt/format.h>

namespace tl {

namespace {

struct Row {
  uint8_t code;
  DType type;
};
constexpr Row kTypes[] = {{8, DType::U8},   {9, DType::I8},   {11, DType::I16},
                          {12, DType::I32}, {13, DType::F32}, {14, DType::F64}};

const Row* type_of(std::byte code) {
  for (const Row& row : kTypes)
    if (std::byte{row.code} == code) return &row;
  return nullptr;
}

} // namespace

bool is_idx(const Source& source) {
  std::byte magic[4];
  return source.read_some(0, magic, 4) == 4 && magic[0] == std::byte{0} && magic[1] == std::byte{0} &&
         type_of(magic[2]) && magic[3] >= std::byte{1} && magic[3] <= std::byte{8};
}

OpenTensor open_idx(const Source& source) {
  std::byte head[4 + 8 * 4];
  source.read(0, head, 4);
  auto rank = static_cast<size_t>(head[3]);
  source.read(4, head + 4, 4 * rank);
  OpenTensor result;
  result.header.dtype = type_of(head[2])->type;
  for (size_t i = 0; i < rank; ++i) {
    uint32_t size = 0;
    for (size_t k = 0; k < 4; ++k)
      size = size << 8 | static_cast<uint32_t>(head[4 + 4 * i + k]);
    result.header.dims.push_back(size);
  }
  uint64_t offset = 4 + 4 * rank;
  require_room(source, result.header, offset);
  if (size_of(result.header.dtype) == 1) {
    result.raw = &source;
    result.raw_offset = offset;
  }
  result.read = [&source, offset, header = result.header](std::byte* out) {
    source.read(offset, out, byte_count(header));
    swap_bytes(out, element_count(header.dims), size_of(header.dtype));
  };
  return result;
}

void write_idx(const Output& out, const std::string& path, const HostTensor& x) {
  const Row* type = nullptr;
  for (const Row& row : kTypes)
    if (row.type == x.dtype) type = &row;
  if (!type)
    throw IoError(fmt::format("cannot save '{}': an IDX file holds u8, i8, i16, i32, f32 or f64, not {}", path,
                              name_of(x.dtype)));
  if (x.dims.empty() || x.dims.size() > 8)
    throw IoError(fmt::format("cannot save '{}': an IDX file has 1 to 8 axes, not {}", path, x.dims.size()));
  std::string head{'\0', '\0', static_cast<char>(type->code), static_cast<char>(x.dims.size())};
  for (int64_t d : x.dims) {
    if (d > INT64_C(0xffffffff))
      throw IoError(fmt::format("cannot save '{}': a size in an IDX file is below 2^32, not {}", path, d));
    for (int shift = 24; shift >= 0; shift -= 8)
      head += static_cast<char>(d >> shift & 255);
  }
  out(head.data(), head.size());
  int width = size_of(x.dtype);
  std::vector<std::byte> piece;
  constexpr int64_t elements = 1 << 16;
  for (int64_t at = 0, count = x.count(); at < count; at += elements) {
    int64_t n = std::min(elements, count - at);
    piece.assign(x.data() + at * width, x.data() + (at + n) * width);
    swap_bytes(piece.data(), n, width);
    out(piece.data(), piece.size());
  }
}

} // namespace tl
