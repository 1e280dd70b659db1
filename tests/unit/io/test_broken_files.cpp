// Files with bytes changed, removed, added and exchanged, by a fixed seed: whatever they are, they are read or refused
// with a message, in bounded memory. TL_FUZZ_ROUNDS=100000 in the environment makes it a long test.
#include "folder.h"
#include <random>

using namespace tl;
using namespace tl::test;

#include "file_bytes.inc"
#include "format_bytes.inc"

namespace {

std::vector<std::string> seeds() {
  std::vector<std::string> files;
  for (const char* hex : {kNpyF32, kNpyFortran, kNpyVersion2, kPngGray, kPngPaletteAlpha, kPngInterlaced, kNpzDeflated,
                          kNpzStored, kSafetensors, kJpegColour, kJpegGray, kJpegCmyk, kNpyGzip})
    files.push_back(bytes_of(hex));
  files.push_back(bytes_of("00000c02000000020000000300000001fffffffe00000003000000040000000500000006"));
  files.push_back("a,b\n1,2\n3,\"4\"\n5,NA\n");
  files.push_back("# c\n1.5 2e300\n-3 nan\n");
  files.push_back("P3 2 1 255 1 2 3 4 5 6");
  files.push_back("P4 9 2\n\x80\x80\x01\x02");
  files.push_back(std::string("P6 1 1 65535\nabcdef"));
  return files;
}

std::string mutated(std::string bytes, const std::vector<std::string>& others, std::mt19937_64& random) {
  auto below = [&](size_t n) { return n ? static_cast<size_t>(random() % n) : 0; };
  size_t changes = 1 + below(4);
  for (size_t k = 0; k < changes && !bytes.empty(); ++k) {
    size_t at = below(bytes.size());
    switch (below(8)) {
    case 0: bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8)); break;
    case 1: bytes[at] = static_cast<char>(random()); break;
    case 2: { // a number that is likely to matter
      constexpr uint64_t numbers[] = {
          0, 1, 127, 128, 255, 256, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff, 0xffffffffffffffff};
      uint64_t n = numbers[below(std::size(numbers))];
      size_t width = size_t{1} << below(4);
      for (size_t i = 0; i < width && at + i < bytes.size(); ++i)
        bytes[at + i] = static_cast<char>(n >> 8 * i);
      break;
    }
    case 3: bytes.resize(at); break;
    case 4: bytes.erase(at, 1 + below(8)); break;
    case 5: bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(16))); break;
    case 6: { // digits are sizes
      size_t digit = bytes.find_first_of("0123456789", at);
      if (digit != std::string::npos)
        bytes.insert(digit, std::string(1 + below(20), static_cast<char>('0' + below(10))));
      break;
    }
    case 7: {
      const std::string& other = others[below(others.size())];
      size_t from = below(other.size());
      bytes.replace(at, below(32), other.substr(from, below(32)));
      break;
    }
    }
  }
  return bytes;
}

} // namespace

TEST_CASE("broken files are read or refused") {
  Folder folder;
  const char* rounds_text = std::getenv("TL_FUZZ_ROUNDS");
  int rounds = rounds_text ? std::atoi(rounds_text) : 4000;
  std::vector<std::string> files = seeds();
  std::mt19937_64 random(1);
  int sound = 0, refused = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::string& seed = files[static_cast<size_t>(round) % files.size()];
    write(folder / "x", mutated(seed, files, random));
    std::vector<std::string> names{""};
    try {
      names = tensor_names(folder / "x");
      names.insert(names.begin(), "");
    } catch (const IoError&) {
    }
    for (const std::string& name : names) {
      try {
        ReadOptions options;
        options.name = name;
        TensorReader reader(folder / "x", options);
        if (element_count(reader.header().dims) > 1 << 24) continue; // a claim within what packing allows
        reader.take();
        ++sound;
      } catch (const IoError& error) {
        CHECK(std::string_view(error.what()).size() > 10);
        ++refused;
      }
    }
  }
  CHECK(sound > rounds / 20);
  CHECK(refused > rounds / 4);
}
