// How `load` and its relatives read a file: fixed by the checker, carried as one word by instructions.
#pragma once
#include "abi/dtype.h"
#include <cstdint>

namespace tl {

// How a file is read, beside its path. Any: by its content; the others insist.
// Table: text of which each column has a name.
enum class FileKind : uint8_t { Any, Text, Table, Idx, Npz, Safetensors };
enum class TextHeader : uint8_t { Detect, Yes, No }; // is the first line of a table a line of names?

struct LoadOptions {
  FileKind kind = FileKind::Any;
  TextHeader header = TextHeader::Detect;
  uint8_t channels = 0; // of an image, 1 to 4; 0: as it has
  bool pairs = false;   // complex numbers, as real ones under another last axis of 2

  Scalar packed() const {
    return {static_cast<uint64_t>(kind) | static_cast<uint64_t>(header) << 8 | uint64_t{channels} << 16 |
            uint64_t{pairs} << 24};
  }
  static LoadOptions unpacked(Scalar s) {
    return {static_cast<FileKind>(s.bits & 255), static_cast<TextHeader>(s.bits >> 8 & 255),
            static_cast<uint8_t>(s.bits >> 16 & 255), (s.bits >> 24 & 1) != 0};
  }
};

} // namespace tl
