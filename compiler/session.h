// Compiles and runs a program piece by piece, as it is typed: what was declared and bound stays for the next piece.
#pragma once
#include "compiler/compile.h"
#include "compiler/constants.h"
#include "compiler/library.h"
#include "parser/check/check.h"
#include "parser/doc/reference.h"
#include <atomic>
#include <map>
#include <set>

namespace tl::compiler {

class Session {
public:
  // Of the runs; `interrupt` (may be null) ends a run when it becomes true. `is_prompt`: CheckOptions.
  Session(const RunFlags& flags, const std::atomic<bool>* interrupt, bool is_prompt = false);

  // What runs print from here on, in place of standard output and error.
  void set_output(OutputSink out, OutputSink err) {
    out_ = std::move(out);
    err_ = std::move(err);
  }

  enum class End { Done, Rejected, Failed, Exited };
  // Compiles and runs a text. What it prints goes to stdout, messages to stderr. A piece that is rejected or fails
  // changes nothing. `name` is in messages.
  End run(const std::string& text, const std::string& name);
  int exit_code() const { return exit_code_; } // of a piece that ended by exit()

  // The type of an expression, which is not computed; nothing if it is wrong (and said so).
  std::optional<std::string> type_of(const std::string& text);
  // What the compiler makes of a piece, the same way: the graph after all passes, or its kernels.
  enum class Stage { Graph, Asm, Cuda };
  std::optional<std::string> made_of(const std::string& text, Stage stage);
  // Runs a text again and again for about so long, and changes and shows nothing; nothing if it is wrong or fails (and
  // said so). Compiling is not in the times.
  struct Timing {
    int64_t runs = 0;
    double least = 0, mean = 0; // seconds
  };
  std::optional<Timing> time(const std::string& text, double seconds);
  // Statements that imported files of the user's, each once. Files are read again when they are imported again after
  // forget_imports.
  const std::vector<std::string>& own_imports() const { return own_imports_; }
  void forget_imports();
  // Modules of the library that pieces import: the name that each has there, and its own.
  std::map<std::string, std::string> library_modules() const;
  // What pieces and the user's own files that they import declare: functions and structs, a later one after an earlier.
  std::vector<Documented> declared() const;
  // The tensors that are kept, and their bytes.
  std::pair<size_t, uint64_t> held() const;
  // Did the last piece show a value that stood alone?
  bool showed_value() const { return !checker_->shown_type().empty(); }
  // What can be written: declared and bound names.
  std::vector<std::string> names() const { return checker_->names(); }
  // Values that pieces have bound, by name (CheckSession).
  std::vector<std::string> bound_names() const { return checker_->bound_names(); }
  std::optional<CheckSession::Bound> bound(const std::string& name) const { return checker_->bound(name); }
  const std::vector<Argument>& leaves(typed::VarId var) const { return values_.at(var); }
  // In place of its value, leaves of the same types and sizes.
  void replace(typed::VarId var, std::vector<Argument> leaves) { values_.at(var) = std::move(leaves); }

private:
  using Pieces = std::map<uint32_t, ast::File>; // by the index of the file
  void renew();
  Pieces::iterator forget(Pieces::iterator piece);                               // gives the next one
  const typed::Program* check(const std::string& text, const std::string& name); // null: wrong, and said so
  // Null: not to be expressed, or a const cannot be computed, and said so.
  std::optional<ir::Module> lower(const typed::Program& program,
                                  const std::function<ir::Module(const ir::Constants&)>& how);
  // A piece that can run: its graph for the interpreter, else what was compiled from it.
  struct Compiled {
    ir::Module module;
    std::vector<AtomId> sizes;
    std::optional<Executable> executable;
  };
  std::optional<Compiled> compile(const typed::Program& program); // null: as with lower, and the piece is undone
  Outcome execute(const Compiled& piece, const typed::Program& program, const OutputSink& out, const OutputSink& err,
                  Profile* profile, Stats* counters) const;
  bool is_interrupted() const { return interrupt_ && *interrupt_; }
  void report(const Outcome& outcome, const Compiled& piece) const; // what ended it before its end, to stderr
  void undo();
  void note_imports();
  bool is_own(const ast::Import& import) const;
  std::vector<Argument> arguments(const typed::Program& program) const;
  bool keep(const typed::Program& program, const std::vector<AtomId>& sizes, std::vector<Argument> results);

  const RunFlags& flags_;
  const std::atomic<bool>* interrupt_;
  SourceManager sources_;
  ast::File prelude_;
  Library library_{sources_, true};
  Imports imports_;
  CheckOptions options_ = check_options(imports_);
  std::unique_ptr<CheckSession> checker_;
  Pieces pieces_;
  std::set<uint32_t> undone_; // of pieces_
  std::vector<std::string> own_imports_;
  FileId file_;                                          // of the piece
  std::map<typed::VarId, std::vector<Argument>> values_; // leaves
  std::map<AtomId, int64_t> sizes_;
  int exit_code_ = 0;
  OutputSink out_, err_; // empty: standard output and error
};

} // namespace tl::compiler
