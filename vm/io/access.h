// What this process may do with files: how much of one it takes into memory.
#pragma once
#include <cstdint>
#include <string>

namespace tl {

// Bytes of one file, unpacked, that may stand in memory; more is an IoError of kind OutOfMemory that names the file.
// Set before a program runs; until then four fifths of the machine's memory.
void limit_reading(uint64_t bytes);
uint64_t reading_limit();
// Throws it where so many bytes are too many.
void require_readable(const std::string& path, uint64_t bytes);

} // namespace tl
