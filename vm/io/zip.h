// Zip archives, of tensors (.npz) and of Python packages.
#pragma once
#include "vm/io/formats.h"
#include <span>
#include <string>
#include <string_view>

namespace tl {

// What records begin with: of a member, in the directory, at the end, of zip64 there, and of what finds that.
inline constexpr uint32_t kZipLocal = 0x04034b50, kZipCentral = 0x02014b50, kZipEnd = 0x06054b50,
                          kZipEnd64 = 0x06064b50, kZipLocator64 = 0x07064b50;

struct ZipMember {
  std::string name, head;
  std::string_view body; // behind `head`; starts at a multiple of 64 in the archive
};

// Stored, with zip64 where an archive needs it. The same members make the same bytes.
void write_zip(const Output& out, std::span<const ZipMember> members);

} // namespace tl
