// Every reader of data files. Files are known by their content, so one target has them all; each has a corpus of its
// own. Checksums are set right after a change: what hangs on them would hide everything behind.
#include "vm/io/access.h"
#include "vm/io/io.h"
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

using namespace tl;

constexpr uint64_t kMostBytes = 64 << 20; // of what a file unpacks to

void look_at(const HostTensor& x) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < x.byte_count(); ++i)
    sum += static_cast<uint64_t>(x.data()[i]);
  [[maybe_unused]] volatile uint64_t seen = sum;
}

template <class F> void tolerate(F f) {
  try {
    f();
  } catch (const IoError&) {
  }
}

void read_file(const std::string& path, uint8_t how) {
  ReadOptions options;
  if (how & 1) options.dtype = static_cast<DType>(how >> 1 & 7), options.rank = how >> 4 & 3;
  if (how & 64) options.load.channels = 1 + how % 4;
  tolerate([&] { look_at(load_tensor(path, options)); });
  tolerate([&] { look_at(load_tensor(path)); });
  tolerate([&] { peek_header(path); });
  tolerate([&] { look_at(TensorReader(path).take()); });
  tolerate([&] { read_text(path); });
  std::vector<std::string> names;
  tolerate([&] { names = tensor_names(path); });
  tolerate([&] { tensor_names_text(path); });
  for (size_t i = 0; i < std::min<size_t>(names.size(), 8); ++i)
    tolerate([&] { look_at(load_tensor(path, {.load = {}, .name = names[i], .dtype = {}, .rank = {}})); });
}

uint32_t crc(const uint8_t* data, size_t size) {
  return static_cast<uint32_t>(crc32(0, data, static_cast<unsigned>(size)));
}
uint32_t big(const uint8_t* p) { return uint32_t(p[0]) << 24 | uint32_t(p[1]) << 16 | uint32_t(p[2]) << 8 | p[3]; }
uint32_t little(const uint8_t* p) { return uint32_t(p[3]) << 24 | uint32_t(p[2]) << 16 | uint32_t(p[1]) << 8 | p[0]; }

void mend_png(uint8_t* data, size_t size) {
  for (size_t at = 8; at + 12 <= size;) {
    const size_t length = big(data + at);
    if (length > size - at - 12) return;
    const uint32_t sum = crc(data + at + 4, length + 4);
    for (unsigned i = 0; i < 4; ++i)
      data[at + 8 + length + i] = static_cast<uint8_t>(sum >> (24 - 8 * i));
    at += length + 12;
  }
}

// Of the members that stand uncompressed, here and in the directory behind them (same order).
void mend_zip(uint8_t* data, size_t size) {
  size_t directory = 0;
  for (size_t at = 0; at + 30 <= size; ++at)
    if (std::memcmp(data + at, "PK\1\2", 4) == 0) {
      directory = at;
      break;
    }
  for (size_t at = 0; at + 30 <= size && std::memcmp(data + at, "PK\3\4", 4) == 0;) {
    const size_t begin = at + 30 + data[at + 26] + data[at + 27] * 256u + data[at + 28] + data[at + 29] * 256u;
    const size_t length = little(data + at + 18);
    if (begin > size || length > size - begin) return;
    if (data[at + 8] == 0) {
      const uint32_t sum = crc(data + begin, length);
      std::memcpy(data + at + 14, &sum, 4);
      if (directory != 0 && directory + 46 <= size) std::memcpy(data + directory + 16, &sum, 4);
    }
    at = begin + length;
    if (directory != 0 && directory + 46 <= size)
      directory += 46 + data[directory + 28] + data[directory + 29] * 256u + data[directory + 30] +
                   data[directory + 31] * 256u + data[directory + 32] + data[directory + 33] * 256u;
  }
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, most);
  if (seed % 16 == 0) return size; // wrong sums too
  if (size > 8 && std::memcmp(data, "\x89PNG", 4) == 0) mend_png(data, size);
  if (size > 30 && std::memcmp(data, "PK\3\4", 4) == 0) mend_zip(data, size);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool limited = (limit_reading(kMostBytes), true);
  static_cast<void>(limited);
  const int file = memfd_create("fuzz", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
  read_file("/proc/self/fd/" + std::to_string(file), size == 0 ? 0 : data[size / 2]);
  close(file);
  return 0;
}
