// The format: System V ABI, "Object Files"; its AMD64 and AArch64 supplements for the machines.
#include "backend/aot/elf_object.h"
#include <cstring>
#include <elf.h>

namespace tl {
namespace {

template <class T> void append(std::string& out, const T& record) {
  out.append(reinterpret_cast<const char*>(&record), sizeof record);
}
void align(std::string& out, size_t to) { out.resize((out.size() + to - 1) / to * to); }

// One section of bytes. `symbols` are in it; `relocations` are functions whose addresses it holds, 8 bytes each from
// its start.
std::string write(ElfMachine machine, std::string_view bytes,
                  const std::vector<std::pair<std::string, uint64_t>>& symbols,
                  const std::vector<std::string>& relocations) {
  constexpr size_t kPage = 4096;
  const bool arm = machine == ElfMachine::AArch64;
  enum : uint16_t { kNull, kData, kSymbols, kStrings, kNames, kStack, kRelocations, kSections };
  constexpr char names[] = "\0.data.rel.ro\0.rodata\0.symtab\0.strtab\0.shstrtab\0.note.GNU-stack\0.rela.data.rel.ro";
  auto name_at = [&](std::string_view name) {
    return static_cast<uint32_t>(std::string_view(names, sizeof names).find(std::string("\0", 1).append(name)) + 1);
  };
  const bool table = !relocations.empty();

  std::string out(kPage, '\0'), strings(1, '\0');
  out += bytes;
  Elf64_Shdr sections[kSections] = {};
  auto section = [&](int which, const char* name, uint32_t type, uint64_t start, uint64_t alignment) -> Elf64_Shdr& {
    Elf64_Shdr& s = sections[which];
    s.sh_name = name_at(name);
    s.sh_type = type;
    s.sh_offset = start;
    s.sh_size = out.size() - start;
    s.sh_addralign = alignment;
    return s;
  };
  section(kData, table ? ".data.rel.ro" : ".rodata", SHT_PROGBITS, kPage, kPage).sh_flags =
      table ? SHF_ALLOC | SHF_WRITE : SHF_ALLOC;

  align(out, 8);
  uint64_t start = out.size();
  append(out, Elf64_Sym{});
  auto symbol = [&](const std::string& name, uint16_t where, uint64_t offset) {
    Elf64_Sym s{};
    s.st_name = static_cast<Elf64_Word>(strings.size());
    s.st_info = ELF64_ST_INFO(STB_GLOBAL, where ? STT_OBJECT : STT_NOTYPE);
    s.st_other = STV_HIDDEN;
    s.st_shndx = where;
    s.st_value = offset;
    append(out, s);
    strings += name + '\0';
  };
  for (const auto& [name, offset] : symbols)
    symbol(name, kData, offset);
  for (const std::string& name : relocations)
    symbol(name, SHN_UNDEF, 0);
  Elf64_Shdr& all = section(kSymbols, ".symtab", SHT_SYMTAB, start, 8);
  all.sh_entsize = sizeof(Elf64_Sym);
  all.sh_link = kStrings;
  all.sh_info = 1; // the first global symbol
  start = out.size();
  out += strings;
  section(kStrings, ".strtab", SHT_STRTAB, start, 1);
  start = out.size();
  out.append(names, sizeof names);
  section(kNames, ".shstrtab", SHT_STRTAB, start, 1);
  section(kStack, ".note.GNU-stack", SHT_PROGBITS, out.size(), 1); // the stack need not be executable
  align(out, 8);
  start = out.size();
  for (size_t i = 0; i < relocations.size(); ++i)
    append(out, Elf64_Rela{8 * i, ELF64_R_INFO(1 + symbols.size() + i, arm ? R_AARCH64_ABS64 : R_X86_64_64), 0});
  Elf64_Shdr& addresses = section(kRelocations, ".rela.data.rel.ro", SHT_RELA, start, 8);
  addresses.sh_entsize = sizeof(Elf64_Rela);
  addresses.sh_link = kSymbols;
  addresses.sh_info = kData;
  addresses.sh_flags = SHF_INFO_LINK;

  align(out, 8);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = arm ? EM_AARCH64 : EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_shoff = out.size();
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(kSections - !table);
  header.e_shstrndx = kNames;
  for (size_t i = 0; i < header.e_shnum; ++i)
    append(out, sections[i]);
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

} // namespace

std::string elf_object(ElfMachine machine, std::string_view bytes,
                       const std::vector<std::pair<std::string, uint64_t>>& symbols) {
  return write(machine, bytes, symbols, {});
}

std::string elf_table(ElfMachine machine, const std::string& name, const std::vector<std::string>& functions) {
  return write(machine, std::string(8 * functions.size(), '\0'), {{name, 0}}, functions);
}

} // namespace tl
