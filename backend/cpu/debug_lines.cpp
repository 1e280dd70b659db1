#include "backend/cpu/debug_lines.h"
#include "lang/place.h"
#include <filesystem>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>

namespace tl::cpu {

DebugLines::DebugLines(llvm::Module& module, const kir::Kernel& kernel, const std::vector<Location>& locations)
    : builder_(module), context_(module.getContext()), kernel_(kernel), locations_(locations) {
  std::error_code none; // a folder that is gone has no name
  folder_ = std::filesystem::current_path(none).string();
  LocId outermost = user_place(kernel.loc, locations);
  for (LocId next = outermost; next.index != 0; next = caller(locations[next.index]))
    outermost = next;
  start_ = locations[outermost.index];
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  module.addModuleFlag(llvm::Module::Max, "Dwarf Version", 4); // of 5, binutils 2.40 does not find inlined functions
  builder_.createCompileUnit(llvm::dwarf::DW_LANG_C99, file(start_.file), "tl", true, "", 0, "",
                             llvm::DICompileUnit::FullDebug, 0, true, false,
                             llvm::DICompileUnit::DebugNameTableKind::None);
}

// That a program or library starts with a function is no call; it is at the function's name.
LocId DebugLines::caller(const Location& place) const {
  LocId up = place.caller;
  while (up.index != 0 && is_library_file(locations_[up.index].file))
    up = locations_[up.index].caller;
  const Location& call = locations_[up.index];
  return call.function.empty() && call.end - call.begin == place.function.size() ? LocId{} : up;
}

llvm::DIFile* DebugLines::file(const std::string& name) { return builder_.createFile(name, folder_); }

// Without the symbol: debuggers would show that.
llvm::DISubprogram* DebugLines::subprogram(const std::string& name, const std::string& file, unsigned line) {
  auto* type = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
  llvm::DIFile* where = this->file(file);
  return builder_.createFunction(where, name, "", where, line, type, line, llvm::DINode::FlagZero,
                                 llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
}

void DebugLines::describe(llvm::Function& function) {
  function.setSubprogram(subprogram(kernel_.name, start_.file, start_.line));
  function.setUWTableKind(llvm::UWTableKind::Async); // for the callers of what stops here
}

llvm::DebugLoc DebugLines::at(LocId loc, const llvm::Function& function) {
  return location(user_place(loc, locations_), function.getSubprogram(), false);
}

llvm::DILocation* DebugLines::location(LocId loc, llvm::DISubprogram* kernel, bool is_call) {
  if (loc.index == 0) return llvm::DILocation::get(context_, 0, 0, kernel);
  llvm::DILocation** known = is_call ? &calls_[{loc.index, kernel}] : nullptr;
  if (known && *known) return *known;
  const Location& place = locations_[loc.index];
  llvm::DILocalScope* scope = kernel;
  llvm::DILocation* called_at = nullptr;
  if (LocId up = caller(place); up.index != 0) {
    called_at = location(up, kernel, true);
    llvm::DISubprogram*& function = inlined_[{place.function, place.file}];
    if (!function) function = subprogram(place.function, place.file, 0);
    scope = function;
  } else if (place.file != start_.file) {
    scope = builder_.createLexicalBlockFile(kernel, file(place.file));
  }
  if (!known) return llvm::DILocation::get(context_, place.line, place.column, scope, called_at);
  // Each call is one of its own, wherever it is.
  return *known = llvm::DILocation::getDistinct(context_, place.line, place.column, scope, called_at);
}

void DebugLines::finish() { builder_.finalize(); }

} // namespace tl::cpu
