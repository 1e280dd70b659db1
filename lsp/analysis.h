// What the compiler says about an open document.
#pragma once
#include "compiler/run_flags.h"
#include "lang/diagnostics.h"
#include "lang/source.h"
#include "lang/typed.h"
#include "parser/check/check.h"
#include "parser/index/index.h"
#include "parser/syntax/imports.h"
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace tl::lsp {

// Parsed and checked. Of a program that does not parse, what could be read is checked too, for the types alone.
struct Analysis {
  std::string name, text; // of the file
  FileId file;
  ast::File tree;
  Imports imports; // and the whole library
  ExprTypes types;
  typed::Program program;     // for names of sizes and types of variables; it may have errors
  std::optional<Index> index; // Analyzer::index
  std::map<const ast::File*, std::vector<Symbol>> outlines; // of files that are no library's
  Diagnostics diagnostics; // as `tl check` gives them, but for what `look_deeper` finds
};

// Checks documents, against a library that is parsed once. Not thread-safe.
class Analyzer {
public:
  Analyzer();
  Analyzer(const Analyzer&) = delete;

  using Held = std::function<const std::string*(const std::string& name)>; // the text of a file that is open, or null
  std::unique_ptr<Analysis> analyse(const std::string& name, const std::string& text, const Held& held);
  // What only lowering says of a program without errors: derivatives that do not exist, operations that mix devices,
  // consts that fail. False: stopped, since `interrupt` became true, and nothing is said.
  bool look_deeper(Analysis& analysis, const std::atomic<bool>& interrupt);
  const Index& index(Analysis& analysis);
  const std::vector<Symbol>& outline(Analysis& analysis, const ast::File& file);
  // What is declared at this place, in the program or in what it imports; null: nothing.
  const Symbol* symbol(Analysis& analysis, Span span);
  const ast::File* file(const Analysis& analysis, FileId id) const; // its tree; null: it is none of the program's
  // Its files may be those of others from here on.
  void forget(std::unique_ptr<Analysis> analysis);

  SourceManager& sources() { return sources_; }
  const SourceManager& sources() const { return sources_; }
  const ast::File& prelude() const { return prelude_; }
  const Imports& library() const { return library_; }

private:
  SourceManager sources_;
  ast::File prelude_, every_module_; // the latter imports them all
  Imports library_;
  std::map<const ast::File*, std::vector<Symbol>> outlines_; // of the library
};

} // namespace tl::lsp
