// A Python package as a wheel: a zip archive with the package and what pip asks of it (the binary distribution format,
// https://packaging.python.org/specifications/binary-distribution-format).
#include "backend/aot/wheel.h"
#include "backend/aot/link.h"
#include "backend/aot/package.h"
#include "vm/io/io.h"
#include "vm/io/zip.h"
#include <fmt/format.h>
#include <llvm/Support/Base64.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SHA256.h>

namespace tl {
namespace {

// As RECORD has it: URL-safe, without padding.
std::string digest(std::string_view text) {
  const auto hash = llvm::SHA256::hash({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  std::string encoded = llvm::encodeBase64(hash);
  while (!encoded.empty() && encoded.back() == '=')
    encoded.pop_back();
  for (char& c : encoded)
    c = c == '+' ? '-' : c == '/' ? '_' : c;
  return encoded;
}

// Of a doc comment, what is the summary: its first line.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

} // namespace

std::string wheel_name(const Library& library, const std::string& version) {
  return fmt::format("{}-{}-cp39-abi3-{}.whl", library.name, version, kWheelPlatform);
}

void write_wheel(const std::string& path, const Library& library, const std::string& version,
                 const std::string& module) {
  const auto shared = llvm::MemoryBuffer::getFile(module);
  if (!shared) throw BuildError(fmt::format("cannot read '{}': {}", module, shared.getError().message()));
  const std::string& name = library.name;
  const std::string info = fmt::format("{}-{}.dist-info", name, version);
  std::string metadata = fmt::format("Metadata-Version: 2.1\nName: {}\nVersion: {}\n", name, version);
  if (!library.doc.empty()) metadata += fmt::format("Summary: {}\n", first_line(library.doc));
  metadata += "Requires-Python: >=3.9\n";
  if (!library.doc.empty()) metadata += fmt::format("Description-Content-Type: text/markdown\n\n{}\n", library.doc);
  const std::string wheel =
      fmt::format("Wheel-Version: 1.0\nGenerator: tl\nRoot-Is-Purelib: false\nTag: cp39-abi3-{}\n", kWheelPlatform);
  const std::vector<std::pair<std::string, std::string>> files = package_files(library);
  std::vector<ZipMember> members;
  for (const auto& [file, text] : files)
    members.push_back({name + "/" + file, "", text});
  members.push_back({name + "/" + kExtensionModule, "", (*shared)->getBuffer()});
  members.push_back({info + "/METADATA", "", metadata});
  members.push_back({info + "/WHEEL", "", wheel});
  std::string record;
  for (const ZipMember& member : members)
    record += fmt::format("{},sha256={},{}\n", member.name, digest(member.body), member.body.size());
  record += info + "/RECORD,,\n";
  members.push_back({info + "/RECORD", "", record});
  write_file_atomically(path, [&](int file) {
    write_zip([&](const void* data, size_t count) { write_bytes(file, data, count); }, members);
  });
}

} // namespace tl
