// NumPy's .npy files (its "NEP 1": magic, version, a Python dictionary as header, the elements). Internal to vm/io.
#pragma once
#include "vm/io/io.h"
#include "vm/io/source.h"

namespace tl {

struct NpyLayout {
  TensorHeader header;
  uint64_t data_offset = 0;
  bool swap_bytes = false;    // the file is big-endian
  bool fortran_order = false; // the first axis runs fastest
};

bool is_npy(const Source& source);
NpyLayout read_npy_layout(const Source& source); // throws IoError
void read_npy_data(const Source& source, const NpyLayout& layout, std::byte* out);

} // namespace tl
