// PNG images as u8[height, width, channels]. Internal to vm/io.
#pragma once
#include "vm/io/io.h"
#include "vm/io/source.h"

namespace tl {

bool is_png(const Source& source);
TensorHeader read_png_header(const Source& source); // throws IoError
void read_png_data(const Source& source, const TensorHeader& header, std::byte* out);
// dims: [h, w] or [h, w, c] with c from 1 to 4 (gray, gray and alpha, RGB, RGBA), none of them 0.
std::vector<std::byte> encode_png(std::span<const int64_t> dims, const std::byte* data);

} // namespace tl
