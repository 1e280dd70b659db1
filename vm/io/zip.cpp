// Zip archives (APPNOTE.TXT of PKWARE, sections 4.3 to 4.5, with zip64), written.
#include "vm/io/zip.h"
#include <algorithm>
#include <zlib.h>

namespace tl {
namespace {

void put(std::string& out, uint64_t value, int width) {
  for (int i = 0; i < width; ++i)
    out += static_cast<char>(value >> (8 * i) & 255);
}

uint32_t limited(uint64_t value) { return static_cast<uint32_t>(std::min<uint64_t>(value, 0xffffffff)); }

} // namespace

void write_zip(const Output& out, std::span<const ZipMember> members) {
  constexpr uint32_t date = 0x00210000; // 1 January 1980: the same members make the same bytes
  std::string directory;
  uint64_t at = 0;
  for (const ZipMember& member : members) {
    const std::string &name = member.name, &head = member.head;
    const uint64_t count = member.body.size(), size = head.size() + count;
    bool large = size >= 0xffffffff, far = at >= 0xffffffff;
    uLong crc = ::crc32_z(0, reinterpret_cast<const Bytef*>(head.data()), head.size());
    if (count) crc = ::crc32_z(crc, reinterpret_cast<const Bytef*>(member.body.data()), count);
    std::string extra;
    if (large) {
      put(extra, 1, 2), put(extra, 16, 2);
      put(extra, size, 8), put(extra, size, 8);
    }
    // Padding in the manner of Android's zipalign, so that the bodies start at a multiple of 64.
    uint64_t start = at + 30 + name.size() + extra.size() + 6;
    uint64_t padding = (64 - start % 64) % 64;
    put(extra, 0xd935, 2), put(extra, 2 + padding, 2), put(extra, 64, 2);
    extra.append(padding, '\0');
    auto common = [&](std::string& text, const std::string& fields) {
      put(text, large || far ? 45 : 20, 2); // version needed
      put(text, 0x800, 2);                  // names are UTF-8
      put(text, 0, 2);                      // stored
      put(text, date, 4);
      put(text, crc, 4);
      put(text, large ? 0xffffffff : size, 4);
      put(text, large ? 0xffffffff : size, 4);
      put(text, name.size(), 2);
      put(text, fields.size(), 2);
    };
    std::string local;
    put(local, kZipLocal, 4);
    common(local, extra);
    local += name + extra;
    out(local.data(), local.size());
    out(head.data(), head.size());
    out(member.body.data(), count);
    std::string wide;
    if (large) put(wide, size, 8), put(wide, size, 8);
    if (far) put(wide, at, 8);
    std::string fields;
    if (!wide.empty()) put(fields, 1, 2), put(fields, wide.size(), 2);
    fields += wide;
    put(directory, kZipCentral, 4);
    put(directory, 45, 2); // made by
    common(directory, fields);
    put(directory, 0, 2);           // comment
    put(directory, 0, 2);           // disk
    put(directory, 0, 2);           // attributes
    put(directory, 0600u << 16, 4); // permissions
    put(directory, limited(at), 4);
    directory += name + fields;
    at += local.size() + size;
  }
  uint64_t count = members.size(), length = directory.size();
  if (at >= 0xffffffff || count >= 0xffff || length >= 0xffffffff) {
    uint64_t end = at + length;
    put(directory, kZipEnd64, 4), put(directory, 44, 8);
    put(directory, 45, 2), put(directory, 45, 2), put(directory, 0, 4), put(directory, 0, 4);
    put(directory, count, 8), put(directory, count, 8), put(directory, length, 8), put(directory, at, 8);
    put(directory, kZipLocator64, 4), put(directory, 0, 4), put(directory, end, 8), put(directory, 1, 4);
  }
  put(directory, kZipEnd, 4), put(directory, 0, 4);
  put(directory, std::min<uint64_t>(count, 0xffff), 2), put(directory, std::min<uint64_t>(count, 0xffff), 2);
  put(directory, limited(length), 4), put(directory, limited(at), 4), put(directory, 0, 2);
  out(directory.data(), directory.size());
}

} // namespace tl
