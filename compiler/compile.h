// From a file name to a module, a program and kernels: what run, check, dump and test share.
#pragma once
#include "backend/cpu/jit.h"
#include "backend/kernel/kernel_ir.h"
#include "backend/kernel/lower.h"
#include "compiler/model.h"
#include "compiler/run_flags.h"
#include "driver/messages.h"
#include "ir/graph/graph.h"
#include "lang/diagnostics.h"
#include "lang/source.h"
#include "lang/typed.h"
#include "parser/check/check.h"
#include "parser/syntax/imports.h"
#include "parser/syntax/parse.h"
#include "passes/schedule/schedule.h"
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace tl::compiler {

// Everything that was read and said about one program. Not copied: later structures point into `sources` and the trees.
struct Frontend {
  std::string name, text;                                   // of the program
  const std::map<std::string, std::string>* held = nullptr; // texts of files, looked for before those of the disk
  std::map<std::string, std::string> imported; // with `held`: those of the disk that were imported, by path
  bool is_called = false;                      // its entry is called in this process (CheckOptions)
  SourceManager sources;
  Diagnostics diagnostics;
  FileId file;
  ast::File prelude, tree;
  Imports imports;
  ExprTypes types; // of a program that is only checked

  Frontend() = default;
  Frontend(const Frontend&) = delete;
  // Forgets all but the program's text.
  void restart();
};

// Reads a file ("-": standard input) or, with `code`, takes that text. Throws UsageError if it cannot be read.
void read_source(Frontend& frontend, const std::string& path, const std::string* code = nullptr);

// The same, or a model that is imported (model.h); false where that cannot be, after saying why.
bool read_source_or_model(Frontend& frontend, const std::string& path, const ImportFlags& import,
                          const RunFlags& flags);

// Parses and checks. The program is only meaningful if frontend.diagnostics has no errors. `for_check`: a data file
// that is not there yet is a warning. `exported`: this function is the entry (CheckOptions).
typed::Program check_source(Frontend& frontend, bool for_check = false, const std::string& exported = {});

// Adds the warnings about a program without errors that has been read `for_check` (parser/lint).
void add_warnings(Frontend& frontend, const typed::Program& program);

// The graph before all passes, transforms of functions expanded, or nothing after reporting what it cannot express yet.
std::optional<ir::Module> expand_lowered(const std::function<ir::Module()>& lower, const SourceManager& sources,
                                         FileId main, Diagnostics& diagnostics, const PassOptions& options);
// The same, of a whole program without errors, whose consts are computed before. `hook`: after each pass (PassOptions).
std::optional<ir::Module> lower_source(Frontend& frontend, const typed::Program& program, const RunFlags& flags,
                                       const PassHook& hook = {});

// Adds warnings about loops that miss being native code, of a program that has been lowered without errors.
void add_warnings_of_loops(const ir::Module& module, const SourceManager& sources, FileId main,
                           const PassOptions& options, Diagnostics& diagnostics);

// A test block as a program of its own.
struct LoweredTest {
  std::string name;
  ir::Module module;
};
// Those of a program, as lower_source gives the program.
std::optional<std::vector<LoweredTest>> lower_tests(Frontend& frontend, const typed::Program& program,
                                                    const RunFlags& flags);

struct Executable {
  Program program;
  std::unique_ptr<KernelProvider> kernels;
  std::shared_ptr<DiskCache> cache; // that the kernels come from; may be null
};

// Graph with all passes done (Kernel nodes made). With --time-passes the table goes to stderr.
ir::Module optimise(ir::Module module, const RunFlags& flags);
std::vector<kir::Kernel> kernels_of(const ir::Module& module, const Scheduled& scheduled, Target target = Target::Cpu);
Executable make_executable(const ir::Module& module, const RunFlags& flags);

// What the disk cache did, as further lines of --stats.
std::string cache_text(const DiskCache* cache);

} // namespace tl::compiler
