// Where a program's imports and its standard library come from.
#pragma once
#include "lang/source.h"
#include "parser/check/check.h"
#include "parser/syntax/imports.h"
#include <map>
#include <optional>
#include <string>

namespace tl::compiler {

constexpr const char* kPrelude = "prelude"; // the module that every program sees

// The standard library for one program: all of it, or only what the files that were read before name.
class Library {
public:
  Library(const SourceManager& sources, bool whole) : sources_(sources), whole_(whole) {}
  std::optional<std::string> module(const std::string& name);

private:
  void read();

  const SourceManager& sources_;
  bool whole_;
  std::map<std::string, std::string> texts_; // by module
};

ImportReader import_reader(Library& library); // the library must outlive it
CheckOptions check_options(const Imports& imports);

} // namespace tl::compiler
