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
#include <set>
#include <string>

namespace tl::lsp {

// Parsed and checked. Of a program that does not parse, what could be read is checked too, for the types alone.
struct Analysis {
  std::string name, text; // of the file
  FileId file;
  ast::File tree;
  std::deque<ast::File> parts; // owners of nodes that have come into the tree by edits
  Imports imports;             // and the whole library
  ExprTypes types;
  typed::Program program;       // for names of sizes and types of variables; it may have errors
  std::set<std::string> acting; // functions that have effects
  std::optional<Index> index;   // Analyzer::index
  std::map<const ast::File*, std::vector<Symbol>> outlines; // of files that are no library's
  Diagnostics diagnostics; // as `tl check` gives them, but for what `look_deeper` finds
  bool parses = true;      // it, and when it is checked also what it imports, without an error
  bool is_checked = false; // beyond its syntax

  void note_effects(const typed::Program& of);
};

// Checks documents, against a library that is parsed once. Not thread-safe.
class Analyzer {
public:
  Analyzer();
  Analyzer(const Analyzer&) = delete;

  using Held = std::function<const std::string*(const std::string& name)>; // the text of a file that is open, or null
  std::unique_ptr<Analysis> parse(const std::string& name, const std::string& text);
  // What has been parsed only. Null `interrupt`: to the end. False: it became true, and this is as it was.
  bool check(Analysis& analysis, const Held& held, const std::atomic<bool>* interrupt = nullptr);
  std::unique_ptr<Analysis> analyse(const std::string& name, const std::string& text, const Held& held);
  // Brings what is known of a text without syntax errors to the text after an edit: what the edit touches, and what
  // depends on that, is checked again; what is said elsewhere stays. Only the tree, the imports and the diagnostics are
  // there then, and rarely something else than what `analyse` finds, as where an effect comes into a function that
  // others call. False: the whole text is to be analysed, and this is as it was.
  bool recheck(Analysis& before, const std::string& text);
  // What only lowering says of a program without errors: derivatives that do not exist, operations that mix devices,
  // consts that fail; and loops that miss being native code. False: stopped, since `interrupt` became true, and nothing
  // is said.
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
  void forget_imports(Analysis& analysis);

  SourceManager sources_;
  ast::File prelude_, every_module_; // the latter imports them all
  Imports library_;
  std::map<const ast::File*, std::vector<Symbol>> outlines_; // of the library
};

} // namespace tl::lsp
