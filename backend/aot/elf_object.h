// Data as an ELF object file: one read-only section with symbols in it, so that a linker puts the bytes into an
// executable as they are. (LLVM would hold them in memory several times.)
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tl {

enum class ElfMachine : uint8_t { X86_64, AArch64 };

// `symbols`: name and offset in `bytes`, which start at a multiple of 4096.
std::string elf_object(ElfMachine machine, std::string_view bytes,
                       const std::vector<std::pair<std::string, uint64_t>>& symbols);

// A table called `name` of the addresses of these functions, which other object files define.
std::string elf_table(ElfMachine machine, const std::string& name, const std::vector<std::string>& functions);

} // namespace tl
