// .npz files: zip archives of .npy files, stored or deflated (APPNOTE.TXT of PKWARE, sections 4.3 to 4.5, with zip64).
// The central directory at the end of the file says what there is. Members that tl writes are stored, with their
// elements at a multiple of 64, so that they can be mapped.
#include "vm/io/formats.h"
#include "vm/io/zip.h"
#include <algorithm>
#include <fmt/format.h>
#include <zlib.h>

namespace tl {

namespace {

constexpr uint32_t kZipLocal = 0x04034b50, kZipCentral = 0x02014b50, kZipEnd = 0x06054b50, kZipEnd64 = 0x06064b50,
                   kZipLocator64 = 0x07064b50;
constexpr uint64_t kLongestDirectory = 64 << 20;

struct Member {
  std::string name; // without .npy
  uint32_t crc = 0;
  uint16_t method = 0, flags = 0;
  uint64_t packed = 0, size = 0, local = 0;
};

[[noreturn]] void malformed(const Source& source, const std::string& what) {
  throw IoError(fmt::format("'{}' is not a sound .npz file: {}", source.path(), what));
}

uint64_t number(std::string_view bytes, size_t at, int width) {
  uint64_t n = 0;
  for (int i = width - 1; i >= 0; --i)
    n = n << 8 | static_cast<unsigned char>(bytes[at + static_cast<size_t>(i)]);
  return n;
}

std::string bytes_at(const Source& source, uint64_t offset, uint64_t count) {
  if (offset > source.size() || count > source.size() - offset)
    throw IoError(fmt::format("'{}' is truncated: a part of the archive is not there", source.path()));
  std::string bytes(count, '\0');
  source.read(offset, reinterpret_cast<std::byte*>(bytes.data()), count);
  return bytes;
}

// Where the central directory is: its offset, size and number of entries.
struct Directory {
  uint64_t offset = 0, size = 0, entries = 0;
};

Directory find_directory(const Source& source) {
  constexpr uint64_t end_size = 22, longest_comment = 65535;
  uint64_t size = source.size(), span = std::min(size, end_size + longest_comment);
  std::string tail = bytes_at(source, size - span, span);
  for (size_t at = tail.size() < end_size ? 0 : tail.size() - end_size + 1; at-- > 0;) {
    if (number(tail, at, 4) != kZipEnd) continue;
    Directory found{number(tail, at + 16, 4), number(tail, at + 12, 4), number(tail, at + 10, 2)};
    uint64_t end = size - span + at;
    if (found.offset == 0xffffffff || found.size == 0xffffffff || found.entries == 0xffff) { // zip64
      if (end < 20) malformed(source, "its end record is broken");
      std::string locator = bytes_at(source, end - 20, 20);
      if (number(locator, 0, 4) != kZipLocator64) malformed(source, "its end record is broken");
      std::string record = bytes_at(source, number(locator, 8, 8), 56);
      if (number(record, 0, 4) != kZipEnd64) malformed(source, "its end record is broken");
      found = {number(record, 48, 8), number(record, 40, 8), number(record, 32, 8)};
    }
    return found;
  }
  throw IoError(fmt::format("'{}' is truncated: the directory at its end is missing", source.path()));
}

std::vector<Member> read_members(const Source& source) {
  Directory directory = find_directory(source);
  if (directory.size > kLongestDirectory) malformed(source, "its directory is too large");
  std::string text = bytes_at(source, directory.offset, directory.size);
  std::vector<Member> members;
  size_t at = 0;
  for (uint64_t k = 0; k < directory.entries; ++k) {
    constexpr size_t fixed = 46;
    if (text.size() - at < fixed || number(text, at, 4) != kZipCentral) malformed(source, "its directory is broken");
    Member m;
    m.flags = static_cast<uint16_t>(number(text, at + 8, 2));
    m.method = static_cast<uint16_t>(number(text, at + 10, 2));
    m.crc = static_cast<uint32_t>(number(text, at + 16, 4));
    m.packed = number(text, at + 20, 4);
    m.size = number(text, at + 24, 4);
    size_t name = number(text, at + 28, 2), extra = number(text, at + 30, 2), comment = number(text, at + 32, 2);
    m.local = number(text, at + 42, 4);
    if (text.size() - at - fixed < name + extra + comment) malformed(source, "its directory is broken");
    m.name = text.substr(at + fixed, name);
    // Sizes beyond 32 bits are in an extra field, those that need it, in this order.
    for (size_t e = at + fixed + name, end = e + extra; e + 4 <= end;) {
      size_t id = number(text, e, 2), length = number(text, e + 2, 2), value = e + 4;
      if (length > end - value) break;
      if (id == 1)
        for (uint64_t* field : {&m.size, &m.packed, &m.local})
          if (*field == 0xffffffff && value + 8 <= e + 4 + length) {
            *field = number(text, value, 8);
            value += 8;
          }
      e += 4 + length;
    }
    at += fixed + name + extra + comment;
    if (m.name.ends_with(".npy")) {
      m.name.resize(m.name.size() - 4);
      members.push_back(std::move(m));
    }
  }
  return members;
}

std::vector<std::string> names_of(const std::vector<Member>& members) {
  std::vector<std::string> names;
  for (const Member& m : members)
    names.push_back(m.name);
  return names;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// A member's bytes, unpacked.
std::shared_ptr<Source> open_member(const Source& source, const Member& m) {
  if (m.flags & 1) malformed(source, fmt::format("'{}' is encrypted", m.name));
  std::string local = bytes_at(source, m.local, 30);
  if (number(local, 0, 4) != kZipLocal) malformed(source, fmt::format("'{}' is not where the directory says", m.name));
  uint64_t offset = m.local + 30 + number(local, 26, 2) + number(local, 28, 2);
  if (offset > source.size() || m.packed > source.size() - offset)
    throw IoError(fmt::format("'{}' is truncated: '{}' is not all there", source.path(), m.name));
  if (m.method == 0) {
    if (m.packed != m.size) malformed(source, fmt::format("'{}' has two sizes", m.name));
    return part_of(source, offset, m.packed);
  }
  if (m.method != 8) malformed(source, fmt::format("'{}' is packed in a way that tl does not know", m.name));
  if (m.size / 1032 > m.packed) malformed(source, fmt::format("'{}' claims more than can be packed in it", m.name));
  return inflated_part_of(source, offset, m.packed, m.size, m.crc);
}

} // namespace

bool is_npz(const Source& source) {
  std::byte magic[4];
  if (source.read_some(0, magic, 4) != 4 || magic[0] != std::byte{'P'} || magic[1] != std::byte{'K'}) return false;
  return (magic[2] == std::byte{3} && magic[3] == std::byte{4}) ||
         (magic[2] == std::byte{5} && magic[3] == std::byte{6});
}

std::vector<std::string> npz_names(const Source& source) { return names_of(read_members(source)); }

OpenTensor open_npz(const Source& source, const std::string& name) {
  std::vector<Member> members = read_members(source);
  std::vector<std::string> names = names_of(members);
  std::string wanted = name; // what NumPy calls the tensors of a tuple
  if (all_digits(name) && std::find(names.begin(), names.end(), name) == names.end()) wanted = "arr_" + name;
  const Member& m = members[choose_name(source.path(), names, wanted)];
  std::shared_ptr<Source> member = open_member(source, m);
  if (!is_npy(*member)) malformed(source, fmt::format("'{}' is not a .npy file", m.name));
  OpenTensor result = open_npy(*member);
  result.member = member;
  if (m.method == 0) {
    result.read = [read = std::move(result.read), member, crc = m.crc, &source, name = m.name](std::byte* out) {
      read(out);
      uLong sum = ::crc32_z(0, nullptr, 0);
      std::byte piece[65536];
      for (uint64_t at = 0; at < member->size();) {
        size_t got = member->read_some(at, piece, sizeof piece);
        if (got == 0) break;
        sum = ::crc32_z(sum, reinterpret_cast<const Bytef*>(piece), got);
        at += got;
      }
      if (sum != crc) malformed(source, fmt::format("the checksum of '{}' is wrong", name));
    };
  } else {
    result.read = [read = std::move(result.read), member](std::byte* out) {
      read(out);
      member->finish();
    };
  }
  return result;
}

// ---- writing ----

namespace {

std::string member_name(const NamedTensor& x) {
  if (x.name.empty()) return "arr_0.npy";
  return (all_digits(x.name) ? "arr_" + x.name : x.name) + ".npy";
}

} // namespace

void write_npz(const Output& out, const std::string& path, std::span<const NamedTensor> tensors) {
  std::vector<ZipMember> members;
  for (const NamedTensor& x : tensors) {
    if (x.tensor.dtype == DType::BF16)
      throw IoError(fmt::format("cannot save '{}': .npz has no bf16; convert to f32 first", path));
    members.push_back({member_name(x),
                       npy_header(x.tensor.dtype, x.tensor.dims),
                       {reinterpret_cast<const char*>(x.tensor.data()), static_cast<size_t>(x.tensor.byte_count())}});
  }
  write_zip(out, members);
}

} // namespace tl
