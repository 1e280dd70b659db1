#include "backend/aot/archive.h"
#include "backend/aot/link.h"
#include "backend/cpu/llvm_guard.h"
#include <llvm/ObjCopy/ConfigManager.h>
#include <llvm/ObjCopy/ObjCopy.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

namespace tl {
namespace {

template <class T> T taken(llvm::Expected<T> value) {
  if (!value) throw BuildError("the library cannot be written: " + llvm::toString(value.takeError()));
  return std::move(*value);
}
void fine(llvm::Error error) {
  if (error) throw BuildError("the library cannot be written: " + llvm::toString(std::move(error)));
}

} // namespace

void write_archive(const std::string& object, const std::string& output, const std::string& member,
                   const std::vector<std::string>& exports) {
  LlvmGuard guard;
  auto input = taken(llvm::object::ObjectFile::createObjectFile(object));
  llvm::objcopy::ConfigManager how;
  how.Common.InputFilename = object;
  how.Common.OutputFilename = output;
  for (const std::string& symbol : exports)
    fine(how.Common.SymbolsToKeepGlobal.addMatcher(llvm::objcopy::NameOrPattern::create(
        symbol, llvm::objcopy::MatchStyle::Literal, [](llvm::Error error) { return error; })));
  llvm::SmallVector<char, 0> local;
  llvm::raw_svector_ostream stream(local);
  fine(llvm::objcopy::executeObjcopyOnBinary(how, *input.getBinary(), stream));
  std::vector<llvm::NewArchiveMember> members;
  members.emplace_back(llvm::MemoryBufferRef(llvm::StringRef(local.data(), local.size()), member));
  fine(llvm::writeArchive(output, members, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU, true,
                          false));
}

} // namespace tl
